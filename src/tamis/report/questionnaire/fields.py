"""What a person is asked for: one field per raw column, and how answers become numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.limits import read_limit
from tamis.tables.columns.rare import Pool
from tamis.tables.columns.values import to_number
from tamis.tables.errors import InputError, listed

_LARGEST = 1e300
# A number with one comma, which may be beyond a detection limit, or a percent.
_COMMA = re.compile(r"([<>=≤≥\s]*[-+]?\d*),(\d+\s*%?)")
# One that may be between thousands.
_GROUPED = re.compile(r"(?<!\d)[1-9]\d{0,2},\d{3}(?!\d)")


@dataclass(frozen=True)
class Field:
    """One value that a person is asked for."""

    name: str  # the raw column; for a word of free text, the column and the word
    kind: str  # "count": how often a word occurs
    columns: list[int]  # columns of the model's matrix
    fill: list[float]  # their values if the answer is unavailable
    categories: list[str] = field(default_factory=list)  # choices: the category of each column
    # Choices: the categories that were frequent enough in training, and the name of `other`.
    choices: list[str] = field(default_factory=list)
    # Choices: categories without a column; None: all others. Those that are neither here nor in
    # `categories` are unavailable.
    zeros: list[str] | None = None
    # Choices: what stands for the categories that were too rare in training.
    other: str | None = None
    # question, unit: wording and unit, from the features file.
    question: str = ""
    unit: str = ""
    # least, most: limits from the features file; answers beyond them are invalid.
    least: float | None = None
    most: float | None = None
    # low, high: smallest and largest value in training; answers beyond them are unusual.
    low: float | None = None
    high: float | None = None
    idf: float | None = None  # weight of a word: a count n becomes ``(1 + log n) * idf``
    # Numbers: what values beyond a detection limit are; missing ones are unavailable.
    below_detection: str = "missing"
    # Whether people see and enter percents: 93 is 0.93. A text of at most 1 without a percent sign
    # is refused, because it may be a share; numbers, which programs give, are shares.
    is_percent: bool = False
    # Decimal mark in training: where it is a comma, an answer may have one, too.
    decimal: str = "."

    def read(self, answer: Any) -> Any:
        """The answer as a float, or as the name of a choice; ValueError if it is invalid.

        A value beyond a detection limit ("<0.1") stays as it is written.
        """
        if self.kind == "choice":
            if isinstance(answer, str) and answer.strip():
                return answer.strip()
            raise ValueError(f"{self.name}: expected the name of a choice, got {answer!r}.")
        if isinstance(answer, str):
            answer = self._with_point(answer)
        if self.kind != "count" and self._limit(answer) is not None:
            return self._signed(answer)
        given: Any = answer
        if self.is_percent and isinstance(answer, str):
            given = to_number(self._signed(answer))
        try:
            number = float(given) if not isinstance(answer, bool) else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not abs(number) <= _LARGEST:
            raise ValueError(f"{self.name}: expected a number, got {answer!r}.")
        size = round(100 * number, 9) if self.is_percent else number
        if self.kind != "number" and size != math.floor(size):
            raise ValueError(f"{self.name}: expected a whole number, got {answer!r}.")
        if self.least is not None and number < self.least:
            raise ValueError(
                f"{self.name}: expected at least {self.show(self.least)}, got {self.show(number)}."
            )
        if self.most is not None and number > self.most:
            raise ValueError(
                f"{self.name}: expected at most {self.show(self.most)}, got {self.show(number)}."
            )
        return number

    def _with_point(self, text):
        """A text with a point instead of a single decimal comma, if training had such commas."""
        match = _COMMA.fullmatch(text.strip())
        if match is None:
            return text
        plain = f"{match[1]}.{match[2]}"
        if self.decimal != "," and not _GROUPED.search(text):  # 1,234 may mean 1234
            raise ValueError(
                f"{self.name}: expected a number, got {text.strip()!r}; write {plain}, "
                "with a point."
            )
        return plain if self.decimal == "," else text

    def _limit(self, answer):
        """What a value beyond a detection limit is read as; None if it is another answer."""
        if not isinstance(answer, str):
            return None
        return read_limit(self._signed(answer), self.below_detection)

    def _signed(self, answer):
        """A text as it is, or with the percent sign that it lacks; an error if that is unsafe."""
        text = answer.strip()
        number = to_number(text.lstrip("<>=≤≥ ")) if self.is_percent else None
        if number is None or text.endswith("%"):
            return text
        if 0 < abs(number) <= 1:
            raise ValueError(
                f"{self.name}: {text} may mean {number:g} % or {100 * number:g} %; "
                "write it with a percent sign."
            )
        return f"{text}%"

    def show(self, value: float) -> str:
        """A number for people: in percent where they enter percents."""
        return f"{round(100 * value, 9):.12g} %" if self.is_percent else f"{value:g}"

    def _number(self, answer):
        """A valid answer that is no choice, as a number."""
        value = self.read(answer)
        return self._limit(value) if isinstance(value, str) else value

    def unusual(self, answer: Any) -> str | None:
        """Say how a valid answer is unlike all training rows; None if it is not."""
        value = self.read(answer) if self.kind == "choice" else self._number(answer)
        if self.kind == "choice":
            if value in self.choices:
                return None
            sentence = f"{value!r} is none of the known choices ({listed(self.choices)})"
            return f"{sentence} and counts as unavailable" if self.is_missing(value) else sentence
        below = self.low is not None and value < self.low
        above = self.high is not None and value > self.high
        if not below and not above:
            return None
        side = "below" if below else "above"
        return f"{self.show(value)} is {side} all training values ({self.range})"

    def is_missing(self, value: Any) -> bool:
        """Whether an answer, as `read` gives it, counts as unavailable."""
        if self.kind != "choice":
            return isinstance(value, str) and math.isnan(self._number(value))
        if self.zeros is None or value == self.other:
            return False
        return value not in self.categories and value not in self.zeros

    @property
    def range(self) -> str:
        """The training range, for people; empty if it is not known."""
        if self.low is None or self.high is None:
            return ""
        return f"{self.show(self.low).removesuffix(' %')} to {self.show(self.high)}"

    def encode(self, answer: Any) -> list[float]:
        """Values of the columns."""
        if self.kind == "choice":
            value = self.read(answer)
            return [float(value == category) for category in self.categories]
        value = self._number(answer)
        if self.idf is not None:
            value = (1 + math.log(value)) * self.idf if value else 0.0
        return [value]


def fields_of(model: TableModel, columns: Iterable[int]) -> list[Field]:
    """The fields behind some columns of a model's matrix, in the order of the columns."""
    preparation, wanted = model.preparation, set(columns)
    fill = preparation.fill.tolist() if preparation.fill.size else [0.0] * preparation.n_columns
    fields, start = [], len(preparation.numbers)
    for j, name in enumerate(preparation.numbers):
        if j in wanted:
            low, high = preparation.ranges[j].tolist() if len(preparation.ranges) else (None, None)
            seen = {} if low is None or math.isnan(low) else {"low": low, "high": high}
            fields.append(_described(model, name, "number", [j], [fill[j]], **seen))
    for name, known in preparation.categories.items():
        places = [start + c for c in range(len(known)) if start + c in wanted]
        start += len(known)
        if places:
            of_column = [preparation.columns[j].removeprefix(f"{name}=") for j in places]
            pool, zeros = preparation.pools.get(name, Pool()), preparation.zeros(name)
            seen = [*known, *preparation.others.get(name, ())]
            choices = _order(model, name, [word for word in seen if word not in pool.rare])
            other = None
            if pool.is_other:
                other = next(n for n in ("other", "any other", "none of these") if n not in seen)
                choices.append(other)
            if zeros is not None:
                zeros = [*(c for c in known if c not in of_column), *zeros]
            filled = [fill[j] for j in places]
            more = {"categories": of_column, "choices": choices, "zeros": zeros, "other": other}
            fields.append(_described(model, name, "choice", places, filled, **more))
    for name, text in preparation.texts.items():
        for at, word in enumerate(text.words):
            if start + at in wanted:
                if text.kind == "hashing":
                    raise InputError(
                        f"{name!r} was read with --vectorizer hashing, so its words are not known "
                        "and nobody can be asked for them; use counts or tfidf."
                    )
                fields.append(
                    Field(
                        preparation.columns[start + at],
                        "count",
                        [start + at],
                        [0.0],
                        question=f"How often does {word!r} occur in {name}?",
                        least=0.0,
                        low=0.0,
                        idf=None if text.idf is None else float(text.idf[at]),
                    )
                )
        start += len(text.words)
    return fields


def _described(model, name, kind, columns, fill, **more):
    """A field with the wording of the features file."""
    given = model.descriptions.get(name, {})
    if kind == "number":
        kind = "integer" if given.get("type") == "integer" else "number"
        more |= {"least": given.get("min"), "most": given.get("max")}
        more["below_detection"] = model.preparation.missing.below_detection
        more["decimal"] = model.preparation.missing.decimal
    question, unit = str(given.get("question", "")), str(given.get("unit", ""))
    if name in model.preparation.missing.percents:
        more["is_percent"], unit = True, "%"
        limits = [one for one in (more["least"], more["most"]) if one is not None]
        if any(abs(one) > 1 for one in limits):  # written in percent
            more |= {k: None if more[k] is None else more[k] / 100 for k in ("least", "most")}
    return Field(name, kind, columns, fill, question=question, unit=unit, **more)


def _order(model, name, seen):
    """Choices as the features file orders them, then the others."""
    wanted = [c for c in model.descriptions.get(name, {}).get("choices", ()) if c in seen]
    return list(dict.fromkeys([*wanted, *sorted(seen)]))
