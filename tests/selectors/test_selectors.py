"""What both selectors promise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector

SELECTORS = [
    OddsRatioSelector(3),
    OddsRatioSelector(3, threshold="median"),
    OddsRatioSelector(3, threshold="mean"),
    SparseNaiveBayesSelector(3),
    SparseNaiveBayesSelector(3, smoothing=0.5),
    SparseNaiveBayesSelector(3, likelihood="bernoulli"),
]
selectors = pytest.mark.parametrize("selector", SELECTORS, ids=str)


def make_counts(seed=0, n=80, m=9, n_classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.poisson(rng.exponential(size=(n_classes, m))[y]).astype(float), y


# As they come, they are checked with the other estimators (tests/test_common.py).
@pytest.mark.slow
@parametrize_with_checks(SELECTORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@selectors
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X.astype(int),
        lambda X: X.astype(np.float32),
        sparse.csr_array,
        sparse.csc_array,
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_array,
        lambda X: sparse.csr_array(X.astype(int)),
    ],
)
def test_every_form_of_data_gives_the_same_scores(selector, form):
    X, y = make_counts()
    dense, other = clone(selector).fit(X, y), clone(selector).fit(form(X), y)
    assert_array_equal(other.scores_, dense.scores_)
    assert_array_equal(other.support_, dense.support_)


@selectors
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array])
def test_wide_indices_stored_zeros_and_duplicates_change_nothing(selector, container):
    X, y = make_counts()
    plain = container(X)
    odd = container(sparse.coo_array((np.ones(720), np.indices((80, 9)).reshape(2, -1))))
    odd.data[:] = (X if container is sparse.csr_array else X.T).ravel()
    halves = container(
        (
            np.repeat(odd.data / 2, 2),
            np.repeat(odd.indices, 2).astype(np.int64),
            2 * odd.indptr.astype(np.int64),
        ),
        shape=odd.shape,
    )
    stored = halves.data.copy()
    assert halves.nnz == 1440
    assert halves.indices.dtype == np.int64
    found = clone(selector).fit(halves, y)
    assert_array_equal(found.scores_, clone(selector).fit(plain, y).scores_)
    assert_array_equal(halves.data, stored)  # the data of the user are left alone


@selectors
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array])
def test_sparse_data_are_never_made_dense(selector, container, monkeypatch):
    X, y = make_counts()

    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    data = container(X)
    for kind in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    kept = clone(selector).fit(data, y).transform(data)
    assert kept.shape == (80, 3)
    assert sparse.issparse(kept)


@selectors
def test_weight_two_is_the_row_twice_and_weight_zero_the_row_left_out(selector):
    X, y = make_counts()
    weight = np.random.default_rng(0).integers(0, 4, size=80)
    weight[y == 2] = 0  # a whole class without weight
    weighted = clone(selector).fit(X, y, sample_weight=weight)
    repeated = clone(selector).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-12)
    assert_array_equal(weighted.support_, repeated.support_)
    assert_array_equal(weighted.classes_, [0, 1])


@selectors
@pytest.mark.parametrize(
    "asked, expected", [(1, 1), (4, 4), (np.int64(4), 4), (99, 9), (None, 9), (1.0, 9), (0.5, 4)]
)
def test_number_of_features(selector, asked, expected):
    X, y = make_counts()
    fit = clone(selector).set_params(n_features_to_select=asked).fit(X, y)
    assert fit.n_features_ == expected
    assert fit.get_support().sum() == expected
    assert_array_equal(fit.get_support(), fit.support_)
    assert fit.support_.dtype == bool
    assert fit.transform(X).shape == (80, expected)


@selectors
@pytest.mark.parametrize("asked", [0, -3, 0.0, 1.5, np.nan, True, "all"])
def test_wrong_number_of_features_is_refused(selector, asked):
    X, y = make_counts()
    with pytest.raises(ValueError, match=r"n_features_to_select must be .*, got"):
        clone(selector).set_params(n_features_to_select=asked).fit(X, y)


@selectors
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_equal_columns_go_to_the_lower_index(selector, container):
    X, y = make_counts(n=77)
    X = np.tile(X * 0.1, 13)  # sums that round, and every position in a vector register
    fit = clone(selector).set_params(n_features_to_select=20).fit(container(X), y)
    by_copy = fit.scores_.reshape(13, 9)
    assert_array_equal(by_copy, np.tile(by_copy[0], (13, 1)))
    for original in range(9):
        features = np.flatnonzero(fit.support_)
        kept = features[features % 9 == original] // 9
        assert_array_equal(kept, np.arange(kept.size))


@selectors
@pytest.mark.parametrize("names", [["no", "yes"], [True, False], [7, -2], [0.0, 3.0]], ids=str)
def test_labels_of_any_type(selector, names):
    X, y = make_counts(n_classes=2)
    fit = clone(selector).fit(X, np.array(names)[y])
    assert_array_equal(fit.classes_, np.unique(names))
    assert_allclose(fit.scores_, clone(selector).fit(X, y).scores_, rtol=1e-9)


@selectors
def test_one_class_is_refused(selector):
    X, y = make_counts()
    with pytest.raises(ValueError, match="at least two classes, got one class: 'a'"):
        clone(selector).fit(X, np.full(80, "a"))
    with pytest.raises(ValueError, match="at least two classes, got one class: 1"):
        clone(selector).fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="sample_weight is zero for every sample"):
        clone(selector).fit(X, y, sample_weight=np.zeros(80))


@selectors
def test_continuous_targets_are_refused(selector):
    X, _ = make_counts()
    with pytest.raises(ValueError, match="continuous"):
        clone(selector).fit(X, np.linspace(0.1, 0.9, 80))


@selectors
def test_names_of_features_go_in_and_out(selector):
    X, y = make_counts()
    frame = pd.DataFrame(X, columns=list("abcdefghi"))
    fit = clone(selector).set_output(transform="pandas").fit(frame, y)
    expected = np.array(list("abcdefghi"))[fit.support_]
    assert_array_equal(fit.get_feature_names_out(), expected)
    assert_array_equal(fit.transform(frame).columns, expected)


@selectors
def test_pickle_keeps_everything(selector):
    X, y = make_counts()
    fit = clone(selector).fit(X, y)
    again = pickle.loads(pickle.dumps(fit))
    assert_array_equal(again.transform(X), fit.transform(X))
    assert_array_equal(again.scores_, fit.scores_)


@selectors
def test_fit_is_reported_to_callbacks(selector):
    callback = pytest.importorskip("sklearn.callback")
    X, y = make_counts()
    seen = []

    class Recorder(callback.FitCallback):
        def setup(self, estimator, context):
            seen.append("setup")

        def on_fit_task_begin(self, estimator, context, **kwargs):
            seen.append(context.task_name)

        def on_fit_task_end(self, estimator, context, **kwargs):
            return False

        def teardown(self, estimator, context):
            seen.append("teardown")

    clone(selector).set_callbacks(Recorder()).fit(X, y)
    assert seen == ["setup", "fit", "select", "teardown"]


@selectors
def test_selector_works_in_a_pipeline_under_grid_search(selector):
    X, y = make_counts(n=150)
    noise = np.random.default_rng(1).poisson(1.0, size=(150, 20))
    X = sparse.csr_array(np.hstack([noise, X]))
    pipeline = make_pipeline(clone(selector), MultinomialNB())
    grid = {f"{type(selector).__name__.lower()}__n_features_to_select": [2, 5]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.score(X, y) > 0.5


@selectors
def test_importances_are_scores_and_serve_select_from_model(selector):
    X, y = make_counts()
    assert not hasattr(selector, "feature_importances_")
    fit = clone(selector).fit(X, y)
    assert_array_equal(fit.feature_importances_[fit.support_], fit.scores_[fit.support_])
    assert not fit.feature_importances_[~fit.support_].any()
    chosen = SelectFromModel(clone(selector), threshold=1e-12).fit(X, y)
    assert_array_equal(chosen.get_support(), fit.support_)


def test_negative_scores_have_no_importance():
    X, y = make_counts()
    fit = OddsRatioSelector(None, pos_label=0).fit(X, y)
    assert fit.scores_.min() < 0
    assert_array_equal(fit.feature_importances_, np.maximum(fit.scores_, 0.0))
