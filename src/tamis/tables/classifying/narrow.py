"""Fitted classifiers reduced to the columns that their predictions need."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # imported where they are used: loading a model must not load every family
    from tamis.centers import SparseCenterClassifier
    from tamis.datumwise import DatumWiseClassifier
    from tamis.panel import PanelClassifier
    from tamis.primal_dual import PrimalDualClassifier


# The outer folds that a narrowed panel would choose its head with.
_PANEL_FOLDS = 3
# What a classifier with cross-validation has beside the classifier that it chose.
_OF_SEARCH = ("_fold_scores", "_levels", "best_score_", "path_", "radius_", "stability_")


def narrow(estimator: Any) -> tuple[NDArray[np.intp], Any] | None:
    """The selected columns of a fitted classifier, and one of these columns alone.

    Returns `narrowed`: without cross-validation: a `...CV` gives the classifier that it chose.
    None for classifiers that need every column, or whose columns cannot be taken apart.
    """
    kinds = {
        "SparseCenterClassifier": narrow_centers,
        "PanelClassifier": narrow_panel,
        "PrimalDualClassifier": narrow_primal_dual,
    }
    make = kinds.get(type(estimator).__name__.removesuffix("CV"))
    if make is None:
        return None
    columns = np.flatnonzero(estimator.get_support())
    if not 0 < columns.size < estimator.n_features_in_:
        return None
    return columns, make(estimator, columns)


def narrow_centers(whole: Any, columns: NDArray) -> SparseCenterClassifier:
    """Sparse centers of some columns: each is computed by itself, so none changes."""
    from tamis.centers import SparseCenterClassifier

    small = SparseCenterClassifier(None, metric=whole.metric, priors=whole.priors)
    small.n_features_in_, small.classes_ = columns.size, whole.classes_
    small._n_rows = getattr(whole, "_n_rows", int(whole.class_count_.sum()))
    small._set_groups()
    model, of_features = (
        whole._model,
        ("offset", "centers", "common", "dispersion", "gain", "unit"),
    )
    parts = {name: getattr(model.statistics, name) for name in of_features}
    parts = {n: None if part is None else part[..., columns] for n, part in parts.items()}
    statistics = replace(model.statistics, **parts)
    taken = {"scale": model.scale[columns], "gains": model.gains[columns], "groups": None}
    small._keep(replace(model, statistics=statistics, **taken), columns.size)
    return small


def narrow_primal_dual(whole: Any, columns: NDArray) -> PrimalDualClassifier:
    """A primal-dual classifier with the rows of its weights that are not zero."""
    from tamis.primal_dual import PrimalDualClassifier

    small = _chosen(whole, PrimalDualClassifier)
    for name in ("dual_", "history_"):  # only training needs them
        vars(small).pop(name, None)
    for name in ("weights_", "mean_", "scale_"):
        setattr(small, name, getattr(whole, name)[columns])
    small.support_ = small.weights_.any(axis=1)
    small.n_features_in_ = int(columns.size)
    if whole.feature_weights is not None:
        small.feature_weights = np.asarray(whole.feature_weights)[columns]
    return small


def narrow_panel(whole: Any, columns: NDArray) -> PanelClassifier:
    """A panel of some columns, which must include the selected ones.

    It has no groups, kept features and costs, which describe the columns of the whole one.
    """
    from tamis.panel import PanelClassifier

    small = _chosen(whole, PanelClassifier)
    small.support_ = whole.support_[columns]
    place = np.full(whole.support_.size, -1)
    place[columns] = np.arange(columns.size)
    order = place[whole.feature_order_]
    small.feature_order_ = order[order >= 0]
    small.n_features_in_ = int(columns.size)
    small.n_features_to_select = int(columns.size)
    small.cv = _PANEL_FOLDS
    small.feature_groups = small.keep = small.feature_costs = None
    return small


def narrow_datum_wise(whole: Any, columns: NDArray) -> DatumWiseClassifier:
    """A datum-wise classifier of some columns, which must include all that it can ask for.

    Feature groups must be there as a whole, or not at all.
    """
    small = copy.copy(whole)
    process = whole.process_
    own = process.block_of[columns]
    blocks, block_of = np.unique(own, return_inverse=True)
    names, costs = process.names[blocks], process.costs[blocks]
    small.policy_ = whole.policy_.narrow(columns, own)
    small.process_ = replace(
        process,
        block_of=block_of,
        costs=costs,
        max_blocks=min(process.max_blocks, blocks.size),
        names=names,
    )
    small.feature_importances_ = whole.feature_importances_[columns]
    small.n_features_in_ = int(columns.size)
    small.feature_groups = {
        name: np.flatnonzero(block_of == block).tolist() for block, name in enumerate(names)
    }
    small.feature_costs = dict(zip(names.tolist(), costs.tolist(), strict=True))
    return small


def _chosen(whole: Any, kind: Any) -> Any:
    """A copy of a fitted classifier; of one with cross-validation, the classifier it chose."""
    if type(whole) is kind:
        return copy.copy(whole)
    given = whole.get_params(deep=False)
    if hasattr(whole, "radius_"):
        given["radius"] = whole.radius_
    small = kind(**{name: given[name] for name in kind._get_param_names() if name in given})
    fitted = {name: value for name, value in vars(whole).items() if name not in given}
    vars(small).update({n: v for n, v in fitted.items() if n not in _OF_SEARCH})
    return small
