"""Calibration: observed proportions against predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibrationDisplay as SklearnCalibrationDisplay

from tamis.inspection._binary import Binary, BinaryDisplay
from tamis.inspection._logistic import LogisticEstimate, SmoothCurve, recalibrate, smooth
from tamis.inspection._style import COLORS, SMALL, ink, make_axes, shorten
from tamis.paths.intervals import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ENOUGH = 100  # rows of each class from which on a curve is drawn


class CalibrationDisplay(BinaryDisplay, SklearnCalibrationDisplay):
    """Observed proportions against predicted probabilities, with calibration slope and intercept.

    scikit-learn's display with intervals, at a stated prevalence. With at least 100 rows (or
    sample groups) of the class and of the others, a smooth curve is drawn; with fewer, only the
    bins, and slope and intercept say what can be said. Perfect calibration has slope 1 and
    intercept 0; a slope below 1 means probabilities too near 0 and 1, and an intercept below 0
    probabilities that are too large.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Observed proportion of the class, and mean predicted probability, in each bin.
    y_prob : ndarray of shape (n_samples,)
        Predicted probabilities, at `prevalence`.
    intervals : ndarray of shape (2, n_bins)
        95 % limits of the observed proportions (Wilson).
    intercept, slope : Estimate
        `value`, `low` and `high`: of logistic recalibration, with Wald's 95 % interval. The
        intercept is that of slope 1. NaN where the classes are separated perfectly.
    curve : SmoothCurve or None
        `predicted`, `observed`, `low` and `high` of a restricted cubic spline of the log odds.
    prevalence : float
        Proportion of the class that the picture is about.
    estimator_name : str or None, default=None
        For the legend.
    pos_label : str or None, default=None
        Name of the class.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D
        The bins.
    curve_ : matplotlib Line2D or None
        The smooth curve.
    text_ : matplotlib Text
        Slope, intercept and prevalence.

    Notes
    -----
    Options of the functions that make one: `n_bins`, bins with about equal numbers of rows (None:
    10 where a curve is drawn, else 5); `name`, for the legend. Others are for the line of bins.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.inspection import CalibrationDisplay
    >>> p = np.random.default_rng(0).uniform(size=400)
    >>> y = np.random.default_rng(1).uniform(size=400) < p
    >>> display = CalibrationDisplay.from_predictions(y, p)
    >>> print("slope", display.slope)
    slope 1.01 [0.80, 1.22]
    """

    _options = ("n_bins", "name")

    def __init__(
        self,
        prob_true: NDArray,
        prob_pred: NDArray,
        y_prob: NDArray,
        *,
        intervals: NDArray,
        intercept: LogisticEstimate,
        slope: LogisticEstimate,
        curve: SmoothCurve | None,
        prevalence: float,
        estimator_name: str | None = None,
        pos_label: str | None = None,
    ) -> None:
        super().__init__(
            prob_true, prob_pred, y_prob, estimator_name=estimator_name, pos_label=pos_label
        )
        self.intervals = intervals
        self.intercept = intercept
        self.slope = slope
        self.curve = curve
        self.prevalence = prevalence

    @classmethod
    def _of(cls, data: Binary, n_bins: int | None = None, name: str | None = None):
        has_curve = min(data.n_per_class) >= _ENOUGH
        shares, means, intervals = _bins(data, n_bins or (10 if has_curve else 5))
        intercept, slope = recalibrate(data)
        return cls(
            shares,
            means,
            data.probabilities,
            intervals=intervals,
            intercept=intercept,
            slope=slope,
            curve=smooth(data) if has_curve else None,
            prevalence=data.prevalence,
            estimator_name=name,
            pos_label=data.name,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        ref_line: bool = True,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Draw bins, curve, slope and intercept.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        name : str, default=None
            For the legend.
        ref_line : bool, default=True
            Whether to draw the line of perfect calibration.
        **kwargs : dict
            For the line of the bins.

        Returns
        -------
        self : CalibrationDisplay
        """
        ax, _ = make_axes(type(self).__name__, ax, (5.0, 4.6))
        style: dict[str, Any] = {"color": COLORS[0], "marker": "o", "linestyle": "none"}
        style |= {"zorder": 3} | kwargs
        label = name or self.estimator_name or "bins, 95 % intervals"
        if ref_line:
            ax.plot([0, 1], [0, 1], color=ink(), linestyle=":", label="perfect calibration")
        draw = SklearnCalibrationDisplay.plot
        draw(self, ax=ax, name=shorten(label), ref_line=False, **style)
        color = self.line_.get_color()
        self.ax_.vlines(self.prob_pred, *self.intervals, color=color, linewidth=1)
        self.curve_ = None
        if self.curve is not None:
            c = self.curve
            self.curve_ = ax.plot(c.predicted, c.observed, color=color, label="smooth curve")[0]
            ax.fill_between(c.predicted, c.low, c.high, color=color, alpha=0.22, linewidth=0)
        text = f"slope {self.slope}\nintercept {self.intercept}\nprevalence {self.prevalence:.2g}"
        self.text_ = ax.text(
            0.03, 0.97, text, transform=ax.transAxes, va="top", fontsize=SMALL, color=ink()
        )
        ax.legend(loc="lower right", fontsize=SMALL, frameon=False)
        of = shorten(self.pos_label, 20)
        ax.set(xlabel=f"predicted probability of {of}", ylabel=f"observed proportion of {of}")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return self


def _bins(data, n_bins):
    """Observed proportions, mean probabilities and Wilson intervals of bins of equal numbers."""
    p = data.probabilities
    edges = np.quantile(p, np.linspace(0, 1, n_bins + 1))
    bins = np.searchsorted(edges[1:-1], p)
    # Rows of both classes weigh as much as at the stated prevalence.
    w = data.weights * np.exp(np.where(data.is_positive, data.shift, 0.0))
    total = np.bincount(bins, w, n_bins)
    filled = total > 0
    shares = np.bincount(bins, w * data.is_positive, n_bins)[filled] / total[filled]
    means = np.bincount(bins, w * p, n_bins)[filled] / total[filled]

    # The number of independent units: a sample group counts once.
    units = np.arange(p.size) if data.groups is None else data.groups
    pairs, place = np.unique(np.column_stack([bins, units]), axis=0, return_inverse=True)
    of_unit = np.bincount(place.ravel(), w)
    n = total[filled] ** 2 / np.bincount(pairs[:, 0], of_unit**2, n_bins)[filled]
    return shares, means, np.array(wilson(shares * n, n))
