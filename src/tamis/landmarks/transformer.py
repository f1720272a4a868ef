"""LandmarkTransformer: samples described by their distances to a few landmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tamis._base import RecordMixin, TamisEstimator, encode_labels, steps, validate, with_callbacks
from tamis.landmarks._parameters import as_rows, make_configuration
from tamis.landmarks.model import apply_map, train_map
from tamis.landmarks.record import read_transformer, write_transformer
from tamis.landmarks.space import SPARSE_SCALINGS
from tamis.paths.seeds import as_seed


class LandmarkTransformer(
    RecordMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, TamisEstimator
):
    r"""Map samples to kernels of their distances to a few landmarks.

    .. math:: x \mapsto (f(d(x, c_1)), \dots, f(d(x, c_K)))

    with landmarks :math:`c_1, \dots, c_K` chosen from the data, a distance d, and a kernel f
    whose width is, for each landmark, the largest distance from it to a training row of its
    region: Sections 3.1 and 3.3 of [1]_.

    Parameters
    ----------
    landmarks : {"fft", "kmeans", "density", "random"} or array-like, default="fft"
        How landmarks are chosen: farthest-first traversal, k-means, density nets, at random. Or
        the landmarks themselves: an array with one row per landmark, in the units of X, or the
        indices of training rows.
    n_landmarks : int or None, default=None
        Number of landmarks, at most the number of rows. None: 16, or the number of given
        landmarks.
    kind : {"centers", "centroids"} or None, default=None
        Rows of the data, or means of their regions. None: centroids for k-means, otherwise
        centers.
    distance : {"euclidean", "angle"}, default="euclidean"
        Distance, also for choosing landmarks.
    kernel : {"linear", "gaussian", "sigmoid", "cauchy"}, default="cauchy"
        Eqs. (1) to (4): d, exp(-d / sigma), 1 / (1 + exp(sigma - d)), 1 / (1 + d / sigma).
    per_class : bool, default=False
        Whether landmarks are chosen in each class separately, the same number of each; needs y.
    scaling : {"standard", "minmax", "quantile", "yeo-johnson"} or None, default=None
        Scaling of the features before anything else. Sparse X: None or "standard", which then
        does not center.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampler.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks_, n_features_in_)
        Landmarks, in the units after scaling; for centroids with angles, means of unit rows.
    rows_ : ndarray of int of shape (n_landmarks_,)
        The training row of each landmark; for centroids, the nearest one.
    sigma_ : ndarray of shape (n_landmarks_,)
        Radii of the landmarks' regions.
    n_landmarks_ : int
        Number of landmarks.
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
    >>> from tamis import LandmarkTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> LandmarkTransformer("fft", 4, random_state=0).fit(X).transform(X[:2]).round(2)
    array([[0.74, 0.22, 0.31, 0.28],
           [0.82, 0.22, 0.32, 0.27]])
    >>> LandmarkTransformer([0, 50, 100], kernel="linear").fit(X).transform(X[:2]).round(2)
    array([[0.  , 4.  , 5.28],
           [0.54, 4.1 , 5.34]])
    """

    _write_record, _read_record = write_transformer, read_transformer
    _is_without_classes = True

    def __init__(
        self,
        landmarks: str | ArrayLike = "fft",
        n_landmarks: int | None = None,
        *,
        kind: str | None = None,
        distance: str = "euclidean",
        kernel: str = "cauchy",
        per_class: bool = False,
        scaling: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.kind = kind
        self.distance = distance
        self.kernel = kernel
        self.per_class = per_class
        self.scaling = scaling
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.scaling in SPARSE_SCALINGS
        tags.target_tags.required = bool(self.per_class)
        return tags

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> LandmarkTransformer:
        """Choose the landmarks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,), default=None
            Labels; needed with `per_class`, otherwise ignored.

        Returns
        -------
        self : LandmarkTransformer
        """
        self._fit(X, y)
        return self

    def _fit(self, X, y):
        """Fit, and return the map of the training rows."""
        codes = None
        if self.per_class:
            if y is None:
                raise ValueError(
                    "LandmarkTransformer(per_class=True) requires y to be passed, but the target "
                    "y is None: landmarks are chosen per class."
                )
            X, y = validate(self, X, y, accept_sparse="csr", dtype=np.float64)
            _, codes = encode_labels(y)
        else:
            X = validate(self, X, accept_sparse="csr", dtype=np.float64)
        X = as_rows(X)
        configuration, given = make_configuration(self, X)
        seed = as_seed(self.random_state)
        for _ in steps(self, ["landmarks"], X=X, y=y):
            self._map, Z = train_map(configuration, X, codes, seed, given)
        self.landmarks_ = self._map["points"]
        self.rows_ = self._map["rows"]
        self.sigma_ = self._map["sigma"]
        self.n_landmarks_ = int(self.sigma_.size)
        return Z

    @with_callbacks
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.float64]:
        """Choose the landmarks and map the training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,), default=None
            Labels; needed with `per_class`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_landmarks_)
        """
        return self._fit(X, y)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Map samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_landmarks_)
        """
        check_is_fitted(self, "sigma_")
        X = validate(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return apply_map(self._map, as_rows(X, is_new=True))

    @property
    def _n_features_out(self):
        return self.n_landmarks_
