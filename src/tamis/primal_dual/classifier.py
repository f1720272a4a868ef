"""PrimalDualClassifier: a projection in a structured ball, and a head to classify by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tamis._array import dense_columns
from tamis._base import check_device, resolve_n_features, send_to_device, steps, with_callbacks
from tamis._passes import LocalChunks
from tamis.primal_dual._fitted import FittedPrimalDual
from tamis.primal_dual._parameters import check_radii, check_radius
from tamis.primal_dual.head import fit_head
from tamis.primal_dual.history import History
from tamis.primal_dual.paper import algorithm_1
from tamis.primal_dual.partitioned import train_passes
from tamis.primal_dual.path import PrimalDualPath
from tamis.primal_dual.radii import CRISP, path_of
from tamis.primal_dual.records import record_of
from tamis.primal_dual.solver import resume, solve

_ALGORITHMS = ("fast", "paper")
_PAPER_ITERATIONS = 30
_DEFAULT_LEVELS = 20


class PrimalDualClassifier(FittedPrimalDual):
    r"""Classifier by a sparse projection and adaptive centers, with a certificate.

    .. math:: \min_{W, \mu} \sum_i s_i h((Y \mu - X W)_i) + \frac{\rho}{2} \|I - \mu\|_F^2
              \quad\text{with}\quad \|W\| \le \eta

    X is the standardized data, Y the indicator of the classes. W selects the features, and a
    linear `head` trained on these features decides; in the paper, a sample belongs to the class
    whose center (row of mu) is nearest to its projection. The duality gap bounds the distance of
    the objective from the optimum [1]_.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the ball, :math:`\eta > 0`; smaller values select fewer features.
    ball : {"l1", "l21", "l12", "nuclear"}, default="l1"
        Norm of W. "l1" selects entries and thereby features, "l21" features for all classes
        together. "l12" makes the classes compete for each feature and "nuclear" lowers the rank:
        both use all features.
    loss : {"huber", "l1", "frobenius"}, default="huber"
        Huber's loss, absolute values, or half the squares.
    huber_delta : float, default=0.25
        Residual where Huber's loss turns from quadratic to linear; 0 is the l1 loss.
    rho : float or "auto", default="auto"
        How strongly the centers are held to I. "auto" is twice the mean (weighted) size of a
        class; much less lets the centers, and W, collapse to 0.
    adaptive_centers : bool, default=True
        False fixes the centers at I.
    standardize : bool, default=True
        Center each feature by the mean of its class means and divide it by its class-balanced
        standard deviation; sparse data stay sparse. False uses X unchanged.
    feature_weights : array-like of shape (n_features,) or None, default=None
        Positive numbers that the standardized features are multiplied by (those of X with
        ``standardize=False``). A feature of weight 10 uses a tenth of the radius, so it enters
        sooner.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes in the loss and in the head. "balanced" gives all classes equal
        weight.
    head : {"auto", "lda", "logistic", "projection"}, default="auto"
        What decides, given the selected features. "lda": linear discriminant analysis with
        shrinkage. "logistic": ridge-logistic regression. "projection": the nearest center of the
        projection, as in [1]_. "auto" is "lda" for two classes and "logistic" for more; with more
        than 1,000 selected features, or more than 50 million values in them, it is "projection",
        because the other heads need the selected columns of sparse data as a dense array. The
        head changes neither W nor the certificate.
    tol : float, default=1e-4
        Relative duality gap to stop at: the gap divided by the objective at W = 0.
    max_iter : int or None, default=None
        Largest number of iterations; None is 20,000, and 30 for the paper's algorithm.
    warm_start : bool, default=False
        Start from the solution of the last fit if it has the same features and classes.
    algorithm : {"fast", "paper"}, default="fast"
        "fast" stops at `tol`. "paper" is Algorithm 1 of [1]_ as printed, for `max_iter`
        iterations whatever the gap, for reproduction.
    device : str or None, default=None
        Where to compute, by a name of torch such as "cuda": X, which must be dense, is copied
        there. None: where X is. That is a device only for arrays of torch, or another library of
        the array API, with ``sklearn.set_config(array_api_dispatch=True)``; predictions for such
        arrays are of their kind. Coefficients are always arrays of numpy.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    weights_ : ndarray of shape (n_features_in_, n_classes)
        W, for standardized features.
    centers_ : ndarray of shape (n_classes, n_classes)
        mu, one row per class.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the features with a non-zero row in W.
    n_features_ : int
        Number of these features.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Length of each feature's coefficients in the head, or of each row of W.
    feature_order_ : ndarray of int of shape (n_features_in_,)
        All features, the most important first.
    coef_, intercept_ : ndarray
        Coefficients of the decisions in the units of X, of shape (1, n_features_in_) for two
        classes. The projection has them with ``loss="frobenius"`` only.
    head_ : {"lda", "logistic", "projection"}
        The head that is used.
    dual_ : ndarray of shape (n_samples, n_classes)
        The dual point Z that certifies the gap.
    objective_, gap_ : float
        The objective, and an upper bound of its distance from the optimum.
    relative_gap_ : float
        The gap in units of the objective at W = 0 with its best centers.
    rho_ : float or None
        The rho that was used; None for fixed centers.
    class_weight_ : ndarray of shape (n_classes,)
        The weights of the classes that were used.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        Standardization: ``(X - mean_) / scale_``, where `scale_` includes the weights of the
        features. A column that varies by no more than rounding has an infinite scale, so that it
        has no influence.
    dispersion_, temperature_ : float
        Scale of the residuals, by which decisions of the projection are divided, and the
        temperature, here 1.
    n_iter_ : int
        Iterations.
    history_ : dict of ndarray
        "n_iter", "objective", "relative_gap", "n_features" and "seconds" along the fit.
    n_features_in_, feature_names_in_
        Number of features seen in `fit`, and their names if these are strings.

    References
    ----------
    .. [1] Barlaud, Chambolle and Caillau, "Classification and feature selection using a
       primal-dual method and projection on structured constraints", arXiv 1902.01600.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PrimalDualClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = PrimalDualClassifier(radius=0.5, tol=1e-8).fit(data.data, data.target)
    >>> model.get_feature_names_out().tolist()
    ['mean radius', 'mean concave points', 'worst radius', 'worst texture', 'worst concave points']
    >>> model.relative_gap_ <= 1e-8
    True
    >>> round(model.score(data.data, data.target), 3)
    0.96
    """

    _on_device = True

    def __init__(
        self,
        radius: float = 1.0,
        *,
        ball: str = "l1",
        loss: str = "huber",
        huber_delta: float = 0.25,
        rho: float | str = "auto",
        adaptive_centers: bool = True,
        standardize: bool = True,
        feature_weights: ArrayLike | None = None,
        class_weight: str | dict | None = "balanced",
        head: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        warm_start: bool = False,
        algorithm: str = "fast",
        device: str | None = None,
    ) -> None:
        self.radius = radius
        self.ball = ball
        self.loss = loss
        self.huber_delta = huber_delta
        self.rho = rho
        self.adaptive_centers = adaptive_centers
        self.standardize = standardize
        self.feature_weights = feature_weights
        self.class_weight = class_weight
        self.head = head
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.algorithm = algorithm
        self.device = device

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PrimalDualClassifier:
        """Find the projection and the centers, and train the head on the selected features.

        An interrupt (Ctrl-C, or a callback that asks to stop) ends the fit early; the classifier
        then has the best solution so far, with its gap and its head.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse unless one value in ten is stored.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights: counts if all are whole numbers (2 is the row twice), otherwise
            relative, scaled to sum to the number of rows with positive weight.

        Returns
        -------
        self : PrimalDualClassifier
        """
        self._check_parameters()
        check_radius("radius", self.radius)
        names = ("classes_", "weights_", "centers_", "dual_")
        earlier = [getattr(self, name, None) for name in names]
        self._forget()
        X, codes, weights = self._validate(X, y, sample_weight)
        X = send_to_device(X, self.device)
        data, self.class_weight_ = self._prepare(X, codes, weights)
        problem = self._problem(data, self.radius)
        max_iter = self._iterations
        if self.algorithm == "paper":
            max_iter = self.max_iter or _PAPER_ITERATIONS
            solutions = algorithm_1(problem, max_iter=max_iter)
        else:
            start = self._start(problem, data, codes.size, *earlier)
            solutions = solve(problem, start, tol=self.tol, max_iter=max_iter)

        history = History()
        solution: Any = None
        try:
            for solution in steps(self, solutions, X=X, y=y):
                history.add(solution, problem.ball.level(solution.pair.primal.W))
        finally:
            # Ctrl-C keeps the best solution so far.
            if solution is not None:
                self._store(data, problem, solution, codes.size)
                self.history_ = history.table()
        if self.algorithm == "fast" and solution.n_iter >= max_iter:
            self._warn_of_gap(solution.relative_gap, max_iter)
        self._warn_of_collapse()
        return self

    def fit_chunks(
        self, chunks: Iterable[tuple] | Callable[[], Iterable[tuple]], *, max_bytes: float = 1e9
    ) -> PrimalDualClassifier:
        """Train on chunks of rows that do not fit into memory together.

        The result is that of `fit` on all rows, to the gap, which is certified on all rows; there
        is no `dual_`. The chunks are usually read three to seven times, but once per iteration if
        the columns in use do not fit into `max_bytes`.

        Parameters
        ----------
        chunks : iterable of tuples (X, y) or (X, y, sample_weight), or callable
            Chunks of rows as `fit` takes them, dense or sparse. A callable returns such an
            iterable; an iterator that can be read only once is not enough.
        max_bytes : float, default=1e9
            Memory for the columns in use; the model does not depend on it. ``loss="l1"`` and the
            heads "lda" and "logistic" raise an error if these columns do not fit.

        Returns
        -------
        self : PrimalDualClassifier
        """
        train_passes(self, LocalChunks(chunks, is_read_again=True), max_bytes)
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        levels: int | ArrayLike | None = None,
        *,
        max_features: int | float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> PrimalDualPath:
        """Train models for many radii, sparsest first, in little more time than one.

        The data are prepared once, and each solution starts from its neighbours; each equals that
        of `fit` with its radius, to `tol`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse unless one value in ten is stored.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        levels : int, array-like of float or None, default=None
            Radii, in any order. An integer chooses about that many from the data, from one feature
            to `max_features` for the balls that select features, and adds at most three quarters
            as many where the number of features jumps by more than one and more than a tenth.
            None means 20.
        max_features : int, float or None, default=None
            End the path before the first model with more features than this: a count or a
            fraction, as `n_features_to_select` of `PrimalDualClassifierCV`. If the radii are
            chosen from the data, the last model comes as close as possible, but a path with as
            many features as samples (at least 100) goes no further. None: the path ends at a
            quarter as many features as samples, at least 100.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        path : PrimalDualPath
            ``path.model(i)`` is a fitted classifier, whose `history_` has only its last row;
            ``path.at_most(counts)`` selects models by their number of features. The estimator
            itself is not changed.
        """
        path = self._fit_path(X, y, levels, max_features, sample_weight)
        self._warn_of_gap(path.gaps.max(), self._iterations, stacklevel=3)
        path.model(len(path) - 1)._warn_of_collapse(stacklevel=3)
        return path

    def _fit_path(self, X, y, levels, max_features, sample_weight, keep_dual=True):
        """`fit_path` without warnings; `dual_`, of the size of the data, is optional."""
        self._check_parameters()
        if self.algorithm == "paper":
            raise ValueError(
                "fit_path needs algorithm='fast'; the paper's algorithm solves one radius."
            )
        levels = _DEFAULT_LEVELS if levels is None else levels
        check_radii(levels, "levels")
        template = clone(self)
        X, codes, weights = template._validate(X, y, sample_weight)
        X = send_to_device(X, self.device)
        if max_features is not None:
            max_features = resolve_n_features(max_features, X.shape[1], "max_features")
            self._require_features(f"max_features={max_features}")
        return template._train_path(X, codes, weights, levels, max_features, keep_dual)

    def _train_path(self, X, codes, weights, levels, max_features, keep_dual):
        """`_fit_path` without validation; this classifier becomes the template of its models."""
        data, self.class_weight_ = self._prepare(X, codes, weights)
        problem = self._problem(data, 1.0)
        self._keep_data(data, problem)
        limits = {"tol": self.tol, "max_iter": self._iterations, "crisp": CRISP}
        radii = check_radii(levels, "levels")
        n_radii = levels if radii is None else None
        records = [
            record_of(
                data,
                level.problem,
                level.solution,
                codes.size,
                keep_dual=keep_dual,
                dispersion=level.dispersion,
            )
            for level in path_of(problem, radii, n_radii, max_features, limits, not keep_dual)
        ]
        data.matrix.forget()

        def retrain(columns):
            part = clone(self)
            part.classes_ = self.classes_
            if self.feature_weights is not None:
                part.feature_weights = np.asarray(self.feature_weights)[columns]
            last = part._train_path(
                dense_columns(X, columns), codes, weights, 5, columns.size, keep_dual
            )
            record = last._with_head(last._records[-1])
            return {**record, "selected": columns[record["selected"]]}

        radii = [record["radius"] for record in records]
        return PrimalDualPath(
            self,
            records,
            radii,
            self.classes_,
            retrain,
            lambda selected: fit_head(self.head, data, self.class_weight_, selected),
        )

    def _check_parameters(self):
        super()._check_parameters()
        if self.algorithm not in _ALGORITHMS:
            raise ValueError(f"algorithm must be 'fast' or 'paper', got {self.algorithm!r}.")
        check_device(self.device)
        if not isinstance(self.warm_start, bool | np.bool_):
            raise ValueError(f"warm_start must be True or False, got {self.warm_start!r}.")
        if self.warm_start and self.algorithm == "paper":
            raise ValueError(
                "warm_start=True needs algorithm='fast'; the paper's algorithm has a fixed "
                "starting point."
            )

    def _start(self, problem, data, n_samples, classes, W, mu, Z):
        """The solution of the last fit, if it can be used."""
        fits = W is not None and W.shape == (data.matrix.shape[1], data.n_classes)
        if not (self.warm_start and fits and np.array_equal(classes, self.classes_)):
            return None
        U = None
        if Z is not None and Z.shape[0] == n_samples:
            U = Z[data.rows] / data.weights[:, None]
        return resume(problem, W, mu, U)
