import numpy as np
from numpy.testing import assert_array_equal

from tamis.stability.halves import half_samples


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
