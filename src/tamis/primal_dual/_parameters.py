"""Checks of numbers, radii and feature weights."""

from numbers import Integral

import numpy as np

from tamis._base import is_real

# Parameters beyond this, or below its inverse, leave no digits for a certificate.
LARGEST = 1e9


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
    if value > LARGEST:
        raise ValueError(
            f"{name} must be at most {LARGEST:g}, got {value!r}: for standardized features a "
            "larger ball is no constraint, and no gap could be certified."
        )


def check_feature_weights(feature_weights, n_features):
    """Positive factors of the features as float64, or None."""
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
    wrong = np.flatnonzero(~((weights >= 1 / LARGEST) & (weights <= LARGEST)))
    if wrong.size:
        raise ValueError(
            f"feature_weights must be positive and finite, between {1 / LARGEST:g} and "
            f"{LARGEST:g}; got {weights[wrong[0]]} for feature {wrong[0]}. To exclude a "
            "feature, drop it from X."
        )
    return weights


def check_radii(radii, name="radii"):
    """Distinct radii in ascending order; None if `radii` is a number of radii."""
    if isinstance(radii, Integral) and not isinstance(radii, bool):
        if radii < 1:
            raise ValueError(f"{name} must be at least 1 radius, got {radii!r}.")
        return None
    if not isinstance(radii, list | tuple | np.ndarray) or not len(radii):
        raise ValueError(f"{name} must be a number of radii or a list of them, got {radii!r}.")
    for radius in radii:
        check_radius(f"Each of {name}", radius)
    return np.unique(np.asarray(radii, dtype=np.float64))
