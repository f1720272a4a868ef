"""Decisions as the saved model makes them: by probability, by a threshold, or by expected cost.

Every score that is reported is of these decisions. The choice of method and level is made by
probability, or by threshold: costs of errors only decide between classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import adjust
from tamis.comparison.choosing.predictions import temper
from tamis.comparison.choosing.results import calibrate
from tamis.tables.classifying.deciding import decide, decide_by_cost

if TYPE_CHECKING:
    from tamis.comparison.choosing.results import MethodResult
    from tamis.comparison.problem.problem import Problem
    from tamis.comparison.settings import Settings

__all__ = [
    "at_frequencies",
    "decide_level",
    "decide_rows",
    "decides_by",
    "is_doubtful",
    "only_class",
    "tell_unfinished",
    "what_is_best",
]

# Codes of checks after which a score should not be reported: leaks, and no better than chance.
_DOUBTFUL = {
    "chance",
    "identifier-in-disguise",
    "one-sided-column",
    "revealing-category",
    "revealing-missingness",
    "separating-column",
    "time-in-disguise",
}


def decides_by(settings: Settings) -> str:
    """What the saved model decides by: "probability", "threshold" or "expected cost"."""
    if settings.misclassification is not None:
        return "expected cost"
    return "probability" if settings.min_sensitivity is None else "threshold"


def at_frequencies(probabilities: NDArray, problem: Problem) -> NDArray[np.float64]:
    """Probabilities for the class frequencies of the data."""
    return adjust(probabilities, 1.0, problem.priors, problem.frequencies)


def decide_rows(
    probabilities: NDArray,
    problem: Problem,
    settings: Settings,
    *,
    threshold: float | None = None,
    temperature: float | NDArray = 1.0,
) -> NDArray[np.intp]:
    """Class indices as the saved model decides.

    `probabilities` (n_rows, n_classes): as a path gives them: not calibrated. `threshold`: for the
    probability of the positive class. `temperature` (n_rows, 1): calibrates the probabilities;
    only expected costs depend on it. Returns `labels` (n_rows,).
    """
    if settings.misclassification is None:
        return decide(probabilities, settings.positive, threshold)
    calibrated = at_frequencies(temper(probabilities, temperature), problem)
    return decide_by_cost(calibrated, np.array(settings.misclassification))


def decide_level(
    result: MethodResult, at: int, problem: Problem, settings: Settings
) -> NDArray[np.intp]:
    """Out-of-fold labels of one level as the saved model decides: (n_repeats, n_rows)."""
    assert result.labels is not None
    if settings.misclassification is None:
        return result.labels[at]
    temperature = calibrate(result, at, problem)
    return np.stack(
        [decide_rows(p, problem, settings, temperature=temperature)
         for p in result.probabilities[at]]
    )  # fmt: skip


def only_class(model: dict[str, Any]) -> str | None:
    """The class that a model of `metrics.json` decides for all rows; None if there are several."""
    counts = np.array(model["confusion"]["true_in_rows"])
    decided = np.flatnonzero(counts.sum(axis=0))
    return model["confusion"]["classes"][decided[0]] if decided.size == 1 else None


def is_doubtful(metrics: dict[str, Any]) -> bool:
    """Whether a warning of `metrics.json` says that the score may mean nothing."""
    found = metrics.get("checks", ())
    return any(c["severity"] == "warning" and c["code"] in _DOUBTFUL for c in found)


def tell_unfinished(metrics: dict[str, Any]) -> str | None:
    """A warning about a comparison of some of its methods only; None if all were compared."""
    left, n_done = metrics["unfinished"], len(metrics["methods"])
    if not left:
        return None
    return (
        f"unfinished: only {n_done} of {n_done + len(left)} methods "
        f"{'was' if n_done == 1 else 'were'} compared (not finished: {', '.join(left)}). Repeat "
        "the command before you report anything."
    )


def what_is_best(model: dict[str, Any]) -> str:
    """Which best model a recommended one is compared with, in words: no better baseline."""
    baseline = model.get("best_baseline")
    return "that may be recommended" if baseline and baseline["is_better"] else "compared"
