"""Sample weights, class weights, and sums that must be finite."""

from numbers import Number, Real

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_array

from tamis._array import is_on_device, is_sparse, to_host
from tamis._base.input import require_unmasked

__all__ = ["check_class_weight", "check_finite", "check_weights", "is_real"]


def is_real(value):
    """Whether `value` is a number other than a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_class_weight(class_weight, classes, largest=np.inf):
    """None, "balanced", or one positive weight per class in order.

    Parameters
    ----------
    class_weight : {"balanced"}, dict or None
        As given by the user; classes that are not in a dict have weight 1.
    classes : ndarray of shape (n_classes,)
    largest : float
        The largest weight that is allowed; the smallest is its inverse.

    Returns
    -------
    weights : None, "balanced" or ndarray of shape (n_classes,)
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, dict):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict from labels to weights, got "
            f"{class_weight!r}."
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight has the label {unknown[0]!r}, which is not among the classes {labels}."
        )
    for label, weight in class_weight.items():
        if not is_real(weight) or not 0 < weight < np.inf or not 1 / largest <= weight <= largest:
            limits = "" if largest == np.inf else f" between {1 / largest:g} and {largest:g}"
            raise ValueError(
                f"class_weight must be positive numbers{limits}, got {weight!r} for {label!r}."
            )
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def check_weights(sample_weight, X):
    """Sample weights as float64, or None for none; negative weights are an error."""
    if sample_weight is None:
        return None
    sample_weight = require_unmasked(sample_weight, "sample_weight")
    if is_on_device(sample_weight):
        sample_weight = to_host(sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(X.shape[0], sample_weight, dtype=np.float64)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", order="C"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one number for each of the {X.shape[0]} samples, got shape "
            f"{weight.shape}."
        )
    if weight.min(initial=0.0) < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    largest = weight.max(initial=0.0)
    if largest > 1e100 or 0 < largest < 1e-100:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, and sums over such weights are not exact. "
            "Divide all weights by their largest."
        )
    return weight


def check_finite(statistics, X):
    """Look for NaN and infinity in sums over X; scan X itself only if a sum is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(array.sum()) or np.isfinite(array).all() for array in statistics):
            return
    values = X.data if is_sparse(X) else to_host(X)
    if not np.isfinite(values).all():
        assert_all_finite(values, input_name="X")
    raise ValueError(
        f"X has values up to {np.abs(values).max():.3g}: sums over them overflow. Divide X, or "
        "its largest columns, by a constant; large sample weights count too."
    )
