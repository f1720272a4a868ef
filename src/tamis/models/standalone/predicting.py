"""Labels and probabilities of one row, from a record."""

import math
import operator
from typing import Any

from tamis.models.standalone.families import ESTIMATE
from tamis.models.standalone.numbers import softmax, unpack
from tamis.models.standalone.tables import prepare_row

__all__ = ["load", "predict", "predict_proba"]


def load(document: dict) -> dict:
    """The model of a parsed model.json, ready for predictions."""
    return {"model": document["model"], **unpack(document["record"])}


def predict_proba(model: dict, row: Any) -> dict:
    """Probability of each class.

    `model`: from `load`. `row`: values by the names of the columns, or all of them in order. None,
    NaN and words for missing values are missing. Returns `probabilities`: one float for each
    label.
    """
    if model["model"] != "TableModel":
        return dict(zip(model["classes"], _estimate(model, _values(model, row)), strict=True))
    shares = _table_shares(model, row)
    site = model["recalibration"]
    if site is not None:
        shares = _tempered(shares, site["temperature"], site["intercept"])
    return dict(zip(model["estimator"]["classes"], shares, strict=True))


def predict(model: dict, row: Any) -> Any:
    """The label of a row: by costs, the threshold, or the largest probability; ties: the first."""
    if model["model"] == "TableModel" and model["threshold"] is not None:
        classes = model["estimator"]["classes"]
        shares = dict(zip(classes, _table_shares(model, row), strict=True))
        positive = model["positive"]
        if shares[positive] >= model["threshold"]:
            return positive
        others = [label for label in classes if label != positive]
        return max(others, key=shares.__getitem__)
    shares = predict_proba(model, row)
    decided = model.get("misclassification") if model["model"] == "TableModel" else None
    if decided is not None:
        ratios = zip(shares.values(), model["frequencies"], model["priors"], strict=True)
        based = [share * new / old for share, new, old in ratios]
        columns = zip(*decided["costs"], strict=True)
        costs = [sum(map(operator.mul, based, column)) for column in columns]
        return list(shares)[costs.index(min(costs))]
    return max(shares, key=shares.__getitem__)


def _table_shares(model, row):
    """Probabilities before a recalibration."""
    inner = model["estimator"]
    asks = inner["model"].startswith("DatumWise")
    shares = _estimate(inner, prepare_row(model["preparation"], row, not asks))
    return _tempered(shares, model["temperature"]) if model["temperature"] != 1 else shares


def _tempered(shares, temperature, intercept=None):
    logs = [math.log(share) / temperature if share > 0 else -math.inf for share in shares]
    return softmax(
        logs if intercept is None else list(map(sum, zip(logs, intercept, strict=True)))
    )


def _values(model, row):
    """All values of a row, in order."""
    if isinstance(row, dict):
        names = model["feature_names"] or [f"x{i}" for i in range(model["n_features_in"])]
        row = [row.get(name) for name in names]
    return [math.nan if value is None else float(value) for value in row]


def _estimate(model, x):
    return ESTIMATE[model["model"].removesuffix("CV")](model, x)
