"""PanelClassifier: its parameters, its path, what it can explain and what it refuses."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GroupKFold

from tamis import PanelClassifier, SparseCenterClassifier
from tamis._array import is_sparse
from tamis.panel.path import default_levels
from tamis.panel.selection import SELECTIONS
from tests.quick import quick_pairs

LINEAR = ("lda", "logistic")


def make_data(n_classes=3, n=120, p=12, seed=0):
    X, y = make_classification(
        n_samples=n,
        n_features=p,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.2,
        random_state=seed,
    )
    return X * np.logspace(-2, 2, p) + 3.0, y


def make_rings(n=200):
    """Two classes that no linear head can tell apart."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    return X * (np.where(y == 1, 2.0, 0.5) / np.hypot(X[:, 0], X[:, 1]))[:, None], y


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


# Selections and heads.


@pytest.mark.parametrize(
    ("selection", "head", "n_classes"),
    quick_pairs(SELECTIONS, ["auto", "lda", "logistic", "kernel"], [2, 3]),
)
def test_every_selection_goes_with_every_head(selection, head, n_classes):
    X, y = make_data(n_classes)
    model = PanelClassifier(4, selection=selection, head=head).fit(X[::2], y[::2])
    assert model.n_features_ == model.get_support().sum() == 4
    assert set(model.feature_order_[:4]) == set(np.flatnonzero(model.support_))
    assert sorted(model.feature_order_) == list(range(12))
    assert model.head_ in (["lda", "logistic", "kernel"] if head == "auto" else [head])
    assert model.score(X[1::2], y[1::2]) > 1.3 / n_classes
    assert_array_equal(model.feature_importances_ > 0, model.support_)
    assert_array_equal(model.transform(X), X[:, model.support_])


def test_selections_differ():
    X, y = make_data(3, p=30)
    orders = {
        s: tuple(PanelClassifier(5, selection=s, head="lda").fit(X, y).feature_order_[:5])
        for s in SELECTIONS
    }
    assert len(set(orders.values())) >= 3


def test_the_automatic_head_is_the_kernel_only_where_it_is_needed():
    X, y = make_rings()
    model = PanelClassifier(2).fit(X[:100], y[:100])
    assert model.head_ == "kernel"
    assert model.score(X[100:], y[100:]) > 0.9
    X, y = load_iris(return_X_y=True)
    assert PanelClassifier(2).fit(X, y).head_ in LINEAR


def test_redundant_features_are_not_chosen_together():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    first = y + 0.6 * rng.normal(size=300)
    copies = first[:, None] + 0.05 * rng.normal(size=(300, 6))
    X = np.column_stack([copies, 0.5 * y + rng.normal(size=300), rng.normal(size=(300, 5))])
    assert PanelClassifier(2).fit(X, y).support_[6]
    assert not PanelClassifier(2, selection="centers").fit(X, y).support_[6]


def test_n_screened_limits_the_candidates():
    X, y = make_data(2, p=30, seed=1)
    gains = SparseCenterClassifier(1).fit(X, y).feature_order_
    all_of_them = PanelClassifier(6, n_screened=30, head="lda").fit(X, y).feature_order_[:6]
    few = PanelClassifier(6, n_screened=1, head="lda").fit(X, y).feature_order_[:6]
    assert set(few) <= set(gains[:12])  # at least twice as many as wanted
    assert not set(all_of_them) <= set(gains[:12])


@pytest.mark.parametrize("k, count", [(3, 3), (0.25, 3), (None, 12), (100, 12)])
def test_n_features_to_select_is_a_count_a_fraction_or_none(k, count):
    X, y = make_data()
    assert PanelClassifier(k, head="lda").fit(X, y).n_features_ == count


# Weights, order of rows, containers.


@pytest.mark.parametrize("head", ["auto", "lda", "logistic", "kernel"])
def test_weights_are_repetitions_and_row_order_does_not_matter(head):
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 4, y.size)
    weighted = PanelClassifier(4, head=head).fit(X, y, sample_weight=weights)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(y.size), weights))
    repeated = PanelClassifier(4, head=head).fit(X[rows], y[rows])
    assert_array_equal(weighted.feature_order_[:4], repeated.feature_order_[:4])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)
    plain = PanelClassifier(4, head=head).fit(X, y)
    assert not np.allclose(plain.predict_proba(X), weighted.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize(
    ("selection", "container"), quick_pairs(SELECTIONS, [sparse.csr_array, sparse.csc_matrix])
)
def test_sparse_equals_dense(selection, container):
    X, y = make_data()
    X = np.maximum(np.rint(X), 0.0)
    one = PanelClassifier(4, selection=selection).fit(X, y)
    other = PanelClassifier(4, selection=selection).fit(container(X), y)
    assert_array_equal(one.support_, other.support_)
    assert_allclose(one.predict_proba(X), other.predict_proba(container(X)), atol=1e-5)


def test_names_choose_groups_and_kept_features(cancer):
    X, y = cancer
    model = PanelClassifier(2, keep="mean texture", head="lda").fit(X, y)
    names = model.get_feature_names_out().tolist()
    assert "mean texture" in names
    assert len(names) == model.n_features_ == 3
    assert X.columns[model.feature_order_[0]] == "mean texture"
    plain = PanelClassifier(2, keep=[1], head="lda").fit(X.to_numpy(), y)
    assert_array_equal(plain.support_, model.support_)


# Groups of features, limits, costs.


def kinds_of(names):
    return names.str.replace("mean |worst | error", "", regex=True).to_numpy()


def test_feature_groups_are_selected_whole(cancer):
    X, y = cancer
    kinds = kinds_of(X.columns)
    model = PanelClassifier(2, feature_groups=kinds, head="logistic").fit(X, y)
    assert model.n_features_ == 6
    for kind in np.unique(kinds):
        assert model.support_[kinds == kind].sum() in (0, 3)
    path = PanelClassifier(feature_groups=kinds, head="lda").fit_path(X, y)
    assert path.levels[-1] == 10
    assert path.n_features[-1] == 10
    assert path.features(9).size == 30
    kept = PanelClassifier(1, feature_groups=kinds, keep="texture", head="lda").fit(X, y)
    assert kept.n_features_ == 6
    assert np.all(kept.support_[kinds == "texture"])


@pytest.mark.parametrize("selection", SELECTIONS)
def test_max_per_group_limits_every_group(cancer, selection):
    X, y = cancer
    kinds = kinds_of(X.columns)
    options = {"feature_groups": kinds, "selection": selection, "head": "lda"}
    path = PanelClassifier(max_per_group=1, **options).fit_path(X, y)
    for place in range(len(path)):
        assert np.unique(kinds[path.features(place)], return_counts=True)[1].max() == 1
    loose = PanelClassifier(12, max_per_group=3, **options).fit(X, y)
    assert np.unique(kinds[loose.support_], return_counts=True)[1].max() > 1


@pytest.mark.parametrize(("load", "k"), quick_pairs([load_wine, load_breast_cancer], [3, 5]))
def test_single_precision_makes_the_same_panel(load, k):
    X, y = load(return_X_y=True)
    double, single = (PanelClassifier(k).fit(X.astype(t), y) for t in (np.float64, np.float32))
    assert single.head_ == double.head_
    assert_array_equal(single.support_, double.support_)
    assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_kept_features_count_in_their_group(cancer, selection):
    X, y = cancer
    kinds = kinds_of(X.columns)
    keep = np.flatnonzero(kinds == kinds[27])[:2].tolist()
    options = {"feature_groups": kinds, "selection": selection, "head": "lda", "keep": keep}
    model = PanelClassifier(4, max_per_group=1, **options).fit(X, y)
    of_kind = dict(zip(*np.unique(kinds[model.support_], return_counts=True), strict=True))
    assert of_kind.pop(kinds[27]) == 2
    assert set(of_kind.values()) == {1}


def test_costs_make_dear_features_rare(cancer):
    X, y = cancer
    best = PanelClassifier(1, head="lda").fit(X, y)
    costs = np.where(best.support_, 50.0, 1.0)
    cheap = PanelClassifier(1, head="lda", feature_costs=costs).fit(X, y)
    assert not np.any(cheap.support_ & best.support_)
    equal = PanelClassifier(1, head="lda", feature_costs=np.full(30, 7.0)).fit(X, y)
    assert_array_equal(equal.support_, best.support_)


def test_all_features_kept_leaves_nothing_to_choose():
    X, y = make_data()
    model = PanelClassifier(keep=list(range(12)), head="lda").fit(X, y)
    assert model.n_features_ == 12
    path = PanelClassifier(keep=list(range(12)), head="lda").fit_path(X, y)
    assert path.levels.tolist() == [0]


# Weights of classes.


@pytest.mark.parametrize("head", ["lda", "logistic", "kernel"])
def test_class_weights_shift_predictions(head):
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 6 == 0).astype(int)
    X = rng.normal(size=(300, 4)) + 0.8 * y[:, None]
    share = {
        str(weight): PanelClassifier(3, head=head, class_weight=weight).fit(X, y).predict(X).mean()
        for weight in ("balanced", None, {0: 1.0, 1: 5.0}, {0: 1.0, 1: 50.0})
    }
    assert share["None"] < share["balanced"] < share["{0: 1.0, 1: 50.0}"]
    assert share["{0: 1.0, 1: 5.0}"] == share["balanced"]  # classes of 250 and 50 rows


# The path.


def test_levels_are_all_up_to_twelve_and_then_fewer():
    assert default_levels(5).tolist() == [1, 2, 3, 4, 5]
    assert default_levels(15).tolist() == [*range(1, 13), 14, 15]
    assert default_levels(1000).tolist() == [*range(1, 13), 14, 16, 20, 24, 28, 32, 40, 50]


@pytest.mark.parametrize(("head", "n_classes"), quick_pairs(["auto", "lda", "kernel"], [2, 3]))
def test_every_level_of_the_path_is_a_model(n_classes, head):
    X, y = make_data(n_classes)
    y = np.array(["b", "a", "c"])[y]
    estimator = PanelClassifier(head=head)
    path = estimator.fit_path(X, y, [1, 2, 5, 9])
    assert not hasattr(estimator, "support_")
    decisions, labels = path.decisions(X), path.labels(X)
    assert decisions.shape == (4, y.size, n_classes)
    for i, k in enumerate([1, 2, 5, 9]):
        model = path.model(i)
        assert_array_equal(labels[i], decisions[i].argmax(axis=1))
        assert_array_equal(model.predict(X), path.classes[labels[i]])
        assert_array_equal(np.flatnonzero(model.support_), path.features(i))
        assert model.n_features_to_select == path.n_features[i] == k
        alone = clone(model).fit(X, y)
        assert_allclose(alone.predict_proba(X), model.predict_proba(X), atol=1e-9)
        expected = np.exp(decisions[i] - np.logaddexp.reduce(decisions[i], axis=1)[:, None])
        assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert_array_equal(path.decisions(X, slice(1, 3)), decisions[1:3])
    assert path.decisions(X, slice(0, 0)).shape == (0, y.size, n_classes)
    for small, large in pairwise(range(4)):
        assert set(path.features(small)) <= set(path.features(large))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_without_gain_are_left_out(n_classes):
    X, y = make_data(n_classes, p=8)
    X = np.column_stack([X, np.full((y.size, 3), 0.1)])
    path = PanelClassifier(head="lda").fit_path(X, y)
    assert path.n_features.max() == 8
    assert path.features(len(path) - 1).max() < 8


# Explanations and coefficients.


@pytest.mark.parametrize(
    ("head", "container", "n_classes"),
    quick_pairs(LINEAR, [np.asarray, sparse.csr_array], [2, 3]),
)
def test_linear_heads_explain_their_decisions(n_classes, head, container):
    X, y = make_data(n_classes)
    model = PanelClassifier(4, head=head).fit(X, y)
    decisions = model.decision_function(X)
    explanation = model.explain(container(X))
    assert_allclose(explanation.decision, decisions, atol=1e-8)
    if container is np.asarray:  # relative to the means: contributions cancel out on average
        assert not np.any(explanation.values[:, ~model.support_])
        assert_allclose(explanation.values.mean(axis=0), 0.0, atol=1e-8)
    else:  # relative to 0, and as sparse as the samples
        parts = explanation.values if n_classes > 2 else [explanation.values]
        for part in parts:
            assert is_sparse(part) and not part[:, np.flatnonzero(~model.support_)].nnz
    linear = X @ model.coef_.T + model.intercept_
    assert_allclose(linear[:, 0] if n_classes == 2 else linear, decisions, atol=1e-8)
    assert model.coef_.shape == (1 if n_classes == 2 else 3, 12)
    assert_array_equal(np.any(model.coef_ != 0, axis=0), model.support_)


def test_a_kernel_has_neither_coefficients_nor_explanations():
    X, y = make_data(2)
    model = PanelClassifier(4, head="kernel").fit(X, y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")
    assert not hasattr(model, "explain")
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match="head='lda' or head='logistic'"):
            getattr(model, name)
    with pytest.raises(AttributeError) as error:
        model.explain(X)
    assert "head='lda' or head='logistic'" in str(error.value.__cause__)  # as in scikit-learn


@pytest.mark.parametrize("name", ["coef_", "intercept_", "feature_importances_"])
def test_before_fit_there_are_no_coefficients(name):
    with pytest.raises(AttributeError, match="not fitted yet"):
        getattr(PanelClassifier(), name)


@pytest.mark.parametrize("head", ["lda", "kernel"])
def test_importances_serve_select_from_model(head):
    X, y = make_data()
    selector = SelectFromModel(PanelClassifier(4, head=head), threshold=1e-12).fit(X, y)
    assert_array_equal(selector.get_support(), selector.estimator_.support_)


# Folds and sample groups.


def test_sample_groups_stay_together_in_the_outer_folds():
    X, y = make_data(2)
    people = np.repeat(np.arange(30), 4)
    y = np.repeat(y[:30], 4)  # rows of a person are alike in an irrelevant feature
    X[:, 0] = np.random.default_rng(0).normal(size=30)[people]
    own = PanelClassifier(3, head="lda", cv=GroupKFold(3)).fit(X, y, groups=people)
    assert own.n_features_ == 3
    given = list(GroupKFold(3).split(X, y, people))
    listed = PanelClassifier(3, head="lda", cv=given).fit(X, y, groups=people)
    assert_allclose(own.predict_proba(X), listed.predict_proba(X))
    other = PanelClassifier(3, head="lda", cv=given).fit(X, y)
    assert other.n_features_ == 3


# What is kept.


@pytest.mark.parametrize("head", ["lda", "kernel"])
def test_pickle_and_clone(head):
    X, y = make_data()
    model = PanelClassifier(4, head=head).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert set(vars(clone(model))) == set(model.get_params())
    state = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    allowed = (np.ndarray, int, float, str, dict)
    assert all(isinstance(value, allowed) for value in state.values())


def test_temperature_makes_probabilities_calibrated():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 30))
    X[:, 0] += y
    model = PanelClassifier(10, head="lda").fit(X[:200], y[:200])
    raw = model.predict_log_proba(X[200:])
    rows = np.arange(200)
    calibrated = -raw[rows, y[200:]].mean()
    decisions = model.decision_function(X[200:]) * model.temperature_
    uncalibrated = np.logaddexp(0, np.where(y[200:] == 1, -decisions, decisions)).mean()
    assert model.temperature_ > 1
    assert calibrated < uncalibrated


def test_frames_and_arrays_give_the_same_and_wrong_columns_are_refused(cancer):
    X, y = cancer
    model = PanelClassifier(3, head="lda").fit(X, y)
    plain = PanelClassifier(3, head="lda").fit(X.to_numpy(), y)
    assert_array_equal(model.predict(X), plain.predict(X.to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X.to_numpy(), columns=list(X.columns[::-1])))


def test_many_rows_are_sampled_to_choose_and_all_used_to_fit(monkeypatch):
    X, y = make_data(2)
    whole = PanelClassifier(3, head="logistic").fit(X, y)
    monkeypatch.setattr("tamis.panel.selection.MOST_ROWS", 60)
    monkeypatch.setattr("tamis.panel.classifier.MOST_ROWS", 60)
    sampled = PanelClassifier(3, head="logistic").fit(X, y)
    assert sampled.support_.sum() == 3
    again = PanelClassifier(3, head="logistic").fit(X[::-1], y[::-1])
    assert_array_equal(again.support_, sampled.support_)
    assert_allclose(again.coef_, sampled.coef_, atol=1e-6)
    assert sampled.score(X, y) > 0.9 * whole.score(X, y)


@pytest.mark.parametrize("head", ["lda", "kernel"])
def test_importances_and_explanations_count_a_weight_of_two_as_the_row_twice(head):
    X, y = make_data(2)
    weights = 1.0 + (np.arange(y.size) % 3 == 0)
    weighted = PanelClassifier(3, head=head).fit(X, y, sample_weight=weights)
    repeats = weights.astype(int)
    repeated = PanelClassifier(3, head=head).fit(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    )
    assert_allclose(weighted.feature_importances_, repeated.feature_importances_, rtol=1e-6)
    if head == "lda":
        assert_allclose(weighted.explain(X[:5]).values, repeated.explain(X[:5]).values, rtol=1e-6)


@pytest.mark.parametrize("head", ["lda", "logistic", "kernel"])
def test_neither_units_nor_the_order_of_columns_change_a_panel(head):
    X, y = load_wine(return_X_y=True)
    model = PanelClassifier(3, head=head).fit(X, y)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        columns, units = rng.permutation(13), np.exp(3 * rng.normal(size=13))
        other = (X * units)[:, columns]
        again = PanelClassifier(3, head=head).fit(other, y)
        assert_array_equal(np.sort(columns[again.support_]), np.flatnonzero(model.support_))
        probabilities = again.predict_proba(other)
        assert_allclose(probabilities, model.predict_proba(X), atol=1e-3)


def test_a_linear_head_is_kept_where_a_kernel_would_be_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X**2).sum(axis=1) > 1.4  # one class around the other
    heads = {head: PanelClassifier(2, head=head).fit(X, y).head_ for head in ("auto", "linear")}
    assert heads["auto"] == "kernel" and heads["linear"] in ("lda", "logistic")
    path = PanelClassifier(head="linear").fit_path(X, y)
    assert {path.model(i).head_ for i in range(2)} <= {"lda", "logistic"}
