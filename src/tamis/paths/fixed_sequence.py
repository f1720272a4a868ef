r"""Fixed-sequence testing: the cheapest of several models whose error rate is shown to be small.

Models :math:`m = 1, \dots, M` are ordered from the safest to the cheapest, without looking at the
calibration rows. On n calibration rows, model m makes :math:`e_m` errors. The hypothesis "its
error rate is above :math:`\alpha`" has the p-value

.. math:: p_m = P(\mathrm{Bin}(n, \alpha) \le e_m).

Models are tested in their order, each at level :math:`\delta`, until the first that fails
(:math:`p_m > \delta`); the answer is the last one that passed, and none if the first fails.
Because testing stops there, the probability that any model passes wrongly is at most
:math:`\delta`, whatever M: the first model whose error rate is above :math:`\alpha` has to pass
its own test [1]_, [2]_. Several limits at once (error rate, miss rates of classes) have the
largest of their p-values. Balanced accuracy is not binomial; limit the miss rate of each class
instead.

References
----------
.. [1] Bauer, "Multiple testing in clinical trials", Statistics in Medicine 10, 1991.
.. [2] Angelopoulos, Bates, Candes, Jordan and Lei, "Learn then test: calibrating predictive
   algorithms to achieve risk control", 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tamis._base import is_real, name_some
from tamis.paths.calibration_rows import check_share, one_row_per_group

__all__ = ["ROUNDING", "Limit", "SequenceTest", "make_limits", "rows_needed", "run_sequence"]

# Probabilities closer than this are equal: 1 - 0.95 is not exactly 0.05.
ROUNDING = 1e-12


def rows_needed(max_rate: float, confidence: float = 0.95) -> int:
    r"""The fewest calibration rows with which a rate can be shown to be at most `max_rate`.

    Without a single error, :math:`(1 - \alpha)^n \le \delta` is needed, so
    :math:`n \ge \ln \delta / \ln (1 - \alpha)`.

    `max_rate`: the limit :math:`\alpha`; `confidence`: :math:`1 - \delta`.

    Examples
    --------
    >>> from tamis.paths.fixed_sequence import rows_needed
    >>> [rows_needed(rate) for rate in (0.1, 0.05, 0.01)]
    [29, 59, 299]
    >>> rows_needed(0.05, confidence=0.9)
    45
    """
    max_rate = check_share("max_rate", max_rate)
    delta = 1 - check_share("confidence", confidence)
    return max(1, math.ceil(math.log(delta) / math.log1p(-max_rate) - ROUNDING))


@dataclass(frozen=True)
class Limit:
    """A limit for the rate of wrong labels among some rows."""

    rate: str  # what is limited: "error rate", or "false-negative rate of class 'ill'"
    most: float  # the limit
    # Calibration rows that count: of one class if it is a false-negative rate, one per sample
    # group.
    rows: NDArray[np.intp]

    def __str__(self) -> str:
        return f"{self.rate} at most {100 * self.most:.4g} %"


@dataclass(frozen=True)
class SequenceTest:
    """What fixed-sequence testing found, for M models in their order and L limits."""

    limits: Sequence[Limit]
    confidence: float  # that no model passes whose true rates are above the limits
    errors: NDArray[np.intp]  # (n_limits, n_models): wrong labels among the rows of each limit
    p_values: NDArray[np.float64]  # (n_models,): the largest over the limits
    n_passed: int  # models that passed before the first that failed

    @property
    def chosen(self) -> int | None:
        """Place of the cheapest model that passed; None if the first failed."""
        return self.n_passed - 1 if self.n_passed else None

    def statement(self) -> str:
        """What was shown, or why nothing was, in words."""
        claim = " and ".join(map(str, self.limits))
        sure = f"with {100 * self.confidence:.4g} % confidence"
        place = self.chosen
        if place is not None:
            return f"{claim[0].upper()}{claim[1:]}, {sure} ({self._evidence(place)})."
        said = f"None: {claim}, {sure}, could not be shown even for the safest model"
        for limit in self.limits:
            needed = rows_needed(limit.most, self.confidence)
            if limit.rows.size < needed:
                return (
                    f"{said}. The {limit.rate} needs at least {needed} rows in the calibration "
                    f"set, even without any error; there are {limit.rows.size}."
                )
        return f"{said} ({self._evidence(0)})."

    def _evidence(self, place):
        found = [
            f"wrong on {errors[place]} of {limit.rows.size} rows of the calibration set"
            for limit, errors in zip(self.limits, self.errors, strict=True)
        ]
        return found[0] if len(found) == 1 else "respectively " + ", ".join(found)


def make_limits(
    codes: NDArray,
    classes: NDArray,
    max_error: float | None,
    max_misses: float | Mapping | None,
    groups: NDArray | None,
    rng: np.random.Generator,
) -> list[Limit]:
    """The limits that a user asked for, with the calibration rows that count for each.

    `codes` (n_rows,): indices into `classes`; `classes` (n_classes,); `max_error`: limit of the
    error rate; `max_misses`: limit of the false-negative rate of each class, or of the classes
    that a dict names; `groups` (n_rows,) or None: sample groups: one random row of each counts.
    """
    limits = []
    if max_error is not None:
        rows = one_row_per_group(np.arange(codes.size), groups, rng)
        limits.append(Limit("error rate", check_share("max_error", max_error), rows))
    names = classes.tolist()
    limit_of: Any = dict.fromkeys(names, max_misses) if is_real(max_misses) else max_misses
    if limit_of is not None and not isinstance(limit_of, Mapping):
        raise ValueError(
            "max_misses must be a number, or a dict from classes to numbers, between 0 and 1; got "
            f"{max_misses!r}."
        )
    for name, most in (limit_of or {}).items():
        if name not in names:
            raise ValueError(
                f"max_misses names the class {name!r}, which is not among the classes "
                f"{name_some(names)}."
            )
        rows = one_row_per_group(np.flatnonzero(codes == names.index(name)), groups, rng)
        most = check_share(f"max_misses of class {name!r}", most)
        limits.append(Limit(f"false-negative rate of class {name!r}", most, rows))
    if not limits:
        raise ValueError("Give max_error, max_misses or both: nothing says which errors to limit.")
    return limits


def run_sequence(
    is_wrong: NDArray[np.bool_], limits: Sequence[Limit], confidence: float = 0.95
) -> SequenceTest:
    """Test models in their order until the first that fails.

    `is_wrong` (n_models, n_rows): whether each model's label of each calibration row is wrong;
    from the safest model to the cheapest. The order must not depend on the calibration rows.
    """
    delta = 1 - check_share("confidence", confidence)
    errors = np.array([is_wrong[:, limit.rows].sum(axis=1) for limit in limits])
    p_values = np.max(
        [
            binom.cdf(wrong, limit.rows.size, limit.most)
            for wrong, limit in zip(errors, limits, strict=True)
        ],
        axis=0,
    )
    passes = p_values <= delta + ROUNDING
    n_passed = int(np.argmin(passes)) if not passes.all() else passes.size
    return SequenceTest(tuple(limits), float(confidence), errors, p_values, n_passed)
