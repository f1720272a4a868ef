"""Parameters and other Python values as plain JSON values, and back.

None, booleans, integers, strings, finite floats, lists, and dicts with string keys are themselves.
Anything else is an object with one key that begins with "$":

- ``{"$float": "nan"}``, also "inf" and "-inf";
- ``{"$tuple": [...]}``; ``{"$pairs": [[key, value], ...]}`` for a dict with other keys;
- ``{"$array": [...], "type": "int64"}``, an array of numbers, strings or objects;
- ``{"$splitter": "KFold", ...}``, how folds are made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["SPLITTERS", "read_value", "write_value"]

SPLITTERS = (
    *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut"),
    *("RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold"),
    *("StratifiedKFold", "StratifiedShuffleSplit"),
)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DEEPEST = 50
_TYPES = (
    *("bool", "float16", "float32", "float64", "object", "str"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)


def write_value(value: Any, depth: int = 0) -> Any:
    """The plain form of a value; raises TypeError if it has none."""
    if depth > _DEEPEST:
        raise TypeError("values nested so deeply cannot be written")
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if type(value) is np.ndarray and value.dtype.kind in "biufUO":
        items = write_value(value.tolist(), depth + 1)
        return {"$array": items, "type": "str" if value.dtype.kind == "U" else value.dtype.name}
    if type(value) is list:
        return [write_value(item, depth + 1) for item in value]
    if type(value) is tuple:
        return {"$tuple": write_value(list(value), depth + 1)}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: write_value(item, depth + 1) for key, item in value.items()}
        return {"$pairs": write_value([list(pair) for pair in value.items()], depth + 1)}
    if type(value).__name__ in SPLITTERS:
        return {"$splitter": type(value).__name__, **_options(value)}
    raise TypeError(f"{value!r:.60} of type {type(value).__name__} cannot be written")


def read_value(value: Any) -> Any:
    """The value that a plain one stands for; raises ValueError if there is none."""
    if isinstance(value, list):
        return [read_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if isinstance(key, str) and key.startswith("$")), None)
    if tag is None:
        return {key: read_value(item) for key, item in value.items()}
    given = value[tag]
    others = {key: item for key, item in value.items() if key != tag}
    if tag == "$splitter" and isinstance(given, str) and given in SPLITTERS:
        return _splitter(given, others)
    if tag == "$array" and isinstance(given, list) and set(others) == {"type"}:
        return _array(read_value(given), others["type"])
    if not others:
        if tag == "$float" and isinstance(given, str) and given in _SPECIAL:
            return _SPECIAL[given]
        if tag == "$tuple" and isinstance(given, list):
            return tuple(read_value(item) for item in given)
        if tag == "$pairs" and isinstance(given, list):
            return _dict(given)
    raise ValueError(f"{tag[:40]!r} is unknown, or not as it should be")


def _dict(pairs):
    result = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("$pairs must be a list of pairs")
        key = read_value(pair[0])
        if key is not None and type(key) not in (str, int, float, bool):
            raise ValueError("a key in $pairs must be a string or a number")
        result[key] = read_value(pair[1])
    return result


def _array(items, kind):
    if kind not in _TYPES:
        raise ValueError("an $array must name its type")
    try:
        with np.errstate(over="ignore"):
            return np.array(items, dtype=kind)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"the values of an $array are not of type {kind}") from error


def _options(splitter):
    """The parameters of a scikit-learn splitter."""
    if type(splitter).__name__.startswith("Leave"):
        return {}
    options = {}
    for name, value in vars(splitter).items():
        if name == "cvargs":
            options |= value
        elif name in ("n_splits", "n_repeats", "shuffle", "test_size", "train_size"):
            options[name] = value
        elif name == "random_state" and value is not None:
            if not isinstance(value, int | np.integer):
                raise TypeError(f"random_state={value!r:.40} cannot be written")
            options[name] = int(value)
    return {name: value for name, value in options.items() if value is not None}


def _splitter(name, options):
    from sklearn import model_selection

    if not all(type(item) in (bool, int, float) for item in options.values()):
        raise ValueError(f"the options of {name} must be numbers")
    try:
        return getattr(model_selection, name)(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot have such options") from error
