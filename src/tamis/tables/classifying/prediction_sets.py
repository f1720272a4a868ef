r"""Prediction sets of a model whose calibration rows were set aside before anything else.

How strange row x looks for class c is :math:`s(x, c) = -P(c \mid x)`, with the probabilities after
the temperature and before any other priors or recalibration. Class c is in the set of x if

.. math:: \frac{1 + \#\{i : y_i = c,\ s(x_i, c) \ge s(x, c)\}}{n_c + 1} > \alpha

over the :math:`n_c` calibration rows of class c, one per sample group: the sets of
`tamis.guarantees.conformal` with one model and a guarantee for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import Record, plain
from tamis.paths.calibration_rows import check_share, count_as_strange
from tamis.paths.fixed_sequence import ROUNDING
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.guarantees.coverage import Coverage


@dataclass(frozen=True)
class SetCalibration:
    """How strange the calibration rows look for their own classes."""

    # For each class, minus the probability of it for its calibration rows, ascending.
    scores: list[NDArray]

    @classmethod
    def of(cls, probabilities: NDArray, rows: list[NDArray]) -> SetCalibration:
        """From the probabilities of calibration rows, and the rows that count for each class."""
        return cls([np.sort(-probabilities[some, c].clip(0, 1)) for c, some in enumerate(rows)])

    @property
    def n_calibration(self) -> NDArray[np.intp]:
        """Calibration rows that count for each class."""
        return np.array([scores.size for scores in self.scores], dtype=np.intp)

    def predict_set(self, probabilities: NDArray, coverage: float) -> NDArray[np.bool_]:
        """Which classes are in the set of each row, (n_rows, n_classes)."""
        columns = zip(self.scores, -probabilities.T, strict=True)
        count = np.column_stack([count_as_strange(known, new) for known, new in columns])
        return (1 + count) / (1 + self.n_calibration) > 1 - coverage + ROUNDING

    def coverage(self, classes: NDArray, coverage: float) -> Coverage:
        """What the sets guarantee."""
        from tamis.guarantees.coverage import Coverage  # here, because most models have no sets

        alpha = round(1 - coverage, 12)  # 1 - 0.95 is not exactly 0.05
        return Coverage(alpha, None, classes, self.n_calibration, class_conditional=True)

    # Records.

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"classes": [{"scores": plain(scores)} for scores in self.scores]}

    @classmethod
    def from_record(cls, record: Record, n_classes: int) -> SetCalibration:
        """The calibration of a record."""
        parts = record.parts("classes")
        record.require(len(parts) == n_classes, "classes", f"{n_classes} objects")
        found = []
        for part in parts:
            found.append(part.numbers("scores", (None,), low=-1.0, high=0.0))
            part.require((np.diff(found[-1]) >= 0).all(), "scores", "ascending")
            part.finish()
        record.finish()
        return cls(found)


def check_coverage(model: Any, coverage: float) -> float:
    """The coverage, if it is a share and the model has what prediction sets need."""
    if model.calibration is None and model.recalibration is not None:
        raise InputError(
            "--coverage: this model was recalibrated at another site, where its calibration set "
            "guarantees nothing. Use the model of tamis fit on data like its own, or fit a new "
            "one here."
        )
    if model.calibration is None:
        raise InputError(
            "--coverage: this model has no prediction sets, because no rows were set aside for "
            "them alone. Fit it with --calibration-share 0.3 (and without --max-error and "
            "--max-miss, whose rows choose the model)."
        )
    return check_share("coverage", coverage)


def join_labels(labels: list) -> str:
    r"""Labels of a set as one cell: joined by " | ", with a backslash before | and \ in a label.

    Examples
    --------
    >>> join_labels(["ill", "well"]), join_labels([])
    ('ill | well', '')
    >>> print(join_labels(["a|b", "c"]))
    a\|b | c
    """
    return " | ".join(str(label).replace("\\", r"\\").replace("|", r"\|") for label in labels)
