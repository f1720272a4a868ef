"""Checks of the arguments of projections, and exact scaling by powers of two."""

import math

import numpy as np

from tamis.projections._sums import survey

# Squares and products of numbers within 2**-400 .. 2**400 neither overflow nor vanish.
_SAFE_EXPONENT = 400
# An exponent that makes room for the sum of any array that fits in memory.
HEADROOM = 64


def check_radius(radius):
    """`radius` as a float, at least 0 and finite."""
    radius = float(radius)
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"radius must be a finite number >= 0, got {radius}. "
            "Without a bound there is nothing to project."
        )
    return radius


def as_real(values, name="v"):
    """`values` as an array of float32 or float64; every other real type becomes float64."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must be an array of real numbers, got dtype {values.dtype}. "
            "Convert it to a dense float32 or float64 array first."
        )
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    return values


def as_matrix(values, name="V"):
    """`values` as a C-contiguous matrix of float32 or float64; no copy where none is needed."""
    values = as_real(values, name)
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix with 2 dimensions, got shape {values.shape}. "
            f"Reshape it: {name}.reshape(-1, 1) is one column, {name}.reshape(1, -1) one row."
        )
    return np.require(values, requirements=["C", "A", "W"])


def check_finite(values, name="v"):
    """Raise ValueError for NaN and infinity."""
    finite = np.isfinite(values)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{name} must be finite, got {values[index]} at index {index}. "
            "Remove or replace NaN and infinite entries first."
        )


def flatten(values):
    """The entries as one contiguous, writeable vector, and the order to put them back in."""
    order = "F" if values.flags.f_contiguous else "C"
    # numba would compile again for read-only arrays: a copy is cheaper.
    return np.require(values.ravel(order=order), requirements=["A", "W"]), order


def inside(norm, radius, dtype, units=2):
    """Whether a point is in the ball, up to the rounding of one that was projected before."""
    return norm <= radius * (1.0 + units * float(np.finfo(dtype).eps))


def scale_exponent(largest):
    """Exponent e such that 2**-e times `largest` is about 1; 0 if squares are safe anyway."""
    exponent = math.frexp(largest)[1]
    return exponent if abs(exponent) > _SAFE_EXPONENT else 0


def matrix_exponent(V):
    """`scale_exponent` of a matrix; raises ValueError for NaN and infinity."""
    _, largest, finite = survey(V.ravel(), True, 0.0)
    if not finite:  # or the sum overflows
        check_finite(V, "V")
    return scale_exponent(largest)


def project_scaled(project, V, radius, exponent):
    """The result of `project` for V and radius, computed with 2**-exponent times both."""
    radius = times_power_of_two(radius, -exponent)
    if np.isinf(radius):
        return V.copy()
    scaled = times_power_of_two(V, -exponent)
    W = project(scaled, radius)
    if np.array_equal(W, scaled):  # inside: entries that vanished by scaling are kept too
        return V.copy()
    return times_power_of_two(W, exponent)


def times_power_of_two(values, exponent):
    """`values` * 2**`exponent`, exact unless it overflows or becomes subnormal."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)
