"""The score against the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis.inspection._style import (
    GREY,
    LINES,
    Display,
    add_legend,
    feature_ticks,
    ink,
    line_style,
    make_axes,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison


@dataclass(frozen=True)
class Curve:
    """The scores of one method along its path.

    Attributes
    ----------
    name : str
        For the legend.
    n_features : ndarray of shape (n_levels,)
        Number of features of each level.
    scores, errors : ndarray of shape (n_levels,)
        Scores and their standard errors.
    is_baseline : bool
        Whether the curve is only there to compare with.
    """

    name: str
    n_features: NDArray[np.float64]
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    is_baseline: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        n_features: ArrayLike,
        scores: ArrayLike,
        errors: ArrayLike,
        is_baseline: bool = False,
    ) -> Curve:
        """A curve from its smallest number of features to its largest."""
        values = np.array([n_features, scores, errors], dtype=np.float64)
        sizes, scores, errors = values[:, np.argsort(values[0], kind="stable")]
        return cls(name, sizes, scores, errors, is_baseline)


@dataclass(eq=False, repr=False)
class SparsityPathDisplay(Display):
    """The score against the number of features, with standard errors and the choice.

    A method with one level only is a horizontal line, with a marker at its number of features.

    Parameters
    ----------
    curves : sequence of Curve
        One per method.
    chosen : tuple of (float, float) or None, default=None
        Number of features and score of the choice.
    score_name : str, default="score"
        What the scores are.
    feature_name : str, default="number of features"
        What is counted.
    chosen_name : str, default="choice"
        What the mark of the choice is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        One per curve.
    bands_ : list of matplotlib PolyCollection
        One per curve with several levels: one standard error to either side.
    chosen_ : matplotlib Line2D or None
        The mark of the choice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifierCV
    >>> from tamis.inspection import SparsityPathDisplay
    >>> model = SparseCenterClassifierCV(rule="sparsest").fit(*load_iris(return_X_y=True))
    >>> display = SparsityPathDisplay.from_estimator(model)
    >>> display.curves[0].scores.round(2).tolist(), display.chosen[0]
    ([0.95, 0.96, 0.9, 0.87], 1.0)
    """

    curves: Sequence[Curve]
    chosen: tuple[float, float] | None = None
    _: KW_ONLY
    score_name: str = "score"
    feature_name: str = "number of features"
    chosen_name: str = "choice"

    def __post_init__(self) -> None:
        self.curves = list(self.curves)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ax: Axes | None = None, **kwargs: Any
    ) -> SparsityPathDisplay:
        """All methods and baselines of a comparison.

        Parameters
        ----------
        comparison : Comparison
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the lines.

        Returns
        -------
        display : SparsityPathDisplay
        """
        minimize = comparison.settings.minimize
        curves, chosen = [], None
        for result in comparison.results:
            sizes = result.sparsity(minimize)
            assert result.scores is not None and result.errors is not None
            method = result.method
            curves.append(
                Curve.of(method.title, sizes, result.scores, result.errors, method.is_baseline)
            )
            choice = comparison.recommended
            if choice is not None and choice.method == method.name:
                chosen = float(sizes[choice.place]), float(result.scores[choice.place])
        display = cls(
            curves,
            chosen,
            score_name=comparison.settings.scoring.replace("_", " "),
            feature_name="number of features"
            + (" per sample" if minimize == "per-sample" else ""),
            chosen_name="recommended model",
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any
    ) -> SparsityPathDisplay:
        """The cross-validated path of one of the ``...CV`` classes, or a landmark search.

        Parameters
        ----------
        estimator : estimator
            Fitted, with the attributes `path_` and `best_score_`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the line.

        Returns
        -------
        display : SparsityPathDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "path_"):
            raise TypeError(
                f"SparsityPathDisplay needs a fitted estimator with a cross-validated path_, got "
                f"{type(estimator).__name__}. Use the class whose name ends in CV."
            )
        path = estimator.path_
        of_landmarks = hasattr(estimator, "best_configuration_")
        counts = path["level" if of_landmarks else "n_features"]
        place = _chosen_place(estimator, path)
        scoring = getattr(estimator, "scoring", None)
        display = cls(
            [Curve.of(type(estimator).__name__, counts, path["score"], path["standard_error"])],
            (float(counts[place]), float(path["score"][place])),
            score_name=scoring.replace("_", " ") if isinstance(scoring, str) else "score",
            feature_name="number of landmarks" if of_landmarks else "number of features",
        )
        return display.plot(ax, **kwargs)

    def _plot(self, ax, kwargs):
        """Draw the curves."""
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax)
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        feature_ticks(self.ax_, [size for curve in self.curves for size in curve.n_features])
        others, low = 0, self._lower_limit()
        for place, curve in enumerate(sorted(self.curves, key=lambda c: c.is_baseline)):
            style = line_style(place) | {"label": shorten(curve.name, 34), "markersize": 5}
            best = float(curve.scores.max())
            if best < low:
                style["label"] += f": {best:.2f}, below"
            if curve.is_baseline:
                style |= {"color": GREY, "linestyle": LINES[1 + others % 4]}
                style |= {"linewidth": 1.0, "markersize": 4}
                others += 1
            self._draw(curve, style | kwargs)
        self.chosen_ = None
        if self.chosen is not None:
            self.chosen_ = self.ax_.plot(
                *([value] for value in self.chosen),
                marker="o",
                markersize=11,
                markerfacecolor="none",
                markeredgecolor=ink(),
                markeredgewidth=1.5,
                linestyle="none",
                label=self.chosen_name,
                zorder=4,
            )[0]
        self.ax_.set(xlabel=self.feature_name, ylabel=self.score_name)
        self.ax_.set_ylim(bottom=low)
        if len(self.curves) > 1 or self.chosen is not None:
            add_legend(self.ax_)

    def _lower_limit(self):
        """Where the score axis begins: baselines far below the methods are not in view."""
        compared = [c for c in self.curves if not c.is_baseline] or self.curves
        low = min(np.min(c.scores - np.nan_to_num(c.errors)) for c in compared)
        top = max(c.scores.max() for c in self.curves)
        span = max(top - low, 0.02)
        near = [c.scores.min() for c in self.curves if low - span <= c.scores.min() < low]
        return min([low, *near]) - 0.08 * span

    def _draw(self, curve, style):
        if curve.n_features.size == 1:
            self.ax_.axhline(
                curve.scores[0], color=style["color"], linestyle=style["linestyle"], linewidth=0.8
            )
        self.lines_ += self.ax_.plot(curve.n_features, curve.scores, **style)
        if curve.n_features.size > 1:
            self.bands_.append(
                self.ax_.fill_between(
                    curve.n_features,
                    curve.scores - curve.errors,
                    curve.scores + curve.errors,
                    color=style["color"],
                    alpha=0.10 if curve.is_baseline else 0.22,
                    linewidth=0,
                )
            )


def _chosen_place(estimator, path):
    """Place on the path of the level that was chosen."""
    right = np.isclose(path["score"], estimator.best_score_)
    for name in ("radius_", "cost_weight_", "n_groups_", "n_features_"):
        if hasattr(estimator, name):
            right_level = right & np.isclose(path["level"], getattr(estimator, name))
            if right_level.any():
                return int(right_level.argmax())
    return int(right.argmax())
