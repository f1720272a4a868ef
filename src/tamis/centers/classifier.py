"""SparseCenterClassifier: class centers that differ in at most k features."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from tamis._array import is_sparse
from tamis._base import decode_labels, resolve_n_features, steps, with_callbacks
from tamis._passes import LocalChunks
from tamis.centers._fitted import FittedCenters
from tamis.centers.chunks import train_passes
from tamis.centers.model import CenterModel
from tamis.centers.path import CentersPath, check_levels
from tamis.centers.statistics import ClassMoments, summarise

_FIRST_CALL = " Name all classes in the first call: partial_fit(X, y, classes=...)."
_PARAMETERS = ("metric", "scaling", "covariance", "priors", "feature_groups", "keep")
_DESCRIPTIONS = ("n_features_in_", "feature_names_in_", "_group_of", "_kept", "_weight_unit")


def _can_learn_online(estimator):
    if estimator.metric == "l1":
        raise AttributeError(
            "SparseCenterClassifier(metric='l1') has no partial_fit: medians need all data at "
            "once. Call fit on all data, or use metric='l2'."
        )
    if estimator.covariance is not None:
        raise AttributeError(
            f"SparseCenterClassifier(covariance={estimator.covariance!r}) has no partial_fit: the "
            "covariance needs all data at once. Call fit on all data, or use covariance=None."
        )
    return True


class SparseCenterClassifier(FittedCenters):
    r"""Nearest-centroid classifier whose class centroids differ in at most k features.

    Trains the centroids :math:`\theta_c` of the classes (here called *centers*) exactly,

    .. math:: \min_\theta \sum_c \frac1{W_c} \sum_{j \in c} w_j \|x_j - \theta_c\|
       \quad \text{where the } \theta_c \text{ differ in at most } k \text{ features},

    with squared l2 or with l1 distances [1]_. The objective is a sum over features, so the k
    features with the largest gains are the global optimum. One training pass over the data serves
    every k (`fit_path`, `with_n_features`, `path_score`).

    Parameters
    ----------
    n_features_to_select : int, float or None, default=10
        Number of features: a count (at most all), a fraction in (0, 1], or None for all. Features
        that do not separate the centers are never selected. With `feature_groups` it counts
        groups, with `keep` only the others.
    metric : {"l2", "l1"}, default="l2"
        Means and squared Euclidean distances, or medians and absolute distances, which are
        robust to outliers.
    scaling : {"spread", "std", "variance"} or None, default="spread"
        How features are scaled. "spread": each is divided by its total spread in the sense of the
        metric, so that a gain is the proportion of the spread that the classes explain. "std",
        "variance": by those of all rows (the paper's experiments use the variance). None: no
        scaling.
    covariance : {"empirical", "shrunk"} or None, default=None
        Mahalanobis distances (with metric="l2") by the pooled within-class covariance, either
        unchanged or with Ledoit-Wolf shrinkage. The selected features are then transformed ones,
        every feature of X enters them, and `support_` is all true.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Class probabilities that enter the decision.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are selected together and count as one: a dict from names to features (names
        or indices), a list of such lists, or one label per feature. Every feature is in one group.
        The gain of a group is the sum of the gains of its features, so the k best groups are the
        global optimum too. Requires covariance=None.
    keep : str, int, list of them or None, default=None
        Features (names or indices) that are always selected, with their group, or names of groups.
        `n_features_to_select` does not count them. Requires covariance=None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the selected features.
    n_features_ : int
        Number of selected features; with a covariance, of transformed ones.
    n_groups_ : int
        Number of groups that they belong to; without groups, the number of features.
    gains_ : ndarray of shape (n_features_in_,)
        How much the objective would increase without the feature, on the scaled data; exactly 0 if
        it would not.
    feature_order_ : ndarray of shape (n_features_in_,)
        Feature indices, best first. With groups, the features of the best group come first, after
        the kept ones.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Gains of the selected features, 0 for the others.
    coef_ : ndarray of shape (1, n_features_in_) or (n_classes, n_features_in_)
        Coefficients of `decision_function` in the units of X; only with metric="l2".
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Its intercepts; only with metric="l2".
    group_of_ : ndarray of shape (n_features_in_,)
        Index of each feature's group, in the order in which `feature_groups` has them.
    group_gains_ : ndarray of shape (n_groups,)
        Sum of the gains of each group.
    centers_ : ndarray of shape (n_classes, n_features_in_)
        Class centers in the units of X; they differ only on the support.
    class_centers_ : ndarray of shape (n_classes, n_features_in_)
        Means or medians of the classes, for all features.
    common_center_ : ndarray of shape (n_features_in_,)
        The center that the classes share outside the support.
    scale_ : ndarray of shape (n_features_in_,)
        Divisors of the features; 1 for constant features.
    objective_ : float
        The minimum, on the scaled data.
    dispersion_ : float
        Within-class dispersion over the support, which sets the scale of the probabilities.
    class_prior_, class_count_ : ndarray of shape (n_classes,)
        Priors, and sums of sample weights.
    temperature_ : float
        Divisor of the decisions; 1 here, calibrated in `SparseCenterClassifierCV`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    References
    ----------
    .. [1] Calafiore and Fracastoro, "Sparse l1 and l2 Center Classifiers", arXiv 1911.07320.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import SparseCenterClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = SparseCenterClassifier(n_features_to_select=3).fit(data.data, data.target)
    >>> model.get_feature_names_out().tolist()
    ['mean concave points', 'worst perimeter', 'worst concave points']
    >>> round(model.score(data.data, data.target), 3)
    0.944
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 10,
        *,
        metric: str = "l2",
        scaling: str | None = "spread",
        covariance: str | None = None,
        priors: str | ArrayLike = "uniform",
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        keep: ArrayLike | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.metric = metric
        self.scaling = scaling
        self.covariance = covariance
        self.priors = priors
        self.feature_groups = feature_groups
        self.keep = keep

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SparseCenterClassifier:
        """Train on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights: counts if all are whole numbers (2 is the row twice), otherwise
            relative, scaled to sum to the number of rows with positive weight.

        Returns
        -------
        self : SparseCenterClassifier
        """
        X, codes, sample_weight = self._validate(X, y, sample_weight)
        k = resolve_n_features(self.n_features_to_select, self._n_choices)
        for _ in steps(self, ["centers"], X=X, y=y):
            self._keep(self._train(X, codes, sample_weight), k, self.n_features_to_select)
            self._n_rows = X.shape[0]
        return self

    def fit_chunks(
        self,
        chunks: Iterable[tuple] | Callable[[], Iterable[tuple]],
        classes: ArrayLike | None = None,
        *,
        max_bytes: float = 2e8,
    ) -> SparseCenterClassifier:
        """Train on chunks of rows, of which only one is in memory at a time.

        The result is that of `fit` on all rows: means to rounding, medians exactly. Summaries of
        chunks are merged in a fixed order, so it does not depend on when a chunk is read.

        Parameters
        ----------
        chunks : iterable of tuples (X, y) or (X, y, sample_weight), or callable
            Chunks of rows as `fit` takes them, dense or sparse. A callable returns such an
            iterable. With metric="l1" the chunks are read several times, so an iterator that can
            be read only once is not enough.
        classes : array-like of shape (n_classes,), default=None
            All classes; None: those that occur.
        max_bytes : float, default=2e8
            With metric="l1": memory for counts of digits. With less, chunks are read more often.

        Returns
        -------
        self : SparseCenterClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from tamis import SparseCenterClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> parts = [slice(start, start + 100) for start in range(0, 569, 100)]
        >>> chunks = [(X[rows], y[rows]) for rows in parts]
        >>> model = SparseCenterClassifier(3, metric="l1").fit_chunks(chunks)
        >>> whole = SparseCenterClassifier(3, metric="l1").fit(X, y)
        >>> bool((model.centers_ == whole.centers_).all())
        True
        """
        if self.covariance is not None:
            raise ValueError(
                f"covariance={self.covariance!r} needs all data at once. Call fit, or use "
                "covariance=None."
            )
        passes = LocalChunks(chunks, is_read_again=self.metric == "l1")
        train_passes(self, passes, classes, max_bytes)
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        levels: ArrayLike | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CentersPath:
        """Train classifiers with many numbers of features at once.

        The estimator itself is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        levels : array-like of int, int or None, default=None
            Numbers of features, or groups. An integer: that many levels, geometrically spaced.
            None: every number of features for dense data; a few hundred of them, geometrically
            spaced beyond the first 128, for sparse data.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights: counts if all are whole numbers (2 is the row twice), otherwise
            relative, scaled to sum to the number of rows with positive weight.

        Returns
        -------
        path : CentersPath
            `path.levels` are numbers of features, ascending; `path.model(i)` is the fitted
            classifier of a level.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamis import SparseCenterClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = SparseCenterClassifier().fit_path(X, y)
        >>> path.levels.tolist()
        [1, 2, 3, 4]
        >>> path.features(1).tolist()
        [2, 3]
        >>> round(path.model(1).score(X, y), 3)
        0.96
        """
        trainer = clone(self)
        X, codes, sample_weight = trainer._validate(X, y, sample_weight)
        levels = check_levels(levels, trainer._n_choices, many=not is_sparse(X))
        model = trainer._train(X, codes, sample_weight)
        return make_path(trainer, model, levels, trainer.classes_, X.shape[0])

    def _fit_path(self, X, codes, levels=None, sample_weight=None, n_classes=None):
        """`fit_path` without validation: class indices instead of labels, also as `classes`."""
        n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
        trainer = copy.copy(self)
        trainer.n_features_in_, trainer.classes_ = X.shape[1], np.arange(n_classes)
        trainer._set_groups()
        levels = check_levels(levels, trainer._n_choices, many=not is_sparse(X))
        model = trainer._train(X, codes, sample_weight)
        return make_path(trainer, model, levels, trainer.classes_, X.shape[0])

    @available_if(_can_learn_online)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SparseCenterClassifier:
        """Continue training with more data; the result is that of `fit` on all data, to rounding.

        Memory does not grow with the number of samples. The first chunk determines the features;
        the order of the chunks does not matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More samples, dense or sparse.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes; needed in the first call if a later chunk has classes that the first does
            not have.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, used as they are: a stream has no total, and centers depend on
            ratios only. So all calls, and a `fit` before them, share one scale.

        Returns
        -------
        self : SparseCenterClassifier
        """
        first = "support_" not in vars(self)
        if not first and (self._metric != "l2" or self._whitening is not None):
            raise ValueError(
                "partial_fit cannot continue a fit with medians or a covariance. Call fit with "
                "metric='l2' and covariance=None first, or start with a new classifier."
            )
        known = None if first else self.classes_
        if classes is not None:
            named = np.unique(column_or_1d(decode_labels(classes)))
            if known is not None and not np.array_equal(known, named):
                raise ValueError(
                    f"classes={named.tolist()} differs from the first call's {known.tolist()}. "
                    "Name all classes in the first call, or call fit to start again."
                )
            known = named
        X, codes, sample_weight = self._validate(
            X, y, sample_weight, reset=first, classes=known, is_part=True, advice=_FIRST_CALL
        )
        self._weight_unit = 1.0 if first else getattr(self, "_weight_unit", 1.0)
        if sample_weight is not None and self._weight_unit != 1:
            sample_weight = sample_weight / self._weight_unit
        k = resolve_n_features(self.n_features_to_select, self._n_choices)
        moments = summarise(X, codes, len(self.classes_), sample_weight)
        if not first:
            seen = ClassMoments(
                self.class_count_,
                self._offset,
                self._class_centers,
                self._dispersion,
                self._n_rows,
                self._statistics.unit,
            )
            moments = seen.merge(moments)
        if not moments.weight.any():
            raise ValueError("All samples so far have zero weight: give some of them weight.")
        self._keep(self._train_moments(moments), k)
        self._n_rows = moments.n_rows
        return self


def make_path(
    estimator: FittedCenters, model: CenterModel, levels: NDArray, classes: NDArray, n_rows: int
) -> CentersPath:
    """Make the path of a trained model."""
    parameters = {name: getattr(estimator, name) for name in _PARAMETERS}
    template = SparseCenterClassifier(**parameters)
    for name in _DESCRIPTIONS:
        if name in vars(estimator):
            setattr(template, name, getattr(estimator, name))
    template._n_rows = n_rows
    return CentersPath(model, levels, classes, template)
