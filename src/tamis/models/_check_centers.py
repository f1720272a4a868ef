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
ATTRIBUTES_CV = (*ATTRIBUTES, "path_", "_fold_scores", "best_score_", "stability_")
OPTIONAL_CV = OPTIONAL


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
    array(state["support_"], "support_", (m,), "bool")
    selected = np.flatnonzero(state["support_"])
    if state["_whitening"] is not None:
        _check_whitening(state["_whitening"], m, C)
        require(state["_metric"] == "l2", "_metric", "'l2' with a covariance")
        require(state["support_"].all(), "support_", "true everywhere with a covariance")
        selected = state["_whitening"]["selected"]
    integer(state["n_features_"], "n_features_")
    require(state["n_features_"] == selected.size, "n_features_", "the number of features")
    integer(state["n_groups_"], "n_groups_", 0, selected.size)
    _check_groups(state, m)
    if "_n_rows" in state:
        integer(state["_n_rows"], "_n_rows")
    if state["_units"] is not None:
        _check_units(state["_units"], m)
    if "path_" in state:
        n_levels = check_levels_of_path(state["path_"], "path_")
        array(state["_fold_scores"], "_fold_scores", (None, n_levels), finite=False, nan=True)
        number(state["best_score_"], "best_score_", finite=False)
        array(state["stability_"], "stability_", (m,), low=0.0, high=1.0)


def _check_groups(state, m):
    kept = state["_kept"]
    if state["_group_of"] is None:
        require(kept is None, "_kept", "null where there are no groups")
        return
    array(kept, "_kept", (None,), "bool")
    group_of = places(state["_group_of"], "_group_of", kept.size, m)
    used = np.bincount(group_of, minlength=kept.size)
    require(used.all(), "_group_of", "without empty groups")
    require(state["_whitening"] is None, "_whitening", "null where there are groups")


def check_levels_of_path(path, where):
    """The table of a path: one number for every level in every column; returns their number."""
    names = ("level", "n_features", "score", "standard_error", "cost")
    record(path, where, names)
    kinds = ("int64", "float64")
    n_levels = array(path["level"], f"{where}.level", (None,), kinds, finite=False).size
    require(n_levels > 0, where, "of one level at least")
    for name in names[1:]:
        array(path[name], f"{where}.{name}", (n_levels,), kinds, finite=False, nan=True)
    return n_levels


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
    names = ("vectors", "roots", "rest", "shrinkage", "centers", "dispersion", "selected")
    record(parts, where, names)
    vectors = array(parts["vectors"], f"{where}.vectors", (m, None), FLOATS)
    array(parts["roots"], f"{where}.roots", (vectors.shape[1],), FLOATS, above=0.0)
    number(parts["rest"], f"{where}.rest", above=0.0)
    number(parts["shrinkage"], f"{where}.shrinkage", 0.0, 1.0)
    array(parts["centers"], f"{where}.centers", (C, m), FLOATS)
    array(parts["dispersion"], f"{where}.dispersion", (C, m), FLOATS, low=0.0)
    places(parts["selected"], f"{where}.selected", m, ascending=True)
