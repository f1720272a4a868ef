"""How often each feature is selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamis.inspection._style import (
    COLORS,
    GREY,
    Display,
    add_legend,
    feature_labels,
    feature_names,
    ink,
    make_axes,
    n_fitting,
    note_left_out,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """How often each feature is selected when the data change.

    A low frequency does not mean that a feature is false: interchangeable features share the
    selections among them.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features,)
        Proportion of half-samples, or folds, that select each feature; the largest first.
    feature_names : array-like of str
        Their names.
    selected : ndarray of bool of shape (n_features,)
        Features of the model.
    threshold : float or None, default=None
        Proportion that a feature needs, where there is one.
    share_of : str, default="folds"
        What the proportions are of.
    n_left_out : int, default=0
        Number of features with smaller proportions above 0 that are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : matplotlib BarContainer
    threshold_ : matplotlib Line2D or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifierCV
    >>> from tamis.inspection import StabilityDisplay
    >>> model = SparseCenterClassifierCV(rule="sparsest").fit(*load_iris(return_X_y=True))
    >>> display = StabilityDisplay.from_estimator(model)
    >>> display.feature_names, display.frequencies.tolist()
    (['x2'], [1.0])
    """

    frequencies: NDArray
    feature_names: Sequence[str]
    selected: NDArray
    _: KW_ONLY
    threshold: float | None = None
    share_of: str = "folds"
    n_left_out: int = 0

    def __post_init__(self) -> None:
        self.feature_names = np.asarray(self.feature_names).tolist()

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_features: int = 25, ax: Axes | None = None, **kwargs: Any
    ) -> StabilityDisplay:
        """The frequencies of a stable selector, or of a classifier chosen by cross-validation.

        Parameters
        ----------
        estimator : StableSelector, or a classifier whose name ends in CV
            Fitted, with the attribute `frequencies_` or `stability_`.
        max_features : int, default=25
            Largest number of features to show, the most frequent first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the bars.

        Returns
        -------
        display : StabilityDisplay
        """
        check_is_fitted(estimator)
        of_halves = hasattr(estimator, "frequencies_")
        if not of_halves and not hasattr(estimator, "stability_"):
            raise TypeError(
                "StabilityDisplay needs a StableSelector or a classifier whose name ends in CV, "
                f"got {type(estimator).__name__}."
            )
        names = feature_names(estimator)
        display = cls._of(
            estimator.frequencies_ if of_halves else estimator.stability_,
            names,
            estimator.support_,
            max_features,
            threshold=estimator.threshold if of_halves else None,
            share_of="half-samples" if of_halves else "folds",
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        max_features: int = 25,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> StabilityDisplay:
        """Proportions of the folds that select each feature, at the recommended model size.

        Parameters
        ----------
        comparison : Comparison
        max_features : int, default=25
            Largest number of features to show, the most frequent first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the bars.

        Returns
        -------
        display : StabilityDisplay
        """
        choice = comparison.recommended
        if choice is None:
            raise ValueError("No method was finished, so there are no frequencies to show.")
        result, place = comparison.chosen
        names = comparison.problem.names
        used = {record["feature"] for record in comparison.fitted(choice)[1]}
        selected = np.array([name in used for name in names])
        return cls._of(result.selected[place], names, selected, max_features).plot(ax, **kwargs)

    @classmethod
    def _of(cls, frequencies, names, selected, max_features, **options):
        # Of equal shares, those of the model first.
        order = np.lexsort((~np.asarray(selected), -frequencies))
        order = order[(frequencies[order] > 0) | np.asarray(selected)[order]]
        shown = order[:max_features]
        return cls(
            np.asarray(frequencies, dtype=np.float64)[shown],
            np.asarray(names, dtype=object)[shown],
            np.asarray(selected)[shown],
            n_left_out=order.size - shown.size,
            **options,
        )

    def _plot(self, ax, kwargs):
        """Draw the bars."""
        require_matplotlib(type(self).__name__)
        from matplotlib.patches import Patch

        n = self.frequencies.size
        self.ax_, self.figure_ = make_axes(
            type(self).__name__, ax, (6.4, max(1.8, 1.2 + 0.24 * n))
        )
        n_shown = min(n, n_fitting(self.ax_, "y"))
        shares, selected = self.frequencies[:n_shown], self.selected[:n_shown]
        feature_labels(self.ax_, "y", self.feature_names[:n_shown])
        note_left_out(self.ax_, self.n_left_out + n - n_shown)
        style: dict[str, Any] = {
            "height": 0.7,
            "color": [COLORS[0] if chosen else "none" for chosen in selected],
            "edgecolor": [COLORS[0] if chosen else GREY for chosen in selected],
        }
        self.bars_ = self.ax_.barh(np.arange(n_shown), shares, **style | kwargs)
        self.threshold_ = None
        if self.threshold is not None:
            self.threshold_ = self.ax_.axvline(
                self.threshold, color=ink(), linestyle="--", label=f"threshold {self.threshold:g}"
            )
        self.ax_.set(xlim=(0, 1), ylim=(n_shown - 0.5, -0.5))
        self.ax_.set_xlabel(f"proportion of {self.share_of} that select it")
        handles: list[Any] = [] if self.threshold_ is None else [self.threshold_]
        if not selected.all():
            handles.append(Patch(color=COLORS[0], label="in the model"))
            handles.append(Patch(facecolor="none", edgecolor=GREY, label="not in the model"))
        if handles:
            add_legend(self.ax_, most_inside=0, handles=handles)
