"""The class centers of the selected features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._array import is_sparse
from tamis.inspection._style import (
    COLORS,
    GREY,
    MARKERS,
    Display,
    add_legend,
    feature_labels,
    feature_names,
    make_axes,
    n_fitting,
    note_left_out,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison


@dataclass(eq=False, repr=False)
class CentersDisplay(Display):
    """How far the class centroids of each selected feature are apart, in units of its spread.

    The spread of a feature is its root mean square distance from the middle of the classes, each
    class counting equally; its mean absolute distance where centers are medians (metric="l1");
    its standard deviation with scaling="std" or "variance". Up to six classes are points, with a
    marker and a colour each; more are a map.

    Parameters
    ----------
    centers : ndarray of shape (n_classes, n_features)
        Class centers minus the middle of the classes, in units of the spread; best feature first.
    feature_names, class_names : array-like of str
        Their names.
    unit : str, default="spread"
        What the centers are divided by.
    n_left_out : int, default=0
        Number of selected features that are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of matplotlib Line2D or None
        One per class, for up to six classes.
    image_ : matplotlib AxesImage or None
        The map of more classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.inspection import CentersDisplay
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifier(2).fit(data.data, data.target_names[data.target])
    >>> display = CentersDisplay.from_estimator(model)
    >>> display.feature_names, display.centers.round(1).tolist()
    (['petal length (cm)', 'petal width (cm)'], [[-1.3, -1.3], [0.3, 0.2], [1.0, 1.1]])
    """

    centers: NDArray
    feature_names: Sequence[str]
    class_names: Sequence[str]
    _: KW_ONLY
    unit: str = "spread"
    n_left_out: int = 0

    def __post_init__(self) -> None:
        self.feature_names = np.asarray(self.feature_names).tolist()
        self.class_names = np.asarray(self.class_names).tolist()

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_features: int = 20, ax: Axes | None = None, **kwargs: Any
    ) -> CentersDisplay:
        """The centers of a sparse center classifier.

        Parameters
        ----------
        estimator : SparseCenterClassifier or SparseCenterClassifierCV
            Fitted.
        max_features : int, default=20
            Largest number of features to show, best first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the points, or the map.

        Returns
        -------
        display : CentersDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "class_centers_"):
            raise TypeError(
                f"CentersDisplay needs a SparseCenterClassifier, got {type(estimator).__name__}."
            )
        order = estimator.feature_order_
        selected = order[estimator.support_[order]]
        shown = selected[:max_features]
        centers = estimator.class_centers_[:, shown] - estimator.common_center_[shown]
        display = cls(
            centers / _unit(estimator, estimator.scale_[shown]),
            feature_names(estimator)[shown],
            estimator.classes_,
            unit="the feature" if estimator.scaling is None else "spread",
            n_left_out=selected.size - shown.size,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        max_features: int = 20,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CentersDisplay:
        """The centers of the features that the recommended model uses, whatever its method.

        A category has a row of its own; its center is its proportion in the class.

        Parameters
        ----------
        comparison : Comparison
        max_features : int, default=20
            Largest number of features to show, best first.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the points, or the map.

        Returns
        -------
        display : CentersDisplay
        """
        choice = comparison.recommended
        if choice is None:
            raise ValueError("No method was finished, so there is no model to show.")
        records, problem = comparison.fitted(choice)[1], comparison.problem
        labels = problem.classes.tolist()
        names, rows = [], []
        for record in records[:max_features]:
            if not record["centers"]:  # they could not be computed
                continue
            feature = problem.names.index(record["feature"])
            columns = np.flatnonzero(problem.feature_of == feature)
            of_class: list[Any] = list(record["centers"].values())
            if isinstance(of_class[0], dict):
                parts = list(of_class[0])
                told = [_part_name(problem.preparation, j) for j in columns]
                columns = columns[[name in parts for name in told]]
                names += [f"{record['feature']}: {part}" for part in parts]
                of_class = [list(center.values()) for center in of_class]
            else:
                names.append(record["feature"])
            values = np.array(of_class, dtype=np.float64).reshape(len(labels), -1)
            middle = np.nanmean(values, axis=0)
            rows.append((values - middle) / _spread(problem, columns, middle))
        centers = np.concatenate(rows, axis=1) if rows else np.empty((len(labels), 0))
        display = cls(centers, names, labels, n_left_out=max(0, len(records) - max_features))
        return display.plot(ax, **kwargs)

    def _plot(self, ax, kwargs):
        """Draw the centers."""
        n_classes, n_features = self.centers.shape
        size = 6.4, max(2.2, 1.3 + 0.26 * n_features)
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax, size)
        n_shown = min(n_features, n_fitting(self.ax_, "y"))
        feature_labels(self.ax_, "y", self.feature_names[:n_shown])
        note_left_out(self.ax_, self.n_left_out + n_features - n_shown)
        self.points_ = self.image_ = None
        if n_classes <= len(COLORS):
            self._draw_points(self.centers[:, :n_shown], kwargs)
        else:
            self._draw_map(self.centers[:, :n_shown], kwargs)
        self.ax_.set_ylim(n_shown - 0.5, -0.5)

    @property
    def _title(self):
        return f"class centroid, in units of {self.unit}"

    def _draw_points(self, centers, kwargs):
        rows = np.arange(centers.shape[1])
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        if rows.size:
            low, high = np.nanmin(centers, axis=0), np.nanmax(centers, axis=0)
            self.ax_.hlines(rows, low, high, color=GREY, linewidth=0.8)
        self.points_ = [
            self.ax_.plot(
                values,
                rows,
                **{"linestyle": "none", "marker": MARKERS[c], "color": COLORS[c]}
                | {"label": shorten(self.class_names[c], 24)}
                | kwargs,
            )[0]
            for c, values in enumerate(centers)
        ]
        self.ax_.set_xlabel(self._title)
        add_legend(self.ax_, most_inside=0)

    def _draw_map(self, centers, kwargs):
        feature_labels(self.ax_, "x", self.class_names)
        most = float(np.nanmax(np.abs(centers), initial=0.0)) or 1.0
        style = {"cmap": "PuOr_r", "vmin": -most, "vmax": most, "aspect": "auto"} | kwargs
        self.image_ = self.ax_.imshow(centers.T, interpolation="nearest", **style)
        self.figure_.colorbar(self.image_, ax=self.ax_).set_label(self._title)


def _unit(estimator, scale):
    """The spread of features, from the divisors that their scaling gives."""
    if estimator.scaling == "spread":  # a sum over classes
        n_classes = len(estimator.classes_)
        return scale / (n_classes if estimator.metric == "l1" else np.sqrt(n_classes))
    return np.sqrt(scale) if estimator.scaling == "variance" else scale


def _part_name(preparation, j):
    """The name of a column of a feature; of a category, the category alone."""
    name, source = preparation.columns[j], preparation.sources[j]
    return name.removeprefix(f"{source}=") if source in preparation.categories else name


def _spread(problem, columns, middle):
    """Root mean square distance from the middle, classes counting equally; 1 where it is 0."""
    X = problem.encoded[:, columns]
    squares = ((X.toarray() if is_sparse(X) else X) - middle) ** 2
    of_class = [squares[problem.codes == code] for code in range(problem.classes.size)]
    counts = np.array([np.count_nonzero(~np.isnan(rows), axis=0) for rows in of_class])
    means = np.array([np.nansum(rows, axis=0) for rows in of_class]) / np.maximum(counts, 1)
    spread = np.sqrt(means.sum(axis=0) / np.maximum((counts > 0).sum(axis=0), 1))
    return np.where(spread > 0, spread, 1.0)
