r"""Which features the half-samples of sparse centers choose, and what the other halves say.

For each half of each complementary pair, the share of each feature's spread that the classes
explain (`tamis.guarantees.shares`), from the rows of the half alone. A feature of several columns
has the mean share of its columns that vary: gains per degree of freedom, so that many categories
are no advantage. The q largest are chosen; ties are broken at random, because a fixed order would
favour the first columns. Shapes: X (n, m), pairs (B, n), shares (2 B, m), the first halves of all
pairs before the second ones; choices (2 B, q).

The idea that makes it fast for l2: the sums of the first halves of all pairs are one matrix
product per class, and those of the second halves are the totals minus these and minus the odd row.
For l1, columns are sorted once for all halves.

Effect sizes: a half that chose a feature overrates it (the winner's curse), but the other half of
its pair had no say. The class centers of that other half are averaged over the halves that chose
the feature. Given that a half chose it, they are unbiased; so is their average over all
choices of all halves. A feature that is picked because *many* halves chose it is still overrated,
because all halves share their rows, and one that few chose is underrated. (Halves that did not
choose a feature underrate it always.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.guarantees.shares import column_blocks, columns_first, median_shares_of_sets, rescale

_WIDTH = 2048
# Shares closer than this are tied.
_TIED = 1e-10


def half_rows(pairs: NDArray) -> list[NDArray[np.intp]]:
    """Rows of each half: the first halves of all pairs, then the second ones.

    `pairs` (n_pairs, n_rows): as `tamis.stability.complementary_pairs` returns them.
    """
    return [np.flatnonzero(pair == half) for half in (0, 1) for pair in pairs]


def half_shares(
    X: Matrix, codes: NDArray, pairs: NDArray, n_classes: int, metric: str
) -> NDArray[np.float64]:
    """Share of each column's spread that the classes explain, within each half.

    `X` (n_rows, n_columns), `codes` (n_rows,), `pairs` (n_pairs, n_rows). Returns `shares` (2 *
    n_pairs, n_columns).
    """
    shares = np.empty((2 * pairs.shape[0], X.shape[1]))
    if metric == "l1":
        # Both halves of a pair in one walk through the sorted values.
        labels = np.where(pairs < 0, -1, pairs.astype(np.int64) * n_classes + codes)
        for block in column_blocks(X.shape[1], shares.shape[0]):
            values = columns_first(X[:, block])
            found = median_shares_of_sets(values, labels, n_classes, 2)
            found[found < _TIED] = 0.0
            shares[:, block] = found.transpose(2, 1, 0).reshape(shares.shape[0], -1)
        return shares
    classes = [_ClassHalves(np.flatnonzero(codes == c), pairs) for c in range(n_classes)]
    for first in range(0, X.shape[1], _WIDTH):
        block = slice(first, first + _WIDTH)
        _fill_mean_shares(X[:, block], classes, shares[:, block])
    return shares


class _ClassHalves:
    """Which rows of a class are in the first half of each pair, and which are left out."""

    def __init__(self, rows, pairs):
        self.rows = rows
        self.first = (pairs[:, rows] == 0).astype(np.float64)
        self.counts = np.concatenate([(pairs[:, rows] == half).sum(axis=1) for half in (0, 1)])
        left_out = pairs[:, rows] < 0
        self.left_out = None
        if left_out.any():
            # A product is needed only if whole groups are left out.
            alone = (left_out.sum(axis=1) == 1).all()
            self.left_out = left_out.argmax(axis=1) if alone else left_out.astype(np.float64)

    def means(self, values):
        """Means of the first halves, then of the second ones: (2 B, columns)."""
        sums = np.empty((self.counts.size, values.shape[1]))
        first, second = np.split(sums, 2)
        np.matmul(self.first, values, out=first)
        np.subtract(values.sum(axis=0), first, out=second)
        if self.left_out is not None:
            indices = self.left_out.ndim == 1
            second -= values[self.left_out] if indices else self.left_out @ values
        sums /= self.counts[:, None]
        return sums


def _fill_mean_shares(X, classes, shares):
    values = np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    rescale(values, axis=0)
    values -= values.mean(axis=0)
    total, between, spread = (np.zeros(shares.shape) for _ in range(3))
    for halves in classes:
        part = values[halves.rows]
        means = halves.means(part)
        total += means
        np.multiply(means, means, out=means)
        between += means
        np.multiply(part, part, out=part)
        spread += halves.means(part)
    total *= total
    total /= len(classes)
    between -= total
    spread -= total
    varies = spread > 1e-14
    np.divide(between, spread, out=shares, where=varies)
    shares[~varies | (shares < 1e-12)] = 0.0


def choose_largest(
    scores: NDArray, n_chosen: int, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Features with the largest positive scores; ties are broken at random.

    `scores` (n_features,). Returns `features` (n_chosen,): ascending, and -1 in place of those
    that are lacking.
    """
    chosen = np.full(n_chosen, -1, dtype=np.int64)
    k = min(n_chosen, int(np.count_nonzero(scores > 0)))
    if k:
        threshold = np.partition(scores, scores.size - k)[scores.size - k]
        above = np.flatnonzero(scores > threshold + _TIED)
        tied = np.flatnonzero(np.abs(scores - threshold) <= _TIED)
        tied = tied[scores[tied] > 0]
        if above.size + tied.size > k:
            tied = random_state.permutation(tied)[: k - above.size]
        chosen[:k] = np.sort(np.concatenate([above, tied]))
    return chosen


def other_half_centers(
    X: Matrix, codes: NDArray, pairs: NDArray, chosen: list[NDArray], n_classes: int, metric: str
) -> NDArray[np.float64]:
    """Class centers of features from the halves that had no say in choosing them.

    `X` (n_rows, n_columns). `codes` (n_rows,). `pairs` (n_pairs, n_rows). Returns `centers`
    (n_classes, n_columns): NaN for columns that no half chose.
    """
    centers, times = np.zeros((n_classes, X.shape[1])), np.zeros(X.shape[1])
    rows = half_rows(pairs)
    others = rows[len(pairs) :] + rows[: len(pairs)]
    center = np.mean if metric == "l2" else np.median
    X = X.tocsc() if is_sparse(X) else X
    ever = np.unique(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)
    part = X[:, ever].toarray() if is_sparse(X) else X[:, ever]
    for columns, other in zip(chosen, others, strict=True):
        values = part[np.ix_(other, np.searchsorted(ever, columns))]
        for c in range(n_classes):
            centers[c, columns] += center(values[codes[other] == c], axis=0)
        times[columns] += 1
    centers[:, times == 0] = np.nan
    return centers / np.maximum(times, 1)
