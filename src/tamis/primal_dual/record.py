"""The record of a fitted primal-dual classifier; docs/model_format.md has the formulas.

`weights` are the rows of the selected `features` only; all others are 0. `mean` and `scale`
standardise all features. A path has one object per radius in `levels`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.records import Record, plain
from tamis.primal_dual.head import HEADS

if TYPE_CHECKING:
    from tamis.primal_dual._fitted import FittedPrimalDual


_NUMBERS = ("dispersion", "temperature", "objective", "gap", "relative_gap")
_OF_PATH = ("level", "n_features", "score", "standard_error", "cost", "gap")
_OF_HISTORY = ("n_iter", "objective", "relative_gap", "n_features", "seconds")


def write_record(model: FittedPrimalDual) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    state, selected = vars(model), np.flatnonzero(model.support_)
    record = {
        "distance": "l2" if model._euclidean else "l1",
        **_write_solution(state, selected, model.weights_[selected]),
        "mean": plain(model.mean_),
        "scale": plain(model.scale_),
        "class_weights": plain(model.class_weight_),
        "rho": plain(model.rho_),
        "mean_class_size": plain(model._class_size),
    }
    if "history_" in state:
        record["history"] = {name: plain(column) for name, column in model.history_.items()}
    if "_levels" in state:
        record["radius"] = float(model.radius_)
        record["path"] = {name: plain(column) for name, column in model.path_.items()}
        record["fold_scores"] = plain(model._fold_scores)
        record["levels"] = [
            {
                "radius": float(level["radius"]),
                "size": int(level["size"]),
                **_write_solution(level, level["selected"], level["rows"]),
            }
            for level in model._levels
        ]
    return record


def _write_solution(state, selected, rows):
    record = {
        "features": plain(selected),
        "weights": plain(rows),
        "centers": plain(state["centers_"]),
        **{name: plain(state[f"{name}_"]) for name in _NUMBERS},
        "n_iter": int(state["n_iter_"]),
    }
    record["head"] = state["head_"]
    for name in ("head_coef", "head_intercept"):
        record[name] = plain(state[f"_{name}"] if f"_{name}" in state else state[name])
    if "best_score_" in state:
        record["score"] = plain(state["best_score_"])
        record["stability"] = plain(state["stability_"])
    if state.get("dual_") is not None:
        record["dual"] = plain(state["dual_"])
    return record


def read_record(model: FittedPrimalDual, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m, C = model.n_features_in_, model.classes_.size
    is_cv = "rule" in model._get_param_names()
    model._euclidean = record.choice("distance", ("l1", "l2")) == "l2"
    selected, rows, found = _read_solution(record, m, C, is_cv)
    for name, value in found.items():
        setattr(model, name if name.endswith("_") else f"_{name}", value)
    model.weights_ = np.zeros((m, C))
    model.weights_[selected] = rows
    model.support_ = np.zeros(m, dtype=bool)
    model.support_[selected] = True
    model.n_features_ = int(selected.size)
    model.mean_ = record.numbers("mean", (m,))
    model.scale_ = record.numbers("scale", (m,), above=0.0, finite=False)
    model.class_weight_ = record.numbers("class_weights", (C,), low=0.0)
    model.rho_ = record.number_or_none("rho", above=0.0)
    model._class_size = record.number("mean_class_size", finite=False)
    if "history" in record:
        model.history_ = record.table("history", _OF_HISTORY)
    if is_cv:
        _read_levels(model, record, m, C)


def _read_solution(record, m, C, is_cv):
    """Selected features, their rows of weights, and the attributes of one radius."""
    selected = record.indices("features", m, ascending=True)
    found: dict[str, Any] = {
        "centers_": record.numbers("centers", (C, C)),
        "dispersion_": record.number("dispersion", above=0.0),
        "temperature_": record.number("temperature", above=0.0),
        "n_iter_": record.integer("n_iter"),
    }
    rows = record.numbers("weights", (selected.size, C))
    for name in ("objective", "gap", "relative_gap"):
        found[f"{name}_"] = record.number(name, finite=False)
    found["head_"] = record.choice("head", HEADS[1:])
    found["head_coef"] = found["head_intercept"] = None
    if found["head_"] == "projection":
        for name in ("head_coef", "head_intercept"):
            record.require(record.take(name) is None, name, "null for the projection")
    else:
        found["head_coef"] = record.numbers("head_coef", (C, selected.size))
        found["head_intercept"] = record.numbers("head_intercept", (C,))
    if is_cv:
        found["best_score_"] = record.number("score", finite=False)
        found["stability_"] = record.numbers("stability", (m,))
    if "dual" in record:
        found["dual_"] = record.numbers("dual", (None, C))
    return selected, rows, found


def _read_levels(model, record, m, C):
    model.radius_ = record.number("radius", above=0.0)
    model.path_ = record.table("path", _OF_PATH)
    n_levels = model.path_["level"].size
    model._fold_scores = record.numbers("fold_scores", (None, n_levels), finite=False, nan=True)
    parts = record.parts("levels")
    record.require(len(parts) == n_levels, "levels", f"{n_levels} levels")
    model._levels = []
    for part in parts:
        selected, rows, found = _read_solution(part, m, C, True)
        radius, size = part.number("radius", above=0.0), part.integer("size")
        part.finish()
        level = {"radius": radius, "size": size, "selected": selected, "rows": rows}
        model._levels.append(level | found)
    radii = [level["radius"] for level in model._levels]
    same = np.array_equal(radii, model.path_["level"])
    record.require(same and model.radius_ in radii, "levels", "those of the radii of path")
    level = model._levels[radii.index(model.radius_)]
    same = np.array_equal(level["selected"], np.flatnonzero(model.support_))
    same = same and np.array_equal(level["rows"], model.weights_[model.support_])
    record.require(same, "weights", "those of the level of its radius")
