import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.neighbors import NearestCentroid

from tamis import SparseCenterClassifier
from tests.oracles.sparse_centers import best_objective, objective

METRICS = pytest.mark.parametrize("metric", ["l2", "l1"])
FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


def make_data(n=120, m=10, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    return rng.normal(size=(n, m)) + y[:, None] * np.linspace(0, 1, m), y


# Exactness.


@st.composite
def small_problems(draw):
    n_classes = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes))
    y = np.repeat(np.arange(n_classes), sizes)
    m = draw(st.integers(1, 8))
    values = draw(st.lists(st.integers(-2, 2), min_size=y.size * m, max_size=y.size * m))
    X = np.array(values, dtype=float).reshape(y.size, m)
    weight = draw(
        st.one_of(st.none(), st.lists(st.integers(1, 3), min_size=y.size, max_size=y.size))
    )
    return X, y, None if weight is None else np.array(weight, dtype=float)


@METRICS
@settings(max_examples=40, deadline=None)
@given(data=small_problems(), form=st.sampled_from(FORMS))
def test_no_support_is_better_than_ours_for_any_k(metric, data, form):
    X, y, weight = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # coarse data often separate in few features
        fitted = SparseCenterClassifier(1, metric=metric, scaling=None).fit(form(X), y, weight)
    for k in range(1, X.shape[1] + 1):
        ours = fitted.with_n_features(k)
        best = best_objective(X, y, k, metric, weight)
        support = set(np.flatnonzero(ours.support_))
        assert len(support) <= k
        assert objective(X, y, support, metric, weight) == pytest.approx(best, abs=1e-9)
        assert ours.objective_ == pytest.approx(best, abs=1e-9)


@METRICS
def test_centers_differ_on_the_support_only_and_attain_the_objective(metric):
    X, y = make_data()
    fitted = SparseCenterClassifier(4, metric=metric, scaling=None).fit(X, y)
    differs = np.ptp(fitted.centers_, axis=0) > 0
    assert_array_equal(differs, fitted.get_support())
    power = 2 if metric == "l2" else 1
    attained = sum(
        (np.abs(X[y == c] - fitted.centers_[c]) ** power).sum(axis=1).mean() for c in range(3)
    )
    assert attained == pytest.approx(fitted.objective_)


def test_all_features_give_scikit_learns_nearest_centroids():
    X, y = make_data(n_classes=4)
    ours = SparseCenterClassifier(None, scaling=None).fit(X, y)
    theirs = NearestCentroid().fit(X, y)
    assert_allclose(ours.centers_, theirs.centroids_)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_all_features_give_scikit_learns_nearest_medians_where_medians_that_differ_gain(seed):
    X, _ = make_data(n=82, n_classes=2, seed=seed)
    y = np.arange(82) % 2  # 41 samples in each: a median is one sample, not an interval
    X += y[:, None]
    ours = SparseCenterClassifier(None, metric="l1", scaling=None).fit(X, y)
    theirs = NearestCentroid(metric="manhattan").fit(X, y)
    assert_allclose(ours.class_centers_, theirs.centroids_)
    assert np.all(ours.gains_ > 0)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_medians_that_differ_without_gain_give_the_same_objective():
    X, y = np.array([[0.0, 0], [10, 1], [4, 5], [8, 6]]), np.array([0, 0, 1, 1])
    ours = SparseCenterClassifier(None, metric="l1", scaling=None).fit(X, y)
    theirs = NearestCentroid(metric="manhattan").fit(X, y).centroids_
    assert ours.get_support().tolist() == [False, True]
    cost = sum(np.abs(X[y == c] - theirs[c]).sum(axis=1).mean() for c in range(2))
    assert ours.objective_ == pytest.approx(cost)


@METRICS
def test_equal_gains_go_to_the_lower_index(metric):
    X, y = make_data(m=3)
    X = np.column_stack([X[:, 1], X, X, 2 * X])
    fitted = SparseCenterClassifier(4, metric=metric).fit(X, y)
    same = [[0, 2, 5, 8], [1, 4, 7], [3, 6, 9]]
    for group in same:
        assert np.unique(fitted.gains_[group]).size == 1
    order = fitted.feature_order_.tolist()
    for group in same:
        places = [order.index(j) for j in sorted(group)]
        assert places == sorted(places)


# Online training.


@pytest.mark.parametrize("scaling", [None, "spread", "std"])
@pytest.mark.parametrize("seed", range(4))
def test_any_chunks_give_what_all_data_give(scaling, seed):
    X, y = make_data(seed=seed)
    X[:, 3] = 2.7
    X[:, 4] += 1e6
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, y.size).astype(float)
    weight[:3] = 1
    cuts = np.sort(rng.choice(np.arange(1, y.size), size=rng.integers(1, 8), replace=False))
    online = SparseCenterClassifier(4, scaling=scaling)
    for i, rows in enumerate(np.split(np.arange(y.size), cuts)):
        chunk = FORMS[i % 4](X[rows])
        online.partial_fit(chunk, y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    batch = SparseCenterClassifier(4, scaling=scaling).fit(X, y, sample_weight=weight)
    assert_array_equal(online.support_, batch.support_)
    assert online.gains_[3] == batch.gains_[3] == 0.0
    assert_allclose(online.gains_, batch.gains_, rtol=1e-7)
    assert_allclose(online.centers_, batch.centers_, rtol=1e-10)
    assert_allclose(online.predict_proba(X), batch.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_partial_fit_goes_on_after_fit_and_row_by_row():
    X, y = make_data(n=40)
    online = SparseCenterClassifier(3).fit(X[:20], y[:20])
    for i in range(20, 40):
        online.partial_fit(X[[i]], y[[i]])
    batch = SparseCenterClassifier(3).fit(X, y)
    assert_allclose(online.gains_, batch.gains_, rtol=1e-9)
    assert online.fit(X, y).gains_.tolist() == batch.gains_.tolist()  # fit begins again


@pytest.mark.parametrize("parameters", [{"metric": "l1"}, {"covariance": "shrunk"}])
def test_partial_fit_does_not_go_on_from_medians_or_a_covariance(parameters):
    X, y = make_data()
    fitted = SparseCenterClassifier(3, **parameters).fit(X, y)
    fitted.set_params(metric="l2", covariance=None)
    with pytest.raises(ValueError, match="cannot continue a fit with medians"):
        fitted.partial_fit(X, y)


def test_memory_of_partial_fit_does_not_grow():
    X, y = make_data()
    online = SparseCenterClassifier(3).partial_fit(X, y)
    sizes = {k: np.size(v) for k, v in vars(online).items()}
    for _ in range(5):
        online.partial_fit(X, y)
    assert {k: np.size(v) for k, v in vars(online).items()} == sizes


def test_classes_that_come_later_are_never_predicted_before():
    X, y = make_data()
    online = SparseCenterClassifier(3).partial_fit(X[y == 2], y[y == 2], classes=[0, 1, 2])
    assert set(online.predict(X)) == {2}
    online.partial_fit(X[y == 0], y[y == 0])
    assert set(online.predict(X)) == {0, 2}
    assert_array_equal(online.predict_proba(X)[:, 1], 0.0)
    late = SparseCenterClassifier(3).partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert set(late.predict(X)) == {1}
    assert_array_equal(late.predict_proba(X), np.tile([0.0, 1.0], (len(X), 1)))


def test_labels_that_were_not_named_are_an_error():
    X, y = make_data()
    online = SparseCenterClassifier(3).partial_fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"label 2, which is not among the classes \[0, 1\]"):
        online.partial_fit(X, y)
    with pytest.raises(ValueError, match="differs from the first call's"):
        online.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])


def test_l1_has_no_partial_fit_and_says_what_to_do():
    estimator = SparseCenterClassifier(metric="l1")
    assert not hasattr(estimator, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        estimator.partial_fit(np.eye(2), [0, 1])
    assert "Call fit on all data, or use metric='l2'" in str(caught.value.__cause__)


# Probabilities, explanations.


@METRICS
def test_probabilities_are_those_of_the_likelihood(metric):
    X, y = make_data(n_classes=3)
    prior = np.array([0.2, 0.5, 0.3])
    fitted = SparseCenterClassifier(4, metric=metric, priors=prior).fit(X, y)
    support, power = fitted.support_, 2 if metric == "l2" else 1
    Z, T = (X / fitted.scale_)[:, support], (fitted.centers_ / fitted.scale_)[:, support]
    within = np.mean([(np.abs(Z[y == c] - T[c]) ** power).mean() for c in range(3)])
    assert fitted.dispersion_ == pytest.approx(within)
    distance = (np.abs(Z[:, None] - T) ** power).sum(axis=2) / power / within
    likelihood = np.exp(-distance) * prior
    assert_allclose(
        fitted.predict_proba(X), likelihood / likelihood.sum(axis=1, keepdims=True), rtol=1e-8
    )


def test_priors_enter_the_decision():
    X, y = make_data(n_classes=2)
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    X, y = X[keep], y[keep]
    counts = [
        np.mean(SparseCenterClassifier(2, priors=p).fit(X, y).predict(X) == 0)
        for p in ([0.01, 0.99], "uniform", "empirical", [0.999, 0.001])
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    fitted = SparseCenterClassifier(2, priors="empirical").fit(X, y)
    assert_allclose(fitted.class_prior_, np.bincount(y) / y.size)


@METRICS
def test_samples_in_doubt_are_referred_to_a_person(metric):
    X, y = make_data(n_classes=2)
    fitted = SparseCenterClassifier(3, metric=metric).fit(X, y)
    labels, rejected = fitted.predict_reject(X, 0.9)
    assert_array_equal(labels, fitted.predict(X))
    assert_array_equal(rejected, fitted.predict_proba(X).max(axis=1) < 0.9)
    assert 0 < rejected.sum() < y.size
    assert np.mean(labels[~rejected] == y[~rejected]) > np.mean(labels == y)
    for threshold in (1.5, np.nan, "high", None):
        with pytest.raises(ValueError, match="threshold must be a probability"):
            fitted.predict_reject(X, threshold)


@METRICS
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("covariance", [None, "shrunk"])
def test_contributions_sum_to_the_decision(metric, n_classes, form, covariance):
    covariance = covariance if metric == "l2" else None
    X, y = make_data(n_classes=n_classes)
    X[np.abs(X) < 0.5] = 0
    fitted = SparseCenterClassifier(4, metric=metric, covariance=covariance).fit(X, y)
    explanation = fitted.explain(form(X))
    assert_allclose(explanation.decision, fitted.decision_function(X), atol=1e-9)
    assert explanation.names.tolist() == [f"x{j}" for j in range(10)]
    values = explanation.values if isinstance(explanation.values, list) else [explanation.values]
    assert all(sparse.issparse(v) == (form is not np.asarray) for v in values)
    outside = ~fitted.support_
    for v in values:
        dense = v.toarray() if sparse.issparse(v) else v
        assert_array_equal(dense[:, outside], 0.0)


@METRICS
def test_decisions_within_rounding_of_a_tie_are_ties(metric):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) % 2
    X[y == 1] = -X[y == 0]  # the origin is as near to one class as to the other
    fitted = SparseCenterClassifier(None, metric=metric).fit(X, y)
    near = np.concatenate([np.zeros((1, 3)), 1e-15 * rng.normal(size=(200, 3))])
    assert set(fitted.predict(near)) == {0}
    assert set(fitted.path_predict(near, None).ravel()) == {0}
    assert_array_equal(fitted.path_score(near, np.zeros(201, dtype=int), None), 1.0)
    assert_array_equal(fitted.predict_proba(near), 0.5)
    assert_array_equal(fitted.decision_function(near), 0.0)


@METRICS
@settings(max_examples=60, deadline=None)
@given(
    centers=st.lists(st.integers(-9, 9), min_size=4, max_size=4),
    queries=st.lists(st.integers(-18, 18), min_size=6, max_size=6),
)
def test_ties_go_to_the_first_class_everywhere_even_between_points(metric, centers, queries):
    # Classes that are points: the dispersion is at its floor and decisions are huge.
    low, high = np.array(centers[:2]) / 10, np.array(centers[2:]) / 10
    X, y = np.array([low, high, low, high]), np.array([0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = SparseCenterClassifier(2, metric=metric).fit(X, y)
    middle = (low + high) / 2
    grid = np.array(queries).reshape(3, 2) / 20
    new = np.vstack([middle[None], grid, X])
    labels = fitted.predict(new)
    assert labels[0] == 0
    assert_array_equal(labels, fitted.predict_proba(new).argmax(axis=1))
    assert_array_equal(labels, fitted.decision_function(new) > 0)
    assert_array_equal(labels, fitted.predict(sparse.csr_array(new)))
    assert_array_equal(labels, fitted.path_predict(new, [2])[0])
    assert_array_equal(labels, fitted.path_predict(sparse.csr_array(new), [2])[0])
    assert fitted.path_score(new, labels, [2])[0] == 1.0
    assert fitted.path_score(sparse.csr_array(new), labels, [2])[0] == 1.0


@METRICS
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_duplicate_entries_are_summed_before_decisions(metric, form):
    X, y = make_data()
    fitted = SparseCenterClassifier(4, metric=metric).fit(X, y)
    single = sparse.coo_array(X)
    part = np.random.default_rng(0).normal(size=single.nnz)
    twice = form(X)
    twice = type(twice)(
        (
            np.column_stack([part, form(X).data - part]).ravel(),
            np.repeat(twice.indices, 2),
            2 * twice.indptr,
        ),
        shape=X.shape,
    )
    assert_allclose(fitted.decision_function(twice), fitted.decision_function(X), atol=1e-9)
    assert_array_equal(fitted.path_predict(twice, [2, 4]), fitted.path_predict(X, [2, 4]))
    assert_allclose(fitted.explain(twice).decision, fitted.decision_function(X), atol=1e-9)


# Edges.


def test_fewer_features_than_requested_give_a_warning():
    X, y = make_data(m=4)
    X[:, 1:3] = 5.0
    with pytest.warns(UserWarning, match="3 features were requested, but only 2 separate"):
        fitted = SparseCenterClassifier(3).fit(X, y)
    assert fitted.support_.tolist() == [True, False, False, True]


@METRICS
@pytest.mark.parametrize("scaling", ["spread", None, "std", "variance"])
def test_constant_columns_have_no_gain_and_make_no_noise(metric, scaling):
    X, y = make_data(m=6)
    X[:, [1, 4]] = [0.1, 1e8 / 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = SparseCenterClassifier(None, metric=metric, scaling=scaling).fit(X, y)
    assert_array_equal(fitted.gains_[[1, 4]], 0.0)
    assert_array_equal(fitted.scale_[[1, 4]], 1.0)


@METRICS
@pytest.mark.filterwarnings("ignore:.*only 0 separate")
def test_nothing_but_constant_columns_predicts_the_largest_prior(metric):
    X, y = np.ones((6, 3)), np.array([0, 0, 1, 1, 1, 1])
    fitted = SparseCenterClassifier(metric=metric).fit(X, y)
    assert fitted.n_features_ == 0
    assert_allclose(fitted.predict_proba(X), 0.5)
    assert set(fitted.predict(X)) == {0}
    fitted = SparseCenterClassifier(metric=metric, priors="empirical").fit(X, y)
    assert set(fitted.predict(X)) == {1}


@METRICS
def test_a_class_with_one_sample_is_a_class(metric):
    X, y = make_data(n_classes=2)
    X[0], y[:] = 30.0, 1
    y[0] = 0
    fitted = SparseCenterClassifier(3, metric=metric).fit(X, y)
    assert_array_equal(fitted.predict(X), y)


@METRICS
def test_large_offsets_change_nothing(metric):
    X, y = make_data()
    X = np.rint(X * 2**20) / 2**20  # so that the offset loses no bits
    near = SparseCenterClassifier(3, metric=metric).fit(X, y)
    far = SparseCenterClassifier(3, metric=metric).fit(X + 2**30, y)
    assert_array_equal(near.support_, far.support_)
    assert_allclose(near.gains_, far.gains_, rtol=1e-9)
    assert_allclose(near.decision_function(X), far.decision_function(X + 2**30), rtol=1e-6)


@METRICS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_that_are_not_finite_are_an_error_in_fit_and_predict(metric, bad, form):
    X, y = make_data()
    fitted = SparseCenterClassifier(3, metric=metric).fit(X, y)
    X[5, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SparseCenterClassifier(3, metric=metric).fit(form(X), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitted.predict(form(X))


@pytest.mark.parametrize("k", [0, -3, np.nan, 1.5, 0.0, -0.1, "5", True, [3]])
def test_invalid_numbers_of_features_are_an_error(k):
    X, y = make_data()
    with pytest.raises(ValueError, match="n_features_to_select must be an integer >= 1, a frac"):
        SparseCenterClassifier(k).fit(X, y)


@pytest.mark.parametrize(
    ("k", "expected"),
    [(None, 10), (50, 10), (1.0, 10), (0.5, 5), (0.3, 3), (0.01, 1), (np.int8(3), 3)],
)
def test_ways_to_ask_for_a_number_of_features(k, expected):
    X, y = make_data()
    assert SparseCenterClassifier(k).fit(X, y).n_features_ == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "l3"}, "metric must be one of 'l2', 'l1', got 'l3'"),
        ({"metric": ["l2"]}, "metric must be one of"),
        ({"scaling": "none"}, "scaling must be one of 'spread', None, 'std', 'variance'"),
        ({"covariance": "full"}, "covariance must be one of None, 'empirical', 'shrunk'"),
        ({"priors": "flat"}, "priors must be 'uniform', 'empirical' or one probability"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 positive probabilities that sum to 1"),
        ({"priors": [0.5, 0.6, 0.1]}, "priors must be 3 positive"),
        ({"priors": [1.0, 0.0, 0.0]}, "priors must be 3 positive"),
        ({"priors": ["a", "b", "c"]}, "priors must be 3 positive"),
        ({"priors": {0: 0.5}}, "priors must be 3 positive"),
    ],
)
def test_invalid_parameters_are_an_error(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        SparseCenterClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("scaling", [None, "spread", "std", "variance"])
@pytest.mark.parametrize("unit", [2.0**-300, 2.0**260])
def test_units_far_from_one_change_nothing(scaling, unit):
    X, y = make_data()
    plain = SparseCenterClassifier(3, scaling=scaling).fit(X, y)
    other = SparseCenterClassifier(3, scaling=scaling).fit(X * unit, y)
    assert_array_equal(other.feature_order_, plain.feature_order_)
    assert_array_equal(other.predict(X * unit), plain.predict(X))
    assert np.all(np.isfinite(other.gains_))


def test_equal_classes_have_no_l2_gain_whatever_the_weights():
    A = np.random.default_rng(0).random((1000, 3))
    X, y = np.r_[A, A, A, A], np.repeat([0, 1], [1000, 3000])
    with pytest.warns(UserWarning, match="only 0 separate"):
        fitted = SparseCenterClassifier(2).fit(X, y, np.repeat([0.1, 0.7], [1000, 3000]))
    assert_array_equal(fitted.gains_, 0.0)


def test_other_bad_input_is_an_error():
    X, y = make_data()
    for weight in (1e150, 1e-150):
        with pytest.raises(ValueError, match="Divide all weights by their largest"):
            SparseCenterClassifier().fit(X, y, sample_weight=np.full(y.size, weight))
    with pytest.raises(ValueError, match="Labels must be of one type"):
        SparseCenterClassifier().fit(X, np.array(["a", 1, 2] * 40, dtype=object))
    with pytest.raises(ValueError, match="1d array"):
        SparseCenterClassifier().partial_fit(X, y, classes=[[0, 1], [2, 3]])
    fitted = SparseCenterClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class: 5"):
        SparseCenterClassifier().fit(X, np.full(y.size, 5))
    with pytest.raises(ValueError, match="Complex data not supported"):
        SparseCenterClassifier().fit(X + 1j, y)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        SparseCenterClassifier().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        SparseCenterClassifier().fit(X[:, :0], y)
    with pytest.raises(ValueError, match="X has 9 features, but SparseCenterClassifier is expe"):
        fitted.predict(X[:, :9])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SparseCenterClassifier().fit(X, y[:-1])
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        SparseCenterClassifier().fit(X, y, sample_weight=np.full(y.size, -1.0))
    with pytest.raises(ValueError, match=r"one number for each of the 120 samples, got .*119"):
        SparseCenterClassifier().fit(X, y, sample_weight=np.ones(119))
    with pytest.raises(ValueError, match="samples of the class 1 have zero weight"):
        SparseCenterClassifier().fit(X, y, sample_weight=(y != 1).astype(float))
    with pytest.raises(ValueError, match="Unknown label type"):
        SparseCenterClassifier().fit(X, np.linspace(0, 1, y.size))


def test_parameters_set_after_fit_wait_for_the_next_fit():
    X, y = make_data()
    fitted = SparseCenterClassifier(3).fit(X, y)
    before = fitted.predict_proba(X)
    fitted.set_params(metric="l1", scaling=None, priors="empirical", n_features_to_select=7)
    assert_array_equal(fitted.predict_proba(X), before)
    assert fitted.fit(X, y).n_features_ == 7


def test_attributes_are_absent_before_fit():
    estimator = SparseCenterClassifier()
    for name in ("centers_", "feature_order_", "feature_importances_", "coef_", "intercept_"):
        assert not hasattr(estimator, name)


def test_a_read_only_memory_map_is_trained_without_a_copy(tmp_path):
    X, y = load_iris(return_X_y=True)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for metric in ("l2", "l1"):
        plain = SparseCenterClassifier(2, metric=metric).fit(X, y)
        ours = SparseCenterClassifier(2, metric=metric).fit(mapped, y)
        assert_array_equal(ours.gains_, plain.gains_)
        assert_array_equal(ours.predict(mapped), plain.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("parameters", [{}, {"covariance": "shrunk"}, {"scaling": "variance"}])
def test_coefficients_are_those_of_the_decisions(n_classes, parameters):
    X, y = make_data(n_classes=n_classes)
    X = X * np.logspace(-2, 2, X.shape[1]) + 5.0
    fitted = SparseCenterClassifier(3, **parameters).fit(X, y)
    n_rows = 1 if n_classes == 2 else n_classes
    assert fitted.coef_.shape == (n_rows, X.shape[1])
    assert fitted.intercept_.shape == (n_rows,)
    decisions = (X @ fitted.coef_.T + fitted.intercept_).reshape(fitted.decision_function(X).shape)
    assert_allclose(decisions, fitted.decision_function(X), rtol=1e-7, atol=1e-7)
    assert_array_equal(fitted.coef_.any(axis=0), fitted.support_)


def test_medians_have_no_coefficients():
    X, y = make_data()
    fitted = SparseCenterClassifier(3, metric="l1").fit(X, y)
    assert not hasattr(fitted, "coef_")
    with pytest.raises(AttributeError, match="not linear in X"):
        fitted.intercept_  # noqa: B018


@METRICS
def test_importances_are_gains_and_serve_select_from_model(metric):
    X, y = make_data()
    fitted = SparseCenterClassifier(3, metric=metric).fit(X, y)
    assert_array_equal(fitted.feature_importances_ > 0, fitted.support_)
    assert_array_equal(
        fitted.feature_importances_[fitted.support_], fitted.gains_[fitted.support_]
    )
    assert_array_equal(np.sort(fitted.feature_order_[:3]), np.flatnonzero(fitted.support_))
    selector = SelectFromModel(SparseCenterClassifier(3, metric=metric), threshold=1e-12)
    assert_array_equal(selector.fit(X, y).get_support(), fitted.support_)


def test_importances_with_a_covariance_order_the_features():
    X, y = make_data()
    fitted = SparseCenterClassifier(3, covariance="shrunk").fit(X, y)
    assert np.all(fitted.feature_importances_ > 0)
    assert np.all(np.diff(fitted.feature_importances_[fitted.feature_order_]) <= 0)
