"""What a fitted sparse center classifier can do, whoever chose its number of features."""

import copy
import warnings
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tamis._base import (
    Explanation,
    TamisEstimator,
    check_finite,
    check_weights,
    encode_labels,
    resolve_n_features,
    softmax,
)
from tamis._selection import check_scoring, score_decisions
from tamis.centers.covariance import Whitening
from tamis.centers.model import CenterModel, train
from tamis.centers.path import path_confusion, path_decisions, path_labels
from tamis.centers.ranking import CenterStatistics

__all__ = ["FittedCenters", "is_counted", "score_path"]

_METRICS = ("l2", "l1")
_SCALINGS = ("spread", None, "std", "variance")
_COVARIANCES = (None, "empirical", "shrunk")
_FAST_SCORES = ("accuracy", "balanced_accuracy")
_WHITENED_VALUES = 1 << 22


class FittedCenters(SelectorMixin, ClassifierMixin, TamisEstimator):
    """Base of the sparse center classifiers: validation before, predictions after training.

    A fitted classifier keeps arrays, numbers and strings only. The arrays describe all features;
    `support_` says which of them the decisions use.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Training: what both classifiers share.

    def _check_parameters(self):
        for name, known in (
            ("metric", _METRICS),
            ("scaling", _SCALINGS),
            ("covariance", _COVARIANCES),
        ):
            value = getattr(self, name)
            if not any(value is k or (isinstance(value, str) and value == k) for k in known):
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )
        if self.metric == "l1" and self.covariance is not None:
            raise ValueError(
                f"covariance={self.covariance!r} goes with metric='l2' only, got metric='l1'. "
                "Use covariance=None, or metric='l2'."
            )

    def _validate(self, X, y, sample_weight, *, reset=True, classes=None, n_classes_needed=2):
        """Checked data, class indices and weights; sets `classes_`."""
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # read off the sums: see check_finite
            accept_large_sparse=True,
        )
        if self.metric == "l1" and not sparse.issparse(X):
            check_finite((X,), X)  # an order is no place to find NaN in
        sample_weight = check_weights(sample_weight, X)
        self.classes_, codes = encode_labels(y, classes)
        if len(self.classes_) < n_classes_needed:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, got 1 class: "
                f"{self.classes_.tolist()[0]!r}."
            )
        return X, codes, sample_weight

    def _check_class_weights(self, codes, sample_weight):
        if sample_weight is None:
            return
        weight = np.bincount(codes, weights=sample_weight, minlength=len(self.classes_))
        empty = np.flatnonzero(weight <= 0)
        if empty.size:
            raise ValueError(
                f"All samples of the class {self.classes_.tolist()[empty[0]]!r} have zero "
                "weight. Give them weight, or leave them out."
            )

    def _train(self, X, codes, n_classes, sample_weight):
        return train(
            X,
            codes,
            n_classes,
            metric=self.metric,
            scaling=self.scaling,
            covariance=self.covariance,
            log_prior=self._log_prior,
            sample_weight=sample_weight,
        )

    def _log_prior(self, weight):
        """Logarithm of the priors; classes that were not seen are left out."""
        seen = weight > 0
        if isinstance(self.priors, str):
            if self.priors not in ("uniform", "empirical"):
                raise ValueError(
                    "priors must be 'uniform', 'empirical' or one probability for each class, "
                    f"got {self.priors!r}."
                )
            prior = seen.astype(np.float64) if self.priors == "uniform" else weight
        else:
            try:
                prior = np.asarray(self.priors, dtype=np.float64)
            except (TypeError, ValueError):
                prior = np.zeros(0)  # told below
            if (
                prior.shape != weight.shape
                or not np.all(prior > 0)
                or not np.isclose(prior.sum(), 1.0)
            ):
                raise ValueError(
                    f"priors must be {weight.size} positive probabilities that sum to 1, in the "
                    f"order of the classes {self.classes_.tolist()}; got {self.priors!r}."
                )
            prior = np.where(seen, prior, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(prior / prior.sum())

    def _store(self, model):
        """Keep the arrays of `model`; `_model` puts them together again."""
        statistics = model.statistics
        self._metric = model.metric  # the parameter may be set to another one after fit
        self.class_count_ = statistics.weight
        self._offset = statistics.offset
        self._class_centers = statistics.centers
        self._common = statistics.common
        self._dispersion = statistics.dispersion
        self._raw_gains = statistics.gain
        self.gains_ = model.gains
        self.scale_ = model.scale
        self.class_prior_ = np.exp(model.log_prior)
        self._log_priors = model.log_prior
        self._whitening = None
        if model.whitening is not None:
            self._whitening = {
                "vectors": model.whitening.vectors,
                "roots": model.whitening.roots,
                "rest": float(model.whitening.rest),
                "shrinkage": float(model.whitening.shrinkage),
                "centers": model.whitened_centers,
                "dispersion": model.whitened_dispersion,
            }
        self.temperature_ = 1.0

    def _select(self, k):
        """Use the k best features."""
        model = self._model
        self.support_ = model.select(k)
        self.n_features_ = int(self.support_.size)
        self.dispersion_ = float(model.dispersion(self.support_))
        self.objective_ = model.objective(self.support_)

    def _warn_of_few_features(self, k, asked, X):
        if self.n_features_ >= k or asked is None:
            return
        message = (
            f"{k} features were asked for, but only {self.n_features_} separate the class "
            f"centers (metric={self.metric!r}); those are selected."
        )
        values = X.data if sparse.issparse(X) else X
        if self.metric == "l2" and 0 < np.abs(values).max(initial=0.0) < 1e-140:
            message += " X is so small that its squares vanish: multiply it by a constant."
        warnings.warn(message, UserWarning, stacklevel=4)

    # What training left.

    @property
    def _model(self):
        statistics = CenterStatistics(
            self.class_count_,
            self._offset,
            self._class_centers,
            self._common,
            self._dispersion,
            self._raw_gains,
        )
        model = CenterModel(self._metric, statistics, self.scale_, self.gains_, self._log_priors)
        model.temperature = self.temperature_
        if self._whitening is not None:
            parts = self._whitening
            model.whitening = Whitening(
                parts["vectors"], parts["roots"], parts["rest"], parts["shrinkage"]
            )
            model.whitened_centers = parts["centers"]
            model.whitened_dispersion = parts["dispersion"]
        return model

    def _fitted_model(self):
        check_is_fitted(self, "support_")
        return self._model

    @property
    def centers_(self):
        """Class centers in the units of X, equal outside the support: (n_classes, n_features)."""
        return self._attribute("centers_", lambda: self._model.centers(self.support_))

    @property
    def class_centers_(self):
        """Class means or medians of all features, in the units of X."""
        return self._attribute("class_centers_", lambda: self._class_centers + self._offset)

    @property
    def common_center_(self):
        """The center that all classes share where a feature is left out."""
        return self._attribute("common_center_", lambda: self._common + self._offset)

    @property
    def ranking_(self):
        """Features from the largest gain to the smallest; equal gains: lower index first."""
        return self._attribute("ranking_", lambda: self._model.order())

    def _attribute(self, name, compute):
        if "support_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: no {name}.")
        return compute()

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        mask = np.ones(self.n_features_in_, dtype=bool)
        if self._whitening is None:
            mask[:] = False
            mask[self.support_] = True
        return mask

    # Decisions.

    def _check_X(self, X):
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        if self._metric == "l1" and sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # |a + b| is not |a| + |b|
        return X

    def _decisions(self, X):
        """Decisions of all classes, (n_samples, n_classes)."""
        model = self._fitted_model()
        return model.decisions(self._check_X(X), self.support_)

    def decision_function(self, X):
        """Log odds of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: log odds of the second one. More: log likelihood plus log prior of every
            class, up to a constant of the sample.
        """
        decisions = self._decisions(X)
        return decisions[:, 1] - decisions[:, 0] if decisions.shape[1] == 2 else decisions

    def predict(self, X):
        """Class with the largest decision; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decisions = self.decision_function(X)
        best = decisions > 0 if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return softmax(self._decisions(X))

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_reject(self, X, threshold):
        """Labels, and which samples are better referred to a person.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        threshold : float
            Smallest probability, between 0 and 1, with which a label may be given.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        rejected : ndarray of bool of shape (n_samples,)
            True where no class is as probable as `threshold`.
        """
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a probability, 0 to 1, got {threshold!r}.")
        probabilities = self.predict_proba(X)
        labels = self.classes_[probabilities.argmax(axis=1)]
        return labels, probabilities.max(axis=1) < threshold

    def explain(self, X):
        """Contribution of every feature to the decision of every sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanation : Explanation
            `values` and `base` sum to `decision_function`. Contributions are relative to the
            common center for dense samples, and relative to 0 for sparse ones, so that they are
            as sparse as the sample.
        """
        model = self._fitted_model()
        X = self._check_X(X)
        values, base = model.contributions(X, self.support_)
        values, base = [v / self.temperature_ for v in values], base / self.temperature_
        if len(values) == 2:
            values, base = values[1] - values[0], float(base[1] - base[0])
        elif not sparse.issparse(values[0]):
            values = np.stack(values, axis=2)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return Explanation(values, base, names, X)

    # The sparsity path.

    def with_n_features(self, k):
        """The same classifier with the k best features, without training again.

        Parameters
        ----------
        k : int, float or None
            As `n_features_to_select`.

        Returns
        -------
        classifier : estimator
            Fitted; shares its arrays with this one.
        """
        check_is_fitted(self, "support_")
        other = copy.copy(self)
        other._select(resolve_n_features(k, self.n_features_in_, "k"))
        if hasattr(other, "n_features_to_select"):
            other.n_features_to_select = k
        return other

    def path_predict(self, X, ks):
        """Predictions with each of several numbers of features, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        ks : sequence of int, or None
            Numbers of features; None is 1, 2, ... up to all.

        Returns
        -------
        labels : ndarray of shape (len(ks), n_samples)
        """
        model, X, ks = self._path(X, ks)
        terms = model.terms(model.ranked())
        labels = [
            path_labels(model.transform(X[rows]), terms, ks) for rows in _row_chunks(model, X)
        ]
        return self.classes_[np.concatenate(labels).T]

    def path_score(self, X, y, ks, *, scoring=None, sample_weight=None):
        """Scores with each of several numbers of features, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        ks : sequence of int, or None
            Numbers of features; None is 1, 2, ... up to all.
        scoring : str, callable or None
            None is the accuracy, as in `score`; otherwise as in scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        scores : ndarray of shape (len(ks),)
        """
        model, X, ks = self._path(X, ks)
        check_consistent_length(X, y)
        everything, codes = encode_labels(y)
        if not np.array_equal(everything, self.classes_):
            labels, everything = everything, np.union1d(self.classes_, everything)
            codes = np.searchsorted(everything, labels)[codes]
        known = np.searchsorted(everything, self.classes_)
        weights = check_weights(sample_weight, X)
        check_scoring(scoring)
        return score_path(model, X, codes, everything, known, ks, scoring, weights)

    def _path(self, X, ks):
        model = self._fitted_model()
        X = self._check_X(X)
        if ks is None:
            ks = np.arange(1, self.n_features_in_ + 1)
        if not np.iterable(ks):
            raise ValueError(f"ks must be a sequence of numbers of features, or None, got {ks!r}.")
        ks = np.array([resolve_n_features(k, self.n_features_in_, "Each of ks") for k in ks])
        return model, X, ks


def is_counted(scoring):
    """Whether a score needs labels only, so that all k are counted in one pass."""
    return scoring is None or (isinstance(scoring, str) and scoring in _FAST_SCORES)


def score_path(model, X, codes, classes, known, ks, scoring, sample_weight=None):
    """Scores of a model for several numbers of features.

    Parameters
    ----------
    model : CenterModel
    X : ndarray or sparse container
        Checked samples.
    codes : ndarray of shape (n_samples,)
        Index of the true label in `classes`.
    classes : ndarray
        All labels.
    known : ndarray
        Index in `classes` of each of the model's classes.
    ks : ndarray of int
    scoring : str, callable or None
    sample_weight : ndarray or None

    Returns
    -------
    scores : ndarray of shape (len(ks),)
    """
    terms = model.terms(model.ranked())
    if is_counted(scoring):
        confusion = 0.0
        for rows in _row_chunks(model, X):
            weights = None if sample_weight is None else sample_weight[rows]
            confusion = confusion + path_confusion(
                model.transform(X[rows]), terms, ks, codes[rows], len(classes), weights
            )
        hits = confusion[:, known, np.arange(known.size)]
        truth = confusion.sum(axis=2)
        if scoring == "balanced_accuracy":
            present = truth[0] > 0
            recall = np.zeros_like(truth)
            recall[:, known] = hits
            return (recall[:, present] / truth[:, present]).mean(axis=1)
        return hits.sum(axis=1) / truth.sum(axis=1)
    scores = np.empty(len(ks))
    chunk = max(1, 8_000_000 // max(1, X.shape[0] * len(classes)))
    for start in range(0, len(ks), chunk):
        some = ks[start : start + chunk]
        decisions = [
            path_decisions(model.transform(X[rows]), terms, some) for rows in _row_chunks(model, X)
        ]
        decisions = np.concatenate(decisions) / model.temperature
        for k in range(len(some)):
            scores[start + k] = score_decisions(
                scoring, decisions[:, k], classes, known, X, classes[codes], sample_weight
            )
    return scores


def _row_chunks(model, X):
    """Slices of rows: all at once, or as many as may be whitened (and so made dense) at once."""
    size = X.shape[0] if model.whitening is None else max(1, _WHITENED_VALUES // X.shape[1])
    return [slice(start, start + size) for start in range(0, X.shape[0], size)]
