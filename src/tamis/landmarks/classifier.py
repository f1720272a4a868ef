"""LandmarkClassifier: a simple classifier on distances to a few landmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis._base import check_class_weight, steps, with_callbacks
from tamis.landmarks._fitted import FittedLandmarks, NearestLandmarks, find_nearest
from tamis.landmarks._parameters import as_rows, find_kind, make_configuration
from tamis.landmarks.importances import deal_folds, measure_importances
from tamis.landmarks.model import model_decisions, model_shares, train_model, train_models
from tamis.landmarks.path import LandmarkPath, check_levels, double_up_to
from tamis.landmarks.record import read_classifier, write_classifier
from tamis.paths.seeds import as_seed

# Landmarks of the fullest level of a path, unless levels are given.
_MOST_LANDMARKS = 64


class LandmarkClassifier(FittedLandmarks):
    """Naive Bayes, nearest neighbours or a linear classifier on a landmark map.

    One configuration of [1]_: samples become kernels of their distances to a few landmarks
    (`LandmarkTransformer`), and a simple classifier is trained on these.

    Parameters
    ----------
    landmarks : {"fft", "kmeans", "density", "random"} or array-like, default="fft"
        How landmarks are chosen, or the landmarks themselves: an array with one row per
        landmark, or indices of training rows.
    n_landmarks : int or None, default=None
        Number of landmarks, at most the number of rows. None: 16, or the number of given
        landmarks.
    kind : {"centers", "centroids"} or None, default=None
        Rows of the data, or means of their regions. None: centroids for k-means, else centers.
    distance : {"euclidean", "angle"}, default="euclidean"
        Distance to the landmarks.
    kernel : {"linear", "gaussian", "sigmoid", "cauchy"}, default="cauchy"
        Kernel of the distance, eqs. (1) to (4).
    classifier : {"nb", "knn", "ridge", "lda"}, default="nb"
        Gaussian naive Bayes, nearest neighbours, ridge regression of the classes, or penalised
        linear discriminant analysis.
    n_neighbors : int or None, default=None
        Number of neighbours, 1 to 64; None: 5. With "knn" only.
    weights : {"uniform", "distance"} or None, default=None
        Votes of neighbours; "distance" is 1 / d. None: "uniform". With "knn" only.
    metric : {"euclidean", "angle"} or None, default=None
        Distance between maps. None: "euclidean". With "knn" only.
    regularization : float or None, default=None
        Strength of the ridge; None: the best by leave-one-out. With "ridge" and "lda" only.
    per_class : bool, default=False
        Whether landmarks are chosen in each class separately, the same number of each.
    scaling : {"standard", "minmax", "quantile", "yeo-johnson"} or None, default=None
        Scaling of the features before anything else.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes: they multiply the priors of naive Bayes, the votes of neighbours,
        the rows of a regression. "balanced" gives all classes equal weight. They have no effect
        with a single neighbour.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampler.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    landmarks_ : ndarray of shape (n_landmarks_, n_features_in_)
        Landmarks, in the units after scaling.
    rows_ : ndarray of int of shape (n_landmarks_,)
        The training row of each landmark; for centroids, the nearest one.
    sigma_ : ndarray of shape (n_landmarks_,)
        Radii of the landmarks' regions.
    n_landmarks_ : int
        Number of landmarks.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Drop in balanced accuracy when the feature is permuted among rows that were not used for
        training: three stratified folds of at most 3,000 rows. 0 if the score does not drop.
    feature_order_ : ndarray of int of shape (n_features_in_,)
        Features by importance.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the features in use: all of them.
    model_ : dict
        The whole model, as arrays, numbers and strings.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    References
    ----------
    .. [1] Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
       transformations and model selection", arXiv 1907.06258.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LandmarkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LandmarkClassifier("fft", 8, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.967
    >>> model.explain(X[:2], n_nearest=2).rows.tolist()  # training rows
    [[47, 15], [47, 15]]
    """

    _fitted_attribute = "model_"
    _write_record, _read_record = write_classifier, read_classifier

    def __init__(
        self,
        landmarks: str | ArrayLike = "fft",
        n_landmarks: int | None = None,
        *,
        kind: str | None = None,
        distance: str = "euclidean",
        kernel: str = "cauchy",
        classifier: str = "nb",
        n_neighbors: int | None = None,
        weights: str | None = None,
        metric: str | None = None,
        regularization: float | None = None,
        per_class: bool = False,
        scaling: str | None = None,
        class_weight: str | dict | None = "balanced",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.kind = kind
        self.distance = distance
        self.kernel = kernel
        self.classifier = classifier
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.regularization = regularization
        self.per_class = per_class
        self.scaling = scaling
        self.class_weight = class_weight
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike) -> LandmarkClassifier:
        """Choose the landmarks and train the classifier on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.

        Returns
        -------
        self : LandmarkClassifier
        """
        X, codes = self._validate(X, y)
        class_weight = check_class_weight(self.class_weight, self.classes_)
        configuration, given = make_configuration(self, X)
        seed = as_seed(self.random_state)
        n_classes = len(self.classes_)
        for _ in steps(self, ["model"], X=X, y=y):
            model = train_model(configuration, X, codes, n_classes, seed, class_weight, given)
        self._set_model(model, codes)
        self.feature_importances_ = measure_importances(
            configuration, X, codes, deal_folds(codes), class_weight, n_classes, seed, given
        )
        return self

    def fit_path(
        self, X: ArrayLike, y: ArrayLike, levels: ArrayLike | None = None
    ) -> LandmarkPath:
        """Train classifiers with increasing numbers of landmarks; `self` is not changed.

        Each level equals the result of `fit` with that number of landmarks. The levels share the
        scaled rows, the order of the landmarks and, for "fft", "random" and given landmarks, their
        distances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        levels : list of int or None, default=None
            Numbers of landmarks. None: 4, 8, 16, 32 and 64, or 4, 8, ... up to all given
            landmarks.

        Returns
        -------
        path : LandmarkPath
        """
        fitted = clone(self)
        X, codes = fitted._validate(X, y)
        return fitted._fit_path(X, codes, fitted.classes_, levels)

    def _fit_path(self, X, codes, classes, levels=None) -> LandmarkPath:
        """Train a path from validated rows and class indices."""
        X = as_rows(X)
        class_weight = check_class_weight(self.class_weight, classes)
        configuration, given = make_configuration(self, X)
        most = X.shape[0] if given is None else given.shape[0]
        if levels is None:
            levels = double_up_to(min(most, _MOST_LANDMARKS) if given is None else most, 4)
        else:
            levels = check_levels(levels, most, "numbers of landmarks")
        seed, n_classes = as_seed(self.random_state), len(classes)
        models = list(
            train_models(configuration, levels, X, codes, n_classes, seed, class_weight, given)
        )

        def build(level, model):
            one = clone(self).set_params(n_landmarks=level)
            if given is not None:
                one.set_params(landmarks=given[:level])
            one.classes_, one.n_features_in_ = classes, X.shape[1]
            if hasattr(self, "feature_names_in_"):
                one.feature_names_in_ = self.feature_names_in_
            one._set_model(model, codes)
            some = given if given is None else given[:level]
            one.feature_importances_ = measure_importances(
                replace(configuration, n_landmarks=level),
                X,
                codes,
                deal_folds(codes),
                class_weight,
                n_classes,
                seed,
                some,
            )
            return one

        return LandmarkPath(levels, models, classes, X.shape[1], build)

    def _set_model(self, model, codes):
        landmarks = model["map"]
        self.model_ = model
        self.landmarks_ = landmarks["points"]
        self.rows_ = landmarks["rows"]
        self.sigma_ = landmarks["sigma"]
        self.n_landmarks_ = int(self.sigma_.size)
        self._row_codes = codes[self.rows_]

    def _decide(self, X):
        return model_decisions(self.model_, X)

    def _shares(self, X):
        return model_shares(self.model_, X)

    def explain(self, X: ArrayLike, n_nearest: int = 3) -> NearestLandmarks:
        """The nearest landmarks of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        n_nearest : int, default=3
            Number of landmarks.

        Returns
        -------
        explanation : NearestLandmarks
            Training rows, their labels, and distances.
        """
        check_is_fitted(self, "model_")
        labels, kind = self.classes_[self._row_codes], find_kind(self.landmarks, self.kind)
        return find_nearest(self.model_["map"], self._check_X(X), labels, n_nearest, kind)
