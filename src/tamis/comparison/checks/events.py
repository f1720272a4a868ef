r"""Whether the rows are enough for the number of candidate features.

With p parameters, a regression model whose Cox-Snell :math:`R^2` is r must be shrunk by the factor
S if it has :math:`n = p / ((S - 1) \log(1 - r / S))` rows [1]_. Two of the criteria of Riley and
others are used: S of at least 0.9, and an optimism in Nagelkerke's :math:`R^2` of at most 0.05,
which is :math:`S = r / (r + 0.05\, r_{max})`. The third one, a precise overall risk, does not
concern models for a stated prevalence. r is that of the honest predictions, and at least their
proposal for a model about which nothing is known, :math:`0.15\, r_{max}`.

References
----------
.. [1] Riley and others, "Calculating the sample size required for developing a clinical
   prediction model", BMJ 368, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tamis.comparison.checks.check import Check
from tamis.comparison.choosing.decisions import at_frequencies
from tamis.comparison.choosing.scores import effective_sizes
from tamis.tables.columns.rare import Pool
from tamis.tables.errors import counted

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison
    from tamis.comparison.problem.problem import Problem

__all__ = ["check_events", "rows_for_features"]

# Wider tables are chosen from, not weighed as a whole.
_MOST_COLUMNS = 100
_SHRINKAGE, _OPTIMISM, _USUAL = 0.9, 0.05, 0.15


def rows_for_features(n_parameters: int, r_squared: float, share: float) -> int:
    """Rows that a regression model needs by the criteria of shrinkage and of optimism.

    `n_parameters`: number of candidate predictors, dummies counted one by one; `r_squared`: its
    expected Cox-Snell R squared; `share`: share of the rows that are of the class.

    Examples
    --------
    >>> rows_for_features(24, 0.288, 0.5)  # as in the paper
    623
    """
    optimism = r_squared / (r_squared + _OPTIMISM * _largest(share))
    wanted = max(_SHRINKAGE, optimism)
    return math.ceil(n_parameters / ((wanted - 1) * math.log(1 - r_squared / wanted)))


def _largest(share):
    """The largest Cox-Snell R squared, that of perfect predictions."""
    return 1 - math.exp(2 * (share * math.log(share) + (1 - share) * math.log(1 - share)))


def check_events(comparison: Comparison) -> Iterator[Check]:
    """A note if the rows of the rarest class are few for the number of candidate features.

    `comparison`: with an honest score.
    """
    problem, honest = comparison.problem, comparison.honest
    if honest is None or honest.predictions is None:
        return
    n_parameters = _count_parameters(problem)
    if n_parameters >= _MOST_COLUMNS:
        return
    sizes = effective_sizes(problem.codes, problem.classes.size, problem.groups, problem.weights)
    rarest = int(sizes.argmin())
    n_rows = float(sizes.sum())
    share = float(sizes[rarest]) / n_rows
    reached = _r_squared(problem, honest.predictions.probabilities, rarest)
    r_squared = min(max(reached, _USUAL * _largest(share)), 0.95 * _largest(share))
    needed = rows_for_features(n_parameters, r_squared, share)
    if needed <= n_rows:
        return
    n_class = int(np.count_nonzero(problem.codes == rarest))
    is_counted = problem.groups is None and problem.weights is None
    what = "rows" if is_counted else "independent rows"
    there = f"there are {n_rows:,.0f}" if is_counted else f"those here are worth {n_rows:,.0f}"
    yield Check(
        "few-events",
        "note",
        f"{n_class:,} rows of class {problem.classes[rarest]}, the rarest, are few for "
        f"{counted(len(problem.names), 'candidate feature')}. A model of all of them would need "
        f"about {_rounded(needed):,} {what} (Riley's criteria); {there}. Expect other features "
        "and scores in another sample.",
        "Report the interval of the honest score and how often the features are selected again, "
        "name fewer candidates in advance, or collect more rows.",
    )


def _rounded(n):
    """A number with two digits, as exact as such criteria are."""
    return int(float(f"{n:.2g}"))


def _count_parameters(problem: Problem) -> int:
    """Columns that a regression would weigh: one fewer than its categories for a category."""
    layout = problem.preparation
    pools = layout.find_pools(problem.encoded, problem.weights)
    preparation = replace(layout, pools=pools)
    sources = np.array(preparation.sources)[~preparation.unused]
    # The columns of a source add up to 1, unless rare categories are "other".
    full = [name for name in layout.categories if not pools.get(name, Pool()).is_other]
    return int(sources.size) - sum(bool((sources == name).sum() > 1) for name in full)


def _r_squared(problem, probabilities, c):
    """Cox-Snell R squared of the honest predictions of one class against the others."""
    is_class = problem.codes == c
    weights = np.ones(is_class.size) if problem.weights is None else problem.weights
    risk = np.clip(at_frequencies(probabilities, problem)[:, c], 1e-6, 1 - 1e-6)
    gained = np.where(is_class, np.log(risk), np.log(1 - risk))
    share = np.average(is_class, weights=weights)
    nothing = share * math.log(share) + (1 - share) * math.log(1 - share)
    return 1 - math.exp(-2 * max(float(np.average(gained, weights=weights)) - nothing, 0.0))
