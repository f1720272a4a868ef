"""What a fitted sparse center classifier must be like."""

import numpy as np

from tamis.models._checking import FLOATS, array, choice, integer, number, places, record, require

__all__ = ["ATTRIBUTES", "ATTRIBUTES_CV", "OPTIONAL", "OPTIONAL_CV", "check_centers"]

ATTRIBUTES = (
    "_metric",
    "class_count_",
    "_offset",
    "_class_centers",
    "_common",
    "_dispersion",
    "_raw_gains",
    "gains_",
    "scale_",
    "_units",
    "class_prior_",
    "_log_priors",
    "_whitening",
    "temperature_",
    "support_",
    "n_features_",
    "n_groups_",
    "_group_of",
    "_kept",
    "dispersion_",
    "objective_",
)
OPTIONAL = ("_n_rows",)
ATTRIBUTES_CV = (*ATTRIBUTES, "path_", "best_score_")
OPTIONAL_CV = (*OPTIONAL, "stability_")


def check_centers(state, m, C):
    """Check the state of a model of m features and C classes."""
    choice(state["_metric"], "_metric", ("l2", "l1"))
    for name in ("_offset", "_common"):
        array(state[name], name, (m,), FLOATS)
    for name in ("_raw_gains", "gains_"):
        array(state[name], name, (m,), FLOATS, low=0.0)
    array(state["scale_"], "scale_", (m,), FLOATS, above=0.0)
    array(state["_class_centers"], "_class_centers", (C, m), FLOATS)
    array(state["_dispersion"], "_dispersion", (C, m), FLOATS, low=0.0)
    array(state["class_count_"], "class_count_", (C,), FLOATS, low=0.0)
    array(state["class_prior_"], "class_prior_", (C,), low=0.0, high=1.0 + 1e-9)
    array(state["_log_priors"], "_log_priors", (C,), high=1e-9, finite=False)
    require(np.isfinite(state["_log_priors"]).any(), "_log_priors", "finite for a class")
    number(state["temperature_"], "temperature_", above=0.0)
    number(state["dispersion_"], "dispersion_", finite=False)
    number(state["objective_"], "objective_", finite=False)
    places(state["support_"], "support_", m, ascending=True)
    integer(state["n_features_"], "n_features_")
    require(state["n_features_"] == state["support_"].size, "n_features_", "that of support_")
    _check_groups(state, m)
    if "_n_rows" in state:
        integer(state["_n_rows"], "_n_rows")
    if state["_units"] is not None:
        _check_units(state["_units"], m)
    if state["_whitening"] is not None:
        _check_whitening(state["_whitening"], m, C)
        require(state["_metric"] == "l2", "_metric", "'l2' with a covariance")
    if "path_" in state:
        check_path(state["path_"], "path_", ("k",), "scores")
        number(state["best_score_"], "best_score_", finite=False)
    if "stability_" in state:
        array(state["stability_"], "stability_", (m,), low=0.0, high=1.0)


def _check_groups(state, m):
    integer(state["n_groups_"], "n_groups_", 0, state["support_"].size)
    kept = state["_kept"]
    if state["_group_of"] is None:
        require(kept is None, "_kept", "null where there are no groups")
        return
    array(kept, "_kept", (None,), "bool")
    group_of = places(state["_group_of"], "_group_of", kept.size, m)
    used = np.bincount(group_of, minlength=kept.size)
    require(used.all(), "_group_of", "without empty groups")
    require(state["_whitening"] is None, "_whitening", "null where there are groups")


def check_path(path, where, columns, scores):
    """A table of a path: a number for every level, and a row of scores for every fold."""
    record(path, where, (*columns, "mean", "se", scores))
    mean = array(path["mean"], f"{where}.mean", (None,), finite=False, nan=True)
    n_levels = mean.size
    require(n_levels > 0, where, "of one level at least")
    for name in (*columns, "se"):
        kinds = ("int64", "float64")
        array(path[name], f"{where}.{name}", (n_levels,), kinds, finite=False, nan=True)
    array(path[scores], f"{where}.{scores}", (None, n_levels), finite=False, nan=True)
    return n_levels


def _check_units(parts, m):
    record(parts, "_units", ("unit", "scale", "gains", "reference"))
    for name in ("unit", "scale"):
        array(parts[name], f"_units.{name}", (m,), above=0.0)
    array(parts["gains"], "_units.gains", (m,), low=0.0)
    number(parts["reference"], "_units.reference", above=0.0)


def _check_whitening(parts, m, C):
    where = "_whitening"
    record(parts, where, ("vectors", "roots", "rest", "shrinkage", "centers", "dispersion"))
    vectors = array(parts["vectors"], f"{where}.vectors", (m, None), FLOATS)
    array(parts["roots"], f"{where}.roots", (vectors.shape[1],), FLOATS, above=0.0)
    number(parts["rest"], f"{where}.rest", above=0.0)
    number(parts["shrinkage"], f"{where}.shrinkage", 0.0, 1.0)
    array(parts["centers"], f"{where}.centers", (C, m), FLOATS)
    array(parts["dispersion"], f"{where}.dispersion", (C, m), FLOATS, low=0.0)
