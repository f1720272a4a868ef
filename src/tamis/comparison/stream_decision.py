"""Whether `tamis fit` streams a table, and how large the sample is.

Comparing methods takes about 6.7 times the memory of the table, measured at its peak. A table is
streamed if that is more than the memory that is available within the limits of the process and of
its container. The sample then has as many rows as can be compared in a third of this memory
(the rest is for chunks of rows and what is found in them), but at most 100,000: more rows hardly
change a choice, and take longer. A row counts 6.7 times its own size, and 32,000 bytes for its
permuted labels (1,000 permutations and copies of them, in the tests of features).

On the disk are checkpoints only, and no copy of the table: the sample, at most 5,000 bytes of
predictions for each of its rows (12 methods at 25 levels, two classes, twice), hashes of 200,000
rows, and what passes find of each column (64 numbers).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from shutil import disk_usage
from typing import Any

from tamis.tables.errors import InputError, NotEnoughMemory
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.source import available_memory, readable, tell_size
from tamis.tables.reading.row_stream import why_not

__all__ = ["MODES", "Decision", "decide", "require_disk"]

MODES = ("auto", "on", "off")
_PEAK = 6.7
_PERMUTED_ROW = 32_000
_SHARE = 1 / 3
_MOST_ROWS, _FEWEST_ROWS = 100_000, 100
# Bytes on the disk: predictions for a row of the sample, hashes of rows, numbers of each column.
_PREDICTED_ROW, _HASHES, _FOUND = 5_000, 200_000 * 16, 64


@dataclass(frozen=True)
class Decision:
    """Whether a table is streamed, and why."""

    mode: str  # what was asked for
    streams: bool
    data: str  # name of the file
    file_bytes: int  # its size
    # table_bytes, needed_bytes, available_bytes: estimated size of the table in memory, memory
    # needed to compare methods on it, and memory that is available; None if they were not needed.
    table_bytes: float | None = None
    needed_bytes: float | None = None
    available_bytes: float | None = None
    sample_rows: int | None = None  # rows that the sample may have
    reason: str | None = None  # why the table cannot be streamed
    disk_bytes: float | None = None  # of the checkpoints of a streamed table, about

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @property
    def sentence(self) -> str | None:
        """The decision for the user; None if there is nothing to say."""
        if self.table_bytes is None or self.needed_bytes is None:
            return None
        numbers = (
            f"in memory, the table would take about {tell_size(self.table_bytes)} and the "
            f"comparison {tell_size(self.needed_bytes)}, of {tell_size(self.available_bytes or 0)}"
            " available"
        )
        if self.streams:
            asked = " (--stream on)" if self.mode == "on" else ""
            return f"{self.data} is streamed{asked}: {numbers}"
        if self.needed_bytes > (self.available_bytes or 0):
            why = f": {self.reason}" if self.reason else " (--stream off)"
            return f"{self.data} is not streamed{why}; {numbers}"
        return None


def decide(
    path: str | PathLike,
    reading: Mapping[str, Any],
    mode: str = "auto",
    max_size: int | None = None,
    recorded: Mapping[str, Any] | None = None,
) -> Decision:
    """Decide whether to stream a table.

    `reading`: options of `read_table`; `max_size`: bytes of memory that the table, or the sample,
    may take; `recorded`: the decision of an earlier run, which is kept if its file had the same
    size.
    """
    options = {name: reading.get(name) for name in ("delimiter", "encoding", "layer")}
    reader = open_reader(path, reading.get("format"), max_size, **options)
    source = reader.source
    about: dict[str, Any] = {
        "mode": mode,
        "data": source.name,
        "file_bytes": source.path.stat().st_size,
    }
    if recorded and recorded.get("file_bytes") == about["file_bytes"]:
        if mode != "auto" and recorded["streams"] != (mode == "on"):
            was = "was" if recorded["streams"] else "was not"
            raise InputError(
                f"--stream {mode}: the table {was} streamed when this run began. Use another "
                "folder, or --force to discard its results."
            )
        return Decision(**recorded)
    reason = why_not(reader, reading)
    if mode == "on" and reason is not None:
        raise InputError(f"--stream on: {reason}.")
    size = None
    if reason is None:
        try:
            with readable(source):
                size = reader.size()
        except (InputError, NotEnoughMemory):  # reading the table raises it again, or a better one
            if mode == "on":
                raise
    if size is None:
        return Decision(streams=False, reason=reason, **about)
    available, needed = available_memory(), _PEAK * size.n_bytes
    is_large = needed > available or (max_size is not None and size.n_bytes > max_size)
    about |= {
        "table_bytes": float(size.n_bytes),
        "needed_bytes": float(needed),
        "available_bytes": float(available),
    }
    if mode == "off" or (mode == "auto" and not is_large):
        return Decision(streams=False, **about)
    per_row = _PEAK * size.row_bytes + _PERMUTED_ROW
    n_rows = min(_MOST_ROWS, _two_digits(_SHARE * available / per_row))
    if max_size is not None:
        n_rows = min(n_rows, max_size / size.row_bytes)
    if n_rows < _FEWEST_ROWS:
        limit = "" if max_size is None else f" (--max-size {tell_size(max_size)})"
        raise InputError(
            f"{source.name}: comparing methods takes about {tell_size(per_row)} for a row, so a "
            f"sample of {_FEWEST_ROWS} rows does not fit in {tell_size(available)}{limit}; more "
            "memory is needed, or fewer columns (--drop)"
        )
    disk = n_rows * (size.row_bytes + _PREDICTED_ROW) + _HASHES + _FOUND * size.row_bytes
    return Decision(streams=True, sample_rows=int(n_rows), disk_bytes=float(disk), **about)


def _two_digits(value):
    """Rounded down, so that a little more or less free memory gives the same sample."""
    step = 10.0 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return value // step * step


def require_disk(decision: Decision, folder: Path) -> str | None:
    """Say what the checkpoints of a streamed table take; an error if there is no room for them.

    `folder`: of the run; it may not exist. None if nothing was estimated.
    """
    if decision.disk_bytes is None:
        return None
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free, needed = disk_usage(place).free, tell_size(decision.disk_bytes)
    if free < decision.disk_bytes:
        raise InputError(
            f"{folder}: the checkpoints take about {needed} of disk, and {tell_size(free)} are "
            "free; make room, name another folder (-o), or use a smaller sample (--max-size)"
        )
    return f"checkpoints take at most about {needed} of disk, of {tell_size(free)} free"
