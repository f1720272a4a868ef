"""Paths over the number of landmarks and over the number of features."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.feature_selection import f_classif

from tamis import LandmarkClassifier, LandmarkSearchCV
from tamis._base import softmax
from tamis.models import PrivacyWarning, load_model, save_model
from tamis.paths.engine import CrossValidation
from tests.landmarks.nasty import DATA
from tests.quick import quick_pairs

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
NEW = load_iris(return_X_y=True)[0][1::2]
SMALL = LandmarkSearchCV(n_configurations=10, cv=3, random_state=0)


def check_path(path, rows):
    """Decisions of all levels are those of the models, and nothing is trained again."""
    decisions = path.decisions(rows)
    assert decisions.shape == (len(path), rows.shape[0], len(path.classes))
    for i in range(len(path)):
        model = path.model(i)
        assert_array_equal(path.classes[decisions[i].argmax(axis=1)], model.predict(rows))
        assert_allclose(softmax(decisions[i]), model.predict_proba(rows), rtol=1e-9, atol=1e-12)
        assert_array_equal(path.decisions(rows, slice(i, i + 1))[0], decisions[i])
        assert_array_equal(path.features(i), np.flatnonzero(model.support_))
    assert_array_equal(path.labels(rows), decisions.argmax(axis=2))


@pytest.mark.parametrize(
    ("parameters", "n_classes", "container"),
    quick_pairs(
        [
            {},
            {"landmarks": "random", "classifier": "knn", "weights": "distance"},
            {"landmarks": "density", "classifier": "lda", "distance": "angle"},
            {"landmarks": "kmeans", "scaling": "standard", "classifier": "ridge"},
            {"landmarks": [3, 30, 40, 10, 20], "kernel": "linear"},
        ],
        [2, 3],
        [np.asarray, sparse.csr_array],
    ),
    ids=str,
)
def test_a_path_over_landmarks_has_the_classifiers_with_so_many(parameters, n_classes, container):
    keep = n_classes > Y
    labels = np.array(["a", "b", "c"])[Y[keep]]
    model = LandmarkClassifier(random_state=0, **parameters)
    path = model.fit_path(container(X[keep]), labels, [2, 5, 4])
    assert path.levels.tolist() == [2, 4, 5]
    assert path.n_features.tolist() == [4, 4, 4]
    check_path(path, container(NEW))
    for i, k in enumerate(path.levels):
        one = clone(model).set_params(n_landmarks=int(k))
        if "landmarks" in parameters and not isinstance(parameters["landmarks"], str):
            one.set_params(landmarks=parameters["landmarks"][:k])
        one.fit(container(X[keep]), labels)
        assert_array_equal(one.rows_, path.model(i).rows_)
        assert_array_equal(one.predict_proba(NEW), path.model(i).predict_proba(NEW))
        assert_array_equal(one.feature_importances_, path.model(i).feature_importances_)
        with pytest.raises(AttributeError):
            model.classes_  # noqa: B018


def test_levels_that_are_not_given_double():
    path = LandmarkClassifier(random_state=0).fit_path(X, Y)
    assert path.levels.tolist() == [4, 8, 16, 32, 64]
    few = LandmarkClassifier(random_state=0).fit_path(X[::5], Y[::5])
    assert few.levels.tolist() == [4, 8, 15]
    assert clone(SMALL).fit_path(X, Y).levels.tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("vote", "n_classes", "container"),
    quick_pairs(["majority", "soft"], [2, 3], [np.asarray, sparse.csr_array]),
)
def test_a_path_over_features_has_the_searches_on_the_best_columns(vote, n_classes, container):
    keep = n_classes > Y
    model = clone(SMALL).set_params(vote=vote)
    path = model.fit_path(container(X[keep]), Y[keep], [1, 3], feature_order=[2, 0, 3])
    check_path(path, container(NEW))
    for i, columns in enumerate([[2], [0, 2, 3]]):
        assert path.features(i).tolist() == columns
        alone = clone(model).fit(container(X[keep][:, columns]), Y[keep])
        found, narrow = path.model(i), path.narrow_model(i)
        expected = alone.predict_proba(container(NEW[:, columns]))
        assert_array_equal(found.predict_proba(container(NEW)), expected)
        assert_array_equal(narrow.predict_proba(container(NEW[:, columns])), expected)
        assert_array_equal(found.configurations_["score"], alone.configurations_["score"])
        assert_array_equal(found.feature_importances_[columns], alone.feature_importances_)
        assert found.feature_order_[: len(columns)].tolist() == sorted(
            columns, key=lambda j: (-found.feature_importances_[j], j)
        )


def test_every_scaling_is_shared_by_the_levels_of_a_path():
    space = {"scaling": ["standard", "minmax", "quantile", "yeo-johnson"], "n_landmarks": [8]}
    model = clone(SMALL).set_params(space=space, n_configurations=20)
    path = model.fit_path(X, Y, [2, 4], feature_order=[3, 2, 1, 0])
    alone = clone(model).fit(X[:, 2:], Y)
    assert_array_equal(path.model(0).predict_proba(NEW), alone.predict_proba(NEW[:, 2:]))


def test_features_are_ordered_by_the_share_of_their_variance_between_the_classes():
    points, y = make_classification(120, 9, n_informative=3, random_state=0)
    expected = np.argsort(-f_classif(points, y)[0])
    for container in (np.asarray, sparse.csr_array):
        path = clone(SMALL).fit_path(container(points), y, [3, 9])
        assert_array_equal(path.features(0), np.sort(expected[:3]))


def test_models_of_a_path_know_the_names_of_the_features():
    table = pd.DataFrame(X, columns=list("abcd"))
    model = clone(SMALL).fit_path(table, Y, [2]).model(0)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(model.predict(table), model.predict(pd.DataFrame(X, columns=list("abcd"))))
    assert LandmarkClassifier().fit_path(table, Y, [2]).model(0).feature_names_in_.size == 4


def test_a_model_of_a_path_is_saved_and_loaded(tmp_path):
    path = clone(SMALL).fit_path(X, Y, [2])
    for name, model in (("wide", path.model(0)), ("narrow", path.narrow_model(0))):
        with pytest.warns(PrivacyWarning):
            save_model(model, tmp_path / f"{name}.json")
        again = load_model(tmp_path / f"{name}.json")
        rows = NEW if name == "wide" else NEW[:, path.features(0)]
        assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        assert_array_equal(again.support_, model.support_)


def test_classes_that_a_fold_lacks_do_not_stop_a_path():
    points, y = DATA["rare_class"]()
    path = clone(SMALL).fit_path(points[:43], y[:43], [1, 2])
    assert path.decisions(points).shape == (2, 44, 3)


def test_the_engine_walks_along_both_paths():
    rows = np.arange(75)
    splits = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    cv = CrossValidation(X, Y, np.arange(3), splits, "balanced_accuracy")
    one = LandmarkClassifier("kmeans", random_state=0)
    search = clone(SMALL)

    def fit_landmarks(train, fold):
        return one._fit_path(X[train], Y[train], np.arange(3), [2, 8])

    def fit_features(train, fold):
        supports = [np.array([3]), np.array([2, 3])]
        return search._fit_supports(X[train], Y[train], np.arange(3), supports)

    for fit_path in (fit_landmarks, fit_features):
        scores = cv.gather(list(cv.walk(fit_path)))
        right = np.zeros(75)
        for train, test in splits:
            labels = fit_path(train, 0).model(1).predict(X[test])
            right[test] = labels == Y[test]
        assert scores.scores[1] == pytest.approx(right.mean())
    assert scores.stability(1).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("levels", [[], [0, 2], 3, [1.5], "all"])
def test_wrong_levels_are_errors(levels):
    with pytest.raises(ValueError, match="levels must be a list of numbers of landmarks"):
        LandmarkClassifier().fit_path(X, Y, levels)
    with pytest.raises(ValueError, match="levels must be a list of numbers of features"):
        clone(SMALL).fit_path(X, Y, levels)


@pytest.mark.parametrize(
    ("order", "message"),
    [([0, 4], "from 0 to 3"), ([-1], "from 0 to 3"), ([1, 1], "more than once"), ([], "columns")],
)
def test_wrong_orders_are_errors(order, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL).fit_path(X, Y, [1], feature_order=order)
