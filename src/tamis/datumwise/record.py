"""The records of fitted datum-wise classifiers; docs/model_format.md has the formulas.

`process` says what can be asked for and what it costs, `policy` what is asked for next and how
samples are classified. The forests of a policy are in the list `forests`, and its stages refer to
them by their index: the levels of a path share them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.records import Record, plain
from tamis.datumwise._forest_kernels import FEATURE, LEFT, MISSING_LEFT, SIZE
from tamis.datumwise.evidence import SetForest
from tamis.datumwise.forest import Forest
from tamis.datumwise.forest_policy import ForestPolicy, Stage
from tamis.datumwise.induction import Rule
from tamis.datumwise.linear import LinearPolicy
from tamis.datumwise.process import Process

if TYPE_CHECKING:
    from tamis.datumwise._fitted import FittedDatumWise


_NUMBERS = ("mean_n_features", "mean_cost", "risk")
_OF_LEVEL = ("cost_weight", "temperature", "best_score")
_OF_PATH = ("level", "n_features", "score", "standard_error", "cost")
_OF_LINEAR = (
    *("bias", "for_known", "for_value", "blocks", "columns", "block_of", "scaling", "costs"),
    *("max_blocks", "max_cost", "temperature", "chain", "chain_scores", "risk", "loss", "cost"),
    "history",
)
_LARGEST = 1e100
# Bound that keeps the scores of a linear policy finite for any sample.
_LARGEST_SCORE = 1e250
# Trees with more nodes are written as bytes: nobody reads them, and they are most of a file.
_MOST_NODES = 1024
# The assignment of columns to blocks is a matrix if blocks have several columns.
_LARGEST_MATRIX = 2**31


def write_record(model: FittedDatumWise) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    forests: dict[int, tuple[int, SetForest]] = {}
    record = _write_level(vars(model), forests)
    if hasattr(model, "_levels"):
        record["path"] = {name: plain(column) for name, column in model.path_.items()}
        record["fold_scores"] = plain(model._fold_scores)
        record["levels"] = [_write_level(level, forests) for level in model._levels]
    record["forests"] = [_write_forest(forest) for _, forest in forests.values()]
    return record


def _write_level(state, forests):
    process, policy = state["process_"], state["policy_"]
    record = {
        "process": {
            "names": process.names.tolist(),
            **{name: plain(value) for name, value in vars(process).items() if name != "names"},
        },
        "policy": _write_policy(policy, forests),
        "importances": plain(state["feature_importances_"]),
        **{name: plain(state[f"{name}_"]) for name in _NUMBERS},
    }
    if "stability_" in state:
        record |= {name: plain(state[f"{name}_"]) for name in _OF_LEVEL}
        record["stability"] = plain(state["stability_"])
    return record


def _write_policy(policy, forests):
    if isinstance(policy, LinearPolicy):
        return {"kind": "linear", **{name: plain(getattr(policy, name)) for name in _OF_LINEAR}}
    names = ("blocks", "columns", "costs", "class_losses", "cost_weight", "temperature")
    return {
        "kind": "forest",
        **{name: plain(getattr(policy, name)) for name in names},
        "stages": [
            {
                "blocks": plain(stage.blocks),
                "forest": forests.setdefault(id(stage.forest), (len(forests), stage.forest))[0],
                "rule": {
                    "kind": stage.rule.kind,
                    "move": int(stage.rule.move),
                    "at": plain(stage.rule.at),
                },
                "targets": plain(stage.targets),
                "new": [plain(new) for new in stage.new],
                "means": plain(stage.means),
                "row_of": plain(stage.row_of, _MOST_NODES, compact=True),
                "table": plain(stage.table, _MOST_NODES, compact=True),
            }
            for stage in policy.stages
        ],
    }


def _write_forest(one):
    record = {
        "prior": plain(one.prior),
        "temperature": plain(one.temperature),
        "coarse": int(one.coarse),
        "trees": None,
    }
    if one.forest is not None:
        forest = one.forest
        columns = {
            "offsets": forest.offsets,
            "feature": forest.feature,
            "first_child": forest.left,
            "n_rows": forest.sizes,
            "missing_first": forest.nodes[:, MISSING_LEFT],
            "threshold": forest.threshold,
            "shares": forest.shares,
        }
        record["trees"] = {
            name: plain(one, _MOST_NODES, compact=True) for name, one in columns.items()
        }
    return record


def read_record(model: FittedDatumWise, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    C = model.classes_.size
    forests = []
    if record.peek("forests") != []:
        forests = [_read_forest(part, C) for part in record.parts("forests")]
    else:
        record.take("forests")
    is_cv = "rule" in model._get_param_names()
    _read_level(vars(model), record, forests, model.n_features_in_, C, is_cv)
    if not is_cv:
        return
    model.path_ = record.table("path", _OF_PATH)
    levels = model.path_["level"]
    known = levels.dtype.kind == "f" and (levels >= 0).all() and (levels <= _LARGEST).all()
    record.require(known, "path", "of cost weights")
    shape = (None, levels.size)
    model._fold_scores = record.numbers("fold_scores", shape, finite=False, nan=True)
    parts = record.parts("levels")
    record.require(len(parts) == levels.size, "levels", f"{levels.size} levels")
    model._levels = []
    for part in parts:
        state: dict[str, Any] = {}
        _read_level(state, part, forests, model.n_features_in_, C, True)
        part.finish()
        model._levels.append(state)


def _read_level(state, record, forests, m, C, is_cv):
    process = state["process_"] = _read_process(record.part("process"), m, C)
    policy = record.part("policy")
    if policy.choice("kind", ("forest", "linear")) == "linear":
        state["policy_"] = _read_linear(policy, process, m, C)
    else:
        state["policy_"] = _read_stages(policy, process, forests, m, C)
    policy.finish()
    state["feature_importances_"] = record.numbers("importances", (m,), low=0.0)
    for name in _NUMBERS:
        state[f"{name}_"] = record.number(name, finite=False)
    if is_cv:
        for name in _OF_LEVEL:
            state[f"{name}_"] = record.number(name, finite=False)
        for name, expected in (
            ("temperature", state["policy_"].temperature),
            ("cost_weight", process.cost_weight),
        ):
            same = state[f"{name}_"] == expected
            record.require(same, name, "that of the policy and its process")
        state["stability_"] = record.numbers("stability", (m,), nan=True)


def _read_process(record, m, C):
    costs = record.numbers("costs", (None,), low=0.0, high=_LARGEST)
    n = costs.size
    record.require(1 <= n <= m, "costs", "one cost per block")
    record.require(n == m or n * m <= _LARGEST_MATRIX, "costs", "fewer blocks")
    block_of = record.indices("block_of", n, m)
    used = np.bincount(block_of, minlength=n)
    record.require(used.all(), "block_of", "without empty blocks")
    process = Process(
        block_of=block_of,
        costs=costs,
        cost_weight=record.number("cost_weight", 0.0, _LARGEST),
        class_losses=record.numbers("class_losses", (C,), above=0.0),
        max_blocks=record.integer("max_blocks", 0, n),
        max_cost=_read_budget(record),
        names=np.array(record.strings("names", n), dtype=object),
    )
    record.finish()
    return process


def _read_budget(record):
    value = record.number("max_cost", finite=False)
    record.require(value >= 0, "max_cost", "at least 0")
    return value


def _read_candidates(record, process, m):
    """The blocks and columns that a policy knows, and their costs."""
    blocks = record.indices("blocks", process.costs.size, ascending=True)
    columns = record.indices("columns", m)
    expected = np.flatnonzero(np.isin(process.block_of, blocks))
    record.require(np.array_equal(columns, expected), "columns", "those of its blocks")
    costs = record.numbers("costs", (blocks.size,), low=0.0, high=_LARGEST)
    same = np.array_equal(costs, process.costs[blocks])
    record.require(same, "costs", "those of the process")
    temperature = record.number("temperature", above=0.0)
    return {"blocks": blocks, "columns": columns, "costs": costs, "temperature": temperature}


def _read_linear(record, process, m, C):
    known = _read_candidates(record, process, m)
    P, n = known["blocks"].size, known["columns"].size
    block_of = record.indices("block_of", P, n)
    expected = np.searchsorted(known["blocks"], process.block_of[known["columns"]])
    record.require(np.array_equal(block_of, expected), "block_of", "that of the process")
    bounds = {"low": -_LARGEST_SCORE, "high": _LARGEST_SCORE}
    scaling = record.numbers("scaling", (3, n))
    record.require((scaling[1] > 0).all(), "scaling", "positive in its second row")
    max_blocks = record.integer("max_blocks", 0, P)
    chain = record.indices("chain", P, distinct=True)
    record.require(chain.size <= max_blocks, "chain", "within max_blocks")
    return LinearPolicy(
        bias=record.numbers("bias", (C + P,)),
        for_known=record.numbers("for_known", (n, C + P), **bounds),
        for_value=record.numbers("for_value", (n, C + P), **bounds),
        **known,
        block_of=block_of,
        scaling=scaling,
        max_blocks=max_blocks,
        max_cost=_read_budget(record),
        chain=chain,
        chain_scores=record.numbers("chain_scores", (chain.size,)),
        **{name: record.number(name, finite=False) for name in ("risk", "loss", "cost")},
        history=record.numbers("history", (None,), finite=False, nan=True),
    )


def _read_stages(record, process, forests, m, C):
    known = _read_candidates(record, process, m)
    losses = record.numbers("class_losses", (C,), above=0.0)
    cost_weight = record.number("cost_weight", 0.0, _LARGEST)
    same = np.array_equal(losses, process.class_losses)
    record.require(same, "class_losses", "those of the process")
    record.require(cost_weight == process.cost_weight, "cost_weight", "that of the process")
    parts = record.parts("stages")
    P = known["blocks"].size
    sets = [part.indices("blocks", P, ascending=True) for part in parts]
    record.require(sets[0].size == 0, "stages[0].blocks", "the empty set")
    stages = []
    for s, part in enumerate(parts):
        forest = forests[part.integer("forest", 0, len(forests) - 1)]
        if forest.forest is not None:
            fits = forest.forest.feature.max() < known["columns"].size
            part.require(fits, "forest", "of the policy's columns")
        stages.append(_read_stage(part, s, sets, forest, P))
        part.finish()
    return ForestPolicy(stages=stages, **known, class_losses=losses, cost_weight=cost_weight)


def _read_stage(record, s, sets, forest, P):
    targets = record.indices("targets", len(sets))
    n_moves = targets.size
    # Moves lead forward, so that a walk ends; and each move asks for exactly the blocks that its
    # target adds, so that nothing is asked for twice.
    record.require((targets > s).all(), "targets", "later stages")
    given = record.take("new")
    record.require(type(given) is list and len(given) == n_moves, "new", "one list per move")
    moves = Record({str(i): one for i, one in enumerate(given)}, f"{record.where}new.")
    new = [moves.indices(str(i), P, distinct=True) for i in range(n_moves)]
    known = set(sets[s].tolist())
    for target, blocks in zip(targets.tolist(), new, strict=True):
        bought, reached = set(blocks.tolist()), set(sets[target].tolist())
        is_new = bool(bought) and not known & bought and known | bought == reached
        record.require(is_new, "new", "the blocks that its target adds")
    rule = record.part("rule")
    kind = rule.choice("kind", ("stop", "go", "threshold", "local"))
    lowest, highest = (0, n_moves - 1) if n_moves and kind in ("go", "threshold") else (-1, 2**62)
    read = Rule(kind, rule.integer("move", lowest, highest), rule.number("at", finite=False))
    rule.finish()
    means = record.numbers("means", (n_moves,), finite=False)
    row_of = table = None
    if record.peek("table") is None:
        record.take("table")
        record.require(record.take("row_of") is None, "row_of", "null if there is no table")
    else:
        record.require(forest.forest is not None, "table", "null if there is no forest")
        table = record.numbers("table", (None, n_moves), "float32", finite=False)
        record.require(table.shape[0] > 0, "table", "one row at least")
        limits = {"low": -1, "high": table.shape[0] - 1}
        row_of = record.numbers("row_of", (forest.forest.n_nodes,), "int32", **limits)
    return Stage(sets[s], forest, read, targets, new, means, row_of, table)


def _read_forest(record, C):
    trees = record.optional("trees")
    forest = None if trees is None else _read_trees(trees, C)
    found = SetForest(
        forest=forest,
        prior=record.numbers("prior", (C,), low=0.0, high=1.0 + 1e-9),
        temperature=record.number("temperature", above=0.0),
        coarse=record.integer("coarse", 2, 2**31),
    )
    record.finish()
    return found


def _read_trees(record, C):
    threshold = record.numbers("threshold", (None,), finite=False)
    n = threshold.size
    offsets = record.indices("offsets", n + 1, ascending=True)
    fits = offsets.size > 1 and offsets[0] == 0 and offsets[-1] == n
    record.require(fits, "offsets", "where trees begin")
    nodes = np.empty((n, 4), dtype=np.int32)
    nodes[:, FEATURE] = record.numbers("feature", (n,), "int32", low=-1)
    nodes[:, LEFT] = record.numbers("first_child", (n,), "int32", low=-1)
    nodes[:, SIZE] = record.numbers("n_rows", (n,), "int32", low=0)
    nodes[:, MISSING_LEFT] = record.numbers("missing_first", (n,), "int32", low=0, high=1)
    # Children come after their parent, in the same tree, so that every descent ends.
    inner = np.flatnonzero(nodes[:, FEATURE] >= 0)
    left = nodes[inner, LEFT].astype(np.int64)
    end = np.repeat(offsets[1:], np.diff(offsets))[inner]
    onward = (left > inner) & (left + 1 < end)
    record.require(onward.all(), "first_child", "a later node of the same tree")
    shares = record.numbers("shares", (n, C), "float32", low=0.0, high=1.001)
    record.finish()
    return Forest(offsets, nodes, threshold, shares)
