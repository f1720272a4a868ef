"""Which columns of a file a model needs, and how they are read."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis.tables.columns.choices import enforce_choices
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.limits import parse_limited
from tamis.tables.columns.marks import as_shares, lacks_sign, mark_of_columns
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import refuse_repeated, tell_repeated
from tamis.tables.columns.table import Columns
from tamis.tables.columns.values import TOO_LARGE, is_large_integer, strings
from tamis.tables.errors import InputError, listed, nearest, quoted

# Names of columns that are less alike are not suggested: see `nearest`.
_ALIKE = 0.7


def _suggest(name, names):
    """Names that look like a given one, or one of them goes on where the other ends."""
    short = name.casefold()
    longer = [n for n in names if n.casefold().startswith(short) or short.startswith(n.casefold())]
    near = dict.fromkeys([*nearest(name, names, most=2, cutoff=_ALIKE), *longer])
    return f" (did you mean {' or '.join(list(near)[:2])}?)" if near else ""


class Wanted:
    """Columns that a model needs, and how they are read.

    `extra`: columns to return unchanged. `lacking`: receives the names of absent columns; None if
    these are an error.
    """

    def __init__(
        self,
        columns: Iterable[str],
        kinds: Mapping[str, str],
        extra: Iterable[str],
        source: str,
        missing: MissingWords,
        lacking: list[str] | None = None,
        shares: Collection[str] = (),
    ):
        self.numbers = [name for name in columns if name not in kinds]
        self.words = [name for name in columns if name in kinds]
        self.kinds = kinds
        self.extra = extra
        self.source = source
        self.missing = missing
        self.lacking = lacking
        self.shares = [name for name in self.numbers if name in shares]
        self.odd: dict[str, int] = {}
        self.unsigned: dict[str, int] = {}
        self.repeated: list[str] = []

    @property
    def columns(self) -> list[str]:
        """Names of the columns, numbers first."""
        return [*self.numbers, *self.words]

    @property
    def needed(self) -> list[str]:
        """Names of the columns and of the extra columns."""
        return [*self.columns, *self.extra]

    @property
    def needed_words(self) -> list[str]:
        """Columns to read as words even if they look like numbers."""
        texts = [name for name in self.words if self.kinds[name] == "text"]
        return [*texts, *self.extra]

    def extra_in(self, names: Collection[str]) -> list[str]:
        """Extra columns that are among `names`."""
        return [name for name in self.extra if name in names]

    def check(self, present: Collection[str], repeated: Collection[str] = ()) -> None:
        """Raise InputError for absent columns, unless they may be missing."""
        for name in self.extra:
            if name in repeated:
                refuse_repeated(name, repeated, "labels or names of rows")
        needed = {*self.columns, *(name.rpartition(".")[0] for name in self.columns)}
        self.repeated = [name for name in repeated if name in needed]
        known = set(present)
        absent = [name for name in self.columns if name not in known]
        if not absent:
            return
        if self.lacking is not None and len(absent) < len(self.columns):
            self.lacking.extend(absent)
            self.numbers = [name for name in self.numbers if name in known]
            self.words = [name for name in self.words if name in known]
            self.shares = [name for name in self.shares if name in known]
            return
        used = set(self.columns)
        unused = [name for name in present if name not in used]
        names = quoted(absent)
        suggested = [_suggest(name, unused) for name in absent[:3]]
        told = [name + more for name, more in zip(names, suggested, strict=False)] + names[3:]
        advice = "" if told != names else f"; it has {listed(quoted(present))}"
        raise InputError(
            f"{self.source} lacks {len(absent)} of the {len(self.columns)} columns needed:"
            f" {listed(told, 10)}{advice}"
        )

    def with_lacking(self, table: Columns) -> Columns:
        """Add the absent columns, with all values missing."""
        if not self.lacking:
            return table
        names = [name for name in self.lacking if name not in self.kinds]
        absent = np.full((table.n_rows, len(names)), np.nan)
        if table.is_sparse:
            numeric = sparse.hstack([table.numeric, sparse.csr_array(absent)], format="csr")
        else:
            numeric = np.hstack([table.numeric, absent])
        words = [name for name in self.lacking if name in self.kinds]
        others = {name: np.full(table.n_rows, None, dtype=object) for name in words}
        numeric_names = np.array([*table.numeric_names.tolist(), *names], dtype=str)
        return Columns(numeric, numeric_names, {**table.others, **others})

    def words_of(self, name: str, values: NDArray | Coded) -> NDArray:
        """A column of words, converted as in training."""
        if self.kinds[name] == "text" and values.dtype == object:
            column = Coded.of(values).map(lambda word: str(word).strip() or None)
            return np.asarray(column.without(self.missing.spellings))
        column = np.asarray(strings(values).without(self.missing.of(name)))
        return enforce_choices(name, column, self.missing)

    def numbers_of(self, name: str, values: NDArray | Coded, decimal: str = ".") -> NDArray:
        """A column of numbers; words in it are counted and read as missing."""
        if values.dtype.kind in "biuf":
            values = np.asarray(values, dtype=np.float64)
            return self.refuse_infinite(name, self._signed(name, values))
        is_words = isinstance(values, Coded) or any(isinstance(v, str) for v in values)
        if values.dtype == object and not is_words:
            values = np.array([np.nan if v is None else float(v) for v in np.asarray(values)])
            values = self._signed(name, values)
        else:
            column = Coded.of(values).map(lambda word: str(word).strip())
            column = column.without(self.missing.spellings)
            counts = column.counts
            self.refuse_large(name, any(map(is_large_integer, counts)))
            if name in self.shares:
                lack = {word for word in counts if lacks_sign(word, decimal)}
                self._count_unsigned(name, sum(counts[word] for word in lack))
                column = column.map(lambda word: f"{word}%" if word in lack else word)
                counts = column.counts
            numbers, odd = parse_limited(column.words, self.missing.below_detection, decimal)
            self.count_odd(name, sum(counts.get(word, 0) for word in odd))
            values = column.numbers(numbers)
        return self.refuse_infinite(name, values)

    def _signed(self, name, values):
        """Numbers of a column as proportions, if it is one of percents."""
        if name not in self.shares:
            return values
        codes = self.missing.numbers if self.missing.words else ()
        values, n_unsigned = as_shares(np.where(np.isin(values, codes), np.nan, values))
        self._count_unsigned(name, n_unsigned)
        return values

    def _count_unsigned(self, name, n_values):
        if n_values:
            self.unsigned[name] = self.unsigned.get(name, 0) + n_values

    def messages(self) -> list[str]:
        """What was found in the values, in sentences."""
        told = []
        if self.repeated:
            told.append(tell_repeated(self.repeated))
        if self.odd:
            words = [f"{name} ({count:,})" for name, count in self.odd.items()]
            told.append(f"words among numbers, read as missing: {listed(words)}")
        if self.unsigned:
            columns = [f"{name} ({count:,})" for name, count in self.unsigned.items()]
            told.append(
                "numbers above 1 without a percent sign, read as percents like those in training: "
                f"{listed(columns)}"
            )
        return told

    def count_odd(self, name: str, n_odd: int) -> None:
        """Count words among the numbers of a column."""
        if n_odd:
            self.odd[name] = self.odd.get(name, 0) + n_odd

    def refuse_large(self, name: str, is_large: bool) -> None:
        """Raise an error if a column holds integers that are not exact as floats."""
        if is_large:
            raise InputError(f"{self.source}: column {name} {TOO_LARGE}")

    def refuse_infinite(self, name: str, values: NDArray) -> NDArray:
        """Raise an error if a column holds infinite numbers."""
        if np.isinf(values).any():
            raise InputError(f"{self.source}: column {name} contains an infinite number")
        return values

    def from_columns(self, columns: Mapping[str, NDArray], decimal: str | None = None) -> Columns:
        """Build a table from a dictionary of columns; by default with the mark most words have."""
        if decimal is None:
            numbers = {name: columns[name] for name in self.numbers}
            decimal = mark_of_columns(numbers, self.missing.decimal)
        n_rows = len(next(iter(columns.values())))
        numeric = np.empty((n_rows, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            numeric[:, j] = self.numbers_of(name, columns[name], decimal)
        others = {name: self.words_of(name, columns[name]) for name in self.words}
        return Columns(numeric, np.array(self.numbers, dtype=str), others)
