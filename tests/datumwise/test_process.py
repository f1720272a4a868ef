import numpy as np
import pytest

from tamis.datumwise.process import (
    ASK,
    KNOWN,
    choose_cost_weights,
    find_class_losses,
    find_status,
    make_process,
)

NAMES = ["a", "b", "c", "d"]


def build(**kwargs):
    kwargs = {"cost_weight": 0.1, "class_losses": np.ones(2), **kwargs}
    return make_process(NAMES, **kwargs)


def test_by_default_every_feature_costs_one_and_stands_alone():
    process = build()
    assert process.block_of.tolist() == [0, 1, 2, 3]
    assert process.costs.tolist() == [1.0] * 4
    assert process.names.tolist() == NAMES
    assert (process.max_blocks, process.max_cost) == (4, np.inf)


@pytest.mark.parametrize(
    "groups",
    [
        {"one": ["a", "c"], "two": ["b"], "three": "d"},
        {"one": [0, 2], "two": [1], "three": 3},
        {"one": np.array([0, 2]), "two": (1,), "three": np.array(["d"])},
        [["a", "c"], [1], ["d"]],
        ["x", "y", "x", "z"],
        np.array([5, 2, 5, 9]),
        [0, 1, 0, 2],
    ],
    ids=str,
)
def test_groups_in_every_form(groups):
    assert build(feature_groups=groups).block_of.tolist() == [0, 1, 0, 2]


def test_names_of_groups():
    assert build(feature_groups={"p": [0, 1], "q": [2, 3]}).names.tolist() == ["p", "q"]
    assert build(feature_groups=["p", "q", "p", "q"]).names.tolist() == ["p", "q"]
    assert build(feature_groups=[[0, 1], [2, 3]]).names.tolist() == ["group 0", "group 1"]


def test_costs_by_name_and_by_group():
    assert build(feature_costs={"d": 4, "a": 1, "b": 0, "c": 3.0}).costs.tolist() == [1, 0, 3, 4]
    groups = {"p": [0, 1], "q": [2, 3]}
    assert build(feature_groups=groups, feature_costs={"q": 2, "p": 5}).costs.tolist() == [5, 2]
    assert build(feature_groups=groups, feature_costs=[5, 2]).costs.tolist() == [5, 2]
    mixed = np.array([1, 2.5, np.float32(1), np.int8(0)], dtype=object)
    assert build(feature_costs=mixed).costs.tolist() == [1.0, 2.5, 1.0, 0.0]


def test_costs_of_short_floats_are_the_decimals_that_they_print():
    assert build(feature_costs=np.float32([0.1, 0.2, 0.3, 1])).costs.tolist() == [0.1, 0.2, 0.3, 1]
    assert build(max_cost=np.float32(0.7)).max_cost == 0.7


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, -1, 1, 1], "finite numbers >= 0, got -1.0 for the feature 'b'"),
        ([1, np.nan, 1, 1], "got nan for the feature 'b'"),
        ([1, 1, np.inf, 1], "got inf for the feature 'c'"),
        ([1, 1, 1], "one cost for each of the 4 features, got shape"),
        (3.0, "one cost for each of the 4 features, got 3.0"),
        ([[1, 1, 1, 1]], "got shape"),
        ([1, [2], 3, 4], "list of numbers"),
        (["1", "1", "1", "1"], "must be numbers"),
        ([True, False, True, True], "must be numbers"),
        ([None, 1, 1, 1], "must be numbers"),
        ({"a": 1, "b": 1, "c": 1}, "no cost for the feature.s. 'd'"),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, "'e', which is not among the features"),
    ],
    ids=str,
)
def test_wrong_costs_are_told(costs, message):
    with pytest.raises(ValueError, match=message):
        build(feature_costs=costs)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"p": [0, 1], "q": [1, 2, 3]}, "overlap: the feature 'b' is in 'p' and in 'q'"),
        ({"p": [0, 1, 1], "q": [2, 3]}, "'b' twice in 'p'"),
        ({"p": [0, 1], "q": [2]}, r"leave out the feature\(s\) 'd'"),
        ({"p": [0, 1, 2, 3], "q": []}, "no feature in 'q'"),
        ({"p": [0, 1, 2, 4]}, "indices from 0 to 3; got 4"),
        ({"p": [0, 1, 2, -1]}, "got -1"),
        ({"p": [0, 1, 2, True]}, "got True"),
        ({"p": ["a", "b", "c", "z"]}, "'z' in 'p', which is not among the features"),
        ({1: [0, 1], "1": [2, 3]}, "different names"),
        ([[0, 1], 2, 3], "mixture"),
        (["p", "q", "p"], "one label for each of the 4 features, got 3"),
        (["p", "q", "p", None], "missing label"),
        (["p", "q", "p", np.nan], "missing label"),
        ("pqpq", "must be a dict"),
        (3, "must be a dict"),
        ([], "one label for each"),
    ],
    ids=str,
)
def test_wrong_groups_are_told(groups, message):
    with pytest.raises(ValueError, match=message):
        build(feature_groups=groups)


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", np.nan])
def test_wrong_max_features_is_told(value):
    with pytest.raises(ValueError, match="max_features must be an integer >= 0"):
        build(max_features=value)


@pytest.mark.parametrize("value", [-0.1, True, "3", np.nan])
def test_wrong_max_cost_is_told(value):
    with pytest.raises(ValueError, match="max_cost must be a number >= 0"):
        build(max_cost=value)


@pytest.mark.parametrize("value", [-0.1, True, "3", np.nan, np.inf, None])
def test_wrong_cost_weight_is_told(value):
    with pytest.raises(ValueError, match="cost_weight must be a finite number >= 0"):
        build(cost_weight=value)


def test_budgets_of_zero_and_beyond_all():
    assert build(max_features=0).max_blocks == 0
    assert build(max_features=99).max_blocks == 4
    assert build(max_cost=0).max_cost == 0.0
    assert build(max_cost=np.inf).max_cost == np.inf


def choose(value, costs=(1.0, 3.0, 0.0, 2.0)):
    codes = np.array([0, 0, 0, 1])
    losses = np.array([1.0, 2.0])
    process = make_process(NAMES, cost_weight=0.0, class_losses=losses, feature_costs=costs)
    return choose_cost_weights("cost_weights", value, process, codes)


def test_cost_weights_are_sorted_and_different():
    assert choose([0.1, 1, 0.1, 0]) == [1.0, 0.1, 0.0]
    assert choose(np.array([0.1, 1.0])) == [1.0, 0.1]


def test_a_number_of_cost_weights_starts_where_a_feature_is_worth_half_the_loss_of_the_prior():
    # The prior names class 0 and loses 2 in one of 4 rows; features cost 2 on average.
    assert choose(3) == pytest.approx([0.125, 0.125 * 1e-3**0.5, 0.125e-3])
    assert choose(1, costs=np.zeros(4)) == [0.25]


@pytest.mark.parametrize("value", [[], 0.1, None, [-1], [np.nan], ["a"], "ab"])
def test_wrong_cost_weights_are_told(value):
    with pytest.raises(ValueError, match="cost_weights must be"):
        choose(value)


def test_balanced_losses_have_mean_one_over_samples():
    codes = np.array([0, 0, 0, 1])
    losses = find_class_losses("balanced", np.array(["u", "v"]), codes)
    assert losses[codes].mean() == pytest.approx(1.0)
    assert losses[0] * 3 == pytest.approx(losses[1])
    assert find_class_losses({"v": 5}, np.array(["u", "v"]), codes).tolist() == [1.0, 5.0]


def test_known_groups_are_known_as_a_whole():
    X = np.array([[1.0, 2.0, np.nan]])
    block_of = np.array([0, 0, 0])
    assert find_status(block_of, 1, X, np.array([[True, True, False]])).tolist() == [[KNOWN]]
    assert find_status(block_of, 1, X, np.array([[False, False, True]])).tolist() == [[ASK]]
    with pytest.raises(ValueError, match="mark all of its values as known, or none"):
        find_status(block_of, 1, X, np.array([[True, False, False]]))
