"""The same comparison without some features, for one method.

Nothing in a run tells how good a model without a feature would be: the feature was there when
others were chosen. So the path of the method is trained again on the same folds, and the score
comes from there. Other methods whose models use the feature are no longer compared. The features
were named after seeing the results, so the score is no honest one, and no limit holds for all
exclusions that a user could have thought of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tamis.comparison.choosing.choice import Candidates
from tamis.comparison.choosing.results import collect
from tamis.comparison.problem.problem import Problem
from tamis.comparison.running.tasks import Task, run_tasks
from tamis.paths.folds import Fold
from tamis.tables.errors import InputError, listed, require_names

if TYPE_CHECKING:
    from tamis.comparison.checks.check import Check
    from tamis.comparison.comparison import Comparison

__all__ = ["exclude_features"]


def exclude_features(comparison: Comparison, method: str, names: Sequence[str]) -> Comparison:
    """Cross-validate one method again without some features.

    `method`: a method that was finished; `names`: features, feature groups, or columns they come
    from. Returns `comparison`: with the new results of the method, without other methods that use
    the features, and without a recommendation.
    """
    known = comparison.result(method)
    if known is None:
        raise InputError(f"{method} was not finished, so there is nothing to pick.")
    problem, settings = comparison.problem, comparison.settings
    excluded = _find_features(problem, names)
    problem = replace(problem, excluded=problem.excluded | excluded)
    if not problem.n_features:
        raise InputError("--without: no feature is left.")
    levels = tuple(known.method.levels(problem, settings.max_features))
    tasks = [Task("cv", method, levels, fold) for fold in comparison.folds]
    rows = np.arange(problem.n_rows)
    whole = Task("whole", method, levels, Fold(0, 0, rows, rows[:0], settings.seed))
    done = list(run_tasks(problem, [*tasks, whole], seed=settings.seed))
    failed = [outcome for _, outcome in done if isinstance(outcome, str)]
    if failed:
        raise InputError(f"{method} failed without {listed(names)}: {failed[0]}")
    result = collect(known.method, done[:-1], problem, settings, whole=done[-1][1])
    results = [
        result if r is known else r
        for r in comparison.results
        if r is known or not r.selected[:, excluded].any()
    ]
    return replace(
        comparison,
        problem=problem,
        results=results,
        candidates=Candidates.of(results, problem, settings),
        recommended=None,
        honest=None,
        held_out={},
        learning_curve=None,
        assay=None,
        p_value=None,
        shuffled_scores=[],
        without=(*comparison.without, *names),
        not_described={},
        memo=type(comparison.memo)(),
        checks=_checks(comparison, problem),
    )


def _checks(comparison: Comparison, problem: Problem) -> list[Check]:
    """The findings about the data, without those about excluded columns alone."""
    sources, excluded = problem.preparation.sources, problem.excluded
    gone = {name for name, is_gone in zip(problem.names, excluded, strict=True) if is_gone}
    gone |= set(sources) - {sources[j] for j in np.flatnonzero(~excluded[problem.feature_of])}
    left: list[Check] = []
    for check in comparison.checks:
        if check.code == "few-events" and not comparison.without:  # it counts the features
            told = f"Before features were left out: {check.sentence}"
            left.append(replace(check, sentence=told))
        elif check.about == "data" and not (check.columns and gone.issuperset(check.columns)):
            left.append(check)
    return left


def _find_features(problem: Problem, names: Sequence[str]) -> np.ndarray:
    """Mask of the counted features with these names, or from columns with these names."""
    sources = problem.preparation.sources
    require_names(names, [*dict.fromkeys([*problem.names, *sources])], "--without")
    wanted = set(names)
    excluded = np.array([name in wanted for name in problem.names])
    excluded[problem.feature_of[[source in wanted for source in sources]]] = True
    kept = [name for f, name in enumerate(problem.names) if excluded[f] and problem.kept[f]]
    if kept:
        raise InputError(f"--without {kept[0]}: it is kept (--keep), so every model uses it.")
    return excluded
