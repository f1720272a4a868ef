import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.model_selection import KFold

from tamis import (
    DatumWiseClassifierCV,
    LandmarkSearchCV,
    PrimalDualClassifierCV,
    SparseCenterClassifierCV,
)
from tamis.paths import splits
from tamis.paths.folds import GroupFolds, make_folds, merge_groups


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_folds", [2, 5])
def test_groups_stay_whole_and_every_row_is_tested_once(n_folds, seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, size=200)
    codes = rng.integers(0, 3, size=200)
    folds = make_folds(codes, groups, n_folds, 2, seed)
    for repeat in range(2):
        tests = [fold.test for fold in folds if fold.repeat == repeat]
        assert_array_equal(np.sort(np.concatenate(tests)), np.arange(200))
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert_array_equal(np.sort(np.concatenate([fold.train, fold.test])), np.arange(200))


def test_single_rows_are_stratified():
    codes = np.repeat([0, 1], [70, 30])
    for _, test in GroupFolds(5, 0).split(None, codes, np.arange(100)):
        assert_array_equal(np.bincount(codes[test]), [14, 6])


def test_groups_of_one_class_are_stratified():
    codes, groups = np.repeat([0, 1, 0, 1, 1, 0, 0, 1, 0, 1], 6), np.repeat(np.arange(10), 6)
    for _, test in GroupFolds(5, 3).split(None, codes, groups):
        assert_array_equal(np.bincount(codes[test]), [6, 6])


def test_repeats_and_seeds_differ_and_equal_seeds_do_not():
    codes, groups = np.arange(90) % 2, np.arange(90) // 3
    folds = make_folds(codes, groups, 3, 2, 0)
    again = make_folds(codes, groups, 3, 2, 0)
    other = make_folds(codes, groups, 3, 2, 1)
    for one, same in zip(folds, again, strict=True):
        assert_array_equal(one.test, same.test)
    assert not np.array_equal(folds[0].test, folds[3].test)
    assert not np.array_equal(folds[0].test, other[0].test)


def test_too_few_groups_are_an_error():
    with pytest.raises(ValueError, match="5 folds need at least 5 groups, got 2"):
        make_folds(np.arange(10) % 2, np.arange(10) // 5, 5, 1, 0)


@pytest.mark.parametrize("seed", range(5))
def test_merged_groups_are_the_connected_ones(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 12, size=(2, 20))
    linked = (one[:, None] == one) | (other[:, None] == other)
    expected = connected_components(linked)[1]
    merged = merge_groups(one, other)
    assert len(set(zip(merged, expected, strict=True))) == merged.max() + 1 == expected.max() + 1


def test_groups_that_are_not_given_change_nothing():
    assert merge_groups(None, None) is None
    assert_array_equal(merge_groups(None, np.array([5, 5, 9])), [0, 0, 1])


X, Y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) // 3 % 2
GROUPS = np.arange(60) // 3


@pytest.mark.parametrize(
    "estimator",
    [
        SparseCenterClassifierCV(cv=4),
        PrimalDualClassifierCV([0.5, 1.0], cv=4),
        DatumWiseClassifierCV([0.1], learner="linear", n_iterations=1, cv=4, random_state=0),
        LandmarkSearchCV(n_configurations=2, cv=4, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_cv_classes_keep_groups_whole_and_use_a_splitter_as_it_is(estimator, monkeypatch):
    seen = []

    class Watched(GroupFolds):
        def split(self, X, y, groups):
            for train, test in super().split(X, y, groups):
                seen.append(set(groups[train]) & set(groups[test]))
                yield train, test

    monkeypatch.setattr(splits, "GroupFolds", Watched)
    clone(estimator).fit(X, Y, groups=GROUPS)
    assert seen == [set()] * 4
    seen.clear()

    class Own(KFold):
        def split(self, X, y=None, groups=None):
            seen.append(groups)
            return super().split(X, y, groups)

    clone(estimator).set_params(cv=Own(3, shuffle=True, random_state=0)).fit(X, Y, groups=GROUPS)
    assert len(seen) == 1
    assert_array_equal(seen[0], GROUPS)


@pytest.mark.slow  # compiles
def test_compiled_and_python_code_deal_the_same_folds(monkeypatch):
    rng = np.random.default_rng(0)
    codes, groups = rng.integers(0, 4, 500), rng.integers(0, 90, 500)
    expected = [test for _, test in GroupFolds(5, 0).split(None, codes, groups)]
    monkeypatch.setattr("tamis.paths.folds._WORTH_COMPILING", 0)
    for test, other in zip(GroupFolds(5, 0).split(None, codes, groups), expected, strict=True):
        assert_array_equal(test[1], other)
