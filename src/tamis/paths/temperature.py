"""Temperature: calibrates probabilities.

Folds can be unlike the final model: the one that leaves out the only row on the wrong side of a
marker finds the classes separable and is sure beyond measure. `match_folds` keeps such a fold from
setting the temperature of all. And n rows that are all right do not show that the next one will
be: the mean log loss is at least that of Laplace's rule of succession, (n + 1) / (n + 2).

Of a handful of rows, the models of folds learn from two or three, and often select other features
than the final one: what they get wrong says little about it. Where a feature stands out so clearly
that it is not one of many by chance, `hottest` keeps the temperature from hiding it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import f as f_distribution

from tamis._base import weighted_median

__all__ = ["fit_temperature", "hottest", "is_handful", "least_loss", "match_folds"]

# Decisions of a fold are typically at most so many times as large as those of the middle fold.
_LARGEST_RATIO = 2.0
# Bounds of the temperature, relative to the largest margin.
_COLDEST, _HOTTEST = 1e-4, 1e3
# Rows per class from which on folds tell how sure a model may be.
_TELLING_ROWS = 4
_LEVEL = 0.05


def least_loss(n_rows: float) -> float:
    """Mean log loss below which so many rows cannot show that decisions are right."""
    return float(np.log1p(1.0 / (n_rows + 1.0)))


def is_handful(weights: NDArray, n_classes: int) -> bool:
    """Whether there are too few rows per class for folds that are like the final model."""
    return float(weights.sum()) < _TELLING_ROWS * n_classes


def hottest(
    decisions: NDArray, codes: NDArray, weights: NDArray, features: NDArray, n_features: int
) -> float:
    """Highest temperature of a model that was trained on a handful of rows.

    `decisions` (n_samples, n_classes): of the model on its training rows; `codes` (n_samples,):
    True classes; `weights` (n_samples,): sample weights, by which rows are counted; `features`
    (n_samples, n_selected): selected features; `n_features`: how many they were selected from.
    Returns `temperature`: with m rows per class: the typical training row is given at least (m +
    1) / (m + 2) of the probability of its class and the next one together, by Laplace's rule of
    succession. Infinity with four rows per class or more, which folds can tell about; if no
    feature differs between the classes at the level 5% (F test, Bonferroni's correction for all
    features); or if typical rows are on the wrong side.
    """
    n_classes = decisions.shape[1]
    if not (
        is_handful(weights, n_classes)
        and _stand_out(features, codes, weights, n_classes, n_features)
    ):
        return np.inf
    true = np.arange(n_classes) == codes[:, None]
    margins = decisions[true] - np.where(true, -np.inf, decisions).max(axis=1)
    margin = weighted_median(margins[weights > 0], weights[weights > 0])
    return float(margin / np.log1p(weights.sum() / n_classes)) if margin > 0 else np.inf


def _stand_out(features, codes, weights, n_classes, n_features):
    """Whether a feature differs between the classes more than the best of noise would."""
    mass = np.bincount(codes, weights, n_classes)
    degrees = (np.count_nonzero(mass) - 1, mass.sum() - np.count_nonzero(mass))
    if min(degrees) <= 0:
        return False
    is_class = (np.arange(n_classes)[:, None] == codes) * weights
    means = (is_class @ features) / np.where(mass > 0, mass, 1.0)[:, None]
    within = weights @ (features - means[codes]) ** 2
    between = mass @ (means - weights @ features / mass.sum()) ** 2
    # Values that are the same within classes, such as zeros and ones, have no F distribution.
    varies = within > 1e-12 * (within + between)
    ratio = (between[varies] / degrees[0]) / (within[varies] / degrees[1])
    return bool((n_features * f_distribution.sf(ratio, *degrees) < _LEVEL).any())


def match_folds(decisions: NDArray, fold_of: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Decisions in which no fold is far surer than the others.

    The size of a fold is the median distance between its two largest decisions. Where it is more
    than twice that of the middle fold (the lower of two), the decisions of the fold are shrunk.

    `decisions` (n_samples, n_classes): out-of-fold decisions; `fold_of` (n_samples,): fold of each
    sample; `weights` (n_samples,): sample weights, by which the median is taken. Returns
    `decisions` (n_samples, n_classes): `decisions` itself where nothing is shrunk.
    """
    top = np.partition(decisions, -2, axis=1)[:, -2:]
    usable = np.isfinite(top).all(axis=1) & (weights > 0)
    folds = np.unique(fold_of[usable])
    if folds.size < 2:
        return decisions
    margins = np.where(usable, top[:, 1] - np.where(usable, top[:, 0], 0.0), np.nan)
    of_folds = [usable & (fold_of == fold) for fold in folds]
    sizes = np.array([weighted_median(margins[rows], weights[rows]) for rows in of_folds])
    most = _LARGEST_RATIO * np.sort(sizes)[(sizes.size - 1) // 2]
    if most == 0 or sizes.max() <= most:
        return decisions
    shrink = np.ones(int(fold_of.max()) + 1)
    shrink[folds] = most / np.maximum(sizes, most)
    return decisions * shrink[fold_of][:, None]


def fit_temperature(
    decisions: NDArray, codes: NDArray, weights: NDArray, n_rows: float | None = None
) -> float:
    """Temperature T that makes softmax(decisions / T) most likely for the true classes.

    `decisions` (n_samples, n_classes): out-of-fold decisions. `codes` (n_samples,): True classes.
    `weights` (n_samples,): weight of each sample in the likelihood. `n_rows`: how many rows these
    are: the mean log loss at T is not below `least_loss` of them. None: samples with positive
    weights. Infinity: no such bound. Returns `temperature`: between 1/10,000 of the largest margin
    and 1,000 times it; 1 if there are no samples or no margins to learn from.
    """
    usable = (weights > 0) & np.isfinite(decisions[np.arange(codes.size), codes])
    decisions, codes, weights = decisions[usable], codes[usable], weights[usable]
    if codes.size == 0:
        return 1.0
    # Decisions of the other classes minus that of the true one, one column each.
    true = np.arange(decisions.shape[1]) == codes[:, None]
    margins = (decisions[~true].reshape(codes.size, -1) - decisions[true][:, None]).T.copy()
    size = float(np.abs(margins[np.isfinite(margins)]).max(initial=0.0))
    if size == 0:
        return 1.0

    def loss(log_temperature, every=1):
        scaled = margins[:, ::every] / np.exp(log_temperature)
        total = np.zeros(scaled.shape[1])
        for column in scaled:
            total = np.logaddexp(total, column)
        mass = weights[::every]
        return float((mass * total).sum() / mass.sum())

    bounds = (np.log(_COLDEST * size), np.log(_HOTTEST * size))
    # The likelihood is quasi-concave in T; a coarse grid first avoids its flat ends.
    # Some of the rows are enough for that, if their weight is.
    every = max(1, codes.size // 20_000)
    every = every if weights[::every].any() else 1
    grid = np.linspace(*bounds, 101)
    best = int(np.argmin([loss(t, every) for t in grid]))
    low, high = grid[max(best - 2, 0)], grid[min(best + 2, grid.size - 1)]
    result = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    found = result.x if result.fun <= loss(grid[best]) else grid[best]
    least = least_loss(codes.size if n_rows is None else n_rows)
    if loss(found) < least < loss(bounds[1]):
        found = brentq(lambda t: loss(t) - least, found, bounds[1], xtol=1e-6)
    return float(np.exp(found))
