"""What is done with some of the rows where there are many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.comparison.methods import families
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.options import Options
from tamis.comparison.settings import make_settings
from tamis.paths import folds
from tests.comparison.problems import blobs, make


def part_of(problem, rows=None):
    rows = np.arange(problem.n_rows) if rows is None else rows
    return problem.train_part(rows, problem.codes, 0)


@pytest.mark.parametrize(
    ("n_rows", "fewest", "n_folds"),
    [(100_000, 50_000, 5), (100_001, 10_000, 2), (1_000_000, 9_999, 5)],
)
def test_many_rows_of_each_class_have_two_folds(n_rows, fewest, n_folds):
    assert folds.default_folds(n_rows, fewest) == n_folds


def test_the_number_of_folds_that_is_asked_for_counts(monkeypatch):
    monkeypatch.setattr(folds, "_MANY_ROWS", 70)
    monkeypatch.setattr(folds, "_MANY_OF_CLASS", 21)
    groups = np.arange(80) // 4
    for options, problem, n_folds in (
        (Options(), make(*blobs(80)), 2),
        (Options(folds=4), make(*blobs(80)), 4),
        (Options(), make(*blobs(70)), 5),
        (Options(), make(*blobs(80), groups=groups), 5),  # twenty groups
    ):
        assert make_settings(options, problem, []).n_folds == n_folds


def test_a_sample_is_drawn_by_what_rows_hold_and_has_whole_groups():
    X, y = blobs(2000)
    groups, order = np.arange(2000) // 5, np.random.default_rng(0).permutation(2000)
    problem = make(X, y, groups=groups)
    other = make(X[order], y[order], groups=groups[order])
    some, others = part_of(problem).sample(500), part_of(other).sample(500)
    assert_array_equal(np.sort(order[others]), some)
    assert 300 < some.size < 700
    assert set(np.unique(groups[some], return_counts=True)[1]) == {5}
    assert_array_equal(part_of(problem).sample(2000), np.arange(2000))


def test_no_sample_is_drawn_where_a_class_would_have_few_rows():
    X, y = blobs(2000)
    y[:1900] = "ab"
    assert part_of(make(X, y)).sample(500).size == 2000


def test_primal_dual_is_trained_on_a_sample_of_many_rows(monkeypatch):
    X, y = blobs(2000)
    problem = make(X, y)
    method, part = find_method("primal-dual"), part_of(problem)
    wanted = method.train(part_of(problem, part.sample(700)), [1, 3])
    monkeypatch.setattr(families, "MANY_ROWS", 700)
    found = method.train(part, [1, 3])
    for level in range(2):
        assert_array_equal(found.features(level), wanted.features(level))
    shares = [trained.predict(part.X, part.X)[0] for trained in (found, wanted)]
    assert_allclose(*shares, atol=0.02)  # the sample has ten radii here, and twenty alone


def test_datum_wise_classifiers_are_trained_on_a_sample_of_many_rows(monkeypatch):
    problem = make(*blobs(2000))
    method, part = find_method("datum-wise"), part_of(problem)
    monkeypatch.setattr(families, "_ASKED_ROWS", 300)
    wanted = method.train(part_of(problem, part.sample(300)), [0.1, 0.02])
    monkeypatch.setattr(families, "_MANY_ASKED", 1000)
    found = method.train(part, [0.1, 0.02])
    shares = [trained.predict(part.X, part.X)[0] for trained in (found, wanted)]
    assert_array_equal(*shares)
