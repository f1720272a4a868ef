"""The content of `metrics.json`: plain numbers, strings and lists."""

import numpy as np

from tamis.comparison.choosing.decisions import decide_level, decides_by
from tamis.comparison.choosing.readable import describe_readable
from tamis.comparison.choosing.results import whole
from tamis.comparison.choosing.scores import class_table, confusion
from tamis.comparison.methods.baselines import KEPT_ALONE, MostFrequent
from tamis.comparison.running.checkpoints import versions

__all__ = ["kept_alone", "path_table", "scores_vary", "summarise", "tabulate_paths"]


def path_table(result, candidates, recommended=None):
    """The path of a method, its best level, and its sparsest level that is good enough.

    For the method of the recommended model, that model: it is good enough compared with all
    methods, not only with the best level of its own.
    """
    is_recommended = recommended is not None and recommended.method == result.method.name
    good = recommended.place if is_recommended else candidates.good_level(result)
    first = candidates.place(result.method.name, 0)
    path = [
        {
            "level": float(level),
            "features_overall": whole(result.overall[place]),
            "features_per_sample": float(result.per_sample[place]),
            "features_per_sample_95th_percentile": float(result.most_per_sample[place]),
            "cost_per_sample": float(result.cost[place]),
            "score": float(result.scores[place]),
            "standard_error": float(result.errors[place]),
            "counts": bool(candidates.counts[first + place]),
        }
        for place, level in enumerate(result.levels)
    ]
    return {
        "title": result.method.title,
        "is_baseline": result.method.is_baseline,
        "asks": result.method.asks,
        "is_readable": result.method.is_readable,
        "head": result.method.head_name,
        "level_is": result.method.level_name,
        "best": path[int(result.scores.argmax())],
        "good_enough": path[good],
        "is_recommended": is_recommended,
        "path": path,
        "seconds": float(result.seconds),
    }


def scores_vary(name, metrics):
    """Whether the score of a method can differ in other rows, so that it has a standard error.

    Always predicting the same class has the same balanced accuracy, AUC and MCC in any rows.
    """
    same = ("balanced_accuracy", "roc_auc", "mcc")
    return name != MostFrequent.name or metrics["settings"]["scoring"] not in same


def summarise(comparison, choice, records):
    """All results as plain values, for JSON.

    `choice`: method and level that are described as the model; `records`: its features.
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
            "features": int(np.count_nonzero(~problem.excluded)),
            "percents": list(problem.preparation.missing.percents),
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
            "positive": None
            if settings.positive is None
            else str(problem.classes[settings.positive]),
        },
        "methods": {
            r.method.name: path_table(r, comparison.candidates, comparison.recommended)
            for r in comparison.results
        },
        "checks": [
            check.as_dict()
            for check in comparison.checks
            if check.about == "data" or choice in (None, comparison.recommended)
        ],
        "left_out": {
            name: {"estimated_seconds": float(t)} for name, t in comparison.left_out.items()
        },
        "unfinished": [n for n in comparison.unfinished if n not in comparison.failed],
        "failed": comparison.failed,
        "versions": versions(),
        "not_described": comparison.not_described,
    }
    if comparison.candidates is not None:
        metrics["readable"] = describe_readable(comparison)
    if comparison.seconds is not None:
        metrics["seconds"] = comparison.seconds
    if choice is not None:
        point = metrics["methods"][choice.method]["path"][choice.place]
        metrics["model"] = describe_model(comparison, choice, point)
        counted = [r["feature"] for r in records if not r["kept"]]
        metrics["model"]["features"] = len(counted)
        metrics["model"]["guarantees"] = {}
        if metrics["data"]["has_costs"]:
            costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
            metrics["model"]["total_cost"] = sum(costs[name] for name in counted)
    return metrics


def describe_model(comparison, choice, point):
    """How good one level of a method is; `point` is its row of the path."""
    problem, settings = comparison.problem, comparison.settings
    result = next(r for r in comparison.results if r.method.name == choice.method)
    at, recommended = choice.place, choice == comparison.recommended
    classes, weights = problem.classes, problem.weights
    # Each repeat predicts every row once; the predictions of all repeats are pooled.
    n_repeats = result.labels.shape[1]
    codes = np.tile(problem.codes, n_repeats)
    labels = decide_level(result, at, problem, settings).reshape(-1)
    probabilities = result.probabilities[at].reshape(-1, classes.size)
    weights = None if weights is None else np.tile(weights, n_repeats)
    described = {
        "method": choice.method,
        "title": result.method.title,
        "recommended": recommended,
        "asks": result.method.asks,
        "is_readable": result.method.is_readable,
        "head": result.method.head_name,
        "decides_by": decides_by(settings),
        "level": point["level"],
        "level_is": result.method.level_name,
        "features_overall": point["features_overall"],
        "features_per_sample": point["features_per_sample"],
        "features_per_sample_95th_percentile": point["features_per_sample_95th_percentile"],
        "selection_score": {
            "scoring": settings.scoring,
            "score": point["score"],
            "standard_error": point["standard_error"],
            "is": "cross-validated, used for selection: optimistic, so do not report it",
        },
        "best_baseline": _best_baseline(comparison, choice),
        "kept_alone": kept_alone(comparison, choice),
        "confusion": {
            "classes": [str(label) for label in classes.tolist()],
            "true_in_rows": (confusion(codes, labels, classes.size, weights) / n_repeats).tolist(),
        },
        "per_class": class_table(codes, labels, probabilities, classes, weights),
        "confusion_and_per_class_are": "from the out-of-fold predictions that were used to "
        "select the model: somewhat optimistic; mean over repeats",
    }
    for row in described["per_class"].values():
        row["rows"] //= n_repeats
    if recommended:
        if comparison.honest is not None:  # otherwise "not_described" says why
            described["honest_score"] = _honest(comparison.honest, problem, settings)
    elif comparison.without:
        described["without"] = list(comparison.without)
        described["selection_score"]["is"] = (
            "cross-validated again without the excluded features, which were named after seeing "
            "the curve: optimistic, so do not report it"
        )
    else:
        place = comparison.candidates.place(choice.method, at)
        described["selection_score"] |= {
            "simultaneous_lower_95": float(comparison.lower_band[place]),
            "is": "chosen after seeing the curve; the simultaneous 95 % lower limit is valid "
            "whichever model is picked",
        }
    if settings.min_sensitivity is not None:
        described["threshold"] = _threshold(comparison, result, at, described)
    if comparison.p_value is not None and recommended:
        described["permutations"] = {
            "p_value": comparison.p_value,
            "score": float(result.scores[at]),
            "shuffled_scores": comparison.shuffled_scores,
        }
    return described


def _honest(honest, problem, settings):
    found = honest.found
    if found is None and honest.predictions is not None:
        counts = confusion(
            problem.codes, honest.predictions.labels, problem.classes.size, problem.weights
        )
        found = np.diagonal(counts) / np.maximum(counts.sum(axis=1), 1e-300)
    if found is not None:
        shares = [None if np.isnan(share) else float(share) for share in found]
        found = dict(zip(map(str, problem.classes.tolist()), shares, strict=True))
    return {
        "scoring": settings.scoring,
        "score": honest.score,
        "interval_95": [honest.low, honest.high],
        "behind_best_95": honest.behind,
        "sensitivity": honest.sensitivity,
        "specificity": honest.specificity,
        "found_of_class": found,
        "draws": honest.n_draws,
        "decides_by": decides_by(settings),
        "is": ("nested" if honest.is_nested else "bootstrap bias corrected")
        + ": includes the choice of method and number of features",
    }


def kept_alone(comparison, choice):
    """Score of the kept columns alone, and what one level of a method adds to them.

    Returns `told`: None if no columns are kept, or their score was not finished.
    """
    result, candidates = comparison.result(KEPT_ALONE.name), comparison.candidates
    if result is None:
        return None
    place = candidates.place(KEPT_ALONE.name, 0)
    behind = candidates.behind(place, candidates.place(choice.method, choice.place))
    return {
        "score": float(result.scores[0]),
        "standard_error": float(result.errors[0]),
        "added": behind.difference,
        "added_standard_error": behind.error,
    }


def _best_baseline(comparison, choice):
    """The baseline that compares best with the model, at its sparsest good level."""
    candidates = comparison.candidates
    place = candidates.place(choice.method, choice.place)
    size = candidates.sparsity[place]
    compared = []
    for result in comparison.results:
        if not result.method.is_baseline:
            continue
        level = candidates.good_level(result)
        first = candidates.place(result.method.name, 0)
        behind = candidates.behind(place, first + level)
        margin = max(behind.error, candidates.tolerance)
        compared.append(
            {
                "method": result.method.name,
                "title": result.method.title,
                "level": float(result.levels[level]),
                "features_overall": whole(result.overall[level]),
                "score": float(result.scores[level]),
                "difference": behind.difference,
                "standard_error": behind.error,
                "is_better": bool(behind.difference > margin),
                "is_sparser": bool(candidates.sparsity[first + level] < size),
                "is_as_good": bool(behind.difference >= -candidates.tolerance),
            }
        )

    def merit(entry):
        return entry["is_better"], entry["is_as_good"] and entry["is_sparser"], entry["difference"]

    return max(compared, key=merit, default=None)


def _threshold(comparison, result, at, described):
    """Sensitivity with the threshold of the positive class, and what it costs."""
    problem, settings = comparison.problem, comparison.settings
    positive = str(problem.classes[settings.positive])
    honest = described.get("honest_score") or {}
    reached = described["per_class"][positive]
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


def tabulate_paths(comparison):
    """One row per method and level, as columns: see `Comparison.table`."""
    choice = comparison.recommended
    chosen = None if choice is None else (choice.method, choice.place)
    told = ("level", "features_overall", "features_per_sample", "cost_per_sample")
    rows = [
        (
            result.method.name,
            result.method.is_baseline,
            result.method.is_readable,
            result.method.head_name,
            *(row[name] for name in (*told, "score", "standard_error")),
            (result.method.name, place) == chosen,
        )
        for result in comparison.results
        for place, row in enumerate(path_table(result, comparison.candidates)["path"])
    ]
    names = ["method", "is_baseline", "is_readable", "head"]
    names += ["level", "n_features", "n_features_per_sample"]
    names += ["cost_per_sample", "score", "standard_error", "is_chosen"]
    table = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    if not all(isinstance(n, int) for n in table["n_features"]):  # one type per column
        table["n_features"] = [float(n) for n in table["n_features"]]
    return table
