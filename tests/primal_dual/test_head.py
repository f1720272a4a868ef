"""Heads on the support: those of `tamis.heads`, fitted on the same columns and weights."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from tamis import PrimalDualClassifier, PrimalDualClassifierCV
from tamis.heads import fit_lda, fit_logistic
from tamis.models import load_model, save_model
from tamis.primal_dual import head as heads

LINEAR = ["lda", "logistic"]
linear = pytest.mark.parametrize("head", LINEAR)
classes = pytest.mark.parametrize("k", [2, 3])
weights_of_classes = pytest.mark.parametrize(
    "class_weight", ["balanced", None, {0: 2.0, 1: 0.5}], ids=str
)


def make_data(k=3, seed=0, n=150):
    shares = [0.6, 0.25, 0.15] if k == 3 else [0.7, 0.3]
    X, y = make_classification(
        n_samples=n,
        n_features=20,
        n_informative=6,
        n_classes=k,
        n_clusters_per_class=1,
        weights=shares,
        random_state=seed,
    )
    return 100.0 + 7.0 * X * np.geomspace(0.1, 10, 20), y


def expected_head(head, X, y, weight, class_weight):
    """What a head must be, from the selected columns in their own units."""
    k = int(y.max()) + 1
    sizes = np.bincount(y, weights=weight)
    of_class = {
        "balanced": 1 / sizes,
        "None": np.ones(k),
    }.get(str(class_weight))
    if of_class is None:
        of_class = np.array([class_weight.get(c, 1.0) for c in range(k)])
    if head == "lda":
        return fit_lda(X, y, weight, of_class * sizes / (of_class @ sizes))
    weighed = weight * of_class[y]
    return fit_logistic(X, y, weighed * (weight.sum() / weighed.sum()), k, [3.0])[0]


def assert_decisions(model, decisions, X):
    found = model.decision_function(X)
    if found.ndim == 1:
        assert_allclose(found, decisions[:, 1] - decisions[:, 0], rtol=1e-6, atol=1e-6)
    else:
        away = found - decisions
        assert_allclose(away - away[:, :1], 0.0, atol=1e-5)
    assert_allclose(model.predict_proba(X), softmax(decisions, axis=1), atol=1e-6)


@linear
@classes
@weights_of_classes
@pytest.mark.parametrize("standardize", [True, False])
def test_a_head_is_that_of_the_selected_columns(head, k, class_weight, standardize):
    X, y = make_data(k)
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    model = PrimalDualClassifier(
        0.5 if standardize else 0.05, head=head, class_weight=class_weight, standardize=standardize
    )
    model.fit(X, y, sample_weight=weight)
    support = model.support_
    assert 0 < support.sum() < 20
    used = weight > 0
    expected = expected_head(head, X[used][:, support], y[used], weight[used], class_weight)
    assert_decisions(model, expected.decisions(X[:, support]), X)
    assert model.head_ == head


@linear
@classes
def test_the_head_changes_the_decision_only(head, k):
    X, y = make_data(k)
    plain = PrimalDualClassifier(0.5, head="projection").fit(X, y)
    model = PrimalDualClassifier(0.5, head=head).fit(X, y)
    for name in ("weights_", "centers_", "dual_", "gap_", "dispersion_", "support_"):
        assert_array_equal(getattr(model, name), getattr(plain, name))
    assert not np.allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.01)


@classes
def test_auto_is_lda_for_two_classes_and_logistic_for_more(k):
    X, y = make_data(k)
    model = PrimalDualClassifier(0.5).fit(X, y)
    assert model.head_ == ("lda" if k == 2 else "logistic")
    same = clone(model).set_params(head=model.head_).fit(X, y)
    assert_array_equal(model.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize("limit", ["_MOST_FEATURES", "_MOST_VALUES"])
def test_auto_is_the_projection_for_very_many_features(limit, monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(heads, limit, 3)
    model = PrimalDualClassifier(2.0).fit(sparse.csr_array(X), y)
    assert model.n_features_ > 3
    assert model.head_ == "projection"
    assert not hasattr(model, "coef_")
    other = PrimalDualClassifier(2.0, head="projection").fit(sparse.csr_array(X), y)
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@linear
@classes
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_sparse_data_give_the_same_head(head, k, form):
    X, y = make_data(k)
    X = np.where(np.abs(X - 100) < 3, 0.0, X)
    model = PrimalDualClassifier(0.5, head=head, tol=1e-9)
    dense, thin = clone(model).fit(X, y), clone(model).fit(form(X), y)
    assert_array_equal(dense.support_, thin.support_)
    assert_allclose(thin.coef_, dense.coef_, rtol=1e-5, atol=1e-9)
    assert_allclose(thin.predict_proba(form(X)), dense.predict_proba(X), atol=1e-5)
    explanation = thin.explain(form(X))
    assert_allclose(explanation.decision, thin.decision_function(X), atol=1e-8)
    values = explanation.values if k == 2 else explanation.values[0]
    assert not values.toarray()[X == 0].any()


@linear
@classes
def test_coefficients_importances_and_explanations_belong_to_the_decisions(head, k):
    X, y = make_data(k)
    model = PrimalDualClassifier(0.5, head=head).fit(X, y)
    decisions = model.decision_function(X).reshape(y.size, -1)
    assert model.coef_.shape == (decisions.shape[1], 20)
    assert_allclose(X @ model.coef_.T + model.intercept_, decisions, atol=1e-8)
    assert_allclose(model.explain(X).decision.reshape(y.size, -1), decisions, atol=1e-8)
    values = model.explain(X[:1]).values[0].reshape(20, -1)
    assert_allclose(values, ((X[0] - model.mean_) * model.coef_).T, atol=1e-9)
    in_units = model.coef_ * model.scale_
    length = np.linalg.norm(in_units - (in_units.mean(axis=0) if k > 2 else 0), axis=0)
    length = length / np.sqrt(2) if k == 2 else length  # each class has half of the difference
    assert_allclose(model.feature_importances_, length)
    assert_array_equal(model.feature_importances_ > 0, model.support_)


@linear
@classes
def test_confidence_is_the_difference_of_the_two_largest_probabilities(head, k):
    X, y = make_data(k)
    model = PrimalDualClassifier(0.5, head=head).fit(X, y)
    ordered = np.sort(model.predict_proba(X), axis=1)
    assert_allclose(model.confidence(X), ordered[:, -1] - ordered[:, -2])


@linear
def test_weight_is_repetition(head):
    X, y = make_data()
    weight = np.random.default_rng(2).integers(0, 4, y.size)
    model = PrimalDualClassifier(0.5, head=head, tol=1e-10)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_array_equal(weighted.support_, repeated.support_)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    assert not np.allclose(clone(model).fit(X, y).predict_proba(X), weighted.predict_proba(X))


@pytest.mark.parametrize("head", [*LINEAR, "projection"])
def test_feature_weights_change_the_selection_but_not_the_units_of_the_head(head):
    X, y = make_data()
    model = PrimalDualClassifier(0.5, head=head, feature_weights=np.geomspace(0.1, 10, 20))
    model.fit(X, y)
    if head != "projection":
        expected = expected_head(head, X[:, model.support_], y, np.ones(y.size), "balanced")
        assert_decisions(model, expected.decisions(X[:, model.support_]), X)
    explained = model.explain(X).decision
    assert_allclose(explained, model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("head", ["auto", *LINEAR, "projection"])
@classes
def test_every_model_of_a_path_is_that_of_fit(head, k):
    X, y = make_data(k)
    path = PrimalDualClassifier(head=head, tol=1e-9).fit_path(X, y, [0.1, 0.4, 1.0])
    decisions = path.decisions(X)
    for place in range(3):
        model = path.model(place)
        alone = clone(model).fit(X, y)
        assert model.head_ == alone.head_
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-3)
        assert_allclose(softmax(decisions[place], axis=1), model.predict_proba(X), atol=1e-10)
        assert_array_equal(decisions[place].argmax(axis=1), model.predict(X))
    few = path.at_most([1, 2])
    for place in range(2):
        model = few.model(place)
        assert model.n_features_ <= place + 1
        labels = few.decisions(X)[place].argmax(axis=1)
        assert_array_equal(labels, model.predict(X))
        if head in LINEAR:
            expected = expected_head(head, X[:, model.support_], y, np.ones(y.size), "balanced")
            assert_array_equal(labels, expected.decisions(X[:, model.support_]).argmax(axis=1))


@linear
def test_scores_of_folds_are_those_of_heads_trained_one_by_one(head):
    X, y = make_data()
    radii = [0.1, 0.5, 1.0]
    cv = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    model = PrimalDualClassifierCV(radii, head=head, cv=cv, tol=1e-7).fit(X, y)
    for at, radius in enumerate(radii):
        for f, (train, test) in enumerate(cv):
            one = PrimalDualClassifier(radius, head=head, tol=1e-7).fit(X[train], y[train])
            score = balanced_accuracy_score(y[test], one.predict(X[test]))
            assert_allclose(model.cv_results_[f"split{f}_test_score"][at], score)
    assert model.temperature_ != 1.0
    few = model.with_n_features(PrimalDualClassifier(0.1).fit(X, y).n_features_)
    alone = PrimalDualClassifier(few.radius_, head=head, tol=1e-7).fit(X, y)
    assert few.n_features_ < model.n_features_ or model.radius_ == few.radius_
    assert_array_equal(few.predict(X), alone.predict(X))


@pytest.mark.parametrize("head", [*LINEAR, "projection"])
@pytest.mark.parametrize("kind", [PrimalDualClassifier, PrimalDualClassifierCV])
@pytest.mark.parametrize("ending", ["json", "skops"])
def test_models_go_through_files_and_pickles(head, kind, ending, tmp_path):
    X, y = make_data()
    model = kind(head=head) if kind is PrimalDualClassifier else kind([0.2, 1.0], head=head, cv=3)
    model.fit(X, y)
    save_model(model, tmp_path / f"model.{ending}")
    for again in (load_model(tmp_path / f"model.{ending}"), pickle.loads(pickle.dumps(model))):
        assert again.head_ == head
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert_array_equal(again.explain(X).values, model.explain(X).values)


@linear
def test_a_warm_start_and_the_algorithm_of_the_paper_have_a_head_too(head):
    X, y = make_data()
    model = PrimalDualClassifier(0.5, head=head, warm_start=True, tol=1e-9).fit(X, y)
    first = model.predict_proba(X)
    assert_allclose(model.fit(X, y).predict_proba(X), first, atol=1e-6)
    paper = PrimalDualClassifier(0.5, head=head, algorithm="paper", max_iter=200).fit(X, y)
    support = paper.support_
    expected = expected_head(head, X[:, support], y, np.ones(y.size), "balanced")
    assert_decisions(paper, expected.decisions(X[:, support]), X)


@linear
def test_a_model_without_features_predicts_one_class(head):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    with pytest.warns(UserWarning, match="collapsed"):
        model = PrimalDualClassifier(1.0, head=head).fit(np.ones((60, 5)), y)
    assert np.unique(model.predict(rng.normal(size=(9, 5)))).size == 1
    assert_allclose(model.predict_proba(np.ones((1, 5))), 0.5, atol=1e-6)
    assert not model.coef_.any()


@pytest.mark.parametrize("head", ["svm", None, 3, ["lda"]])
@pytest.mark.parametrize("kind", [PrimalDualClassifier, PrimalDualClassifierCV])
def test_unknown_heads_are_errors(head, kind):
    X, y = make_data()
    with pytest.raises(ValueError, match="head must be one of 'auto', 'lda', 'logistic'"):
        kind(head=head).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_the_head_is_better_than_the_projection_with_many_classes(seed):
    X, y = make_classification(
        n_samples=600,
        n_features=30,
        n_informative=10,
        n_classes=8,
        n_clusters_per_class=1,
        random_state=seed,
    )
    counts = [3, 5, 8]
    scores = {}
    for head in ("auto", "projection"):
        path = PrimalDualClassifier(head=head).fit_path(X[:300], y[:300], max_features=12)
        labels = path.at_most(counts).decisions(X[300:]).argmax(axis=2)
        scores[head] = [balanced_accuracy_score(y[300:], row) for row in labels]
    assert np.mean(scores["auto"]) > np.mean(scores["projection"]) + 0.05
