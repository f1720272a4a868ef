"""The answers of a points card: ranges of a number, or categories."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tamis.report.questionnaire.fields import Field

# Most ranges of a number, and rows that a range or a category has at least.
_MOST_RANGES, _FEWEST_ROWS, _SMALLEST_SHARE = 4, 5, 0.05
# How far from a quartile a rounder number may be, as a share of the rows.
_NEAR = 0.03
# Few whole numbers are counts or grades: nothing lies between them.
_FEW_VALUES = 20


@dataclass(frozen=True)
class Levels:
    """The possible answers to one question of a card."""

    field: Field
    cuts: list[float]  # numbers: where ranges begin, after the first
    # Choices: those that have a level of their own; the last level has all others.
    categories: list[str]
    texts: list[str]  # what the card says
    unknown: int  # the level of an answer that is not available: as in prediction
    # 1 if points may only grow along a number, -1 if they may only shrink, 0 otherwise.
    sign: float = 0.0

    def assign(self, values: NDArray) -> NDArray[np.intp]:
        """The level of each row.

        `values` (n_rows, n_columns): columns of the field, before words are weighted; NaN where
        missing.
        """
        missing = np.isnan(values).any(axis=1)
        values = np.where(np.isnan(values), 0.0, values)
        if self.field.kind == "choice":
            place = {c: at for at, c in enumerate(self.categories)}
            known = [place.get(c, len(self.categories)) for c in self.field.categories]
            # Rows without any column are in the last level.
            at = np.array([*known, len(self.categories)])
            column = np.where(values.any(axis=1), values.argmax(axis=1), len(known))
            level = np.minimum(at[column], len(self.texts) - 1)
        else:
            level = np.searchsorted(self.cuts, values[:, 0], side="right")
        return np.where(missing, self.unknown, level).astype(np.intp)

    def design(self, level: NDArray) -> NDArray[np.float64]:
        """Columns for a regression: steps between neighbouring ranges, or one per category.

        A ridge on steps draws neighbouring ranges together.
        """
        n_levels = len(self.texts)
        if self.field.kind == "choice":
            return (level[:, None] == np.arange(n_levels)).astype(float)
        return (level[:, None] >= np.arange(1, n_levels)).astype(float)

    def signs(self) -> NDArray[np.float64]:
        """The sign that each coefficient of `design` must have; 0: any."""
        n_columns = len(self.texts) - (self.field.kind != "choice")
        return np.full(n_columns, self.sign)

    def allows(self, points: NDArray) -> bool:
        """Whether the points have the right direction."""
        return bool((self.sign * np.diff(points) >= 0).all())

    def merged(self, points: NDArray) -> list[tuple[str, int]]:
        """What the card says, and the points; answers with equal points are one line."""
        if self.field.kind != "choice":
            kept = [at for at in range(len(self.cuts)) if points[at] != points[at + 1]]
            texts = _tell(self.field, [self.cuts[at] for at in kept])
            return list(zip(texts, [int(points[at]) for at in [*kept, -1]], strict=True))
        lines: dict[int, list[str]] = {}
        for text, value in zip(self.texts, points.tolist(), strict=True):
            lines.setdefault(value, []).append(text)
        return [(" or ".join(lines[value]), value) for value in sorted(lines)]

    def weights(self, coefficients: NDArray) -> NDArray[np.float64]:
        """The weight of each level, the smallest 0."""
        if self.field.kind != "choice":
            coefficients = np.concatenate([[0.0], np.cumsum(coefficients)])
        return coefficients - coefficients.min()


def make_levels(field: Field, values: NDArray, sign: float = 0.0) -> Levels:
    """Cut a number near its quartiles, or take the categories that are frequent enough.

    `values` (n_rows, n_columns): training rows, NaN where missing.
    """
    present = values[~np.isnan(values).any(axis=1)]
    fewest = max(_FEWEST_ROWS, _SMALLEST_SHARE * len(present))
    if field.kind == "choice":
        return _of_categories(field, present, fewest)
    return _of_numbers(field, np.sort(present[:, 0]), fewest, sign)


def _of_categories(field, present, fewest):
    counts = present.sum(axis=0)
    often = [c for c, n in zip(field.categories, counts, strict=True) if n >= fewest]
    # As the features file orders them.
    often.sort(key=field.choices.index)
    rest = [choice for choice in field.choices if choice not in often]
    texts = [*often, *([_either(rest)] if rest or not often else [])]
    levels = Levels(field, [], often, texts, 0)
    filled = int(levels.assign(np.array([field.fill]))[0])
    return Levels(field, [], often, texts, filled)


def _either(rest):
    return " or ".join(rest) if 0 < len(rest) <= 3 else "any other"


def _of_numbers(field, ordered, fewest, sign):
    cuts: list[float] = []
    start, n = 0, ordered.size
    values = np.unique(ordered)
    if field.kind == "number" and values.size <= _FEW_VALUES and (values == values.round()).all():
        field = replace(field, kind="integer")
    for k in range(1, _MOST_RANGES):
        # A round number near the quartile; rows with the same value stay together.
        near = [round(n * (k / _MOST_RANGES + side * _NEAR)) for side in (-1, 0, 1)]
        low, middle, high = (ordered[min(max(at, 0), n - 1)] for at in near) if n else (0, 0, 0)
        if low == high:  # many rows have this value: cut below it, or above the smallest
            at = int(np.searchsorted(ordered, middle, side="left")) if n else 0
            at = at if at > start else int(np.searchsorted(ordered, middle, side="right"))
            if not 0 < at < n:
                continue
            low, middle, high = ordered[at - 1], ordered[at], ordered[at]
        cut = _round_between(float(low), float(middle), float(high))
        at = int(np.searchsorted(ordered, cut, side="left"))
        if at - start < fewest or n - at < fewest:
            continue
        cuts.append(cut)
        start = at
    unknown = int(np.searchsorted(cuts, field.fill[0], side="right"))
    return Levels(field, cuts, [], _tell(field, cuts), unknown, sign)


def _round_between(low, middle, high):
    """The number with the fewest digits above `low` and at most `high`, near the middle."""
    size = math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(18):
        decimals = digits - size
        for found in (round(middle, decimals), math.floor(high * 10.0**decimals) / 10.0**decimals):
            found = round(found, max(decimals, 0))
            if low < found <= high:
                return found
    return high


def _tell(field, cuts):
    whole = field.kind in ("integer", "count")
    unit = f" {field.unit}" if field.unit else ""
    if field.is_percent:
        cuts = [round(100 * cut, 9) for cut in cuts]
    if not cuts:
        return ["any value"]
    texts = [f"below {cuts[0]:.12g}{unit}"]
    if whole and field.low == 0:
        last = math.ceil(cuts[0]) - 1
        texts = [f"0 to {last}{unit}" if last else f"0{unit}"]
    for low, high in pairwise(cuts):
        if whole:
            last = math.ceil(high) - 1
            single = math.ceil(low) == last
            texts.append(f"{last}{unit}" if single else f"{math.ceil(low)} to {last}{unit}")
        else:
            texts.append(f"{low:.12g} to below {high:.12g}{unit}")
    return [*texts, f"{cuts[-1]:.12g}{unit} or more"]
