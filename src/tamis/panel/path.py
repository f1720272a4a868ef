"""The path of a panel: the first k features of one order, each level with its head."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.heads import Head
from tamis.panel.forward import decide
from tamis.panel.many_rows import HeadsOnDemand, ManyRows
from tamis.panel.outer import Chosen, FittedHeads, bound_temperatures, fit_heads
from tamis.panel.selection import MOST_ROWS, Selection
from tamis.panel.settings import Setting
from tamis.paths.path import Path
from tamis.paths.temperature import is_handful

if TYPE_CHECKING:
    from tamis.panel._fitted import FittedPanel
    from tamis.panel.classifier import PanelClassifier

__all__ = ["PanelPath", "default_levels", "make_paths", "path_of"]


class PanelPath(Path):
    """Panels with different numbers of features, selected once.

    Parameters
    ----------
    levels : ndarray of int of shape (n_levels,)
        Numbers of features, or groups, without those to keep.
    classes : ndarray of shape (n_classes,)
        Class labels, in the order of the decisions.
    n_features : ndarray of int of shape (n_levels,)
        Number of selected features, or groups; fewer than the level if no more can be selected.
    columns : sequence of ndarray
        Selected columns of each level, ascending.
    heads : sequence of Head
        One per level.
    temperatures : sequence of float
        Divisors of their decisions.
    build : callable
        ``build(place)`` gives the fitted classifier at one place.

    Attributes
    ----------
    is_interrupted : bool
        With ``selection="optimal"``, whether Ctrl-C ended a search; the panels are then the best
        ones that were found until then.
    """

    is_interrupted = False
    # How the features were selected on all rows, and the first columns of the groups of the
    # fullest level, in the order of their selection.
    selection: str = ""
    order: NDArray[np.intp] | None = None

    def __init__(
        self,
        levels: NDArray,
        classes: NDArray,
        n_features: NDArray,
        columns: Sequence[NDArray],
        heads: Sequence[Head],
        temperatures: Sequence[float],
        build: Callable[[int], PanelClassifier],
    ) -> None:
        self.levels = levels
        self.classes = classes
        self.n_features = n_features
        self._columns = columns
        self._heads = heads
        self._temperatures = temperatures
        self._build = build

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that the model at one place of the path uses, ascending."""
        return self._columns[level]

    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities, up to a constant per row, of some levels.

        Parameters
        ----------
        X : {ndarray, sparse array} of shape (n_rows, n_columns)
            Validated samples.
        places : slice
            Places of the levels; all of them by default.

        Returns
        -------
        decisions : ndarray of shape (n_levels, n_rows, n_classes)
        """
        chosen = range(len(self))[places]
        out = np.empty((len(chosen), X.shape[0], len(self.classes)))
        for row, i in enumerate(chosen):
            out[row] = decide(self._heads[i], X, self._columns[i]) / self._temperatures[i]
        return out

    def with_head(
        self, level: int, head: Head, X: Matrix, weights: NDArray[np.float64]
    ) -> PanelPath:
        """The path with another head of the same kind at one place.

        `X` (n_rows, n_columns), `weights` (n_rows,): some rows, which say how much the features
        matter.
        """
        model = self.model(level)
        model._keep_head(head, X, weights)
        heads = HeadsOnDemand(
            lambda place: head if place == level else self._heads[place], len(self)
        )

        def build(place):
            return copy.copy(model) if place == level else self._build(place)

        return PanelPath(
            self.levels,
            self.classes,
            self.n_features,
            self._columns,
            heads,
            self._temperatures,
            build,
        )

    def model(self, level: int) -> PanelClassifier:
        """The fitted `PanelClassifier` at one place of the path; nothing is trained again."""
        return self._build(level)


def default_levels(n_choices: int) -> NDArray[np.int64]:
    """Every number of features up to 12, then about five for each doubling, up to 50."""
    levels = np.array([*range(1, 13), 14, 16, 20, 24, 28, 32, 40, 50])
    return np.unique(np.minimum(levels, max(n_choices, 1)))


def make_paths(
    estimators: Sequence[FittedPanel],
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    levels: NDArray,
    classes: NDArray,
    selection: Selection,
    settings: Sequence[list[Setting]],
    chosen: Sequence[list[Chosen]],
    groups: NDArray | None,
    keys: NDArray,
    kernels_of_sample: bool = False,
) -> list[PanelPath]:
    """Select on all rows, fit the chosen heads of every level, and make the paths.

    Heads of many rows are fitted when they are needed first (`tamis.panel.many_rows`).

    `estimators`: one per path; its parameters and feature names are those of the classifiers of
    the path. `X`, `codes`, `weights`, `levels`, `classes`, `selection`, `groups`, `keys`: as in
    `tamis.panel.outer.fit_heads`. `settings`: of each path. `chosen`: of each path, one per level.
    `kernels_of_sample`: of many rows, whether kernels are fitted on a sample, to be judged.
    """
    n_classes, seed = len(classes), selection.seed
    wanted = [
        [some[c.place] for c in of_path] for some, of_path in zip(settings, chosen, strict=True)
    ]
    heads: list[Sequence[Head]]
    if codes.size > MOST_ROWS and not any(s.keeps_sparse for some in wanted for s in some):
        found = selection.choose(X, codes, weights, n_classes, levels, groups, keys)
        columns = [selection.columns(panel) for panel in found.panels]
        of_sample = (codes, weights, n_classes, selection.class_weight, seed, groups, keys)
        rows = ManyRows(X, *of_sample, kernels_of_sample)
        heads = [rows.heads(columns, of_path) for of_path in wanted]
        fitted = FittedHeads(found.panels, columns, [], found.proofs)
    else:
        of_levels = list(zip(*wanted, strict=True))
        data = (X, codes, weights, n_classes, selection, levels)
        fitted = fit_heads(*data, of_levels, groups, keys)
        heads = [list(of_path) for of_path in zip(*fitted.heads, strict=True)]
    paths = []
    for estimator, some, of_path, own in zip(estimators, settings, chosen, heads, strict=True):
        if is_handful(weights, int(codes.max()) + 1):
            of_path = bound_temperatures(of_path, own, fitted.columns, X, codes, weights)
        path = path_of(
            estimator, X, weights, fitted, own, levels, classes, selection, some, of_path
        )
        path.is_interrupted = bool(selection.interrupted)
        path.selection = selection.kind
        path.order = selection.choices.first_columns[fitted.panels[-1]]
        paths.append(path)
    return paths


def path_of(
    estimator: FittedPanel,
    X: Matrix,
    weights: NDArray,
    fitted: FittedHeads,
    heads: Sequence[Head],
    levels: NDArray,
    classes: NDArray,
    selection: Selection,
    settings: list[Setting],
    chosen: list[Chosen],
) -> PanelPath:
    """The path of `heads`, one per level, for the columns that `fitted` has selected."""

    def build(place):
        classifier = estimator._with_size(max(int(levels[place]), 1))
        classifier.classes_ = classes
        classifier._store(
            X,
            weights,
            selection,
            fitted.panels[place],
            fitted.columns[place],
            heads[place],
            chosen[place].temperature,
            settings[chosen[place].place],
        )
        classifier._store_proof(fitted.proofs[place])
        return classifier

    return PanelPath(
        levels,
        classes,
        np.array([panel.size for panel in fitted.panels]),
        fitted.columns,
        heads,
        [c.temperature for c in chosen],
        build,
    )
