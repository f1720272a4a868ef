"""At which class frequencies probabilities are shown, and why a decision may differ from them.

A model that gives all classes equal weight has probabilities for equally frequent classes. A
person reads a probability as that of the people around them, so whatever is shown to a person is
re-based to a stated prevalence: that of the training rows, unless another one is given. Labels do
not change with it, except those of the smallest expected cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError, listed

# A class whose rows all have the weight 0 still has a frequency.
_SMALLEST = 1e-9
_TRAINING = "training"


@dataclass(frozen=True)
class Prevalence:
    """Class frequencies that probabilities are shown for."""

    shares: NDArray[np.float64]  # (n_classes,)
    # Of the training rows, of the rows that recalibrated the model, stated by the user, or, for
    # want of those, what the model assumes.
    source: str
    told: str  # the frequencies in words, such as "12.3 % are ill"

    @property
    def is_stated(self) -> bool:
        """Whether a user gave it."""
        return self.source == "stated"

    def sentence(self, *, on_page: bool = False) -> str:
        """What the probabilities stand for, for whoever runs a command or reads a page."""
        said = f"Probabilities hold where {self.told}"
        if self.source == "stated":
            return f"{said}, as stated."
        # A page is read by people who did not make it: no options for them.
        remedy = "" if on_page else " --prevalence states another."
        if self.source == "unknown":
            return (
                f"{said}: the model file does not say how frequent they were in training.{remedy}"
            )
        rows = "the data that recalibrated the model" if self.source == "site" else "training"
        said = f"{said}, as in {rows}."
        return said if on_page else f"{said} {self.caution}{remedy}"

    @property
    def caution(self) -> str:
        """When the class frequencies of the rows are not those in practice; "" if stated."""
        if self.source not in ("training", "site"):
            return ""
        return (
            "If rows were sampled by class, as in a case-control study, that is not the "
            "prevalence in practice."
        )


def find_prevalence(model: TableModel, given: Any = None) -> Prevalence:
    """The class frequencies that probabilities are shown for.

    `given`: a number is the share of the positive class of two (the second, if none is named).
    Classes that a mapping leaves out share the rest as in training. None and "training": those of
    the training rows. Returns `prevalence`: InputError is raised if the classes or numbers do not
    fit.
    """
    if isinstance(given, Prevalence):
        return given
    labels = [str(label) for label in model.classes_.tolist()]
    known = model.priors if model.frequencies is None else model.frequencies
    known = np.maximum(known / np.sum(known), _SMALLEST)
    if given is None or given == _TRAINING:
        source = "training" if model.recalibration is None else "site"
        source = "unknown" if model.frequencies is None else source
        return Prevalence(known, source, _tell(known, labels, model.positive_index))
    if not isinstance(given, Mapping):
        if len(labels) > 2:
            raise InputError(
                f"--prevalence {given}: there are {len(labels)} classes, so name them: "
                f"--prevalence {labels[0]}={given}."
            )
        at = 1 if model.positive_index is None else model.positive_index
        given = {labels[at]: given}
    stated = np.full(len(labels), np.nan)
    for label, share in given.items():
        if str(label) not in labels:
            raise InputError(
                f"--prevalence: no class {str(label)!r}; the classes are {listed(labels, 10)}."
            )
        if not 0 < share < 1:
            raise InputError(
                f"--prevalence {label}={share:g}: expected a proportion above 0 and below 1."
            )
        stated[labels.index(str(label))] = share
    rest, left = np.isnan(stated), 1 - np.nansum(stated)
    if (rest.any() and left <= 0) or (not rest.any() and abs(left) > 1e-6):
        what = "leave something for the other classes" if rest.any() else "sum to 1"
        raise InputError(f"--prevalence must {what}; the proportions sum to {1 - left:.7g}.")
    shares = np.where(rest, known / known[rest].sum() * left if rest.any() else 0.0, stated)
    return Prevalence(shares, "stated", _tell(shares, labels, model.positive_index))


def _tell(shares, labels, positive):
    if np.ptp(shares) < 1e-9:
        return "all classes are equally frequent"
    if len(labels) == 2:
        told = [f"{percent(p)} are {one}" for one, p in zip(labels, shares, strict=True)]
        return " and ".join(told) if positive is None else told[positive]
    return f"the classes have these proportions: {tell_shares(shares, labels)}"


def tell_assumed(model: TableModel) -> str:
    """What the probabilities of a model stand for if no prevalence is stated."""
    labels, told = [str(label) for label in model.classes_.tolist()], "equally frequent classes"
    if np.ptp(model.priors) > 1e-9:
        told = f"class frequencies of {tell_shares(model.priors, labels)}"
    if model.frequencies is not None and np.abs(model.frequencies - model.priors).max() > 1e-9:
        told += f" (in training: {tell_shares(model.frequencies, labels)})"
    return f"probabilities are for {told}"


def tell_shares(shares: NDArray, labels: list[str]) -> str:
    """Shares by class, in words."""
    return listed([f"{one} {percent(p)}" for one, p in zip(labels, shares, strict=True)], 6)


def percent(share: float) -> str:
    """A share in percent, with three digits."""
    return f"{100 * share:.3g} %"


def why_not_likeliest(model: TableModel, label: int, likeliest: int) -> str:
    """Why a model decides for a class that is not the most probable one that is shown.

    Returns `reason`: what follows "decides for this class:".
    """
    if model.misclassification is not None:
        name, other = (str(model.classes_[c]) for c in (label, likeliest))
        missed, alarm = model.misclassification[[label, likeliest], [likeliest, label]]
        if alarm > 0 and missed > alarm:
            return f"missing it costs {missed / alarm:.3g} times as much as a false alarm"
        if missed > alarm:
            return f"calling {name} {other} costs {missed:.3g}, and the other way round nothing"
        return "it has the smallest expected cost of errors"
    if model.threshold is not None:
        return f"{model.positive} has a threshold of its own, chosen for its sensitivity"
    if np.ptp(model.priors) < 1e-9:
        return "all classes have equal weight"
    site = "the data that recalibrated it" if model.recalibration is not None else "training"
    return f"the model decides by the class frequencies of {site}"
