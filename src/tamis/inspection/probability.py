"""The distribution of predicted probabilities by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis.inspection._binary import Binary
from tamis.inspection._style import COLORS, SMALL, ink, make_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison

__all__ = ["ProbabilityDisplay"]


class ProbabilityDisplay:
    """Predicted probabilities of a class: its own rows upwards, the others downwards.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins.
    positive, negative : ndarray of shape (n_bins,)
        Proportion of the rows of the class, and of the others, in each bin.
    n_rows : tuple of int
        Number of rows of the class, and of the others.
    prevalence : float
        Proportion of the class that the probabilities assume.
    pos_label, other : str
        Names of the class and of the others.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : tuple of matplotlib BarContainer
        Of the class and of the others.

    Examples
    --------
    >>> from tamis.inspection import ProbabilityDisplay
    >>> y, p = ["ill", "ill", "well", "well"], [0.9, 0.6, 0.4, 0.2]
    >>> display = ProbabilityDisplay.from_predictions(y, p, pos_label="ill", n_bins=2)
    >>> display.positive.tolist(), display.negative.tolist()
    ([0.0, 1.0], [1.0, 0.0])
    """

    def __init__(
        self,
        edges: NDArray,
        positive: NDArray,
        negative: NDArray,
        *,
        n_rows: tuple[int, int],
        prevalence: float,
        pos_label: str,
        other: str = "others",
    ) -> None:
        self.edges = edges
        self.positive = positive
        self.negative = negative
        self.n_rows = n_rows
        self.prevalence = prevalence
        self.pos_label = pos_label
        self.other = other

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 20,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ProbabilityDisplay:
        """Probabilities for rows that the model was not trained on.

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
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        n_bins : int, default=20
            Number of bins of equal width.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the bars.

        Returns
        -------
        display : ProbabilityDisplay
        """
        data = Binary.from_predictions(
            y_true,
            y_prob,
            pos_label=pos_label,
            prevalence=prevalence,
            assumed_prevalence=assumed_prevalence,
            sample_weight=sample_weight,
        )
        return cls._of(data, n_bins).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        n_bins: int = 20,
        ax: Axes | None = None,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        sample_weight: ArrayLike | None = None,
        **kwargs: Any,
    ) -> ProbabilityDisplay:
        """Probabilities of a classifier for rows that it was not trained on.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        n_bins, ax, pos_label, prevalence, assumed_prevalence, sample_weight, **kwargs
            As in `from_predictions`.

        Returns
        -------
        display : ProbabilityDisplay
        """
        data = Binary.from_estimator(
            estimator,
            X,
            y,
            pos_label=pos_label,
            prevalence=prevalence,
            assumed_prevalence=assumed_prevalence,
            sample_weight=sample_weight,
        )
        return cls._of(data, n_bins).plot(ax, **kwargs)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        positive: Any = None,
        prevalence: float | None = None,
        n_bins: int = 20,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ProbabilityDisplay:
        """Honest predictions of a comparison.

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
        display : ProbabilityDisplay
        """
        data = Binary.from_comparison(comparison, positive, prevalence)
        return cls._of(data, n_bins).plot(ax, **kwargs)

    @classmethod
    def _of(cls, data, n_bins):
        edges = np.linspace(0, 1, n_bins + 1)
        shares = []
        for rows in (data.is_positive, ~data.is_positive):
            weights = data.weights[rows]
            counts = np.histogram(data.probabilities[rows], edges, weights=weights)[0]
            shares.append(counts / weights.sum())
        n_positive = int(np.count_nonzero(data.is_positive))
        return cls(
            edges,
            *shares,
            n_rows=(n_positive, data.is_positive.size - n_positive),
            prevalence=data.prevalence,
            pos_label=data.name,
            other=data.other,
        )

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ProbabilityDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the bars.

        Returns
        -------
        self : ProbabilityDisplay
        """
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax)
        names = self.pos_label, self.other
        bars = []
        for place, (heights, sign) in enumerate([(self.positive, 1), (self.negative, -1)]):
            n = self.n_rows[place]
            label = f"{shorten(names[place], 20)} ({n:,} row{'' if n == 1 else 's'})"
            style: dict[str, Any] = {"color": COLORS[place], "linewidth": 0} | kwargs
            bars.append(
                self.ax_.bar(
                    self.edges[:-1], sign * heights, np.diff(self.edges), align="edge", **style
                )
            )
            self.ax_.text(
                0.5,
                0.5 + 0.48 * sign,
                label,
                transform=self.ax_.transAxes,
                ha="center",
                va="top" if sign > 0 else "bottom",
                fontsize=SMALL,
                color=ink(),
            )
        self.bars_ = tuple(bars)
        self.ax_.axhline(0, color=ink(), linewidth=0.8)
        top = 1.35 * max(self.positive.max(), self.negative.max())
        self.ax_.set(xlim=(0, 1), ylim=(-top, top), ylabel="proportion of the class")
        self.ax_.yaxis.set_major_formatter(lambda y, _: f"{abs(y):.10g}")
        self.ax_.set_xlabel(
            f"predicted probability of {shorten(self.pos_label, 20)}\n"
            f"(prevalence {self.prevalence:.2g})"
        )
        return self
