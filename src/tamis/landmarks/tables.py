"""The results of a search: its configurations as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.landmarks.space import PARAMETERS, Configuration


def as_table(ranked: list[Configuration], ranking) -> dict[str, NDArray]:
    """One column per parameter, the score, and the scores of the folds."""
    table = {name: as_column([getattr(c, name) for c in ranked]) for name in PARAMETERS}
    table["score"] = np.array(ranking.scores)
    for fold, scores in enumerate(ranking.fold_scores):
        table[f"split{fold}_test_score"] = np.array(scores)
    return table


def as_path(table: dict[str, NDArray], n_features: int) -> dict[str, NDArray]:
    """Best score for each number of landmarks; the same keys as in the other families."""
    numbers, scores = table["n_landmarks"], table["score"]
    levels = np.unique(numbers)
    best = np.array([np.flatnonzero(numbers == k)[0] for k in levels])  # best first
    folds = np.stack([scores[best] for scores in _fold_scores(table)])
    errors = np.zeros(levels.size)
    if len(folds) > 1:
        errors = folds.std(axis=0, ddof=1) / np.sqrt(len(folds))
    return {
        "level": levels,
        "n_features": np.full(levels.size, float(n_features)),
        "score": scores[best],
        "standard_error": errors,
        "cost": np.full(levels.size, float(n_features)),
    }


def as_cv_results(table: dict[str, NDArray]) -> dict:
    """The table in scikit-learn's form: parameters that do not apply are masked."""
    results: dict[str, Any] = {}
    n = table["score"].size
    for name in PARAMETERS:
        mask = np.array([value is None for value in table[name]], dtype=bool)
        results[f"param_{name}"] = np.ma.MaskedArray(table[name], mask=mask)
    results["params"] = [{name: table[name][i] for name in PARAMETERS} for i in range(n)]
    folds = np.stack(_fold_scores(table))
    for fold, scores in enumerate(folds):
        results[f"split{fold}_test_score"] = scores
    mean = folds.mean(axis=0)
    results["mean_test_score"] = mean
    results["std_test_score"] = folds.std(axis=0)
    rank = 1 + (np.nan_to_num(mean, nan=-np.inf)[:, None] < mean).sum(axis=1)
    results["rank_test_score"] = rank.astype(np.int32)
    return results


def _fold_scores(table):
    names = [name for name in table if name.startswith("split")]
    return [table[name] for name in names]


def as_column(values: list) -> NDArray:
    """An array of numbers if all values are numbers; otherwise of objects."""
    if all(isinstance(v, int | float) for v in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
