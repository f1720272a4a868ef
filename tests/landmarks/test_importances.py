"""Importances are drops in out-of-fold score."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import balanced_accuracy_score

from tamis import LandmarkClassifier, LandmarkSearchCV
from tamis.landmarks.importances import deal_folds, measure_importances
from tamis.landmarks.space import Configuration
from tamis.paths.seeds import derive_seed

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("distance", ["euclidean", "angle"])
@pytest.mark.parametrize("classifier", ["nb", "knn", "lda"])
def test_importances_are_those_of_permuted_test_rows(classifier, distance, container):
    neighbours = {"n_neighbors": 5, "weights": "uniform", "metric": "euclidean"}
    c = Configuration(
        distance=distance,
        classifier=classifier,
        scaling="standard",
        **(neighbours if classifier == "knn" else {}),
    )
    rows = np.arange(75)
    splits = [(rows[rows % 2 == f], rows[rows % 2 != f]) for f in range(2)]
    found = measure_importances(c, container(X), Y, splits, "balanced", 3, seed=7)
    predicted, truth = [[] for _ in range(5)], []
    for f, (train, test) in enumerate(splits):
        seed = derive_seed(7, f)
        model = LandmarkClassifier(**c.as_dict(), random_state=seed)
        model.fit(container(X[train]), Y[train])
        order = np.random.RandomState(seed).permutation(test)
        truth.extend(Y[order])
        predicted[4].extend(model.predict(container(X[order])))
        for j in range(4):
            changed = X[order].copy()
            changed[:, j] = np.roll(changed[:, j], 1)
            predicted[j].extend(model.predict(container(changed)))
    scores = [balanced_accuracy_score(truth, labels) for labels in predicted]
    expected = np.maximum(scores[4] - np.array(scores[:4]), 0.0)
    assert np.abs(found - expected).max() < 0.03  # a row or two at equal distances
    assert expected.max() > 0.1


def test_a_feature_that_decides_is_important_and_noise_is_not():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    points = rng.normal(size=(120, 3))
    points[:, 1] += 6.0 * y
    points = np.column_stack([points, np.full(120, 3.0)])
    for model in (LandmarkClassifier("kmeans"), LandmarkSearchCV(n_configurations=8)):
        model = clone(model).set_params(random_state=0).fit(points, y)
        importances = model.feature_importances_
        assert importances[1] > 0.3
        assert importances[[0, 2]].max() < 0.1
        assert importances[3] == 0.0
        assert model.feature_order_[0] == 1


@pytest.mark.parametrize("model", [LandmarkClassifier(), LandmarkSearchCV(n_configurations=16)])
def test_a_meta_selector_takes_the_important_features(model):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    points = rng.normal(size=(90, 5))
    points[:, 2] += 5.0 * y
    points[:, 4] -= 5.0 * y
    model = clone(model).set_params(random_state=0)
    selector = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(points, y)
    expected = np.sort(selector.estimator_.feature_order_[:2])
    assert_array_equal(selector.get_support(indices=True), expected)
    assert set(expected) & {2, 4}


@pytest.mark.parametrize("model", [LandmarkClassifier(), LandmarkSearchCV()])
def test_a_meta_selector_works_with_all_defaults(model):
    selector = SelectFromModel(model).fit(X, Y)
    importances = selector.estimator_.feature_importances_
    assert_array_equal(selector.get_support(), importances >= importances.mean())


def test_folds_are_dealt_out_by_class_and_many_rows_are_thinned():
    codes = np.repeat([0, 1, 2], [7000, 2999, 1])
    splits = deal_folds(codes)
    tests = np.concatenate([test for _, test in splits])
    assert np.unique(tests).size == tests.size
    assert abs(tests.size - 3000) <= 3
    assert codes[tests].max() == 2
    for train, test in splits:
        assert np.intersect1d(train, test).size == 0
        assert abs(np.mean(codes[test] == 0) - 0.7) < 0.01
    assert deal_folds(np.array([0, 1])) == []
