"""External validations beside the internal one: scores, and what the probabilities are worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.choosing.scores import area_under_curve
from tamis.comparison.further.external import measure_class
from tamis.report.page.clinical import predicted_rows
from tamis.report.page.parts import hide_counts
from tamis.report.page.words import SCORES

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison


# Classes of an evaluation that have a table and pictures.
_MOST_CLASSES = 3


def describe_evaluations(
    comparison: Comparison,
    choice: Choice,
    reports: Sequence[dict[str, Any]],
    digest: str,
    clinical: dict[str, Any],
    include_rows: bool = False,
) -> list[dict[str, Any]]:
    """What `tamis evaluate -o FILE` wrote, beside the same of the internal predictions.

    Returns `told`: "measured" has, for some classes, "internal" and "external" values of
    `measure_class`; "internal" has the area under the ROC curve and the Brier score of all
    classes.
    """
    if not reports:
        return []
    internal: dict[str, Any] = {}
    told, scored = [], _score(predicted_rows(comparison, choice), clinical)
    for report in reports:
        one = _evaluation(report, digest, include_rows)
        names = list(report.get("by_class", {}))[:_MOST_CLASSES]
        for name in names:
            if name not in internal:
                internal[name] = _measure(comparison, choice, name, clinical)
        one["measured"] = [
            _beside(name, internal[name], report["by_class"][name]) for name in names
        ]
        told.append(one | {"internal": scored})
    return told


def _score(rows, clinical):
    """Area and Brier score of the internal predictions, as those of an evaluation."""
    area = area_under_curve(rows.codes, rows.risks, rows.weights)
    happened = rows.codes[:, None] == np.arange(rows.shares.size)
    squares = ((rows.risks - happened) ** 2).sum(axis=1) / (1 + (rows.shares.size == 2))
    interval = clinical["classes"][0]["area_interval"] if rows.shares.size == 2 else None
    return {
        "area": float(area),
        "area_interval": interval,
        "brier": float(np.average(squares, weights=rows.weights)),
    }


def _measure(comparison, choice, name, clinical):
    """The internal predictions of a class, at the class frequencies of the data."""
    problem, rows = comparison.problem, predicted_rows(comparison, choice)
    labels = [str(label) for label in problem.classes.tolist()]
    if name not in labels:
        return None
    c = labels.index(name)
    measure = partial(
        measure_class,
        rows.codes == c,
        rows.risks[:, c],
        name=name,
        prevalence=float(rows.shares[c]),
        groups=problem.groups,
        seed=comparison.settings.seed,
    )
    measured = measure(weights=rows.weights)
    if measured is not None and problem.times is not None:
        # For calibration and net benefit, duplicates of a row count once together.
        once = measure(weights=rows.weights / problem.times)
        measured = once | {key: measured[key] for key in ("roc", "brier")}
    for one in clinical["classes"]:
        if measured is not None and one["code"] == c:  # as in Diagnostic performance
            measured["roc"] |= {"area": one["area"], "interval_95": one["area_interval"]}
            measured["brier"] = {
                "score": one["brier"],
                "interval_95": one["brier_interval"],
                "of_share": one["brier_of_share"],
            }
    return measured


def _beside(name, internal, external):
    """One class: its numbers as rows of a table, and all that the pictures need."""
    kinds = (
        ("rows of the class, and others", lambda m: f"{m['rows']:,}, {m['others']:,}"),
        ("proportion of the class", lambda m: f"{100 * m['share']:.3g} %"),
        ("prevalence of the probabilities", lambda m: f"{100 * m['prevalence']:.3g} %"),
        ("area under ROC curve", lambda m: _told(m["roc"]["area"], m["roc"]["interval_95"], 3)),
        ("calibration slope", lambda m: _told(m["slope"]["value"], m["slope"]["interval_95"])),
        (
            "calibration intercept",
            lambda m: _told(m["intercept"]["value"], m["intercept"]["interval_95"]),
        ),
        (
            "calibration intercept, re-based to the proportion of the class",
            lambda m: _told(
                m["intercept_at_share"]["value"], m["intercept_at_share"]["interval_95"]
            ),
        ),
        ("Brier score", lambda m: _told(m["brier"]["score"], m["brier"]["interval_95"], 3)),
        ("Brier score of the proportion alone", lambda m: f"{m['brier']['of_share']:.3f}"),
    )
    rows = [
        (title, "-" if internal is None else tell(internal), tell(external))
        for title, tell in kinds
    ]
    return {"label": name, "rows": rows, "internal": internal, "external": external}


def _told(value, interval, digits=2):
    if value is None:
        return "cannot be estimated"
    return f"{value:.{digits}f} ({interval[0]:.{digits}f} to {interval[1]:.{digits}f})"


def _evaluation(report, digest, include_rows):
    """One external validation beside the internal score."""
    scoring = report["scoring"]
    here = report["scores"][scoring]
    area = report["scores"]["roc_auc"]
    known = report["model"].get("digest")
    notes = report["data"]["notes"]
    if not include_rows:
        notes = [hide_counts(note) for note in report["data"].get("notes_without_rows", [])]
    return {
        "data": report["data"]["name"],
        "rows": report["data"]["rows"],
        "classes": list(report["data"]["classes"].items()),
        "scoring": SCORES[scoring],
        "score": here["score"],
        "interval": here["interval_95"],
        "area": area["score"],
        "area_interval": area["interval_95"],
        "brier": report["calibration"]["brier"],
        "compared": report["cross_validated"],
        "digest": known,
        "is_this_model": known == digest,
        "notes": notes,
    }
