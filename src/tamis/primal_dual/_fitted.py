"""What the primal-dual classifiers share: parameters, training, and what a fitted one can do."""

import time
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tamis._base import (
    DecisionMixin,
    FeatureSelectorMixin,
    TamisEstimator,
    check_class_weight,
    check_weights,
    encode_labels,
    is_real,
    require_class_weights,
    require_two_classes,
    validate,
)
from tamis.primal_dual.balls import BALLS
from tamis.primal_dual.losses import make_loss
from tamis.primal_dual.prediction import (
    confidence_of,
    contributions,
    decide,
    distances,
    project,
)
from tamis.primal_dual.training import make_problem, prepare

__all__ = ["FittedPrimalDual", "History", "check_radii", "check_radius", "dispersion_of"]

_PRIVATE = ("_levels", "_euclidean", "_class_size")
_LOSSES = ("huber", "l1", "frobenius")
_DEFAULT_ITERATIONS = 20_000
# "auto" puts rho at this multiple of the mean class size: see `benchmarks/papers/primal_dual`.
_RHO_PER_CLASS_SIZE = 2.0
# Parameters beyond this, or below its inverse, leave no digits for a certificate.
_LARGEST = 1e9
_ROUNDING = 1e-12
# Residuals of a perfect fit still leave some doubt.
_LEAST_DISPERSION = 1e-3


class History:
    """Objective, gap, features and seconds of every round of a fit."""

    def __init__(self):
        self.begin = time.perf_counter()
        self.rounds = []

    def add(self, solution, n_features):
        """Write down where the solver stands."""
        row = (
            solution.n_iter,
            solution.pair.primal.value,
            solution.relative_gap,
            n_features,
            time.perf_counter() - self.begin,
        )
        self.rounds.append(row)

    def table(self):
        """One array for every column."""
        names = ("n_iter", "objective", "relative_gap", "n_features", "seconds")
        return {name: np.array([row[c] for row in self.rounds]) for c, name in enumerate(names)}


class FittedPrimalDual(FeatureSelectorMixin, DecisionMixin, ClassifierMixin, TamisEstimator):
    """Base of the primal-dual classifiers.

    A fitted classifier keeps arrays, numbers and strings only.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Parameters and data.

    def _check_parameters(self):
        for name, known in (("ball", tuple(BALLS)), ("loss", _LOSSES)):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in known):
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )
        check_number("huber_delta", self.huber_delta, zero=True, most=_LARGEST)
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
        """Raise unless the ball leaves features out, so that their number can be asked for."""
        if not BALLS[self.ball].selects_rows:
            raise ValueError(
                f"{asked} goes with the balls that select features, 'l1' and 'l21'; got "
                f"ball={self.ball!r}, which leaves no feature out."
            )

    def _forget(self):
        """Leave nothing of an earlier fit, so that one that fails leaves no mixture."""
        for name in list(vars(self)):
            if (name.endswith("_") and not name.startswith("__")) or name in _PRIVATE:
                delattr(self, name)

    def _validate(self, X, y, sample_weight):
        """Checked data, class indices and weights (samples times classes); sets `classes_`."""
        X, y = validate(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        weights = check_weights(sample_weight, X)
        self.classes_, codes = encode_labels(y)
        require_two_classes(self)
        weights = np.ones(codes.size) if weights is None else weights
        require_class_weights(self.classes_, codes, weights)
        return X, codes, weights

    def _prepare(self, X, codes, weights, known=slice(None)):
        """Training data with the class weights in them, and these; `known` are the classes."""
        n_classes = len(self.classes_[known])
        given = check_class_weight(self.class_weight, self.classes_, _LARGEST)
        if given is None:
            of_class = np.ones(n_classes)
        elif isinstance(given, str):
            sizes = np.bincount(codes, weights=weights, minlength=n_classes)
            of_class = sizes.sum() / (n_classes * sizes)
        else:
            of_class = given[known]
        data = prepare(
            X,
            codes,
            n_classes,
            weights * of_class[codes],
            standardize=self.standardize,
            feature_weights=check_feature_weights(self.feature_weights, X.shape[1]),
        )
        return data, of_class

    def _problem(self, data, radius):
        """The problem that the parameters make of training data."""
        rho = None
        if self.adaptive_centers:
            size = data.weights.sum() / data.n_classes
            rho = _RHO_PER_CLASS_SIZE * size if self.rho == "auto" else float(self.rho)
            if not 1 / _LARGEST <= rho / size <= _LARGEST:
                raise ValueError(
                    f"rho={rho:g} is out of proportion to the mean (weighted) class size {size:g}:"
                    f" between {1 / _LARGEST:g} and {_LARGEST:g} times that is possible, "
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

    # What training left.

    def _store(self, data, problem, solution, n_samples):
        """Keep the arrays of a solution."""
        primal, dual = solution.pair.primal, solution.pair.dual
        if solution.unit - primal.value <= _ROUNDING * solution.unit:
            primal = problem.empty()  # what is left of W is rounding
        self.weights_ = np.ascontiguousarray(primal.W)
        self.centers_ = primal.mu.copy()
        self.dual_ = np.zeros((n_samples, data.n_classes))
        # |Z| <= s must hold after rounding too.
        bound = problem.loss.bound
        Z = np.clip(dual.factor * dual.U, -bound, bound) * data.weights[:, None]
        self.dual_[data.rows] = Z
        self.objective_ = float(primal.value)
        self.gap_ = float(max(primal.value - dual.value, 0.0))
        self.relative_gap_ = float(self.gap_ / solution.unit)
        self.rho_ = problem.rho
        self._class_size = float(data.weights.sum() / data.n_classes)
        self.mean_, self.scale_ = data.mean, data.scale
        self.support_ = np.flatnonzero(self.weights_.any(axis=1))
        self.n_features_ = int(self.support_.size)
        self._euclidean = problem.loss.euclidean
        self.dispersion_ = dispersion_of(problem, primal)
        self.temperature_ = 1.0

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
        if self.support_.size:
            return
        reason, cure = "No feature separates the classes.", "Look at the data."
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
                f"{self._class_size:g}: the centers shrink to 0 for less than the samples cost, "
                "and then W = 0 is the optimum."
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
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    # Decisions.

    def _distances(self, X):
        """Checked samples, and their distances to the centers."""
        check_is_fitted(self, "support_")
        X = validate(
            self,
            X,
            reset=False,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        P = project(X, self.weights_, self.mean_, self.scale_, self.support_)
        return X, distances(P, self.centers_, self._euclidean)

    def _decide(self, found):
        return decide(found, self._euclidean, self.dispersion_) / self.temperature_

    def _decisions(self, X):
        return self._decide(self._distances(X)[1])

    def confidence(self, X):
        """How much nearer the nearest center is than the second: 0 at a border, 1 on a center.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        confidence : ndarray of shape (n_samples,)
            ``(d2 - d1) / (d2 + d1)`` of the two smallest distances.
        """
        return confidence_of(self._distances(X)[1])

    def predict_reject(self, X, threshold):
        """Labels, and which samples are better referred to a person.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        threshold : float
            Smallest `confidence`, between 0 and 1, with which a label may be given.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        rejected : ndarray of bool of shape (n_samples,)
            True where the confidence is below `threshold`.
        """
        if not is_real(threshold) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a confidence, 0 to 1, got {threshold!r}.")
        _, found = self._distances(X)
        labels = self.classes_[self._decide(found).argmax(axis=1)]
        return labels, confidence_of(found) < threshold

    def explain(self, X):
        """Contribution of every feature to the decision of every sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanation : Explanation
            `values` and `base` sum to `decision_function`. Contributions are integrated along the
            straight path from the mean (dense samples) or from 0 (sparse ones, so that they are
            as sparse as the sample).
        """
        X, _ = self._distances(X)
        values, base = contributions(
            X,
            self.weights_,
            self.mean_,
            self.scale_,
            self.support_,
            self.centers_,
            self._euclidean,
            self.dispersion_,
        )
        values = [value / self.temperature_ for value in values]
        return self._explanation(values, base / self.temperature_, X)


def check_number(name, value, *, zero=False, hint="", most=np.inf):
    """Raise unless `value` is a finite number above 0 (or at least 0), and not above `most`."""
    if not is_real(value) or not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(
            f"{name} must be a number {'>=' if zero else '>'} 0{hint}, got {value!r}."
        )
    if value > most:
        raise ValueError(f"{name} must be at most {most:g}, got {value!r}.")


def check_radius(name, value):
    """Raise unless `value` can be a radius."""
    check_number(name, value)
    if value > _LARGEST:
        raise ValueError(
            f"{name} must be at most {_LARGEST:g}, got {value!r}: for standardized features a "
            "ball beyond that is no constraint, and no gap could be proved."
        )


def check_feature_weights(feature_weights, n_features):
    """Positive factors of the features as float64; None for none."""
    if feature_weights is None:
        return None
    try:
        weights = np.asarray(feature_weights)
    except ValueError as error:
        raise ValueError(f"feature_weights must be a list of numbers ({error}).") from error
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights must have one number for each of the {n_features} features, got "
            + (f"shape {weights.shape}." if weights.ndim else f"{feature_weights!r}.")
        )
    if weights.dtype.kind == "O" and all(is_real(weight) for weight in weights.tolist()):
        weights = weights.astype(np.float64)
    if weights.dtype.kind not in "fiu":
        raise ValueError(f"feature_weights must be numbers, got {feature_weights!r}.")
    weights = weights.astype(np.float64)
    wrong = np.flatnonzero(~((weights >= 1 / _LARGEST) & (weights <= _LARGEST)))
    if wrong.size:
        raise ValueError(
            f"feature_weights must be positive and finite, between {1 / _LARGEST:g} and "
            f"{_LARGEST:g}; got {weights[wrong[0]]} for feature {wrong[0]}. Leave a feature that "
            "is not to count out of X."
        )
    return weights


def check_radii(radii):
    """Different radii in ascending order; None where a number of them is asked for."""
    if isinstance(radii, Integral) and not isinstance(radii, bool):
        if radii < 1:
            raise ValueError(f"radii must be at least 1 radius, got {radii!r}.")
        return None
    if not isinstance(radii, list | tuple | np.ndarray) or not len(radii):
        raise ValueError(f"radii must be a number of radii or a list of them, got {radii!r}.")
    for radius in radii:
        check_radius("Each of radii", radius)
    return np.unique(np.asarray(radii, dtype=np.float64))


def dispersion_of(problem, primal):
    """One scale of the residuals around their centers."""
    R = problem.residual(primal.mu, primal.XW)
    each = R**2 if problem.loss.euclidean else np.abs(R)
    mean = float(problem.weights @ each.mean(axis=1) / problem.weights.sum())
    return max(np.sqrt(mean) if problem.loss.euclidean else mean, _LEAST_DISPERSION)
