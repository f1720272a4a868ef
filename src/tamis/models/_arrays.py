"""Arrays of a model as plain JSON values, and back; see `tamis.models._codec`."""

import base64
import math

import numpy as np

from tamis.tables.errors import InputError

__all__ = [
    "FEW",
    "NUMBERS",
    "SPECIAL",
    "Unwritable",
    "expect_keys",
    "plain_number",
    "read_array",
    "read_numbers",
    "write_array",
]

FEW = 64
NUMBERS = {
    dtype.__name__.rstrip("_"): np.dtype(dtype).newbyteorder("<")
    for dtype in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64),
    )
}
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOST_DIMENSIONS = 4


class Unwritable(InputError):
    """A value that cannot be written to a model file."""


def plain_number(number):
    if isinstance(number, float) and not math.isfinite(number):
        return repr(number)
    return number


def write_array(array):
    shape = list(array.shape)
    if array.ndim > _MOST_DIMENSIONS:
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
        if not _is_moderate(width, values):
            name = "object"
    elif not all(v is None or type(v) in (str, bool, int, float) for v in values):
        odd = next(v for v in values if not (v is None or type(v) in (str, bool, int, float)))
        raise Unwritable(
            f"{odd!r:.60} of type {type(odd).__name__} in an array cannot be written to a model "
            "file; labels can be made strings with y.astype(str)"
        )
    return {"$array": name, "shape": shape, "values": [boxed(v) for v in values]}


def _is_moderate(width, values):
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
        if width == 0 or not _is_moderate(width, values):
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
