"""Diagnostic performance of one class against the rest, from predictions of rows not used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.decisions import decide_level
from tamis.comparison.choosing.predictions import temper
from tamis.comparison.choosing.results import calibrate
from tamis.comparison.choosing.scores import area_under_curve, cautious_area, class_table
from tamis.comparison.choosing.spread import ScoredRows
from tamis.inspection import rebase
from tamis.tables.classifying.decision_limit import own_limit

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison
    from tamis.tables.classifying.prevalence import Prevalence
    from tamis.tables.classifying.table_model import TableModel


# Classes with a curve of thresholds, and thresholds at which rows are counted.
_MOST_CLASSES = 30
_THRESHOLDS = np.arange(1, 100) / 100
# Below this, a smooth calibration curve would claim too much.
_FEW_EVENTS = 100


@dataclass(frozen=True)
class HonestRows:
    """Predictions of all rows, by models that were trained without them."""

    codes: NDArray  # (n_rows,): True classes
    # (n_rows,): predicted classes, as the model decides: by probability, threshold or expected
    # cost.
    labels: NDArray
    # (n_rows, n_classes): as the model gives them, for its own class frequencies.
    probabilities: NDArray
    risks: NDArray  # (n_rows, n_classes): the same for the class frequencies of the data
    shares: NDArray  # (n_classes,): class frequencies of the data
    weights: NDArray  # (n_rows,): sample weights
    is_honest: bool  # whether the rows had no say in the choice of the model, either


def predicted_rows(comparison: Comparison, choice: Choice) -> HonestRows:
    """Honest predictions of the recommended model; for another one, those that selected it."""
    problem, honest = comparison.problem, comparison.honest
    found = None if honest is None or choice != comparison.recommended else honest.predictions
    if found is not None:
        probabilities, labels = found.probabilities, found.labels
    else:
        result = comparison.result(choice.method)
        assert result is not None and result.labels is not None
        temperature = calibrate(result, choice.place, problem)
        probabilities = temper(result.probabilities[choice.place, 0], temperature)
        labels = decide_level(result, choice.place, problem, comparison.settings)[0]
        labels = labels.astype(np.intp)
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    shares = problem.frequencies
    risks = rebase(probabilities, problem.priors, shares)
    is_honest = found is not None
    return HonestRows(problem.codes, labels, probabilities, risks, shares, weights, is_honest)


def describe_classes(
    comparison: Comparison, choice: Choice, model: TableModel, prevalence: Prevalence
) -> dict[str, Any]:
    """Numbers of each class against the rest.

    `prevalence`: at which the page begins. Returns `clinical`: "classes", one per class that is
    shown, "table" of all classes, "is_honest".
    """
    problem, settings = comparison.problem, comparison.settings
    rows, classes = predicted_rows(comparison, choice), problem.classes
    weights = rows.weights
    scored = ScoredRows.of(problem, settings.scoring, settings.seed)
    shown = list(range(min(classes.size, _MOST_CLASSES)))
    if settings.positive is not None:
        shown = [int(settings.positive)]
    elif classes.size == 2:
        shown = [1, 0]
    assumed, by_cost = model.priors, model.misclassification is not None
    same = np.allclose(prevalence.shares, rows.shares, rtol=1e-9, atol=0)
    described = []
    briers = _brier_scores(comparison, rows, shown)
    for c, (brier, brier_interval) in zip(shown, briers, strict=True):
        is_positive = rows.codes == c
        risk = np.column_stack([1 - rows.risks[:, c], rows.risks[:, c]])
        area = area_under_curve(is_positive.astype(np.intp), risk, weights)
        n, totals = int(is_positive.sum()), np.bincount(is_positive, weights, 2)[::-1]
        parts = (np.flatnonzero(is_positive), np.flatnonzero(~is_positive))
        sizes = [scored.take(some).size_of_all for some in parts]
        low, high = cautious_area(area, sizes)
        limit = own_limit(model, c)
        thresholds, counts = _at_thresholds(rows, c, limit)
        described.append(
            {
                "label": str(classes[c]),
                "code": c,
                "rows": n,
                "others": problem.n_rows - n,
                "is_small": min(n, problem.n_rows - n) < _FEW_EVENTS,
                "area": area,
                "area_interval": [low, high],
                "brier": brier,
                "brier_interval": brier_interval,
                "brier_of_share": float(rows.shares[c] * (1 - rows.shares[c])),
                "prevalence": float(rows.shares[c]),
                "shown": float(rows.shares[c] if same else prevalence.shares[c]),
                "assumed": float(assumed[c]),
                "thresholds": thresholds.tolist(),
                "start": int(np.searchsorted(thresholds, 0.5 if limit is None else limit)),
                "decides": limit is not None,
                "found": counts[0],
                "alarms": counts[1],
                "totals": totals.round(3).tolist(),
                "sizes": sizes,
            }
        )
    return {
        "classes": described,
        "n_not_shown": classes.size - len(shown) if settings.positive is None else 0,
        "is_two_class": classes.size == 2,
        "table": _table(rows, problem.classes, scored),
        "has_groups": problem.groups is not None,
        "other_numbers": _other_numbers(comparison, rows),
        "is_honest": rows.is_honest,
        "is_nested": bool(comparison.honest and comparison.honest.is_nested),
        "is_balanced": problem.balanced,
        "by_cost": by_cost,
    }


def _other_numbers(comparison, rows):
    """Why the table differs a little from other numbers of the same model, or None."""
    n_repeats = comparison.settings.n_repeats
    if rows.is_honest:
        if comparison.honest.is_nested:
            return None
        return (
            "The table has one prediction for each row, with intervals; the proportions at the "
            "top of the page are means over bootstrap draws of rows and may differ slightly. "
            "Report the score at the top, and sensitivity and specificity with their intervals "
            "from this table."
        )
    if n_repeats == 1:
        return None
    return (
        f"The table has one prediction for each row, from the first of {n_repeats} repeats of the "
        "folds, so that intervals can be given; what is printed and "
        f"metrics.json are means over all {n_repeats} repeats and differ by chance. If you report "
        "this model, report those, and say that they are optimistic."
    )


def _brier_scores(comparison, rows, shown):
    """Mean squared errors of the risks of some classes, with intervals by a bootstrap of rows."""
    problem, settings = comparison.problem, comparison.settings
    squares = (rows.risks[:, shown] - (rows.codes[:, None] == np.array(shown))) ** 2
    spread = replace(ScoredRows.of(problem, settings.scoring, settings.seed), weights=rows.weights)
    drawn = [some @ squares / some.sum(axis=1, keepdims=True) for some in spread.draws()]
    limits = np.percentile(np.concatenate(drawn), [2.5, 97.5], axis=0)
    scores = np.average(squares, axis=0, weights=rows.weights)
    return list(zip(scores.tolist(), limits.T.tolist(), strict=True))


def _at_thresholds(rows, c, limit):
    """Thresholds, and the weight of the rows of a class, and of others, that are called so there.

    Where the model decides, these are its decisions: a threshold was set without the row.
    """
    thresholds = _THRESHOLDS if limit is None else np.union1d(_THRESHOLDS, limit)
    counts = []
    for some in (rows.codes == c, rows.codes != c):
        p, weights = rows.probabilities[some, c], rows.weights[some]
        order = np.argsort(p, kind="stable")
        sums = np.append(0.0, np.cumsum(weights[order]))
        above = sums[-1] - sums[np.searchsorted(p[order], thresholds, side="left")]
        if limit is not None:
            above[thresholds == limit] = weights[rows.labels[some] == c].sum()
        counts.append(above.round(3).tolist())
    return thresholds, counts


def _table(rows, classes, scored):
    """Sensitivity, specificity and predictive values of each class, as the model decides."""
    table = class_table(rows.codes, rows.labels, rows.risks, classes, rows.weights)
    told = []
    for c, (label, row) in enumerate(table.items()):
        is_class, is_said = rows.codes == c, rows.labels == c
        right = is_class == is_said
        ratios = [scored.rate(right, some) for some in (is_class, ~is_class, is_said, ~is_said)]
        told.append({"label": label, "rows": row["rows"], "ratios": ratios, "area": row["auc"]})
    return told
