"""The curve: what each level of each method needs and reaches."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.choosing.decisions import decide_level
from tamis.comparison.choosing.results import score_rows
from tamis.comparison.choosing.scores import confusion
from tamis.comparison.methods.naming import name_method
from tamis.report.page.words import count
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison


# Features that are listed for one level.
MOST_LISTED = 50
# Cells of a confusion matrix that are listed if there are too many classes for a table.
_MOST_CLASSES, _MOST_CELLS = 30, 30


def describe_curve(comparison: Comparison, choice: Choice, run: str | None) -> dict[str, Any]:
    """Scores, features and confusion matrix of every level of every method.

    Returns `curve`: "methods" with their "levels", "names" of the features that are listed by
    their place, "classes", "start" (places of the method and of the level that are shown first).
    """
    methods: list[dict[str, Any]] = []
    place_of: dict[int, int] = {}
    start = [0, 0]
    trained = comparison.fit_choice(choice).trained  # on all rows; other methods may not be
    path = [trained.features(level) for level in range(len(trained.places))]
    for result in comparison.results:
        if result.method.is_baseline:
            continue
        name = result.method.name
        levels = [
            _describe_level(
                comparison, result, at, run, place_of, path if name == choice.method else None
            )
            for at in range(len(result.levels))
        ]
        if name == choice.method:
            start = [len(methods), choice.place]
        methods.append(
            {
                "name": name,
                "title": name_method(name, {"title": result.method.title}),
                "asks": result.method.asks,
                "on_all_rows": name == choice.method,
                "levels": levels,
            }
        )
    classes = [str(label) for label in comparison.problem.classes.tolist()]
    return {
        "methods": methods,
        "names": [comparison.problem.names[f] for f in place_of],
        "classes": classes,
        "has_matrix": len(classes) <= _MOST_CLASSES,
        "start": start,
        "scoring": comparison.settings.scoring,
    }


def _describe_level(comparison, result, at, run, place_of, path):
    listed, total = _features(result, at, path)
    band = comparison.lower_band[comparison.candidates.place(result.method.name, at)]
    low = None if np.isnan(band) else round(float(band), 6)
    sizes = result.per_sample if result.method.asks else result.overall
    chosen = comparison.recommended
    is_chosen = chosen is not None and (chosen.method, chosen.place) == (result.method.name, at)
    return {
        "label": count(float(sizes[at])),
        "overall": round(float(result.overall[at]), 2),
        "per_sample": round(float(result.per_sample[at]), 2),
        "cost": round(float(result.cost[at]), 4),
        "score": round(float(result.scores[at]), 6),
        "error": round(float(result.errors[at]), 6),
        "low": low,
        "decided": _decided(comparison, result, at),
        "cells": _cells(comparison, result, at),
        "features": [[place_of.setdefault(f, len(place_of)), round(s, 3)] for f, s in listed],
        "n_features": total,
        "command": _command(comparison, result, at, run),
        "is_recommended": is_chosen,
    }


def _features(result, at, path):
    """Features of a level, with the share of folds that select them, and how many there are.

    Of the path on all rows, in the order in which they enter it, if there is one; otherwise those
    that most folds select.
    """
    shares = result.selected[at]
    if path is None:
        used = np.flatnonzero(shares > 0)
        order = np.argsort(-shares[used], kind="stable")
    else:
        used = path[at]
        entry = {}
        for place, features in enumerate(path[: at + 1]):
            for f in features.tolist():
                entry.setdefault(f, place)
        order = np.lexsort((-shares[used], [entry[f] for f in used.tolist()]))
    best = used[order][:MOST_LISTED].tolist()
    return [(f, float(shares[f])) for f in best], int(used.size)


def _decided(comparison, result, at):
    """The score of decisions by expected cost; None where the score is of the same decisions."""
    problem, settings = comparison.problem, comparison.settings
    if settings.misclassification is None or settings.scoring == "roc_auc":
        return None
    labels = decide_level(result, at, problem, settings)
    scores = [
        score_rows(problem.codes, one, p, settings.scoring, problem.weights)
        for one, p in zip(labels, result.probabilities[at], strict=True)
    ]
    return round(float(np.mean(scores)), 6)


def _cells(comparison, result, at):
    """Cells of the confusion matrix that are not zero: true class, predicted class, rows.

    Of the first repeat: a mean over repeats would have halves of rows.
    """
    problem = comparison.problem
    n_classes = problem.classes.size
    labels = decide_level(result, at, problem, comparison.settings)[0]
    counts = confusion(problem.codes, labels, n_classes, problem.weights)
    true, said = np.nonzero(counts)
    if n_classes > _MOST_CLASSES:
        wrong = true != said
        true, said = true[wrong], said[wrong]
        order = np.argsort(-counts[true, said], kind="stable")[:_MOST_CELLS]
        true, said = true[order], said[order]
    values = [round(float(v), 2) for v in counts[true, said]]
    return [list(cell) for cell in zip(true.tolist(), said.tolist(), values, strict=True)]


def _command(comparison, result, at, run):
    """The `tamis pick` that takes this level; None if no number of features leads to it."""
    name = result.method.name
    size = float((result.per_sample if result.method.asks else result.overall)[at])
    for wanted in (round(size), round(size, 1), round(size - 0.499, 3)):
        try:
            found = comparison.find(name, wanted) if wanted > 0 else None
        except InputError:
            continue
        if found is not None and found.place == at:
            run = run or "RUN"
            words = ["tamis", "pick", run, "--method", name, "--n-features", f"{wanted:g}"]
            for left_out in comparison.without:
                words += ["--without", left_out]
            return shlex.join([*words, "-o", f"{run}-{name}-{wanted:g}"])
    return None
