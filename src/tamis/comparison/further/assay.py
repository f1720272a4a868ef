r"""The score when the features are measured again, with a stated error of the assay.

The chosen method is trained at its level in the folds of the first repeat. The values that a model
uses of each held-out row are then multiplied by a log-normal error of mean 1 and coefficient of
variation v, :math:`\exp(\sigma z - \sigma^2 / 2)` with :math:`\sigma^2 = \log(1 + v^2)`: about
:math:`1 + v z` for small v, and never negative. The difference from the score without errors is
paired: same models, same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import is_sparse
from tamis._base.threads import limit_threads
from tamis.comparison.choosing.decisions import decide_rows
from tamis.comparison.choosing.results import calibrate
from tamis.comparison.choosing.spread import ScoredRows
from tamis.paths.seeds import make_generator
from tamis.tables.errors import InputError, nearest

if TYPE_CHECKING:
    from tamis.comparison.choosing.results import MethodResult
    from tamis.comparison.problem.problem import Problem
    from tamis.comparison.settings import Settings
    from tamis.paths.folds import Fold

__all__ = ["assay_errors", "measure_again"]

_N_DRAWS = 20
_N_FEATURES_SHOWN = 50


def assay_errors(problem: Problem, settings: Settings) -> NDArray[np.float64]:
    """Coefficient of variation of each column of the matrix.

    The general one is for columns of numbers with more than two values that are not kept; those of
    single features take precedence.

    Returns `errors` (n_columns,).
    """
    preparation, names = problem.preparation, problem.names
    sources = preparation.sources
    n_numbers = len(preparation.numbers)
    errors = np.zeros(problem.feature_of.size)
    known = {*sources[:n_numbers], *(names[f] for f in problem.feature_of[:n_numbers])}
    for name in settings.assay_errors:
        if name not in known:
            near = nearest(name, known)
            advice = f"; did you mean {' or '.join(near)}" if near else ""
            raise InputError(f"assay_error {name}: no such numeric feature{advice}.")
    for j in range(n_numbers):
        feature = names[problem.feature_of[j]]
        error = settings.assay_errors.get(sources[j], settings.assay_errors.get(feature))
        if (
            error is None
            and not problem.kept[problem.feature_of[j]]
            and not _is_binary(problem, j)
        ):
            error = settings.assay_error
        errors[j] = error or 0.0
    if not errors.any():
        raise InputError("--assay-error: no numeric feature can be measured again.")
    return errors


def _is_binary(problem, j):
    column = problem.encoded[:, [j]]
    column = column.toarray() if is_sparse(column) else column
    return np.unique(column[~np.isnan(column)]).size <= 2


def measure_again(
    problem: Problem,
    settings: Settings,
    result: MethodResult,
    place: int,
    folds: Sequence[Fold],
) -> dict[str, Any]:
    """How much of the score is lost when the held-out rows are measured again.

    `result`, `place`: the chosen method and level; `folds`: those of the first repeat are used.
    Returns `described`: plain values.
    """
    errors = assay_errors(problem, settings)
    clean = np.zeros((problem.n_rows, problem.classes.size))
    noisy = np.zeros((_N_DRAWS, *clean.shape))
    used = np.zeros(errors.size, dtype=bool)
    for fold in folds:
        if fold.repeat > 0:
            continue
        generator = make_generator(settings.seed, "assay errors", fold.number)
        with limit_threads():
            part = problem.train_part(fold.train, problem.codes, fold.seed)
            if part.known.size < 2:
                clean[fold.test, part.known] = noisy[:, fold.test, part.known] = 1.0
                continue
            trained = result.method.train(part, list(result.levels))
            columns = part.columns[trained.columns_of(place)]
            rows = problem.encoded[fold.test]
            used[columns] = True

            def predict(encoded, part=part, trained=trained):
                again = replace(part, problem=replace(problem, encoded=encoded))
                both = again.test_rows(np.arange(encoded.shape[0]))
                found = np.zeros((encoded.shape[0], problem.classes.size))
                found[:, part.known] = trained.predict(*both)[0][place]
                return found

            clean[fold.test] = predict(rows)
            for draw in noisy:
                draw[fold.test] = predict(_with_errors(rows, columns, errors, generator))
    threshold = None if result.thresholds is None else result.thresholds[place]
    temperature = calibrate(result, place, problem)
    labels, *again = (
        decide_rows(p, problem, settings, threshold=threshold, temperature=temperature)
        for p in (clean, *noisy)
    )
    scored = ScoredRows.of(problem, settings.scoring, settings.seed)
    before = scored.score(labels, clean)
    after = float(np.mean([scored.score(*one) for one in zip(again, noisy, strict=True)]))
    drawn = [scored.drawn_scores(*one) for one in zip(again, noisy, strict=True)]
    lost = scored.drawn_scores(labels, clean) - np.mean(drawn, axis=0)
    weights = problem.weights
    changed = [np.average(one != labels, weights=weights) for one in again]
    sources = problem.preparation.sources
    measured = np.flatnonzero(used & (errors > 0))
    return {
        "scoring": settings.scoring,
        "features": {sources[j]: float(errors[j]) for j in measured[:_N_FEATURES_SHOWN]},
        "n_features": int(measured.size),
        "below_zero": [sources[j] for j in measured if _has_negative(problem, j)],
        "score_in_folds": before,
        "score": after,
        "lost": before - after,
        "lost_interval_95": np.nanpercentile(lost, [2.5, 97.5]).tolist(),
        "changed_labels": float(np.mean(changed)),
        "draws": _N_DRAWS,
        "is": "same models and rows with and without measurement errors; subtract what is lost "
        "from the honest score",
    }


def _has_negative(problem, j):
    column = problem.encoded[:, [j]]
    return bool(((column.data if is_sparse(column) else column) < 0).any())


def _with_errors(rows, columns, errors, generator):
    """A copy of encoded rows in which some columns have measurement errors."""
    sigma = np.zeros(errors.size)
    sigma[columns] = np.sqrt(np.log1p(errors[columns] ** 2))
    rows = rows.copy()
    if is_sparse(rows):
        s = sigma[rows.indices]
        rows.data *= np.exp(s * generator.standard_normal(s.size) - s**2 / 2)
        return rows
    some = columns[sigma[columns] > 0]
    s = sigma[some]
    z = generator.standard_normal((rows.shape[0], some.size))
    rows[:, some] *= np.exp(s * z - s**2 / 2)
    return rows
