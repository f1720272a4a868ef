"""PrimalDualPath: decisions of all radii in one product, and a view by number of features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from tamis import PrimalDualClassifier
from tamis._base import softmax


def make_data(n_features=40, n_classes=3, seed=0):
    return make_classification(
        n_samples=90,
        n_features=n_features,
        n_informative=6,
        n_classes=n_classes,
        random_state=seed,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", ["huber", "frobenius"])
def test_decisions_are_those_of_the_models(form, loss, n_classes):
    X, y = make_data(n_classes=n_classes)
    X = form(np.where(np.abs(X) > 0.5, X, 0.0))
    labels = np.array(["a", "b", "c"])[y]
    path = PrimalDualClassifier(loss=loss).fit_path(X, labels, 8)
    decisions = path.decisions(X)
    assert decisions.shape == (len(path), 90, n_classes)
    assert_array_equal(path.labels(X), decisions.argmax(axis=2))
    for place in range(len(path)):
        model = path.model(place)
        assert model.radius == path.levels[place]
        assert_array_equal(path.classes[decisions[place].argmax(axis=1)], model.predict(X))
        assert_allclose(softmax(decisions[place]), model.predict_proba(X), atol=1e-9)
        assert_array_equal(path.features(place), np.flatnonzero(model.support_))
        assert path.n_features[place] == model.n_features_
    some = slice(2, 5)
    assert_allclose(path.decisions(X, some), decisions[some], atol=1e-9)
    assert_array_equal(path.usage(X).n_features[:, 0], path.n_features)


def test_models_are_built_once():
    X, y = make_data()
    path = PrimalDualClassifier().fit_path(X, y, [0.3, 1.0])
    assert path.model(1) is path.model(1)
    assert path.model(0) is not path.model(1)


def test_every_count_gets_the_fullest_model_within_it():
    X, y = make_data()
    path = PrimalDualClassifier().fit_path(X, y, 15, max_features=20)
    counts = [1, 3, 7, 20]
    view = path.at_most(counts)
    assert view.levels.tolist() == counts
    for place, count in enumerate(counts):
        few = np.flatnonzero(path.n_features <= count)
        assert view.n_features[place] == path.n_features[few[-1]]
        assert view.model(place).radius == path.levels[few[-1]]
    assert_array_equal(view.decisions(X).argmax(axis=2)[2], view.model(2).predict(X))


def test_columns_of_one_feature_count_once_and_kept_features_are_free():
    X, y = make_data(n_features=12)
    feature_of = np.arange(12) // 3
    kept = np.array([True, False, False, False])
    path = PrimalDualClassifier().fit_path(X, y, 12)
    view = path.at_most([1, 2, 3], feature_of, kept)
    for place, count in enumerate([1, 2, 3]):
        used = set(feature_of[view.features(place)]) - {0}
        assert len(used) == view.n_features[place] <= count


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_path_that_begins_too_full_trains_its_heaviest_features_again(form):
    X, y = make_data()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    path = PrimalDualClassifier(tol=1e-6).fit_path(form(X), y, [2.0, 3.0])
    weight = np.abs(path.model(0).weights_).sum(axis=1)
    view = path.at_most([2])
    assert path.n_features[0] > 2
    assert set(view.features(0)) <= set(np.argsort(-weight, kind="stable")[:2])
    assert view.n_features[0] == view.features(0).size >= 1
    labels = view.model(0).predict(form(X))
    assert_array_equal(view.decisions(form(X)).argmax(axis=2)[0], labels)
    assert np.mean(labels == y) > 0.4
