import pickle

import numba
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification

from tamis import DatumWiseClassifier

SMALL = {"learner": "linear", "n_states": 400, "n_iterations": 4, "random_state": 0}


def make_data(n_classes=3, missing=0.0, seed=0):
    X, y = make_classification(
        240, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    return X, y


def fit(X, y, **kwargs):
    return DatumWiseClassifier(**{**SMALL, **kwargs}).fit(X, y)


def test_acquire_says_what_predict_says_and_what_it_cost():
    X, y = make_data(missing=0.1)
    prices = np.linspace(0.5, 2.0, 8)
    model = fit(X, y, feature_costs=prices)
    acquired = model.acquire(X)
    assert_array_equal(acquired.labels, model.predict(X))
    assert_array_equal(acquired.probabilities, model.predict_proba(X))
    assert_allclose(acquired.cost, acquired.mask @ prices)
    assert_array_equal(acquired.n_questions, acquired.mask.sum(axis=1))
    assert not (acquired.mask & np.isnan(X)).any()
    assert model.mean_cost_ == pytest.approx(acquired.cost.mean())
    assert model.mean_n_features_ == pytest.approx(acquired.n_questions.mean())
    loss = np.mean(acquired.labels != y)
    assert model.risk_ == pytest.approx(loss + 0.01 * acquired.cost.mean())


def test_values_that_were_not_bought_do_not_matter():
    X, y = make_data()
    model = fit(X, y, cost_weight=0.03)
    acquired = model.acquire(X)
    other = np.where(acquired.mask, X, 1e3)
    assert not acquired.mask.all()
    assert_array_equal(model.predict_proba(other), acquired.probabilities)


@pytest.mark.parametrize("order", ["free", "fixed"])
def test_budgets_bind(order):
    X, y = make_data(missing=0.05)
    three = fit(X, y, cost_weight=0.0, max_features=3, order=order).acquire(X)
    assert three.n_questions.max() == 3
    prices = np.arange(1.0, 9.0)
    cheap = fit(X, y, cost_weight=0.0, max_cost=7, feature_costs=prices, order=order).acquire(X)
    assert 0 < cheap.cost.max() <= 7


@pytest.mark.parametrize("budget", [{"max_features": 0}, {"max_cost": 0}, {"max_cost": 0.5}])
def test_without_a_budget_the_prior_is_predicted(budget):
    X, y = make_data(n_classes=2)
    y[:40] = 1
    model = fit(X, y, **budget)
    acquired = model.acquire(X)
    assert acquired.order.shape == (240, 0)
    assert acquired.cost.sum() == 0
    assert set(acquired.labels) == {np.bincount(y).argmax()}
    assert_allclose(acquired.probabilities[0, 1], y.mean(), atol=1e-3)
    # What is known for free still counts.
    known = model.acquire(X, known=np.ones(8, dtype=bool))
    assert np.mean(known.labels == y) > 0.8


def test_free_features_may_be_had_on_a_budget_of_zero():
    X, y = make_data(n_classes=2)
    prices = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])
    acquired = fit(X, y, max_cost=0, feature_costs=prices).acquire(X)
    assert acquired.cost.max() == 0
    assert acquired.n_questions.max() > 0
    assert not acquired.mask[:, ::2].any()


def test_groups_are_bought_as_a_whole_and_charged_once():
    X, y = make_data()
    groups = {"blood": [0, 3, 5], "urine": [1, 2], "age": [4], "rest": [6, 7]}
    model = fit(X, y, feature_groups=groups, feature_costs=[3, 2, 0, 1], cost_weight=0.001)
    acquired = model.acquire(X)
    assert acquired.n_questions.max() > 1
    for columns in groups.values():
        bought = acquired.mask[:, columns]
        assert_array_equal(bought.all(axis=1), bought.any(axis=1))
    first = acquired.mask[:, [0, 1, 4, 6]]
    assert_allclose(acquired.cost, first @ [3, 2, 0, 1])


def test_known_values_are_free_and_used():
    X, y = make_data()
    model = fit(X, y, feature_costs=np.full(8, 2.0))
    known = np.zeros(X.shape, dtype=bool)
    known[:, :4] = True
    acquired = model.acquire(X, known=known)
    assert acquired.mask[:, :4].all()
    assert not np.isin(acquired.order, [0, 1, 2, 3]).any()
    assert_allclose(acquired.cost, 2.0 * acquired.mask[:, 4:].sum(axis=1))
    everything = model.acquire(X, known=np.ones(8, dtype=bool))
    assert everything.order.shape == (240, 0)
    assert np.mean(everything.labels == y) > 0.6


@pytest.mark.parametrize(
    "known", [np.ones((240, 8)), np.ones(7, dtype=bool), "all", np.ones((2, 240, 8), dtype=bool)]
)
def test_wrong_known_is_told(known):
    X, y = make_data()
    with pytest.raises(ValueError, match="known must be True or False for every value"):
        fit(X, y).acquire(X, known=known)


def test_part_of_a_group_cannot_be_known():
    X, y = make_data()
    model = fit(X, y, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3])
    with pytest.raises(ValueError, match="A group is bought as a whole"):
        model.acquire(X, known=np.arange(8) == 0)


def test_nan_everywhere_still_gives_an_answer():
    X, y = make_data(missing=0.3)
    X[:, 2] = np.nan
    model = fit(X, y)
    nothing = np.full((3, 8), np.nan)
    acquired = model.acquire(nothing)
    assert acquired.order.shape == (3, 0)
    assert set(acquired.labels) <= {0, 1, 2}
    assert not (model.acquire(make_data()[0]).order == 2).any()  # never seen in fit
    assert model.score(X, y) > 0.5
    hopeless = fit(np.full((6, 2), np.nan), [0, 0, 0, 0, 1, 1])
    assert hopeless.predict(np.zeros((2, 2))).tolist() == [0, 0]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_huge_offsets_and_units_change_nothing(missing):
    X, y = make_data(missing=missing)
    X = np.round(X * 1024) / 1024  # so that offsets and powers of two are exact
    model = fit(X, y)
    moved = fit(X * 4096.0 + 2.0**30, y)
    assert_array_equal(moved.acquire(X * 4096.0 + 2.0**30).order, model.acquire(X).order)
    assert_allclose(moved.predict_proba(X * 4096.0 + 2.0**30), model.predict_proba(X), rtol=1e-6)


def test_values_far_from_all_seen_ones_give_finite_answers():
    X, y = make_data()
    model = fit(X, y, cost_weight=0.0)
    for size in (1e30, 1e300, -1e308):
        assert np.isfinite(model.predict_proba(np.full((2, 8), size))).all()


def test_float32_gives_what_the_same_numbers_in_float64_give():
    X, y = make_data(missing=0.1)
    X = X.astype(np.float32)
    single, double = fit(X, y), fit(X.astype(np.float64), y)
    assert_array_equal(single.predict_proba(X), double.predict_proba(X))


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = make_classification(3000, 30, n_informative=10, random_state=0)
    before = numba.get_num_threads()
    answers = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        answers.append(fit(X, y, n_states=1500).predict_proba(X))
    numba.set_num_threads(before)
    assert_array_equal(*answers)


def test_pickle_keeps_everything():
    X, y = make_data(missing=0.1)
    model = fit(
        pd.DataFrame(X, columns=list("abcdefgh")), y, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3]
    )
    again = pickle.loads(pickle.dumps(model))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.start().next_feature() == model.start().next_feature()


def test_explain_has_names_and_running_probabilities():
    X, y = make_data()
    names = [f"gene {j}" for j in range(8)]
    frame = pd.DataFrame(X, columns=names)
    model = fit(frame, y, feature_costs=dict(zip(names, range(1, 9), strict=True)))
    questions, acquired = model.explain(frame), model.acquire(frame)
    count = acquired.n_questions
    rows = np.arange(240)
    assert_array_equal(questions.order, acquired.order)
    assert_array_equal(questions.probabilities[rows, count], acquired.probabilities)
    assert_allclose(questions.cost[rows, count], acquired.cost)
    assert questions.names[0, : count[0]].tolist() == [
        names[j] for j in acquired.order[0, : count[0]]
    ]
    assert (questions.names[acquired.order < 0] == "").all()
    # The first entry is the decision with nothing known: the same for all.
    assert len(np.unique(questions.probabilities[:, 0], axis=0)) == 1


def test_class_weight_moves_the_errors():
    X, y = make_classification(
        600, 6, n_informative=3, weights=[0.9], class_sep=0.5, flip_y=0.1, random_state=1
    )
    recall = [
        np.mean(fit(X, y, class_weight=weight).predict(X)[y == 1] == 1)
        for weight in (None, "balanced", {1: 50.0})
    ]
    assert recall[0] < recall[1] <= recall[2]
    assert recall[2] > 0.95


@pytest.mark.parametrize("n_classes", [2, 11])
def test_many_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(330) % n_classes
    X = rng.normal(size=(330, 5))
    X[:, 1] += 8.0 * np.cos(2 * np.pi * y / n_classes)
    X[:, 3] += 8.0 * np.sin(2 * np.pi * y / n_classes)
    model = fit(X, y, cost_weight=0.001)
    assert model.predict_proba(X).shape == (330, n_classes)
    assert model.score(X, y) > 0.6


def test_fit_path_gives_fitted_classifiers_from_few_questions_to_many():
    X, y = make_data()
    model = DatumWiseClassifier(**SMALL)
    path = model.fit_path(X, y, [0.001, 0.3, 0.03])
    assert [one.cost_weight for one in path] == [0.3, 0.03, 0.001]
    assert not hasattr(model, "policy_")
    sizes = [one.mean_n_features_ for one in path]
    assert sizes == sorted(sizes)
    for one in path:
        acquired = one.acquire(X)
        loss = np.mean(acquired.labels != y)
        assert one.risk_ == pytest.approx(loss + one.cost_weight * acquired.cost.mean())
        assert one.process_.cost_weight == one.cost_weight
        assert clone(one).cost_weight == one.cost_weight


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learner": "boosted"}, "learner must be one of 'linear'"),
        ({"learner": 3}, "learner must be one of"),
        ({"order": "random"}, "order must be 'free' or 'fixed', got 'random'"),
        ({"cost_weight": -1}, "cost_weight must be a finite number >= 0, got -1"),
        ({"n_states": 0}, "n_states must be an integer >= 1"),
        ({"n_iterations": 2.5}, "n_iterations must be an integer >= 1"),
        ({"mixture": 1.5}, "mixture must be a number from 0 to 1"),
        ({"n_candidates": True}, "n_candidates must be an integer >= 1"),
        ({"n_trees": 10}, "n_trees=10 is for learner='forest', and learner is 'linear'"),
        ({"n_sets": 10}, "n_sets=10 is for learner='forest'"),
        ({"feature_costs": [1, 2]}, "one price for each of the 8 features"),
        ({"feature_groups": [[0, 1], [1, 2]]}, "overlap"),
        ({"max_features": -1}, "max_features must be an integer >= 0"),
        ({"max_cost": -1}, "max_cost must be a number >= 0"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
        ({"class_weight": {9: 1.0}}, "not among the classes"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
    ids=str,
)
def test_wrong_parameters_are_told(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        fit(X, y, **parameters)


def test_infinity_sparse_data_and_one_class_are_refused():
    X, y = make_data()
    model = fit(X, y)
    bad = X.copy()
    bad[3, 3] = np.inf
    for use in (lambda: fit(bad, y), lambda: model.predict(bad), lambda: model.acquire(bad)):
        with pytest.raises(ValueError, match="contains infinity"):
            use()
    with pytest.raises(TypeError, match="toarray"):
        fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        fit(X, np.zeros(240))
    with pytest.raises(ValueError, match="has 7 features"):
        model.acquire(X[:, :7])


def test_a_constant_column_is_no_trouble():
    X, y = make_data()
    X[:, 0] = 3.0
    assert fit(X, y).score(X, y) > 0.6


def test_one_sample_of_a_class_and_duplicates():
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert fit(X, [0, 0, 0, 1, 1, 2]).predict(X).shape == (6,)
