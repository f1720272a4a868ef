"""Values of a model from plain JSON values; see `tamis.models._encoding`."""

import base64
import math
from dataclasses import MISSING, fields

import numpy as np

from tamis.models._encoding import (
    FEW,
    MOST_DIMENSIONS,
    NUMBERS,
    SPECIAL,
    SPLITTERS,
    is_moderate,
)
from tamis.models._registry import ESTIMATORS, RECORDS, class_named
from tamis.tables.errors import InputError

__all__ = ["decode"]


def decode(content, shared, build):
    """The model that JSON values stand for; sizes are checked before memory is allocated.

    Parameters
    ----------
    content : dict
    shared : list
        The JSON values of shared arrays.
    build : callable
        Makes an estimator from its name, parameters and state.

    Returns
    -------
    model : estimator or record
    """
    return _Decoder(shared, build).decode(content)


class _Decoder:
    """Decodes values; every declared size is checked before memory is allocated for it."""

    def __init__(self, shared, build):
        if not isinstance(shared, list):
            raise InputError("its 'shared' must be a list of arrays")
        self.build = build
        self.arrays = []
        for value in shared:
            if not isinstance(value, dict) or "$array" not in value:
                raise InputError("its 'shared' must be a list of arrays")
            self.arrays.append(read_array(value))

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
        expect_keys(value, {"$tuple"})
        if not isinstance(value["$tuple"], list):
            raise InputError("a $tuple must be a list")
        return tuple(self.decode(item) for item in value["$tuple"])

    def _dict(self, value):
        expect_keys(value, {"$dict"})
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
        expect_keys(value, {"$float"})
        if not isinstance(value["$float"], str) or value["$float"] not in SPECIAL:
            raise InputError("a $float must be 'nan', 'inf' or '-inf'")
        return SPECIAL[value["$float"]]

    def _scalar(self, value):
        expect_keys(value, {"$scalar", "dtype"})
        return read_numbers([value["$scalar"]], value["dtype"])[0]

    def _array(self, value):
        return read_array(value)

    def _reference(self, value):
        expect_keys(value, {"$shared"})
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
        expect_keys(value, {"$estimator", "parameters", "state"})
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
    "$tuple": _Decoder._tuple,
    "$dict": _Decoder._dict,
    "$float": _Decoder._float,
    "$scalar": _Decoder._scalar,
    "$array": _Decoder._array,
    "$shared": _Decoder._reference,
    "$record": _Decoder._record,
    "$estimator": _Decoder._estimator,
    "$splitter": _Decoder._splitter,
}
assert not set(ESTIMATORS) & set(RECORDS)


def expect_keys(value, keys, optional=frozenset()):
    if not keys <= set(value) <= keys | optional:
        raise InputError(f"{sorted(value)!r:.80} should be {sorted(keys)}")


def read_array(value):
    expect_keys(value, {"$array", "shape"}, {"values", "base64", "order"})
    if ("values" in value) == ("base64" in value):
        raise InputError("an $array must have 'values' or 'base64'")
    shape, name = value["shape"], value["$array"]
    if (
        not isinstance(shape, list)
        or len(shape) > MOST_DIMENSIONS
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
        array = read_numbers(flat, name).reshape(shape)
    return np.asfortranarray(array) if value.get("order") == "F" else array


def _read_bytes(text, name, shape):
    if name not in NUMBERS or not isinstance(text, str):
        raise InputError(f"an $array cannot be of type {name[:40]!r}")
    n_bytes = math.prod(shape) * NUMBERS[name].itemsize
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
    array = np.frombuffer(raw, dtype=NUMBERS[name]).reshape(shape)
    return array.astype(np.dtype(name), copy=True)


def _flatten(values, shape):
    """Flatten nested lists of numbers, which must have the declared shape."""
    if math.prod(shape) > FEW:
        raise InputError(f"an $array of shape {shape} must be written as base64")
    level = [values]
    for size in shape:
        if any(not isinstance(part, list) or len(part) != size for part in level):
            raise InputError(f"the values of an $array do not have its shape {shape}")
        level = [item for part in level for item in part]
    return level


def read_numbers(values, name):
    """Convert numbers to an array of a type; raises InputError if they do not fit."""
    if not isinstance(name, str) or name not in NUMBERS:
        raise InputError(f"numbers cannot be of type {str(name)[:40]!r}")
    kind = np.dtype(name).kind
    allowed = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int)}[kind]
    numbers = []
    for value in values:
        if kind == "f" and isinstance(value, str) and value in SPECIAL:
            value = SPECIAL[value]
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
        if width == 0 or not is_moderate(width, values):
            raise InputError(f"the strings of an $array are not as long as {name} says")
        return np.array(values, dtype=f"<U{width}")
    array = np.empty(len(values), dtype=object)
    for i, item in enumerate(values):
        if isinstance(item, dict):
            if set(item) != {"$float"} or item["$float"] not in tuple(SPECIAL):
                raise InputError("an $array of objects may have strings, numbers and null only")
            item = SPECIAL[item["$float"]]
        if item is not None and type(item) not in (str, bool, int, float):
            raise InputError("an $array of objects may have strings, numbers and null only")
        array[i] = item
    return array
