"""The configuration space has the paper's size, and draws are per parameter."""

import numpy as np
import pytest

from tamis.landmarks.space import (
    Configuration,
    check_space,
    draw_configurations,
    list_configurations,
    simplify,
)
from tests.oracles.landmarks import paper_space

PAPER = check_space("paper", False)


def as_tuple(c):
    classifier = (c.classifier, c.n_neighbors, c.weights, c.metric)
    return c.n_landmarks, (c.landmarks, c.kind, c.distance), c.kernel, classifier


def test_the_paper_has_4420_configurations_and_3900_distinct_ones():
    assert len(paper_space()) == 4420
    distinct = {
        (size, refs, kernel, (*head[:2], "uniform" if head[1] == 1 else head[2], head[3]))
        for size, refs, kernel, head in paper_space()
    }
    assert len(distinct) == 3900
    assert {as_tuple(c) for c in list_configurations(PAPER)} == distinct
    assert len(list_configurations(PAPER)) == 3900


def test_naive_bayes_is_drawn_half_of_the_time():
    drawn = draw_configurations(PAPER, 400, np.random.RandomState(0))
    n_bayes = sum(c.classifier == "nb" for c in drawn)
    assert len(set(drawn)) == 400
    # Only 260 configurations have naive Bayes, so that draws come twice and are drawn again.
    assert 100 < n_bayes < 200
    first = draw_configurations(PAPER, 60, np.random.RandomState(0))
    assert 20 < sum(c.classifier == "nb" for c in first) < 40


def test_more_draws_begin_with_the_same_ones():
    few = draw_configurations(PAPER, 20, np.random.RandomState(3))
    many = draw_configurations(PAPER, 90, np.random.RandomState(3))
    assert many[:20] == few


def test_a_small_space_gives_all_it_has():
    values = check_space({"landmarks": ["fft"], "classifier": ["nb"]}, False)
    drawn = draw_configurations(values, 1000, np.random.RandomState(0))
    assert len(drawn) == len(list_configurations(values)) == 80


def test_what_has_no_meaning_is_left_out():
    plain = simplify(Configuration(landmarks="kmeans", n_neighbors=5, regularization=1.0))
    assert (plain.kind, plain.distance, plain.n_neighbors) == ("centroids", "euclidean", None)
    assert plain.regularization is None
    one = Configuration(classifier="knn", n_neighbors=1, weights="distance", metric="angle")
    assert simplify(one).weights == "uniform"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("papers", "space must be 'paper', 'extended' or a dict"),
        ({"kernels": ["linear"]}, "space has no parameter 'kernels'"),
        ({"kernel": "linear"}, "must be a list of values"),
        ({"kernel": []}, "must be a list of values"),
        ({"kernel": ["rbf"]}, "known are 'linear', 'gaussian'"),
        ({"n_landmarks": [0]}, "integers >= 1, got 0"),
        ({"n_landmarks": [True]}, "integers >= 1, got True"),
        ({"n_neighbors": [65]}, "integers >= 1 up to 64, got 65"),
        ({"regularization": [-1.0]}, "positive numbers, got -1.0"),
        ({"regularization": [True]}, "positive numbers, got True"),
        ({"regularization": [np.inf]}, "positive numbers, got inf"),
        ({"classifier": ["nb"], "n_neighbors": [5]}, "n_neighbors, which is for classifier 'knn'"),
        ({"landmarks": ["kmeans"], "kind": ["centers"]}, "needs kind='centroids'"),
    ],
)
def test_wrong_spaces_are_told(space, message):
    with pytest.raises(ValueError, match=message):
        check_space(space, False)


def test_scalings_that_fill_zeros_are_refused_for_sparse_data():
    assert check_space("extended", True)["scaling"] == (None, "standard")
    with pytest.raises(ValueError, match="would make sparse X dense"):
        check_space({"scaling": ["minmax"]}, True)


def test_k_means_is_left_out_where_its_centroids_are():
    assert "kmeans" not in check_space({"kind": ["centers"]}, False)["landmarks"]
    assert "kmeans" not in check_space({"distance": ["angle"]}, False)["landmarks"]
    assert "kmeans" in check_space({"kernel": ["linear"]}, False)["landmarks"]
