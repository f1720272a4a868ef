"""PanelClassifierCV: everything is chosen from rows that took no part."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tamis import PanelClassifier, PanelClassifierCV
from tests.panel.test_classifier import make_data


def test_the_path_has_a_score_and_a_head_for_every_level():
    X, y = make_data()
    model = PanelClassifierCV([1, 3, 6]).fit(X, y)
    assert model.path_["level"].tolist() == [1, 3, 6]
    assert model.path_["n_features"].tolist() == [1, 3, 6]
    assert set(model.path_["head"]) <= {"lda", "logistic", "kernel"}
    assert model.best_score_ == model.path_["score"].max()
    assert model.n_features_ == model.path_["level"][model.path_["score"].argmax()]
    assert model.stability_.shape == (12,)
    assert_allclose(model.stability_.sum(), model.n_features_)
    results = model.cv_results_
    assert results["param_n_features_to_select"].tolist() == [1, 3, 6]
    assert results["mean_test_score"].shape == (3,)


def test_scores_are_those_of_models_trained_without_the_rows():
    X, y = make_data()
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = PanelClassifierCV([2, 4], head="lda", cv=folds).fit(X, y)
    for level, score in zip(model.path_["level"], model.path_["score"], strict=True):
        plain = PanelClassifier(int(level), head="lda")
        labels = cross_val_predict(plain, X, y, cv=folds)
        assert_allclose(score, balanced_accuracy_score(y, labels))


def test_the_chosen_model_is_the_panel_of_its_level():
    X, y = make_data()
    chosen = PanelClassifierCV([1, 3, 6]).fit(X, y)
    plain = PanelClassifier(chosen.n_features_).fit(X, y)
    assert chosen.head_ == plain.head_
    assert_array_equal(chosen.support_, plain.support_)
    assert_allclose(chosen.predict_proba(X), plain.predict_proba(X))


def test_the_sparsest_has_fewer_features():
    X, y = make_data(2, n=120)
    best = PanelClassifierCV(head="lda").fit(X, y)
    few = PanelClassifierCV(head="lda", rule="sparsest").fit(X, y)
    assert few.n_features_ < best.n_features_
    place = few.path_["level"].tolist().index(few.n_features_)
    tolerance = np.maximum(best.path_["standard_error"].max(), 0.01)
    assert few.path_["score"][place] >= best.best_score_ - 2 * tolerance


@pytest.mark.parametrize("head", ["auto", "lda"])
def test_threads_change_nothing(head):
    X, y = make_data()
    one = PanelClassifierCV([1, 4], head=head, n_jobs=1).fit(X, y)
    two = PanelClassifierCV([1, 4], head=head, n_jobs=2).fit(X, y)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.path_["score"], two.path_["score"])
    assert_array_equal(one.stability_, two.stability_)
    assert one.temperature_ == two.temperature_


def test_weights_are_repetitions_and_row_order_does_not_matter():
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 4, y.size)
    weighted = PanelClassifierCV([1, 2, 4]).fit(X, y, sample_weight=weights)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(y.size), weights))
    repeated = PanelClassifierCV([1, 2, 4]).fit(X[rows], y[rows])
    assert_array_equal(weighted.support_, repeated.support_)
    assert_allclose(weighted.path_["score"], repeated.path_["score"])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_sample_groups_are_never_torn_apart():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(40), 5)
    y = np.repeat(rng.integers(0, 2, 40), 5)
    # Every person has a mark of its own: it tells rows of known people apart, and nobody else's.
    X = rng.normal(size=(40, 30))[people] + 0.05 * rng.normal(size=(200, 30))
    torn = PanelClassifierCV([10], head="kernel").fit(X, y).path_["score"][0]
    whole = PanelClassifierCV([10], head="kernel").fit(X, y, groups=people).path_["score"][0]
    assert torn > 0.9
    assert whole < 0.75


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", None])
def test_any_score_can_choose(scoring):
    X, y = make_data(2)
    model = PanelClassifierCV([1, 3], head="lda", scoring=scoring).fit(X, y)
    assert 0.5 < model.best_score_ <= 1
    assert model.score(X, y) > 0.5


def test_groups_kept_features_and_limits_are_passed_on():
    X, y = make_data()
    groups = np.repeat(np.arange(6), 2)
    together = PanelClassifierCV([1, 2], head="lda", feature_groups=groups, keep=[0]).fit(X, y)
    assert together.support_[0]
    assert together.path_["n_features"].tolist() == [1, 2]
    limited = PanelClassifierCV([6], head="lda", feature_groups=groups, max_per_group=1)
    assert np.bincount(groups[limited.fit(X, y).support_]).max() == 1


def test_pickle_and_clone():
    X, y = make_data()
    model = PanelClassifierCV([1, 3], head="lda").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.cv_results_.keys() == model.cv_results_.keys()
    assert set(vars(clone(model))) == set(model.get_params())


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"rule": "2se"}, "rule"),
        ({"scoring": "no such score"}, "scor"),
        ({"levels": [0]}, "levels must be a list of integers >= 1"),
    ],
)
def test_wrong_parameters_say_what_was_expected(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PanelClassifierCV(**parameters).fit(X, y)
