"""Which features share panels that fit as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis.inspection._style import (
    COLORS,
    feature_labels,
    make_axes,
    n_fitting,
    note_left_out,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.panel import BestPanels

__all__ = ["BestPanelsDisplay"]


class BestPanelsDisplay:
    """The panels that fit best, one per column, and the features in each.

    Features that never share a panel tell the same thing.

    Parameters
    ----------
    members : ndarray of bool of shape (n_features, n_panels)
        Whether a panel has a feature: the features of most panels first, the best panel first.
    feature_names : array-like of str
        Names of the features.
    extra_deviance : ndarray of shape (n_panels,)
        Twice the difference of each panel's loss from that of the best one.
    is_complete : bool, default=True
        Whether these are known to be all panels within the tolerance.
    n_left_out : int, default=0
        Number of features in few panels that are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib QuadMesh

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.inspection import BestPanelsDisplay
    >>> from tamis.panel import best_panels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = BestPanelsDisplay.from_panels(best_panels(X, y, 2, tolerance=0.04))
    >>> display.members.shape
    (4, 3)
    """

    def __init__(
        self,
        members: NDArray[np.bool_],
        feature_names: ArrayLike,
        extra_deviance: NDArray,
        *,
        is_complete: bool = True,
        n_left_out: int = 0,
    ) -> None:
        self.members = members
        self.feature_names = np.asarray(feature_names).tolist()
        self.extra_deviance = extra_deviance
        self.is_complete = is_complete
        self.n_left_out = n_left_out

    @classmethod
    def from_panels(
        cls,
        panels: BestPanels,
        *,
        max_features: int = 25,
        max_panels: int = 40,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> BestPanelsDisplay:
        """The panels that `tamis.panel.best_panels` listed.

        Parameters
        ----------
        panels : BestPanels
        max_features : int, default=25
            Largest number of features to show, those of most panels first.
        max_panels : int, default=40
            Largest number of panels to show, the best first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the squares (`Axes.pcolormesh`).

        Returns
        -------
        display : BestPanelsDisplay
        """
        shown = panels.panels[:max_panels]
        members = np.zeros((panels.feature_names.size, len(shown)), dtype=bool)
        for column, panel in enumerate(shown):
            members[panel, column] = True
        counts = members.sum(axis=1)
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        some = order[:max_features]
        display = cls(
            members[some],
            panels.feature_names[some],
            2.0 * (panels.losses[: len(shown)] - panels.losses[0]),
            is_complete=panels.is_complete and panels.n_within == len(shown),
            n_left_out=order.size - some.size,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> BestPanelsDisplay:
        """Draw one column of squares per panel.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the squares (`Axes.pcolormesh`).

        Returns
        -------
        self : BestPanelsDisplay
        """
        require_matplotlib(type(self).__name__)
        from matplotlib.colors import ListedColormap

        n_features, n_panels = self.members.shape
        size = (max(4.0, 2.6 + 0.2 * n_panels), max(1.8, 1.2 + 0.24 * n_features))
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax, size)
        n_shown = min(n_features, n_fitting(self.ax_, "y"))
        feature_labels(self.ax_, "y", self.feature_names[:n_shown])
        note_left_out(self.ax_, self.n_left_out + n_features - n_shown)
        style: dict[str, Any] = {
            "cmap": ListedColormap(["none", COLORS[0]]),
            "edgecolors": "none",
            "vmin": 0,
            "vmax": 1,
        }
        self.image_ = self.ax_.pcolormesh(
            np.arange(n_panels + 1) - 0.5,
            np.arange(n_shown + 1) - 0.5,
            self.members[:n_shown].astype(float),
            **(style | kwargs),
        )
        ticks = np.unique(np.linspace(0, n_panels - 1, min(n_panels, 6)).astype(int))
        self.ax_.set_xticks(ticks, [f"{self.extra_deviance[tick]:.2g}" for tick in ticks])
        kind = "all within the tolerance" if self.is_complete else "there may be more"
        self.ax_.set_xlabel(f"panels, best first ({kind}): deviance above the best")
        return self
