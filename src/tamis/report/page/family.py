"""What only one family has to say, a worked example, and the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._array import is_sparse
from tamis._base.explanation import Explanation
from tamis.models.linear_form import linear_form
from tamis.models.privacy import holds_training_rows, landmark_rows
from tamis.report.page.curve import MOST_LISTED
from tamis.tables.classifying.explanations import Values, explain_margins, explain_sequences
from tamis.tables.classifying.prevalence import Prevalence, tell_assumed, why_not_likeliest
from tamis.tables.columns.table import Columns
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison
    from tamis.tables.classifying.table_model import TableModel


# Most rows that the table of questions is made from.
_ASKED_ROWS = 2000
# Fewest rows of a class whose medians are shown: with fewer, a median may be a patient.
_FEWEST_ROWS = 5
_MOST_EXAMPLES, _MOST_CONTRIBUTIONS = 6, 12
# Numbers of a table of weights.
_MOST_WEIGHTS = 2000
_FAMILY: dict[str, Any] = {"questions": None, "landmarks": None, "certificate": None}


def describe_family(
    comparison: Comparison, choice: Choice, model: TableModel, include_rows: bool
) -> dict[str, Any]:
    """Questions of a datum-wise model, landmarks, or the certificate of a primal-dual model.

    Returns `told`: "questions", "landmarks" or "certificate"; empty for other families.
    """
    estimator = model.estimator
    if model.asks:
        return _FAMILY | {"questions": _questions(comparison, choice, model)}
    if hasattr(estimator, "members_"):
        return _FAMILY | {"landmarks": _landmarks(comparison, model, include_rows)}
    if getattr(estimator, "relative_gap_", None) is not None:
        return _FAMILY | {
            "certificate": {
                "objective": float(estimator.objective_),
                "gap": float(estimator.gap_),
                "relative_gap": float(estimator.relative_gap_),
                "tol": float(estimator.tol),
            }
        }
    return {}


def _questions(comparison, choice, model):
    """Which classes are asked for which features, when, and what the levels cost."""
    problem = comparison.problem
    step = -(-problem.n_rows // _ASKED_ROWS)
    table = comparison.data.columns.select(model.preparation.required).take(
        slice(None, None, step)
    )
    asked = model.predict_rows(table).asked
    codes = problem.codes[::step]
    names = list(dict.fromkeys(name for row in asked for name in row))
    place = {name: j for j, name in enumerate(names)}
    counts = np.zeros((problem.classes.size, len(names)))
    positions = np.zeros(len(names))
    for code, row in zip(codes, asked, strict=True):
        for position, name in enumerate(row, 1):
            counts[code, place[name]] += 1
            positions[place[name]] += position
    sizes = np.maximum(np.bincount(codes, minlength=problem.classes.size), 1)
    total = counts.sum(axis=0)
    order = np.argsort(-total, kind="stable")[:MOST_LISTED]
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    rows = [
        {
            "name": names[j],
            "share": float(total[j] / codes.size),
            "position": float(positions[j] / total[j]),
            "by_class": (counts[:, j] / sizes).tolist(),
            "cost": costs.get(names[j], 1.0),
        }
        for j in order
    ]
    lengths = np.array([len(row) for row in asked])
    result = comparison.result(choice.method)
    path = [
        {
            "cost": float(result.cost[at]),
            "per_sample": float(result.per_sample[at]),
            "most": float(result.most_per_sample[at]),
            "score": float(result.scores[at]),
            "error": float(result.errors[at]),
            "is_this": at == choice.place,
        }
        for at in range(len(result.levels))
    ]
    classes = [str(label) for label in problem.classes.tolist()]
    return {
        "rows": rows,
        "classes": classes if len(classes) <= _MOST_EXAMPLES else [],
        "lengths": [(n, int((lengths == n).sum())) for n in range(lengths.max() + 1)],
        "n_rows": int(codes.size),
        "path": sorted(path, key=lambda one: one["cost"]),
        "has_costs": bool((problem.costs != 1).any()),
    }


def _landmarks(comparison, model, include_rows):
    """How many landmarks are rows, by class; the names of these only if rows may be shown."""
    problem, members = comparison.problem, model.estimator.members_
    maps = [(one["model"]["map"], one["configuration"]["kind"]) for one in members]
    kept = np.concatenate([landmark_rows(*one) for one in maps])
    rows, n_landmarks = np.unique(kept), sum(one["rows"].size for one, _ in maps)
    counts = np.bincount(problem.codes[rows], minlength=problem.classes.size)
    labels = [str(label) for label in problem.classes.tolist()]
    told = {
        "n_members": len(members),
        "n_landmarks": n_landmarks,
        "n_rows": int(rows.size),
        "n_means": n_landmarks - int(kept.size),
        "by_class": list(zip(labels, counts.tolist(), strict=True)),
        "named": [],
    }
    if include_rows:
        ids = comparison.data.ids
        told["named"] = [
            (str(row + 1) if ids is None else str(ids[row]), labels[problem.codes[row]])
            for row in rows[:MOST_LISTED].tolist()
        ]
    return told


def worked_example(
    comparison: Comparison, model: TableModel, prevalence: Prevalence
) -> dict[str, Any] | None:
    """What the model says about a typical row of each class: the medians of the class.

    Returns `example`: "rows", one per class of at least five rows; None for words.
    """
    assert comparison.data is not None
    problem, table = comparison.problem, comparison.data.columns
    if model.preparation.texts:
        return None
    sizes = np.bincount(problem.codes, minlength=problem.classes.size)
    shown = np.flatnonzero(sizes >= _FEWEST_ROWS)[:_MOST_EXAMPLES]
    if not shown.size:
        return None
    typical = _typical_rows(table.select(model.preparation.required), problem.codes, shown)
    shares = prevalence.shares
    predicted = model.predict_rows(typical, prevalence=shares)
    values = Values(model.preparation, typical)
    features = list(dict.fromkeys(model.preparation.features))
    kind = getattr(model.estimator, "explanation_class", None)
    margins = sequences = None
    if hasattr(model.estimator, "explain"):
        if kind is Explanation:
            margins = explain_margins(model, typical, shares)
        elif model.asks:
            sequences = explain_sequences(model, typical, shares)
    rows = []
    labels = model.classes_.tolist()
    for row, c in enumerate(shown.tolist()):
        code, chances = labels.index(predicted.labels[row]), predicted.probabilities[row]
        best, reason = int(chances.argmax()), None
        if chances[code] < chances[best]:
            reason = why_not_likeliest(model, code, best)
        told: dict[str, Any] = {
            "label": str(problem.classes[c]),
            "prediction": str(predicted.labels[row]),
            "reason": reason,
            "probability": float(chances[code]),
            "probabilities": [
                (str(label), float(p)) for label, p in zip(labels, chances, strict=True)
            ],
        }
        if margins is not None:
            told |= _told_margins(margins, row, values)
        elif sequences is not None:
            told["steps"] = [
                (
                    "before the first question" if step == 0 else sequences.asked[row][step - 1],
                    values.tell(row, sequences.asked[row][step - 1]) if step else "",
                    str(label),
                    float(p),
                )
                for step, (label, p) in enumerate(
                    zip(sequences.labels[row], sequences.probabilities[row], strict=True)
                )
            ]
        else:
            told["values"] = [
                (name, values.tell(row, name)) for name in features[:_MOST_CONTRIBUTIONS]
            ]
        rows.append(told)
    return {"rows": rows, "n_left_out": int((sizes < _FEWEST_ROWS).sum())}


def _typical_rows(table, codes, shown):
    """One row per class: medians of numbers, the most frequent of other values."""
    numeric = table.numeric.toarray() if is_sparse(table.numeric) else np.asarray(table.numeric)
    medians = np.full((shown.size, numeric.shape[1]), np.nan)
    others = {name: np.full(shown.size, None, dtype=object) for name in table.others}
    for row, c in enumerate(shown):
        mine = numeric[codes == c]
        known = ~np.isnan(mine).all(axis=0)
        if known.any():
            medians[row, known] = np.nanmedian(mine[:, known], axis=0)
        for name, values in table.others.items():
            found = [value for value in values[codes == c] if value is not None]
            if found:
                words, counts = np.unique(found, return_counts=True)
                others[name][row] = str(words[counts.argmax()])
    return Columns(medians, table.numeric_names, others)


def _told_margins(margins, row, values):
    order = np.argsort(-np.abs(margins.values[row]), kind="stable")
    shown, rest = order[:_MOST_CONTRIBUTIONS], order[_MOST_CONTRIBUTIONS:]
    return {
        "runner_up": str(margins.runners_up[row]),
        "base": float(margins.base[row]),
        "margin": float(margins.margins[row]),
        "contributions": [
            (margins.features[j], values.tell(row, margins.features[j]), margins.values[row, j])
            for j in shown.tolist()
        ],
        "rest": float(margins.values[row, rest].sum()),
        "n_rest": int(rest.size),
    }


def describe_model(model: TableModel, include_rows: bool) -> dict[str, Any]:
    """The model itself, where it is a formula; otherwise what it is made of.

    Returns `told`: "weights" (a formula), or None; what else a prediction uses.
    """
    labels = [str(label) for label in model.classes_.tolist()]
    threshold = model.threshold
    return {
        "kind": type(model.estimator).__name__,
        "classes": labels,
        "temperature": float(model.temperature),
        "priors": list(zip(labels, model.priors.tolist(), strict=True)),
        "assumed": tell_assumed(model),
        "positive": None if model.positive is None else str(model.positive),
        "threshold": None if threshold is None else float(threshold),
        "privacy": holds_training_rows(model),
        "fills": _fills(model),
        "weights": _weights(model, labels),
    }


def _fills(model):
    """What replaces a missing value, for each raw column that is a number or a category."""
    if model.asks:
        return []
    preparation = model.preparation
    pairs = [
        (name, f"{100 * fill:.6g} %" if name in preparation.missing.percents else fill)
        for name, fill in zip(preparation.numbers, preparation.fill.tolist(), strict=False)
    ]
    return [*pairs, *preparation.replacements().items()][:MOST_LISTED]


def _weights(model, labels):
    try:
        form = linear_form(model.estimator)
    except InputError:
        form = None
    if form is None or form.columns.size * len(labels) > _MOST_WEIGHTS:
        return None
    weights, bias = form.weights / model.temperature, form.bias / model.temperature
    if weights.shape[0] == 1:  # one decision, towards the second class
        weights, bias = np.vstack([0 * weights, weights]), np.append(0.0, bias)
    bias = bias - weights @ form.reference
    if len(labels) == 2:
        weights, bias = weights[1:] - weights[:1], bias[1:] - bias[:1]
        labels = labels[1:]
    percents = model.preparation.missing.percents
    names = [
        f"{name} (a proportion: 93 % is 0.93)" if name in percents else name
        for name in model.preparation.columns
    ]
    return {
        "classes": labels,
        "bias": bias.tolist(),
        "rows": [
            (names[j], row)
            for j, row in zip(form.columns.tolist(), weights.T.tolist(), strict=True)
        ],
    }
