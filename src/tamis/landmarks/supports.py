"""Searches on several sets of columns, which share folds, configurations, seeds and scalings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamis._array import Matrix
from tamis._base.threads import limit_threads
from tamis.landmarks.path import LandmarkSearchPath, SearchLevel, take_columns
from tamis.landmarks.plan import SearchPlan
from tamis.landmarks.scaling import fit_scaling, take_scaling


def search_supports(
    estimator, plan: SearchPlan, X: Matrix, supports: list[NDArray]
) -> LandmarkSearchPath:
    """Make the path of the searches on some sets of columns.

    `X` (n_samples, n_features). `supports`: columns of each level, ascending.
    """
    used = np.unique(np.concatenate(supports))
    searches: dict[bytes, SearchLevel] = {}
    with limit_threads("blas"):
        all_columns = take_columns(X, used)
        in_folds = plan.scalings(all_columns)
        names = {c.scaling for c in plan.configurations}
        of_all_rows = {name: fit_scaling(name, all_columns) for name in names}
        for columns in supports:
            if columns.tobytes() in searches:
                continue
            part, where = take_columns(X, columns), np.searchsorted(used, columns)
            outcomes = plan.start()
            tasks = plan.tasks(outcomes)
            scalings = {key: take_scaling(value, where) for key, value in in_folds.items()}
            for task, result in zip(tasks, plan.run(part, tasks, scalings), strict=True):
                outcomes.add(task.places, task.fold, *result)
            ranking = plan.rank(outcomes, part)
            scalings = {key: take_scaling(value, where) for key, value in of_all_rows.items()}
            members = plan.train_members(part, *plan.choose_members(outcomes, ranking), scalings)
            searches[columns.tobytes()] = SearchLevel(columns, members, ranking)

    def build(search: SearchLevel, narrow: bool):
        return _build(estimator, plan, X, search, narrow)

    levels = np.array([columns.size for columns in supports])
    of_levels = [searches[columns.tobytes()] for columns in supports]
    return LandmarkSearchPath(levels, of_levels, plan.classes, plan.vote, build)


def _build(estimator, plan, X, search, narrow):
    """The fitted estimator of one level of a path."""
    model, columns = clone(estimator), search.columns
    model.classes_ = plan.classes
    model.n_features_in_ = columns.size if narrow else X.shape[1]
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names[columns] if narrow else names
    model._support = np.zeros(model.n_features_in_, dtype=bool)
    model._support[slice(None) if narrow else columns] = True
    model._seed_used, model._known = plan.seed, None
    model._set_ensemble(plan, search.ranking, search.members)
    if not narrow:
        model.feature_importances_ = np.zeros(X.shape[1])
        part = take_columns(X, columns)
        model.feature_importances_[columns] = plan.importances(part, search.ranking)
    return model
