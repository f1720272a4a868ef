"""Landmarks among the samples, in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from tamis._array import is_sparse
from tamis._base import find_feature
from tamis.inspection._style import (
    COLORS,
    GREY,
    MARKERS,
    Display,
    add_legend,
    feature_names,
    ink,
    make_axes,
    shorten,
)
from tamis.landmarks.scaling import apply_scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class LandmarkDisplay(Display):
    """Landmarks and samples in the plane of two features, or of two principal components.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Samples.
    landmarks : ndarray of shape (n_landmarks, 2)
        Landmarks.
    labels : ndarray of shape (n_samples,) or None, default=None
        Classes of the samples.
    axis_names : tuple of str
        Names of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : list of matplotlib Line2D
        Samples, one per class in the order of the labels.
    landmarks_ : matplotlib Line2D
        The landmarks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LandmarkClassifier
    >>> from tamis.inspection import LandmarkDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LandmarkClassifier(n_landmarks=8, random_state=0).fit(X, y)
    >>> display = LandmarkDisplay.from_estimator(model, X, y, features=[2, 3])
    >>> display.landmarks.shape, display.axis_names
    ((8, 2), ('x2', 'x3'))
    """

    points: NDArray
    landmarks: NDArray
    labels: NDArray | None = None
    _: KW_ONLY
    axis_names: tuple[str, str] = ("first", "second")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        features: Sequence[int | str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> LandmarkDisplay:
        """The landmarks of a classifier or transformer among samples.

        Parameters
        ----------
        estimator : LandmarkClassifier or LandmarkTransformer
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Samples, for instance those of training; scaled as the estimator scales them.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        features : sequence of two names or indices, default=None
            The axes; None: the first two principal components of the scaled samples, or the
            features if there are only two.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the samples.

        Returns
        -------
        display : LandmarkDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "landmarks_"):
            raise TypeError(
                "LandmarkDisplay needs a LandmarkClassifier or LandmarkTransformer, got "
                f"{type(estimator).__name__}."
            )
        record = estimator.model_["map"] if hasattr(estimator, "model_") else estimator._map
        names = feature_names(estimator)
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        points, landmarks = (
            matrix.toarray() if is_sparse(matrix) else np.asarray(matrix)
            for matrix in (apply_scaling(record["scaling"], X), estimator.landmarks_)
        )
        if features is None and names.size == 2:
            features = [0, 1]
        if features is not None:
            if len(features) != 2:
                raise ValueError(f"features must name two features, got {len(features)}.")
            column_of = {str(name): column for column, name in enumerate(names)}
            columns = [find_feature(f, column_of, names.size, "features") for f in features]
            points, landmarks = points[:, columns], landmarks[:, columns]
            axis_names = [str(names[column]) for column in columns]
        else:
            components = PCA(min(2, *points.shape)).fit(points)
            points, landmarks = (components.transform(m) for m in (points, landmarks))
            shares = components.explained_variance_ratio_
            axis_names = [
                f"principal component {place} ({share:.0%})"
                for place, share in zip((1, 2), shares, strict=False)
            ]
        if points.shape[1] == 1:  # a single feature, or a single sample
            points, landmarks = (np.pad(m, ((0, 0), (0, 1))) for m in (points, landmarks))
            axis_names.append("")
        labels = None if y is None else column_or_1d(y)
        check_consistent_length(points, labels)
        first, second = axis_names
        return cls(points, landmarks, labels, axis_names=(first, second)).plot(ax, **kwargs)

    def _plot(self, ax, kwargs):
        """Draw samples and landmarks."""
        self.ax_, self.figure_ = make_axes(type(self).__name__, ax)
        most = 12 if self.figure_.get_figwidth() >= 6 else 5  # classes in the legend
        classes = np.array([]) if self.labels is None else np.unique(self.labels)
        style: dict[str, Any] = {"linestyle": "none", "markersize": 4, "alpha": 0.6}
        if classes.size:
            self.points_ = [
                self._scatter(
                    self.points[self.labels == label],
                    style
                    | {"color": COLORS[c % len(COLORS)], "marker": MARKERS[c % len(MARKERS)]}
                    | {"label": shorten(label, 20) if c < most else None}
                    | kwargs,
                )
                for c, label in enumerate(classes)
            ]
        else:
            look = {"color": GREY, "marker": "o", "label": "samples"}
            self.points_ = [self._scatter(self.points, style | look | kwargs)]
        if classes.size > most:
            self.ax_.plot([], [], linestyle="none", label=f"{classes.size - most} others")
        self.landmarks_ = self._scatter(
            self.landmarks,
            {"linestyle": "none", "marker": "o", "markerfacecolor": "none", "markersize": 9}
            | {"markeredgecolor": ink(), "markeredgewidth": 1.2, "label": "landmarks"},
        )
        self.ax_.set_xlabel(shorten(self.axis_names[0], 32))
        self.ax_.set_ylabel(shorten(self.axis_names[1], 32))
        add_legend(self.ax_, most_inside=0)

    def _scatter(self, points, style):
        return self.ax_.plot(points[:, 0], points[:, 1], **style)[0]
