"""The fewest questions with which errors are shown to be rare."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student
from sklearn.datasets import make_classification

from tamis import DatumWiseClassifier, DatumWiseClassifierCV
from tamis.datumwise.calibration import calibrate_levels
from tamis.paths.calibration_rows import keep_rows
from tamis.paths.fixed_sequence import Limit
from tamis.paths.path import Usage
from tests.oracles import conformal as oracle

SMALL = {"learner": "linear", "n_states": 300, "n_iterations": 3, "random_state": 0}
LEVELS = [0.3, 0.03, 0.001]


def make_data():
    X, y = make_classification(500, 8, n_informative=5, class_sep=1.5, random_state=0)
    return X, np.array(["ill", "well"])[y]


@pytest.fixture(scope="module")
def path():
    X, y = make_data()
    return DatumWiseClassifier(**SMALL, feature_costs=np.arange(1, 9) / 10).fit_path(
        X[:250], y[:250], LEVELS
    )


@pytest.mark.parametrize("max_error", [0.13, 0.2, 0.9])
def test_the_answer_is_the_last_level_that_passes_from_the_most_questions(path, max_error):
    X, y = make_data()
    X, y = X[250:], y[250:]
    found = path.calibrate(X, y, max_error=max_error)
    models = [path.model(level) for level in (2, 1, 0)]
    errors = [int((model.predict(X) != y).sum()) for model in models]
    place = oracle.last_passed(errors, 250, max_error, 0.05)
    assert place is not None
    assert_array_equal(found.test.errors, [errors])
    assert_array_equal(found.cost_weights, sorted(LEVELS))
    assert found.cost_weight == found.model.cost_weight == models[place].cost_weight
    acquired = models[place].acquire(X)
    assert_array_equal(found.model.predict(X), acquired.labels)
    for estimate, values in (
        (found.n_questions, acquired.n_questions),
        (found.cost, acquired.cost),
    ):
        assert_allclose(estimate.mean, values.mean())
        error = np.sqrt(values.var(ddof=1) / 250 + 1 / 252**2)
        margin = student.ppf(1 - 0.05 / 6, 249) * error  # three levels, two sides
        assert_allclose(estimate.high - estimate.mean, margin)
        assert_allclose(estimate.low, max(0, values.mean() - margin))
    assert f"This takes {found.n_questions.mean:.3g} questions per row on average" in str(found)


def test_more_errors_allowed_take_no_more_questions(path):
    X, y = make_data()
    found = [path.calibrate(X[250:], y[250:], max_error=e) for e in (0.13, 0.9)]
    assert found[0].n_questions.mean > found[1].n_questions.mean


def test_none_when_nothing_can_be_shown(path):
    X, y = make_data()
    found = path.calibrate(X[250:], y[250:], max_error=0.005)
    assert (found.model, found.cost_weight, found.n_questions, found.cost) == (None,) * 4
    assert str(found).startswith("None: ")
    assert "needs at least 598 rows in the calibration set" in str(found)


def test_miss_rates_and_groups(path):
    X, y = make_data()
    X, y = X[250:], y[250:]
    groups = np.arange(250) // 2
    found = path.calibrate(X, y, max_misses=0.4, groups=groups, random_state=0)
    sizes = [limit.rows.size for limit in found.test.limits]
    assert sizes == [len(set(groups[y == c])) for c in ("ill", "well")]


def test_unknown_labels_are_an_error(path):
    X, _ = make_data()
    with pytest.raises(ValueError, match="y has the label 'dead', which is not among the classes"):
        path.calibrate(X[:3], ["ill", "well", "dead"], max_error=0.1)


def test_rows_are_set_aside_before_learning():
    X, y = make_data()
    model = DatumWiseClassifier(**SMALL)
    before = set(vars(model))
    found = model.calibrate(
        X, y, max_error=0.3, levels=LEVELS, groups=np.arange(500) // 2, calibration_share=0.4
    )
    assert set(vars(model)) == before
    (limit,) = found.test.limits
    assert limit.rows.size == 100  # of 250 groups, one row each
    named = pd.DataFrame(X, columns=[f"gene {j}" for j in range(8)])
    same = model.calibrate(
        named, y, max_error=0.3, levels=LEVELS, groups=np.arange(500) // 2, calibration_share=0.4
    )
    assert_array_equal(same.test.errors, found.test.errors)
    assert same.model.feature_names_in_[0] == "gene 0"


def test_calibration_rows_train_nothing(monkeypatch):
    X, y = make_data()
    seen = []
    fit_path = DatumWiseClassifier.fit_path

    def watch(self, X, y, levels=None):
        seen.append(X)
        return fit_path(self, X, y, levels)

    monkeypatch.setattr(DatumWiseClassifier, "fit_path", watch)
    found = DatumWiseClassifier(**SMALL).calibrate(X, y, max_error=0.3, levels=LEVELS)
    assert seen[0].shape[0] + found.test.limits[0].rows.size == 500
    assert found.test.limits[0].rows.size == 150


def test_equal_numbers_of_questions_are_not_certain():
    usage = Usage(np.full((2, 98), 3), np.full((2, 98), 1.5))
    rows = np.arange(98)
    wrong = np.zeros((2, 98), dtype=bool)
    test, n_questions, cost = calibrate_levels(
        wrong, usage, [Limit("error rate", 0.1, rows)], rows, 0.95
    )
    assert test.chosen == 1
    assert 2.9 < n_questions.low < 3 < n_questions.high < 3.1
    assert cost.mean == 1.5


# Budgets.


def test_budgets_are_tested_from_the_largest_training_cost_to_the_smallest():
    X, y = make_data()
    model = DatumWiseClassifier(**SMALL)
    found = model.calibrate(X, y, max_error=0.35, levels=LEVELS, budgets=[1, 2])
    assert sorted(found.budgets, key=str) == [1] * 3 + [2] * 3 + [None] * 3
    train, kept = keep_rows(None, None, 500, 0.3, 0)
    members = []
    for budget in (None, 1, 2):
        path = DatumWiseClassifier(**SMALL, max_features=budget).fit_path(
            X[train], y[train], LEVELS
        )
        members += [(budget, path.model(level)) for level in range(3)]
    order = sorted(members, key=lambda m: (m[1].mean_cost_, m[1].mean_n_features_), reverse=True)
    costs = [m.mean_cost_ for _, m in order]
    assert costs == sorted(costs, reverse=True) and len(set(costs)) > 4
    by_pair = {(b, m.cost_weight): m for b, m in members}
    tested = [by_pair[pair] for pair in zip(found.budgets, found.cost_weights, strict=True)]
    assert [m.mean_cost_ for m in tested] == costs
    errors = [int((m.predict(X[kept]) != y[kept]).sum()) for m in tested]
    assert_array_equal(found.test.errors, [errors])
    place = oracle.last_passed(errors, 150, 0.35, 0.05)
    assert place is not None
    assert found.model.max_features == found.budgets[place]
    assert_array_equal(found.model.predict(X), tested[place].predict(X))
    assert_allclose(found.n_questions.mean, tested[place].acquire(X[kept]).n_questions.mean())


# Cross-validated paths.


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data()
    return DatumWiseClassifierCV(LEVELS, cv=2, **SMALL).fit(X[:250], y[:250])


def test_a_cross_validated_path_is_calibrated_with_new_rows(fitted):
    X, y = make_data()
    X, y = X[250:], y[250:]
    before = fitted.cost_weight_
    found = fitted.calibrate(X, y, max_error=0.2)
    errors = []
    for level in (2, 1, 0):
        fitted._select(level)
        errors.append(int((fitted.predict(X) != y).sum()))
    fitted._select([level["cost_weight_"] for level in fitted._levels].index(before))
    assert_array_equal(found.test.errors, [errors])
    place = oracle.last_passed(errors, 250, 0.2, 0.05)
    assert place is not None
    assert found.cost_weight == found.model.cost_weight_ == sorted(LEVELS)[place]
    assert int((found.model.predict(X) != y).sum()) == errors[place]
    assert_allclose(found.n_questions.mean, found.model.acquire(X).n_questions.mean())
    assert fitted.cost_weight_ == before
    assert fitted.calibrate(X, y, max_error=0.005).model is None


def test_training_rows_do_not_calibrate(fitted):
    X, y = make_data()
    with pytest.raises(
        ValueError, match="250 of 250 rows of the calibration set are training rows"
    ):
        fitted.calibrate(X[:250], y[:250], max_error=0.2)
    with pytest.raises(
        ValueError, match="60 of 100 rows of the calibration set are training rows"
    ):
        fitted.calibrate(X[190:290], y[190:290], max_error=0.2)
    assert fitted.calibrate(X[240:300], y[240:300], max_error=0.4).test.errors.shape == (1, 3)
    # A copy from another process cannot know; nor can a table whose rows repeat anyway.
    again = pickle.loads(pickle.dumps(fitted))
    assert not hasattr(again, "_training_rows")
    again.calibrate(X[:250], y[:250], max_error=0.2)
    coarse = (X[:, :2] > 0).astype(float)
    model = DatumWiseClassifierCV(LEVELS, cv=2, **SMALL).fit(coarse[:250], y[:250])
    model.calibrate(coarse[250:], y[250:], max_error=0.4)
