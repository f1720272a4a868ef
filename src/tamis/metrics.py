"""Scores that the papers use and scikit-learn does not name."""

from numpy.typing import ArrayLike
from sklearn.metrics import balanced_accuracy_score

__all__ = ["balanced_error_rate"]


def balanced_error_rate(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """One minus the mean of the recalls of the classes: the papers' BER.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels.
    y_pred : array-like of shape (n_samples,)
        Predictions.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    error : float
        Between 0 and 1.

    Examples
    --------
    >>> from tamis.metrics import balanced_error_rate
    >>> balanced_error_rate([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    return float(1.0 - balanced_accuracy_score(y_true, y_pred, sample_weight=sample_weight))
