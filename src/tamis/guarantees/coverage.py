r"""What may be said about the prediction sets of `tamis.guarantees.conformal`.

With n calibration rows and one model, :math:`l = \lfloor \alpha (n + 1) \rfloor` of n + 1 places
are left out, and coverage given the calibration rows is Beta(n + 1 - l, l) over calibrations
(without ties). With K models, a class can be left out of a set only if
:math:`K / (n_c + K) \le \alpha`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tamis._base import name_some
from tamis.paths.calibration_rows import check_share

_MOST_NAMED = 5
_ROUNDING = 1e-9  # of alpha (n + 1): 1 - 0.9 is not exactly 0.1


def calibration_rows_needed(alpha: float = 0.05, n_folds: int = 1) -> int:
    """Calibration rows that a class needs so that any prediction set can leave it out.

    Parameters
    ----------
    alpha : float, default=0.05
        As for `ConformalClassifier`.
    n_folds : int, default=1
        Folds of method "cross"; 1 for "split".

    Returns
    -------
    n_rows : int
        ``n_folds * (1 / alpha - 1)``, rounded up.

    Examples
    --------
    >>> from tamis.guarantees import calibration_rows_needed
    >>> calibration_rows_needed(0.05), calibration_rows_needed(0.05, n_folds=5)
    (19, 95)
    """
    return math.ceil(n_folds * (1 / check_share("alpha", alpha) - 1) - _ROUNDING)


@dataclass(frozen=True)
class Coverage:
    """The guarantee of prediction sets, and its limits.

    Attributes
    ----------
    alpha : float
        As for `ConformalClassifier`.
    n_folds : int or None
        Folds of method "cross"; None for "split".
    classes : ndarray of shape (n_classes,)
        Class labels.
    n_calibration : ndarray of int of shape (n_classes,)
        Rows of the conformal calibration set that count for each class.
    class_conditional : bool
        Whether the guarantee holds for each class.
    """

    alpha: float
    n_folds: int | None
    classes: NDArray
    n_calibration: NDArray[np.intp]
    class_conditional: bool

    @property
    def guaranteed(self) -> float:
        """Probability, at least, that the true class is in the set: 1 - alpha or 1 - 2 alpha."""
        return 1 - self.alpha if self.n_folds is None else max(0.0, 1 - 2 * self.alpha)

    @property
    def n_needed(self) -> int:
        """Rows in the conformal calibration set that a class needs to be left out of any set."""
        return calibration_rows_needed(self.alpha, self.n_folds or 1)

    @property
    def small_classes(self) -> NDArray:
        """Classes with fewer rows than that: they are in every set."""
        return self.classes[self.n_calibration < self.n_needed]

    @property
    def beta(self) -> NDArray[np.intp]:
        """Parameters of the Beta distribution of coverage, (n_classes, 2); "split" only.

        The second one is 0 for a class that is in every set.
        """
        if self.n_folds is not None:
            raise ValueError(
                'The spread of coverage over calibrations is known only for method="split".'
            )
        n = self.n_calibration
        left_out = np.floor(self.alpha * (n + 1) + _ROUNDING).astype(np.intp)
        return np.column_stack([n + 1 - left_out, left_out])

    @property
    def ranges(self) -> NDArray[np.float64]:
        """Where coverage lies for the central 95 % of calibrations, (n_classes, 2)."""
        ranges = np.ones(self.beta.shape)
        some = self.beta[:, 1] > 0
        ranges[some] = beta.ppf(np.array([[0.025], [0.975]]), *self.beta[some].T).T
        return ranges

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """What may be said, one statement at a time."""
        whom = "a new row of each class" if self.class_conditional else "a new row"
        least = _percent(self.guaranteed)
        if self.n_folds is None:
            yield f"The set of {whom} contains its true class with probability at least {least}."
            yield (
                "The calibration set was set aside before anything else, and the calibrated model "
                "is never refitted."
            )
        else:
            yield (
                f"The set of {whom} contains its true class with probability at least {least} "
                "(1 - 2 alpha, guaranteed), usually about "
                f"{_percent(1 - self.alpha)} (1 - alpha) or more."
            )
            yield (
                f"The whole selection was repeated without each of the {self.n_folds} folds, and "
                f"all {self.n_folds} models are kept and used."
            )
        yield from self._about_small_classes()
        if self.n_folds is None:
            yield from self._about_calibrations()
        yield "This does not limit the error rate among rows whose set has a single class."

    def _about_small_classes(self):
        if not self.small_classes.size:
            return
        if self.class_conditional:
            is_small = self.n_calibration < self.n_needed
            small = list(
                zip(self.small_classes.tolist(), self.n_calibration[is_small], strict=True)
            )
            for name, n in small[:_MOST_NAMED]:
                rows = "row" if n == 1 else "rows"
                yield (
                    f"Class {name!r} has {n} {rows} in the calibration set; {self.n_needed} are "
                    f"needed to leave it out at {_percent(1 - self.alpha)}: it is in every set."
                )
            if len(small) > _MOST_NAMED:
                others = [name for name, _ in small[_MOST_NAMED:]]
                yield f"In every set for the same reason: {name_some(others)}."
        else:
            yield (
                "Every set has all classes, because a class can be left out only with "
                f"{self.n_needed} or more rows in the calibration set."
            )

    def _about_calibrations(self):
        of_class = zip(
            self.classes.tolist(), self.n_calibration, self.beta, self.ranges, strict=True
        )
        for name, n, (a, b), (low, high) in of_class:
            if b:
                whose = f" of class {name!r}" if self.class_conditional else ""
                yield (
                    f"With {n} rows{whose} in the calibration set, coverage over calibrations is "
                    f"Beta({a}, {b}): 95 % of calibrations give {_percent(low)} to "
                    f"{_percent(high)}."
                )
            if not self.class_conditional:
                return


def _percent(share):
    # Only 1 is 100 %: a promise must not be rounded up to certainty.
    return f"{100 * share:.1f} %" if share < 0.9995 or share == 1 else f"{100 * share:.8g} %"
