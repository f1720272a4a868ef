"""The record of a fitted selector: scores of all features, and those that are selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._base.records import Record, plain

if TYPE_CHECKING:
    from tamis.selectors.selector import ClassSelector


_OF_NAIVE_BAYES = ("log_likelihood", "upper_bound", "gap")


def write_record(model: ClassSelector) -> dict[str, Any]:
    """What a selector learned, as plain values."""
    record = {
        "features": plain(np.flatnonzero(model.support_)),
        "feature_order": plain(model.feature_order_),
        "scores": plain(model.scores_),
    }
    if hasattr(model, "log_odds_ratios_"):
        return record | {"log_odds_ratios": plain(model.log_odds_ratios_)}
    return record | {name: plain(getattr(model, f"{name}_")) for name in _OF_NAIVE_BAYES}


def read_record(model: ClassSelector, record: Record) -> None:
    """Set the fitted attributes of `model` from its record."""
    m = model.n_features_in_
    model.support_ = record.mask("features", m)
    model.n_features_ = int(np.count_nonzero(model.support_))
    model.feature_order_ = record.indices("feature_order", m, m, distinct=True)
    model.scores_ = record.numbers("scores", (m,), finite=False)
    if "pos_label" in model._get_param_names():
        model.log_odds_ratios_ = record.numbers("log_odds_ratios", (model.classes_.size, m))
        return
    for name in _OF_NAIVE_BAYES:
        setattr(model, f"{name}_", record.number(name, finite=False))
