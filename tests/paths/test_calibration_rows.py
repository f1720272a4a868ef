"""Rows that are set aside: at random, by class or in whole sample groups."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.paths.calibration_rows import (
    count_as_strange,
    deal_rows,
    keep_rows,
    number_groups,
    one_row_per_group,
)

CODES = np.repeat([0, 1, 2], [40, 10, 1])
GROUPS = np.repeat(np.arange(20), np.arange(1, 21))


def test_the_same_share_of_each_class_is_kept():
    train, kept = keep_rows(CODES, None, CODES.size, 0.3, 0)
    assert_array_equal(np.bincount(CODES[kept], minlength=3), [12, 3, 0])
    assert_array_equal(np.sort(np.concatenate([train, kept])), np.arange(CODES.size))


def test_sample_groups_are_kept_whole():
    train, kept = keep_rows(None, GROUPS, GROUPS.size, 0.3, 0)
    assert not set(GROUPS[train]) & set(GROUPS[kept])
    assert len(set(GROUPS[kept])) == 6
    assert train.size + kept.size == GROUPS.size


def test_every_group_is_kept_equally_often_whatever_its_size():
    counts = np.zeros(20)
    for seed in range(400):
        kept = keep_rows(None, GROUPS, GROUPS.size, 0.3, seed)[1]
        counts[np.unique(GROUPS[kept])] += 1
    assert np.abs(counts / 400 - 0.3).max() < 4 * np.sqrt(0.21 / 400)


def test_enough_rows_of_each_class_are_left():
    for left, expected in ((1, [32, 8, 0]), (3, [32, 7, 0]), (9, [31, 1, 0])):
        kept = keep_rows(CODES, None, CODES.size, 0.8, 0, left)[1]
        assert np.bincount(CODES[kept], minlength=3).tolist() == expected


def test_groups_of_one_class_are_dealt_class_by_class():
    groups = np.repeat(np.arange(40), 3)
    codes = (groups < 8).astype(int)  # 8 groups of class 1
    for seed in range(20):
        kept = keep_rows(codes, groups, groups.size, 0.25, seed)[1]
        assert np.bincount(codes[kept]).tolist() == [24, 6]
    codes[0] = 0  # now one group has both classes, and no draw may depend on the class
    counts = {np.unique(groups[keep_rows(codes, groups, 120, 0.25, s)[1]]).size for s in range(9)}
    mixed = {codes[keep_rows(codes, groups, 120, 0.25, s)[1]].sum() for s in range(9)}
    assert counts == {10}
    assert len(mixed) > 2


def test_rows_that_differ_in_the_last_digit_are_equally_strange():
    known = np.array([-0.9, -0.5, -0.5, -0.1])
    new = np.array([-0.5, np.nextafter(-0.5, 1), np.nextafter(-0.5, -1), -0.05, -1.0])
    assert count_as_strange(known, new).tolist() == [3, 3, 3, 0, 4]


def test_folds_have_equal_numbers_of_each_class():
    fold_of = deal_rows(CODES, None, CODES.size, 5, 0)
    table = np.array([np.bincount(fold_of[c == CODES], minlength=5) for c in range(3)])
    assert_array_equal(table[:2], [[8] * 5, [2] * 5])
    assert table[2].sum() == 1


def test_folds_keep_sample_groups_whole():
    codes = np.arange(GROUPS.size) % 2  # groups have rows of both classes
    fold_of = deal_rows(codes, GROUPS, GROUPS.size, 5, 0)
    assert all(len(set(fold_of[g == GROUPS])) == 1 for g in range(20))
    assert_array_equal(np.bincount(fold_of[np.unique(GROUPS, return_index=True)[1]]), [4] * 5)


@pytest.mark.parametrize("n_folds", [1, 2.0, True, "5"])
def test_a_wrong_number_of_folds_is_an_error(n_folds):
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        deal_rows(CODES, None, CODES.size, n_folds, 0)


def test_too_few_groups_for_the_folds_are_an_error():
    with pytest.raises(ValueError, match="3 folds need at least 3 sample groups, got 2"):
        deal_rows(None, np.array([0, 0, 1]), 3, 3, 0)


def test_one_random_row_of_each_group():
    rows = np.flatnonzero(GROUPS % 2 == 1)
    rng = np.random.default_rng(0)
    drawn = np.array([one_row_per_group(rows, GROUPS, rng) for _ in range(300)])
    assert_array_equal(GROUPS[drawn], np.tile(np.arange(1, 20, 2), (300, 1)))
    of_the_first = np.bincount(drawn[:, 0] - 1, minlength=2)  # group 1 has the rows 1 and 2
    assert 100 < of_the_first[0] < 200
    assert_array_equal(one_row_per_group(rows, None, rng), rows)


def test_groups_must_be_as_many_as_rows():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        number_groups(["a", "b"], 3)
    assert_array_equal(number_groups(["b", "a", "b"], 3), [1, 0, 1])
