import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise.candidates import choose_candidates, find_scaling, standardize
from tamis.datumwise.costs import paid
from tamis.datumwise.linear import learn_linear_path
from tamis.datumwise.process import Process, find_status


def make_process(n_features, cost_weight=0.01, **kwargs):
    parameters = {
        "block_of": np.arange(n_features),
        "costs": np.ones(n_features),
        "class_losses": np.ones(2),
        "max_blocks": n_features,
        "max_cost": np.inf,
        "names": np.array([f"x{j}" for j in range(n_features)], dtype=object),
        **kwargs,
    }
    return Process(cost_weight=cost_weight, **parameters)


def learn(X, y, process, weights=None, **kwargs):
    kwargs = {"n_states": 600, "n_iterations": 6, "random_state": 0, **kwargs}
    weights = [process.cost_weight] if weights is None else weights
    return learn_linear_path(X, y, process, weights, **kwargs)[0]


def run(policy, X, process):
    return policy.run(X, find_status(process.block_of, process.n_blocks, X))


def make_clear(rng, n_samples=300):
    """The class is feature 2, -1 or 1, which linear scores can say; the others are noise."""
    X = rng.normal(size=(n_samples, 6))
    X[:, 2] = np.sign(X[:, 2])
    return X, (X[:, 2] > 0).astype(np.int64)


def test_one_question_where_one_feature_tells_all():
    X, y = make_clear(np.random.default_rng(0))
    process = make_process(6, 0.05)
    (policy,) = learn(X, y, process)
    result = run(policy, X, process)
    assert_array_equal(result.order, np.full((300, 1), 2))
    assert_array_equal(result.decisions.argmax(axis=1), y)


def test_no_question_where_questions_cost_more_than_errors():
    X, y = make_clear(np.random.default_rng(0))
    process = make_process(6, 2.0)
    (policy,) = learn(X, y, process)
    assert run(policy, X, process).order.shape[1] == 0
    assert policy.risk == pytest.approx(min(y.mean(), 1 - y.mean()))


def test_the_cheaper_of_two_equal_features_is_asked_for():
    X, y = make_clear(np.random.default_rng(1))
    X[:, 4] = X[:, 2]
    process = make_process(6, 0.02, costs=np.array([1.0, 1, 3, 1, 1, 1]))
    (policy,) = learn(X, y, process)
    assert_array_equal(run(policy, X, process).order[:, 0], np.full(300, 4))


def test_a_sample_that_lacks_the_best_feature_is_asked_for_another():
    rng = np.random.default_rng(2)
    X, y = make_clear(rng)
    X[:, 4] = X[:, 2] + 0.1 * rng.normal(size=300)
    X[rng.random(300) < 0.3, 2] = np.nan
    process = make_process(6, 0.05)
    (policy,) = learn(X, y, process)
    result = run(policy, X, process)
    lacking = np.isnan(X[:, 2])
    assert not (result.order[lacking] == 2).any()
    assert (result.decisions.argmax(axis=1) == y).mean() > 0.9


def test_a_fixed_order_is_the_same_for_all_samples():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 8))
    y = (X[:, :4].sum(axis=1) > 0).astype(np.int64)
    process = make_process(8, 0.005)
    (policy,) = learn(X, y, process, order="fixed")
    order = run(policy, X, process).order
    longest = order[(order >= 0).sum(axis=1).argmax()]
    assert len(np.unique((order >= 0).sum(axis=1))) > 1
    assert ((order == longest) | (order < 0)).all()


def test_a_path_goes_from_few_questions_to_many_and_its_risks_are_true():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 8))
    y = (X[:, :4].sum(axis=1) > 0).astype(np.int64)
    process = make_process(8)
    weights = [0.5, 0.05, 0.01, 0.001]
    policies = learn(X, y, process, weights)
    costs = []
    for weight, policy in zip(weights, policies, strict=True):
        result = run(policy, X, process)
        costs.append(paid(result.order, process.costs).mean())
        wrong = (result.decisions.argmax(axis=1) != y).mean()
        assert policy.risk == pytest.approx(wrong + weight * costs[-1])
        assert policy.risk <= min(policy.history) + 1e-12
    assert costs == sorted(costs)
    assert costs[0] == 0
    assert costs[-1] > 2


def test_groups_are_charged_once():
    X, y = make_clear(np.random.default_rng(5))
    process = make_process(
        6,
        0.02,
        block_of=np.array([0, 1, 1, 1, 0, 2]),
        costs=np.array([1.0, 2.5, 1.0]),
        names=np.array(["a", "b", "c"], dtype=object),
        max_blocks=3,
    )
    (policy,) = learn(X, y, process)
    result = run(policy, X, process)
    assert_array_equal(result.order, np.full((300, 1), 1))
    assert_array_equal(paid(result.order, process.costs), np.full(300, 2.5))


def test_equal_seeds_give_equal_policies():
    X, y = make_clear(np.random.default_rng(6))
    one, two = (learn(X, y, make_process(6))[0] for _ in range(2))
    assert_array_equal(one.for_value, two.for_value)
    assert one.temperature == two.temperature


def test_a_policy_keeps_no_training_rows():
    X, y = make_clear(np.random.default_rng(7), 500)
    (policy,) = learn(X, y, make_process(6))
    assert all(500 not in np.shape(value) for value in vars(policy).values())


def test_stopping_early_leaves_the_levels_so_far():
    X, y = make_clear(np.random.default_rng(8))
    process = make_process(6)
    policies = learn(X, y, process, [0.1, 0.01, 0.001], steps=lambda names: iter(names[:8]))
    assert len(policies) == 2
    assert len(policies[0].history) == 6
    assert len(policies[1].history) == 2


def test_only_candidates_are_asked_for_and_the_useful_feature_is_one():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, 60))
    X[:, 33] = np.sign(X[:, 33])
    y = (X[:, 33] > 0).astype(np.int64)
    process = make_process(60, 0.05)
    (policy,) = learn(X, y, process, n_candidates=5)
    assert policy.blocks.size == 5
    assert_array_equal(run(policy, X, process).order, np.full((200, 1), 33))


def test_candidates_take_features_that_are_good_only_beside_others():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(500, 40))
    noise = 5 * rng.normal(size=500)
    y = (X[:, 7] > 0).astype(np.int64)
    X[:, 7] += noise
    X[:, 20] = noise  # says nothing of the class by itself
    X[:, 3] = np.nan
    chosen = choose_candidates(X, y, make_process(40), 4)
    assert {7, 20} <= set(chosen.tolist())
    assert 3 not in choose_candidates(X, y, make_process(40), 39)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e300, 1e308])
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_scaling_survives_offsets_and_units(offset, unit):
    rng = np.random.default_rng(11)
    X = offset + unit * rng.normal(size=(50, 3))
    X[:, 1] = offset
    X[::3, 2] = np.nan
    Z = standardize(X, find_scaling(X))
    assert np.isfinite(Z).all()
    assert_allclose(Z[:, 1], 0.0)
    spread = np.nanmax(X[:, 0]) - np.nanmin(X[:, 0])
    assert_allclose(Z[:, 0].std(), 1.0 if spread > 0 else 0.0, rtol=1e-6)
    assert_allclose(Z[:, 0].mean(), 0.0, atol=1e-6)
