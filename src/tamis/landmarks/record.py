"""The records of landmark maps, classifiers and searches; docs/model_format.md has formulas.

A map is `scaling`, `landmarks` (in scaled units), their radii `sigma`, `distance` and `kernel`; a
classifier adds a `head`; a search has one of each for all of its `members`. What a search knows of
its training rows, to continue with `warm_start`, is not part of a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.plain_values import write_value
from tamis._base.records import Record, plain
from tamis.landmarks.distances import DISTANCES
from tamis.landmarks.kernels import KERNELS
from tamis.landmarks.neighbors import METRICS, MOST_NEIGHBORS, WEIGHTS
from tamis.landmarks.space import CLASSIFIERS, PARAMETERS, SCALINGS
from tamis.landmarks.tables import as_column

if TYPE_CHECKING:
    from tamis.landmarks.classifier import LandmarkClassifier
    from tamis.landmarks.search import LandmarkSearchCV
    from tamis.landmarks.transformer import LandmarkTransformer


# Training gives no larger values: sums of squares must be finite.
_FARTHEST = 1e150
_OF_PATH = ("level", "n_features", "score", "standard_error", "cost")


def write_transformer(model: LandmarkTransformer) -> dict[str, Any]:
    """What a transformer learned, as plain values."""
    return _write_map(model._map)


def write_classifier(model: LandmarkClassifier) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    return {
        **_write_map(model.model_["map"]),
        "head": _write_arrays(model.model_["head"]),
        "row_classes": plain(model._row_codes),
        "importances": plain(model.feature_importances_),
    }


def write_search(model: LandmarkSearchCV) -> dict[str, Any]:
    """What a search learned, as plain values."""
    record = {
        "features": plain(np.flatnonzero(model._support)),
        "vote": model._vote,
        "members": [
            {
                "configuration": write_value(member["configuration"]),
                "seed": int(member["seed"]),
                "weight": float(member["weight"]),
                **_write_map(member["model"]["map"]),
                "head": _write_arrays(member["model"]["head"]),
                "row_classes": plain(member["row_codes"]),
            }
            for member in model.members_
        ],
        "best_configuration": write_value(model.best_configuration_),
        "score": plain(model.best_score_),
        "seed": int(model._seed_used),
        "path": {name: plain(column) for name, column in model.path_.items()},
        "configurations": {
            name: write_value(column.tolist()) if name in PARAMETERS else plain(column)
            for name, column in model.configurations_.items()
        },
    }
    if hasattr(model, "feature_importances_"):
        record["importances"] = plain(model.feature_importances_)
    return record


def _write_map(landmarks):
    return {
        "scaling": _write_arrays(landmarks["scaling"]),
        "distance": landmarks["distance"],
        "kernel": landmarks["kernel"],
        "landmarks": plain(landmarks["points"]),
        "sigma": plain(landmarks["sigma"]),
        "rows": plain(landmarks["rows"]),
    }


def _write_arrays(values):
    return {k: v if v is None or isinstance(v, str) else plain(v) for k, v in values.items()}


def read_transformer(model: LandmarkTransformer, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    model._map = _read_map(record, model.n_features_in_)
    _set_attributes(model, model._map)


def read_classifier(model: LandmarkClassifier, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m, C = model.n_features_in_, model.classes_.size
    model.model_ = _read_model(record, m, C)
    _set_attributes(model, model.model_["map"])
    model._row_codes = record.indices("row_classes", C, model.n_landmarks_)
    model.feature_importances_ = record.numbers("importances", (m,), low=0.0)


def read_search(model: LandmarkSearchCV, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m, C = model.n_features_in_, model.classes_.size
    model._support = record.mask("features", m)
    n_used = int(np.count_nonzero(model._support))
    record.require(n_used > 0, "features", "one at least")
    model._vote = record.choice("vote", ("majority", "soft"))
    model.members_ = []
    for part in record.parts("members"):
        member = {
            "configuration": _read_configuration(part, "configuration"),
            "seed": part.integer("seed"),
            "weight": part.number("weight", above=0.0),
            "model": _read_model(part, n_used, C),
        }
        n_landmarks = member["model"]["map"]["sigma"].size
        member["row_codes"] = part.indices("row_classes", C, n_landmarks)
        part.finish()
        model.members_.append(member)
    model.best_configuration_ = _read_configuration(record, "best_configuration")
    model.best_score_ = record.number("score", finite=False)
    model._seed_used, model._known = record.integer("seed"), None
    model.path_ = record.table("path", _OF_PATH)
    model.configurations_ = _read_table(record.part("configurations"))
    if "importances" in record:
        model.feature_importances_ = record.numbers("importances", (m,), low=0.0)


def _set_attributes(model, landmarks):
    model.landmarks_ = landmarks["points"]
    model.rows_ = landmarks["rows"]
    model.sigma_ = landmarks["sigma"]
    model.n_landmarks_ = int(model.sigma_.size)


def _read_model(record, m, C):
    landmarks = _read_map(record, m)
    return {"map": landmarks, "head": _read_head(record.part("head"), landmarks["sigma"].size, C)}


def _read_map(record, m):
    scaling = _read_scaling(record.part("scaling"), m)
    far = {"low": -_FARTHEST, "high": _FARTHEST}
    points = record.numbers("landmarks", (None, m), **far)
    n_landmarks = points.shape[0]
    record.require(n_landmarks > 0, "landmarks", "one at least")
    return {
        "scaling": scaling,
        "points": points,
        "rows": record.numbers("rows", (n_landmarks,), "int64", low=0),
        "sigma": record.numbers("sigma", (n_landmarks,), low=0.0),
        "distance": record.choice("distance", DISTANCES),
        "kernel": record.choice("kernel", KERNELS),
    }


def _read_scaling(record, m):
    kind = record.choice("scaling", SCALINGS)
    found = {"scaling": kind}
    if kind == "quantile":
        found["at"] = record.numbers("at", (None,), low=0.0, high=1.0)
        n_shares = found["at"].size
        record.require(n_shares > 0, "at", "one proportion at least")
        found["quantiles"] = record.numbers("quantiles", (n_shares, m))
    elif kind is not None:
        if kind == "yeo-johnson":
            found["powers"] = record.numbers("powers", (m,), low=-6.0, high=6.0)
        if kind != "standard" or "shift" in record:
            found["shift"] = record.numbers("shift", (m,))
        found["scale"] = record.numbers("scale", (m,), above=0.0)
    record.finish()
    return found


def _read_head(record, K, C):
    kind = record.choice("classifier", CLASSIFIERS)
    if kind == "nb":
        found = {
            "means": record.numbers("means", (C, K)),
            "variances": record.numbers("variances", (C, K), above=0.0),
            "log_prior": _read_some_finite(record, "log_prior", C),
        }
    elif kind == "knn":
        rows = record.numbers("map", (None, K))
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
        fits = rows.shape[0] > 0 and np.isfinite(squares).all()
        record.require(fits, "map", "one row at least, small enough to be squared")
        found = {
            "map": rows,
            "codes": record.indices("codes", C, rows.shape[0]),
            "class_weight": record.numbers("class_weight", (C,), above=0.0),
            "n_neighbors": record.integer("n_neighbors", 1, min(MOST_NEIGHBORS, rows.shape[0])),
            "weights": record.choice("weights", WEIGHTS),
            "metric": record.choice("metric", METRICS),
        }
    else:
        found = {
            "coefficients": record.numbers("coefficients", (K, C)),
            "intercepts": _read_some_finite(record, "intercepts", C),
            "lambda": record.number("lambda", above=0.0),
            "temperature": record.number("temperature", above=0.0),
        }
    record.finish()
    return {"classifier": kind, **found}


def _read_some_finite(record, key, C):
    values = record.numbers(key, (C,), finite=False)
    fits = np.isfinite(values).any() and not (values == np.inf).any()
    record.require(fits, key, "finite or -inf")
    return values


def _read_configuration(record, key):
    part = record.part(key)
    found = {name: _one(part, name, part.value(name)) for name in PARAMETERS}
    part.finish()
    return found


def _one(record, name, value):
    is_one = value is None or type(value) in (bool, int, float, str)
    record.require(is_one, name, "a string, a number or null")
    return value


def _read_table(record):
    scores = record.numbers("score", (None,), nan=True)
    found = {}
    for name in PARAMETERS:
        values = record.value(name)
        fits = type(values) is list and len(values) == scores.size
        record.require(fits, name, f"{scores.size} values")
        found[name] = as_column([_one(record, name, value) for value in values])
        record.require(found[name].dtype.kind in "biufO", name, "of 64 bits")
    found["score"] = scores
    fold = 0
    while f"split{fold}_test_score" in record:
        name = f"split{fold}_test_score"
        found[name] = record.numbers(name, (scores.size,), nan=True)
        fold += 1
    record.finish()
    return found
