r"""The fewest questions with which errors are shown to be rare.

The policies of a path are tested on calibration rows, from the smallest cost weight (the most
questions) to the largest, by `tamis.paths.fixed_sequence`. The answer is the cheapest one reached.
If budgets vary as well, the order is that of the mean costs on the training rows.

The questions that it takes are given as a mean over the calibration rows, one per sample group,
with an approximate interval for all M policies at once, so that it survives the choice of one:
:math:`\bar q \pm t_{1 - \delta / (2 M)} \sqrt{s^2 / n + 1 / (n + 2)^2}` with Student's t of n - 1
degrees of freedom. The second term keeps an equal number on all rows from being certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from tamis.paths.fixed_sequence import Limit, SequenceTest, run_sequence
from tamis.paths.path import Usage


@dataclass(frozen=True)
class Estimate:
    """A mean over the conformal calibration set, with an approximate interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class CalibratedQuestions:
    """The cheapest datum-wise model whose errors are shown to be rare.

    Attributes
    ----------
    model : DatumWiseClassifier, DatumWiseClassifierCV or None
        The model; None if even the one with the most questions did not pass.
    cost_weight : float or None
        Its cost weight.
    n_questions, cost : Estimate or None
        Questions that it asks a row for on average, and their cost, with intervals.
    cost_weights : ndarray of shape (n_models,)
        All cost weights, in the order of the tests: ascending, unless budgets vary as well.
    test : SequenceTest
        Errors and p-values of all models, in this order.
    budgets : tuple of int or None, or None
        Largest numbers of features of all models, in this order; None if they do not vary.
    """

    model: Any
    cost_weight: float | None
    n_questions: Estimate | None
    cost: Estimate | None
    cost_weights: NDArray[np.float64]
    test: SequenceTest
    budgets: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.n_questions is None:
            return self.test.statement()
        share = f"{100 * self.test.confidence:.4g} %"
        return (
            f"{self.test.statement()} This takes {self.n_questions.mean:.3g} questions per row "
            f"on average ({share} interval: {self.n_questions.low:.3g} to "
            f"{self.n_questions.high:.3g})."
        )


def calibrate_levels(
    is_wrong: NDArray[np.bool_],
    usage: Usage,
    limits: list[Limit],
    rows: NDArray[np.intp],
    confidence: float,
) -> tuple[SequenceTest, Estimate | None, Estimate | None]:
    """Test the levels of a path from the last, and estimate what the chosen one asks for.

    `is_wrong` (n_levels, n_rows). Returns `test`: from the last level to the first; `n_questions`,
    `cost`: of the chosen level; None if there is none.
    """
    test = run_sequence(is_wrong[::-1], limits, confidence)
    if test.chosen is None:
        return test, None, None
    level = len(is_wrong) - 1 - test.chosen
    return (
        test,
        _estimate(usage.n_features[level, rows], len(is_wrong), confidence),
        _estimate(usage.cost[level, rows], len(is_wrong), confidence),
    )


def _estimate(values, n_levels, confidence):
    """Mean and interval of one level, for all levels at once."""
    n, mean = values.size, float(values.mean())
    if n < 2:
        return Estimate(mean, 0.0, np.inf)
    error = np.sqrt(values.var(ddof=1) / n + 1 / (n + 2) ** 2)
    margin = float(student.isf((1 - confidence) / (2 * n_levels), n - 1) * error)
    return Estimate(mean, max(0.0, mean - margin), mean + margin)
