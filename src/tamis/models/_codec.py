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

import math
from collections import Counter
from dataclasses import MISSING, fields

import numpy as np

from tamis.models._arrays import (
    FEW,
    NUMBERS,
    SPECIAL,
    Unwritable,
    expect_keys,
    plain_number,
    read_array,
    read_numbers,
    write_array,
)
from tamis.models._registry import (
    ESTIMATORS,
    RECORDS,
    class_named,
    is_estimator,
    is_record,
)
from tamis.tables.errors import InputError

__all__ = ["SPLITTERS", "Decoder", "Encoder", "Unwritable", "splitter_options"]

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
