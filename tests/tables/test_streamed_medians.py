"""Medians over chunks are those of all rows, bit by bit."""

import numpy as np
import pytest

from tamis.tables.preparing.medians import medians
from tamis.tables.preparing.streamed_medians import find_medians, first_brackets
from tests.quick import quick_pairs


def make(seed, n_rows):
    """Columns of all scales, of ties, of two far apart values, and constant; with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5)) * 10.0 ** rng.integers(-5, 6, 5)
    X[:, 1] = rng.integers(-2, 3, n_rows)
    X[:, 2] = np.where(rng.random(n_rows) < 0.5, -1e9, X[:, 2])
    X[:, 3] = 0.0
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.9])] = np.nan
    return X


@pytest.mark.parametrize(
    ("most", "is_weighted", "shift"),
    quick_pairs([3, 40, 10**6], [False, True], [0.0, 1e3]),  # the second: a wrong sample
)
def test_medians_are_exact(most, is_weighted, shift):
    for seed, n_rows in enumerate([1, 2, 9, 300, 2001, 2002]):
        X = make(seed, n_rows)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, n_rows).astype(float) if is_weighted else None
        results = []
        for step in (7, n_rows):

            def run(task, merge, step=step, X=X, weights=weights):
                summary = None
                for start in range(0, len(X), step):
                    rows = slice(start, start + step)
                    new = task(X[rows], None if weights is None else weights[rows])
                    summary = new if summary is None else merge(summary, new)
                return summary

            results.append(find_medians(run, first_brackets(X[::3] + shift, most)))
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], medians(X, weights))


def test_a_good_sample_needs_one_pass():
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    n_passes = 0

    def run(task, merge):
        nonlocal n_passes
        n_passes += 1
        return task(X, None)

    np.testing.assert_array_equal(
        find_medians(run, first_brackets(X[::10], 5000)), np.median(X, axis=0)
    )
    assert n_passes == 1
