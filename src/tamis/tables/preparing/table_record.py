"""The record of how raw columns become a matrix; docs/model_format.md says how it is used.

`columns` has one object per raw column, in the order of the matrix: numbers, then categories, then
texts. `fill` is what a missing value becomes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tamis._base import Record, plain
from tamis.tables.columns.missing import BELOW_DETECTION, MissingWords
from tamis.tables.columns.rare import Pool
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.words import N_HASHED, VECTORIZERS, TextColumns

_LONGEST_SEQUENCE = 100
# What rare and new categories count as.
_OTHER, _MISSING = "other", "missing"


def write_preparation(preparation: Preparation) -> dict[str, Any]:
    """A preparation as plain values."""
    if not isinstance(preparation.categories, dict):
        raise ValueError("preparation.categories must be an object.")
    fill = np.asarray(preparation.fill)
    if fill.shape != (preparation.n_columns,):
        raise ValueError(f"preparation.fill must be numbers of shape ({preparation.n_columns},).")
    columns: list[dict[str, Any]] = []
    ranges = preparation.ranges if len(preparation.ranges) else np.full((fill.size, 2), np.nan)
    for name, value, limits in zip(preparation.numbers, plain(fill), ranges, strict=False):
        known_range = None if np.isnan(limits).any() else plain(limits)
        told = {"name": name, "kind": "number", "fill": value, "range": known_range}
        columns.append(told | _spread(preparation, len(columns)))
    start = len(preparation.numbers)
    for name, known in preparation.categories.items():
        ones = np.flatnonzero(fill[start : start + len(known)])
        usual = known[ones[0]] if ones.size else None
        others, pool = preparation.others.get(name), preparation.pools.get(name, Pool())
        columns.append(
            {
                "name": name,
                "kind": "category",
                "categories": known,
                "others": None if others is None else list(others),
                "rare": list(pool.rare),
                "rare_as": _OTHER if pool.is_other else _MISSING,
                "new_as": _OTHER if pool.is_open else _MISSING,
                "fill": usual,
            }
        )
        start += len(known)
    for name, text in preparation.texts.items():
        counted = {"ngrams": list(text.ngrams), "words": text.words, "idf": plain(text.idf)}
        columns.append({"name": name, "kind": "text", "vectorizer": text.kind, **counted})
    return {
        "columns": columns,
        "groups": dict(preparation.groups),
        "is_sparse": preparation.is_sparse,
        "missing": {
            "words": preparation.missing.words,
            "categories": preparation.missing.categories,
            "below_detection": preparation.missing.below_detection,
            "limited": list(preparation.missing.limited),
            "percents": list(preparation.missing.percents),
            "decimal": preparation.missing.decimal,
        },
    }


def read_preparation(record: Record) -> Preparation:
    """The preparation of a record."""
    fill: list[float] = []
    numbers: list[str] = []
    ranges: list[list[float]] = []
    spreads: list[float] = []
    whole: list[str] = []
    categories: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    pools: dict[str, Pool] = {}
    texts: dict[str, TextColumns] = {}
    kinds = ("number", "category", "text")
    names, last = set(), 0
    for column in record.parts("columns"):
        name = column.take("name")
        column.require(type(name) is str and name not in names, "name", "a new string")
        names.add(name)
        place = kinds.index(column.choice("kind", kinds))
        column.require(place >= last, "kind", "in order: numbers, categories, texts")
        last = place
        if place == 0:
            numbers.append(name)
            fill.append(column.number("fill"))
            ranges.append(_read_range(column))
            spreads.append(np.nan)
            if "spread" in column:  # files of earlier versions do not have it
                spreads[-1] = column.number("spread", low=0.0)
                if column.flag("whole"):
                    whole.append(name)
        elif place == 1:
            known = categories[name] = column.strings("categories")
            if column.peek("others") is None:
                column.take("others")
            else:
                others[name] = column.strings("others")
            pools[name] = _read_pool(column)
            usual = column.choice("fill", (None, *known))
            fill += [float(category == usual) for category in known]
        else:
            text = texts[name] = _read_text(column)
            fill += [0.0] * len(text.words)
        column.finish()
    record.require(fill, "columns", "columns of a matrix")
    weighted = {text.idf is not None for text in texts.values()}
    record.require(len(weighted) < 2, "columns", "all with idf, or none")
    is_sparse = record.flag("is_sparse")
    record.require(is_sparse or not texts, "is_sparse", "true with texts")
    return Preparation(
        numbers,
        categories,
        texts,
        _read_strings(record, "groups"),
        is_sparse,
        np.array(fill),
        _read_missing(record.part("missing")),
        others,
        np.array(ranges).reshape(-1, 2) if np.isfinite(ranges).any() else np.zeros((0, 2)),
        pools,
        np.array(spreads) if np.isfinite(spreads).any() else np.zeros(0),
        whole,
    )


def _spread(preparation, at):
    """The spread of a number, if it is known."""
    spreads = getattr(preparation, "spreads", np.zeros(0))  # not in older skops files
    if not spreads.size or not np.isfinite(spreads[at]):
        return {}
    return {"spread": plain(spreads[at]), "whole": preparation.numbers[at] in preparation.whole}


def _read_range(record):
    if record.peek("range") is None:
        record.take("range")
        return [np.nan, np.nan]
    low, high = record.numbers("range", (2,)).tolist()
    record.require(low <= high, "range", "the smallest and the largest value")
    return [low, high]


def _read_pool(column):
    if "rare" not in column:  # in models of earlier versions, a new category is all zeros
        return Pool([], False, True)
    rare = column.strings("rare")
    known = (_OTHER, _MISSING)
    return Pool(rare, *(column.choice(key, known) == _OTHER for key in ("rare_as", "new_as")))


def _read_strings(record, key):
    value = record.take(key)
    fits = type(value) is dict and all(type(item) is str for item in value.values())
    record.require(fits, key, "an object of strings")
    return value


def _read_missing(record):
    words = None
    if record.peek("words") is None:
        record.take("words")
    else:
        words = record.strings("words")
    columns = record.take("categories")
    record.require(type(columns) is dict, "categories", "an object")
    part = Record(columns, f"{record.where}categories.")
    limits: dict[str, Any] = {}
    if "below_detection" in record:  # models of earlier versions do not have it
        limits["below_detection"] = record.choice("below_detection", BELOW_DETECTION)
        limits["limited"] = record.strings("limited")
    if "percents" in record:
        limits["percents"] = record.strings("percents")
    if "decimal" in record:
        limits["decimal"] = record.choice("decimal", (".", ","))
    record.finish()
    return MissingWords(words, {name: part.strings(name) for name in columns}, **limits)


def _read_text(record):
    kind = record.choice("vectorizer", VECTORIZERS)
    lengths = record.numbers("ngrams", (2,), "int64", low=1, high=_LONGEST_SEQUENCE).tolist()
    record.require(lengths[0] <= lengths[1], "ngrams", "the shortest and the longest sequence")
    words = record.strings("words")
    record.require(words, "words", "one word at least")
    if kind == "hashing":
        places = [re.fullmatch("#([0-9]{1,9})", word) for word in words]
        fits = all(place is not None and int(place[1]) < N_HASHED for place in places)
        record.require(fits, "words", f"places from #0 to #{N_HASHED - 1}")
    idf = None
    if kind == "tfidf":
        idf = record.numbers("idf", (len(words),))
    else:
        record.require(record.take("idf") is None, "idf", "null")
    return TextColumns(kind, tuple(lengths), words, idf)
