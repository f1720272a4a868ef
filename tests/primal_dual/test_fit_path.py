"""Classifiers of many radii: each is the one of `fit`, and the first ones are really sparse."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification

from tamis import PrimalDualClassifier
from tests.primal_dual.test_classifier import assert_certified


def models(path):
    return [path.model(place) for place in range(len(path))]


def make_data(n_features=40, n_classes=3, seed=0):
    return make_classification(
        n_samples=90,
        n_features=n_features,
        n_informative=6,
        n_classes=n_classes,
        random_state=seed,
    )


@pytest.mark.parametrize(
    ("ball", "loss", "weighted"),
    [
        ("l1", "huber", False),
        ("l1", "huber", True),
        ("l1", "l1", True),
        ("l1", "frobenius", False),
        ("l21", "huber", True),
        ("l21", "l1", False),
        ("l21", "frobenius", True),
        ("l12", "huber", False),
        ("nuclear", "frobenius", True),
    ],
)
def test_every_classifier_is_that_of_fit_with_its_radius(ball, loss, weighted):
    X, y = make_data()
    weight = np.random.default_rng(0).integers(0, 3, y.size) if weighted else None
    tol = 1e-5 if loss == "l1" else 1e-6  # not smooth, and slower
    path = PrimalDualClassifier(ball=ball, loss=loss, tol=tol).fit_path(
        X, y, [2.0, 0.4, 1.0], sample_weight=weight
    )
    assert [model.radius for model in models(path)] == [0.4, 1.0, 2.0]
    for model in models(path):
        assert_certified(model, X, y, weight)
        alone = clone(model).fit(X, y, sample_weight=weight)
        assert vars(model).keys() == vars(alone).keys()
        unit = alone.gap_ / alone.relative_gap_ if alone.relative_gap_ else alone.objective_
        assert_allclose(model.objective_, alone.objective_, atol=2 * tol * unit)
        assert model.temperature_ == 1.0
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=0.05)
        assert model.history_.keys() == alone.history_.keys()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_the_path_begins_with_one_feature_and_grows(ball, n_classes):
    X, y = make_data(n_features=300, n_classes=n_classes)
    sizes = [model.n_features_ for model in models(PrimalDualClassifier(ball=ball).fit_path(X, y))]
    assert sizes[0] == 1
    assert {2, 3} & set(sizes)
    assert sizes[-1] >= 60
    assert 15 <= len(sizes) <= 35
    found = np.unique(sizes)
    found = found[found <= 40]
    assert np.all(np.diff(found) <= np.maximum(2, 0.3 * found[:-1]))


@pytest.mark.parametrize("ball", ["l12", "nuclear"])
def test_balls_that_keep_all_features_have_a_path_of_models_that_are_not_empty(ball):
    X, y = make_data(n_features=10)
    path = PrimalDualClassifier(ball=ball).fit_path(X, y, 5)
    radii = [model.radius for model in models(path)]
    assert radii == sorted(set(radii))
    assert all(model.n_features_ for model in models(path))


@pytest.mark.parametrize("most", [2, 3, 8, 0.25])
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_no_model_has_more_features_than_asked_for(ball, most):
    X, y = load_breast_cancer(return_X_y=True)
    count = most if isinstance(most, int) else int(most * X.shape[1])
    path = PrimalDualClassifier(ball=ball).fit_path(X, y, max_features=most)
    sizes = [model.n_features_ for model in models(path)]
    assert sizes[0] == 1
    assert max(sizes) <= count
    assert sizes[-1] >= count - 1
    assert len(path) >= 10
    listed = PrimalDualClassifier(ball=ball).fit_path(X, y, [0.1, 0.5, 2.0], max_features=8)
    assert max(model.n_features_ for model in models(listed)) <= 8
    assert {model.radius for model in models(listed)} < {0.1, 0.5, 2.0}


def test_a_path_of_models_that_are_all_too_large_is_told():
    X, y = make_data()
    with pytest.warns(UserWarning, match="Give smaller radii"):
        path = PrimalDualClassifier().fit_path(X, y, [2.0, 3.0], max_features=1)
    assert len(path) == 1
    assert path.n_features[0] > 1


def test_sparse_data_give_the_same_path():
    X, y = make_data()
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense, other = (
        PrimalDualClassifier(tol=1e-7).fit_path(form(X), y, [0.3, 1.0])
        for form in (np.asarray, sparse.csr_array)
    )
    for a, b in zip(models(dense), models(other), strict=True):
        assert_allclose(a.weights_, b.weights_, atol=1e-4)


def test_the_classifier_itself_stays_as_it_is():
    pandas = pytest.importorskip("pandas")
    X, y = make_data()
    X = X[:, :4]
    table, labels = pandas.DataFrame(X, columns=list("abcd")), np.array(["u", "v", "w"])[y]
    unfitted = PrimalDualClassifier(radius=7.0)
    before = dict(vars(unfitted))
    path = unfitted.fit_path(table, labels, 3)
    assert vars(unfitted) == before
    for model in models(path):
        assert_array_equal(model.feature_names_in_, list("abcd"))
        assert set(model.predict(table)) <= {"u", "v", "w"}
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"algorithm": "paper"}, {}, "fit_path needs algorithm='fast'"),
        ({"tol": -1}, {}, "tol must be"),
        ({}, {"levels": 0}, "at least 1 radius"),
        ({}, {"levels": []}, "number of radii or a list"),
        ({}, {"levels": [1.0, -1.0]}, "Each of levels"),
        ({}, {"max_features": 0}, "max_features must be"),
        ({"ball": "nuclear"}, {"max_features": 3}, "which uses all features"),
    ],
)
def test_wrong_arguments_are_errors(parameters, arguments, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifier(**parameters).fit_path(X, y, **arguments)


@pytest.mark.parametrize("levels", [6, [0.02, 0.05, 0.1]])
def test_a_path_without_dual_points_is_the_same(levels):
    X, y = make_data()
    estimator = PrimalDualClassifier(huber_delta=0.1, tol=1e-4)
    path = estimator.fit_path(X, y, levels, max_features=20)
    light = estimator._fit_path(X, y, levels, 20, None, keep_dual=False)
    assert_array_equal(light.levels, path.levels)
    for one, other in zip(models(light), models(path), strict=True):
        assert not hasattr(one, "dual_") and other.dual_.shape == (y.size, 3)
        assert_array_equal(one.weights_, other.weights_)
        assert one.dispersion_ == other.dispersion_ and one.gap_ == other.gap_


def test_a_model_without_its_dual_point_can_be_trained_on():
    X, y = make_data()
    path = PrimalDualClassifier(warm_start=True)._fit_path(X, y, [0.5], None, None, False)
    assert_certified(path.model(0).fit(X, y), X, y)
