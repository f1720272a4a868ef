r"""The selection rule: the sparsest candidate that is good enough.

Candidates are the sizes of all paths, :math:`S_a` is the score of candidate a and :math:`m_a` its
number of features. Scores of few rows are noisy, and the best of many sizes is a lucky one, so the
rule first averages each score over *neighbours*: similar sizes of the same path whose scores could
be the same,

.. math:: A_a = \frac{\sum_b k_{ab} S_b}{\sum_b k_{ab}}, \qquad
   k_{ab} = \exp\Big(-\frac12\Big(\frac{\log(m_a + 1) - \log(m_b + 1)}{0.35}\Big)^2
   -\frac12\Big(\frac{S_a - S_b}{2 e_{ab}}\Big)^2\Big),

with :math:`e_{ab}` the standard error of the difference. The second term keeps edges: where three
features decide together, two of them are clearly worse, and have no say in the score of three. Of
a path with more than 128 sizes, a few hundred neighbours count (`path_grid`), and the size itself.

Candidate a is *good enough* when :math:`\max_b A_b - A_a \le \text{tolerance}`, and the rule
selects the sparsest of these; of several, those that are preferred because they can be read; of
these the one with the best averaged score, and of levels of one path, whose averages are equal
where their sizes are, the one with the best score. The tolerance is not in standard errors: with
few rows these are 5 to 10 points of score, which the rule would give away for nothing but its own
ignorance, and with many they make trivial differences count (measured:
`benchmarks/accuracy/rules.py`).

A candidate that cannot be read may have a *twin* that can, with the same features: it counts only
if its own score is above that of the twin by more than one standard error of the difference and by
more than the tolerance.

Standard errors of differences are paired. Let :math:`z_{ai}` be the share of the repeats in which
candidate a is right on row i and :math:`d_i = z_{bi} - z_{ai}`. Rows have weights
:math:`w_i = s_i / (C S_c)` for balanced accuracy (s sample weights, S_c their sum over class c)
and :math:`s_i / S` for accuracy, so that :math:`D_a = \sum_i w_i d_i` is how far a is behind b.
Its variance is

.. math:: V_a = \frac{U}{U - 1} \sum_u \Big(\sum_{i \in u} w_i (d_i - \bar d_{c(i)})\Big)^2,

over units u: sample groups, or single rows, whatever their weights; :math:`\bar d_c` is the mean
of d in a class (for accuracy: over all rows). A perfect score must not look infinitely certain, so
half a discordant unit is added in each direction [1]_: :math:`V_0 = C^{-2} \sum_c (U_c + 2)^{-2}`,
with U_c units that have rows of class c (accuracy: :math:`(U + 2)^{-2}`); the standard error is
:math:`\sqrt{V_a + V_0}`. Scores that are not means over rows (F1, Matthews correlation, area under
the curve) take :math:`V_a` from the covariance of bootstrap draws.

Shapes: P candidates, n rows; `right` is (P, n). All variances against one b cost two passes over
`right`; those between all pairs of a path cost one product of the matrix with itself.

References
----------
.. [1] Agresti and Min, "Effects and non-effects of paired identical observations in comparing
   proportions with binary matched-pairs data", Statistics in Medicine 23, 2004.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamis.paths.path import path_grid

__all__ = [
    "TOLERANCE",
    "Counted",
    "Drawn",
    "Neighbours",
    "PerFold",
    "best_of",
    "choose",
    "choose_drawn",
    "smoothing",
    "without_twins",
]

# Differences in score that are not worth another feature.
TOLERANCE = 0.01
# Sizes are similar when log(size + 1) differs by about this: the standard deviation of a Gaussian.
_SIMILAR = 0.35
# Scores could be the same when they differ by about as many standard errors.
_EDGE = 2.0
_ROUNDING = 1e-12
# Values that are worked on together.
_BLOCK = 1 << 17


def choose(
    scores: NDArray,
    sparsity: NDArray,
    neighbours: Neighbours,
    *,
    tolerance: float = TOLERANCE,
    allowed: NDArray[np.bool_] | None = None,
    preferred: NDArray[np.bool_] | None = None,
    twins: NDArray[np.intp] | None = None,
    errors: Counted | Drawn | None = None,
) -> tuple[int, int]:
    """Index of the sparsest candidate that is good enough.

    `scores` (n_candidates,): larger is better; candidates without a finite score neither count
    nor are chosen. `sparsity` (n_candidates,): what to minimise: numbers of features.
    `neighbours`: over which scores are averaged. `tolerance`: how far behind the best an averaged
    score may be. `allowed` (n_candidates,) or None: candidates that may be chosen; the others only
    set the standard. If none of the allowed is good enough, the best of the allowed sets it.
    `preferred` (n_candidates,) or None: candidates that are chosen before others that are as
    sparse, whatever their scores; equal scores go to the first candidate. `twins`
    (n_candidates,) or None: for each candidate, the one that it must clearly surpass in order to
    be chosen, or to set the standard; -1 for none. `errors`: standard errors of differences; only
    twins need them.
    Returns `chosen`; `best`: the candidate that set the standard.
    """
    drawn = choose_drawn(
        np.asarray(scores)[None],
        sparsity,
        neighbours,
        [errors],
        tolerance=tolerance,
        allowed=allowed,
        preferred=preferred,
        twins=twins,
    )
    return drawn[0]


def choose_drawn(
    scores: NDArray,
    sparsity: NDArray,
    neighbours: Neighbours,
    errors: Iterable[Counted | Drawn | None],
    *,
    tolerance: float = TOLERANCE,
    allowed: NDArray[np.bool_] | None = None,
    preferred: NDArray[np.bool_] | None = None,
    twins: NDArray[np.intp] | None = None,
) -> list[tuple[int, int]]:
    """`choose` for each of several draws of the rows.

    `scores` (n_draws, n_candidates); `errors`: of each draw; the others: as in `choose`.
    """
    chosen = []
    smooth = neighbours.averaged(scores)
    for own, average, error in zip(scores, smooth, errors, strict=True):
        if twins is not None:
            assert error is not None
            counts = np.isfinite(without_twins(own, twins, error, tolerance))
            average = np.where(counts, average, -np.inf)
        chosen.append(_choose(own, average, sparsity, tolerance, allowed, preferred))
    return chosen


def _choose(own, scores, sparsity, tolerance, allowed, preferred):
    """`choose` by scores that are averaged; `own`: before that."""
    best = _best_of(own, scores, sparsity)
    enough = scores >= scores[best] - tolerance - _ROUNDING
    if allowed is not None:
        if not (enough & allowed).any():
            best = _best_of(own, np.where(allowed, scores, -np.inf), sparsity)
            enough = scores >= scores[best] - tolerance - _ROUNDING
        enough &= allowed
    sizes = np.where(enough, sparsity, np.inf)
    fewest = sizes <= sizes.min() + 1e-9
    if preferred is not None and (fewest & preferred).any():
        fewest &= preferred
    left = np.where(fewest, scores, -np.inf)
    return _first_best(own, left >= left.max() - _ROUNDING), best


def _best_of(own, scores, sparsity):
    """`best_of` by scores that are averaged; ties of those, too, go to the best score."""
    best = best_of(scores, sparsity)
    ties = (scores >= scores[best] - _ROUNDING) & (sparsity <= sparsity[best])
    return _first_best(own, ties)


def _first_best(scores, among):
    """The best of some candidates; ties go to the first."""
    left = np.where(among & np.isfinite(scores), scores, -np.inf)
    return int(np.argmax(left >= left.max() - _ROUNDING))


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of each candidate, over which its score is averaged."""

    n_candidates: int
    # For each path: candidates (m,), those that are neighbours (b,), for each pair (m, b) the log
    # of its weight by size, and twice the standard error of the difference.
    paths: list[tuple[NDArray, NDArray, NDArray, NDArray]]

    @classmethod
    def of(
        cls,
        sparsity: NDArray,
        errors: Counted | Drawn | PerFold,
        paths: NDArray | None = None,
    ) -> Neighbours:
        """Find the neighbours, by standard errors of all rows.

        `sparsity` (n_candidates,): numbers of features; `errors`: of the candidates; `paths`
        (n_candidates,) or None: the path of each candidate; None: all are sizes of one.
        """
        sizes = np.log1p(np.asarray(sparsity, dtype=np.float64)) / _SIMILAR
        of_path = np.zeros(sizes.size, dtype=np.intp) if paths is None else paths
        found = []
        for path in np.unique(of_path):
            own = np.flatnonzero(of_path == path)
            own = own[np.argsort(sizes[own], kind="stable")]
            places = path_grid(own.size) - 1
            by_size = -0.5 * (sizes[own][:, None] - sizes[own[places]]) ** 2
            found.append((own, own[places], by_size, _EDGE * errors.pairs(own, places)))
        return cls(sizes.size, found)

    def averaged(self, scores: NDArray) -> NDArray[np.float64]:
        """Scores averaged over the neighbours of each candidate.

        `scores` (..., n_candidates). Those that are not finite have no say, and become minus
        infinity.
        """
        scores = np.asarray(scores, dtype=np.float64)
        known = np.isfinite(scores).reshape(-1, self.n_candidates)
        flat = np.where(known, scores.reshape(known.shape), 0.0)
        means = np.full(flat.shape, -np.inf)
        for own, others, by_size, apart in self.paths:
            # The size itself counts, whether it is among the neighbours or not.
            itself = 1.0 - np.isin(own, others)
            step = max(1, _BLOCK // apart.size)
            for start in range(0, len(flat), step):
                draws = slice(start, start + step)
                values, near = flat[draws, own], flat[draws, others]
                ahead = np.abs(values[:, :, None] - near[:, None, :])
                with np.errstate(divide="ignore"):
                    edges = np.divide(ahead, apart, out=np.zeros_like(ahead), where=ahead > 0)
                weights = np.exp(by_size - 0.5 * edges**2)
                weights = np.where(known[draws][:, None, others], weights, 0.0)
                total = (weights @ near[:, :, None])[:, :, 0] + itself * values
                mass = weights.sum(axis=2) + itself
                means[draws, own] = total / np.where(mass > 0, mass, 1.0)
        return np.where(known, means, -np.inf).reshape(scores.shape)


def without_twins(
    scores: NDArray, twins: NDArray[np.intp], errors: Counted | Drawn, tolerance: float
) -> NDArray[np.float64]:
    """Scores; minus infinity for candidates that are not clearly better than their twins."""
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

    def pairs(self, some: NDArray, places: NDArray) -> NDArray[np.float64]:
        """Standard errors of the differences between candidates and `places` among them."""
        n_strata, shares = int(self.strata.max()) + 1, self.shares()
        inside = self.strata[:, None] == np.arange(n_strata)
        inside = inside * (shares * self.times)[:, None]
        mass = inside.sum(axis=0)
        means = np.stack([right @ inside for right in self.right[some]])
        means /= np.where(mass > 0, mass, 1.0)
        drawn = np.zeros(int(self.units.max()) + 1)
        drawn[self.units] = self.times
        of_units = np.zeros((drawn.size, some.size)) if drawn.size < self.units.size else None
        squares, products = np.zeros(some.size), np.zeros((some.size, places.size))
        step = max(1, _BLOCK // some.size)
        for start in range(0, self.units.size, step):
            rows = slice(start, start + step)
            parts = (self.right[some, rows] - means[:, self.strata[rows]]) * shares[rows]
            if of_units is not None:
                np.add.at(of_units, self.units[rows], parts.T)
                continue
            counted = parts * self.times[rows]
            squares += (counted * parts).sum(axis=1)
            products += counted @ parts[places].T
        if of_units is not None:
            counted = of_units * drawn[:, None]
            squares = (counted * of_units).sum(axis=0)
            products = counted.T @ of_units[:, places]
        total = drawn.sum()
        variances = squares[:, None] + squares[places] - 2 * products
        variances = np.maximum(variances, 0.0) * (total / (total - 1) if total > 1 else 0.0)
        return np.sqrt(variances + self._smoothed())

    def _errors(self, standard):
        variances = _paired_variances(
            self.right, standard, self.shares(), self.times, self.strata, self.units
        )
        return np.sqrt(variances + self._smoothed())

    def _smoothed(self):
        n_units = np.bincount(self.strata[self.firsts], weights=self.times[self.firsts])
        return smoothing(n_units)


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

    def pairs(self, some: NDArray, places: NDArray) -> NDArray[np.float64]:
        """Standard errors of the differences between candidates and `places` among them."""
        return np.stack([self.against(one)[some] for one in some[places]], axis=1)


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

    def pairs(self, some: NDArray, places: NDArray) -> NDArray[np.float64]:
        """Standard errors of differences, as above; infinite with a single fold: not known."""
        if len(self.scores) < 2:
            return np.full((some.size, places.size), np.inf)
        return np.stack([self.against(one)[some] for one in some[places]], axis=1)

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
