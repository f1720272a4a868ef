"""Costs of errors: decisions of the smallest expected cost, and what they cost.

Probabilities stand for equal class frequencies where classes are balanced, so they are first
re-based to the frequencies of the data. The method and the number of features are chosen by the
score; costs only decide between classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.scores import confusion
from tamis.paths.seeds import make_generator
from tamis.tables.errors import InputError, listed

if TYPE_CHECKING:
    from tamis.comparison.choosing.spread import ScoredRows
    from tamis.comparison.problem.problem import Problem

__all__ = ["cost_matrix", "describe_costs"]

_N_POSTERIOR = 1000


def cost_matrix(given: Mapping[Any, float], classes: NDArray) -> NDArray[np.float64]:
    """Costs of all errors: 1, except those given.

    `classes` (n_classes,). Returns `costs` (n_classes, n_classes): True classes in rows; 0 on the
    diagonal.

    Examples
    --------
    >>> cost_matrix({"ill:well": 10}, np.array(["ill", "well"])).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    labels = [str(label) for label in classes.tolist()]
    costs = 1.0 - np.eye(len(labels))
    seen = set()
    for pair, cost in given.items():
        true, said = _find_pair(pair, labels)
        if true == said:
            raise InputError(f"--misclassification {labels[true]}:{labels[said]} is no error.")
        if (true, said) in seen:
            raise InputError(
                f"--misclassification names {labels[true]}:{labels[said]} more than once."
            )
        is_number = isinstance(cost, (int, float, np.number)) and not isinstance(cost, bool)
        if not is_number or not (math.isfinite(cost) and cost >= 0):
            raise InputError(
                f"--misclassification {labels[true]}:{labels[said]}={cost}: expected a number of "
                "at least 0."
            )
        seen.add((true, said))
        costs[true, said] = cost
    if not costs.any():
        raise InputError("--misclassification: all errors cost 0, so every decision is as good.")
    return costs


def _find_pair(pair, labels):
    """Indices of the true and the predicted class."""
    if not isinstance(pair, str):
        try:
            true, said = (str(label) for label in pair)
        except (TypeError, ValueError):
            raise InputError(
                f"misclassification: {pair!r} is not a pair of the true and the predicted class."
            ) from None
        found = [(true, said)]
    else:
        cuts = [at for at, letter in enumerate(pair) if letter == ":"]
        found = [(pair[:at].strip(), pair[at + 1 :].strip()) for at in cuts]
    for true, said in found:
        if true in labels and said in labels:
            return labels.index(true), labels.index(said)
    raise InputError(
        f"--misclassification {pair}: expected TRUE:PREDICTED=COST with two of the classes "
        f"{listed(labels, 10)}."
    )


def describe_costs(
    rows: ScoredRows,
    costs: NDArray,
    labels: NDArray,
    probabilities: NDArray,
    problem: Problem,
    is_honest: bool = True,
) -> dict[str, Any]:
    """Mean costs of deciding by cost, by probability, and always for the best single class.

    `rows`: all rows of the problem; `costs` (n_classes, n_classes); `labels` (n_rows,): decisions
    by cost; `probabilities` (n_rows, n_classes); `is_honest`: whether the rows had no say in the
    choice of the model.
    """
    plain = probabilities.argmax(axis=1)
    weights = np.ones(rows.codes.size) if rows.weights is None else rows.weights
    constant = np.average(costs[rows.codes], axis=0, weights=weights)
    always = int(constant.argmin())
    paid, otherwise = costs[rows.codes, labels], costs[rows.codes, plain]
    all_paid = np.stack([paid, otherwise, costs[rows.codes, always]], axis=1)
    draws = [(d @ all_paid) / d.sum(axis=1)[:, None] for d in rows.draws()]
    drawn = np.concatenate(draws)
    low, high = np.percentile(drawn[:, 0], [2.5, 97.5])
    least, most = _cautious_cost(rows, costs, labels, problem)
    names = [str(label) for label in problem.classes.tolist()]
    saved, gained = (drawn[:, [1, 2]] - drawn[:, [0]]).T
    counts = confusion(rows.codes, labels, rows.n_classes, rows.weights)
    found = np.diagonal(counts) / np.maximum(counts.sum(axis=1), 1e-300)
    return {
        "costs": {
            f"{names[t]}:{names[s]}": float(costs[t, s])
            for t in range(len(names))
            for s in range(len(names))
            if t != s
        },
        "frequencies": dict(zip(names, problem.frequencies.tolist(), strict=True)),
        "mean_cost": float(np.average(paid, weights=weights)),
        "interval_95": [float(min(low, least)), float(max(high, most))],
        "by_probability": float(np.average(otherwise, weights=weights)),
        "saved": float(np.average(otherwise - paid, weights=weights)),
        "saved_interval_95": np.percentile(saved, [2.5, 97.5]).tolist(),
        "constant": {
            "class": names[always],
            "mean_cost": float(constant[always]),
            "saved": float(constant[always] - np.average(paid, weights=weights)),
            "saved_interval_95": _saved_interval(rows, costs, labels, problem, always, gained),
        },
        "found_of_class": dict(zip(names, found.tolist(), strict=True)),
        "scoring": rows.scoring,
        "score_by_probability": rows.score(plain, probabilities),
        "is_honest": is_honest,
        "is": "decisions of the smallest expected cost at the class frequencies of the data. "
        "Method and number of features were chosen by the score, not by costs",
    }


def _saved_interval(rows, costs, labels, problem, always, drawn):
    """Interval of what is saved compared with one class, as cautious as that of the mean cost."""
    low, high = np.percentile(drawn, [2.5, 97.5])
    more = _cautious_cost(rows, costs - costs[:, [always]], labels, problem)
    return [float(min(low, -more[1])), float(max(high, -more[0]))]


def _cautious_cost(rows, costs, labels, problem):
    """Limits of a mean cost that do not shrink to a point if there is no error at all."""
    counts = confusion(rows.codes, labels, rows.n_classes, rows.weights)
    counts = counts * (rows.sizes / np.maximum(counts.sum(axis=1), 1e-300))[:, None]
    generator = make_generator(rows.seed, "limits of a perfect score")
    total = np.zeros(_N_POSTERIOR)
    for c, row in enumerate(counts):
        shares = generator.dirichlet(row + 1 / rows.n_classes, _N_POSTERIOR)
        total += problem.frequencies[c] * (shares @ costs[c])
    return np.percentile(total, [2.5, 97.5])
