"""What `metrics.json` says: plain numbers, strings and lists."""

import numpy as np

from tamis import __version__
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


def path_table(result, candidates):
    """The sparsity path of a method, its best level and its sparsest that is good enough."""
    per_sample, most, cost = result.per_sample, result.most_per_sample, result.mean_cost
    path = [
        {
            "level": float(level),
            "features_overall": float(result.overall[at]),
            "features_per_sample": float(per_sample[at]),
            "features_per_sample_95th_percentile": float(most[at]),
            "cost_per_sample": float(cost[at]),
            "score": float(result.scores[at]),
            "standard_error": float(result.errors[at]),
        }
        for at, level in enumerate(result.levels)
    ]
    return {
        "title": result.method.title,
        "is_baseline": result.method.is_baseline,
        "asks": result.method.asks,
        "level_is": result.method.level_name,
        "best": path[int(result.scores.argmax())],
        "good_enough": path[candidates.good_level(result)],
        "path": path,
        "seconds": float(result.seconds),
    }


def summarise(comparison, choice, records):
    """Everything that was found, as plain JSON.

    Parameters
    ----------
    comparison : Comparison
    choice : Choice or None
        The point of a curve that is described as the model.
    records : list of dict
        Its features.

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
            "name": comparison.name,
            "target": comparison.data.target,
            "rows": int(problem.n_rows),
            "features": len(problem.names),
            "has_costs": bool((problem.costs != 1).any()),
            "has_weights": problem.weights is not None,
            "sample_groups": None
            if problem.groups is None
            else int(np.unique(problem.groups).size),
            "classes": dict(zip(map(str, problem.classes.tolist()), counts.tolist(), strict=True)),
            "notes": comparison.data.notes,
        },
        "settings": {
            "scoring": settings.scoring,
            "minimize": settings.minimize,
            "tolerance": settings.tolerance,
            "folds": settings.n_folds,
            "repeats": settings.n_repeats,
            "seed": settings.seed,
            "permutations": settings.permutations,
            "min_sensitivity": settings.min_sensitivity,
        },
        "methods": {
            r.method.name: path_table(r, comparison.candidates) for r in comparison.results
        },
        "checks": [check.as_dict() for check in comparison.checks],
        "left_out": {
            name: {"estimated_seconds": float(t)} for name, t in comparison.left_out.items()
        },
        "unfinished": [n for n in comparison.unfinished if n not in comparison.failed],
        "failed": comparison.failed,
        "versions": versions(),
    }
    if choice is not None:
        metrics["model"] = describe_model(comparison, choice)
        counted = [r["feature"] for r in records if not r["kept"]]
        metrics["model"]["features"] = len(counted)
        if metrics["data"]["has_costs"]:
            costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
            metrics["model"]["total_cost"] = sum(costs[name] for name in counted)
    return metrics


def describe_model(comparison, choice):
    """How good one point of a path is."""
    problem, settings = comparison.problem, comparison.settings
    result, at = comparison.result(choice.method), choice.place
    recommended = choice == comparison.choice
    classes, weights = problem.classes, problem.weights
    # Every repeat predicts every row once: all of them together.
    n_repeats = result.labels.shape[1]
    codes = np.tile(problem.codes, n_repeats)
    labels = result.labels[at].reshape(-1)
    probabilities = result.probabilities[at].reshape(-1, classes.size)
    weights = None if weights is None else np.tile(weights, n_repeats)
    told = {
        "method": choice.method,
        "title": result.method.title,
        "recommended": recommended,
        "asks": result.method.asks,
        "level": float(result.levels[at]),
        "level_is": result.method.level_name,
        "features_overall": float(result.overall[at]),
        "features_per_sample": float(result.per_sample[at]),
        "features_per_sample_95th_percentile": float(result.most_per_sample[at]),
        "selection_score": {
            "scoring": settings.scoring,
            "score": float(result.scores[at]),
            "standard_error": float(result.errors[at]),
            "is": "used to select the model; optimistic, so do not report it",
        },
        "best_baseline": _best_baseline(comparison, choice),
        "confusion": {
            "classes": [str(label) for label in classes.tolist()],
            "true_in_rows": (confusion(codes, labels, classes.size, weights) / n_repeats).tolist(),
        },
        "per_class": class_table(codes, labels, probabilities, classes, weights),
        "confusion_and_per_class_are": "of the out-of-fold predictions that selected the model: "
        "somewhat optimistic; mean over repeats",
    }
    for row in told["per_class"].values():
        row["rows"] //= n_repeats
    if recommended:
        told["honest_score"] = _honest(comparison.honest_score, settings)
    else:
        place = comparison.candidates.place(choice.method, at)
        told["selection_score"] |= {
            "simultaneous_lower_95": float(comparison.lower_band[place]),
            "is": "chosen after seeing the curve: the lower limit holds for all points together",
        }
    if settings.min_sensitivity is not None:
        told["threshold"] = _threshold(comparison, result, at, told)
    if comparison.batches:
        told["left_out_batches"] = _batches(comparison, choice, np.unique(comparison.data.batches))
    if comparison.p_value is not None and recommended:
        told["permutations"] = {
            "p_value": comparison.p_value,
            "score": float(result.scores[at]),
            "shuffled_scores": comparison.shuffled_scores,
        }
    return told


def _honest(honest, settings):
    return {
        "scoring": settings.scoring,
        "score": honest.score,
        "interval_95": [honest.low, honest.high],
        "behind_best_95": honest.behind,
        "sensitivity": honest.sensitivity,
        "specificity": honest.specificity,
        "draws": honest.n_draws,
        "is": ("nested" if honest.is_nested else "bootstrap bias corrected")
        + ": includes the choice of method and number of features",
    }


def _best_baseline(comparison, choice):
    """The baseline that does best against the model, at its sparsest level that does so."""
    candidates = comparison.candidates
    place = candidates.place(choice.method, choice.place)
    size = candidates.sparsity[place]
    told = []
    for result in comparison.results:
        if not result.method.is_baseline:
            continue
        at = candidates.good_level(result)
        first = candidates.place(result.method.name, 0)
        behind = candidates.behind(place, first + at)
        margin = max(behind.error, candidates.tolerance)
        told.append(
            {
                "method": result.method.name,
                "title": result.method.title,
                "level": float(result.levels[at]),
                "features_overall": float(result.overall[at]),
                "score": float(result.scores[at]),
                "difference": behind.difference,
                "standard_error": behind.error,
                "is_better": bool(behind.difference > margin),
                "is_sparser": bool(candidates.sparsity[first + at] < size),
                "is_as_good": bool(behind.difference >= -margin),
            }
        )

    def merit(entry):
        return entry["is_better"], entry["is_as_good"] and entry["is_sparser"], entry["difference"]

    return max(told, key=merit, default=None)


def _threshold(comparison, result, at, told):
    """What the threshold of the positive class reaches, and what it costs."""
    problem, settings = comparison.problem, comparison.settings
    positive = str(problem.classes[settings.positive])
    honest = told.get("honest_score") or {}
    reached = told["per_class"][positive]
    plain = result.probabilities[at].argmax(axis=2) == settings.positive
    without = 1 - plain[:, problem.codes != settings.positive].mean()
    sensitivity, specificity = honest.get("sensitivity"), honest.get("specificity")
    return {
        "positive": positive,
        "min_sensitivity": settings.min_sensitivity,
        "sensitivity": reached["sensitivity"] if sensitivity is None else sensitivity,
        "specificity": reached["specificity"] if specificity is None else specificity,
        "specificity_without": float(without),
    }


def batch_scores(problem, result, place):
    """Accuracy of a level on every batch that was left out, by the number of the batch."""
    right = result.labels[place, 0] == problem.codes
    return {int(b): float(right[problem.batches == b].mean()) for b in np.unique(problem.batches)}


def _batches(comparison, choice, names):
    result = next((r for r in comparison.batches if r.method.name == choice.method), None)
    if result is None:
        return None
    return {
        "score": float(result.scores[choice.place]),
        "accuracy_of_batch": {
            str(names[b]): value
            for b, value in batch_scores(comparison.problem, result, choice.place).items()
        },
    }
