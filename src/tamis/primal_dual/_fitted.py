"""Shared by the primal-dual classifiers: parameters, training, and fitted behaviour."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis._array import dense_if_it_pays, to_host
from tamis._base import (
    DecisionMixin,
    Explanation,
    FeatureSelectorMixin,
    RecordMixin,
    TamisEstimator,
    check_class_weight,
    check_weights,
    encode_labels,
    require_class_weights,
    require_two_classes,
    validate,
)
from tamis.primal_dual._parameters import LARGEST, check_feature_weights, check_number
from tamis.primal_dual.balls import BALLS
from tamis.primal_dual.head import HEADS, fit_head
from tamis.primal_dual.losses import make_loss
from tamis.primal_dual.prediction import (
    confidence_of,
    contributions,
    decide,
    decide_linear,
    distances,
    linear_contributions,
    project,
)
from tamis.primal_dual.record import read_record, write_record
from tamis.primal_dual.records import record_of
from tamis.primal_dual.training import make_problem, prepare

_HEAD = ("_head_coef", "_head_intercept")
_PRIVATE = ("_levels", "_fold_scores", "_euclidean", "_class_size", *_HEAD)
_LOSSES = ("huber", "l1", "frobenius")
_DEFAULT_ITERATIONS = 20_000
# "auto" sets rho to this multiple of the mean class size: see `benchmarks/papers/primal_dual`.
_RHO_PER_CLASS_SIZE = 2.0


class FittedPrimalDual(
    RecordMixin, FeatureSelectorMixin, DecisionMixin, ClassifierMixin, TamisEstimator
):
    """Base of the primal-dual classifiers.

    A fitted classifier keeps arrays, numbers and strings only.
    """

    _write_record, _read_record = write_record, read_record
    #: Whether training can be where the data are.
    _on_device = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Parameters and data.

    def _check_parameters(self):
        for name, known in (("ball", tuple(BALLS)), ("loss", _LOSSES), ("head", HEADS)):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in known):
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )
        check_number("huber_delta", self.huber_delta, zero=True, most=LARGEST)
        check_number("tol", self.tol, most=0.5)
        if not (isinstance(self.rho, str) and self.rho == "auto"):
            check_number("rho", self.rho, hint=" or 'auto'")
        for name in ("adaptive_centers", "standardize"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.max_iter is not None and (
            isinstance(self.max_iter, bool)
            or not isinstance(self.max_iter, int | np.integer)
            or self.max_iter < 1
        ):
            raise ValueError(f"max_iter must be an integer >= 1 or None, got {self.max_iter!r}.")

    @property
    def _iterations(self):
        return self.max_iter or _DEFAULT_ITERATIONS

    def _require_features(self, asked):
        """Raise unless the ball selects features, so that their number can be chosen."""
        if not BALLS[self.ball].selects_rows:
            raise ValueError(
                f"{asked} needs a ball that selects features, 'l1' or 'l21'; got "
                f"ball={self.ball!r}, which uses all features."
            )

    def _forget(self):
        """Remove the results of an earlier fit, so that a failed fit leaves no mixture."""
        for name in list(vars(self)):
            if (name.endswith("_") and not name.startswith("__")) or name in _PRIVATE:
                delattr(self, name)

    def _validate(self, X, y, sample_weight):
        """Check the data, labels and weights (samples times classes); sets `classes_`."""
        X, y = validate(
            self,
            dense_if_it_pays(X),
            y,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
            on_device=self._on_device,
        )
        weights = check_weights(sample_weight, X)
        self.classes_, codes = encode_labels(y)
        require_two_classes(self)
        weights = np.ones(codes.size) if weights is None else weights
        require_class_weights(self.classes_, codes, weights)
        return X, codes, weights

    def _prepare(self, X, codes, weights, known=slice(None)):
        """Training data with class weights applied, and these weights; `known` are the classes."""
        n_classes = len(self.classes_[known])
        sizes = np.bincount(codes, weights=weights, minlength=n_classes)
        of_class = self._weigh_classes(sizes, known)
        data = prepare(
            X,
            codes,
            n_classes,
            weights * of_class[codes],
            standardize=self.standardize,
            feature_weights=check_feature_weights(self.feature_weights, X.shape[1]),
        )
        return data, of_class

    def _weigh_classes(self, sizes, known=slice(None)):
        """Weights of the classes, whose rows have these total weights."""
        given = check_class_weight(self.class_weight, self.classes_, LARGEST)
        if given is None:
            return np.ones(sizes.size)
        return sizes.sum() / (sizes.size * sizes) if isinstance(given, str) else given[known]

    def _problem(self, data, radius):
        """Make the problem from the training data and the parameters."""
        rho = None
        if self.adaptive_centers:
            size = data.weights.sum() / data.n_classes
            rho = _RHO_PER_CLASS_SIZE * size if self.rho == "auto" else float(self.rho)
            if not 1 / LARGEST <= rho / size <= LARGEST:
                raise ValueError(
                    f"rho={rho:g} is out of proportion to the mean (weighted) class size {size:g}:"
                    f" between {1 / LARGEST:g} and {LARGEST:g} times that is allowed, "
                    "rho='auto' is twice it."
                )
        return make_problem(
            data,
            loss=self.loss,
            huber_delta=self.huber_delta,
            ball=self.ball,
            radius=radius,
            rho=rho,
        )

    # Fitted state.

    def _store(self, data, problem, solution, n_samples):
        """Keep the arrays of a solution."""
        record = record_of(data, problem, solution, n_samples)
        self._keep_data(data, problem)
        self._be(record | fit_head(self.head, data, self.class_weight_, record["selected"]))

    def _keep_data(self, data, problem):
        """Keep the attributes that all radii share."""
        self.rho_ = problem.rho
        self._class_size = float(data.weights.sum() / data.n_classes)
        self.mean_, self.scale_ = data.mean, data.scale
        self._euclidean = problem.loss.euclidean

    def _be(self, record):
        """Become the model of one radius."""
        for name, value in record.items():
            if name.endswith("_") and value is not None:
                setattr(self, name, value)
        self._head_coef, self._head_intercept = record["head_coef"], record["head_intercept"]
        self.weights_ = np.zeros((self.scale_.size, record["centers_"].shape[0]))
        self.weights_[record["selected"]] = record["rows"]
        self.support_ = np.zeros(self.scale_.size, dtype=bool)
        self.support_[record["selected"]] = True
        self.n_features_ = int(record["selected"].size)

    def _warn_of_gap(self, gap, max_iter, stacklevel=4):
        if gap > self.tol:
            warnings.warn(
                f"The relative duality gap is {gap:.2g} after max_iter={max_iter} iterations, "
                f"above tol={self.tol:g}: the objective is within that of the optimum. Raise "
                "max_iter, or tol if that is enough.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def _warn_of_collapse(self, stacklevel=4):
        if self.support_.any():
            return
        reason, cure = "No feature separates the classes.", "Check the data."
        loss = make_loss(self.loss, self.huber_delta)
        if loss.curvature < 1:
            reason = (
                "This loss is small when most residuals are 0, and at W = 0 most are: with many "
                "classes, or with equal ones."
            )
            cure = "Raise radius, or use loss='frobenius' or a larger huber_delta."
        if self.rho_ is not None and self.rho_ < self._class_size:
            reason = (
                f"rho={self.rho_:g} is small against the mean (weighted) class size "
                f"{self._class_size:g}: shrinking the centers to 0 costs less than the samples "
                "do, and then W = 0 is the optimum."
            )
            cure = "Raise rho, or use rho='auto'."
        warnings.warn(
            "The fit has collapsed: all weights are 0 and every sample gets the same label. "
            f"{reason} {cure}",
            UserWarning,
            stacklevel=stacklevel,
        )

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        return self.support_

    @property
    def _selected(self):
        return np.flatnonzero(self.support_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Length of each feature's coefficients in the decision: 0 for a feature that is not used.

        These are the rows of `weights_` with the projection, otherwise the coefficients of the
        head, relative to their mean over the classes; both for standardized features.
        """
        check_is_fitted(self, "support_")
        if self._head_coef is None:
            return np.linalg.norm(self.weights_, axis=1)
        importances = np.zeros(self.support_.size)
        importances[self.support_] = np.linalg.norm(
            self._head_coef - self._head_coef.mean(axis=0), axis=0
        )
        return importances

    @property
    def feature_order_(self) -> NDArray[np.intp]:
        """All features, the most important first; ties by index."""
        return np.argsort(-self.feature_importances_, kind="stable")

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the decisions in the units of X.

        The projection has them with ``loss="frobenius"`` only: the other losses measure distances
        in the l1 norm, which is not linear.
        """
        return self._linear()[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Decisions at X = 0, up to a constant for more than two classes; see `coef_`."""
        return self._linear()[1]

    def _linear(self):
        check_is_fitted(self, "support_")
        coef = np.zeros((len(self.classes_), self.support_.size))
        if self._head_coef is not None:
            coef[:, self.support_] = self._head_coef / self.scale_[self.support_]
            bias, unit = self._head_intercept, self.temperature_
        elif self._euclidean:
            coef = (self.weights_ / self.scale_[:, None] @ self.centers_.T).T
            bias = -0.5 * (self.centers_**2).sum(axis=1)
            unit = self.dispersion_**2 * self.temperature_
        else:
            raise AttributeError(
                f"{type(self).__name__} with head_='projection' has coef_ and intercept_ only "
                "with loss='frobenius': the decisions of the other losses are not linear. See "
                "feature_importances_, or use another head."
            )
        coef, intercept = coef / unit, (bias - coef @ self.mean_) / unit
        if len(self.classes_) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    # Decisions.

    def _check_X(self, X, on_device=True):
        check_is_fitted(self, "support_")
        return validate(
            self,
            X,
            reset=False,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
            on_device=on_device,
        )

    def _distances(self, X):
        """Distances of checked samples to the centers."""
        P = project(X, self.weights_[self.support_], self.mean_, self.scale_, self._selected)
        return distances(P, self.centers_, self._euclidean)

    def _decisions(self, X):
        X = self._check_X(X)
        if self._head_coef is None:
            decisions = decide(self._distances(X), self._euclidean, self.dispersion_)
        else:
            P = project(X, self._head_coef.T, self.mean_, self.scale_, self._selected)
            decisions = decide_linear(P, self._head_intercept)
        return decisions / self.temperature_

    def confidence(self, X: ArrayLike) -> NDArray[np.float64]:
        """How clear the decision is: 0 at a border between two classes, at most 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
            With the projection ``(d2 - d1) / (d2 + d1)`` of the two smallest distances to the
            centers; with another head, the difference of the two largest probabilities.
        """
        X = self._check_X(X)
        if self._head_coef is None:
            return confidence_of(self._distances(X))
        second, first = np.partition(to_host(self.predict_proba(X)), -2, axis=1)[:, -2:].T
        return first - second

    def explain(self, X: ArrayLike) -> Explanation:
        """Contribution of each feature to the decision of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanation : Explanation
            `values` and `base` sum to `decision_function`. Contributions are relative to the mean
            (dense samples) or to 0 (sparse ones, so that they are as sparse as the sample); with
            the projection they are integrated along the straight path from there.
        """
        X = self._check_X(X, on_device=False)
        if self._head_coef is None:
            values, base = contributions(
                X,
                self.weights_[self.support_],
                self.mean_,
                self.scale_,
                self._selected,
                self.centers_,
                self._euclidean,
                self.dispersion_,
            )
        else:
            values, base = linear_contributions(
                X, self._head_coef, self._head_intercept, self.mean_, self.scale_, self._selected
            )
        values = [value / self.temperature_ for value in values]
        return self._explanation(values, base / self.temperature_, X)
