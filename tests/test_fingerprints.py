"""Fingerprints of rows: the same however rows are cut, and others for other rows."""

import numpy as np
import pytest
from scipy import sparse

from tamis._fingerprints import Fingerprint

MAKE = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "by columns": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "int8": lambda X: (10 * X).astype(np.int8),
    "bool": lambda X: X > 0,
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)),
}
LABELS = {"numbers": lambda y: y, "words": lambda y: np.array(["well", "ill"])[y]}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("labels", LABELS)
def test_cuts_do_not_matter_and_changes_do(kind, labels):
    rng = np.random.default_rng(0)
    X, weights = MAKE[kind](rng.normal(size=(50, 7))), rng.uniform(size=50)
    y = LABELS[labels](rng.integers(2, size=50))
    whole = Fingerprint.of(X, y, weights)
    for size in (1, 7, 49):
        parts = [slice(at, at + size) for at in range(0, 50, size)]
        found = Fingerprint(0, 0)
        for part in parts:
            found = found.merge(Fingerprint.of(X[part], y[part], weights[part]))
        assert found == whole
    order = np.arange(50)
    order[[3, 40]] = 40, 3
    changed = X.copy()
    changed[[5], [2]] = 77
    heavier = weights.copy()
    heavier[9] *= 2
    others = [
        (X[order], y[order], weights[order]),
        (X[:49], y[:49], weights[:49]),
        (changed, y, weights),
        (X, np.where(np.arange(50) == 7, y[y != y[7]][0], y), weights),
        (X, y, heavier),
        (X, y, None),
    ]
    values = {Fingerprint.of(*rows).value for rows in others}
    assert len(values) == len(others) and whole.value not in values


def test_frames_and_lists_are_rows_too():
    pd = pytest.importorskip("pandas")
    rows, y = [[1.0, 2.0], [3.0, 4.0]], [0, 1]
    expected = Fingerprint.of(np.array(rows), np.array(y), None)
    assert Fingerprint.of(rows, y, None) == expected
    assert Fingerprint.of(pd.DataFrame(rows), pd.Series(y), None) == expected
    assert Fingerprint.of(pd.DataFrame({"a": ["x", "y"]}), y).n_rows == 2
