"""Features: the kind of each column, and which columns are dropped."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis._array import is_sparse
from tamis.tables.columns.coded import LONGEST_CATEGORY, Coded
from tamis.tables.columns.limits import find_limits, parse_limits
from tamis.tables.columns.marks import mark_of_columns
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.notes import note_left_out, note_numeric, note_words, option
from tamis.tables.columns.table import Columns
from tamis.tables.columns.times import is_date
from tamis.tables.columns.values import (
    TOO_LARGE,
    is_large_integer,
    is_number,
    missing_in,
    parse_numbers,
    strings,
    to_number,
)
from tamis.tables.errors import InputError, as_option, listed

_ID_NAME = re.compile(
    r"(^|[_\W\d])(id|ids|uuid|guid|index|idx|row|rownames?|row_names?|barcode)$"
    r"|^(id|uuid|guid)[_\W]|^unnamed: \d+$|^__index_level_\d+__$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Uuid|UUID)$")
# At most this many words among at least this many distinct numbers may be missing values.
_FEW_WORDS, _FEWEST_NUMBERS = 3, 3
#: Columns with a smaller share of other words than this are numbers, and the words missing values.
MOST_ODD = 0.05
# Kinds that are dropped unless the user says otherwise.
_LEFT_OUT = ("identifier", "date", "many")


def decide_kinds(
    table: Columns,
    text: Collection[str],
    categorical: Collection[str],
    include: Collection[str],
    missing: MissingWords,
    notes: list[str],
    decimal: str | None = ".",
) -> tuple[Columns, dict[str, str], str | None, MissingWords]:
    """Decide the kind of each column that has no other role, and report the decisions.

    `notes`: receives messages about the decisions. `decimal`: decimal mark of words that are
    numbers; None: what most of them have.
    """
    forced = {*text, *categorical}
    if decimal is None:
        decimal = mark_of_columns({n: v for n, v in table.others.items() if n not in forced})
        if decimal == ",":
            notes.append("the table uses decimal commas: 1,5 is read as 1.5")
    others, kinds, numbers, odd = {}, {}, {}, []
    with_signs: dict[str, list[str]] = {}
    limited: list[str] = []
    dropped: dict[str, list] = {}
    mixed: dict[tuple[str, ...], list[str]] = {}
    spotted = None
    for name, values in table.others.items():
        values = Coded.of(values)
        if name in text:
            others[name], kinds[name] = values.without(missing.spellings), "text"
            continue
        nothing = missing_in(values, missing)
        values = values.without(nothing)
        if name in categorical:
            if values.longest > LONGEST_CATEGORY:
                raise InputError(
                    f"column {name} has a category of more than {LONGEST_CATEGORY:,} characters; "
                    f"is it free text? --text {as_option([name])} uses its words"
                )
            others[name], kinds[name] = strings(values).without(nothing), "categorical"
            continue
        guess = _guess_limited(values, missing.below_detection, decimal)
        if guess.odd:
            mixed.setdefault(guess.odd, []).append(name)
        kind = guess.kind
        if kind == "number" and any(map(is_large_integer, values.counts)):
            if not looks_like_id(name) or name in include:
                raise InputError(f"column {name} {TOO_LARGE}")
            guess = _Guess(kind := "identifier", "large integers")
        if name in include and kind in _LEFT_OUT:
            kind = "categorical"
        if kind == "number":
            numbers[name] = guess.values
            if guess.limited:
                limited.append(name)
            for sign in guess.signs:
                with_signs.setdefault(sign, []).append(name)
            if guess.reason:
                odd.append(f"{name} ({guess.reason})")
        elif kind == "categorical" or (kind == "text" and name in include):
            others[name] = values if kind == "text" else strings(values).without(nothing)
            kinds[name] = kind
        else:
            dropped.setdefault(kind, []).append((name, guess.reason))
            if kind == "identifier" and spotted is None:
                spotted = name

    numeric, names = table.numeric, table.numeric_names.tolist()
    for name in filter(forced.__contains__, names):
        column: Any = numeric[:, [names.index(name)]]
        others[name] = strings((column.toarray() if is_sparse(column) else column).ravel())
        kinds[name] = "text" if name in text else "categorical"
    guessed = _guess_numeric(numeric, names)
    identifiers = [name for name in guessed["identifiers"] if name not in {*include, *forced}]
    empty = [name for name in guessed["empty"] if name not in forced]
    if spotted is None and identifiers:
        spotted = identifiers[0]
    gone = {*forced, *identifiers, *empty}
    keep = [j for j, name in enumerate(names) if name not in gone]
    numeric, names = keep_columns(numeric, keep), [names[j] for j in keep]
    if numbers:
        columns = np.column_stack(list(numbers.values()))
        if is_sparse(numeric):
            numeric = sparse.csr_array(sparse.hstack([numeric, sparse.csr_array(columns)]))
        else:
            numeric = np.hstack([numeric, columns]) if names else columns
        names += list(numbers)

    for name in identifiers:
        dropped.setdefault("identifier", []).append((name, "names of rows"))
    for name in empty:
        dropped.setdefault("empty", []).append((name, ""))
    note_left_out(dropped, notes, looks_like_id)
    if odd:
        notes.append(f"odd words among numbers: {listed(odd)}")
    if "%" in with_signs:
        notes.append(
            f"{listed(with_signs['%'])}: percentages are read as proportions, 12% as 0.12"
        )
    if "," in with_signs:
        notes.append(f"{listed(with_signs[','])}: separators between thousands are removed")
    for words, columns in mixed.items():
        notes.append(
            f"{listed(columns)}: not read as numbers because of {' and '.join(map(repr, words))};"
            f" if this means a missing value, use --missing-values {option(words)}"
        )
    known = {n: set(v.counts) for n, v in others.items() if kinds[n] == "categorical"}
    hinted = {name for columns in mixed.values() for name in columns}
    missing = note_words(known, "category", missing, notes, hinted)
    percents = with_signs.get("%", [])
    missing = replace(missing, limited=limited, percents=percents, decimal=decimal)
    note_numeric({key: [n for n in guessed[key] if n not in gone] for key in guessed}, notes)
    words = {name: np.asarray(column) for name, column in others.items()}
    return Columns(numeric, np.array(names, dtype=str), words), kinds, spotted, missing


def keep_columns(matrix, keep: Collection[int]):
    """Select columns of a matrix; adjacent ones as a view, so that a mapped file stays mapped."""
    keep = np.asarray(keep, dtype=np.intp)
    if keep.size == matrix.shape[1]:
        return matrix
    if keep.size and keep[-1] - keep[0] + 1 == keep.size and not is_sparse(matrix):
        return matrix[:, keep[0] : keep[-1] + 1]
    if is_sparse(matrix):
        return matrix.tocsc()[:, keep].tocsr()
    return matrix[:, keep]


@dataclass
class _Guess:
    """The detected kind of a column of words."""

    kind: str  # the first three are used, the others are dropped
    reason: str = ""  # details for the user
    values: Any = None  # the numbers, if it is a column of numbers
    odd: tuple = ()  # the few words that keep the column from being read as numbers
    # "%" if numbers have percent signs, "," if they have separators between thousands.
    signs: set = field(default_factory=set)
    limited: bool = False  # whether some values are beyond a detection limit


def looks_like_id(name: str) -> bool:
    """Whether a name is typical of a column that identifies rows.

    Examples
    --------
    >>> [looks_like_id(n) for n in ("id", "patient_id", "sampleId", "Unnamed: 0", "acid", "paid")]
    [True, True, True, True, False, False]
    """
    return bool(_ID_NAME.search(name) or _CAMEL_ID.search(name))


def _guess_limited(column, rule, decimal="."):
    """Detect the kind of a column of words, of which some may be beyond a detection limit."""
    words = find_limits(column, decimal)
    if words:
        guess = _guess_words(column.without(words), decimal)
        if guess.kind == "number":
            limits = parse_limits(column, words, rule, decimal)
            guess.values = np.where(np.isnan(guess.values), limits, guess.values)
            guess.limited = True
            return guess
    return _guess_words(column, decimal)


def _guess_words(column, decimal="."):
    """Detect the kind of a column of words."""
    present = column.present()
    if not present.size:
        return _Guess("empty")
    # If a sample holds mostly words, there is no need to try every value.
    sample = column.some(present[:: max(1, present.size // 1000)])
    odd = parse_numbers(sample, decimal)[1]
    if len(odd) < 0.3 * len(sample):
        guess = _guess_numbers(column, decimal)
        if guess is not None:
            guess.signs = {sign for word in set(sample) for sign in _signs(word, decimal)}
            return guess
    guess = _guess_kind(column.some(present[:1000]), present.size, column.n_distinct)
    if guess.kind in ("categorical", "many") and column.longest > LONGEST_CATEGORY:
        return _Guess("text", "free text")
    words = set(odd)
    if len(words) <= _FEW_WORDS and len(set(sample) - words) >= _FEWEST_NUMBERS:
        guess.odd = tuple(sorted(words))
    return guess


def _signs(word, decimal):
    """Signs without which a word is a number: "%", or "," for separators between thousands."""
    if to_number(word, decimal) is None:
        return
    plain = (word.replace(",", ".") if decimal == "," else word).strip()
    if plain.endswith("%"):
        yield "%"
    if not is_number(plain.rstrip("% ")):
        yield ","


def _guess_kind(some, n, n_distinct):
    """The kind of a column, from its first words and its numbers of rows and distinct words."""
    if n_distinct <= 2:
        return _Guess("categorical")
    if sum(map(is_date, some)) > 0.95 * len(some):
        return _Guess("date", "dates")
    is_varied = n_distinct > max(2, n / 2)
    if is_varied and np.mean([len(value.split()) for value in some]) > 4:
        return _Guess("text", "free text")
    if n >= 10 and n_distinct == n:
        return _Guess("identifier", f"{n:,} distinct names")
    if is_varied or n_distinct > 100:
        return _Guess("many", f"{n_distinct:,} distinct values in {n:,} rows")
    return _Guess("categorical")


def _guess_numbers(column, decimal):
    """A column of numbers with few odd words; None if there are too many words."""
    both = zip(column.words, column.sizes.tolist(), strict=True)
    numbers, odd = parse_numbers([word if n_rows else None for word, n_rows in both], decimal)
    if not odd:
        return _Guess("number", values=column.numbers(numbers))
    n_present, counts = int(column.sizes.sum()), column.counts
    n_odd = sum(counts.get(word, 0) for word in odd)
    if n_odd >= MOST_ODD * n_present:
        return None
    reason = f"{listed(sorted(odd), 3)} ({n_odd} of {n_present}) read as missing"
    return _Guess("number", reason, column.numbers(numbers))


def _guess_numeric(matrix, names):
    """Find columns of numbers that may be something else, or that hold nothing.

    `matrix` (n_rows, n_columns). Returns `dict of str to list of str`: names of "identifiers" of
    rows, "codes" of categories, "owners" of several rows (patients), "constant" and "empty"
    columns.
    """
    guessed = {"identifiers": [], "codes": [], "owners": [], "constant": [], "empty": []}
    n_columns = matrix.shape[1]
    if is_sparse(matrix):
        matrix = matrix.tocsc()
        lows = matrix.min(axis=0).toarray().ravel()
        highs = matrix.max(axis=0).toarray().ravel()
        is_whole = np.zeros(n_columns, dtype=bool)
    else:
        lows, highs = _ranges(matrix)
        head = np.asarray(matrix[:1000])
        is_whole = ((head == np.floor(head)) | np.isnan(head)).all(axis=0)
    for k in np.flatnonzero(lows > highs):
        guessed["empty"].append(names[k])
    for k in np.flatnonzero(lows == highs):
        guessed["constant"].append(names[k])
    for k in np.flatnonzero(is_whole & (lows < highs)):
        column = np.asarray(matrix[:, k])
        if ((column == np.floor(column)) | np.isnan(column)).all():
            kind = _kind_of_integers(column, names[k], k == 0, highs[k] - lows[k])
            if kind is not None:
                guessed[kind].append(names[k])
    # Small whole numbers in a wide table are counts rather than codes.
    if len(guessed["codes"]) > max(20, 0.5 * n_columns) and n_columns > 100:
        guessed["codes"] = []
    return guessed


def _ranges(matrix, n_values=500_000):
    """Smallest and largest number of each column; inf and -inf where all are missing."""
    n_columns = matrix.shape[1]
    lows, highs = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    n_rows = max(1, n_values // max(1, n_columns))
    for start in range(0, matrix.shape[0] if n_columns else 0, n_rows):
        # Columns of a block are contiguous, which is many times faster.
        block = np.ascontiguousarray(matrix[start : start + n_rows].T)
        lows = np.fmin(lows, np.fmin.reduce(block, axis=1))
        highs = np.fmax(highs, np.fmax.reduce(block, axis=1))
    return lows, highs


def _kind_of_integers(column, name, is_first, span):
    n = column.size
    if np.isnan(column).any():
        column = column[~np.isnan(column)]
    if looks_like_id(name) or (is_first and n >= 10 and span == n - 1):
        is_counter = column.size == n and (np.diff(column) == 1).all() and column[0] in (0, 1)
        if is_counter or (looks_like_id(name) and np.unique(column).size == n and n > 2):
            return "identifiers"
        n_distinct = np.unique(column).size
        if looks_like_id(name) and 10 < n_distinct < n:
            return "owners"
    if n < 30 or np.unique(column[:1000]).size > 10:
        return None
    values = np.unique(column)
    return "codes" if 2 < values.size <= 10 else None
