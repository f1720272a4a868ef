"""The panel in the comparison: forward selection, with the head chosen inside each fold.

Linear heads can be read and kernels cannot, so they are two methods, which share the selection and
the folds inside each fold; the rule of the comparison chooses between them like between others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import require_class_weights
from tamis.centers import SparseCenterClassifier
from tamis.comparison.methods.method import (
    MANY_ROWS,
    Decide,
    Method,
    RankingMethod,
    StreamingMethod,
    Trained,
    WholeTable,
    count_levels,
)
from tamis.comparison.problem.problem import Part, Problem
from tamis.heads import head_of
from tamis.panel import PanelClassifier
from tamis.panel.chunks import AllRows, ChunkReader
from tamis.panel.forward import dense_columns
from tamis.panel.outer import outer_splits
from tamis.panel.path import PanelPath
from tamis.panel.selection import MOST_ROWS, is_rare, keeps_sparse
from tamis.panel.settings import Setting, fit_settings
from tamis.tables.classifying.narrow import narrow_panel

__all__ = ["KernelPanel", "PanelMethod", "PanelModels", "choose_folds", "forward_features"]

_PANEL_FEATURES, _PANEL_WORDS, _SCREENED = 50, 2_000, 100
# Outer folds that choose the head, inside each fold of the comparison.
_OUTER_FOLDS = 3
# A cost of 0 would make a feature infinitely good; this share of the largest cost is small enough.
_LEAST_COST = 1e-6


class PanelModels(Method):
    """Base of the methods whose models are `PanelClassifier`."""

    importance_name = "decision_change"

    def gains(self, trained: Trained, level: int) -> NDArray:
        """How much the decisions change when a feature is set to its mean."""
        part, importances = trained.part, trained.model(level).feature_importances_
        return np.bincount(part.feature_of, weights=importances, minlength=len(part.problem.names))

    def shrink(self, trained: Trained, level: int) -> tuple[NDArray, Any]:
        """Keep the selected columns."""
        columns = trained.columns_of(level)
        columns = columns if columns.size else np.zeros(1, dtype=np.intp)
        return columns, narrow_panel(trained.model(level), columns)


class PanelMethod(RankingMethod, PanelModels, StreamingMethod):
    """Panel: features chosen one after the other by what each adds, and a linear head on them."""

    name, title = "panel", "panel, linear head"
    head_name = "linear"
    is_readable = True
    trains_with = "panel"
    takes_weights = True
    size_varies = False
    ranks = "forward"
    keeps_features = True

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Numbers of features, up to 50; of words up to 2,000."""
        words = is_rare(problem.encoded)
        most = _PANEL_WORDS if words else _PANEL_FEATURES
        limit = min(limit or most, most)
        return count_levels(problem.n_features, limit, MANY_ROWS + 1 if words else problem.n_rows)

    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """One selection for all levels; the head of each is chosen in folds of its own."""
        return self.train_with([], part, levels)[0]

    def train_with(
        self, others: Sequence[Method], part: Part, levels: Sequence[float]
    ) -> list[Trained]:
        """One selection for the heads of all of them."""
        weights, problem = part.weights, part.problem
        if weights is not None:
            require_class_weights(problem.classes[part.known], part.codes, weights)
        paths = _make_panel(part)._fit_paths(
            [method.head_name for method in (self, *others)],
            part.X,
            part.codes,
            np.asarray(levels, dtype=np.int64),
            weights,
            part.known.size,
            part.groups,
            part.keys,
            kernels_of_sample=part.rows.size < problem.n_rows,
        )
        if paths[0].selection == "forward" and not is_rare(part.X):  # as `_order` selects them
            part.shared["forward order"] = int(max(levels)), part.feature_of[paths[0].order]
        most = np.minimum(np.asarray(levels, dtype=np.int64), paths[0].levels[-1])
        return [Trained(path, part, np.searchsorted(path.levels, most)) for path in paths]

    def choose(self, part: Part, k: int, model: Any) -> NDArray:
        """The first k of the order that the model has; a longer panel begins with the same."""
        return part.feature_of[_order(part, k, model.selection_)]

    def refit(self, trained: Trained, level: int, part: Part, columns: NDArray) -> Decide:
        """The head of the level, with its setting, on the columns."""
        (head,) = fit_settings(
            dense_columns(part.X, columns),
            part.codes,
            _weights(part),
            part.known.size,
            [_setting(trained.model(level))],
            part.class_weight,
            part.seed,
        )
        return lambda X: head.decisions(dense_columns(X, columns))

    def fit_chunks(self, trained: Trained, level: int, whole: WholeTable) -> dict[str, NDArray]:
        """The head of the level on the same features; setting and temperature stay."""
        part, model = trained.part, trained.model(level)
        read = ChunkReader(SparseCenterClassifier(), np.arange(part.known.size), 1.0)
        rows = AllRows(read, whole.passes, whole.n_rows, whole.class_weights, whole.max_bytes)
        sample = part.X, part.codes, _weights(part)
        columns, setting = trained.columns_of(level), _setting(model)
        head = rows.fit_head(sample, columns, setting, part.class_weight, part.seed)
        return {name: np.asarray(value) for name, value in vars(head).items()}

    def path_of(self, arrays: dict[str, NDArray], trained: Trained, level: int) -> Trained:
        """The path with this head."""
        part, place = trained.part, trained.places[level]
        assert isinstance(trained.path, PanelPath)
        path = trained.path.with_head(place, head_of(arrays), part.X, _weights(part))
        return replace(trained, path=path)

    def identify(self, trained: Trained, level: int) -> tuple[NDArray, ...]:
        """The columns, and the head of the sample."""
        state = trained.model(level)._head_state
        return trained.columns_of(level), *state.values()

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Four selections (three in folds), with several linear heads at every model size."""
        n_seen = min(n_rows, MOST_ROWS)
        rate = 2e-5 * n_seen * n_classes * min(n_columns, _SCREENED)
        return 0.1 + 5e-7 * n_stored + rate + 5e-5 * n_rows


class KernelPanel(PanelMethod):
    """The panel with a kernel head: bumps around training rows."""

    name, title = "panel-kernel", "panel, kernel head"
    head_name = "kernel"
    is_readable = False

    def suits(self, problem: Problem) -> bool:
        """Not for rare words and other large sparse data, where heads must leave zeros alone."""
        kept = int(np.count_nonzero(problem.kept[problem.feature_of]))
        return not (
            is_rare(problem.encoded) or keeps_sparse(problem.encoded, _PANEL_FEATURES + kept)
        )

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Heads of up to 200 bumps at every model size, in addition to training the panel."""
        return 0.1 + 5e-5 * n_rows


def forward_features(part: Part, k: int) -> NDArray:
    """The kept features and the k others that forward selection chooses first, ascending.

    The first 50 come from forward selection, as in the panel; those after it, from the gains.
    """
    most, order = part.shared.get("forward order", (0, None))  # of the panel or another size
    if most < min(k, _PANEL_FEATURES):
        order = part.feature_of[_order(part, _PANEL_FEATURES, "forward")]
        part.shared["forward order"] = _PANEL_FEATURES, order
    chosen = order[:k]
    if chosen.size < k:
        by_gain = part.best_features(len(part.problem.names))
        rest = np.setdiff1d(by_gain, np.append(order, np.flatnonzero(part.problem.kept)))
        rest = rest[np.argsort(-part.gains[rest], kind="stable")]
        chosen = np.concatenate([chosen, rest[: k - chosen.size]])
    return np.sort(np.concatenate([np.flatnonzero(part.problem.kept), chosen]))


def _setting(model):
    return Setting(model.head_, tuple(model._head_state["values"].tolist()))


def _weights(part):
    return np.ones(part.codes.size) if part.weights is None else part.weights


def _order(part, k, selection):
    return _make_panel(part)._order(
        selection, part.X, part.codes, k, part.weights, part.known.size, part.groups, part.keys
    )


def _make_panel(part):
    return PanelClassifier(
        **described_columns(part),
        feature_costs=_costs_of_columns(part),
        cv=choose_folds(part),
        random_state=part.seed,
    )


def described_columns(part: Part) -> dict[str, Any]:
    """Parameters of a panel that say what the columns of a part are."""
    kept = np.flatnonzero(part.problem.kept[part.feature_of])
    has_groups = part.present.size < part.columns.size
    return {
        "feature_groups": part.feature_of.tolist() if has_groups else None,
        "keep": kept.tolist() if kept.size else None,
        "class_weight": part.class_weight,
    }


def choose_folds(part: Part) -> int | list[tuple[NDArray, NDArray]]:
    """Outer folds for a panel: three, or all rows where no fold would leave two classes."""
    given = part.X, part.codes, _weights(part), part.groups, part.seed
    try:
        outer_splits(_OUTER_FOLDS, *given, keys=part.keys)
    except ValueError:
        rows = np.arange(part.codes.size)
        return [(rows, rows)]
    return _OUTER_FOLDS


def _costs_of_columns(part):
    """Each column's share of the cost of its feature; None if all costs are equal."""
    costs = part.problem.costs
    if np.all(costs == costs[0]):
        return None
    sizes = np.bincount(part.feature_of, minlength=costs.size)
    shares = costs[part.feature_of] / sizes[part.feature_of]
    return np.maximum(shares, _LEAST_COST * max(shares.max(), _LEAST_COST))
