"""Values of a model as plain JSON values, and back; no float loses a bit.

None, booleans, integers, strings, finite floats, lists and dicts with string keys are themselves.
Everything else is an object with one key that begins with "$":

- ``{"$float": "nan"}``, also "inf" and "-inf";
- ``{"$scalar": 0.5, "dtype": "float64"}``, a NumPy number;
- ``{"$tuple": [...]}``; ``{"$dict": [[key, value], ...]}`` for other keys;
- ``{"$array": "float64", "shape": [2, 2], "values": [[1.0, 2.0], [3.0, "inf"]]}``, up to 64
  numbers, or ``"base64"`` instead of "values": the little-endian bytes in C order;
  ``"order": "F"`` where the array lies in memory by columns (sums then have the same bits);
- ``{"$shared": 3}``, the array at index 3 of the file's list "shared";
- ``{"$record": "Rule", ...}``, a record with its fields; ``{"$estimator": "...", "parameters":
  {...}, "state": {...}}``; ``{"$splitter": "KFold", ...}``, how folds were made.
"""

import base64
import math
from collections import Counter
from dataclasses import fields

import numpy as np

from tamis.models._registry import is_estimator, is_record
from tamis.tables.errors import InputError

__all__ = [
    "FEW",
    "MOST_DIMENSIONS",
    "NUMBERS",
    "SPECIAL",
    "SPLITTERS",
    "Unwritable",
    "encode",
    "is_moderate",
    "splitter_options",
]

SPLITTERS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
)
FEW = 64
NUMBERS = {
    dtype.__name__.rstrip("_"): np.dtype(dtype).newbyteorder("<")
    for dtype in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64),
    )
}
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MOST_DIMENSIONS = 4


class Unwritable(InputError):
    """A value that cannot be written to a model file."""


def encode(model, describe):
    """JSON values of a model, and the list of the arrays that occur in it more than once.

    Parameters
    ----------
    model : estimator or record
    describe : callable
        Returns the parameters and the state of an estimator, two dicts.

    Returns
    -------
    content : dict
    shared : list of dict
    """
    encoder = _Encoder(describe)
    encoder.count_arrays(model)
    return encoder.value(model), encoder.shared


class _Encoder:
    """Encodes values; arrays that occur more than once are written once."""

    def __init__(self, describe):
        self._describe = describe
        self._described = {}
        self.shared = []
        self._place = {}
        self._count = Counter()
        self._kept = []  # keeps arrays alive, so that no two have the same id

    def count_arrays(self, value):
        """Count the arrays."""
        if isinstance(value, np.ndarray):
            self._kept.append(value)
            self._count[id(value)] += 1
        elif isinstance(value, dict):
            for item in value.values():
                self.count_arrays(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self.count_arrays(item)
        elif is_record(value):
            for field in fields(value):
                self.count_arrays(getattr(value, field.name))
        elif is_estimator(value):
            self._described[id(value)] = self._describe(value)
            for part in self._described[id(value)]:
                self.count_arrays(part)

    def value(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if kind is list:
            return [self.value(item) for item in value]
        if kind is tuple:
            return {"$tuple": [self.value(item) for item in value]}
        if kind is dict:
            return self._dict(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if kind is np.ndarray:
            return self._array(value)
        if is_record(value):
            values = {
                field.name: self.value(getattr(value, field.name)) for field in fields(value)
            }
            return {"$record": kind.__name__, **values}
        if is_estimator(value):
            parameters, state = self._described[id(value)]
            return {
                "$estimator": kind.__name__,
                "parameters": self.value(parameters),
                "state": self.value(state),
            }
        if kind.__name__ in SPLITTERS:
            return {"$splitter": kind.__name__, **self.value(splitter_options(value))}
        raise Unwritable(
            f"{value!r:.60} of type {kind.__name__} cannot be written to a model file"
        )

    def _dict(self, value):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.value(item) for key, item in value.items()}
        return {"$dict": [[self.value(key), self.value(item)] for key, item in value.items()]}

    def _scalar(self, value):
        if isinstance(value, np.str_):
            return str(value)
        if value.dtype.name not in NUMBERS:
            raise Unwritable(f"{value!r:.60} cannot be written to a model file")
        return {"$scalar": plain_number(value.item()), "dtype": value.dtype.name}

    def _array(self, value):
        if value.size <= FEW or self._count[id(value)] < 2:
            return write_array(value)
        if id(value) not in self._place:
            self._place[id(value)] = len(self.shared)
            self.shared.append(write_array(value))
        return {"$shared": self._place[id(value)]}


def splitter_options(splitter):
    """The parameters of a scikit-learn splitter."""
    options = {}
    for name, value in vars(splitter).items():
        if name == "cvargs":
            options |= value
        elif name in ("n_splits", "n_repeats", "shuffle", "test_size", "train_size"):
            options[name] = value
        elif name == "random_state" and value is not None:
            if not isinstance(value, int | np.integer):
                raise Unwritable(f"random_state={value!r:.40} cannot be written to a model file")
            options[name] = int(value)
    if type(splitter).__name__.startswith("Leave"):
        return {}
    return {name: value for name, value in options.items() if value is not None}


def plain_number(number):
    if isinstance(number, float) and not math.isfinite(number):
        return repr(number)
    return number


def write_array(array):
    shape = list(array.shape)
    if array.ndim > MOST_DIMENSIONS:
        raise Unwritable(f"an array of {array.ndim} dimensions cannot be written to a model file")
    if array.dtype.kind in "UO":
        return _text_array(array, shape)
    if array.dtype.name not in NUMBERS:
        raise Unwritable(
            f"an array of type {array.dtype} cannot be written to a model file; labels can be "
            "made strings with y.astype(str)"
        )
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    value = {"$array": array.dtype.name, "shape": shape}
    if by_columns:
        value["order"] = "F"
    if array.size <= FEW:
        value["values"] = _nested(array.tolist())
    else:
        plain = np.ascontiguousarray(array, dtype=NUMBERS[array.dtype.name])
        value["base64"] = base64.b64encode(plain.data).decode("ascii")
    return value


def _text_array(array, shape):
    if array.ndim != 1:
        raise Unwritable(f"an array of objects of shape {array.shape} cannot be written")
    values = array.tolist()
    name = "object"
    if array.dtype.kind == "U":
        width = array.dtype.itemsize // 4
        name = f"U{width}"
        if not is_moderate(width, values):
            name = "object"
    elif not all(v is None or type(v) in (str, bool, int, float) for v in values):
        odd = next(v for v in values if not (v is None or type(v) in (str, bool, int, float)))
        raise Unwritable(
            f"{odd!r:.60} of type {type(odd).__name__} in an array cannot be written to a model "
            "file; labels can be made strings with y.astype(str)"
        )
    return {"$array": name, "shape": shape, "values": [boxed(v) for v in values]}


def is_moderate(width, values):
    """Whether fixed-width strings need not much more memory than their content."""
    return len(values) * width * 4 <= 2**24 + 64 * sum(map(len, values))


def boxed(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def _nested(values):
    if isinstance(values, list):
        return [_nested(value) for value in values]
    return plain_number(values)
