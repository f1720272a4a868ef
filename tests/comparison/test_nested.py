import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from tamis import SparseCenterClassifier
from tamis.comparison.choosing import nested
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.settings import Settings
from tamis.paths.folds import make_folds
from tests.comparison.problems import blobs, compare, make
from tests.comparison.test_choice import chosen_by_the_rule
from tests.oracles import comparison as oracle


@pytest.mark.parametrize("seed", range(4))
def test_the_nested_score_is_that_of_one_model_at_a_time(seed):
    X, y = blobs(60, 6, shift=0.6, seed=seed)
    problem = make(X, y)
    comparison = compare(problem, Settings(("centers",), n_folds=4, seed=seed))
    folds = make_folds(problem.codes, None, 4, 1, seed)
    levels = find_method("centers").levels(problem, None)
    expected = oracle.nested_predictions(
        X,
        problem.codes,
        [fold.test for fold in folds],
        lambda X, y, k: SparseCenterClassifier(int(k)).fit(X, y),
        levels,
        lambda right, y: chosen_by_the_rule(right.astype(float), y, levels),
    )
    assert comparison.honest_score.is_nested
    assert_allclose(
        comparison.honest_score.score, balanced_accuracy_score(problem.codes, expected)
    )


def test_a_pair_is_trained_without_both_of_its_folds():
    codes = np.arange(40) % 2
    folds = make_folds(codes, None, 4, 2, 0)
    pairs = nested.pair_folds(folds, 0)
    assert len(pairs) == 6
    for pair in pairs:
        one, other = folds[pair.repeat], folds[pair.number]
        both = np.sort(np.concatenate([one.test, other.test]))
        assert_array_equal(pair.test, both)
        assert_array_equal(np.sort(np.concatenate([pair.train, both])), np.arange(40))


@pytest.mark.parametrize(
    ("n_rows", "n_folds", "expected"),
    [(100, 5, True), (499, 3, True), (500, 5, False), (100, 2, False), (100, 10, False)],
)
def test_small_data_are_nested(n_rows, n_folds, expected):
    assert nested.is_nested(n_rows, n_folds) == expected


def test_rows_of_a_group_are_in_no_model_that_scores_them():
    codes, groups = np.repeat([0, 1, 0, 1, 1, 0, 0, 1], 6), np.arange(48) // 6
    for pair in nested.pair_folds(make_folds(codes, groups, 4, 1, 0), 0):
        assert not set(groups[pair.train]) & set(groups[pair.test])
