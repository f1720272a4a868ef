import numpy as np
from numpy.testing import assert_array_equal

from tamis.stability.halves import complementary_pairs, half_samples


def test_halves_are_stratified_and_come_in_complementary_pairs():
    codes = np.repeat([0, 1, 2], [20, 7, 1])
    halves = list(half_samples(codes, 10, np.random.RandomState(0)))
    assert len(halves) == 10
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert_array_equal(np.union1d(first, second), np.arange(28))
        assert np.intersect1d(first, second).tolist() == [27]  # the class with one sample
        assert np.bincount(codes[first])[0] == 10
        assert abs(np.bincount(codes[first])[1] - np.bincount(codes[second])[1]) == 1
    assert len(list(half_samples(codes, 3, np.random.RandomState(0)))) == 3


def test_pairs_have_halves_of_the_same_size_and_leave_the_odd_row_out():
    codes = np.repeat([0, 1, 2], [20, 7, 1])
    halves = complementary_pairs(codes, None, 30, np.random.RandomState(0))
    for half in (0, 1):
        counts = [
            [np.count_nonzero(pair[codes == c] == half) for c in range(3)] for pair in halves
        ]
        assert_array_equal(counts, [[10, 3, 0]] * 30)
    left_out = [np.flatnonzero(pair == -1) for pair in halves]
    assert np.unique(left_out).size == 8  # every row of the second class is left out at times


def test_pairs_do_not_divide_groups():
    groups = np.repeat(np.arange(12), [1, 2, 3] * 4)
    codes = (np.arange(12) % 2)[groups]
    codes[:1] = 1  # 7 units of class 1, 5 of class 0
    halves = complementary_pairs(codes, groups, 20, np.random.RandomState(0))
    first = np.unique(groups, return_index=True)[1]
    assert_array_equal(halves, halves[:, first][:, groups])
    for c, size in ((0, 2), (1, 3)):
        of_class = halves[:, first][:, codes[first] == c]
        assert_array_equal((of_class == 0).sum(axis=1), size)
        assert_array_equal((of_class == 1).sum(axis=1), size)
