"""Labels and probabilities from decisions, in the same way for every classifier."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import is_on_device, is_sparse, to_host
from tamis._base.devices import like_input
from tamis._base.explanation import Explanation
from tamis._base.input import decode_labels

__all__ = ["DecisionMixin", "adjust", "softmax"]


def softmax(decisions, axis=-1):
    """Probabilities proportional to the exponentials of `decisions`."""
    shifted = np.exp(decisions - decisions.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def adjust(probabilities, temperature, old=None, new=None):
    """Adjust probabilities to a temperature, and to other class frequencies.

    By Bayes' rule, a probability changes by the ratio of the new to the old prior.
    """
    if temperature == 1.0 and new is None:
        return probabilities
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities) / temperature
    if new is not None:
        logs = logs + np.log(np.asarray(new) / np.asarray(old))
    return softmax(logs)


class DecisionMixin:
    """Labels and probabilities of a classifier with decisions for all classes.

    A class that implements `_decisions(X)` of shape (n_samples, n_classes) gets the rest, so that
    labels, probabilities and decisions always agree.
    """

    #: What `explain` returns.
    explanation_class: type = Explanation
    classes_: NDArray
    _decisions: Callable[..., NDArray[np.float64]]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Decisions of the classes: log odds, or shares where members or neighbours vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for the second one. More: one column per class. Log odds, or log
            likelihoods plus log priors, up to a constant per sample.
        """
        decisions = self._decisions(X)
        if decisions.shape[1] == 2:
            decisions = decisions[:, 1] - decisions[:, 0]
        return like_input(decisions, X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Class with the largest decision; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decisions = to_host(self.decision_function(X))
        best = decisions > 0 if decisions.ndim == 1 else decisions.argmax(axis=1)
        return like_input(self.classes_[best.astype(np.intp)], X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return like_input(self._probabilities(X), X)

    def _probabilities(self, X):
        return softmax(self._decisions(X))

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
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
            return like_input(np.log(to_host(self.predict_proba(X))), X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on samples and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
        """
        if not is_on_device(X):
            return super().score(X, decode_labels(y), sample_weight)  # type: ignore[misc]
        weights: Any = to_host(sample_weight) if is_on_device(sample_weight) else sample_weight
        right = to_host(self.predict(X)) == decode_labels(to_host(y) if is_on_device(y) else y)
        return float(np.average(right, weights=weights))

    def predict_reject(self, X: ArrayLike, threshold: float) -> tuple[NDArray, NDArray[np.bool_]]:
        """Labels, and which samples should be referred to a person.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        threshold : float
            Smallest probability, between 0 and 1, for which a label is given.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        rejected : ndarray of bool of shape (n_samples,)
            True where no class has a probability of at least `threshold`.
        """
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a probability, 0 to 1, got {threshold!r}.")
        probabilities = to_host(self.predict_proba(X))
        labels = self.classes_[probabilities.argmax(axis=1)]
        return labels, probabilities.max(axis=1) < threshold

    def _explanation(self, values, base, X):
        """Contributions to the decisions of all classes, in the form of `decision_function`."""
        if len(values) == 2:
            values, base = [values[1] - values[0]], base[1:] - base[:1]
        if len(values) == 1:
            values, base = values[0], float(base[0])
        elif not is_sparse(values[0]):
            values = np.stack(values, axis=2)
        return Explanation(values, base, self._feature_names(), X)

    def _feature_names(self):
        """Names of the features; x0, x1, ... if they have none."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return names
