"""Score existing decisions with scikit-learn's scorers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tamis._base import decode_labels, softmax

__all__ = ["ScoringMixin", "check_scoring", "is_counted", "score_decisions"]


def is_counted(scoring: str | Callable | None) -> bool:
    """Whether a score is a mean of right and wrong over rows."""
    return isinstance(scoring, str) and scoring in ("balanced_accuracy", "accuracy")


def check_scoring(scoring: str | Callable | None) -> None:
    """Raise unless `scoring` is None, a name that scikit-learn knows, or callable."""
    if isinstance(scoring, str):
        from sklearn.metrics import get_scorer  # slow to import

        get_scorer(scoring)
    elif scoring is not None and not callable(scoring):
        raise ValueError(f"scoring must be a name, a callable or None, got {scoring!r}.")


class _GivenDecisions(ClassifierMixin, BaseEstimator):
    """A classifier that returns existing decisions, for a scorer."""

    def __init__(self, decisions=None, classes=None):
        self.decisions = decisions
        self.classes = classes

    @property
    def classes_(self):
        return self.classes

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        """Do nothing: there is nothing to learn."""
        return self

    def decision_function(self, X):
        """Decisions; one column for two classes."""
        decisions = self.decisions
        return decisions[:, 1] - decisions[:, 0] if decisions.shape[1] == 2 else decisions

    def predict_proba(self, X):
        """Probabilities of the decisions."""
        return softmax(self.decisions)

    def predict(self, X):
        """Label of the largest decision."""
        return self.classes[self.decisions.argmax(axis=1)]


def score_decisions(
    scoring: str | Callable,
    decisions: NDArray,
    classes: NDArray,
    known: NDArray,
    X: Any,
    y: NDArray,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Score decisions as if a classifier had made them.

    `scoring`: as in scikit-learn; `decisions` (n_samples, len(known)): decisions for the classes
    that the model knows; `classes`: all classes; `known`: which of them the model knows;
    `sample_weight`: passed to the scorer when given.
    """
    full = np.full((decisions.shape[0], len(classes)), -np.inf)
    full[:, known] = decisions
    # Scorers need finite numbers: a class that is never predicted is far below the others.
    finite = np.isfinite(full)
    lowest = np.where(finite, full, np.inf).min(axis=1, keepdims=True)
    full = np.where(finite, full, lowest - 1e3)
    if isinstance(scoring, str):
        from sklearn.metrics import get_scorer

        scorer = get_scorer(scoring)
    else:
        scorer = scoring
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return scorer(_GivenDecisions(full, classes), X, y, **weights)
    except ValueError as error:
        if len(np.unique(y)) < len(classes):
            raise ValueError(
                f"scoring={scoring!r} cannot score test samples that lack a class ({error}). Use "
                "fewer or stratified folds, or a scoring that can, such as 'balanced_accuracy'."
            ) from error
        raise
    except TypeError as error:
        if weights and "sample_weight" in str(error):
            raise ValueError(
                f"scoring={scoring!r} does not take sample_weight, and sample weights were given. "
                "Omit them, or use a scorer that accepts them."
            ) from error
        raise


class ScoringMixin:
    """`score` by the estimator's `scoring`, from decisions for all its classes."""

    classes_: NDArray
    scoring: str | Callable | None
    _decisions: Callable[..., NDArray[np.float64]]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score by `scoring` on new data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
        """
        decisions, known = self._scored(X), np.arange(len(self.classes_))
        scoring, y = self.scoring or "accuracy", np.asarray(decode_labels(y))
        return float(
            score_decisions(scoring, decisions, self.classes_, known, X, y, sample_weight)
        )

    def _scored(self, X):
        """Decisions that are scored, (n_samples, n_classes)."""
        return self._decisions(X)
