"""Objective and gap along a fit."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamis.inspection._style import COLORS, SMALL, Display, ink, make_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Objective, and relative duality gap, by iteration.

    The gap bounds how far the objective is above the minimum, whatever the method: where it is
    below the tolerance, the solution is certified.

    Parameters
    ----------
    n_iter : ndarray of shape (n_rounds,)
        Iterations.
    objective, relative_gap : ndarray of shape (n_rounds,)
        Their values after so many iterations.
    tol : float or None, default=None
        Tolerance of the gap.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        Objective and gap.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        Objective and gap.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PrimalDualClassifier
    >>> from tamis.inspection import ConvergenceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PrimalDualClassifier(radius=0.5, tol=1e-8).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> bool(display.relative_gap[-1] <= display.tol)
    True
    """

    n_iter: NDArray
    objective: NDArray
    relative_gap: NDArray
    _: KW_ONLY
    tol: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any
    ) -> ConvergenceDisplay:
        """The history of a primal-dual classifier.

        Parameters
        ----------
        estimator : PrimalDualClassifier
            Fitted.
        ax : matplotlib Axes, default=None
            Axes whose place the two take; None: those of a new figure.
        **kwargs : dict
            For the lines.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "history_"):
            raise TypeError(
                "ConvergenceDisplay needs a PrimalDualClassifier with its history_, got "
                f"{type(estimator).__name__}."
            )
        history = estimator.history_
        values = (history[name] for name in ("n_iter", "objective", "relative_gap"))
        return cls(*values, tol=getattr(estimator, "tol", None)).plot(ax, **kwargs)

    def _plot(self, ax, kwargs):
        """Draw objective and gap."""
        require_matplotlib(type(self).__name__)
        from matplotlib.ticker import MaxNLocator

        whole, self.figure_ = make_axes(type(self).__name__, ax, (6.4, 4.8))
        place = whole.get_subplotspec()
        if place is None:
            raise ValueError("ConvergenceDisplay needs axes made by plt.subplots.")
        whole.set_axis_off()
        grid = place.subgridspec(2, 1, hspace=0.1)
        upper = self.figure_.add_subplot(grid[0])
        lower = self.figure_.add_subplot(grid[1], sharex=upper)
        self.axes_, self.ax_ = np.array([upper, lower]), upper
        style: dict[str, Any] = {"color": COLORS[0], "marker": "o", "markersize": 3} | kwargs
        gap = np.where(self.relative_gap > 0, self.relative_gap, np.nan)
        self.lines_ = [
            upper.plot(self.n_iter, self.objective, **style)[0],
            lower.plot(self.n_iter, gap, **style)[0],
        ]
        upper.set_ylabel("objective")
        upper.tick_params(labelbottom=False)
        upper.ticklabel_format(axis="y", useOffset=False)
        lower.set(xlabel="iterations", ylabel="relative gap")
        lower.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        if np.isfinite(gap).any():
            lower.set_yscale("log")
        if self.tol is not None and self.tol > 0:
            label = f"tolerance {self.tol:g}"
            lower.axhline(self.tol, color=ink(), linestyle="--", linewidth=1, label=label)
            lower.legend(fontsize=SMALL, frameon=False)
