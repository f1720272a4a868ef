"""The cheapest of several models, from predictions to the answer."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.guarantees import find_cheapest_model
from tests.oracles import conformal as oracle


class Fixed:
    """Predicts the labels it is given."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, X):
        return self.labels


def make_models(y, errors):
    """Models that are wrong on the first rows of class "ill"."""
    models = []
    for wrong in errors:
        labels = y.copy()
        labels[np.flatnonzero(y == "ill")[:wrong]] = "well"
        models.append(Fixed(labels))
    return models


Y = np.array(["ill"] * 60 + ["well"] * 140)
X = np.zeros((200, 1))


@pytest.mark.parametrize("max_error", [0.02, 0.05, 0.1])
def test_the_last_model_that_passes_is_the_answer(max_error):
    errors = [0, 2, 5, 9, 14]
    models = make_models(Y, errors)
    found = find_cheapest_model(models, X, Y, max_error=max_error)
    place = oracle.last_passed(errors, 200, max_error, 0.05)
    assert found.place == place
    assert found.model is models[place]
    assert f"(wrong on {errors[place]} of 200 rows of the calibration set)" in str(found)


def test_a_miss_rate_counts_the_rows_of_its_class():
    models = make_models(Y, [0, 1, 2, 4])
    found = find_cheapest_model(models, X, Y, max_error=0.1, max_misses={"ill": 0.1})
    assert found.place == oracle.last_passed([0, 1, 2, 4], 60, 0.1, 0.05) == 1
    assert_array_equal(found.test.errors, [[0, 1, 2, 4]] * 2)
    well = find_cheapest_model(models, X, Y, max_misses={"well": 0.1})
    assert well.place == 3


def test_none_when_the_first_fails():
    found = find_cheapest_model(make_models(Y, [30, 0]), X, Y, max_error=0.05)
    assert (found.model, found.place) == (None, None)
    assert str(found).startswith("None: error rate at most 5 %, with 95 % confidence, could not")


def test_one_row_of_each_group_counts():
    groups = np.arange(200) // 4
    found = find_cheapest_model(
        make_models(Y, [0]), X, Y, max_error=0.05, groups=groups, random_state=0
    )
    assert found.model is None
    assert (
        "needs at least 59 rows in the calibration set, even without any error; there are 50."
        in str(found)
    )


def test_no_models_are_an_error():
    with pytest.raises(ValueError, match="models is empty"):
        find_cheapest_model([], X, Y, max_error=0.1)
