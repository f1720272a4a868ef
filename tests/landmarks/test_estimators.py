"""LandmarkTransformer and LandmarkClassifier: one configuration."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tamis import LandmarkClassifier, LandmarkTransformer
from tamis.landmarks.evaluation import FoldData, evaluate_branch, list_branches
from tamis.landmarks.linear import Regression
from tamis.landmarks.space import check_space, draw_configurations
from tests.landmarks.nasty import DATA
from tests.quick import few_quick, smaller

X, Y = load_iris(return_X_y=True)
EVERY_KIND = [
    LandmarkClassifier(random_state=0),
    LandmarkClassifier(classifier="knn", weights="distance", metric="angle", random_state=0),
    LandmarkClassifier("random", 9, classifier="ridge", scaling="quantile", random_state=0),
    LandmarkClassifier("density", 9, classifier="lda", class_weight="balanced", random_state=0),
    LandmarkClassifier("kmeans", 9, per_class=True, scaling="yeo-johnson", random_state=0),
    LandmarkClassifier([0, 60, 120], kind="centroids", class_weight="balanced"),
]
every_kind = pytest.mark.parametrize("model", EVERY_KIND, ids=str)


def test_a_map_is_the_kernel_of_distances_to_the_landmarks():
    points = np.random.default_rng(0).normal(size=(300, 2))
    fitted = LandmarkTransformer("density", 7, kernel="gaussian", random_state=1).fit(points)
    distances = np.linalg.norm(points[:, None] - points[fitted.rows_], axis=2)
    assert_array_equal(fitted.landmarks_, points[fitted.rows_])
    nearest = distances.argmin(axis=1)
    sigma = [distances[nearest == r, r].max() for r in range(7)]
    assert_allclose(fitted.sigma_, sigma)
    assert_allclose(fitted.transform(points), np.exp(-distances / sigma), rtol=1e-10)
    assert_array_equal(fitted.fit_transform(points), fitted.transform(points))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, np.asarray])
@pytest.mark.parametrize("distance", ["euclidean", "angle"])
def test_landmarks_may_be_rows_of_the_user(distance, container):
    own = X[[3, 70, 140]] + 0.25
    by_array = LandmarkTransformer(own, distance=distance).fit(container(X))
    assert_allclose(by_array.landmarks_, own)
    by_index = LandmarkTransformer([3, 70, 140], distance=distance).fit(container(X))
    assert by_index.rows_.tolist() == [3, 70, 140]
    assert_array_equal(by_index.landmarks_, X[[3, 70, 140]])
    assert by_index.transform(container(X[:2])).shape == (2, 3)


def test_more_landmarks_than_rows_are_all_rows():
    fitted = LandmarkTransformer("fft", 1000, random_state=0).fit(X[:20])
    assert sorted(fitted.rows_) == list(range(20))


def test_landmarks_per_class_are_shared_out_evenly():
    fitted = LandmarkTransformer("fft", 10, per_class=True, random_state=0).fit(X, Y)
    assert np.bincount(Y[fitted.rows_]).tolist() == [4, 3, 3]


def test_a_transformer_fits_a_pipeline_and_names_its_columns():
    table = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(LandmarkTransformer(n_landmarks=3, random_state=0), GaussianNB())
    assert pipe.fit(table, Y).score(table, Y) > 0.8
    names = pipe[0].get_feature_names_out().tolist()
    assert names == ["landmarktransformer0", "landmarktransformer1", "landmarktransformer2"]
    out = pipe[0].set_output(transform="pandas").transform(table)
    assert list(out.columns) == names


def test_naive_bayes_on_the_map_is_that_of_scikit_learn():
    model = LandmarkClassifier("fft", 8, random_state=0).fit(X, Y)
    Z = LandmarkTransformer("fft", 8, random_state=0).fit_transform(X)
    assert_allclose(model.predict_proba(X), GaussianNB().fit(Z, Y).predict_proba(Z), atol=1e-8)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_on_the_map_are_those_of_scikit_learn(weights):
    rng = np.random.default_rng(0)
    A, B, y = rng.normal(size=(90, 3)), rng.normal(size=(50, 3)), rng.integers(0, 3, 90)
    model = LandmarkClassifier("random", 6, classifier="knn", n_neighbors=7, random_state=0)
    model.set_params(weights=weights, class_weight=None).fit(A, y)
    map_ = LandmarkTransformer("random", 6, random_state=0).fit(A)
    peer = KNeighborsClassifier(7, weights=weights).fit(map_.transform(A), y)
    expected = peer.predict_proba(map_.transform(B))
    assert_allclose(model.predict_proba(B), expected, atol=1e-9)


@pytest.mark.parametrize("n_configurations", smaller(8, 30))
def test_a_classifier_is_one_leaf_of_the_tree(n_configurations):
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    values = check_space("extended", False)
    drawn = draw_configurations(values, n_configurations, np.random.RandomState(0))
    for branch in list_branches(drawn):
        fold = FoldData(X, Y, 3, train, test, np.full(4, 5), "balanced")
        labels, _ = evaluate_branch(branch, fold)
        for c, found in zip(branch.configurations, labels, strict=True):
            one = LandmarkClassifier(**c.as_dict(), class_weight="balanced", random_state=5)
            assert_array_equal(one.fit(X[train], Y[train]).predict(X[test]), found, str(c))


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_probabilities_and_decisions_agree(model, n_classes):
    keep = n_classes > Y
    fitted = clone(model).set_params(landmarks="fft").fit(X[keep], Y[keep])
    decisions = fitted.decision_function(X)
    columns = np.column_stack([np.zeros(150), decisions]) if n_classes == 2 else decisions
    shares = fitted.predict_proba(X)
    assert_array_equal(fitted.predict(X), columns.argmax(axis=1))
    assert_array_equal(fitted.predict(X), shares.argmax(axis=1))
    assert_allclose(shares.sum(axis=1), 1.0)
    labels, rejected = fitted.predict_reject(X, 0.9)
    assert_array_equal(rejected, shares.max(axis=1) < 0.9)
    assert_array_equal(labels, fitted.predict(X))


@every_kind
def test_predictions_change_nothing(model):
    fitted = clone(model).fit(X, Y)
    before = pickle.dumps(fitted)
    fitted.predict(X), fitted.predict_proba(X), fitted.explain(X), fitted.predict_reject(X, 0.5)
    assert pickle.dumps(fitted) == before


def test_explanations_name_the_nearest_landmarks():
    model = LandmarkClassifier("random", 10, random_state=0).fit(X, Y.astype(str))
    found = model.explain(X[model.rows_], n_nearest=2)
    assert_array_equal(found.rows[:, 0], model.rows_)
    assert_array_equal(found.distances[:, 0], 0.0)
    assert_array_equal(found.labels[:, 0], Y[model.rows_].astype(str))
    assert model.explain(X, n_nearest=99).rows.shape == (150, 10)


def test_centroids_are_explained_by_the_nearest_training_row():
    model = LandmarkClassifier("kmeans", 5, random_state=0).fit(X, Y)
    gap = np.linalg.norm(X[:, None] - model.landmarks_, axis=2)
    assert_array_equal(model.rows_, gap.argmin(axis=0))


@pytest.mark.parametrize("classifier", ["nb", "ridge", "lda"])
def test_balanced_classes_make_the_rare_class_heard(classifier):
    points, y = make_blobs([400, 20], 2, centers=[[0, 0], [1.5, 0]], random_state=0)
    plain = LandmarkClassifier("fft", 8, classifier=classifier, class_weight=None, random_state=0)
    heard = clone(plain).set_params(class_weight="balanced").fit(points, y).predict(points)
    assert (heard[y == 1] == 1).mean() > (plain.fit(points, y).predict(points)[y == 1] == 1).mean()
    dict_weight = clone(plain).set_params(class_weight={0: 420 / 800, 1: 420 / 40})
    assert_array_equal(dict_weight.fit(points, y).predict(points), heard)


def test_ridge_is_the_solution_of_its_normal_equations():
    Z = LandmarkTransformer("fft", 6, kernel="linear", random_state=0).fit_transform(X)
    y = np.eye(3)[Y]
    T = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    design = np.column_stack([np.ones(150), T])
    penalty = np.diag([0.0] + [0.01 * 150] * 6)
    beta = np.linalg.solve(design.T @ design + penalty, design.T @ y)
    model = LandmarkClassifier(
        "fft", 6, kernel="linear", classifier="ridge", regularization=0.01, random_state=0
    ).fit(X, Y)
    expected = design @ beta / model.model_["head"]["temperature"]
    assert_allclose(model.decision_function(X), expected, rtol=1e-8)


def test_rows_left_out_in_closed_form_are_rows_left_out():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(40, 5)), np.arange(40) % 3
    weights = np.array([1.0, 2.0, 0.5])
    regression = Regression(Z, y, weights)
    w = weights[y] / weights[y].sum()
    T = (Z - w @ Z) / Z.std(axis=0)
    design, penalty = np.column_stack([np.ones(40), T]), np.diag([0.0] + [0.1] * 5)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        scaled = design[rest].T * w[rest]
        beta = np.linalg.solve(scaled @ design[rest] + penalty, scaled @ np.eye(3)[y][rest])
        assert_allclose(regression.left_out(0.1)[i], design[i] @ beta, rtol=1e-8)


def test_discriminants_see_the_class_between_two_others_that_regression_masks():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    line = (y + 0.15 * rng.normal(size=150))[:, None]
    model = LandmarkClassifier([[-5.0]], kernel="linear", classifier="lda").fit(line, y)
    assert model.score(line, y) > 0.95
    assert model.set_params(classifier="ridge").fit(line, y).score(line, y) < 0.8


def test_discriminants_of_many_landmarks_are_those_of_scikit_learn():
    points, y = make_blobs(300, 4, centers=3, cluster_std=4.0, random_state=0)
    Z = LandmarkTransformer("fft", 6, kernel="linear", random_state=0).fit_transform(points)
    model = LandmarkClassifier(
        "fft", 6, kernel="linear", classifier="lda", regularization=1e-8, random_state=0
    ).fit(points, y)
    peer = LinearDiscriminantAnalysis().fit(Z, y)
    assert (model.predict(points) == peer.predict(Z)).mean() > 0.98


@pytest.mark.parametrize("name", DATA)
@every_kind
def test_nasty_data_give_finite_probabilities(model, name):
    points, y = DATA[name]()
    shares = clone(model).set_params(landmarks="density").fit(points, y).predict_proba(points)
    assert np.isfinite(shares).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": "farthest"}, "landmarks must be one of 'fft', 'kmeans'"),
        ({"landmarks": [0, 999]}, "indices of rows, 0 to 149; got some from 0 to 999"),
        ({"landmarks": np.zeros((3, 2))}, "landmarks have 2 features, but X has 4"),
        ({"landmarks": None}, "landmarks must be one of"),
        ({"landmarks": [[np.nan] * 4]}, "landmarks contains NaN"),
        ({"n_landmarks": 0}, "n_landmarks must be an integer >= 1"),
        ({"n_landmarks": 2.5}, "n_landmarks must be an integer >= 1"),
        ({"landmarks": [0, 1], "n_landmarks": 3}, "but 2 landmarks were given"),
        ({"landmarks": [0, 1], "per_class": True}, "landmarks were given"),
        ({"landmarks": "kmeans", "kind": "centers"}, "Use kind='centroids'"),
        ({"landmarks": "kmeans", "distance": "angle"}, "requires distance='euclidean'"),
        ({"distance": "cosine"}, "distance must be one of 'euclidean', 'angle'"),
        ({"kernel": "rbf"}, "kernel must be one of 'linear', 'gaussian'"),
        ({"classifier": "svm"}, "classifier must be one of 'nb', 'knn', 'ridge'"),
        ({"n_neighbors": 5}, "n_neighbors=5 is for classifier='knn'"),
        ({"classifier": "knn", "n_neighbors": 65}, "integer from 1 to 64, got 65"),
        ({"classifier": "knn", "weights": "equal"}, "weights must be one of"),
        ({"classifier": "knn", "regularization": 1.0}, "is for classifier='ridge'"),
        ({"classifier": "ridge", "regularization": -1}, "regularization must be a number > 0"),
        ({"scaling": "robust"}, "scaling must be one of None, 'standard'"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
        ({"class_weight": {7: 1.0}}, "has the label 7, which is not among the classes"),
        ({"class_weight": {0: -1.0}}, "must be positive numbers, got -1.0 for 0"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_wrong_parameters_are_errors(parameters, message):
    with pytest.raises(ValueError, match=message):
        LandmarkClassifier(**parameters).fit(X, Y)


def test_wrong_calls_are_errors():
    model = LandmarkClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="threshold must be a probability"):
        model.predict_reject(X, 2)
    with pytest.raises(ValueError, match="n_nearest must be an integer >= 1"):
        model.explain(X, n_nearest=0)
    with pytest.raises(ValueError, match="squares of such numbers overflow"):
        model.predict(X * 1e200)
    with pytest.raises(ValueError, match="squares of such numbers vanish"):
        LandmarkClassifier().fit(X * 1e-200, Y)
    with pytest.raises(ValueError, match="landmarks goes up to 1e\\+200"):
        LandmarkClassifier([[1e200] * 4]).fit(X, Y)
    with pytest.raises(ValueError, match="weights must be one of"):
        LandmarkClassifier(classifier="knn", weights="").fit(X, Y)
    with pytest.raises(ValueError, match="would make sparse X dense"):
        LandmarkClassifier(scaling="minmax").fit(sparse.csr_array(X), Y)
    with pytest.raises(ValueError, match="requires y to be passed"):
        LandmarkTransformer(per_class=True).fit(X)


@few_quick(
    "classifier, kernel, scaling, factor",
    ["nb", "knn", "ridge", "lda"],
    ["linear", "gaussian"],
    [None, "standard", "minmax", "quantile", "yeo-johnson"],
    [1e-300, 1e100, 1e149],
)
def test_new_rows_may_be_anywhere(classifier, kernel, scaling, factor):
    model = LandmarkClassifier(
        "random", 9, classifier=classifier, kernel=kernel, scaling=scaling, random_state=0
    ).fit(X, Y)
    far = np.sign(X - X.mean(axis=0)) * factor
    assert np.isfinite(model.predict_proba(far)).all()
    assert_array_equal(model.predict(far), model.predict_proba(far).argmax(axis=1))
    alone = [model.predict(far[i : i + 1])[0] for i in range(5)]
    assert_array_equal(alone, model.predict(np.vstack([far[:5], X]))[:5])


def test_a_single_sample_of_a_class_and_a_single_feature_are_enough():
    y = np.array([0] * 9 + [1])
    model = LandmarkClassifier(random_state=0).fit(np.arange(10.0)[:, None], y)
    assert model.predict([[9.0], [0.0]]).tolist() == [1, 0]


@pytest.mark.parametrize("scaling", ["standard", "minmax", "quantile", "yeo-johnson"])
def test_sparse_rows_are_refused_where_the_scaling_shifts_them(scaling):
    model = LandmarkClassifier("fft", 4, scaling=scaling, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"learned from dense rows .* Pass X.toarray"):
        model.predict(sparse.csr_array(X))
