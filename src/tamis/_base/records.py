"""Arrays and numbers as plain values of a record, and back, all checked.

A record holds numbers, strings, lists and dicts only, so it can be written as JSON. NaN is None,
and infinities are "inf" and "-inf". Arrays are nested lists; one of more than `LONGEST` numbers is
``{"$array": "float64", "shape": [...], "base64": "..."}``, its bytes, little-endian, row by row.
Rows that repeat can be ``{"$array": "float64", "shape": [...], "of": ..., "at": ...}``: the i-th
row is row ``at[i]`` of ``of``, two such arrays.

Kernels index without bounds checks, so whoever reads a record checks all indices.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._base.plain_values import read_value

__all__ = ["Record", "plain"]

LONGEST = 1 << 16
_SPECIAL = {None: math.nan, "inf": math.inf, "-inf": -math.inf}
_PACKED = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("float64", "float32", "int64", "int32", "int16", "int8", "bool")
}
# A row has at most so many times the bytes of its index, so that short files stay short in memory.
_MOST_TIMES = 64


def plain(value: ArrayLike | None, longest: int = LONGEST, *, compact: bool = False) -> Any:
    """Numbers as a record holds them: as bytes if there are more than `longest`.

    If `compact`, integers have as few bytes as they need, and rows that repeat are written once.
    """
    if value is None:
        return None
    array = np.asarray(value)
    if array.size > longest:
        return _compact(array) if compact else _packed(array)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return _spelled(array.tolist())
    return array.tolist()


def _packed(array):
    kind = array.dtype.name if array.dtype.name in _PACKED else "float64"
    raw = np.ascontiguousarray(array, dtype=_PACKED[kind])
    text = base64.b64encode(raw.data).decode("ascii")
    return {"$array": kind, "shape": list(array.shape), "base64": text}


def _compact(array):
    if array.dtype.kind == "i":
        largest = max(int(array.max()), -1 - int(array.min()))
        return _packed(array.astype(np.min_scalar_type(-1 - largest)))
    # Compared as bits, so that every number comes back as it was.
    bits = np.ascontiguousarray(array).view(f"u{array.itemsize}")
    rows, at = np.unique(bits, axis=0, return_inverse=True)
    at = at.reshape(-1).astype(np.min_scalar_type(-len(rows)))
    n_bytes = array.nbytes // len(array)
    if rows.nbytes + at.nbytes > 0.8 * array.nbytes or n_bytes > _MOST_TIMES * at.itemsize:
        return _packed(array)
    of = _packed(rows.view(array.dtype))
    return {"$array": of["$array"], "shape": list(array.shape), "of": of, "at": _packed(at)}


def _spelled(value):
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if math.isfinite(value):
        return value
    return None if value != value else repr(value)


class Record:
    """An object of a record that is being read: values are taken by name, and checked.

    All methods raise ValueError, with the name of the value, unless it is as they require.

    `where`: what the names of its values begin with in messages.
    """

    def __init__(self, values: Any, where: str = "") -> None:
        self.where = where
        if not isinstance(values, Mapping):
            raise ValueError(f"{where.rstrip('.') or 'A record'} must be an object.")
        self._left = dict(values)

    def rest(self) -> dict[str, Any]:
        """All values that are left, taken as they are."""
        left, self._left = self._left, {}
        return left

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def require(self, condition: Any, key: str, expected: str) -> None:
        """Raise unless `condition` holds."""
        if not condition:
            raise ValueError(f"{self.where}{key} must be {expected}.")

    def take(self, key: str) -> Any:
        """The value as it is."""
        if key not in self._left:
            raise ValueError(f"{self.where}{key} is missing.")
        return self._left.pop(key)

    def finish(self) -> None:
        """Raise if there are values that nobody took."""
        for key in self._left:
            self.require(False, str(key)[:60], "absent: it does not belong there")

    def part(self, key: str) -> Record:
        """An object."""
        return Record(self.take(key), f"{self.where}{key}.")

    def optional(self, key: str) -> Record | None:
        """An object, or None."""
        if self.peek(key) is None:
            self.take(key)
            return None
        return self.part(key)

    def peek(self, key: str) -> Any:
        """The value, which stays to be taken; None if there is none."""
        return self._left.get(key)

    def parts(self, key: str) -> list[Record]:
        """A list of at least one object."""
        items = self.take(key)
        self.require(type(items) is list and items, key, "a list that is not empty")
        return [Record(item, f"{self.where}{key}[{i}].") for i, item in enumerate(items)]

    def number(
        self,
        key: str,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        above: float | None = None,
        finite: bool = True,
    ) -> float:
        """A number from `low` to `high`, or above `above`; anything at all if not `finite`."""
        value = self.take(key)
        if not finite and (value is None or isinstance(value, str)) and value in _SPECIAL:
            return _SPECIAL[value]
        is_number = type(value) in (int, float) and (type(value) is float or abs(value) < 2**62)
        self.require(is_number and math.isfinite(value), key, "a finite number")
        self.require(above is None or value > above, key, _above(above))
        self.require(low <= value <= high, key, f"from {low:g} to {high:g}")
        return float(value)

    def number_or_none(self, key: str, *limits: float, above: float | None = None) -> float | None:
        """A finite number, or None."""
        if key in self and self.peek(key) is None:
            return self.take(key)
        return self.number(key, *limits, above=above)

    def integer(self, key: str, low: int = 0, high: int = 2**62) -> int:
        """An integer from `low` to `high`."""
        value = self.take(key)
        is_one = type(value) is int and low <= value <= high
        self.require(is_one, key, f"an integer from {low} to {high}")
        return value

    def flag(self, key: str) -> bool:
        """True or False."""
        value = self.take(key)
        self.require(type(value) is bool, key, "true or false")
        return value

    def choice(self, key: str, known: Iterable[str | None]) -> Any:
        """One of a few strings, or None if it is among them."""
        value, known = self.take(key), tuple(known)
        is_one = (value is None or isinstance(value, str)) and value in known
        self.require(is_one, key, f"one of {', '.join(map(repr, known))}")
        return value

    def strings(self, key: str, n: int | None = None, *, distinct: bool = True) -> list[str]:
        """A list of strings, `n` of them if given."""
        value = self.take(key)
        is_list = type(value) is list and all(type(item) is str for item in value)
        self.require(is_list and n in (None, len(value)), key, f"{n or 'a list of'} strings")
        self.require(not distinct or len(set(value)) == len(value), key, "different strings")
        return value

    def numbers(
        self,
        key: str,
        shape: Sequence[int | None],
        dtype: str | None = "float64",
        *,
        low: float | None = None,
        high: float | None = None,
        above: float | None = None,
        finite: bool = True,
        nan: bool = False,
    ) -> NDArray:
        """An array in C order.

        `shape`: its shape; None: any size. `dtype`: its type; None: int64 or float64, as it was
        written. `low`, `high`, `above`: limits. `finite`, `nan`: whether infinity raises an error;
        whether NaN does not.
        """
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        expected = f"numbers of shape ({wanted}{',' * (len(shape) == 1)})"
        found = self._array(key, self.take(key), len(shape), nan or not finite, expected)
        if found.size == 0 and found.ndim < len(shape) and shape[0] in (None, 0):
            found = found.reshape(0, *(size or 0 for size in shape[1:]))
        same = found.ndim == len(shape) and all(
            size in (None, n) for size, n in zip(shape, found.shape, strict=True)
        )
        self.require(same, key, expected)
        if dtype is None:
            dtype = "int64" if found.dtype.kind in "iu" else "float64"
        is_whole = np.dtype(dtype).kind != "f"
        self.require(not is_whole or found.dtype.kind in "iu" or not found.size, key, "integers")
        if found.dtype.kind == "f":
            self.require(nan or not np.isnan(found).any(), key, "finite")
            self.require(not finite or not np.isinf(found).any(), key, "finite")
        if is_whole and found.size:
            kind = np.iinfo(dtype)
            fits = kind.min <= int(found.min()) and int(found.max()) <= kind.max
            self.require(fits, key, f"integers of type {dtype}")
        with np.errstate(invalid="ignore", over="ignore"):
            self.require(low is None or not (found < low).any(), key, f"at least {low}")
            self.require(high is None or not (found > high).any(), key, f"at most {high}")
            self.require(above is None or not (found <= above).any(), key, _above(above))
            found = np.ascontiguousarray(found, dtype=dtype).reshape(found.shape)
            narrow = np.isinf(found).any() if found.dtype == np.float32 and finite else False
        self.require(not narrow, key, "numbers of type float32")
        return found

    def _array(self, key, value, n_dimensions, special, expected):
        """An array of int64 or float64 from lists or bytes, of any shape."""
        if isinstance(value, dict):
            return self._unpack(key, value)
        self.require(type(value) is list or n_dimensions == 0, key, expected)
        try:
            found = np.asarray(value)
            if found.dtype.kind not in "iuf" and found.size:
                self.require(special and n_dimensions > 0, key, expected)
                found = np.array(_replaced(value), dtype=np.float64)
        except (ValueError, TypeError, OverflowError, RecursionError):
            self.require(False, key, expected)
        return found

    def _unpack(self, key, value):
        if set(value) == {"$array", "shape", "of", "at"}:
            return self._repeat(key, **{k.strip("$"): v for k, v in value.items()})
        shape, text = value.get("shape"), value.get("base64")
        kind = _PACKED.get(value.get("$array")) if isinstance(value.get("$array"), str) else None
        fits = (
            set(value) == {"$array", "shape", "base64"}
            and kind is not None
            and isinstance(text, str)
            and isinstance(shape, list)
            and len(shape) < 4
            and all(type(size) is int and 0 <= size < 2**48 for size in shape)
            and len(text) == 4 * -(-math.prod(shape) * kind.itemsize // 3)
        )
        self.require(fits, key, "an array whose bytes have its shape")
        try:
            raw = base64.b64decode(text, validate=True)
            found = np.frombuffer(raw, dtype=kind).reshape(shape)
        except ValueError:
            self.require(False, key, "an array whose bytes have its shape")
        if kind == np.bool_:
            self.require(not raw or max(raw) < 2, key, "an array of 0 and 1")
            return found.astype(np.int64)
        return found.astype(kind.newbyteorder("="))

    def _repeat(self, key, array, shape, of, at):
        both = all(isinstance(part, dict) and "base64" in part for part in (of, at))
        self.require(both, key, "rows and which of them")
        rows, places = self._unpack(key, of), self._unpack(key, at)
        fits = (
            of["$array"] == array
            and places.ndim == 1
            and places.dtype.kind == "i"
            and rows.ndim > 0
            and shape == [places.size, *rows.shape[1:]]
            and rows.nbytes <= _MOST_TIMES * places.itemsize * rows.shape[0]
        )
        self.require(fits, key, "rows and which of them")
        inside = not places.size or (places.min() >= 0 and places.max() < rows.shape[0])
        self.require(inside, key, "rows that there are")
        return rows[places]

    def indices(
        self,
        key: str,
        below: int,
        n: int | None = None,
        *,
        ascending: bool = False,
        distinct: bool = False,
    ) -> NDArray[np.int64]:
        """Indices from 0 to `below` - 1; `n` of them, if given."""
        order = "ascending " if ascending else "different " if distinct else ""
        expected = f"{order}indices below {below}" + ("" if n is None else f", {n} of them")
        found = self._array(key, self.take(key), 1, False, expected)
        fits = found.ndim == 1 and (found.dtype.kind in "iu" or not found.size)
        self.require(fits and n in (None, found.size), key, expected)
        if found.size:
            self.require(found.min() >= 0 and found.max() < below, key, expected)
        found = found.astype(np.int64)
        self.require(not ascending or (np.diff(found) > 0).all(), key, expected)
        self.require(not distinct or np.unique(found).size == found.size, key, expected)
        return found

    def mask(self, key: str, n: int) -> NDArray[np.bool_]:
        """A mask of `n`, from the ascending indices of what is true."""
        found = np.zeros(n, dtype=bool)
        found[self.indices(key, n, ascending=True)] = True
        return found

    def table(self, key: str, columns: Sequence[str]) -> dict[str, NDArray]:
        """A table with one number per level in each column; the first column is finite."""
        table = self.part(key)
        first = table.numbers(columns[0], (None,), None, finite=False)
        self.require(first.size > 0, key, "of one level at least")
        found = {columns[0]: first}
        for name in columns[1:]:
            found[name] = table.numbers(name, (first.size,), None, finite=False, nan=True)
        table.finish()
        return found

    def value(self, key: str) -> Any:
        """Anything that `write_value` wrote."""
        try:
            return read_value(self.take(key))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.where}{key} must be plain values: {error}.") from None


def _above(limit):
    return "positive" if limit == 0 else f"above {limit}"


def _replaced(value):
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if value is None or isinstance(value, str):
        if value not in _SPECIAL:
            raise ValueError("not a number")
        return _SPECIAL[value]
    if type(value) not in (int, float):
        raise ValueError("not a number")
    return value
