"""What `metrics.json` says: plain numbers, strings and lists."""

import numpy as np

from tamis import __version__
from tamis._selection import choose_level
from tamis.comparison.comparison import batch_scores
from tamis.comparison.scores import class_table, confusion

__all__ = ["path_table", "summarise", "versions"]


def versions():
    """Versions that a result depends on."""
    import numba
    import scipy
    import sklearn

    return {
        "tamis": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
    }


def path_table(result):
    """The sparsity path of a method, and its best and one-standard-error levels."""
    best = choose_level(result.scores, result.errors, "best")
    sparsest = choose_level(result.scores, result.errors, "1se")
    per_sample, most = result.per_sample, result.most_per_sample
    path = [
        {
            "level": float(level),
            "features_overall": float(result.overall[at]),
            "features_per_sample": float(per_sample[at]),
            "features_per_sample_95": float(most[at]),
            "score": float(result.scores[at]),
            "standard_error": float(result.errors[at]),
        }
        for at, level in enumerate(result.levels)
    ]
    return {
        "title": result.method.title,
        "is_baseline": result.method.is_baseline,
        "level_is": result.method.unit,
        "best": path[best],
        "one_standard_error": path[sparsest],
        "path": path,
        "seconds": float(result.seconds),
    }


def summarise(comparison, loaded, *, chosen=None, seconds=None, left_out=None):
    """Everything that was found, as plain JSON.

    Parameters
    ----------
    comparison : Comparison
    loaded : Loaded
    chosen : Choice or None
        The point of a path that is described; None: the recommended one.
    seconds : float or None
        Of the whole command.
    left_out : dict or None
        Methods that were left out, with their estimated seconds.

    Returns
    -------
    metrics : dict
    """
    problem, settings = comparison.problem, comparison.settings
    counts = np.bincount(problem.codes, minlength=problem.classes.size)
    metrics = {
        "format": "tamis-metrics",
        "format_version": 1,
        "complete": not comparison.n_left,
        "data": {
            "name": loaded.name,
            "target": loaded.dataset.target,
            "rows": int(problem.n_rows),
            "features": len(problem.names),
            "classes": dict(zip(map(str, problem.classes.tolist()), counts.tolist(), strict=True)),
            "notes": loaded.dataset.notes,
        },
        "settings": {
            "scoring": settings.scoring,
            "minimize": settings.minimize,
            "folds": settings.n_folds,
            "repeats": settings.n_repeats,
            "seed": settings.seed,
            "permutations": settings.permutations,
            "min_sensitivity": settings.min_sensitivity,
        },
        "methods": {r.method.name: path_table(r) for r in comparison.results},
        "left_out": {
            name: {"estimated_seconds": float(t)} for name, t in (left_out or {}).items()
        },
        "unfinished": [n for n in comparison.unfinished if n not in comparison.failed],
        "failed": comparison.failed,
        "versions": versions(),
    }
    if comparison.choice is not None:
        metrics["model"] = describe_model(
            comparison, chosen or comparison.choice, chosen is None, loaded.dataset.batches
        )
    if seconds is not None:
        metrics["seconds"] = float(seconds)
    return metrics


def describe_model(comparison, choice, recommended, batches):
    """How good one point of a path is."""
    problem, settings = comparison.problem, comparison.settings
    result, at = comparison.result(choice.method), choice.at
    classes = problem.classes
    # Every repeat predicts every row once: all of them together.
    n_repeats = result.labels.shape[1]
    codes = np.tile(problem.codes, n_repeats)
    labels = result.labels[at].reshape(-1)
    probabilities = result.probabilities[at].reshape(-1, classes.size)
    told = {
        "method": choice.method,
        "title": result.method.title,
        "recommended": recommended,
        "level": float(result.levels[at]),
        "level_is": result.method.unit,
        "features_overall": float(result.overall[at]),
        "features_per_sample": float(result.per_sample[at]),
        "features_per_sample_95": float(result.most_per_sample[at]),
        "selection_score": {
            "score": float(result.scores[at]),
            "standard_error": float(result.errors[at]),
            "is": "the score that the choice was made by: the best of many, not for reporting",
        },
        "behind_best_baseline": float(choice.behind),
        "confusion": {
            "classes": [str(label) for label in classes.tolist()],
            "true_in_rows": (confusion(codes, labels, classes.size) / n_repeats).tolist(),
        },
        "per_class": class_table(codes, labels, probabilities, classes),
        "confusion_and_per_class_are": "of the out-of-fold predictions that the choice was made "
        "by: somewhat too good; mean over repeats",
    }
    for row in told["per_class"].values():
        row["rows"] //= n_repeats
    if recommended:
        honest = comparison.honest
        told["honest_score"] = {
            "scoring": settings.scoring,
            "score": honest.score,
            "interval_95": [honest.low, honest.high],
            "sensitivity": honest.sensitivity,
            "draws": honest.n_draws,
            "is": ("nested" if honest.is_nested else "bootstrap bias corrected")
            + ": covers the choice of method and level",
        }
    if comparison.batches:
        told["left_out_batches"] = _batches(comparison, choice, np.unique(batches))
    if comparison.p_value is not None and recommended:
        told["permutations"] = {
            "p_value": comparison.p_value,
            "score": float(result.scores[at]),
            "shuffled_scores": comparison.shuffled_scores,
        }
    return told


def _batches(comparison, choice, names):
    result = next((r for r in comparison.batches if r.method.name == choice.method), None)
    if result is None:
        return None
    return {
        "score": float(result.scores[choice.at]),
        "accuracy_of_batch": {
            str(names[b]): value
            for b, value in batch_scores(comparison, result, choice.at).items()
        },
    }
