"""Checks of the recommended model: its panel, probabilities, path, batches and stability."""

from dataclasses import replace

import numpy as np
from scipy import stats

from tamis._array import is_sparse
from tamis._base import softmax
from tamis.comparison.checks.check import CHANCE, Check, name_some
from tamis.comparison.choosing.draws import Draws
from tamis.paths.temperature import fit_temperature

__all__ = [
    "batch_effects",
    "check_model",
    "edge_of_path",
    "miscalibration",
    "redundant_panel",
    "unstable_predictions",
]

# Correlation within the classes from which two features say the same.
_SAME = 0.95
_MOST_FEATURES = 200
# Calibration slopes outside are reported, if the interval of this coverage excludes 1.
_SLOPES, _COVERAGE = (0.8, 1.25), 0.99
# Smallest drop of the score between batches.
_DROP = 0.05
# Share of labels that differ between two resamples; resamples, fewer for many rows.
_UNSTABLE, _N_DRAWS, _MOST_VALUES = 0.1, 100, 5_000_000


def check_model(comparison):
    """All checks of the recommended model.

    `comparison`: with a choice.
    """
    problem = comparison.problem
    result, place = comparison.chosen
    shares = result.selected[place]
    panel = np.flatnonzero(shares >= 0.5)
    panel = panel[np.argsort(-shares[panel], kind="stable")][:_MOST_FEATURES]
    checks = [*redundant_panel(problem, panel)]
    checks += edge_of_path(result, place, problem.n_features)
    honest = comparison.honest
    if honest is not None and honest.predictions is not None:
        checks += miscalibration(problem, honest.predictions.probabilities)
    held_out = comparison.clinical.get("left_out_batches")
    if held_out and honest is not None:
        checks += batch_effects(honest.score, held_out)
    if comparison.candidates is not None:
        checks += unstable_predictions(comparison.candidates)
    return [replace(check, about="model") for check in checks]


def redundant_panel(problem, panel):
    """Whether features of the panel repeat each other within the classes.

    Features that all tell the classes apart are correlated; features that repeat each other are so
    within each class, too.
    """
    sizes = np.bincount(problem.feature_of, minlength=len(problem.names))
    panel = [f for f in panel if sizes[f] == 1]
    n_free = problem.n_rows - problem.classes.size - 1
    if len(panel) < 2 or n_free < 2:
        return
    column = {int(f): j for j, f in enumerate(problem.feature_of)}
    values = problem.encoded[:, [column[f] for f in panel]]
    values = np.array(values.toarray() if is_sparse(values) else values, dtype=np.float64)
    for c in range(problem.classes.size):
        mine = problem.codes == c
        known = ~np.isnan(values[mine])
        means = np.where(known, values[mine], 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        values[mine] = np.where(known, values[mine] - means, 0.0)
    lengths = np.sqrt((values**2).sum(axis=0))
    values = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    r = np.abs(np.triu(values.T @ values, 1))
    n_pairs = len(panel) * (len(panel) - 1) / 2
    by_chance = 2 * stats.t.sf(_SAME * np.sqrt(n_free / (1 - _SAME**2)), n_free)
    pairs = np.argwhere(r >= _SAME)
    if not len(pairs) or n_pairs * by_chance > CHANCE:
        return
    pairs = sorted(pairs.tolist(), key=lambda pair: -r[tuple(pair)])
    told = [
        f"{problem.names[panel[i]]} and {problem.names[panel[j]]} ({r[i, j]:.2f})"
        for i, j in pairs
    ]
    yield Check(
        "redundant-panel",
        "note",
        f"Features of the model repeat each other (correlation within the classes): "
        f"{name_some(told)}.",
        "One of them may be enough: --redundancy 0.95 skips such features, or pick fewer of them.",
    )


def edge_of_path(result, place, n_features):
    """Whether the model is the last of its path, and a longer path could be better."""
    last = len(result.levels) - 1
    if place != last or last == 0 or result.overall[last] >= n_features - 0.5:
        return
    yield Check(
        "edge-of-path",
        "note",
        f"The model is the largest of {result.method.title} that was tried, with "
        f"{result.overall[last]:.0f} of {n_features} features.",
        "More features may be better: raise --max-features if it is set, and compare with "
        "methods that use all features.",
    )


def miscalibration(problem, probabilities):
    """Whether probabilities are too extreme or too cautious.

    The calibration slope is that of the log probabilities, 1 if they are calibrated; its interval
    is Wald's. Classes and sample groups weigh as in training.
    """
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(probabilities), -50.0)
    codes, n_classes = problem.codes, problem.classes.size
    weights = np.ones(codes.size) if problem.weights is None else problem.weights
    if problem.balanced:
        weights = weights / np.bincount(codes, weights, n_classes)[codes]
    n_units = codes.size if problem.groups is None else np.unique(problem.groups).size
    weights = weights * n_units / weights.sum()
    slope = 1 / fit_temperature(logs, codes, weights, np.inf)
    fitted = softmax(slope * logs)
    spread = (fitted * logs**2).sum(axis=1) - (fitted * logs).sum(axis=1) ** 2
    information = float(weights @ spread)
    if information <= 0:
        return
    half = stats.norm.ppf(0.5 + _COVERAGE / 2) / np.sqrt(information)
    low, high = slope - half, slope + half
    if low <= 1 <= high or _SLOPES[0] <= slope <= _SLOPES[1]:
        return
    what = "too near 0 and 1" if slope < 1 else "too far from 0 and 1"
    yield Check(
        "miscalibration",
        "note",
        f"The probabilities are {what}: calibration slope {slope:.2f}, {100 * _COVERAGE:.0f} % "
        f"interval {low:.2f} to {high:.2f} (1 is calibrated).",
        "Labels are not affected; recalibrate with tamis evaluate --recalibrate before using the "
        "probabilities.",
    )


def batch_effects(score, held_out):
    """Whether the score drops in batches that were held out; `held_out` has its interval."""
    if held_out["score"] is None or score - held_out["score"] <= _DROP:
        return
    low, high = held_out["interval_95"]
    if high >= score:
        return
    yield Check(
        "batch-effects",
        "warning",
        f"The score drops from {score:.3f} to {held_out['score']:.3f} (95 % interval {low:.3f} to "
        f"{high:.3f}) when sites or batches are left out in turn.",
        "Expect the lower score at a new site or in a new batch; look for features that differ "
        "between them.",
    )


def unstable_predictions(candidates):
    """Whether labels change between resamples of the whole choice.

    Rows are drawn with replacement and the choice of method and level is repeated; each draw uses
    the folds of another repeat. Share of the labels that differ between two draws.
    """
    codes, n_classes = candidates.codes, candidates.n_classes
    n_draws = max(10, min(_N_DRAWS, _MOST_VALUES // codes.size))
    draws = Draws(
        codes, n_classes, candidates.groups, n_draws, candidates.draws.seed, candidates.weights
    )
    counts, n = np.zeros((codes.size, n_classes)), 0
    rows = np.arange(codes.size)
    for drawn in draws:
        for place, _ in candidates.choose_all(drawn):
            result, at = candidates.find(place)
            counts[rows, result.labels[at, n % result.labels.shape[1]]] += 1
            n += 1
    if n < 2:
        return
    share = float((1 - ((counts * (counts - 1)).sum(axis=1) / (n * (n - 1)))).mean())
    if share <= _UNSTABLE:
        return
    yield Check(
        "unstable-predictions",
        "note",
        f"When the whole selection is repeated on two resamples of the rows, {100 * share:.0f} % "
        "of the predicted labels differ.",
        "More rows would make the selection more stable; do not rely on the prediction of a "
        "single row.",
    )
