"""Regions and draws of landmarks, bit for bit as one row, and one size, at a time give them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis.landmarks.choose import Sampler
from tamis.landmarks.distances import region_means


def means_one_row_at_a_time(P, region, centers):
    """The sums of the rows of each region, in order; slow on purpose."""
    means = centers.copy()
    for r in range(len(centers)):
        rows = [row for row, of_row in zip(P, region, strict=True) if of_row == r]
        total = np.zeros(P.shape[1])
        for row in rows:
            total = total + row
        means[r] = total / len(rows) if rows else means[r]
    return means


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("lowest", [0, -1])
def test_means_of_regions_are_sums_in_order(as_matrix, lowest):
    rng = np.random.default_rng(0)
    P, region = rng.normal(size=(60, 3)) * 1e3, rng.integers(lowest, 5, 60)
    P[rng.random(P.shape) < 0.5] = 0.0
    centers = rng.normal(size=(7, 3))  # two more than there are regions with rows
    expected = means_one_row_at_a_time(P, region, centers)
    assert_array_equal(region_means(as_matrix(P), region, centers), expected)


@pytest.mark.parametrize("kind", ["centers", "centroids"])
@pytest.mark.parametrize("method", ["density", "random", "fft", "kmeans"])
def test_a_sampler_draws_each_number_of_landmarks_as_if_alone(method, kind):
    X = np.random.default_rng(0).normal(size=(50, 4))
    shared = Sampler(method, X, "euclidean", 3, 20)
    for n_landmarks in (20, 4, 11):
        alone = Sampler(method, X, "euclidean", 3, n_landmarks)
        assert_array_equal(
            shared.draw(n_landmarks, kind)[0], alone.draw(n_landmarks, kind)[0], strict=True
        )


def test_two_samplers_share_draws_and_not_arrays():
    X = np.random.default_rng(0).normal(size=(50, 4))
    one, other = (Sampler("random", X, "euclidean", 3, 20) for _ in range(2))
    expected = np.random.RandomState(3).permutation(50)[:20]
    one.draw(20, "centers")[1][:] = 0
    assert_array_equal(other.draw(20, "centers")[1], expected)
