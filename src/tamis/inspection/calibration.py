"""Calibration: observed proportions against predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.calibration import CalibrationDisplay as SklearnCalibrationDisplay

from tamis.inspection._binary import Binary
from tamis.inspection._logistic import LogisticEstimate, SmoothCurve, recalibrate, smooth
from tamis.inspection._style import COLORS, SMALL, ink, make_axes, shorten
from tamis.paths.intervals import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison

__all__ = ["CalibrationDisplay"]

_ENOUGH = 100  # rows of each class from which on a curve is drawn


class CalibrationDisplay(SklearnCalibrationDisplay):
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
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Calibration of probabilities for rows that the model was not trained on.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_prob : array-like of shape (n_samples,)
            Probabilities of the positive class.
        pos_label : default=None
            The positive class; None: the second of two.
        prevalence : float, default=None
            Proportion of the positive class where the model is used; None: that of the rows.
        assumed_prevalence : float, default=None
            Proportion that the probabilities assume, 0.5 for models with equal class weights;
            None: that of the rows.
        groups : array-like of shape (n_samples,), default=None
            Sample groups, for instance patients.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        n_bins : int, default=None
            Bins with about equal numbers of rows; None: 10 where a curve is drawn, else 5.
        name : str, default=None
            For the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the line of the bins.

        Returns
        -------
        display : CalibrationDisplay
        """
        data = Binary.from_predictions(
            y_true,
            y_prob,
            pos_label=pos_label,
            prevalence=prevalence,
            assumed_prevalence=assumed_prevalence,
            groups=groups,
            sample_weight=sample_weight,
        )
        return cls._of(data, n_bins, name).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Calibration of a classifier on rows that it was not trained on.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        n_bins, name, ax, pos_label, prevalence, assumed_prevalence, groups, sample_weight, \
**kwargs
            As in `from_predictions`.

        Returns
        -------
        display : CalibrationDisplay
        """
        data = Binary.from_estimator(
            estimator,
            X,
            y,
            pos_label=pos_label,
            prevalence=prevalence,
            assumed_prevalence=assumed_prevalence,
            groups=groups,
            sample_weight=sample_weight,
        )
        return cls._of(data, n_bins, name or type(estimator).__name__).plot(ax=ax, **kwargs)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        positive: Any = None,
        prevalence: float | None = None,
        n_bins: int | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CalibrationDisplay:
        """Calibration of the honest predictions of a comparison.

        Parameters
        ----------
        comparison : Comparison
        positive : default=None
            The class; None: that of the minimal sensitivity, or the second of two.
        prevalence : float, default=None
            Proportion of the class where the model is used; None: that of the rows.
        n_bins, ax, **kwargs
            As in `from_predictions`.

        Returns
        -------
        display : CalibrationDisplay
        """
        data = Binary.from_comparison(comparison, positive, prevalence)
        return cls._of(data, n_bins).plot(ax=ax, **kwargs)

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
        super().plot(ax=ax, name=shorten(label), ref_line=False, **style)
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
