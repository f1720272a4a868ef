"""Small fitted models of every family, and what two models must have in common."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from tamis import (
    DatumWiseClassifier,
    DatumWiseClassifierCV,
    LandmarkClassifier,
    LandmarkSearchCV,
    LandmarkTransformer,
    PanelClassifier,
    PanelClassifierCV,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
)
from tamis.guarantees import ConformalClassifier
from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector

FOREST = {"n_trees": 3, "n_sets": 5, "random_state": 0}
LINEAR = {"learner": "linear", "n_states": 100, "n_iterations": 2, "random_state": 0}
MODELS = {
    "conformal": ConformalClassifier(random_state=0),
    "conformal cross": ConformalClassifier(
        SparseCenterClassifier(2), 0.1, method="cross", cv=3, class_conditional=False
    ),
    "centers": SparseCenterClassifier(3),
    "centers l1": SparseCenterClassifier(0.5, metric="l1", scaling=None, priors=[0.2, 0.3, 0.5]),
    "centers covariance": SparseCenterClassifier(2, covariance="empirical", priors="empirical"),
    "centers shrunk": SparseCenterClassifier(2, covariance="shrunk"),
    "centers groups": SparseCenterClassifier(
        1, feature_groups={"a": ["age", "last"], "b": [1, 2], "c": [3, 4]}, keep="x,y"
    ),
    "centers cv": SparseCenterClassifierCV(cv=3),
    "centers cv l1": SparseCenterClassifierCV(metric="l1", cv=3, rule="sparsest"),
    "primal-dual": PrimalDualClassifier(0.8, class_weight={"one": 1.0, "two": 2, "three": 0.5}),
    "primal-dual projection": PrimalDualClassifier(0.8, head="projection"),
    "primal-dual logistic": PrimalDualClassifier(0.8, head="logistic"),
    "primal-dual frobenius": PrimalDualClassifier(
        loss="frobenius",
        adaptive_centers=False,
        feature_weights=[1, 2, 1, 1, 3, 1],
        head="projection",
    ),
    "primal-dual nuclear": PrimalDualClassifier(2.0, ball="nuclear", rho=30.0),
    "primal-dual cv": PrimalDualClassifierCV([0.1, 0.5, 2.0], cv=3),
    "panel lda": PanelClassifier(3, head="lda"),
    "panel logistic": PanelClassifier(
        2, head="logistic", keep="age", feature_costs=[1, 2, 1, 1, 3, 1], cv=3
    ),
    "panel kernel": PanelClassifier(3, head="kernel", cv=3),
    "panel cv": PanelClassifierCV([1, 2, 4], head="auto", cv=3),
    "landmark map": LandmarkTransformer("fft", 4, scaling="minmax", random_state=0),
    "landmark given": LandmarkTransformer([0, 3, 7], kernel="linear", distance="angle"),
    "landmarks nb": LandmarkClassifier("fft", 4, kernel="gaussian", random_state=0),
    "landmarks nb kmeans": LandmarkClassifier("kmeans", 4, scaling="standard", random_state=0),
    "landmarks knn": LandmarkClassifier(
        "density", 4, classifier="knn", weights="distance", scaling="quantile", random_state=0
    ),
    "landmarks knn angle": LandmarkClassifier(
        "random", 5, classifier="knn", metric="angle", n_neighbors=3, random_state=0
    ),
    "landmarks lda": LandmarkClassifier(
        "fft", 4, classifier="lda", scaling="yeo-johnson", per_class=True, random_state=0
    ),
    "landmarks ridge": LandmarkClassifier(
        "fft", 4, classifier="ridge", distance="angle", kernel="sigmoid", random_state=0
    ),
    "landmark search": LandmarkSearchCV(
        space={"n_landmarks": [4, 8]},
        n_configurations=8,
        ensemble_size=3,
        cv=2,
        warm_start=True,
        random_state=0,
    ),
    "landmark soft": LandmarkSearchCV(
        space={"n_landmarks": [4], "classifier": ["knn", "ridge"]},
        n_configurations=6,
        ensemble_size=3,
        selection="greedy",
        vote="soft",
        cv=2,
        warm_start=True,
        random_state=0,
    ),
    "datum-wise forest": DatumWiseClassifier(cost_weight=0.002, **FOREST),
    "datum-wise groups": DatumWiseClassifier(
        feature_groups={"a": [0, 3], "b": [1], "c": [2, 4, 5]},
        feature_costs={"a": 1.0, "b": 0.5, "c": 2},
        class_weight="balanced",
        **FOREST,
    ),
    "datum-wise linear": DatumWiseClassifier(cost_weight=0.002, max_features=4, **LINEAR),
    "datum-wise fixed": DatumWiseClassifier(order="fixed", max_cost=3.0, **LINEAR),
    "datum-wise cv": DatumWiseClassifierCV([0.1, 0.001], cv=2, **FOREST),
    "datum-wise cv linear": DatumWiseClassifierCV(2, cv=2, **LINEAR),
    "odds ratio": OddsRatioSelector(2, pos_label="two"),
    "naive Bayes": SparseNaiveBayesSelector(3),
    "naive Bayes bernoulli": SparseNaiveBayesSelector(0.5, likelihood="bernoulli"),
}


@cache
def data(n_samples=60):
    """Six named columns, three classes that are strings."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_samples) % 3
    X = np.abs(rng.normal(size=(n_samples, 6)) + 1.5 * (np.arange(6) == codes[:, None]))
    names = ["age", "größe", "a b", 'quote"d', "x,y", "last"]
    return pd.DataFrame(X, columns=names), np.array(["one", "two", "three"])[codes]


@cache
def fitted(name):
    """A model, fitted once."""
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name].fit(X, y)


def assert_same(first, second):
    """Two models, or parts of them, are equal to the last bit, and of the same types."""
    if isinstance(first, float) and isinstance(second, float):  # np.float64 is a float
        assert first == second or (first != first and second != second)
        return
    assert type(first) is type(second)
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert first.flags.f_contiguous == second.flags.f_contiguous or first.size == 0
        assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert set(first) == set(second)
        for key, value in first.items():
            assert_same(value, second[key])
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif hasattr(first, "__dict__"):
        assert set(vars(first)) == set(vars(second))
        for key, value in vars(first).items():
            assert_same(value, vars(second)[key])
    else:
        assert first == second


def assert_predict_alike(first, second):
    """All that two models can say about samples has the same bits."""
    X, _ = data()
    for name in ("predict", "predict_proba", "decision_function", "transform", "confidence"):
        if hasattr(first, name):
            assert_array_equal(getattr(first, name)(X), getattr(second, name)(X))
    if hasattr(first, "explain"):
        one, other = first.explain(X), second.explain(X)
        for key, value in vars(one).items():
            assert_array_equal(np.asarray(value), np.asarray(vars(other)[key]))
    if hasattr(first, "with_n_features"):
        one, other = (model.with_n_features(2).predict_proba(X) for model in (first, second))
        assert_array_equal(one, other)
    if hasattr(first, "start"):
        one, other = first.start(), second.start()
        while one.next_feature() is not None:
            assert one.next_feature() == other.next_feature()
            columns = one._process.columns_of(one._request)
            value = X.iloc[0, columns].tolist()
            one.answer(value), other.answer(value)
        assert other.next_feature() is None
        assert_array_equal(one.prediction().probabilities, other.prediction().probabilities)
