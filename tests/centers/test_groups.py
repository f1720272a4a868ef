"""Groups of features, and features to keep: still the global optimum, for every k."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tests.centers.test_classifier import make_data, small_problems
from tests.oracles.sparse_centers import best_grouped_objective, objective

METRICS = pytest.mark.parametrize("metric", ["l2", "l1"])
FORMS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
GROUPS = [[0, 7], [3], [1, 2, 9], [4, 5], [6, 8]]


def plain(**parameters):
    """A classifier of the data as they are."""
    return SparseCenterClassifier(scaling=None, **parameters)


# The optimum.


@st.composite
def grouped_problems(draw):
    X, y, weight = draw(small_problems())
    labels = draw(st.lists(st.integers(0, 3), min_size=X.shape[1], max_size=X.shape[1]))
    groups = [np.flatnonzero(np.array(labels) == g).tolist() for g in sorted(set(labels))]
    groups = draw(st.permutations(groups))
    kept = draw(st.sets(st.integers(0, len(groups) - 1), max_size=len(groups)))
    return X, y, weight, groups, kept


@METRICS
@settings(max_examples=40, deadline=None)
@given(data=grouped_problems(), form=st.sampled_from(FORMS))
def test_no_groups_are_better_than_ours_for_any_k(metric, data, form):
    X, y, weight, groups, kept = data
    keep = [groups[g][-1] for g in kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # coarse data often separate in few features
        model = plain(metric=metric, feature_groups=groups, keep=keep).fit(form(X), y, weight)
    for k in range(1, len(groups) + 1):
        ours = model.with_n_features(k)
        best = best_grouped_objective(X, y, groups, kept, k, metric, weight)
        chosen = np.unique(ours.group_of_[ours.support_])
        assert np.setdiff1d(chosen, list(kept)).size <= k
        assert ours.n_groups_ == chosen.size
        assert np.all(ours.gains_[ours.support_] > 0)
        assert objective(
            X, y, set(np.flatnonzero(ours.support_)), metric, weight
        ) == pytest.approx(best, abs=1e-9)
        assert ours.objective_ == pytest.approx(best, abs=1e-9)


@METRICS
@pytest.mark.parametrize("keep", [None, [1], ["group 1", 4]])
def test_a_group_is_selected_as_a_whole_and_gains_add_up(metric, keep):
    X, y = make_data()
    model = SparseCenterClassifier(2, metric=metric, feature_groups=GROUPS, keep=keep).fit(X, y)
    for g, group in enumerate(GROUPS):
        assert model.group_gains_[g] == pytest.approx(model.gains_[group].sum())
        assert_array_equal(model.group_of_[group], g)
        assert np.unique(model.support_[group]).size == 1
    kept = [] if keep is None else [2] if keep == [1] else [1, 3]
    free = [g for g in np.argsort(-model.group_gains_) if g not in kept]
    assert_array_equal(np.unique(model.group_of_[model.support_]), sorted(kept + free[:2]))
    assert model.n_groups_ == len(kept) + 2
    assert model.n_features_ == model.support_.sum()


@METRICS
@pytest.mark.parametrize("keep", [None, [4]])
def test_the_feature_order_goes_group_by_group(metric, keep):
    X, y = make_data()
    model = SparseCenterClassifier(2, metric=metric, feature_groups=GROUPS, keep=keep).fit(X, y)
    groups = model.group_of_[model.feature_order_]
    starts = np.r_[0, 1 + np.flatnonzero(np.diff(groups))]
    assert starts.size == len(GROUPS)
    order = groups[starts]
    rest = order if keep is None else order[1:]
    assert_array_equal(order[: order.size - rest.size], [3] * (order.size - rest.size))
    assert np.all(np.diff(model.group_gains_[rest]) <= 0)
    for part in np.split(model.feature_order_, starts[1:]):
        assert np.all(np.diff(model.gains_[part]) <= 0)


@pytest.mark.parametrize("seed", range(8))
def test_equal_groups_go_to_the_one_with_the_lower_first_feature(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 2
    a, b, c = (rng.normal(size=30) + shift * y for shift in (0.3, 0.7, 1.1))
    # The sums of the two groups would differ by rounding if they were added column by column.
    X = np.column_stack([c, a, c, b, b, a])
    model = SparseCenterClassifier(1, feature_groups={"v": [1, 2, 3], "u": [0, 4, 5]}).fit(X, y)
    assert model.group_gains_[0] == model.group_gains_[1]
    assert_array_equal(np.flatnonzero(model.support_), [0, 4, 5])


@METRICS
def test_features_without_gain_are_left_out_of_their_group(metric):
    X, y = make_data()
    X[:, [2, 3, 5]] = 1.0
    model = SparseCenterClassifier(5, metric=metric, feature_groups=GROUPS, keep=5)
    with pytest.warns(UserWarning, match="4 groups besides those to keep .* but only 3 separate"):
        model.fit(X, y)
    assert not model.support_[[2, 3, 5]].any()
    assert model.n_groups_ == 4  # the group of feature 3 alone has no gain
    assert_array_equal(np.unique(model.group_of_[model.support_]), [0, 2, 3, 4])


# The path, sparse data, streams.


@METRICS
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("keep", [None, [9], [3, 0]])
def test_the_path_is_that_of_every_number_of_groups(metric, form, keep):
    X, y = make_data(n=200)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = SparseCenterClassifier(1, metric=metric, feature_groups=GROUPS, keep=keep)
    model.fit(form(X), y)
    n_kept = 0 if keep is None else len(keep)
    ks = range(1, len(GROUPS) - n_kept + 1)
    labels, scores = model.path_predict(form(X), None), model.path_score(form(X), y, None)
    assert labels.shape == (len(ks), y.size)
    assert_array_equal(model.path_predict(form(X), [2, 1]), labels[[1, 0]])
    for at, k in enumerate(ks):
        one = model.with_n_features(k)
        again = SparseCenterClassifier(k, metric=metric, feature_groups=GROUPS, keep=keep)
        assert_array_equal(one.support_, again.fit(X, y).support_)
        assert one.n_groups_ == n_kept + k
        assert_array_equal(labels[at], one.predict(form(X)))
        assert scores[at] == pytest.approx(one.score(form(X), y))
        log_loss = model.path_score(form(X), y, [k], scoring="neg_log_loss")
        assert np.isfinite(log_loss).all()
        assert_allclose(one.predict_proba(form(X)), again.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("parameters", [{"feature_groups": GROUPS}, {"keep": [2]}])
def test_chunks_give_what_all_data_give(parameters):
    X, y = make_data()
    whole = SparseCenterClassifier(2, **parameters).fit(X, y)
    parts = SparseCenterClassifier(2, **parameters)
    for rows in np.array_split(np.arange(y.size), 4):
        parts.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert_array_equal(parts.support_, whole.support_)
    assert_array_equal(parts.feature_order_, whole.feature_order_)
    assert_allclose(parts.group_gains_, whole.group_gains_)


@METRICS
def test_groups_of_one_feature_change_nothing(metric):
    X, y = make_data()
    model = SparseCenterClassifier(4, metric=metric).fit(X, y)
    grouped = SparseCenterClassifier(4, metric=metric, feature_groups=np.arange(10)).fit(X, y)
    for name in (
        "support_",
        "feature_order_",
        "group_gains_",
        "group_of_",
        "centers_",
        "n_groups_",
    ):
        assert_array_equal(getattr(grouped, name), getattr(model, name))
    assert_array_equal(grouped.predict_proba(X), model.predict_proba(X))
    assert_array_equal(grouped.path_predict(X, None), model.path_predict(X, None))
    assert model.n_groups_ == 4
    assert_array_equal(model.group_gains_, model.gains_)


def test_all_features_may_be_kept():
    X, y = make_data()
    model = SparseCenterClassifier(3, keep=list(range(10))).fit(X, y)
    assert_array_equal(model.support_, SparseCenterClassifier(None).fit(X, y).support_)
    assert model.path_predict(X, None).shape == (0, y.size)
    assert_array_equal(model.path_predict(X, [3])[0], model.predict(X))
    chosen = SparseCenterClassifierCV(keep=list(range(10))).fit(X, y)
    assert chosen.n_features_ == model.n_features_
    assert_array_equal(chosen.path_["level"], [0])
    assert_array_equal(chosen.path_["n_features"], [0])


def test_names_of_features_and_groups():
    X, y = make_data()
    table = pd.DataFrame(X, columns=list("abcdefghij"))
    groups = {"first": ["a", "b", "c"], "second": ["d", 4], "third": list("fghij")}
    model = SparseCenterClassifier(1, feature_groups=groups, keep="first").fit(table, y)
    assert set("abc") < set(model.get_feature_names_out())
    by_feature = SparseCenterClassifier(1, feature_groups=groups, keep=["b"]).fit(table, y)
    assert_array_equal(by_feature.support_, model.support_)
    labels = ["first"] * 3 + ["second"] * 2 + ["third"] * 5
    by_label = SparseCenterClassifier(1, feature_groups=labels, keep=[0]).fit(table, y)
    assert_array_equal(by_label.support_, model.support_)
    alone = SparseCenterClassifier(2, keep=["a"]).fit(table, y)
    assert "a" in alone.get_feature_names_out()
    assert alone.n_features_ == 3
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.with_n_features(2).support_, model.with_n_features(2).support_)


def test_groups_set_after_fit_wait_for_the_next_fit():
    X, y = make_data()
    model = SparseCenterClassifier(2, feature_groups=GROUPS).fit(X, y)
    before = model.with_n_features(3).support_
    model.set_params(feature_groups=None, keep=[0])
    assert_array_equal(model.with_n_features(3).support_, before)
    assert model.fit(X, y).n_features_ == 3


@pytest.mark.parametrize("k", [(1, 1), (0.5, 2), (None, 4), (99, 4)])
def test_ways_to_ask_for_a_number_of_groups(k):
    X, y = make_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseCenterClassifier(k[0], feature_groups=GROUPS, keep=[3]).fit(X, y)
    assert model.n_groups_ == 1 + k[1]


# Cross-validation.


@METRICS
@pytest.mark.parametrize("keep", [None, [5]])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_folds_count_groups(metric, keep, form):
    X, y = make_data(n=150)
    parameters = {"metric": metric, "feature_groups": GROUPS, "keep": keep}
    cv = [(np.flatnonzero(np.arange(150) % 3 != f), np.arange(f, 150, 3)) for f in range(3)]
    model = SparseCenterClassifierCV(cv=cv, **parameters).fit(form(X), y)
    n_free = len(GROUPS) - (keep is not None)
    assert_array_equal(model.path_["level"], np.arange(1, n_free + 1))
    assert_array_equal(model.path_["n_features"], np.arange(1, n_free + 1))
    for f, (train, test) in enumerate(cv):
        one = SparseCenterClassifier(None, **parameters).fit(X[train], y[train])
        scores = one.path_score(X[test], y[test], None, scoring="balanced_accuracy")
        assert_allclose(model.cv_results_[f"split{f}_test_score"], scores)
    for group in GROUPS:
        assert np.ptp(model.stability_[group]) == 0
    assert keep is None or model.stability_[5] == 1
    k = model.n_groups_ - (keep is not None)
    plain = SparseCenterClassifier(k, **parameters).fit(X, y)
    assert_array_equal(model.support_, plain.support_)
    assert_array_equal(model.with_n_features(2).support_, plain.with_n_features(2).support_)


# Bad input.


@pytest.mark.parametrize("estimator", [SparseCenterClassifier, SparseCenterClassifierCV])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_groups": [[0, 1], [1, 2, 3]]}, "feature_groups overlap"),
        ({"feature_groups": [[0, 1], [2]]}, r"leave out the feature\(s\) 'd'"),
        ({"feature_groups": [[0, 1], [2, 3], []]}, "no feature in 'group 2'"),
        ({"feature_groups": {"p": ["a", "b"], "q": ["c", "z"]}}, "feature 'z' in 'q'"),
        ({"feature_groups": [0, 1, 2]}, "one label for each of the 4 features"),
        ({"feature_groups": 3}, "feature_groups must be"),
        ({"keep": ["z"]}, "keep has the feature 'z'"),
        ({"keep": "z"}, "keep has the feature 'z'"),
        ({"keep": [4]}, "keep must name features, or give indices from 0 to 3; got 4"),
        ({"keep": [-1]}, "keep must name features"),
        ({"keep": [True]}, "keep must name features"),
        ({"keep": 1.5}, "keep must name features"),
        ({"keep": ["z"], "feature_groups": list("ppqq")}, "neither among the groups 'p', 'q'"),
        ({"keep": ["a"], "feature_groups": list("ccaa")}, "a group and a feature of another"),
        ({"keep": [0], "covariance": "shrunk"}, "keep requires covariance=None"),
        ({"feature_groups": list("ppqq"), "covariance": "empirical"}, "feature_groups requires"),
    ],
)
def test_invalid_groups_are_an_error(estimator, parameters, message):
    X, y = make_data(m=4)
    table = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(table, y)
