"""Classifiers whose decisions are linear in a few columns, as numbers that any program can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError
from tamis.tables.preparing.preparation import Preparation


@dataclass(frozen=True)
class LinearForm:
    """Decisions ``(x - reference) @ weights.T + bias``; their softmax gives the probabilities."""

    columns: NDArray[np.intp]  # (n_columns,): columns of the matrix that are used
    reference: NDArray[np.float64]  # (n_columns,)
    weights: NDArray[np.float64]  # (n_classes, n_columns)
    bias: NDArray[np.float64]  # (n_classes,)


def linear_form(estimator: Any) -> LinearForm | None:
    """The linear form of a fitted classifier; None if its decisions are not linear."""
    kind = type(estimator).__name__
    if kind.startswith("SparseCenter") and estimator._metric == "l2":
        model = estimator._model
        weights, columns, origin, common, bias = model.linear(estimator._selected)
        reference = origin + common
        if model.statistics.unit is not None:
            unit = model.statistics.unit[columns]
            with np.errstate(over="ignore", under="ignore"):
                weights, reference = weights / unit, reference * unit
        form = LinearForm(columns, reference, weights, bias)
    elif kind.startswith("Panel") and estimator.head_ != "kernel":
        columns, head = np.flatnonzero(estimator.support_), estimator._head_state
        form = LinearForm(columns, np.zeros(columns.size), head["coef"], head["intercept"])
    elif kind.startswith("PrimalDual"):
        columns = np.flatnonzero(estimator.support_)
        mean, scale = estimator.mean_[columns], estimator.scale_[columns]
        coef = estimator._head_coef
        if coef is not None:
            form = LinearForm(columns, mean, coef / scale, estimator._head_intercept)
        elif estimator._euclidean:
            centers, unit = estimator.centers_, estimator.dispersion_**2
            weights = centers @ (estimator.weights_[columns] / scale[:, None]).T / unit
            form = LinearForm(columns, mean, weights, -0.5 * (centers**2).sum(axis=1) / unit)
        else:
            return None
    else:
        return None
    temperature = estimator.temperature_
    form = LinearForm(
        form.columns, form.reference, form.weights / temperature, form.bias / temperature
    )
    if not (np.isfinite(form.weights).all() and np.isfinite(form.reference).all()):
        raise InputError("the values of some features are too large or too small for a formula.")
    return form


@dataclass(frozen=True)
class Input:
    """A raw column, and the columns of the matrix that are made of it."""

    name: str
    categories: list[str] | None  # the categories that have a column; None for a number
    # Values of the columns where the raw one is missing; empty: a missing value is an error.
    fill: list[float]
    columns: list[int]  # columns of the matrix, in the order of `categories`
    # Words for which all columns are 0; None: every word that is not in `categories`. All other
    # words are missing values.
    zeros: list[str] | None = None
    # What values beyond a detection limit are, in a number that had some in training; else None.
    below_detection: str | None = None
    is_percent: bool = False  # whether numbers had percent signs in training: 93 % is 0.93
    decimal: str = "."  # decimal mark of numbers that are text
    # Whether a number above 1, and up to 100, is a percent without its sign.
    is_share: bool = False

    @property
    def words(self) -> list[str] | None:
        """All words that are not missing values; None: every word."""
        return None if self.zeros is None else [*(self.categories or ()), *self.zeros]


def inputs_of(model: Any, columns: NDArray) -> list[Input]:
    """The raw columns behind some columns of the matrix of a model.

    `columns`: ascending.
    """
    if not isinstance(model, TableModel):
        names = model._feature_names()
        return [Input(str(names[j]), None, [], [int(j)]) for j in columns]
    preparation: Preparation = model.preparation
    wanted = set(columns.tolist())
    inputs, start = [], len(preparation.numbers)
    for j, name in enumerate(preparation.numbers):
        if j in wanted:
            missing = preparation.missing
            rule = missing.below_detection if name in missing.limited else None
            fill = [float(preparation.fill[j])]
            percent = name in missing.percents
            written = percent, missing.decimal, name in preparation.shares
            inputs.append(Input(name, None, fill, [j], None, rule, *written))
    for name, known in preparation.categories.items():
        used = [c for c in range(len(known)) if start + c in wanted]
        if used:
            places = [start + c for c in used]
            fill = preparation.fill[places].tolist()
            zeros = preparation.zeros(name)
            if zeros is not None:
                zeros = [*(c for at, c in enumerate(known) if at not in used), *zeros]
            inputs.append(Input(name, [known[c] for c in used], fill, places, zeros))
        start += len(known)
    if any(j >= start for j in wanted):
        name = next(iter(preparation.texts))
        raise InputError(
            f"{name!r} is free text, whose words a formula cannot count. Use --to python."
        )
    return inputs


def total_temperature(model: Any) -> float:
    """What decisions are divided by after those of the classifier."""
    return float(model.temperature) if isinstance(model, TableModel) else 1.0
