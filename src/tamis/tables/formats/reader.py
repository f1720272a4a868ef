"""`FormatReader`: what a file format can do; each format extends it, in one file."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis.tables.columns.raw import RawTable
from tamis.tables.columns.table import Columns
from tamis.tables.columns.wanted import Wanted
from tamis.tables.errors import InputError, require_names
from tamis.tables.formats.source import Source, readable

if TYPE_CHECKING:
    from tamis.tables.formats.sampling import KeepRows


#: Bytes of a number in memory.
NUMBER = 8


@dataclass(frozen=True)
class TableSize:
    """Estimated size of a table."""

    n_rows: float
    n_columns: int
    n_bytes: float  # in memory

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, at least of one number."""
        return max(float(NUMBER), self.n_bytes / max(1.0, self.n_rows))


@dataclass
class FormatReader:
    """A file of one format, with options of `read_table`; a format needs only `_read`."""

    format: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]  # of names of files, in lower case
    magic: ClassVar[bytes | None] = None  # how the content begins
    is_text: ClassVar[bool] = False
    has_layers: ClassVar[bool] = False
    has_sheets: ClassVar[bool] = False
    can_transpose: ClassVar[bool] = True
    can_stream: ClassVar[bool] = False  # `tamis fit` can read some rows at a time
    can_chunk: ClassVar[bool] = False  # `read_chunks` can read it
    own_target: ClassVar[str | None] = None  # the column of labels, if the format has one

    source: Source
    delimiter: str | None = None
    encoding: str | None = None
    layer: str | None = None
    sheet: str | None = None
    transpose: bool = False

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Whether a file that begins with these bytes has this format."""
        return cls.magic is not None and head.startswith(cls.magic)

    def refuse_sheet(self) -> None:
        """Raise InputError about a sheet of a file that has none."""
        if self.sheet is not None and not self.has_sheets:
            raise InputError(
                f"sheet is for xlsx files, but {self.source.name} is read as {self.format}"
            )

    def read(
        self,
        keep_rows: "KeepRows | None" = None,
        *,
        as_written: Collection[str | int] = (),
        drop: Collection[str] = (),
        missing: frozenset[str] = frozenset(),
    ) -> RawTable:
        """Read all columns; the parameters are those of `read_raw`."""
        if self.layer is not None and not self.has_layers:
            raise InputError(
                f"layer is for h5ad files, but {self.source.name} is read as {self.format}"
            )
        if self.transpose and not self.can_transpose:
            raise InputError(
                f"transpose is for CSV, TSV, npz and npy files, not for {self.format}"
            )
        self.refuse_sheet()
        with readable(self.source):
            return self._read(keep_rows, as_written=as_written, drop=drop, missing=missing)

    def _read(self, keep_rows, *, as_written, drop, missing):
        raise NotImplementedError

    def rows(
        self, wanted: Wanted, chunk_rows: int, drop: Collection[str] = ()
    ) -> Iterator[tuple[Columns, dict]]:
        """Read chunks of the columns that a model needs, and extra columns."""
        if self.transpose:
            return FormatReader._rows(self, wanted, chunk_rows, drop)
        return self._rows(wanted, chunk_rows)

    def _rows(self, wanted, chunk_rows, drop=()):
        words = wanted.needed_words
        raw = self.read(as_written=words, drop=drop, missing=wanted.missing.spellings)
        require_names([n for n in drop if n not in raw.dropped], raw.names, "drop")
        return raw_rows(raw, wanted, chunk_rows)

    def chunks(self, wishes: Any) -> tuple[list[str] | None, Callable[[], Iterator[tuple]]]:
        """Names of the features, if they have any, and a function that starts reading.

        It yields features (n_rows, n_features) as numbers, and labels (n_rows,) or None if
        `wishes` (of `read_chunks`) has them.
        """
        raise NotImplementedError

    def why_not(self, groups: str | None = None) -> str | None:
        """Why the rows of this file cannot be read some at a time; None if they can."""
        return None

    def columns(self) -> tuple[list[str], list[str], bool]:
        """Names of the features, names of other columns, and whether features have names."""
        raise NotImplementedError

    def size(self) -> TableSize | None:
        """Estimate the size of the table without reading it; None if it is read as a whole."""
        return None


def raw_rows(raw: RawTable, wanted: Wanted, chunk_rows: int) -> Iterator[tuple[Columns, dict]]:
    """Chunks of the columns that a model needs, and extra columns, of a table in memory."""
    known = [*raw.numeric_names, *raw.others]
    wanted.check(known, raw.repeated)
    position = {name: j for j, name in enumerate(raw.numeric_names)}
    from_numeric = [name for name in wanted.numbers if name in position]
    is_plain = len(from_numeric) == len(wanted.numbers) and not wanted.shares
    places = [position[name] for name in from_numeric]
    names = np.array(wanted.numbers, dtype=str)
    ids = {} if raw.ids is None else {"ids": raw.ids}
    not_numeric = {**ids, **raw.others, **raw.side}
    present = [name for name in wanted.extra if name in not_numeric or name in position]
    for start in range(0, raw.n_rows, chunk_rows):
        rows = slice(start, start + chunk_rows)
        block = raw.numeric[rows]
        is_sparse = hasattr(block, "toarray")

        def column(name, block=block, rows=rows, is_sparse=is_sparse):
            if name not in position:
                return np.asarray(not_numeric[name][rows])
            values = block[:, [position[name]]]
            return (values.toarray() if is_sparse else np.asarray(values)).ravel()

        extras = {name: column(name) for name in present}
        if is_plain:
            numeric = block[:, places]
            values = numeric.data if is_sparse else numeric
            if np.isinf(values).any():
                raise InputError(f"{wanted.source} contains an infinite number")
            others = {name: wanted.words_of(name, column(name)) for name in wanted.words}
            yield Columns(numeric if is_sparse else np.asarray(numeric), names, others), extras
        else:
            columns = {name: column(name) for name in wanted.columns}
            yield wanted.from_columns(columns, raw.decimal), extras
