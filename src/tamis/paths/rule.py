r"""The selection rule: the sparsest candidate that is good enough.

Candidates are the levels of all paths. For candidate a let :math:`z_{ai}` be the share of the
repeats in which it is right on row i, b the candidate with the best score (ties go to the
sparsest) and :math:`d_i = z_{bi} - z_{ai}`. Rows have weights :math:`w_i = s_i / (C S_c)` for
balanced accuracy (s sample weights, S_c their sum over class c) and :math:`s_i / S` for accuracy,
so that :math:`D_a = \sum_i w_i d_i` is how far a is behind the best. Its variance is paired,

.. math:: V_a = \frac{U}{U - 1} \sum_u \Big(\sum_{i \in u} w_i (d_i - \bar d_{c(i)})\Big)^2,

over units u: sample groups, or single rows; :math:`\bar d_c` is the mean of d in a class (for
accuracy: over all rows). A perfect score must not look infinitely certain, so half a discordant
unit is added in each direction [1]_: :math:`V_0 = C^{-2} \sum_c (U_c + 2)^{-2}`, with U_c units
that have rows of class c (accuracy: :math:`(U + 2)^{-2}`). Candidate a is *good enough* when

.. math:: D_a \le \max\big(\min(\sqrt{V_a + V_0}, 0.02), \text{tolerance}\big),

and the rule selects the sparsest of these; of several, those that are preferred because they can
be read; and of these the one with the best score. A candidate that cannot be read may have a
*twin* that can, with the same features: it counts only if its score is above that of the twin by
more than one standard error of the difference and by more than the tolerance. The tolerance makes
the rule useful for many rows, where every difference is significant; the limit of 0.02 for few,
where one standard error is 5 to 10 points of score, which the rule would give away for nothing
but its own ignorance (measured: `benchmarks/accuracy/rules.py`). Scores that are not means
over rows (F1, Matthews correlation, area under the curve) take :math:`V_a` from the covariance of
bootstrap draws.

Shapes: P candidates, n rows; `right` is (P, n). All variances against one b cost two passes over
`right`, so the rule is cheap enough to be applied again in every bootstrap draw.

References
----------
.. [1] Agresti and Min, "Effects and non-effects of paired identical observations in comparing
   proportions with binary matched-pairs data", Statistics in Medicine 23, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = [
    "LARGEST_LOSS",
    "TOLERANCE",
    "Counted",
    "Drawn",
    "PerFold",
    "allowed_loss",
    "best_of",
    "choose",
    "choose_drawn",
    "good_enough",
    "smoothing",
    "without_twins",
]

# Differences in score that are not worth another feature.
TOLERANCE = 0.01
# The most that the rule gives up for fewer features, however uncertain the difference is.
LARGEST_LOSS = 0.02
_ROUNDING = 1e-12
# Values that are worked on together.
_BLOCK = 1 << 17


def choose(
    scores: NDArray,
    sparsity: NDArray,
    errors: Counted | Drawn | PerFold,
    *,
    tolerance: float = TOLERANCE,
    allowed: NDArray[np.bool_] | None = None,
    preferred: NDArray[np.bool_] | None = None,
    twins: NDArray[np.intp] | None = None,
) -> tuple[int, int]:
    """Index of the sparsest candidate that is good enough.

    `scores` (n_candidates,): larger is better. `sparsity` (n_candidates,): what to minimise:
    numbers of features. `errors`: standard errors of differences, by ``errors.against(b)``; with
    twins not PerFold. `tolerance`: difference in score that never matters; with 0, only the
    standard error counts, up to `LARGEST_LOSS`. `allowed` (n_candidates,) or None: candidates that
    may be chosen; the others only set the standard. If none of the allowed is good enough, the
    best of the allowed sets it. `preferred` (n_candidates,) or None: candidates that are chosen
    before others that are as sparse, whatever their scores; equal scores go to the first
    candidate. `twins` (n_candidates,) or None: for each candidate, the one that it must clearly
    surpass in order to be chosen, or to set the standard; -1 for none.
    Returns `chosen`; `best`: the candidate that set the standard.
    """
    if twins is not None:
        scores = without_twins(scores, twins, errors, tolerance)
    best = best_of(scores, sparsity)
    enough = good_enough(scores, best, errors, tolerance)
    if allowed is not None:
        if not (enough & allowed).any():
            best = best_of(np.where(allowed, scores, -np.inf), sparsity)
            enough = good_enough(scores, best, errors, tolerance)
        enough &= allowed
    sizes = np.where(enough, sparsity, np.inf)
    fewest = sizes <= sizes.min() + 1e-9
    if preferred is not None and (fewest & preferred).any():
        fewest &= preferred
    left = np.where(fewest, scores, -np.inf)
    return int(np.argmax(left >= left.max() - _ROUNDING)), best


def choose_drawn(
    draws: NDArray,
    scores: NDArray,
    sparsity: NDArray,
    errors: Counted,
    *,
    tolerance: float = TOLERANCE,
    allowed: NDArray[np.bool_],
    preferred: NDArray[np.bool_] | None = None,
    twins: NDArray[np.intp] | None = None,
) -> list[tuple[int, int]]:
    """`choose` again for each of several draws of the rows.

    Candidates that are more than ten standard errors behind the best are skipped: no draw makes
    them good enough.

    `draws` (n_draws, n_rows): how often each row was drawn. `scores`, `sparsity`, `errors`,
    `tolerance`, `allowed`, `preferred`, `twins`: as in `choose`; scores and errors are those of
    all rows.
    """
    best = best_of(scores, sparsity)
    behind = 10 * np.maximum(errors.against(best), tolerance)
    ours = np.where(allowed, scores, -np.inf)
    is_near = (scores >= scores[best] - behind) | (ours >= ours.max() - behind)
    if twins is not None:
        is_near[twins[is_near & (twins >= 0)]] = True
    near = np.flatnonzero(is_near)
    few = replace(errors, right=np.ascontiguousarray(errors.right[near]))
    sparsity, allowed = sparsity[near], allowed[near]
    preferred = None if preferred is None else preferred[near]
    if twins is not None:
        twins = np.where(twins[near] >= 0, np.searchsorted(near, twins[near]), -1)
    chosen = []
    for row in draws:
        drawn = few.drawn(row)
        one, other = choose(
            drawn.scores(),
            sparsity,
            drawn,
            tolerance=tolerance,
            allowed=allowed,
            preferred=preferred,
            twins=twins,
        )
        chosen.append((int(near[one]), int(near[other])))
    return chosen


def without_twins(
    scores: NDArray, twins: NDArray[np.intp], errors: Counted | Drawn | PerFold, tolerance: float
) -> NDArray[np.float64]:
    """Scores; minus infinity for candidates that are not clearly better than their twins."""
    assert not isinstance(errors, PerFold)
    scores = scores.copy()
    for one in np.flatnonzero(twins >= 0).tolist():
        twin = int(twins[one])
        ahead = scores[one] - scores[twin]
        # The error is computed for the few that are ahead by more than the tolerance.
        if ahead <= tolerance + _ROUNDING or ahead <= errors.between(one, twin) + _ROUNDING:
            scores[one] = -np.inf
    return scores


def best_of(scores: NDArray, sparsity: NDArray) -> int:
    """Index of the best score; ties go to the sparsest."""
    top = scores >= np.nanmax(scores) - _ROUNDING
    return int(np.argmin(np.where(top, sparsity, np.inf)))


def good_enough(
    scores: NDArray, best: int, errors: Counted | Drawn | PerFold, tolerance: float = TOLERANCE
) -> NDArray[np.bool_]:
    """Which candidates are behind the best by no more than is allowed."""
    return scores[best] - scores <= allowed_loss(errors.against(best), tolerance) + _ROUNDING


def allowed_loss(error: ArrayLike, tolerance: float = TOLERANCE) -> NDArray[np.float64]:
    """How far behind the best a score may be, by the standard error of the difference."""
    return np.maximum(np.minimum(error, LARGEST_LOSS), tolerance)


@dataclass(frozen=True)
class Counted:
    """Paired standard errors of scores that are weighted means of right and wrong."""

    # (n_candidates, n_rows): share of the repeats in which a candidate is right on a row.
    right: np.ndarray
    strata: np.ndarray  # (n_rows,): class of each row for balanced accuracy; zeros for accuracy
    # (n_rows,): sample group of each row, from 0; the rows themselves if there are no groups.
    units: np.ndarray
    firsts: np.ndarray  # one row per pair of stratum and unit
    weight: np.ndarray  # (n_rows,): sample weights
    times: np.ndarray  # (n_rows,): how often each row counts: 1, or how often it was drawn

    @classmethod
    def of(
        cls,
        right: NDArray,
        codes: NDArray,
        *,
        balanced: bool,
        groups: NDArray | None = None,
        weight: ArrayLike | None = None,
    ) -> Counted:
        """Make the standard errors for scores of all rows.

        `right` (n_candidates, n_rows); `codes` (n_rows,): classes; `balanced`: True for balanced
        accuracy, False for accuracy; `groups` (n_rows,) or None; `weight` (n_rows,) or None.
        """
        strata = codes.astype(np.int64) if balanced else np.zeros(codes.size, dtype=np.int64)
        units, firsts = _units_of(strata, groups)
        weight = np.ones(codes.size) if weight is None else np.asarray(weight, dtype=np.float64)
        return cls(right, strata, units, firsts, weight, np.ones(codes.size))

    def drawn(self, times: NDArray) -> Counted:
        """The same for rows that were drawn `times` times."""
        return replace(self, times=times)

    def shares(self) -> NDArray[np.float64]:
        """Weight of one copy of each row in the score; strata count equally."""
        mass = np.bincount(self.strata, weights=self.weight * self.times)
        shares = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        return self.weight * (shares / np.count_nonzero(mass > 0))[self.strata]

    def scores(self) -> NDArray[np.float64]:
        """Score of every candidate."""
        shares = self.shares() * self.times
        return np.array([row @ shares for row in self.right])  # row by row: no copy as float64

    def against(self, best: int) -> NDArray[np.float64]:
        """Standard errors of the differences between `best` and every candidate."""
        return self._errors(self.right[best])

    def between(self, one: int, other: int) -> float:
        """Standard error of the difference between two candidates."""
        alone = replace(self, right=self.right[one : one + 1])
        return float(alone._errors(self.right[other])[0])

    def alone(self) -> NDArray[np.float64]:
        """Standard errors of the scores themselves."""
        return self._errors(np.zeros(self.right.shape[1], dtype=self.right.dtype))

    def _errors(self, standard):
        variances = _paired_variances(
            self.right, standard, self.shares(), self.times, self.strata, self.units
        )
        n_units = np.bincount(self.strata[self.firsts], weights=self.times[self.firsts])
        return np.sqrt(variances + smoothing(n_units))


def _units_of(strata, groups):
    """Units from 0, and one row per pair of stratum and unit."""
    if groups is None:
        rows = np.arange(strata.size)
        return rows, rows
    units = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return units, np.unique(units * (strata.max() + 1) + strata, return_index=True)[1]


def smoothing(n_units: NDArray) -> float:
    """V_0, the variance of a difference of 0, from the number of units of each class."""
    n_units = np.asarray(n_units, dtype=np.float64)
    n_units = n_units[n_units > 0]
    return float((1.0 / (n_units + 2) ** 2).sum() / n_units.size**2)


@dataclass(frozen=True)
class Drawn:
    """Standard errors of any score, from its values in bootstrap draws."""

    covariance: np.ndarray  # (n_candidates, n_candidates)
    smoothed: float  # v_0

    @classmethod
    def of(cls, scores: NDArray, smoothed: float) -> Drawn:
        """From scores of shape (n_draws, n_candidates)."""
        if len(scores) < 2:
            return cls(np.zeros((scores.shape[1], scores.shape[1])), smoothed)
        return cls(np.atleast_2d(np.cov(scores, rowvar=False)), smoothed)

    def against(self, best: int) -> NDArray[np.float64]:
        """Standard errors of the differences between `best` and every candidate."""
        alone = np.diag(self.covariance)
        variances = alone + alone[best] - 2 * self.covariance[best]
        return np.sqrt(np.maximum(variances, 0.0) + self.smoothed)

    def between(self, one: int, other: int) -> float:
        """Standard error of the difference between two candidates."""
        return float(self.against(other)[one])

    def alone(self) -> NDArray[np.float64]:
        """Standard errors of the scores themselves."""
        return np.sqrt(np.diag(self.covariance) + self.smoothed)


@dataclass(frozen=True)
class PerFold:
    """Standard errors of any score, from its values in the folds of a cross-validation."""

    scores: np.ndarray  # (n_folds, n_candidates)

    def against(self, best: int) -> NDArray[np.float64]:
        """Standard errors of the mean differences between `best` and every candidate."""
        return self._errors(self.scores[:, [best]] - self.scores)

    def alone(self) -> NDArray[np.float64]:
        """Standard errors of the mean scores; 0 with a single fold."""
        return self._errors(self.scores)

    @staticmethod
    def _errors(values):
        if len(values) < 2:
            return np.zeros(values.shape[1])
        return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def _paired_variances(right, standard, share, times, strata, units):
    """V_a of each candidate against the row `standard` of right and wrong.

    Squares of d minus its mean are expanded, so that all sums are matrix products; what that loses
    in digits is far below V_0.
    """
    n_candidates, n_strata = len(right), int(strata.max()) + 1
    drawn = np.zeros(int(units.max()) + 1)
    drawn[units] = times
    total = drawn.sum()
    if total <= 1:
        return np.zeros(n_candidates)
    in_groups = drawn.size < units.size
    first = times * share
    second = first * share
    sums, squares = np.zeros((n_candidates, 2 * n_strata)), np.zeros(n_candidates)
    of_units = np.zeros((drawn.size, n_candidates)) if in_groups else None
    step = max(1, _BLOCK // n_candidates)
    for start in range(0, units.size, step):
        rows = slice(start, start + step)
        ahead = np.subtract(standard[rows], right[:, rows], dtype=np.float64)
        inside = strata[rows, None] == np.arange(n_strata)
        sums += ahead @ np.hstack([inside * first[rows, None], inside * second[rows, None]])
        if in_groups:
            ahead *= share[rows]
            places = units[rows], np.arange(ahead.shape[1])
            members = sparse.csr_array(
                (np.ones(ahead.shape[1]), places), (drawn.size, len(inside))
            )
            of_units += members @ ahead.T
        else:
            ahead *= ahead
            squares += ahead @ second[rows]
    mass = np.bincount(strata, first)
    means = sums[:, :n_strata] / np.where(mass > 0, mass, 1.0)
    if in_groups:
        pairs = np.bincount(units * n_strata + strata, share, drawn.size * n_strata)
        of_units -= pairs.reshape(-1, n_strata) @ means.T
        variances = drawn @ (of_units * of_units)
    else:
        variances = squares - 2 * (means * sums[:, n_strata:]).sum(axis=1)
        variances += means**2 @ np.bincount(strata, second)
    return np.maximum(variances, 0.0) * (total / (total - 1))
