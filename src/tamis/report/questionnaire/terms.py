"""Decisions that are sums over features, and what the unknown features can still change.

The decision of a class is ``base_c + sum over fields of term_c(answer)``. Over all answers within
the training range, the margin between two classes is a sum of one function per field, so the
smallest margin is the sum of the smallest ones: the bounds are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.models.linear_form import linear_form
from tamis.report.questionnaire.fields import Field, fields_of
from tamis.tables.classifying.prevalence import Prevalence
from tamis.tables.classifying.table_model import TableModel

# Decisions closer than this, relative to the bounds, may be ties.
_SLACK = 1e-9
# Stands for minus infinity: the decision of a class without training rows.
_NEVER = -1e300


@dataclass(frozen=True)
class Linear:
    """The term ``weights * (x - reference)`` of a column, one number per class."""

    weights: np.ndarray
    reference: float

    def at(self, x: float) -> NDArray[np.float64]:
        """The term at a value."""
        return self.weights * (x - self.reference)

    def turns(self) -> list[float]:
        """Where margins may have an extremum inside a range."""
        return []

    def slope(self, sign: float) -> NDArray[np.float64]:
        """Where the term goes as the value grows without limit."""
        return sign * self.weights

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {"weights": self.weights.tolist(), "reference": self.reference}


@dataclass(frozen=True)
class Absolute:
    """The term ``-abs(x - centers) / unit`` of a column, one number per class."""

    centers: np.ndarray
    unit: float

    def at(self, x: float) -> NDArray[np.float64]:
        """The term at a value; beyond all centers the differences of classes stay the same."""
        reach = 2**20 * np.ptp(self.centers)
        x = min(max(x, self.centers.min() - reach), self.centers.max() + reach)
        return -np.abs(x - self.centers) / self.unit

    def turns(self) -> list[float]:
        """Where margins may have an extremum inside a range."""
        return self.centers.tolist()

    def slope(self, sign: float) -> NDArray[np.float64]:
        """No margin grows without limit."""
        return np.zeros(self.centers.size)

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {"centers": self.centers.tolist(), "unit": self.unit}


@dataclass(frozen=True)
class FieldTerms:
    """The terms of one field."""

    field: Field
    curves: list  # one per column of the field
    # (n_candidates, n_classes): terms at the answers where a margin can be smallest, the
    # unavailable one among them.
    candidates: np.ndarray
    # (n_directions, n_classes): where the terms go without limit, if the range is not known.
    directions: np.ndarray

    def of_columns(self, values: Iterable[float]) -> NDArray[np.float64]:
        """The term of some values of the columns."""
        return sum(curve.at(value) for curve, value in zip(self.curves, values, strict=True))

    def smallest_margins(self) -> NDArray[np.float64]:
        """Smallest term of class c minus that of class k: (n_classes, n_classes)."""
        margins = (self.candidates[:, :, None] - self.candidates[:, None, :]).min(axis=0)
        slopes = self.directions[:, :, None] - self.directions[:, None, :]
        return np.where((slopes < 0).any(axis=0), -np.inf, margins)

    def spread(self) -> float:
        """How much an answer can change a margin at most."""
        smallest = self.smallest_margins()
        return float((-smallest - smallest.T).max())


@dataclass(frozen=True)
class Terms:
    """The decisions of a model as a sum over fields."""

    base: np.ndarray  # (n_classes,)
    fields: list[FieldTerms]  # the one that can change most, per unit of its cost, comes first


@dataclass(frozen=True)
class After:
    """What comes after the decisions of a classifier: probabilities and the label."""

    temperature: float
    # site_temperature, site_intercept: the recalibration; 1 and zeros if there is none.
    site_temperature: float
    site_intercept: list[float]
    positive: int | None
    threshold: float | None
    # Costs of errors, by true and predicted class: the label has the smallest expected cost.
    costs: list[list[float]] | None
    # Logarithms of the class frequencies that probabilities are shown for, over those that the
    # model assumes.
    shown: list[float]
    # The same for the probabilities that decide whether a person is asked: as in prediction, those
    # of the model, unless a prevalence is stated.
    referred: list[float]

    @classmethod
    def of(cls, model: TableModel, prevalence: Prevalence) -> After:
        """Of a model, whose probabilities are shown at a prevalence."""
        site, costs = model.recalibration, model.costs_at(prevalence.shares)
        shown = np.log(prevalence.shares / model.priors)
        return cls(
            float(model.temperature),
            1.0 if site is None else float(site.temperature),
            [0.0] * model.classes_.size if site is None else site.intercept.tolist(),
            None if model.threshold is None else model.positive_index,
            None if model.threshold is None else float(model.threshold),
            None if costs is None else costs.tolist(),
            shown.tolist(),
            shown.tolist() if prevalence.is_stated else [0.0] * shown.size,
        )

    def is_settled(self, margins: NDArray, label: int, reject: float | None) -> bool:
        """Whether no answer can change the label, nor whether it is referred to a person.

        `margins` (n_classes, n_classes).
        """
        plain = margins / self.temperature
        site = np.array(self.site_intercept)
        shown = plain / self.site_temperature + site[:, None] - site[None, :]
        others = [k for k in range(len(margins)) if k != label]
        slack = _SLACK * (1 + np.abs(shown[np.isfinite(shown)]).max(initial=0.0))
        if self.costs is not None:
            if not _is_cheapest(np.array(self.costs), shown, label):
                return False
        elif self.threshold is None or self.positive is None:
            if (shown[label, others] <= slack).any():
                return False
        else:
            low, high = _share_bounds(plain, self.positive)
            rest = [k for k in others if k != self.positive]
            if label == self.positive:
                if low < self.threshold + _SLACK:
                    return False
            elif high >= self.threshold - _SLACK or (plain[label, rest] <= slack).any():
                return False
        if reject is None:
            return True
        more = np.array(self.referred)
        shown = shown + more[:, None] - more[None, :]
        bounds = [_share_bounds(shown, c) for c in range(len(shown))]
        kept = any(low >= reject + _SLACK for low, _ in bounds)
        return kept or all(high < reject - _SLACK for _, high in bounds)


def _is_cheapest(costs, margins, label):
    """Whether the label has the smallest expected cost for all answers; exact for two classes."""
    more = costs - costs[:, [label]]  # what another label costs more, by true and other class
    with np.errstate(over="ignore", invalid="ignore"):
        # Bounds of the probability of each class over that of the label.
        low, high = np.exp(margins[:, label]), np.exp(-margins[label])
        least = np.where(more > 0, low[:, None] * more, high[:, None] * more)
    least[more == 0] = 0.0
    others = np.arange(len(costs)) != label
    size = np.abs(least[np.isfinite(least)]).max(initial=0.0)
    return bool((least.sum(axis=0)[others] > _SLACK * (1 + size)).all())


def _share_bounds(margins, c):
    """Bounds of the probability of a class; exact for two classes."""
    others = [k for k in range(len(margins)) if k != c]
    with np.errstate(over="ignore"):
        low = 1 / (1 + np.exp(-margins[c, others]).sum())
        high = 1 / (1 + np.exp(margins[others, c]).sum())
    return float(low), float(high)


def make_terms(model: TableModel) -> Terms | None:
    """The decisions of a model as a sum; None if they are not one."""
    found = _curves(model.estimator)
    if found is None:
        return None
    curves, base = found
    fields = [
        _with_candidates(one, [curves[j] for j in one.columns]) for one in fields_of(model, curves)
    ]
    costs = [_cost(model, one.field) for one in fields]
    # What can change most per unit of cost comes first; what is free, before all.
    order = sorted(
        range(len(fields)),
        key=lambda at: (costs[at] > 0, -fields[at].spread() / (costs[at] or 1.0)),
    )
    return Terms(np.maximum(base, _NEVER), [fields[at] for at in order])


def _cost(model, one):
    """Cost of a field, from the features file."""
    return float(model.descriptions.get(one.name, {}).get("cost", 1.0))


def _curves(estimator):
    """The curve of each column that the model uses, and the decisions without any."""
    form = linear_form(estimator)
    if form is not None:
        curves: dict[int, Any] = {
            int(j): Linear(form.weights[:, k], float(form.reference[k]))
            for k, j in enumerate(form.columns)
            if np.ptp(form.weights[:, k]) > 0  # otherwise it changes no margin
        }
        return curves, form.bias
    if type(estimator).__name__.startswith("SparseCenter") and estimator._metric == "l1":
        record = estimator.to_record()
        centers, scale = np.array(record["class_centers"]), np.array(record["scale"])
        dispersion, units = record["dispersion"], record["other_units"]
        if units is not None:
            unit = np.array(units["unit"])
            centers, scale = centers * unit, np.array(units["scale"]) * unit
            dispersion /= units["reference"]
        factor = dispersion * record["temperature"]
        curves = {j: Absolute(centers[:, j], float(scale[j] * factor)) for j in record["features"]}
        log_priors = np.array([float(prior) for prior in record["log_priors"]])
        return curves, log_priors / record["temperature"]
    return None


def _with_candidates(one, curves):
    """Terms of a field, with the answers where margins can be smallest."""
    if one.kind == "choice":
        answers = [one.encode(choice) for choice in one.choices]
        if one.zeros is None or one.zeros:
            answers.append([0.0] * len(one.columns))
        answers.append(one.fill)
        candidates = [
            sum(curve.at(value) for curve, value in zip(curves, values, strict=True))
            for values in answers
        ]
        return FieldTerms(one, curves, np.array(candidates), np.zeros((0, len(candidates[0]))))
    (curve,) = curves
    low = -np.inf if one.low is None else one.low
    high = np.inf if one.high is None else one.high
    places = [x for x in (low, high) if np.isfinite(x)] + one.fill
    places += [x for x in curve.turns() if low < x < high]
    candidates = np.array([curve.at(x) for x in places])
    slopes = [curve.slope(sign) for x, sign in ((low, -1.0), (high, 1.0)) if np.isinf(x)]
    directions = np.array(slopes).reshape(-1, candidates.shape[1])
    return FieldTerms(one, curves, candidates, directions)
