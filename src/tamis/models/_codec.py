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
from dataclasses import MISSING, fields

import numpy as np

from tamis.models._registry import (
    ESTIMATORS,
    RECORDS,
    class_named,
    is_estimator,
    is_record,
)
from tamis.tables.errors import InputError

__all__ = ["SPLITTERS", "Decoder", "Encoder", "Unwritable", "splitter_options"]

_FEW = 64
_NUMBERS = {
    dtype.__name__.rstrip("_"): np.dtype(dtype).newbyteorder("<")
    for dtype in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64),
    )
}
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOST_DIMENSIONS = 4
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


class Unwritable(InputError):
    """A value that cannot be written to a model file."""


class Encoder:
    """Encodes values; arrays that occur more than once are written once.

    Parameters
    ----------
    describe : callable
        Returns the parameters and the state of an estimator, two dicts.
    """

    def __init__(self, describe):
        self._describe = describe
        self._described = {}
        self.shared = []
        self._place = {}
        self._count = Counter()
        self._kept = []  # keeps arrays alive, so that no two have the same id

    def encode(self, model):
        """The JSON value of a model."""
        self._look(model)
        return self._value(model)

    def _look(self, value):
        """Count the arrays."""
        if isinstance(value, np.ndarray):
            self._kept.append(value)
            self._count[id(value)] += 1
        elif isinstance(value, dict):
            for item in value.values():
                self._look(item)
        elif isinstance(value, list | tuple):
            for item in value:
                self._look(item)
        elif is_record(value):
            for field in fields(value):
                self._look(getattr(value, field.name))
        elif is_estimator(value):
            self._described[id(value)] = self._describe(value)
            for part in self._described[id(value)]:
                self._look(part)

    def _value(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if kind is list:
            return [self._value(item) for item in value]
        if kind is tuple:
            return {"$tuple": [self._value(item) for item in value]}
        if kind is dict:
            return self._dict(value)
        if isinstance(value, np.generic):
            return self._scalar(value)
        if kind is np.ndarray:
            return self._array(value)
        if is_record(value):
            values = {
                field.name: self._value(getattr(value, field.name)) for field in fields(value)
            }
            return {"$record": kind.__name__, **values}
        if is_estimator(value):
            parameters, state = self._described[id(value)]
            return {
                "$estimator": kind.__name__,
                "parameters": self._value(parameters),
                "state": self._value(state),
            }
        if kind.__name__ in SPLITTERS:
            return {"$splitter": kind.__name__, **self._value(splitter_options(value))}
        raise Unwritable(
            f"{value!r:.60} of type {kind.__name__} cannot be written to a model file"
        )

    def _dict(self, value):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self._value(item) for key, item in value.items()}
        return {"$dict": [[self._value(key), self._value(item)] for key, item in value.items()]}

    def _scalar(self, value):
        if isinstance(value, np.str_):
            return str(value)
        if value.dtype.name not in _NUMBERS:
            raise Unwritable(f"{value!r:.60} cannot be written to a model file")
        return {"$scalar": _plain(value.item()), "dtype": value.dtype.name}

    def _array(self, value):
        if value.size <= _FEW or self._count[id(value)] < 2:
            return _array_value(value)
        if id(value) not in self._place:
            self._place[id(value)] = len(self.shared)
            self.shared.append(_array_value(value))
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


def _plain(number):
    if isinstance(number, float) and not math.isfinite(number):
        return repr(number)
    return number


def _array_value(array):
    shape = list(array.shape)
    if array.ndim > _MOST_DIMENSIONS:
        raise Unwritable(f"an array of {array.ndim} dimensions cannot be written to a model file")
    if array.dtype.kind in "UO":
        return _text_array(array, shape)
    if array.dtype.name not in _NUMBERS:
        raise Unwritable(
            f"an array of type {array.dtype} cannot be written to a model file; labels can be "
            "made strings with y.astype(str)"
        )
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    value = {"$array": array.dtype.name, "shape": shape}
    if by_columns:
        value["order"] = "F"
    if array.size <= _FEW:
        value["values"] = _nested(array.tolist())
    else:
        plain = np.ascontiguousarray(array, dtype=_NUMBERS[array.dtype.name])
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
        if not _is_moderate(width, values):
            name = "object"
    elif not all(v is None or type(v) in (str, bool, int, float) for v in values):
        odd = next(v for v in values if not (v is None or type(v) in (str, bool, int, float)))
        raise Unwritable(
            f"{odd!r:.60} of type {type(odd).__name__} in an array cannot be written to a model "
            "file; labels can be made strings with y.astype(str)"
        )
    return {"$array": name, "shape": shape, "values": [_boxed(v) for v in values]}


def _is_moderate(width, values):
    """Whether fixed-width strings need not much more memory than their content."""
    return len(values) * width * 4 <= 2**24 + 64 * sum(map(len, values))


def _boxed(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def _nested(values):
    if isinstance(values, list):
        return [_nested(value) for value in values]
    return _plain(values)


class Decoder:
    """Decodes values; every declared size is checked before memory is allocated for it.

    Parameters
    ----------
    shared : list
        The JSON values of shared arrays.
    build : callable
        Makes an estimator from its name, parameters and state.
    """

    def __init__(self, shared, build):
        if not isinstance(shared, list):
            raise InputError("its 'shared' must be a list of arrays")
        self.build = build
        self.arrays = []
        for value in shared:
            if not isinstance(value, dict) or "$array" not in value:
                raise InputError("its 'shared' must be a list of arrays")
            self.arrays.append(_read_array(value))

    def decode(self, value):
        """The value that a JSON value stands for."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        tags = [key for key in value if key.startswith("$")]
        if not tags:
            return {key: self.decode(item) for key, item in value.items()}
        if len(tags) > 1 or tags[0] not in _READERS:
            raise InputError(f"it has {', '.join(map(repr, tags))[:80]}, which is unknown")
        return _READERS[tags[0]](self, value)

    def _tuple(self, value):
        _expect(value, {"$tuple"})
        if not isinstance(value["$tuple"], list):
            raise InputError("a $tuple must be a list")
        return tuple(self.decode(item) for item in value["$tuple"])

    def _dict(self, value):
        _expect(value, {"$dict"})
        pairs = value["$dict"]
        if not isinstance(pairs, list) or any(
            not isinstance(pair, list) or len(pair) != 2 for pair in pairs
        ):
            raise InputError("a $dict must be a list of pairs")
        result = {}
        for key, item in pairs:
            key = self.decode(key)
            if not isinstance(key, str | int | float | bool | np.generic) and key is not None:
                raise InputError("a key of a $dict must be a string or a number")
            result[key] = self.decode(item)
        return result

    def _float(self, value):
        _expect(value, {"$float"})
        if not isinstance(value["$float"], str) or value["$float"] not in _SPECIAL:
            raise InputError("a $float must be 'nan', 'inf' or '-inf'")
        return _SPECIAL[value["$float"]]

    def _scalar(self, value):
        _expect(value, {"$scalar", "dtype"})
        return _numbers([value["$scalar"]], value["dtype"])[0]

    def _array(self, value):
        return _read_array(value)

    def _reference(self, value):
        _expect(value, {"$shared"})
        place = value["$shared"]
        if type(place) is not int or not 0 <= place < len(self.arrays):
            raise InputError("a $shared must be an index of the list 'shared'")
        return self.arrays[place]

    def _record(self, value):
        cls = class_named(value["$record"], RECORDS)
        values = {key: self.decode(item) for key, item in value.items() if key != "$record"}
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise InputError(f"a {cls.__name__} has no field {unknown[0][:60]!r}")
        for field in fields(cls):
            has_default = field.default is not MISSING or field.default_factory is not MISSING
            if field.name not in values and not has_default:
                raise InputError(f"a {cls.__name__} lacks its field {field.name!r}")
        return cls(**values)

    def _estimator(self, value):
        _expect(value, {"$estimator", "parameters", "state"})
        return self.build(
            value["$estimator"], self.decode(value["parameters"]), self.decode(value["state"])
        )

    def _splitter(self, value):
        from sklearn import model_selection

        name = value["$splitter"]
        if not isinstance(name, str) or name not in SPLITTERS:
            raise InputError(f"it names {str(name)[:60]!r}, which is not a known splitter")
        options = {key: item for key, item in value.items() if key != "$splitter"}
        if not all(type(item) in (bool, int, float) for item in options.values()):
            raise InputError(f"the options of {name} must be numbers")
        try:
            return getattr(model_selection, name)(**options)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} cannot have such options") from error


_READERS = {
    "$tuple": Decoder._tuple,
    "$dict": Decoder._dict,
    "$float": Decoder._float,
    "$scalar": Decoder._scalar,
    "$array": Decoder._array,
    "$shared": Decoder._reference,
    "$record": Decoder._record,
    "$estimator": Decoder._estimator,
    "$splitter": Decoder._splitter,
}
assert not set(ESTIMATORS) & set(RECORDS)


def _expect(value, keys, optional=frozenset()):
    if not keys <= set(value) <= keys | optional:
        raise InputError(f"{sorted(value)!r:.80} should be {sorted(keys)}")


def _read_array(value):
    _expect(value, {"$array", "shape"}, {"values", "base64", "order"})
    if ("values" in value) == ("base64" in value):
        raise InputError("an $array must have 'values' or 'base64'")
    shape, name = value["shape"], value["$array"]
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_DIMENSIONS
        or any(type(size) is not int or not 0 <= size < 2**48 for size in shape)
    ):
        raise InputError(f"the shape of an $array must be a few integers >= 0, got {shape!r:.60}")
    if not isinstance(name, str) or value.get("order", "C") not in ("C", "F"):
        raise InputError("an $array must name its type, and its order 'C' or 'F'")
    if name == "object" or name[:1] == "U":
        array = _read_texts(value, name, shape)
    elif "base64" in value:
        array = _read_bytes(value["base64"], name, shape)
    else:
        flat = _flatten(value["values"], shape)
        array = _numbers(flat, name).reshape(shape)
    return np.asfortranarray(array) if value.get("order") == "F" else array


def _read_bytes(text, name, shape):
    if name not in _NUMBERS or not isinstance(text, str):
        raise InputError(f"an $array cannot be of type {name[:40]!r}")
    n_bytes = math.prod(shape) * _NUMBERS[name].itemsize
    if len(text) != 4 * -(-n_bytes // 3):
        raise InputError(f"an $array of shape {shape} and type {name} needs {n_bytes} bytes")
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise InputError("an $array has characters that are not base64") from error
    if len(raw) != n_bytes:
        raise InputError(f"an $array of shape {shape} and type {name} needs {n_bytes} bytes")
    if name == "bool" and n_bytes and max(raw) > 1:
        raise InputError("an $array of type bool must have bytes 0 and 1")
    array = np.frombuffer(raw, dtype=_NUMBERS[name]).reshape(shape)
    return array.astype(np.dtype(name), copy=True)


def _flatten(values, shape):
    """Flatten nested lists of numbers, which must have the declared shape."""
    if math.prod(shape) > _FEW:
        raise InputError(f"an $array of shape {shape} must be written as base64")
    level = [values]
    for size in shape:
        if any(not isinstance(part, list) or len(part) != size for part in level):
            raise InputError(f"the values of an $array do not have its shape {shape}")
        level = [item for part in level for item in part]
    return level


def _numbers(values, name):
    """Convert numbers to an array of a type; raises InputError if they do not fit."""
    if not isinstance(name, str) or name not in _NUMBERS:
        raise InputError(f"numbers cannot be of type {str(name)[:40]!r}")
    kind = np.dtype(name).kind
    allowed = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int)}[kind]
    numbers = []
    for value in values:
        if kind == "f" and isinstance(value, str) and value in _SPECIAL:
            value = _SPECIAL[value]
        if type(value) not in allowed:
            raise InputError(f"{value!r:.40} is not a number of type {name}")
        numbers.append(value)
    try:
        with np.errstate(over="ignore"):
            return np.array(numbers, dtype=name)
    except (OverflowError, ValueError) as error:
        raise InputError(f"a number is too large for the type {name}") from error


def _read_texts(value, name, shape):
    values = value.get("values")
    if len(shape) != 1 or not isinstance(values, list) or len(values) != shape[0]:
        raise InputError("the values of an $array do not have its shape")
    if name != "object":
        if not name[1:].isascii() or not name[1:].isdigit() or len(name) > 8:
            raise InputError(f"an $array cannot be of type {name[:40]!r}")
        width = int(name[1:])
        if not all(isinstance(v, str) and len(v) <= width for v in values):
            raise InputError(f"the values of an $array are not strings of at most {width}")
        if width == 0 or not _is_moderate(width, values):
            raise InputError(f"the strings of an $array are not as long as {name} says")
        return np.array(values, dtype=f"<U{width}")
    array = np.empty(len(values), dtype=object)
    for i, item in enumerate(values):
        if isinstance(item, dict):
            if set(item) != {"$float"} or item["$float"] not in tuple(_SPECIAL):
                raise InputError("an $array of objects may have strings, numbers and null only")
            item = _SPECIAL[item["$float"]]
        if item is not None and type(item) not in (str, bool, int, float):
            raise InputError("an $array of objects may have strings, numbers and null only")
        array[i] = item
    return array
