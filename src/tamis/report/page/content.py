"""The content of the report as plain values: every number comes from the comparison itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._array import is_sparse
from tamis.comparison.choosing.decisions import tell_unfinished
from tamis.comparison.fitted.metrics import scores_vary
from tamis.comparison.fitted.promise_words import tell_promises
from tamis.comparison.methods.naming import bracket, explain_marks, mark_method
from tamis.models.saving import make_document
from tamis.report.page.clinical import describe_classes
from tamis.report.page.curve import describe_curve
from tamis.report.page.external import describe_evaluations
from tamis.report.page.family import describe_family, describe_model, worked_example
from tamis.report.page.features import describe_panel
from tamis.report.page.parts import FEWEST, describe_parts, hide_counts, hide_few
from tamis.report.page.words import (
    SCORES,
    SCORES_WITHOUT_CHOICE,
    TRIPOD,
    count,
    plural,
    recommend,
    rule_of_choice,
)
from tamis.tables.classifying.prevalence import find_prevalence, tell_shares

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison


# Columns with missing values that are listed.
_MOST_MISSING = 10
_OTHER_ROWS = {
    "left_out_batches": "Sites or batches, left out in turn (also when the model was chosen)",
    "time_order": "Later rows, predicted from earlier ones",
}
# Control characters, and those that change the direction of text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def make_content(
    comparison: Comparison,
    choice: Choice | None = None,
    *,
    run: str | None = None,
    command: str | None = None,
    about: str | None = None,
    evaluations: Sequence[dict[str, Any]] = (),
    include_rows: bool = False,
    prevalence: Any = None,
) -> dict[str, Any]:
    """Everything that the report says about one model of a method.

    `choice`: method and level; None: the recommended ones.
    """
    choice = comparison.final_choice if choice is None else choice
    model, records, metrics = comparison.fitted(choice)
    digest = make_document(model)["digest"]
    settings = metrics["settings"]
    shown = find_prevalence(model, prevalence)
    clinical = describe_classes(comparison, choice, model, shown)
    content = {
        "name": comparison.name,
        "target": metrics["data"]["target"] or "target",
        "is_recommended": metrics["model"]["recommended"],
        "scoring": SCORES[settings["scoring"]],
        "unfinished": tell_unfinished(metrics),
        "recommendation": recommend(metrics, comparison),
        "baselines": _baselines(metrics, choice),
        "curve": describe_curve(comparison, choice, run),
        "panel": describe_panel(comparison, records, metrics["model"], include_rows),
        "family": describe_family(comparison, choice, model, include_rows),
        "clinical": clinical,
        "further": _further(metrics["model"]),
        "promises": [_as_sentence(line.strip()) for line in tell_promises(metrics)],
        "by_part": describe_parts(metrics["model"], include_rows),
        "evaluations": describe_evaluations(
            comparison, choice, evaluations, digest, clinical, include_rows
        ),
        "checks": metrics["checks"],
        "data": _data(comparison, metrics, include_rows),
        "methods": _methods(metrics),
        "rule": rule_of_choice(metrics),
        "about": about,
        "prevalence": f"{shown.sentence(on_page=True)} {shown.caution}".strip(),
        "example": worked_example(comparison, model, shown),
        "model": describe_model(model, include_rows),
        "reproduce": {
            "command": command,
            "seed": settings["seed"],
            "data_digest": comparison.problem.digest(),
            "model_digest": digest,
            "versions": metrics["versions"],
            "settings": {key: value for key, value in settings.items() if value is not None},
        },
        "tripod": TRIPOD,
        "includes_rows": include_rows,
    }
    return clean(content)


def clean(value):
    """Escape characters that a browser would act on, in all strings."""
    if isinstance(value, str):
        return _UNSAFE.sub(lambda c: f"\\u{ord(c[0]):04x}", value)
    if isinstance(value, dict):
        return {clean(name): clean(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(one) for one in value]
    return value


def _as_sentence(line):
    line = f"{line[0].upper()}{line[1:]}"
    return line if line.endswith((".", ":")) else f"{line}."


def _baselines(metrics, choice):
    """The model beside the baselines and the other methods, all scored on the same folds."""
    model = metrics["model"]
    rows = [
        {
            "title": mark_method(model["method"], model),
            "is": "this model",
            "features": count(model["features"]),
            "score": model["selection_score"]["score"],
            "error": model["selection_score"]["standard_error"],
        }
    ]
    for name, method in metrics["methods"].items():
        if name != choice.method:
            good = method["good_enough"]
            rows.append(
                {
                    "title": mark_method(name, method),
                    "is": "baseline" if method["is_baseline"] else "other method",
                    "features": count(good["features_overall"]),
                    "score": good["score"],
                    "error": good["standard_error"] if scores_vary(name, metrics) else None,
                }
            )
    kinds = ("this model", "baseline", "other method")
    return sorted(rows, key=lambda row: kinds.index(row["is"]))


def _methods(metrics):
    """Every model that was tried: one row per method."""
    rows = []
    for name, method in metrics["methods"].items():
        good, best, path = method["good_enough"], method["best"], method["path"]
        rows.append(
            {
                "title": mark_method(name, method),
                "is_baseline": method["is_baseline"],
                "is_recommended": method["is_recommended"],
                "asks": method["asks"],
                "n_levels": len(path),
                "range": _range(p["features_overall"] for p in path),
                "features": count(good["features_overall"]),
                "per_sample": count(good["features_per_sample"]),
                "score": good["score"],
                "error": good["standard_error"] if scores_vary(name, metrics) else None,
                "best_features": count(best["features_overall"]),
                "best_score": bracket(f"{best['score']:.3f}", best),
                "seconds": method["seconds"],
            }
        )
    return {
        "rows": rows,
        "asks": any(row["asks"] for row in rows),
        "legend": explain_marks(metrics["methods"]),
        "has_recommended": any(row["is_recommended"] for row in rows),
        "n_models": sum(row["n_levels"] for row in rows),
        "left_out": {n: one["estimated_seconds"] for n, one in metrics["left_out"].items()},
        "unfinished": metrics["unfinished"],
        "failed": metrics["failed"],
    }


def _range(values):
    """The smallest and the largest of some numbers of features."""
    values = sorted(values)
    ends = dict.fromkeys([count(values[0]), count(values[-1])])
    return " to ".join(ends)


def _data(comparison, metrics, include_rows):
    """Rows, classes, what was recognised or dropped, and missing values."""
    data, problem = metrics["data"], comparison.problem
    total = sum(data["classes"].values())
    return {
        "rows": data["rows"],
        "all_rows": metrics.get("streaming", {}).get("rows", data["rows"]),
        "features": data["features"],
        "classes": [(c, n, n / total) for c, n in data["classes"].items()],
        "without_copies": _without_copies(problem),
        "sample_groups": data["sample_groups"],
        "has_weights": data["has_weights"],
        "has_costs": data["has_costs"],
        "kept": [n for n, kept in zip(problem.names, problem.kept, strict=True) if kept],
        "notes": [note if include_rows else hide_counts(note) for note in data["notes"]],
        "missing": _missing(problem, include_rows),
    }


def _without_copies(problem):
    """Class frequencies if copies of a row count once; None if there are no copies."""
    if problem.times is None:
        return None
    return tell_shares(problem.frequencies, [str(label) for label in problem.classes.tolist()])


def _missing(problem, include_rows):
    """Columns with missing values, the worst first."""
    names, counts = problem.preparation.sources, {}
    for j in problem.missing.tolist():
        column = problem.encoded[:, [j]]
        n = np.isnan(column.data if is_sparse(column) else column).sum()
        counts[names[j]] = max(counts.get(names[j], 0), int(n))
    worst = sorted(((n, name) for name, n in counts.items() if n), key=lambda one: -one[0])

    def shown(n):
        return include_rows or n >= FEWEST

    return {
        "n_columns": len(worst),
        "worst": [
            (name, hide_few(n, include_rows), n / problem.n_rows if shown(n) else None)
            for n, name in worst[:_MOST_MISSING]
        ],
    }


def _further(model):
    """Scores that the run has only if they were asked for, one sentence each."""
    lines = []
    for key, title in _OTHER_ROWS.items():
        found = model.get(key)
        if found and found["score"] is not None:
            low, high = found["interval_95"]
            lines.append(
                f"{title}: score {found['score']:.3f}, 95 % interval {low:.3f} to {high:.3f}."
            )
    assay = model.get("assay")
    if assay and assay["features"]:
        low, high = assay["lost_interval_95"]
        lines.append(
            f"When the features are measured again, with the stated measurement errors, the score "
            f"falls by {assay['lost']:.3f}, 95 % interval {low:.3f} to {high:.3f}."
        )
    curve = model.get("learning_curve")
    if curve:
        low, high = curve["gain_interval_95"]
        lines.append(
            f"With twice the rows ({curve['twice_the_rows']:,} instead of {curve['rows']:,}), the "
            f"score is expected to rise by {curve['gain']:.3f}, 95 % interval {low:.3f} to "
            f"{high:.3f} (extrapolated from a learning curve)."
        )
    permuted = model.get("permutations")
    if permuted:
        n = len(permuted["shuffled_scores"])
        lines.append(
            f"Permutation test: p = {permuted['p_value']:.3g}, from {plural(n, 'permutation')} of "
            "the labels, repeating the whole choice each time."
        )
    if model.get("threshold"):
        told = model["threshold"]
        who = (
            "Thresholds that were chosen in the folds find"
            if "is" in told
            else "The threshold finds"
        )
        lines.append(
            f"{who} {100 * told['sensitivity']:.1f} % of the rows of class "
            f"{told['positive']} ({100 * told['min_sensitivity']:.1f} % were requested), at a "
            f"specificity of {100 * told['specificity']:.1f} %"
            + (SCORES_WITHOUT_CHOICE if model["recommended"] else ".")
        )
    kept = model.get("kept_alone")
    if kept:
        lines.append(
            f"The kept columns alone score {kept['score']:.3f}; the other features add "
            f"{kept['added']:+.3f} ± {kept['added_standard_error']:.3f} (standard error, paired)."
        )
    return lines
