"""The record of a fitted panel; docs/model_format.md has the formulas.

A linear head has `coef` (n_classes, n_selected) and `intercept` (n_classes,); a kernel has
`center` and `scale` (n_selected,), `landmarks` (n_landmarks, n_selected) in standardised units,
`width` and `coef` (n_landmarks, n_classes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.records import Record, plain
from tamis.panel.selection import SELECTIONS

if TYPE_CHECKING:
    from tamis.panel._fitted import FittedPanel

__all__ = ["read_record", "write_record"]

_OF_HEAD = {
    "lda": ("coef", "intercept"),
    "logistic": ("coef", "intercept"),
    "kernel": ("center", "scale", "landmarks", "width", "coef"),
}
_OF_PATH = ("level", "n_features", "score", "standard_error", "cost")
_N_VALUES = {"lda": 0, "logistic": 1, "kernel": 2}


def write_record(model: FittedPanel) -> dict[str, Any]:
    """What a classifier learned, as plain values."""
    state = model._head_state
    record = {
        "features": plain(np.flatnonzero(model.support_)),
        "head": model.head_,
        "temperature": model.temperature_,
        **{name: plain(state[name]) for name in _OF_HEAD[model.head_]},
        "means": plain(model._means),
        "importances": plain(model._importance),
        "setting": plain(state["values"]),
        "feature_order": plain(model.feature_order_),
    }
    if hasattr(model, "selection_"):  # not of a model whose features others have chosen
        record["selection"] = model.selection_
    if hasattr(model, "gap_"):
        record["proof"] = {
            "lower_bound": model.lower_bound_,
            "gap": model.gap_,
            "is_proved": model.is_proved_,
        }
    if hasattr(model, "path_"):
        record["path"] = {name: plain(column) for name, column in model.path_.items()}
        record["fold_scores"] = plain(model._fold_scores)
        record["score"] = plain(model.best_score_)
        record["stability"] = plain(model.stability_)
    return record


def read_record(model: FittedPanel, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m, C = model.n_features_in_, model.classes_.size
    record.require(C > 1, "classes", "two labels or more")
    model.head_ = record.choice("head", _OF_HEAD)
    model.support_ = record.mask("features", m)
    k = model.n_features_ = int(np.count_nonzero(model.support_))
    model.feature_order_ = record.indices("feature_order", m, m, distinct=True)
    model.temperature_ = record.number("temperature", above=0.0)
    model._head_state = _read_head(record, model.head_, k, C)
    model._means = record.numbers("means", (k,))
    model._importance = record.numbers("importances", (k,))
    if "selection" in record:
        model.selection_ = record.choice("selection", SELECTIONS[1:])
    if "proof" in record:
        proof = record.part("proof")
        model.lower_bound_ = proof.number("lower_bound")
        model.gap_ = proof.number("gap")
        model.is_proved_ = proof.flag("is_proved")
        proof.finish()
    if "rule" in model._get_param_names():
        _read_path(model, record, m)


def _read_head(record, head, k, C):
    """Arrays of the head, in the order of its fields."""
    if head == "kernel":
        state = {
            "center": record.numbers("center", (k,)),
            "scale": record.numbers("scale", (k,), above=0.0),
            "landmarks": record.numbers("landmarks", (None, k)),
            "width": np.asarray(record.number("width", above=0.0)),
        }
        state["coef"] = record.numbers("coef", (state["landmarks"].shape[0], C))
    else:
        state = {
            "coef": record.numbers("coef", (C, k)),
            "intercept": record.numbers("intercept", (C,)),
        }
    state["values"] = record.numbers("setting", (_N_VALUES[head],))
    return state


def _read_path(model, record, m):
    path = record.part("path")
    heads = path.take("head")
    known = type(heads) is list and all(type(v) is str and v in _OF_HEAD for v in heads)
    path.require(known and heads, "head", "names of heads")
    model.path_ = {
        name: path.numbers(name, (len(heads),), None, finite=False, nan=True) for name in _OF_PATH
    }
    path.finish()
    model.path_["head"] = np.array(heads)
    shape = (None, len(heads))
    model._fold_scores = record.numbers("fold_scores", shape, finite=False, nan=True)
    model.best_score_ = record.number("score", finite=False)
    model.stability_ = record.numbers("stability", (m,))
