"""Which samples are asked for which features, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis.inspection._style import (
    COLORS,
    Display,
    feature_labels,
    make_axes,
    n_fitting,
    note_left_out,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class AcquisitionDisplay(Display):
    """Who is asked what, in which order: one row per sample, one column per feature.

    Samples with few questions come first, the same questions next to each other. Features that
    are asked for early and often come first.

    Parameters
    ----------
    order : ndarray of int of shape (n_samples, n_features)
        1 for the feature that the sample is asked for first, 2 for the second, and so on; 0 where
        it is not asked.
    feature_names : array-like of str
        Names of the features, or feature groups.
    rows : ndarray of int of shape (n_samples,)
        Place of each sample in the data.
    n_left_out : int, default=0
        Number of less frequent features that are not shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib AxesImage

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import DatumWiseClassifier
    >>> from tamis.inspection import AcquisitionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DatumWiseClassifier(random_state=0).fit(X, y)
    >>> display = AcquisitionDisplay.from_estimator(model, X)
    >>> n_questions = (display.order > 0).sum(axis=1)
    >>> bool((n_questions == sorted(n_questions)).all())
    True
    """

    order: NDArray
    feature_names: Sequence[str]
    rows: NDArray
    _: KW_ONLY
    n_left_out: int = 0

    def __post_init__(self) -> None:
        self.feature_names = np.asarray(self.feature_names).tolist()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        known: ArrayLike | None = None,
        max_features: int = 30,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> AcquisitionDisplay:
        """The questions of a datum-wise classifier.

        Parameters
        ----------
        estimator : DatumWiseClassifier or DatumWiseClassifierCV
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        known : array-like of bool of shape (n_samples, n_features), default=None
            Values that are known from the start.
        max_features : int, default=30
            Largest number of features to show.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            For the image.

        Returns
        -------
        display : AcquisitionDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "acquire"):
            raise TypeError(
                f"AcquisitionDisplay needs a DatumWiseClassifier, got {type(estimator).__name__}."
            )
        asked, names = estimator.acquire(X, known).order, np.asarray(estimator.process_.names)
        rows, steps = np.nonzero(asked >= 0)
        order = np.zeros((len(asked), names.size), dtype=np.intp)
        order[rows, asked[rows, steps]] = steps + 1
        # Early and often: the sum over samples of the inverse of the place.
        weight = np.where(order > 0, 1 / np.maximum(order, 1), 0.0).sum(axis=0)
        columns = np.argsort(-weight, kind="stable")[: np.count_nonzero(weight)]
        order = order[:, columns]
        rank = np.where(order > 0, order, order.max(initial=0) + 1)
        by = np.lexsort((*rank.T[::-1], (order > 0).sum(axis=1)))
        display = cls(
            order[by, :max_features],
            names[columns[:max_features]].tolist(),
            by,
            n_left_out=max(0, columns.size - max_features),
        )
        return display.plot(ax, **kwargs)

    def _plot(self, ax, kwargs):
        """Draw the questions."""
        require_matplotlib(type(self).__name__)
        from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
        from matplotlib.ticker import MaxNLocator

        self.ax_, self.figure_ = make_axes(type(self).__name__, ax, (6.4, 4.8))
        n_rows, n_features = self.order.shape
        n_shown = min(n_features, n_fitting(self.ax_, "x"))
        feature_labels(self.ax_, "x", self.feature_names[:n_shown])
        note_left_out(self.ax_, self.n_left_out + n_features - n_shown)
        most = max(2, int(self.order.max(initial=0)))
        # Blue to orange: lighter from question to question, on white and on black.
        colors = LinearSegmentedColormap.from_list("questions", [COLORS[0], COLORS[4]], most)
        norm = BoundaryNorm(np.arange(0.5, most + 1), most)
        asked = np.ma.masked_equal(self.order[:, :n_shown], 0)
        extent = (-0.5, max(n_shown, 1) - 0.5, max(n_rows, 1) - 0.5, -0.5)
        style: dict[str, Any] = {"cmap": colors, "norm": norm, "aspect": "auto", "extent": extent}
        self.image_ = self.ax_.imshow(asked, **style | {"interpolation": "nearest"} | kwargs)
        bar = self.figure_.colorbar(
            self.image_, ax=self.ax_, ticks=MaxNLocator(nbins=8, integer=True)
        )
        bar.set_label("order of the question")
        bar.minorticks_off()
        self.ax_.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
        self.ax_.set_ylabel("samples")
