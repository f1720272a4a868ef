"""Neighbours from float32 products are those of plain double precision, in the same order."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.landmarks import neighbors
from tamis.landmarks.neighbors import METRICS, nearest_rows
from tests.oracles.landmarks import all_distances


def wild_maps(kind, n, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(40, 5)), rng.normal(size=(n, 5))
    if kind == "grid":
        return np.rint(A), np.rint(B)
    if kind == "far":
        return A * 10.0 ** rng.integers(-3, 30, (40, 1)), B
    if kind == "close":
        return 1.0 + 1e-9 * A, 1.0 + 1e-9 * B
    if kind == "unequal":
        return A, B * 10.0 ** -rng.integers(0, 60, (n, 1)).astype(float)
    if kind == "constant":
        return A, np.ones((n, 5))
    A[::4], B[::3] = 0.0, 0.0
    return A, B


@pytest.mark.parametrize("kind", ["grid", "far", "close", "unequal", "constant", "zeros"])
@pytest.mark.parametrize("n", [21, 130, 2500])
@pytest.mark.parametrize("few_rows", [0, 10**9])
def test_neighbours_are_exact_whatever_the_maps(kind, n, few_rows, monkeypatch):
    monkeypatch.setattr(neighbors, "_FEW_ROWS", few_rows)
    A, B = wild_maps(kind, n, n)
    for metrics in (["euclidean", "angle"], ["angle"]):
        found = nearest_rows(A, B, 21, metrics)
        for metric in metrics:
            D = all_distances(A, B, metric)
            order = np.argsort(D, axis=1, kind="stable")[:, :21]
            assert_array_equal(found[metric][0], order)
            assert_array_equal(found[metric][1], np.take_along_axis(D, order, axis=1))


def test_both_metrics_are_known():
    assert METRICS == ("euclidean", "angle")
    with pytest.raises(ValueError, match="k must be between 1 and 3, got 4"):
        nearest_rows(np.zeros((1, 2)), np.zeros((3, 2)), 4, ["angle"])
