"""The record of a fitted sparse center classifier; docs/model_format.md has the formulas.

All arrays describe all features, so that the number of features can be changed later; `features`
says which of them the decisions use. Centers are relative to `origin`, in the units of X divided
by `unit`, if columns have very large or very small values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.records import Record, plain

if TYPE_CHECKING:
    from tamis.centers._fitted import FittedCenters


_OF_PATH = ("level", "n_features", "score", "standard_error", "cost")
_OF_UNITS = ("unit", "scale", "gains")
_OF_COVARIANCE = ("vectors", "roots", "centers", "dispersion", "selected")


def write_record(model: FittedCenters) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    units, whitening = model._units, model._whitening
    record = {
        "metric": model._metric,
        "features": plain(np.flatnonzero(model.support_)),
        "temperature": float(model.temperature_),
        "priors": plain(model.class_prior_),
        "log_priors": plain(model._log_priors),
        "dispersion": plain(model.dispersion_),
        "objective": plain(model.objective_),
        "class_counts": plain(model.class_count_),
        "scale": plain(model.scale_),
        "gains": plain(model.gains_),
        "origin": plain(model._offset),
        "common_center": plain(model._common),
        "class_centers": plain(model._class_centers),
        "class_dispersions": plain(model._dispersion),
        "unscaled_gains": plain(model._raw_gains),
        "group_of": plain(model._group_of),
        "kept_groups": None if model._kept is None else plain(np.flatnonzero(model._kept)),
        "other_units": None,
        "covariance": None,
    }
    if units is not None:
        record["other_units"] = {name: plain(units[name]) for name in _OF_UNITS}
        record["other_units"]["reference"] = float(units["reference"])
    if whitening is not None:
        record["covariance"] = {name: plain(whitening[name]) for name in _OF_COVARIANCE}
        record["covariance"] |= {name: whitening[name] for name in ("rest", "shrinkage")}
    if hasattr(model, "_n_rows"):
        record["n_rows"] = int(model._n_rows)
    if getattr(model, "_weight_unit", 1.0) != 1:
        record["weight_unit"] = float(model._weight_unit)
    if hasattr(model, "path_"):
        record["path"] = {name: plain(column) for name, column in model.path_.items()}
        record["fold_scores"] = plain(model._fold_scores)
        record["score"] = plain(model.best_score_)
        record["stability"] = plain(model.stability_)
    return record


def read_record(model: FittedCenters, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m, C = model.n_features_in_, model.classes_.size
    model._metric = record.choice("metric", ("l2", "l1"))
    model.support_ = record.mask("features", m)
    model.temperature_ = record.number("temperature", above=0.0)
    model.class_prior_ = record.numbers("priors", (C,), low=0.0, high=1.0 + 1e-9)
    model._log_priors = record.numbers("log_priors", (C,), high=1e-9, finite=False)
    with np.errstate(invalid="ignore"):
        same = np.allclose(np.exp(model._log_priors), model.class_prior_)
    record.require(same and model.class_prior_.any(), "log_priors", "those of priors")
    model.dispersion_ = record.number("dispersion", finite=False)
    model.objective_ = record.number("objective", finite=False)
    model.class_count_ = record.numbers("class_counts", (C,), low=0.0)
    model.scale_ = record.numbers("scale", (m,), above=0.0)
    model.gains_ = record.numbers("gains", (m,), low=0.0)
    model._offset = record.numbers("origin", (m,))
    model._common = record.numbers("common_center", (m,))
    model._class_centers = record.numbers("class_centers", (C, m))
    model._dispersion = record.numbers("class_dispersions", (C, m), low=0.0)
    model._raw_gains = record.numbers("unscaled_gains", (m,), low=0.0)
    model._units = _read_units(record, m)
    model._whitening = _read_covariance(model, record, m, C)
    selected = model._selected
    model.n_features_ = model.n_groups_ = int(selected.size)
    _read_groups(model, record, m)
    if model._group_of is not None:
        model.n_groups_ = int(np.unique(model._group_of[selected]).size)
    _require_agreement(model, record)
    if "n_rows" in record:
        model._n_rows = record.integer("n_rows")
    has_unit = "weight_unit" in record
    model._weight_unit = record.number("weight_unit", above=0.0) if has_unit else 1.0
    if "rule" in model._get_param_names():
        model.path_ = record.table("path", _OF_PATH)
        shape = (None, model.path_["level"].size)
        model._fold_scores = record.numbers("fold_scores", shape, finite=False, nan=True)
        model.best_score_ = record.number("score", finite=False)
        model.stability_ = record.numbers("stability", (m,), low=0.0, high=1.0)


def _require_agreement(model, record):
    """Raise unless what follows from other values, and other readers use, is what follows."""
    with np.errstate(all="ignore"):
        scale, gains, dispersion, _ = model._model.in_units_of_X(model._selected)
    for name, found, expected, source in (
        ("dispersion", model.dispersion_, dispersion, "class_dispersions"),
        ("scale", model.scale_, scale, "other_units"),
        ("gains", model.gains_, gains, "other_units"),
    ):
        same = np.allclose(found, expected, rtol=1e-6, atol=0.0, equal_nan=True)
        record.require(same, name, f"what follows from {source}")


def _read_groups(model, record, m):
    """Groups of features; all of them have features."""
    model._group_of = model._kept = None
    if record.peek("group_of") is None:
        record.require(record.take("group_of") is None, "group_of", "null")
        record.require(record.take("kept_groups") is None, "kept_groups", "null without groups")
        return
    record.require(model._whitening is None, "covariance", "null with groups")
    model._group_of = record.indices("group_of", m, m)
    used = np.bincount(model._group_of)
    record.require(used.all(), "group_of", "without empty groups")
    model._kept = record.mask("kept_groups", used.size)


def _read_units(record, m):
    units = record.optional("other_units")
    if units is None:
        return None
    found = {
        "unit": units.numbers("unit", (m,), above=0.0),
        "scale": units.numbers("scale", (m,), above=0.0),
        "gains": units.numbers("gains", (m,), low=0.0),
        "reference": units.number("reference", above=0.0),
    }
    units.finish()
    return found


def _read_covariance(model, record, m, C):
    parts = record.optional("covariance")
    if parts is None:
        return None
    record.require(model._metric == "l2", "metric", "'l2' with a covariance")
    record.require(model.support_.all(), "features", "all of them with a covariance")
    vectors = parts.numbers("vectors", (m, None))
    found = {
        "vectors": vectors,
        "roots": parts.numbers("roots", (vectors.shape[1],), above=0.0),
        "rest": parts.number("rest", above=0.0),
        "shrinkage": parts.number("shrinkage", 0.0, 1.0),
        "centers": parts.numbers("centers", (C, m)),
        "dispersion": parts.numbers("dispersion", (C, m), low=0.0),
        "selected": parts.indices("selected", m, ascending=True),
    }
    parts.finish()
    return found
