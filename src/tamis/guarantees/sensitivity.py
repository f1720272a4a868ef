r"""A threshold that finds at least a share S of the positive rows, with confidence.

**The idea.** Calibration rows of the positive class, which chose neither the model nor its level,
show how low scores of positive rows get. A row is called positive if its score is at least the
r-th smallest of their n scores.

**The equations.** The true miss rate is at most the r-th smallest of n uniform numbers, which is
below :math:`1 - S` when at least r of them are. So sensitivity is at least S with
confidence :math:`1 - \delta` for the largest r with

.. math:: P(\mathrm{Bin}(n, 1 - S) \ge r) \ge 1 - \delta,

whatever the distribution of the scores. r = 1, the smallest score, needs :math:`S^n \le \delta`:
at least :math:`n \ge \ln \delta / \ln S` positive rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from tamis.paths.calibration_rows import check_share, number_groups, one_row_per_group
from tamis.paths.fixed_sequence import ROUNDING, rows_needed
from tamis.paths.seeds import as_seed


def positives_needed(sensitivity: float, confidence: float = 0.95) -> int:
    """The smallest number of positive rows that can guarantee a sensitivity.

    Parameters
    ----------
    sensitivity : float
        Smallest proportion of the positive rows to find.
    confidence : float, default=0.95
        Confidence of the guarantee.

    Returns
    -------
    n_rows : int
        Positive rows, or sample groups with positive rows.

    Examples
    --------
    >>> from tamis.guarantees import positives_needed
    >>> [positives_needed(sensitivity) for sensitivity in (0.9, 0.95, 0.99)]
    [29, 59, 299]
    """
    return rows_needed(1 - check_share("sensitivity", sensitivity), confidence)


@dataclass(frozen=True)
class SensitivityThreshold:
    """A threshold, and what it guarantees.

    Attributes
    ----------
    threshold : float
        Rows with at least this score are called positive.
    sensitivity, confidence : float
        What was asked for.
    n_positives : int
        Positive rows that were counted, one per sample group.
    rank : int
        The threshold is the rank-th smallest of their scores.
    """

    threshold: float
    sensitivity: float
    confidence: float
    n_positives: int
    rank: int

    def is_positive(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Whether each score is at least the threshold."""
        return np.asarray(scores) >= self.threshold

    def __str__(self) -> str:
        return (
            f"Sensitivity is at least {self.sensitivity:.4g} with {self.confidence:.4g} "
            f"confidence when rows with a score of at least {self.threshold:.6g} are called "
            f"positive (rank {self.rank} of {self.n_positives} positive rows in the calibration "
            "set). This says nothing about false alarms."
        )


def find_sensitivity_threshold(
    scores: ArrayLike,
    *,
    sensitivity: float,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SensitivityThreshold:
    """Find the largest threshold that keeps a sensitivity, from scores of positive rows.

    Parameters
    ----------
    scores : array-like of shape (n_positives,)
        Scores of the positive rows of a calibration set, larger for more positive, such as a
        column of `predict_proba`. These rows must not have been used to choose the model or its
        size.
    sensitivity : float
        Smallest proportion of the positive rows to find.
    confidence : float, default=0.95
        Confidence of the guarantee.
    groups : array-like of shape (n_positives,), default=None
        Sample groups: one random row of each is counted.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows of the sample groups.

    Returns
    -------
    threshold : SensitivityThreshold

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.guarantees import find_sensitivity_threshold
    >>> scores = np.random.default_rng(0).random(100)
    >>> found = find_sensitivity_threshold(scores, sensitivity=0.9)
    >>> found.rank, round(found.threshold, 3)
    (5, 0.034)
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError("scores must be a list of finite numbers, one per positive row.")
    needed = positives_needed(sensitivity, confidence)
    rows = np.arange(scores.size)
    if groups is not None:
        rng = np.random.default_rng(as_seed(random_state))
        rows = one_row_per_group(rows, number_groups(groups, scores.size), rng)
    n = rows.size
    if n < needed:
        kind = "positive rows in the calibration set"
        if groups is not None:
            kind = f"sample groups with {kind}"
        raise ValueError(
            f"A sensitivity of at least {sensitivity:.4g} with {confidence:.4g} confidence needs "
            f"{needed} {kind}, and there are {n}. Keep more rows, or ask for a lower "
            "sensitivity or confidence."
        )
    ranks = np.arange(1, n + 1)
    promised = binom.sf(ranks - 1, n, 1 - sensitivity)  # P(Bin >= rank), falling
    rank = int(np.count_nonzero(promised >= confidence - ROUNDING))
    threshold = float(np.partition(scores[rows], rank - 1)[rank - 1])
    return SensitivityThreshold(threshold, float(sensitivity), float(confidence), n, rank)
