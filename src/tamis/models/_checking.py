"""Checks of the values of a model: each function checks one, and names it in its error.

Kernels index without bounds checks. So all indices are checked here when a file is read, and a
model that was read is as safe to use as one that was trained.
"""

import math

import numpy as np

from tamis.tables.errors import InputError

__all__ = [
    "array",
    "choice",
    "fail",
    "flag",
    "integer",
    "is_plain",
    "labels",
    "names",
    "number",
    "ordered",
    "places",
    "record",
    "require",
    "texts",
]

FLOATS = ("float64", "float32")


def fail(where, expected):
    """Raise InputError: the value at `where` is not as expected."""
    raise InputError(f"its {where} must be {expected}")


def require(condition, where, expected):
    """Raise unless `condition` holds."""
    if not condition:
        fail(where, expected)


def record(value, where, keys, optional=()):
    """Require a dict with all of `keys`, perhaps some of `optional`, and nothing else."""
    require(isinstance(value, dict), where, "an object")
    for key in keys:
        require(key in value, f"{where}.{key}", "there")
    for key in value:
        if key not in keys and key not in optional:
            raise InputError(f"its {where} has {str(key)[:60]!r}, which does not belong there")
    return value


def ordered(value, where):
    """Require a list that is not empty."""
    require(type(value) is list and len(value) > 0, where, "a list that is not empty")
    return value


def number(value, where, low=-math.inf, high=math.inf, *, above=None, finite=True, none=False):
    """Require a number from `low` to `high`, or above `above`; NaN only if not `finite`."""
    if none and value is None:
        return value
    is_number = isinstance(value, int | float | np.integer | np.floating)
    require(is_number and not isinstance(value, bool), where, "a number")
    is_small = not isinstance(value, int) or abs(value) <= 2**62
    require(is_small, where, "an integer of at most 62 bits, or a float")
    if not finite:
        return value
    limit = f"from {low:g} to {high:g}" if above is None else f"above {above:g}"
    require(math.isfinite(value), where, "a finite number")
    require(low <= value <= high, where, limit)
    require(above is None or value > above, where, limit)
    return value


def integer(value, where, low=0, high=2**62):
    """Require an integer from `low` to `high`."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(is_integer and low <= value <= high, where, f"an integer from {low} to {high}")
    return value


def flag(value, where):
    """Require True or False."""
    require(isinstance(value, bool | np.bool_), where, "true or false")
    return value


def choice(value, where, known):
    """Require one of a few strings, or None if it is among them."""
    is_known = any(value is k or (isinstance(value, str) and value == k) for k in known)
    require(is_known, where, f"one of {', '.join(map(repr, known))}")
    return value


def array(
    value,
    where,
    shape,
    dtype="float64",
    *,
    low=None,
    high=None,
    above=None,
    finite=True,
    nan=False,
):
    """Require an array of a shape (None: any size) and type, C contiguous, within a range.

    Parameters
    ----------
    value : object
    where : str
        Its name, for the error.
    shape : tuple of int or None
    dtype : str or tuple of str
        The types that it may have.
    low, high, above : float or None
        Limits.
    finite : bool
        Whether infinity raises an error.
    nan : bool
        Whether NaN is allowed.
    """
    kinds = (dtype,) if isinstance(dtype, str) else dtype
    is_array = type(value) is np.ndarray and value.dtype.name in kinds and value.dtype.isnative
    require(is_array, where, f"an array of type {' or '.join(kinds)}")
    same = len(shape) == value.ndim and all(
        wanted is None or wanted == size for wanted, size in zip(shape, value.shape, strict=True)
    )
    if not same:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        fail(where, f"an array of shape ({wanted})")
    if value.size == 0:
        return value
    if value.dtype.kind == "f":
        if not nan:
            require(not np.isnan(value).any(), where, "without NaN")
        if finite:
            require(not np.isinf(value).any(), where, "without infinity")
    with np.errstate(invalid="ignore"):
        require(low is None or not (value < low).any(), where, f"at least {low}")
        require(high is None or not (value > high).any(), where, f"at most {high}")
        require(above is None or not (value <= above).any(), where, f"above {above}")
    return value


def in_rows(value, where):
    """Require an array in C order, as kernels need it."""
    require(value.flags.c_contiguous, where, "in C order")
    return value


def places(value, where, size, n=None, *, ascending=False, unique=False, dtype="int64"):
    """Require an array of indices below `size`; `n` of them, if given."""
    array(value, where, (n,), dtype, low=0, high=size - 1)
    if size <= 0:
        require(value.size == 0, where, "empty")
    if ascending:
        require((np.diff(value) > 0).all(), where, "ascending")
    elif unique:
        require(np.unique(value).size == value.size, where, "different from each other")
    return value


def names(value, where, n=None):
    """Require an array of strings as objects."""
    is_array = type(value) is np.ndarray and value.dtype == object and value.ndim == 1
    require(is_array, where, "a list of strings")
    require(n is None or value.size == n, where, f"{n} strings")
    require(all(type(item) is str for item in value), where, "strings")
    return value


def texts(value, where, *, unique=True):
    """Require a list of strings."""
    is_list = type(value) is list and all(type(item) is str for item in value)
    require(is_list, where, "a list of strings")
    require(not unique or len(set(value)) == len(value), where, "different from each other")
    return value


def labels(value, where, fewest=1):
    """Require class labels of one type, different from each other."""
    is_array = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "biufUO"
    require(is_array, where, "a list of labels")
    require(value.size >= fewest, where, f"at least {fewest} labels")
    items = value.tolist()
    kinds = {type(item) for item in items}
    require(len(kinds) == 1 and kinds <= {str, bool, int, float}, where, "labels of one type")
    require(float not in kinds or all(map(math.isfinite, items)), where, "finite")
    require(len(set(items)) == len(items), where, "different from each other")
    return value


def is_plain(value, depth=0):
    """Whether a value is made of None, numbers, strings, arrays, lists, tuples and dicts only."""
    if depth > 50:
        return False
    if value is None or isinstance(value, bool | int | float | str):
        return True
    if isinstance(value, np.generic):
        return value.dtype.kind in "biufU"
    if type(value) is np.ndarray:
        if value.dtype.kind == "O":
            return all(is_plain(item, depth + 1) for item in value.ravel().tolist())
        return value.dtype.kind in "biufU"
    if type(value) in (list, tuple):
        return all(is_plain(item, depth + 1) for item in value)
    if type(value) is dict:
        return all(is_plain(k, depth + 1) and is_plain(v, depth + 1) for k, v in value.items())
    return False
