"""LandmarkClassifier: a simple classifier on distances to a few landmarks."""

from sklearn.utils.validation import check_is_fitted

from tamis._base import check_class_weight, steps, with_callbacks
from tamis.landmarks._fitted import FittedLandmarks, find_nearest
from tamis.landmarks._parameters import make_configuration
from tamis.landmarks.model import model_decisions, model_shares, train_model
from tamis.paths.seeds import as_seed

__all__ = ["LandmarkClassifier"]


class LandmarkClassifier(FittedLandmarks):
    """Naive Bayes, nearest neighbours or a linear classifier on a landmark map.

    One configuration of [1]_: samples become kernels of their distances to a few landmarks
    (`LandmarkTransformer`), and a simple classifier is trained on these.

    Parameters
    ----------
    landmarks : {"fft", "kmeans", "density", "random"} or array-like, default="fft"
        How landmarks are chosen, or the landmarks themselves: an array with one a row, or
        indices of training rows.
    n_landmarks : int or None, default=None
        How many; more than there are rows: all rows. None: 16, or as many as are given.
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
        Whether landmarks are chosen in every class by itself, the same number of each.
    scaling : {"standard", "minmax", "quantile", "yeo-johnson"} or None, default=None
        Scaling of the features before anything else.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes: they multiply the priors of naive Bayes, the votes of neighbours,
        the rows of a regression. "balanced" gives all classes the same say. A single neighbour
        cannot honour them.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampler.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    landmarks_ : ndarray of shape (n_landmarks_, n_features_in_)
        Landmarks, in the units after scaling.
    rows_ : ndarray of int of shape (n_landmarks_,)
        The training row that each landmark is; for centroids, the nearest one.
    sigma_ : ndarray of shape (n_landmarks_,)
        Radii of the landmarks' regions.
    n_landmarks_ : int
        How many landmarks there are.
    model_ : dict
        The whole model, as arrays, numbers and strings.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when they have names that are strings.

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

    def __init__(
        self,
        landmarks="fft",
        n_landmarks=None,
        *,
        kind=None,
        distance="euclidean",
        kernel="cauchy",
        classifier="nb",
        n_neighbors=None,
        weights=None,
        metric=None,
        regularization=None,
        per_class=False,
        scaling=None,
        class_weight=None,
        random_state=None,
    ):
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
    def fit(self, X, y):
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
            self.model_ = train_model(
                configuration, X, codes, n_classes, seed, class_weight, given
            )
        landmarks = self.model_["map"]
        self.landmarks_ = landmarks["points"]
        self.rows_ = landmarks["rows"]
        self.sigma_ = landmarks["sigma"]
        self.n_landmarks_ = int(self.sigma_.size)
        self._row_codes = codes[self.rows_]
        return self

    def _decide(self, X):
        return model_decisions(self.model_, X)

    def _shares(self, X):
        return model_shares(self.model_, X)

    def explain(self, X, n_nearest=3):
        """The landmarks that every sample is nearest to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        n_nearest : int, default=3
            How many landmarks.

        Returns
        -------
        explanation : NearestLandmarks
            Training rows, their labels, and distances.
        """
        check_is_fitted(self, "model_")
        labels = self.classes_[self._row_codes]
        return find_nearest(self.model_["map"], self._check_X(X), labels, n_nearest)
