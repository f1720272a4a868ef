"""Checks of the rows: copies, near-copies, and equal rows with different labels."""

import numpy as np

from tamis._array import is_sparse
from tamis.comparison.checks.check import Check

__all__ = ["check_rows"]

# Rows of wide data that are correlated more than this could be the same sample.
_NEAR = 0.99
_WIDE = 50
_MOST_ROWS, _MOST_COLUMNS = 2000, 5000
# Contradictory labels matter if they make this share of the rows wrong.
_COST = 0.02


def check_rows(copies, codes, encoded, duplicates, n_dropped=0):
    """Find copies and near-copies of rows, and labels that contradict each other.

    Parameters
    ----------
    copies : Copies
    codes : ndarray of int of shape (n_rows,)
    encoded : ndarray or CSR array of shape (n_rows, n_columns)
    duplicates : {"group", "keep", "drop"}
        How copies are handled.
    n_dropped : int
        Copies that were dropped.

    Returns
    -------
    checks : list of Check
    """
    return [
        *_copies(copies, duplicates, n_dropped),
        *_near_copies(copies, encoded),
        *_conflicts(copies, codes),
    ]


def _copies(copies, duplicates, n_dropped):
    n = copies.n_copies
    if n_dropped:
        yield Check(
            "copies",
            "note",
            f"{_rows(n_dropped)} repeated an earlier row and {_were(n_dropped)} dropped.",
            "--duplicates group keeps them together in the folds instead.",
        )
    elif n and duplicates == "group":
        yield Check(
            "copies",
            "warning",
            f"{_rows(n)} {'repeats' if n == 1 else 'repeat'} another row; copies of a row stay "
            "together in every fold and count as one sample.",
            "If they are different samples, use --duplicates keep; to remove copies, drop.",
        )
    elif n:
        yield Check(
            "copies",
            "warning",
            f"{_rows(n)} {'repeats' if n == 1 else 'repeat'} another row and may be in training "
            "and test at once, so scores are optimistic.",
            "Use --duplicates group.",
        )


def _near_copies(copies, encoded):
    n_rows, n_columns = encoded.shape
    if n_columns < _WIDE or not 3 <= n_rows <= _MOST_ROWS:
        return
    X = encoded[:, :: -(-n_columns // _MOST_COLUMNS)]
    X = X.toarray() if is_sparse(X) else np.array(X, dtype=np.float64)
    X = np.where(np.isfinite(X), X, np.nan)
    with np.errstate(all="ignore"):
        mean = np.nanmean(X, axis=0)
        spread = np.nanstd(X, axis=0)
    X = np.divide(X - mean, spread, out=np.zeros_like(X), where=spread > 0)
    X = np.where(np.isnan(X), 0.0, X)
    X -= X.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    near = np.triu(X @ X.T > _NEAR, 1) & (copies.equal[:, None] != copies.equal)
    n = int(np.count_nonzero(near.any(axis=0)))
    if n:
        one, other = np.argwhere(near)[0] + 1
        yield Check(
            "near-copies",
            "warning",
            f"{_rows(n)} {'is' if n == 1 else 'are'} nearly equal to another one (correlation "
            f"above {_NEAR}), such as rows {one} and {other}.",
            "If they are measurements of the same sample, name the sample with --groups COL.",
        )


def _conflicts(copies, codes):
    n_classes = int(codes.max()) + 1
    cell = np.bincount(copies.equal * n_classes + codes)
    counts = np.zeros((int(copies.equal.max()) + 1, n_classes), dtype=np.int64)
    counts.ravel()[: cell.size] = cell
    mixed = (counts > 0).sum(axis=1) > 1
    if not mixed.any():
        return
    are_copies = copies.groups is not None
    cost = 1 - counts.max(axis=1).sum() / codes.size
    if not are_copies and cost < _COST:
        return
    n = int(counts[mixed].sum())
    yield Check(
        "conflicting-labels",
        "warning" if are_copies else "note",
        f"{_rows(n)} {'has' if n == 1 else 'have'} the same features as another row with a "
        f"different label, so no model can be right on more than {100 * (1 - cost):.1f} % of all "
        "rows.",
        "Check these labels, or add the column that tells the rows apart.",
    )


def _rows(n):
    return f"{n:,} row{'' if n == 1 else 's'}"


def _were(n):
    return "was" if n == 1 else "were"
