"""What a fitted datum-wise classifier must be like: its process, and its policy."""

import numpy as np

from tamis.models._checking import (
    array,
    choice,
    in_rows,
    integer,
    names,
    number,
    ordered,
    places,
    record,
    require,
)

__all__ = ["ATTRIBUTES", "ATTRIBUTES_CV", "check_datumwise"]

ATTRIBUTES = (
    "mean_n_features_",
    "mean_cost_",
    "risk_",
    "feature_importances_",
    "process_",
    "policy_",
)
_OF_LEVEL = (*ATTRIBUTES, "cost_weight_", "temperature_", "best_score_", "stability_")
ATTRIBUTES_CV = (*_OF_LEVEL, "path_", "_fold_scores", "_levels")
_OF_PATH = ("level", "n_features", "score", "standard_error", "cost")
_LARGEST = 1e100
# Scores of a linear policy stay far below infinity whatever a sample is like.
_LARGEST_SCORE = 1e250
# Which column belongs to which block is a matrix where blocks have several.
_LARGEST_MATRIX = 2**31


def check_datumwise(state, m, C):
    """Check the state of a model of m features and C classes."""
    _check_level(state, "", m, C)
    if "_levels" not in state:
        return
    path = record(state["path_"], "path_", _OF_PATH)
    n_levels = array(path["level"], "path_.level", (None,), low=0.0, high=_LARGEST).size
    require(n_levels > 0, "path_", "of one level at least")
    for name in _OF_PATH[1:]:
        array(path[name], f"path_.{name}", (n_levels,), finite=False, nan=True)
    array(state["_fold_scores"], "_fold_scores", (None, n_levels), finite=False, nan=True)
    levels = ordered(state["_levels"], "_levels")
    require(len(levels) == n_levels, "_levels", f"{n_levels} levels")
    for at, level in enumerate(levels):
        record(level, f"_levels[{at}]", _OF_LEVEL)
        _check_level(level, f"_levels[{at}].", m, C)


def _check_level(state, where, m, C):
    for name in ("mean_n_features_", "mean_cost_", "risk_"):
        number(state[name], f"{where}{name}", finite=False)
    for name in ("cost_weight_", "temperature_", "best_score_"):
        if name in state:
            number(state[name], f"{where}{name}", finite=False)
    importances = array(state["feature_importances_"], f"{where}feature_importances_", (m,))
    require((importances >= 0).all(), f"{where}feature_importances_", "at least 0")
    if "stability_" in state:
        array(state["stability_"], f"{where}stability_", (m,), nan=True)
    process = state["process_"]
    _check_process(process, f"{where}process_", m, C)
    policy, where = state["policy_"], f"{where}policy_"
    kind = type(policy).__name__
    if kind == "ForestPolicy":
        _check_forest_policy(policy, where, process, m, C)
    elif kind == "LinearPolicy":
        _check_linear_policy(policy, where, process, m, C)
    else:
        require(False, where, "a policy")


def _check_process(process, where, m, C):
    require(type(process).__name__ == "Process", where, "a Process")
    costs = array(process.costs, f"{where}.costs", (None,), low=0.0, high=_LARGEST)
    n_blocks = costs.size
    require(1 <= n_blocks <= m, f"{where}.costs", "a cost for every block")
    require(n_blocks == m or n_blocks * m <= _LARGEST_MATRIX, f"{where}.costs", "fewer blocks")
    places(process.block_of, f"{where}.block_of", n_blocks, m)
    used = np.bincount(process.block_of, minlength=n_blocks)
    require(used.all(), f"{where}.block_of", "without empty blocks")
    number(process.cost_weight, f"{where}.cost_weight", 0.0, _LARGEST)
    array(process.class_losses, f"{where}.class_losses", (C,), above=0.0)
    integer(process.max_blocks, f"{where}.max_blocks", 0, n_blocks)
    _check_budget(process.max_cost, f"{where}.max_cost")
    names(process.names, f"{where}.names", n_blocks)
    require(len(set(process.names)) == n_blocks, f"{where}.names", "different from each other")


def _check_budget(value, where):
    number(value, where, finite=False)
    require(value >= 0, where, "at least 0")


def _check_candidates(policy, where, process, m):
    """The blocks and columns that a policy knows, and their costs."""
    n_blocks = process.costs.size
    blocks = places(policy.blocks, f"{where}.blocks", n_blocks, ascending=True)
    own = np.flatnonzero(np.isin(process.block_of, blocks))
    columns = places(policy.columns, f"{where}.columns", m)
    require(np.array_equal(columns, own), f"{where}.columns", "those of its blocks")
    array(policy.costs, f"{where}.costs", (blocks.size,), low=0.0, high=_LARGEST)
    number(policy.temperature, f"{where}.temperature", above=0.0)
    return blocks.size, columns.size


def _check_linear_policy(policy, where, process, m, C):
    P, n_columns = _check_candidates(policy, where, process, m)
    block_of = places(policy.block_of, f"{where}.block_of", P, n_columns)
    own = np.searchsorted(policy.blocks, process.block_of[policy.columns])
    require(np.array_equal(block_of, own), f"{where}.block_of", "that of the process")
    bounds = {"low": -_LARGEST_SCORE, "high": _LARGEST_SCORE}
    array(policy.bias, f"{where}.bias", (C + P,))
    for name in ("for_known", "for_value"):
        values = array(getattr(policy, name), f"{where}.{name}", (n_columns, C + P), **bounds)
        in_rows(values, f"{where}.{name}")
    scaling = array(policy.scaling, f"{where}.scaling", (3, n_columns))
    in_rows(scaling, f"{where}.scaling")
    require((scaling[1] > 0).all(), f"{where}.scaling", "positive in its second row")
    integer(policy.max_blocks, f"{where}.max_blocks", 0, P)
    _check_budget(policy.max_cost, f"{where}.max_cost")
    chain = places(policy.chain, f"{where}.chain", P, unique=True)
    require(chain.size <= policy.max_blocks, f"{where}.chain", "within max_blocks")
    array(policy.chain_scores, f"{where}.chain_scores", (chain.size,))
    for name in ("risk", "loss", "cost"):
        number(getattr(policy, name), f"{where}.{name}", finite=False)
    array(policy.history, f"{where}.history", (None,), finite=False, nan=True)


def _check_forest_policy(policy, where, process, m, C):
    P, n_columns = _check_candidates(policy, where, process, m)
    array(policy.class_losses, f"{where}.class_losses", (C,), above=0.0)
    number(policy.cost_weight, f"{where}.cost_weight", 0.0, _LARGEST)
    stages = ordered(policy.stages, f"{where}.stages")
    for s, stage in enumerate(stages):
        require(type(stage).__name__ == "Stage", f"{where}.stages[{s}]", "a Stage")
        places(stage.blocks, f"{where}.stages[{s}].blocks", P, ascending=True)
    require(stages[0].blocks.size == 0, f"{where}.stages[0]", "the empty set")
    for s, stage in enumerate(stages):
        own = f"{where}.stages[{s}]"
        _check_set_forest(stage.forest, f"{own}.forest", n_columns, C)
        _check_moves(stage, own, s, stages, P)
        _check_rule(stage, own)


def _check_moves(stage, where, s, stages, P):
    n_moves = array(stage.targets, f"{where}.targets", (None,), "int64").size
    places(stage.targets, f"{where}.targets", len(stages))
    # Forward, so that a walk ends; and each move buys what its target has more, so that nothing
    # is bought twice.
    require((stage.targets > s).all(), f"{where}.targets", "later stages")
    is_list = type(stage.new) is list and len(stage.new) == n_moves
    require(is_list, f"{where}.new", "a list for every move")
    known = set(stage.blocks.tolist())
    for target, new in zip(stage.targets.tolist(), stage.new, strict=True):
        places(new, f"{where}.new", P, unique=True)
        reached = set(stages[target].blocks.tolist())
        bought = set(new.tolist())
        is_new = bool(bought) and not known & bought and known | bought == reached
        require(is_new, f"{where}.new", "the blocks that its target has more")
    array(stage.means, f"{where}.means", (n_moves,), finite=False)


def _check_rule(stage, where):
    rule, n_moves = stage.rule, stage.targets.size
    require(type(rule).__name__ == "Rule", f"{where}.rule", "a Rule")
    kind = choice(rule.kind, f"{where}.rule.kind", ("stop", "go", "threshold", "local"))
    number(rule.at, f"{where}.rule.at", finite=False)
    integer(rule.move, f"{where}.rule.move", -1)
    if n_moves and kind in ("go", "threshold"):
        integer(rule.move, f"{where}.rule.move", 0, n_moves - 1)
    if stage.table is None:
        require(stage.row_of is None, f"{where}.row_of", "null where there is no table")
        return
    forest = stage.forest.forest
    require(forest is not None, f"{where}.table", "null where there is no forest")
    table = array(stage.table, f"{where}.table", (None, n_moves), "float32", finite=False)
    in_rows(table, f"{where}.table")
    require(table.shape[0] > 0, f"{where}.table", "one row at least")
    n_nodes = forest.feature.size
    array(stage.row_of, f"{where}.row_of", (n_nodes,), "int32", low=-1, high=table.shape[0] - 1)


def _check_set_forest(own, where, n_columns, C):
    require(type(own).__name__ == "SetForest", where, "a SetForest")
    array(own.prior, f"{where}.prior", (C,), low=0.0, high=1.0 + 1e-9)
    number(own.temperature, f"{where}.temperature", above=0.0)
    integer(own.coarse, f"{where}.coarse", 2, 2**31)
    if own.forest is not None:
        _check_forest(own.forest, f"{where}.forest", n_columns, C)


def _check_forest(forest, where, n_columns, C):
    require(type(forest).__name__ == "Forest", where, "a Forest")
    nodes = array(forest.nodes, f"{where}.nodes", (None, 4), "int32", low=-1)
    in_rows(nodes, f"{where}.nodes")
    n_nodes = nodes.shape[0]
    feature, left, sizes, missing_left = nodes.T
    require((feature < n_columns).all(), f"{where}.nodes", f"of {n_columns} columns")
    fits = (sizes >= 0).all() and np.isin(missing_left, (0, 1)).all()
    require(fits, f"{where}.nodes", "with sizes and sides")
    offsets = array(forest.offsets, f"{where}.offsets", (None,), "int64")
    fits = offsets.size > 1 and offsets[0] == 0 and offsets[-1] == n_nodes
    require(fits and (np.diff(offsets) > 0).all(), f"{where}.offsets", "where trees begin")
    array(forest.threshold, f"{where}.threshold", (n_nodes,), finite=False)
    # Children come after their parent, in the same tree: a way down ends.
    inner = np.flatnonzero(feature >= 0)
    end = np.repeat(offsets[1:], np.diff(offsets))[inner]
    onward = (left[inner] > inner) & (left[inner].astype(np.int64) + 1 < end)
    require(onward.all(), f"{where}.nodes", "with later nodes of the same tree as children")
    shares = array(forest.shares, f"{where}.shares", (n_nodes, C), "float32", low=0.0, high=1.001)
    in_rows(shares, f"{where}.shares")
