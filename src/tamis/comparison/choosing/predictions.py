"""Honest predictions: one for each row, by a choice in which the row had no say.

For each row, the method and the level were chosen from predictions of other rows, and the model
that predicts it was trained without it. So was the temperature, except with many rows (out-of-bag
choices), where it is one number from all of them. Calibration, decision curves and scores of
subgroups come from these predictions; those of the recommended model were used to recommend it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import softmax
from tamis.models.standalone.headings import headings
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison

__all__ = ["Predictions", "tabulate", "temper"]


@dataclass
class Predictions:
    """Predictions of all rows."""

    # (n_rows, n_classes): calibrated; for equal priors if all classes have equal weight.
    probabilities: NDArray[np.float64]
    # (n_rows,): predicted classes: with a minimal sensitivity, by a threshold.
    labels: NDArray[np.intp]

    @classmethod
    def empty(cls, n_rows: int, n_classes: int) -> Predictions:
        """Predictions to be filled."""
        return cls(np.zeros((n_rows, n_classes)), np.zeros(n_rows, dtype=np.intp))


def temper(probabilities: NDArray, temperature: float | NDArray) -> NDArray[np.float64]:
    """Probabilities at another temperature: ``p ** (1 / temperature)``, normalised per row."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.asarray(probabilities, dtype=np.float64)), -50.0)
    return softmax(logs / temperature)


def tabulate(comparison: Comparison) -> dict[str, Any]:
    """The honest predictions of all rows, as columns.

    `comparison`: with an honest score. Returns `columns`: see `Comparison.honest_predictions`.
    """
    honest, table, problem = comparison.honest, comparison.data, comparison.problem
    if honest is None or honest.predictions is None or table is None:
        raise InputError("there are no honest predictions, because there is no honest score.")
    made, labels = honest.predictions, problem.classes.tolist()
    folds = np.zeros(problem.n_rows, dtype=np.intp)
    for fold in comparison.folds:
        if fold.repeat == 0:
            folds[fold.test] = fold.number + 1
    names = {} if table.ids is None else {"id": table.ids.tolist()}
    weights = {} if problem.weights is None else {"weight": problem.weights.tolist()}
    values = [[labels[c] for c in made.labels], *made.probabilities.T.tolist()]
    return {
        "row": table.row_numbers.tolist(),
        **names,
        "fold": folds.tolist(),
        **weights,
        "label": [labels[c] for c in problem.codes],
        **dict(zip(headings(labels), values, strict=True)),
    }
