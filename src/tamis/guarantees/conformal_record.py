"""The record of a fitted `ConformalClassifier`: its models, and the scores of calibration rows.

`models` has one object per model, with the name of its class and its own record; `calibration` has
one object per model with `classes`, a list of `scores` for each class, ascending: minus the
probability of the class for its calibration rows. Without `class_conditional`, it has one entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from tamis._base.known_estimators import ESTIMATORS, find_estimator
from tamis._base.records import Record, plain

if TYPE_CHECKING:
    from tamis.guarantees.conformal import ConformalClassifier


_KINDS = ("default", "cloned", "frozen")


def write_record(model: ConformalClassifier) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    n_lists = len(model.classes_) if model.class_conditional else 1
    kind = "default" if model.estimator is None else "cloned"
    return {
        "estimator": "frozen" if isinstance(model.estimator, FrozenEstimator) else kind,
        "models": [_write_model(inner) for inner in model.models_],
        "calibration": [
            {"classes": [{"scores": plain(scores)} for scores in of_model[:n_lists]]}
            for of_model in model.calibration_scores_
        ],
    }


def _write_model(model):
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    name = type(inner).__name__
    if ESTIMATORS.get(name) != type(inner).__module__ or name == "ConformalClassifier":
        raise ValueError(f"estimator must be a classifier of tamis to be written, got {name}.")
    return {"model": name, **inner.to_record()}


def read_record(model: ConformalClassifier, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    C = model.classes_.size
    record.require(C > 1, "classes", "two labels or more")
    kind = record.choice("estimator", _KINDS)
    model.models_ = [_read_model(part, model) for part in record.parts("models")]
    n = len(model.models_)
    fits = n == 1 if model.method == "split" else n > 1
    record.require(fits, "models", "one for split, several for cross")
    record.require(kind != "frozen" or model.method == "split", "estimator", "not frozen")
    n_lists = C if model.class_conditional else 1
    parts = record.parts("calibration")
    record.require(len(parts) == n, "calibration", f"{n} objects")
    model.calibration_scores_ = [
        _read_scores(part, n_lists) * (1 if model.class_conditional else C) for part in parts
    ]
    model.n_calibration_ = np.array(
        [[scores.size for scores in of_model] for of_model in model.calibration_scores_]
    ).sum(axis=0)
    if kind == "frozen":
        model.estimator = FrozenEstimator(model.models_[0])
        model.models_ = [model.estimator]
    elif kind == "cloned":
        model.estimator = clone(model.models_[0])


def _read_model(part, model):
    name = part.take("model")
    is_name = type(name) is str and name != "ConformalClassifier"
    part.require(is_name, "model", "the name of a classifier of tamis")
    found = find_estimator(name).from_record(part.rest())
    part.require(hasattr(found, "predict_proba"), "model", "a classifier")
    same = found.n_features_in_ == model.n_features_in_
    part.require(same, "model", "one of as many features as the classifier")
    known = set(found.classes_.tolist()) <= set(model.classes_.tolist())
    part.require(known, "model", "one of the same classes")
    return found


def _read_scores(part, n_lists):
    lists = part.parts("classes")
    part.require(len(lists) == n_lists, "classes", f"{n_lists} objects")
    found = []
    for one in lists:
        scores = one.numbers("scores", (None,), low=-1.0, high=0.0)
        one.require((np.diff(scores) >= 0).all(), "scores", "ascending")
        one.finish()
        found.append(scores)
    part.finish()
    return found
