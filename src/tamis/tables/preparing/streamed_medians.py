r"""Exact medians of columns with missing values and weights, over chunks of rows.

For a column with known values :math:`x_i` and weights :math:`w_i` the median is the smallest value
v with :math:`W(v) = \sum_{x_i \le v} w_i \ge W(\infty) / 2`, or the mean of v and the next larger
value where this is an equality. A pass looks at an interval [low, high] of each column and
collects

- the weight of all known values and of those below the interval, and the smallest value above it,
- the values inside with their weights, unless there are too many,
- the weights of 256 equal parts of the interval, where values are ordered integers (the bits of a
  float, with negative ones reversed), so that the parts suit every scale.

If all values inside were collected, they give the median. Otherwise the interval becomes the part
that holds it, 1/256 as wide, and another pass follows. The first interval comes from a sample of
the rows, where the median of all rows is expected within four standard errors,
:math:`1/2 \pm 4 / (2 \sqrt m)` for m known values: usually one pass is enough. If it is not
inside, the next interval is larger. Nothing here depends on the size of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._passes import Remember

_PARTS = 256
_TOP = np.uint64(1 << 63)
_LAST = 2**64 - 1
_FEWEST_VALUES = 100
# As in `tamis._base.weighted_median`.
_TIE = 1e-12

#: Makes one pass: calls a task with values (n_rows, n_columns) and weights, merges the results.
Run = Callable[[Callable[[NDArray, NDArray | None], Any], Callable[[Any, Any], Any]], Any]


def _keys(values):
    """Order-preserving integers of floats."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _TOP, ~bits, bits | _TOP)


@dataclass
class Bracket:
    """What a pass found about an interval of one column."""

    # low, high: ends of the interval, as keys; both belong to it.
    low: int
    high: int
    most: int  # largest number of values to collect
    empty: float = 0.0  # the median of no values
    # total, below: weight of all known values, and of those below the interval.
    total: float = 0.0
    below: float = 0.0
    above: float = np.inf  # smallest value above the interval
    # (256,): weights of the parts of the interval.
    parts: NDArray = field(default_factory=lambda: np.zeros(_PARTS))
    # values, weights: values inside the interval with their weights.
    values: NDArray = field(default_factory=lambda: np.zeros(0))
    weights: NDArray = field(default_factory=lambda: np.zeros(0))
    n_inside: int = 0  # number of these values; they were not collected if it exceeds `most`

    def look(self, column: NDArray, weights: NDArray | None) -> Bracket:
        """The interval, with what some rows have there."""
        known = ~np.isnan(column)
        if weights is not None:
            known &= weights > 0
        column = column[known]
        mass = np.ones(column.size) if weights is None else weights[known]
        keys = _keys(column)
        below, above = keys < np.uint64(self.low), keys > np.uint64(self.high)
        inside = ~(below | above)
        part = (keys[inside] - np.uint64(self.low)) // np.uint64(self._width)
        return Bracket(
            self.low,
            self.high,
            self.most,
            self.empty,
            float(mass.sum()),
            float(mass[below].sum()),
            float(column[above].min(initial=np.inf)),
            np.bincount(part.astype(np.intp), mass[inside], _PARTS),
            column[inside],
            mass[inside],
            int(np.count_nonzero(inside)),
        )

    @property
    def _width(self):
        """Keys of a part."""
        return (self.high - self.low) // _PARTS + 1

    def merge(self, other: Bracket) -> Bracket:
        """Of the rows of both."""
        n_inside = self.n_inside + other.n_inside
        values = weights = np.zeros(0)
        if n_inside <= self.most:
            values = np.concatenate([self.values, other.values])
            weights = np.concatenate([self.weights, other.weights])
        return Bracket(
            self.low,
            self.high,
            self.most,
            self.empty,
            self.total + other.total,
            self.below + other.below,
            min(self.above, other.above),
            self.parts + other.parts,
            values,
            weights,
            n_inside,
        )

    def median(self) -> float | Bracket:
        """The median, or the interval to look at next."""
        if self.total == 0:
            return self.empty
        half = self.total / 2
        enough = half * (1 - _TIE)
        inside = float(self.parts.sum())
        if self.low > 0 and self.below >= enough:  # below, or next to the interval
            return Bracket(0, _LAST, self.most, self.empty)
        if self.below + inside < enough:
            return Bracket(self.high + 1, _LAST, self.most, self.empty)
        if self.n_inside <= self.most:
            order = np.argsort(self.values, kind="stable")
            values, mass = self.values[order], self.below + np.cumsum(self.weights[order])
            i = min(int(np.searchsorted(mass, enough)), values.size - 1)
            if abs(mass[i] - half) > _TIE * half:
                return float(values[i])
            following = values[i + 1] if i + 1 < values.size else self.above
            return float(values[i] if np.isinf(following) else (values[i] + following) / 2)
        mass = self.below + np.cumsum(self.parts)
        part = min(int(np.searchsorted(mass, enough)), _PARTS - 1)
        if self._width == 1:  # many equal values
            return self._of_key(self.low + part, mass[part] - half, half)
        low = self.low + part * self._width
        # If the median is between two values, the other one is in the part, or above it.
        return Bracket(low, min(low + self._width - 1, self.high), self.most, self.empty)

    def _of_key(self, key, excess, half):
        value = _value_of(key)
        if abs(excess) > _TIE * half:
            return value
        later = np.flatnonzero(self.parts[key - self.low + 1 :])
        following = _value_of(key + 1 + int(later[0])) if later.size else self.above
        return value if np.isinf(following) else (value + following) / 2


def _value_of(key):
    bits = np.uint64(key)
    bits = bits ^ _TOP if bits & _TOP else ~bits
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def first_brackets(sample: NDArray, most: int, empty: float = 0.0) -> list[Bracket]:
    """Where the medians of all rows are expected.

    `sample` (n_sample, n_columns): values of a random sample of the rows, NaN where missing;
    `empty`: the median of a column without any value.
    """
    brackets = []
    for column in sample.T:
        values = column[~np.isnan(column)]
        low, high = 0, _LAST
        if values.size >= _FEWEST_VALUES:
            reach = 2.0 / np.sqrt(values.size)
            ends = np.quantile(values, [max(0.0, 0.5 - reach), min(1.0, 0.5 + reach)])
            low, high = (int(key) for key in _keys(ends))
        brackets.append(Bracket(low, high, most, empty))
    return brackets


def find_medians(
    run: Run, brackets: list[Bracket], remember: Remember = lambda make: make()
) -> NDArray[np.float64]:
    """Medians of columns; those of a column without any value are what its bracket says.

    Returns `medians` (n_columns,).
    """
    medians = np.zeros(len(brackets))
    left = dict(enumerate(brackets))
    while left:
        found = remember(partial(_look_once, run, left))
        done = found["is_found"]
        medians[found["places"][done]] = found["medians"][done]
        ends = zip(found["places"], found["low"], found["high"], strict=True)
        left = {
            int(j): replace(brackets[j], low=int(low), high=int(high))
            for (j, low, high), is_found in zip(ends, done, strict=True)
            if not is_found
        }
    return medians


def _look_once(run, left):
    """One pass: the medians that it finds, and the next intervals of other columns."""

    def look(values, weights):
        return [bracket.look(values[:, j], weights) for j, bracket in left.items()]

    def merge(one, other):
        return [a.merge(b) for a, b in zip(one, other, strict=True)]

    answers = [bracket.median() for bracket in run(look, merge)]
    is_next = [isinstance(answer, Bracket) for answer in answers]
    pairs = list(zip(answers, is_next, strict=True))
    return {
        "places": np.array(list(left)),
        "is_found": ~np.array(is_next),
        "medians": np.array([0.0 if more else answer for answer, more in pairs]),
        "low": np.array([a.low if more else 0 for a, more in pairs], dtype=np.uint64),
        "high": np.array([a.high if more else 0 for a, more in pairs], dtype=np.uint64),
    }
