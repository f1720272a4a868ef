import pickle
from fractions import Fraction
from itertools import permutations

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification

from tamis import DatumWiseClassifier
from tamis.models import save_model
from tamis.models.saving import read_model

LEARNERS = {
    "linear": {"learner": "linear", "n_states": 400, "n_iterations": 4, "random_state": 0},
    "forest": {"learner": "forest", "n_trees": 10, "n_sets": 12, "random_state": 0},
}


def make_data(n_classes=3, missing=0.0, seed=0):
    X, y = make_classification(
        240, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    return X, y


# The paper's learner is not the default: its half of these tests is slow.
@pytest.fixture(params=["forest", pytest.param("linear", marks=pytest.mark.slow)])
def small(request):
    return DatumWiseClassifier(**LEARNERS[request.param])


@pytest.fixture
def fit(small):
    return lambda X, y, **kwargs: clone(small).set_params(**kwargs).fit(X, y)


def test_acquire_says_what_predict_says_and_what_it_cost(fit):
    X, y = make_data(missing=0.1)
    costs = np.linspace(0.5, 2.0, 8)
    model = fit(X, y, feature_costs=costs, class_weight=None)
    acquired = model.acquire(X)
    assert_array_equal(acquired.labels, model.predict(X))
    assert_array_equal(acquired.probabilities, model.predict_proba(X))
    assert_allclose(acquired.cost, acquired.mask @ costs)
    assert_array_equal(acquired.n_questions, acquired.mask.sum(axis=1))
    assert not (acquired.mask & np.isnan(X)).any()
    assert model.mean_cost_ == pytest.approx(acquired.cost.mean())
    assert model.mean_n_features_ == pytest.approx(acquired.n_questions.mean())
    loss = np.mean(acquired.labels != y)
    assert model.risk_ == pytest.approx(loss + 0.01 * acquired.cost.mean())


def test_values_that_were_not_bought_do_not_matter(fit):
    X, y = make_data()
    model = fit(X, y, cost_weight=0.03)
    acquired = model.acquire(X)
    other = np.where(acquired.mask, X, 1e3)
    assert not acquired.mask.all()
    assert_array_equal(model.predict_proba(other), acquired.probabilities)


@pytest.mark.parametrize("order", ["free", "fixed"])
def test_budgets_bind(fit, order):
    X, y = make_data(missing=0.05)
    three = fit(X, y, cost_weight=0.0, max_features=3, order=order).acquire(X)
    assert three.n_questions.max() == 3
    costs = np.arange(1.0, 9.0)
    cheap = fit(X, y, cost_weight=0.0, max_cost=7, feature_costs=costs, order=order).acquire(X)
    assert 0 < cheap.cost.max() <= 7


def make_sums(n_features=3):
    """Every feature is needed: the class is the sign of their sum."""
    X = np.random.default_rng(0).normal(size=(300, n_features))
    return X, (X.sum(axis=1) > 0).astype(int)


@pytest.mark.parametrize("order", ["free", "fixed"])
@pytest.mark.parametrize("costs", list(permutations([0.1, 0.2, 0.3])))
def test_three_costs_use_their_sum_up_in_every_order(fit, costs, order):
    X, y = make_sums()
    settings = {"cost_weight": 0.0, "feature_costs": costs, "order": order}
    acquired = fit(X, y, max_cost=0.6, **settings).acquire(X)
    assert acquired.n_questions.max() == 3
    assert acquired.cost.max() == 0.6
    less = fit(X, y, max_cost=np.nextafter(0.6, 0.0), **settings).acquire(X)
    assert less.n_questions.max() == 2
    assert set(less.cost) <= {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}


def test_seven_tenths_are_seven_questions_of_a_tenth(fit):
    X, y = make_sums(9)
    model = fit(X, y, cost_weight=0.0, feature_costs=np.full(9, 0.1), max_cost=0.7)
    acquired = model.acquire(X)
    assert acquired.n_questions.max() == 7
    assert acquired.cost.max() == 0.7
    questions = model.explain(X)
    assert set(questions.cost[~np.isnan(questions.cost)]) <= {n / 10 for n in range(8)}
    single = model.set_params(feature_costs=np.full(9, 0.1, dtype=np.float32))
    short = clone(single).set_params(max_cost=np.float32(0.7)).fit(X, y).acquire(X)
    assert_array_equal(short.cost, acquired.cost)


def test_costs_of_the_training_rows_do_not_depend_on_their_order(fit):
    X, y = make_data()
    model = fit(X, y, feature_costs=np.arange(1, 9) / 10, cost_weight=0.001)
    cost = model.acquire(X).cost
    total = sum(Fraction(repr(value)) for value in cost.tolist())
    assert model.mean_cost_ == float(total / len(X))


def test_budgets_of_saved_policies_are_kept_exactly(fit, tmp_path):
    X, y = make_sums()
    model = fit(X, y, cost_weight=0.0, feature_costs=[0.3, 0.2, 0.1], max_cost=0.6)
    save_model(model, tmp_path / "model.json")
    again = read_model(tmp_path / "model.json").acquire(X)
    assert again.cost.max() == 0.6
    assert_array_equal(again.order, model.acquire(X).order)


@pytest.mark.parametrize("budget", [{"max_features": 0}, {"max_cost": 0}, {"max_cost": 0.5}])
def test_without_a_budget_the_prior_is_predicted(fit, budget):
    X, y = make_data(n_classes=2)
    y[:40] = 1
    model = fit(X, y, **budget, class_weight=None)
    acquired = model.acquire(X)
    assert acquired.order.shape == (240, 0)
    assert acquired.cost.sum() == 0
    assert set(acquired.labels) == {np.bincount(y).argmax()}
    assert_allclose(acquired.probabilities[0, 1], y.mean(), atol=1e-3)


@pytest.mark.parametrize("budget", [{"max_features": 0}, {"max_cost": 0}])
def test_what_is_known_for_free_counts_without_a_budget_with_linear_scores(budget):
    X, y = make_data(n_classes=2)
    model = DatumWiseClassifier(**LEARNERS["linear"], **budget).fit(X, y)
    known = model.acquire(X, known=np.ones(8, dtype=bool))
    assert np.mean(known.labels == y) > 0.8


def test_free_features_may_be_had_on_a_budget_of_zero(fit):
    X, y = make_data(n_classes=2)
    costs = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])
    acquired = fit(X, y, max_cost=0, feature_costs=costs).acquire(X)
    assert acquired.cost.max() == 0
    assert acquired.n_questions.max() > 0
    assert not acquired.mask[:, ::2].any()


def test_groups_are_bought_as_a_whole_and_charged_once(fit):
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


def test_known_values_are_free_and_used(fit):
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
def test_wrong_known_is_told(fit, known):
    X, y = make_data()
    with pytest.raises(ValueError, match="known must be True or False for every value"):
        fit(X, y).acquire(X, known=known)


def test_part_of_a_group_cannot_be_known(fit):
    X, y = make_data()
    model = fit(X, y, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3])
    with pytest.raises(ValueError, match="A group is bought as a whole"):
        model.acquire(X, known=np.arange(8) == 0)


def test_nan_everywhere_still_gives_an_answer(fit):
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
def test_huge_offsets_and_units_change_nothing(fit, missing):
    X, y = make_data(missing=missing)
    X = np.round(X * 1024) / 1024  # so that offsets and powers of two are exact
    model = fit(X, y)
    moved = fit(X * 4096.0 + 2.0**30, y)
    assert_array_equal(moved.acquire(X * 4096.0 + 2.0**30).order, model.acquire(X).order)
    assert_allclose(moved.predict_proba(X * 4096.0 + 2.0**30), model.predict_proba(X), rtol=1e-6)


def test_values_far_from_all_seen_ones_give_finite_answers(fit):
    X, y = make_data()
    model = fit(X, y, cost_weight=0.0)
    for size in (1e30, 1e300, -1e308):
        assert np.isfinite(model.predict_proba(np.full((2, 8), size))).all()


def test_float32_gives_what_the_same_numbers_in_float64_give(fit):
    X, y = make_data(missing=0.1)
    X = X.astype(np.float32)
    single, double = fit(X, y), fit(X.astype(np.float64), y)
    assert_array_equal(single.predict_proba(X), double.predict_proba(X))


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(small):
    X, y = make_classification(3000, 30, n_informative=10, random_state=0)
    before = numba.get_num_threads()
    answers = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        answers.append(clone(small).fit(X, y).predict_proba(X))
    numba.set_num_threads(before)
    assert_array_equal(*answers)


def test_pickle_keeps_everything(fit):
    X, y = make_data(missing=0.1)
    model = fit(
        pd.DataFrame(X, columns=list("abcdefgh")), y, feature_groups=[0, 0, 1, 1, 2, 2, 3, 3]
    )
    again = pickle.loads(pickle.dumps(model))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.start().next_feature() == model.start().next_feature()


def test_explain_has_names_and_running_probabilities(fit):
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
    # Three classes: what the answers change adds up to the decision.
    assert_allclose(
        questions.base + questions.values.sum(axis=1), model.decision_function(frame), atol=1e-9
    )
    # The first entry is the decision with nothing known: the same for all.
    assert len(np.unique(questions.probabilities[:, 0], axis=0)) == 1


def test_class_weight_moves_the_errors(fit):
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
def test_many_classes(fit, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(330) % n_classes
    X = rng.normal(size=(330, 5))
    X[:, 1] += 8.0 * np.cos(2 * np.pi * y / n_classes)
    X[:, 3] += 8.0 * np.sin(2 * np.pi * y / n_classes)
    model = fit(X, y, cost_weight=0.001)
    assert model.predict_proba(X).shape == (330, n_classes)
    assert model.score(X, y) > 0.6


def test_fit_path_gives_fitted_classifiers_from_few_questions_to_many(small):
    X, y = make_data()
    path = clone(small).set_params(class_weight=None).fit_path(X, y, [0.001, 0.3, 0.03])
    models = [path.model(level) for level in range(len(path))]
    assert [one.cost_weight for one in models] == [0.3, 0.03, 0.001] == path.levels.tolist()
    assert not hasattr(small, "policy_")
    sizes = [one.mean_n_features_ for one in models]
    assert sizes == sorted(sizes)
    for one in models:
        acquired = one.acquire(X)
        loss = np.mean(acquired.labels != y)
        assert one.risk_ == pytest.approx(loss + one.cost_weight * acquired.cost.mean())
        assert one.process_.cost_weight == one.cost_weight
        assert clone(one).cost_weight == one.cost_weight


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learner": "boosted"}, "learner must be one of 'forest', 'linear'"),
        ({"learner": 3}, "learner must be one of"),
        ({"order": "random"}, "order must be 'free' or 'fixed', got 'random'"),
        ({"cost_weight": -1}, "cost_weight must be a finite number >= 0, got -1"),
        ({"n_candidates": True}, "n_candidates must be an integer >= 1"),
        ({"feature_costs": [1, 2]}, "one cost for each of the 8 features"),
        ({"feature_groups": [[0, 1], [1, 2]]}, "overlap"),
        ({"max_features": -1}, "max_features must be an integer >= 0"),
        ({"max_cost": -1}, "max_cost must be a number >= 0"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict"),
        ({"class_weight": {9: 1.0}}, "not among the classes"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
    ids=str,
)
def test_wrong_parameters_are_told(fit, parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        fit(X, y, **parameters)


@pytest.mark.parametrize(
    ("learner", "parameters", "message"),
    [
        ("linear", {"n_states": 0}, "n_states must be an integer >= 1"),
        ("linear", {"n_iterations": 2.5}, "n_iterations must be an integer >= 1"),
        ("linear", {"mixture": 1.5}, "mixture must be a number from 0 to 1"),
        ("linear", {"n_trees": 10}, "n_trees=10 is for learner='forest', and learner is 'linear'"),
        ("linear", {"n_sets": 10}, "n_sets=10 is for learner='forest'"),
        (
            "forest",
            {"n_states": 10},
            "n_states=10 is for learner='linear', and learner is 'forest'",
        ),
        ("forest", {"mixture": 0.5}, "mixture=0.5 is for learner='linear'"),
        ("forest", {"n_trees": 0}, "n_trees must be an integer >= 1"),
        ("forest", {"n_sets": 2.5}, "n_sets must be an integer >= 1"),
    ],
    ids=str,
)
def test_wrong_parameters_of_a_learner_are_told(learner, parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        DatumWiseClassifier(**{**LEARNERS[learner], **parameters}).fit(X, y)


def test_infinity_sparse_data_and_one_class_are_refused(fit):
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


def test_a_constant_column_is_no_trouble(fit):
    X, y = make_data()
    X[:, 0] = 3.0
    assert fit(X, y).score(X, y) > 0.6


def test_one_sample_of_a_class_and_duplicates(fit):
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert fit(X, [0, 0, 0, 1, 1, 2]).predict(X).shape == (6,)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_fixed_order_is_one_order_from_which_samples_leave_out_what_they_lack(missing):
    X, y = make_data(missing=missing)
    model = DatumWiseClassifier(**LEARNERS["forest"], order="fixed", cost_weight=0.002).fit(X, y)
    order = model.acquire(make_data()[0]).order
    longest = order[(order >= 0).sum(axis=1).argmax()].tolist()
    assert len(longest) > 1
    X = make_data(missing=0.3, seed=1)[0]
    for x, own in zip(X, model.acquire(X).order, strict=True):
        possible = [j for j in longest if not np.isnan(x[j])]
        own = [j for j in own.tolist() if j >= 0]
        # What nobody was asked without missing values may come after the others.
        assert own[: len(possible)] == possible[: len(own)]


@pytest.mark.parametrize("random_state", [None, 3, np.random.RandomState(3), np.int64(3)])
def test_any_seed_will_do_and_equal_ones_give_equal_models(fit, random_state):
    X, y = make_data()
    assert fit(X, y, random_state=random_state).score(X, y) > 0.5
    one, two = (fit(X, y, random_state=np.random.RandomState(3)) for _ in range(2))
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0]], [0, 1]),
        ([[0.0, 5.0], [1.0, 5.0]], ["b", "a"]),
        ([[0.0], [1.0], [2.0]], [0, 1, 2]),
        ([[0.0], [0.0]], [0, 1]),
        ([[np.nan], [1.0]], [0, 1]),
    ],
    ids=str,
)
def test_two_or_three_rows_are_enough(fit, X, y):
    probabilities = fit(X, y).predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1.0)


def test_costs_from_nothing_to_huge_and_cost_weights_too(fit):
    X, y = make_data()
    costs = [1e-6, 1e6, 0.0, 1.0, 1e-6, 1e6, 0.0, 1.0]
    acquired = fit(X, y, feature_costs=costs).acquire(X)
    assert not acquired.mask[:, [1, 5]].any()
    assert fit(X, y, cost_weight=1e6).acquire(X).order.shape[1] == 0
    assert fit(X, y, cost_weight=0).score(X, y) > 0.6


@pytest.mark.parametrize("weight", [{0: 1e6}, {0: 1e-6}, {0: 1e9, 1: 1e-9}])
def test_extreme_class_weights_give_finite_answers(fit, weight):
    X, y = make_data()
    model = fit(X, y, class_weight=weight)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.risk_)
    heaviest = max({0: 1.0, 1: 1.0, 2: 1.0, **weight}.items(), key=lambda pair: pair[1])[0]
    own = y == heaviest
    assert np.mean(model.predict(X)[own] == heaviest) > 0.6


def test_columns_without_values_with_one_value_and_twins(fit):
    X, y = make_data()
    X[:, 1] = np.nan
    X[1:, 2] = np.nan
    X = np.hstack([X, X])
    model = fit(X, y)
    assert model.score(X, y) > 0.6
    assert not model.acquire(np.nan_to_num(X)).mask[:, [1, 9]].any()


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_a_callback_that_stops_early_leaves_a_classifier(small, n_steps):
    pytest.importorskip("sklearn.callback")
    X, y = make_data()

    class Stop:
        def __init__(self):
            self.n_steps = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.n_steps += 1
            return self.n_steps >= n_steps

    model = clone(small).set_callbacks(Stop()).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_to_questions(fit, frame):
    X, y = make_data()
    table = frame(dict(zip("abcdefgh", X.T, strict=True)))
    model = fit(table, y, feature_costs={**dict.fromkeys("abcdefgh", 1.0), "c": 2.0})
    assert model.start().next_feature() in list("abcdefgh")
    assert_array_equal(
        model.predict_proba(table), fit(X, y, feature_costs=model.process_.costs).predict_proba(X)
    )
