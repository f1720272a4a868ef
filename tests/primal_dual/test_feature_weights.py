"""Weights of the features: the ball is a weighted one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from tamis import PrimalDualClassifier, PrimalDualClassifierCV
from tests.primal_dual.test_classifier import assert_certified

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
# Every ball with one form of the data, every form with one ball: neither knows of the other.
balls_and_forms = pytest.mark.parametrize(
    ("ball", "form"),
    [(ball, FORMS[0]) for ball in ("l1", "l21", "l12", "nuclear")]
    + [("l21", form) for form in FORMS[1:]],
)


def make_data(n_features=12, seed=0):
    X, y = make_classification(
        n_samples=90, n_features=n_features, n_informative=5, n_classes=3, random_state=seed
    )
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    X[:, -1] = 2.0  # a constant column
    weights = np.random.default_rng(seed).uniform(0.2, 5.0, n_features)
    return X, y, weights


@balls_and_forms
def test_raw_features_are_multiplied(ball, form):
    X, y, weights = make_data()
    parameters = {"ball": ball, "standardize": False, "tol": 1e-8}
    model = PrimalDualClassifier(feature_weights=weights, **parameters).fit(form(X), y)
    explicit = PrimalDualClassifier(**parameters).fit(X * weights, y)
    assert_allclose(model.scale_, 1 / weights)
    assert_allclose(model.weights_, explicit.weights_, atol=1e-4)
    assert_allclose(model.predict_proba(form(X)), explicit.predict_proba(X * weights), atol=1e-4)
    assert_certified(model, X, y)


@balls_and_forms
def test_standardized_features_are_multiplied(ball, form):
    X, y, weights = make_data()
    model = PrimalDualClassifier(ball=ball, feature_weights=weights, tol=1e-8).fit(form(X), y)
    plain = PrimalDualClassifier().fit(X, y)
    Z = (X - plain.mean_) / plain.scale_ * weights
    explicit = PrimalDualClassifier(ball=ball, standardize=False, tol=1e-8).fit(Z, y)
    assert_allclose(model.scale_[:-1], (plain.scale_ / weights)[:-1], rtol=1e-12)
    assert model.scale_[-1] == 1.0
    assert_allclose(model.weights_, explicit.weights_, atol=1e-4)
    assert_allclose(model.predict_proba(form(X)), explicit.predict_proba(Z), atol=1e-4)
    assert_certified(model, X, y)
    explanation = model.explain(form(X))
    assert_allclose(explanation.decision, model.decision_function(form(X)), atol=1e-9)


@pytest.mark.parametrize("weight", [1e3, 1e6])
@pytest.mark.parametrize("feature", [1, 6])
def test_a_huge_weight_lets_a_feature_in_at_a_tiny_radius(feature, weight):
    X, y, _ = make_data()
    weights = np.where(np.arange(X.shape[1]) == feature, weight, 1.0)
    model = PrimalDualClassifier(0.005 / weight, feature_weights=weights, tol=1e-9).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [feature])


def test_weights_of_one_change_nothing():
    X, y, _ = make_data()
    for standardize in (True, False):
        plain = PrimalDualClassifier(standardize=standardize).fit(X, y)
        ones = [1] * X.shape[1]
        model = PrimalDualClassifier(standardize=standardize, feature_weights=ones).fit(X, y)
        assert_allclose(model.weights_, plain.weights_, atol=1e-10)


def test_weights_count_in_the_folds_and_on_the_path():
    X, y, weights = make_data()
    model = PrimalDualClassifierCV([0.3, 1.0], feature_weights=weights, cv=3, standardize=False)
    explicit = PrimalDualClassifierCV([0.3, 1.0], cv=3, standardize=False)
    model, explicit = model.fit(X, y), explicit.fit(X * weights, y)
    assert_allclose(model.path_["score"], explicit.path_["score"], atol=0.04)
    assert_array_equal(model.path_["n_features"], explicit.path_["n_features"])
    path = PrimalDualClassifier(feature_weights=weights).fit_path(X, y, [0.3, 1.0])
    assert_allclose(
        path.model(0).scale_[:-1] * weights[:-1], PrimalDualClassifier().fit(X, y).scale_[:-1]
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "one number for each of the 12 features"),
        (3.0, "one number for each of the 12 features"),
        (np.ones((12, 1)), "one number for each of the 12 features"),
        ([1.0] * 11 + [0.0], "positive and finite"),
        ([1.0] * 11 + [-1.0], "got -1.0 for feature 11"),
        ([1.0] * 11 + [np.nan], "positive and finite"),
        ([1.0] * 11 + [np.inf], "positive and finite"),
        (["a"] * 12, "must be numbers"),
        ([None] * 12, "must be numbers"),
        ([True] * 12, "must be numbers"),
        ([[1.0], [1.0, 2.0]], "list of numbers"),
    ],
)
@pytest.mark.parametrize("estimator", [PrimalDualClassifier, PrimalDualClassifierCV])
def test_wrong_weights_are_errors(estimator, weights, message):
    X, y, _ = make_data()
    with pytest.raises(ValueError, match=message):
        estimator(feature_weights=weights).fit(X, y)
