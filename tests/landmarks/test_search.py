"""LandmarkSearchCV: ranking, ensembles, stop and resume."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import balanced_accuracy_score, get_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold

from tamis import LandmarkClassifier, LandmarkSearchCV
from tamis.landmarks import evaluation
from tamis.landmarks.ensemble import (
    choose_size,
    combine,
    ensemble_shares,
    member_weights,
    pick_greedily,
)
from tests.landmarks.nasty import DATA

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
SMALL = LandmarkSearchCV(n_configurations=12, cv=3, random_state=0)


def same(one, other):
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    for name, column in one.configurations_.items():
        assert_array_equal(column, other.configurations_[name])


def test_members_are_the_best_configurations_trained_on_all_rows():
    search = clone(SMALL).fit(X, Y)
    scores = search.configurations_["score"]
    assert (np.diff(scores) <= 0).all()
    assert search.best_score_ == scores[0]
    assert len(search.members_) == 12  # fewer than 15 were drawn
    for r, member in enumerate(search.members_):
        one = LandmarkClassifier(**member["configuration"], random_state=member["seed"])
        one.fit(X, Y)
        shares = ensemble_shares(search.members_[r : r + 1], X, "soft")
        assert_allclose(one.predict_proba(X), shares, rtol=1e-12)


def test_the_table_can_be_read_and_names_parameters_of_the_classifier():
    search = clone(SMALL).fit(X, Y)
    table = pd.DataFrame(search.configurations_)
    assert len(table) == 12
    best = LandmarkClassifier(**search.best_configuration_, random_state=0).fit(X, Y)
    assert best.score(X, Y) > 0.8
    best = table.groupby("n_landmarks")["score"].max()
    assert_array_equal(search.path_["level"], best.index)
    assert_array_equal(search.path_["score"], best)


def test_the_results_are_also_in_the_form_of_scikit_learn():
    search = clone(SMALL).fit(X, Y)
    results, table = search.cv_results_, search.configurations_
    folds = np.stack([results[f"split{f}_test_score"] for f in range(3)])
    assert_array_equal(results["mean_test_score"], folds.mean(axis=0))
    assert results["rank_test_score"].min() == 1
    assert results["params"][0] == search.best_configuration_
    is_neighbours = table["classifier"] == "knn"
    assert_array_equal(results["param_n_neighbors"].mask, ~is_neighbours)


def test_scores_of_the_folds_are_those_of_the_test_rows():
    splits = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, Y))
    space = {"landmarks": ["fft"], "kernel": ["linear"], "n_landmarks": [75]}
    search = LandmarkSearchCV(space=space, n_configurations=3, cv=splits, random_state=0)
    search.fit(X, Y)
    model = LandmarkClassifier(**search.best_configuration_)
    for f, (train, test) in enumerate(splits):
        labels = model.fit(X[train], Y[train]).predict(X[test])
        expected = balanced_accuracy_score(Y[test], labels)
        assert search.cv_results_[f"split{f}_test_score"][0] == pytest.approx(expected)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_any_scoring_ranks_the_configurations_and_scores(scoring):
    X_few, Y_few = X[:60], Y[:60]
    search = clone(SMALL).set_params(scoring=scoring).fit(X_few, Y_few)
    scores = search.configurations_["score"]
    assert (np.diff(scores) <= 0).all()
    mean = search.cv_results_["mean_test_score"]
    assert_allclose(scores, mean, atol=1e-12)  # folds of equal size
    expected = get_scorer(scoring)(search, X_few, Y_few)
    assert search.score(X_few, Y_few) == pytest.approx(expected, rel=1e-3)
    other = clone(SMALL).fit(X_few, Y_few).configurations_["score"]
    assert not np.allclose(scores, other)


def test_pooled_predictions_of_a_fold_are_those_of_the_classifier():
    splits = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, Y))
    search = LandmarkSearchCV(
        space={"landmarks": ["fft"], "kernel": ["linear"], "n_landmarks": [75]},
        search="grid",
        cv=splits,
        random_state=0,
    ).fit(X, Y)
    # All rows are landmarks, so that no draw matters but the first row of the traversal.
    c = search.cv_results_["params"][-1]
    found = np.empty_like(Y)
    for train, test in splits:
        found[test] = LandmarkClassifier(**c).fit(X[train], Y[train]).predict(X[test])
    recalls = [(found[k == Y] == k).mean() for k in range(3)]
    assert search.configurations_["score"][-1] == pytest.approx(np.mean(recalls))


def test_equal_votes_go_to_the_better_members():
    shares = [np.eye(2)[[c]] for c in (1, 0, 0, 1)]
    found = combine(member_weights(4, "majority"), shares, "majority")
    assert found.argmax() == 1
    assert found.sum() == pytest.approx(1.0)
    three = combine(member_weights(3, "majority"), shares[:3], "majority")
    assert three.argmax() == 0  # a majority is never overruled
    assert combine(member_weights(4, "soft"), shares, "soft").tolist() == [[0.5, 0.5]]


def test_the_automatic_size_errs_least_and_is_small():
    truth = np.array([0, 0, 1, 1])
    labels = np.array([[0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    assert choose_size(labels, truth, np.ones(2)) == 3
    assert choose_size(truth[None], truth, np.ones(2)) == 1


def test_greedy_picks_lower_the_loss_of_the_average_at_every_step():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    shares = rng.dirichlet(np.ones(3), size=(8, 60)) + 0.3 * np.eye(3)[truth]
    shares /= shares.sum(axis=2, keepdims=True)

    def loss(counts):
        average = np.tensordot(counts / counts.sum(), shares, axes=1)
        square = ((average - np.eye(3)[truth]) ** 2).sum(axis=1)
        return np.mean([square[truth == c].mean() for c in range(3)])

    counts = np.zeros(8, dtype=int)
    for size in range(1, 7):
        options = [loss(counts + np.eye(8, dtype=int)[m]) for m in range(8)]
        counts[int(np.argmin(options))] += 1
        places, found = pick_greedily(shares, truth, np.ones(3), size)
        assert_array_equal(np.bincount(np.repeat(places, found), minlength=8), counts)


@pytest.mark.parametrize(
    "parameters",
    [
        {"vote": "soft", "class_weight": "balanced"},
        {"ensemble_size": 1},
        {"ensemble_size": "auto"},
        {"selection": "greedy", "vote": "soft", "ensemble_size": 5},
        {"search": "grid", "space": {"n_landmarks": [8], "kernel": ["cauchy"]}},
        {"space": "extended", "n_configurations": 6},
        {"cv": StratifiedKFold(2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_probabilities_and_decisions_agree(parameters, n_classes):
    keep = n_classes > Y
    model = LandmarkSearchCV(**{"random_state": 0, "cv": 3, **parameters})
    model.set_params(**{} if "search" in parameters else {"n_configurations": 6})
    model.fit(X[keep], Y[keep])
    shares, decisions = model.predict_proba(X), model.decision_function(X)
    columns = np.column_stack([np.zeros(75), decisions]) if n_classes == 2 else decisions
    assert_array_equal(model.predict(X), shares.argmax(axis=1))
    assert_array_equal(model.predict(X), columns.argmax(axis=1))
    assert_allclose(shares.sum(axis=1), 1.0)
    assert model.explain(X).rows.shape == (75, 3)


def test_balanced_weights_given_as_a_dict_change_nothing():
    rows = np.r_[0:24, 25:49, 50:62]  # every fold has the same shares of the classes
    X_few, Y_few = X[rows], Y[rows]
    balanced = {c: 60 / (3 * np.count_nonzero(Y_few == c)) for c in range(3)}
    one, other = (
        LandmarkSearchCV(n_configurations=30, cv=3, class_weight=weight, random_state=0).fit(
            X_few, Y_few
        )
        for weight in ("balanced", balanced)
    )
    assert one.best_configuration_ == other.best_configuration_
    found, expected = (m.configurations_["score"] for m in (other, one))
    assert_allclose(found, expected, atol=1e-12)
    assert_array_equal(other.predict(X), one.predict(X))


def test_errors_of_a_heavy_class_rank_the_configurations():
    rng = np.random.default_rng(0)
    points, y = 20 * rng.normal(size=(60, 2)), np.arange(60) % 2
    search = LandmarkSearchCV(class_weight={0: 1000.0, 1: 1e-4}, random_state=0).fit(points, y)
    assert search.best_score_ > 0.999
    new = 20 * rng.normal(size=(200, 2))
    assert np.mean(search.predict(new) == 0) > 0.9


def test_the_number_of_threads_changes_nothing():
    one = clone(SMALL).set_params(space="extended", selection="greedy", vote="soft")
    same(one.set_params(n_jobs=1).fit(X, Y), clone(one).set_params(n_jobs=2).fit(X, Y))


def test_sparse_rows_are_searched_like_dense_ones():
    counts = np.rint(X)
    dense = clone(SMALL).fit(counts, Y)
    thin = clone(SMALL).fit(sparse.csc_array(counts), Y)
    assert_allclose(dense.predict_proba(counts), thin.predict_proba(sparse.csr_matrix(counts)))


class Stop:
    """A callback that asks to stop after some steps."""

    def __init__(self, after):
        self.after = after

    def setup(self, estimator, context):
        self.n_done = 0

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.n_done += 1
        return self.n_done >= self.after


@pytest.mark.parametrize(("after", "whole"), [(1, False), (4, True)])
def test_a_stopped_search_is_usable_and_goes_on(after, whole):
    pytest.importorskip("sklearn.callback")
    model = clone(SMALL).set_params(warm_start=True)
    model.set_callbacks(Stop(after)).fit(X, Y)
    n_known = len(model.configurations_["score"])
    assert 0 < n_known < 12
    assert model.score(X, Y) > 0.6
    model.set_callbacks()
    same(model.fit(X, Y), clone(SMALL).fit(X, Y))


def test_an_interrupted_search_is_usable_and_goes_on(monkeypatch):
    model = clone(SMALL).set_params(warm_start=True)
    evaluate, calls = evaluation.evaluate_branch, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return evaluate(*args)

    monkeypatch.setattr(evaluation, "evaluate_branch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.score(X, Y) > 0.6
    same(model.fit(X, Y), clone(SMALL).fit(X, Y))
    n_calls = len(calls)
    model.set_params(n_configurations=20)
    same(model.fit(X, Y), clone(SMALL).set_params(n_configurations=20).fit(X, Y))
    assert len(calls) > n_calls
    model.fit(X, Y)  # nothing is left to evaluate


def test_other_data_begin_a_warm_search_anew():
    model = clone(SMALL).set_params(warm_start=True).fit(X, Y)
    with pytest.warns(UserWarning, match="the search begins anew"):
        model.fit(X + 1.0, Y)
    plain = clone(SMALL).fit(X + 1.0, Y)
    assert_array_equal(model.predict(X), plain.predict(X))


def test_without_a_seed_a_warm_search_keeps_its_own():
    model = LandmarkSearchCV(n_configurations=5, warm_start=True).fit(X, Y)
    before = model.configurations_["score"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.fit(X, Y).configurations_["score"], before)


def test_fewer_rows_are_used_only_on_request_and_this_is_said():
    points, y = make_blobs(400, 3, centers=3, random_state=0)
    model = LandmarkSearchCV(n_configurations=6, max_samples=90, random_state=0)
    with pytest.warns(UserWarning, match="max_samples=90: 88 of 400 rows are used"):
        model.fit(points, y)
    assert model.score(points, y) > 0.9
    rows = model.explain(points).rows
    assert rows.max() > 90
    assert_array_equal(model.explain(points).labels, y[rows])


def test_groups_are_passed_to_the_splitter():
    groups = np.arange(75) % 5
    model = clone(SMALL).set_params(cv=GroupKFold(5)).fit(X, Y, groups=groups)
    assert model.score(X, Y) > 0.8


def test_a_class_with_one_sample_is_fine():
    points, y = DATA["rare_class"]()
    keep = np.arange(43)  # one row of the third class is left
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(SMALL).fit(points[keep], y[keep])
    assert model.predict_proba(points).shape == (44, 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"space": "all"}, "space must be 'paper', 'extended' or a dict"),
        ({"search": "bayes"}, "search must be one of 'random', 'grid'"),
        ({"search": "grid"}, "n_configurations=12 is for search='random'"),
        ({"n_configurations": 0}, "n_configurations must be an integer >= 1"),
        ({"ensemble_size": 0}, "ensemble_size must be an integer >= 1 or 'auto'"),
        ({"ensemble_size": "best"}, "ensemble_size must be an integer >= 1 or 'auto'"),
        ({"vote": "hard"}, "vote must be one of 'majority', 'soft'"),
        ({"selection": "greedy"}, "use it with vote='soft'"),
        ({"selection": "greedy", "vote": "soft", "ensemble_size": "auto"}, "Give a number"),
        ({"scoring": "beauty"}, "beauty"),
        ({"cv": 1}, "cv must be an integer >= 2"),
        ({"cv": 30}, "cv=30 folds need a class with at least 30 samples"),
        ({"max_samples": -3}, "max_samples must be an integer >= 1"),
        ({"warm_start": "yes"}, "warm_start must be one of False, True"),
        ({"class_weight": {"setosa": 2}}, "has the label 'setosa'"),
    ],
)
def test_wrong_parameters_are_errors(parameters, message):
    with pytest.raises(ValueError, match=message):
        clone(SMALL).set_params(**parameters).fit(X, Y)


def test_a_missing_member_is_an_error():
    with pytest.raises(ValueError, match="member must be an integer from 0 to 11, got 12"):
        clone(SMALL).fit(X, Y).explain(X, member=12)


def test_fitted_state_is_plain():
    def look(value):
        assert isinstance(
            value, str | int | float | bool | type(None) | list | dict | tuple | np.ndarray
        )
        for part in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        ):
            look(part)

    model = clone(SMALL).set_params(space="extended", n_configurations=9).fit(X, Y)
    look(model.members_)
    look(model.configurations_)
    look(model.best_configuration_)
