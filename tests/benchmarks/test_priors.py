"""The benchmark of priors measures what it prints."""

import importlib.util
from pathlib import Path

import numpy as np
from numpy.testing import assert_array_equal
from scipy import sparse

PATH = Path(__file__).parents[2] / "benchmarks" / "accuracy" / "priors.py"
spec = importlib.util.spec_from_file_location("priors", PATH)
priors = importlib.util.module_from_spec(spec)
spec.loader.exec_module(priors)


def make_counts(n_positive):
    rng = np.random.default_rng(0)
    y = (np.arange(200) < n_positive).astype(int)
    X = rng.poisson(0.1 + 0.4 * y[:, None] * (np.arange(30) < 10), size=(200, 30))
    rows = rng.permutation(200)
    return sparse.csr_array(X[rows].astype(float)), y[rows]


def test_priors_make_a_difference_where_classes_are_unequal_only(capsys):
    halves = [(np.arange(200) % 2 == 0, np.arange(200) % 2 == 1)]
    X, y = make_counts(100)
    even = np.argsort(y, kind="stable")  # as many of both classes in every half
    balanced = priors.measure(X[even], y[even], halves)
    assert balanced.shape == (2, 2, 1, len(priors.WORDS))
    assert_array_equal(balanced[0], balanced[1])
    unequal = priors.measure(*make_counts(20), halves)
    assert np.any(unequal[0] != unequal[1])
    priors.show("counts", unequal)
    assert "| accuracy, empirical - uniform |" in capsys.readouterr().out
