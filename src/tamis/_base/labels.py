"""Labels as the user wrote them, and class indices."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from tamis._base.input import decode_labels
from tamis._compile import compiled

__all__ = ["count_classes", "encode_labels", "require_class_weights", "require_two_classes"]


def encode_labels(y, classes=None):
    """Classes in order, and the index of each label in them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type; bytes are decoded as UTF-8.
    classes : ndarray or None
        The classes if they are known already; any other label raises an error.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
        Integers; `y` itself if it is 0, 1, ... already.
    """
    y = column_or_1d(decode_labels(y), warn=True)
    if classes is None and y.dtype.kind in "iub" and y.dtype.isnative and y.size:
        # Integers in a small range need no sorting.
        low, high = int(y.min()), int(y.max())
        if high - low < max(1024, y.size // 16) and -(2**62) < low <= high < 2**62:
            count = _count_codes(y, low, high - low + 1)
            present = np.flatnonzero(count)
            if low == 0 and present.size == count.size and y.dtype == np.int64:
                return np.arange(high + 1), y
            if y.dtype.kind == "b":
                return np.array([False, True])[low:][: present.size], y.astype(np.int64) - low
            position = np.cumsum(count > 0) - 1
            codes = position[y.astype(np.int64) - low]
            return (present + low).astype(y.dtype), codes
    try:
        check_classification_targets(y)
        if classes is None:
            classes, codes = np.unique(y, return_inverse=True)
            return classes, codes.astype(np.int64)
        unknown = np.setdiff1d(y, classes)
    except TypeError as error:
        raise ValueError(
            "Labels must be of one type, so that they have an order; got a mixture "
            f"({error}). Convert them, for instance with y.astype(str)."
        ) from error
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()}. Name all classes in the first call: "
            "partial_fit(X, y, classes=...)."
        )
    return classes, np.searchsorted(classes, y).astype(np.int64)


@compiled
def _count_codes(y, low, size):
    # Four tables in turn, so that counting runs of equal labels does not stall.
    count = np.zeros((4, size), np.int64)
    whole = y.size - y.size % 4
    for i in range(0, whole, 4):
        count[0, np.int64(y[i]) - low] += 1
        count[1, np.int64(y[i + 1]) - low] += 1
        count[2, np.int64(y[i + 2]) - low] += 1
        count[3, np.int64(y[i + 3]) - low] += 1
    for i in range(whole, y.size):
        count[0, np.int64(y[i]) - low] += 1
    return count.sum(axis=0)


def count_classes(codes, n_classes):
    """Number of rows per class."""
    return _count_codes(codes, 0, n_classes)


def require_two_classes(estimator):
    """Raise unless an estimator has seen at least two classes."""
    if len(estimator.classes_) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes, got 1 class: "
            f"{estimator.classes_.tolist()[0]!r}."
        )


def require_class_weights(classes, codes, weights):
    """Raise if all samples of a class have zero weight."""
    sums = np.bincount(codes, weights=weights, minlength=len(classes))
    empty = np.flatnonzero(sums <= 0)
    if empty.size:
        raise ValueError(
            f"All samples of the class {classes.tolist()[empty[0]]!r} have zero weight. Give them "
            "weight, or drop them."
        )
