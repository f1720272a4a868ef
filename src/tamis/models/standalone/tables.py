"""From the raw columns of a table to the columns of a matrix."""

import math
import re
import struct

__all__ = ["prepare_row"]

_USUAL = ("na", "nan", "null", "n/a", "#n/a", "<na>")
# Numbers with separators between thousands, by the decimal mark.
_GROUPED = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:['\u00a0\u2009\u202f]\d{3})+)(?:\.\d*)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:['\u00a0\u2009\u202f]\d{3})+)(?:,\d*)?"),
}


def prepare_row(preparation, row, fill):
    """The columns of the matrix, NaN where missing unless filled."""
    decimal = preparation["missing"].get("decimal", ".")
    if isinstance(row, dict):
        row = _in_order([column["name"] for column in preparation["columns"]], row, fill)
    words, kept = preparation["missing"]["words"], preparation["missing"]["categories"]
    numbers = [_as_number(word) for word in words or ()]
    percents = preparation["missing"].get("percents", ())
    below = preparation["missing"].get("below_detection", "missing")
    x = []
    for at, column in enumerate(preparation["columns"]):
        name, kind = column["name"], column["kind"]
        value = row[at]
        if isinstance(value, str) and kind != "text":
            value = value.strip()
        missing = (
            value is None
            or value != value
            or (
                isinstance(value, str)
                and value not in kept.get(name, ())
                and (
                    value in ("", *words) if words is not None else value.lower() in ("", *_USUAL)
                )
            )
        )
        if kind == "number":
            value = math.nan if missing else _as_number(value, below, decimal)
            missing = value != value or value in numbers
            if not missing and name in percents and _lacks_sign(column, row[at], decimal):
                value /= 100
            x.append(column["fill"] if missing and fill else math.nan if missing else value)
        elif kind == "category":
            missing = missing or _is_unknown(column, value)
            if missing and not fill:
                x += [math.nan] * len(column["categories"])
            else:
                value = column["fill"] if missing else value
                x += [float(value == category) for category in column["categories"]]
        else:
            x += _count_words(column, "" if missing else value)
    return x


def _lacks_sign(column, value, decimal):
    """Whether a value is a percent without its sign, among training values from 0 to 100 %."""
    if isinstance(value, str):
        value = value.strip()
        digits = value.lstrip("<>=≤≥ ")
        value = math.nan if value.endswith("%") else _as_number(digits, decimal=decimal)
    known = column.get("range")
    return known is not None and known[0] >= 0 and known[1] <= 1 < value <= 100


def _in_order(names, row, needs_all):
    """Values by name as a list; those that the row lacks are missing, or an error."""
    lacking = [name for name in names if name not in row]
    if lacking and (needs_all or len(lacking) == len(names)):
        raise ValueError(f"the row lacks {', '.join(lacking)}")
    return [row.get(name) for name in names]


def _is_unknown(column, value):
    """Whether a category is rare or new, and counts as missing."""
    if value in column.get("rare", ()):
        return column["rare_as"] == "missing"
    if value in column["categories"] or value in (column["others"] or ()):
        return False
    return column.get("new_as") == "missing"


def _as_number(value, below="missing", decimal="."):
    """A number, also as "93 %" or "1,234"; NaN for a word; what "<0.1" is read as."""
    if not isinstance(value, str):
        return float(value)
    text = value.strip()
    if "_" in text:  # which float() would accept
        return math.nan
    if _GROUPED[decimal].fullmatch(text):
        return float(re.sub(f"[^-+{decimal}0-9]", "", text).replace(",", "."))
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        match = re.fullmatch(r"([<>≤≥])\s*=?\s*(.*)", text)
    if match is None:
        is_percent = text.endswith("%")
        return _as_number(text[:-1], decimal=decimal) / 100 if is_percent else math.nan
    limit = math.nan if below == "missing" else _as_number(match[2], decimal=decimal)
    return limit / 2 if below == "half" and match[1] in "<≤" and limit > 0 else limit


def _count_words(column, text):
    tokens = re.findall(r"\b\w\w+\b", text.lower())
    shortest, longest = column["ngrams"]
    counts: dict = {}
    for n in range(shortest, longest + 1):
        for start in range(len(tokens) - n + 1):
            word = " ".join(tokens[start : start + n])
            if column["vectorizer"] == "hashing":
                word = f"#{_hash(word)}"
            counts[word] = counts.get(word, 0) + 1
    found = [float(counts.get(word, 0)) for word in column["words"]]
    if column["idf"] is None:
        return found
    return [
        (1 + math.log(count)) * idf if count else 0.0
        for count, idf in zip(found, column["idf"], strict=True)
    ]


def _hash(word):
    """MurmurHash3 of 32 bits with seed 0, as a place among 2**18."""
    data, h = word.encode(), 0
    tail = len(data) % 4
    padded = data + bytes(-len(data) % 4)
    for at, (k,) in enumerate(struct.iter_unpack("<I", padded)):
        k = k * 0xCC9E2D51 & 0xFFFFFFFF
        k = (k << 15 | k >> 17) * 0x1B873593 & 0xFFFFFFFF
        h ^= k
        if not tail or at < len(data) // 4:
            h = ((h << 13 | h >> 19) & 0xFFFFFFFF) * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return abs(h - 2**32 if h >= 2**31 else h) % 2**18
