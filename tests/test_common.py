"""Checks that every public estimator passes: scikit-learn's own, then ours."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis
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
    TableClassifier,
)
from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector
from tests.quick import quick_pairs

# Every public estimator as it comes: quick ones, and those that take seconds for small data.
DEFAULTS = [
    SparseCenterClassifier(),
    SparseCenterClassifierCV(),
    PrimalDualClassifier(),
    LandmarkTransformer(),
    LandmarkClassifier(),
    OddsRatioSelector(),
    SparseNaiveBayesSelector(),
]
SLOW_DEFAULTS = [
    DatumWiseClassifier(),
    PanelClassifier(),
    PrimalDualClassifierCV(),
    LandmarkSearchCV(),
    DatumWiseClassifierCV(),
    PanelClassifierCV(),
]
CENTERS = [
    SparseCenterClassifier(3),
    SparseCenterClassifier(3, metric="l1"),
    SparseCenterClassifier(3, metric="l1", scaling="std"),
    SparseCenterClassifier(3, scaling=None, priors="empirical"),
    SparseCenterClassifier(3, scaling="variance"),
    SparseCenterClassifier(3, covariance="shrunk"),
    SparseCenterClassifierCV(cv=3),
    SparseCenterClassifierCV(cv=3, metric="l1", rule="sparsest"),
    SparseCenterClassifierCV(cv=3, covariance="shrunk"),
]
# They name a column, so that the order of columns does not leave them alone.
KEEPING = [
    SparseCenterClassifier(2, keep=[0]),
    SparseCenterClassifierCV(cv=3, keep=[0]),
]
PRIMAL_DUAL = [
    PrimalDualClassifier(0.8, tol=1e-8),
    PrimalDualClassifier(0.8, loss="l1", tol=1e-9),
    PrimalDualClassifier(0.8, loss="frobenius", ball="l21", tol=1e-8),
    PrimalDualClassifier(0.4, ball="l12", adaptive_centers=False, tol=1e-8),
    PrimalDualClassifier(0.4, ball="nuclear", class_weight=None, tol=1e-12),
    PrimalDualClassifierCV([0.3, 0.8], cv=3, tol=1e-8),
    PrimalDualClassifierCV([0.3, 0.8], cv=3, ball="l21", rule="sparsest", tol=1e-8),
]
PANELS = [
    PanelClassifier(3, head="lda"),
    PanelClassifier(3, head="logistic", selection="medians", class_weight=None),
    PanelClassifierCV([1, 3], cv=3, head="lda"),
    PanelClassifierCV([1, 3], cv=3, head="logistic", selection="centers", rule="sparsest"),
]
# Their landmarks are rows, so that neither weights nor the order of rows leave them alone. Five
# neighbours of one class cannot honour class weights, 21 can.
LANDMARKS = [
    LandmarkClassifier(random_state=0),
    LandmarkClassifier("kmeans", 8, kernel="gaussian", random_state=0),
    LandmarkClassifier("density", classifier="knn", n_neighbors=21, random_state=0),
    LandmarkClassifier("random", 20, distance="angle", classifier="ridge", random_state=0),
    LandmarkClassifier("density", 20, classifier="lda", random_state=0),
    LandmarkSearchCV(n_configurations=4, random_state=0),
    LandmarkSearchCV(
        space={"classifier": ["nb", "ridge"], "scaling": [None, "standard"]},
        n_configurations=4,
        ensemble_size=4,
        selection="greedy",
        vote="soft",
        class_weight="balanced",
        random_state=0,
    ),
]
# Their states are sampled from the rows, or their rows dealt to folds, so that neither the order
# of rows nor repeated rows leave them alone.
_SMALL = {"n_states": 300, "n_iterations": 4, "random_state": 0}
DATUM_WISE = [
    DatumWiseClassifier("linear", **_SMALL),
    DatumWiseClassifier("linear", 0.001, order="fixed", class_weight="balanced", **_SMALL),
    DatumWiseClassifierCV([0.03, 0.003], learner="linear", cv=3, **_SMALL),
    DatumWiseClassifier(learner="forest", n_trees=10, n_sets=12, random_state=0),
    DatumWiseClassifierCV([0.03, 0.003], cv=3, n_trees=10, n_sets=12, random_state=0),
]
MAPS = [
    LandmarkTransformer(random_state=0),
    LandmarkTransformer("kmeans", 5, random_state=0),
    LandmarkTransformer("density", 6, per_class=True, kernel="linear", random_state=0),
]
CLASSIFIERS = CENTERS + KEEPING + PRIMAL_DUAL + PANELS
SELECTORS = [
    OddsRatioSelector(3),
    SparseNaiveBayesSelector(3),
    SparseNaiveBayesSelector(3, likelihood="bernoulli"),
]
HAVE_LEVELS = [e for e in CLASSIFIERS if hasattr(e, "with_n_features")]
PARALLEL = [e for e in CLASSIFIERS if "n_jobs" in e.get_params()]

classifiers = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
all_classifiers = pytest.mark.parametrize(
    "estimator", CLASSIFIERS + LANDMARKS + DATUM_WISE, ids=str
)
estimators = pytest.mark.parametrize("estimator", CLASSIFIERS + SELECTORS, ids=str)
all_estimators = pytest.mark.parametrize(
    "estimator", CLASSIFIERS + SELECTORS + LANDMARKS + DATUM_WISE + MAPS, ids=str
)


# One of each class, so that a change is tested at once; all the others are slow tests.
QUICK = [
    *DEFAULTS,
    PanelClassifier(3, head="lda"),
    DatumWiseClassifier(learner="forest", n_trees=4, n_sets=6, random_state=0),
    PrimalDualClassifierCV([0.3, 0.8], cv=2),
    LandmarkSearchCV(n_configurations=2, cv=2, random_state=0),
    DatumWiseClassifierCV(
        [0.03, 0.003], learner="linear", cv=2, n_states=100, n_iterations=2, random_state=0
    ),
    PanelClassifierCV([1, 3], cv=2, head="lda"),
]
OTHERS = [
    e
    for e in SLOW_DEFAULTS + CLASSIFIERS + SELECTORS + LANDMARKS + DATUM_WISE + MAPS
    if str(e) not in map(str, QUICK)
]


@parametrize_with_checks(QUICK)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def fails(estimator):
    """Checks that an estimator need not pass, with the reason."""
    if str(estimator) != str(SparseCenterClassifierCV(cv=3, metric="l1", rule="sparsest")):
        return {}
    reason = "in standard errors of scores, a row of weight 2 is one observation, not two"
    forms = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{form}_data": reason for form in forms}


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=fails)
def test_scikit_learn_checks_of_slow_estimators_and_other_parameters(estimator, check):
    check(estimator)


def test_every_estimator_is_checked_as_it_comes():
    public = [getattr(tamis, name) for name in tamis.__all__ if name[0].isupper()]
    public += [OddsRatioSelector, SparseNaiveBayesSelector]
    public.remove(TableClassifier)  # checked in tests/tables
    checked = {str(e) for e in QUICK + OTHERS}
    assert {str(cls()) for cls in public} <= checked
    assert set(public) == {type(e) for e in QUICK}


def make_data(n_classes=3, seed=0, counts=False):
    X, y = make_classification(
        n_samples=120,
        n_features=8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.2,
        random_state=seed,
    )
    X = np.maximum(np.rint(X), 0.0) if counts else X * np.logspace(-2, 2, 8) + 3.0
    return X, y


def answers(estimator, X):
    """Everything the estimator says about X, as one array."""
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    result = estimator.transform(X)
    return result.toarray() if sparse.issparse(result) else np.asarray(result)


def with_folds(estimator, rows):
    """The estimator with fixed folds on `rows`, a list of arrays that together hold all rows."""
    parameters = {
        "cv": [(np.concatenate(rows[:f] + rows[f + 1 :]), rows[f]) for f in range(len(rows))]
    }
    known = estimator.get_params()
    return clone(estimator).set_params(**{k: v for k, v in parameters.items() if k in known})


def data_for(estimator, **kwargs):
    return make_data(counts=isinstance(estimator, tuple(map(type, SELECTORS))), **kwargs)


@cache
def fit_once(estimator, n_classes=3):
    """The estimator trained on the data of `data_for`: for tests that leave it as it is."""
    return clone(estimator).fit(*data_for(estimator, n_classes=n_classes))


@pytest.mark.parametrize(
    ("estimator", "seed"), quick_pairs(CLASSIFIERS + SELECTORS, range(3)), ids=str
)
def test_weight_is_repetition_for_random_integer_weights(estimator, seed):
    X, y = data_for(estimator, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, y.size)
    folds = [np.arange(f, y.size, 3) for f in range(3)]
    end = np.cumsum(weight)
    copies = [np.concatenate([np.arange(end[i] - weight[i], end[i]) for i in f]) for f in folds]
    weighted = with_folds(estimator, folds).fit(X, y, sample_weight=weight)
    repeated = with_folds(estimator, copies).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert_array_equal(weighted.get_support(), repeated.get_support())
    assert_allclose(answers(weighted, X), answers(repeated, X), rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "form"),
    quick_pairs(
        CLASSIFIERS + SELECTORS,
        [
            (sparse.csr_array, np.int32),
            (sparse.csr_matrix, np.int64),
            (sparse.csc_array, np.int64),
            (sparse.csc_matrix, np.int32),
        ],
    ),
    ids=lambda value: value[0].__name__ if isinstance(value, tuple) else str(value),
)
def test_sparse_equals_dense(estimator, form):
    X, y = make_data(counts=True)
    # The default grid of a ...CV class is coarser for sparse data only beyond 128 features.
    dense = clone(estimator).fit(X, y)
    expected = answers(dense, X)
    container, index_dtype = form
    S = container(X)
    S.indices, S.indptr = S.indices.astype(index_dtype), S.indptr.astype(index_dtype)
    thin = clone(estimator).fit(S, y)
    assert_array_equal(dense.get_support(), thin.get_support())
    assert_allclose(expected, answers(thin, S), rtol=1e-5, atol=1e-9)
    assert_allclose(expected, answers(dense, S), rtol=1e-5, atol=1e-9)


@estimators
def test_float32_is_close_to_float64(estimator):
    X, y = data_for(estimator)
    X = X.astype(np.float32)
    single = clone(estimator).fit(X, y)
    double = clone(estimator).fit(X.astype(np.float64), y)
    assert_array_equal(single.get_support(), double.get_support())
    assert_allclose(answers(single, X), answers(double, X), rtol=1e-3, atol=1e-5)


@estimators
def test_row_order_does_not_matter(estimator):
    X, y = data_for(estimator)
    order = np.random.default_rng(0).permutation(y.size)
    place = np.argsort(order)
    folds = [np.arange(f, y.size, 3) for f in range(3)]
    one = with_folds(estimator, folds).fit(X, y)
    other = with_folds(estimator, [place[f] for f in folds]).fit(X[order], y[order])
    assert_array_equal(one.get_support(), other.get_support())
    assert_allclose(answers(one, X), answers(other, X), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("estimator", CENTERS + PRIMAL_DUAL + PANELS + SELECTORS, ids=str)
def test_column_order_does_not_matter(estimator):
    X, y = data_for(estimator)
    order = np.random.default_rng(0).permutation(X.shape[1])
    one, other = fit_once(estimator), clone(estimator).fit(X[:, order], y)
    assert_array_equal(one.get_support()[order], other.get_support())


@pytest.mark.parametrize(
    ("estimator", "frame"),
    quick_pairs(CLASSIFIERS + SELECTORS, [pd.DataFrame, pl.DataFrame]),
    ids=str,
)
def test_names_go_in_and_come_out(estimator, frame):
    X, y = data_for(estimator)
    names = [f"gene {j}" for j in range(X.shape[1])]
    table = frame(dict(zip(names, X.T, strict=True)))
    fitted = clone(estimator).fit(table, y)
    assert fitted.feature_names_in_.tolist() == names
    chosen = [n for n, kept in zip(names, fitted.get_support(), strict=True) if kept]
    assert fitted.get_feature_names_out().tolist() == chosen
    kind = "pandas" if frame is pd.DataFrame else "polars"
    out = fitted.set_output(transform=kind).transform(table)
    assert isinstance(out, frame)
    assert list(out.columns) == chosen
    plain = fit_once(estimator)
    named = answers(fitted.set_output(transform="default"), table)
    assert_allclose(answers(plain, X), named, rtol=1e-5, atol=1e-9)


@cache
def predicted_codes(estimator):
    """What a classifier of the labels 1, 0 and 2 predicts."""
    X, y = make_data()
    return clone(estimator).fit(X, np.array([1, 0, 2])[y]).predict(X)


@pytest.mark.parametrize(
    ("estimator", "names"),
    quick_pairs(
        CLASSIFIERS + LANDMARKS + DATUM_WISE,
        [["b", "a", "c"], [-3, -7, 2], [4.0, -1.0, 5.0], np.array(["yy", "x", "z"], dtype=object)],
    ),
    ids=str,
)
def test_labels_of_any_type(estimator, names):
    X, y = make_data()
    labels = np.asarray(names)[y]
    named = clone(estimator).fit(X, labels)
    assert named.classes_.tolist() == sorted(names)
    predicted = named.predict(X)
    assert predicted.dtype == labels.dtype
    assert_array_equal(predicted, named.classes_[predicted_codes(estimator)])
    assert np.mean(predicted == labels) > 0.4


@all_classifiers
def test_boolean_labels(estimator):
    X, y = make_data(n_classes=2)
    fitted = clone(estimator).fit(X, y.astype(bool))
    assert fitted.classes_.tolist() == [False, True]
    assert_array_equal(fitted.predict(X), fit_once(estimator, 2).predict(X).astype(bool))


class Recorder:
    """A callback that writes down what it is told."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context, **kwargs):
        self.seen.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.seen.append(f"end {context.task_name}")


@all_classifiers
def test_callbacks_are_told_of_every_step(estimator):
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    recorder = Recorder()
    clone(estimator).set_callbacks(recorder).fit(X, y)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[1] == "begin fit"
    assert recorder.seen[-2:] == ["end fit", "teardown"]
    inner = recorder.seen[2:-2]
    assert len(inner) >= 2
    assert inner[0::2] == [f"begin {name[4:]}" for name in inner[1::2]]


@all_estimators
def test_pickle_and_clone_keep_everything(estimator):
    X, _ = data_for(estimator)
    fitted = fit_once(estimator)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(answers(again, X), answers(fitted, X))
    assert clone(fitted).get_params().keys() == fitted.get_params().keys()
    assert set(vars(clone(fitted))) == set(vars(clone(estimator)))


def assert_labels_agree(fitted, X, y, n_classes):
    labels = fitted.predict(X)
    decisions = fitted.decision_function(X)
    assert decisions.shape == ((y.size,) if n_classes == 2 else (y.size, n_classes))
    columns = np.column_stack([np.zeros(y.size), decisions]) if n_classes == 2 else decisions
    assert_array_equal(labels, fitted.classes_[columns.argmax(axis=1)])
    assert_array_equal(labels, fitted.classes_[fitted.predict_proba(X).argmax(axis=1)])
    assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))


@all_classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predict_is_the_argmax_of_probabilities_and_of_decisions(estimator, n_classes):
    X, y = make_data(n_classes=n_classes)
    assert_labels_agree(fit_once(estimator, n_classes), X, y, n_classes)


@pytest.mark.parametrize("estimator", HAVE_LEVELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_features", [1, 4, 8])
def test_labels_and_probabilities_agree_at_every_level(estimator, n_classes, n_features):
    X, y = make_data(n_classes=n_classes)
    fitted = fit_once(estimator, n_classes).with_n_features(n_features)
    assert_labels_agree(fitted, X, y, n_classes)


@classifiers
def test_predictions_change_nothing(estimator):
    X, _ = make_data()
    fitted = fit_once(estimator)
    before = pickle.dumps(fitted)
    for method in (
        lambda: fitted.predict(X),
        lambda: fitted.predict_proba(X),
        lambda: fitted.predict_reject(X, 0.9),
        lambda: fitted.explain(X),
        lambda: fitted.get_support(),
    ):
        method()
        assert pickle.dumps(fitted) == before


@pytest.mark.parametrize("estimator", CENTERS, ids=str)
def test_the_path_changes_nothing(estimator):
    X, y = make_data()
    fitted = fit_once(estimator)
    before = pickle.dumps(fitted)
    for method in (
        lambda: fitted.path_predict(X, [1, 2]),
        lambda: fitted.path_score(X, y, None),
        lambda: fitted.with_n_features(2).predict(X),
        lambda: fitted.feature_order_,
    ):
        method()
        assert pickle.dumps(fitted) == before


@pytest.mark.parametrize("estimator", PARALLEL, ids=str)
def test_equal_seeds_give_equal_results_whatever_n_jobs(estimator):
    X, y = make_data()
    one = fit_once(estimator)
    two = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.path_["score"], two.path_["score"])
    assert_array_equal(one.stability_, two.stability_)
    assert one.temperature_ == two.temperature_


def test_every_public_name_can_be_imported():
    assert [getattr(tamis, name) for name in tamis.__all__]
    assert set(tamis.__all__) == set(dir(tamis))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tamis.Nothing  # noqa: B018


@pytest.mark.parametrize("estimator", DEFAULTS + SLOW_DEFAULTS, ids=lambda e: type(e).__name__)
def test_anndata_objects_are_refused_at_once(estimator):
    class AnnData:  # what anndata's class offers; reading it as an array would take minutes
        X, obs, var_names, shape = np.zeros((4, 2)), None, ["a", "b"], (4, 2)

        def __array__(self, *args, **kwargs):
            raise AssertionError("converted to an array")

    with pytest.raises(TypeError, match=r"TableClassifier\(.*\)\.fit\(adata, y\)"):
        clone(estimator).fit(AnnData(), [0, 1, 0, 1])
