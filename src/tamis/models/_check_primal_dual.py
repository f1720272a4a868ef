"""Check the state of a fitted primal-dual classifier read from a file."""

from tamis.models._checking import (
    array,
    flag,
    integer,
    number,
    ordered,
    places,
    record,
    require,
)
from tamis.primal_dual.head import HEADS

__all__ = ["ATTRIBUTES", "ATTRIBUTES_CV", "OPTIONAL", "OPTIONAL_CV", "check_primal_dual"]

ATTRIBUTES = (
    "class_weight_",
    "weights_",
    "centers_",
    "objective_",
    "gap_",
    "relative_gap_",
    "rho_",
    "_class_size",
    "mean_",
    "scale_",
    "support_",
    "n_features_",
    "_euclidean",
    "dispersion_",
    "temperature_",
    "head_",
    "_head_coef",
    "_head_intercept",
    "n_iter_",
)
OPTIONAL = ("dual_", "history_")
ATTRIBUTES_CV = (
    *ATTRIBUTES,
    "_levels",
    "_fold_scores",
    "path_",
    "radius_",
    "best_score_",
    "stability_",
)
OPTIONAL_CV = ("dual_",)
_OF_LEVEL = (
    "radius",
    "size",
    "selected",
    "rows",
    "centers_",
    "objective_",
    "gap_",
    "relative_gap_",
    "dispersion_",
    "n_iter_",
    "best_score_",
    "stability_",
    "temperature_",
    "head_",
    "head_coef",
    "head_intercept",
)


def check_primal_dual(state, m, C):
    """Check the state of a model of m features and C classes."""
    array(state["class_weight_"], "class_weight_", (C,), low=0.0)
    array(state["weights_"], "weights_", (m, C))
    array(state["mean_"], "mean_", (m,))
    array(state["scale_"], "scale_", (m,), above=0.0, finite=False)
    number(state["rho_"], "rho_", above=0.0, none=True)
    number(state["_class_size"], "_class_size", finite=False)
    integer(state["n_features_"], "n_features_")
    flag(state["_euclidean"], "_euclidean")
    array(state["support_"], "support_", (m,), "bool")
    _check_solution(state, "", m, C)
    _check_head(state, "", "_", int(state["support_"].sum()), C)
    require(state["n_features_"] == state["support_"].sum(), "n_features_", "that of support_")
    if "history_" in state:
        history = record(
            state["history_"],
            "history_",
            ("n_iter", "objective", "relative_gap", "n_features", "seconds"),
        )
        for name, values in history.items():
            array(
                values, f"history_.{name}", (None,), ("int64", "float64"), finite=False, nan=True
            )
    if "_levels" not in state:
        return
    number(state["radius_"], "radius_", above=0.0)
    number(state["best_score_"], "best_score_", finite=False)
    array(state["stability_"], "stability_", (m,))
    n_levels = _check_path(state["path_"])
    array(state["_fold_scores"], "_fold_scores", (None, n_levels), finite=False, nan=True)
    levels = ordered(state["_levels"], "_levels")
    require(len(levels) == n_levels, "_levels", f"{n_levels} levels")
    for i, level in enumerate(levels):
        where = f"_levels[{i}]."
        record(level, where, _OF_LEVEL, ("dual_",))
        _check_solution(level, where, m, C)
        places(level["selected"], f"{where}selected", m, ascending=True)
        _check_head(level, where, "", level["selected"].size, C)
        array(level["rows"], f"{where}rows", (level["selected"].size, C))
        number(level["radius"], f"{where}radius", above=0.0)
        integer(level["size"], f"{where}size")
        number(level["best_score_"], f"{where}best_score_", finite=False)
        array(level["stability_"], f"{where}stability_", (m,))


def _check_path(path):
    """Check a path with one number per level in each column; returns their number."""
    names = ("level", "n_features", "score", "standard_error", "cost", "gap")
    record(path, "path_", names)
    n_levels = array(path["level"], "path_.level", (None,)).size
    require(n_levels > 0, "path_", "of one level at least")
    for name in names[1:]:
        array(path[name], f"path_.{name}", (n_levels,), finite=False, nan=True)
    return n_levels


def _check_head(state, where, prefix, k, C):
    """Check the head of k features."""
    require(state["head_"] in HEADS[1:], f"{where}head_", f"one of {HEADS[1:]}")
    coef, intercept = f"{prefix}head_coef", f"{prefix}head_intercept"
    if state["head_"] == "projection":
        for name in (coef, intercept):
            require(state[name] is None, f"{where}{name}", "null with the projection")
    else:
        array(state[coef], f"{where}{coef}", (C, k))
        array(state[intercept], f"{where}{intercept}", (C,))


def _check_solution(state, where, m, C):
    array(state["centers_"], f"{where}centers_", (C, C))
    number(state["dispersion_"], f"{where}dispersion_", above=0.0)
    number(state["temperature_"], f"{where}temperature_", above=0.0)
    integer(state["n_iter_"], f"{where}n_iter_")
    for name in ("objective_", "gap_", "relative_gap_"):
        number(state[name], f"{where}{name}", finite=False)
    if "dual_" in state:
        array(state["dual_"], f"{where}dual_", (None, C))
