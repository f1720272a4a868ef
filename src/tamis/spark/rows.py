"""Rows of a Spark DataFrame, and passes over them.

A pass is one task per partition: its record batches are summarised one by one and merged in a tree
(`tamis._passes.merge_in_tree`). The summaries of the partitions are merged in a tree of the same
kind, in the order of the partitions, so the result does not depend on which executor does what,
and when. Sixteen neighbours at a time are merged on executors until at most sixteen are left for
the driver; since sixteen is a power of two, this is the tree of merging them all on the driver.
"""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

from tamis._fingerprints import Fingerprint
from tamis._passes import Passes, merge_in_tree
from tamis.spark.columns import Features, find_features, position_of, read_column, require_frame

# Neighbours that are merged at a time; a power of two.
_N_MERGED = 16
# Bytes of a summary in one row: Arrow's batches are limited to 2 GB.
_PIECE = 2**22

_SUMMARIES = "place int, piece int, data binary"
_PARTITIONS = f"{_SUMMARIES}, n_rows bigint, fingerprint decimal(20)"
_ADVICE = (
    "the frame has other rows, other partitions or another order each time it is computed. Call "
    "data.persist() first, or write it to files and read these."
)


@dataclass(frozen=True)
class _Failure:
    """Stands for a summary that cannot be made.

    Sent to the driver as a value: an exception would make Spark try again, with the same result.
    """

    message: str


@dataclass(frozen=True)
class _Merge:
    """Merges summaries in a tree; the first failure stands for the whole."""

    merge: Callable

    def __call__(self, one: Any, other: Any) -> Any:
        for summary in (one, other):
            if isinstance(summary, _Failure):
                return summary
        try:
            return self.merge(one, other)
        except (TypeError, ValueError) as error:
            return _Failure(str(error))


class SparkRows(Passes):
    """Passes over the rows of a Spark DataFrame: see `tamis._passes.Passes`."""

    def __init__(
        self, data: Any, features: str | Sequence[str], label: str, weight: str | None
    ) -> None:
        require_frame(data)
        self.features = find_features(data, features)
        self.feature_names: Sequence[str] | None = self.features.names
        self.others = {"label": label} if weight is None else {"label": label, "weight": weight}
        places = [position_of(data, name, role) for role, name in self.others.items()]
        for role, place in zip(self.others, places, strict=True):
            _require_plain(data.schema.fields[place], role)
        # mapInArrow fails on names with dots, so columns go by their places.
        chosen = map(str, (*self.features.positions, *places))
        self.rows = data.toDF(*map(str, range(len(data.columns)))).select(*chosen)
        self.first: dict[int, Fingerprint] | None = None  # of the partitions, in the first pass

    def run(self, task: Callable, merge: Callable) -> Any:
        """Run the task on all partitions, merge the results and return the last one."""
        return self._run(task, _Merge(merge), _N_MERGED)

    def collect(self, task: Callable) -> list:
        """The lists that the task makes of the chunks, as one; lists are not merged on the way."""
        return self._run(task, _Merge(operator.add), sys.maxsize)

    def _run(self, task, merge, n_collected):
        function = _summarising(self.features, list(self.others.values()), task, merge)
        partitions = self.rows.mapInArrow(function, _PARTITIONS)
        if self.first is not None and len(self.first) <= n_collected:
            rows = partitions.collect()
            self._check(rows)
        else:
            partitions = partitions.persist()  # used twice: sizes, then summaries
            try:
                named = "place", "n_rows", "fingerprint"
                self._check(partitions.where("piece = 0").select(*named).collect())
                rows = _merge(partitions, sorted(self.first), merge, n_collected).collect()
            finally:
                partitions.unpersist()
        rows.sort(key=lambda row: (row.place, row.piece))
        whole = merge_in_tree((summary for _, summary in read_summaries(rows)), merge)
        if isinstance(whole, _Failure):
            raise ValueError(whole.message)
        return whole

    def _check(self, partitions):
        """Compare the partitions with those of the first pass."""
        seen = {row.place: Fingerprint(row.n_rows, int(row.fingerprint)) for row in partitions}
        if not seen:
            raise ValueError("The frame has no rows.")
        if self.first is None:
            self.first = seen
        nothing = Fingerprint(0, 0)
        for place in sorted(seen | self.first):
            before, now = (found.get(place, nothing) for found in (self.first, seen))
            before.require_same(now, f"Partition {place} has", _ADVICE)


def _require_plain(field, role):
    from pyspark.sql import types

    plain: tuple[type, ...] = (types.IntegralType, types.FloatType, types.DoubleType)
    if role == "label":
        plain += (types.StringType, types.BooleanType)
    if not isinstance(field.dataType, plain):
        wanted = "numbers or strings" if role == "label" else "numbers"
        raise ValueError(
            f"Column {field.name!r} has the type {field.dataType.simpleString()}, but each "
            f"{role} must be one of {wanted}. Cast the column first."
        )


def _summarising(features: Features, others: list[str], task: Callable, merge: Callable):
    """The function of a partition: from its record batches to its summary, in pieces."""

    def summarise(batches):
        from pyspark import TaskContext

        partition, seen = TaskContext.get().partitionId(), Fingerprint(0, 0)

        def summaries():
            nonlocal seen
            filled = (batch for batch in batches if batch.num_rows)
            for number, batch in enumerate(filled):
                chunk = f"{number} of partition {partition}"
                summary, rows = _summarise(features, others, task, chunk, batch)
                seen = seen.merge(rows)
                yield summary

        summary = merge_in_tree(summaries(), merge)
        if seen.n_rows:
            for row in write_summary(partition, summary):
                yield _one_row(*row, seen.n_rows, Decimal(seen.value))

    return summarise


def _summarise(features, others, task, chunk, batch):
    """The summary of a record batch, and the fingerprint of its rows."""
    rows = Fingerprint(batch.num_rows, 0)
    n_columns = len(features.columns)
    try:
        X = features.read(batch.columns[:n_columns])
        rest = [read_column(*pair) for pair in zip(others, batch.columns[n_columns:], strict=True)]
    except ValueError as error:
        return _Failure(f"Chunk {chunk}: {error}"), rows
    try:
        summary = task(chunk, X, *rest, *([None] if len(rest) == 1 else []))
    except (TypeError, ValueError) as error:
        return _Failure(str(error)), rows
    return summary, Fingerprint.of(X, *rest)


def _one_row(*values):
    """A record batch of one row, with the columns of `_SUMMARIES` or `_PARTITIONS`."""
    import pyarrow as pa

    kinds = (pa.int32(), pa.int32(), pa.binary(), pa.int64(), pa.decimal128(20))[: len(values)]
    names = ("place", "piece", "data", "n_rows", "fingerprint")[: len(values)]
    columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    return pa.record_batch(columns, names=names)


def write_summary(place: int, summary: Any) -> Iterator[tuple[int, int, bytes]]:
    """The rows of a summary: place, number of the piece, bytes."""
    data = pickle.dumps(summary, protocol=pickle.HIGHEST_PROTOCOL)
    for piece, start in enumerate(range(0, len(data), _PIECE)):
        yield place, piece, data[start : start + _PIECE]


def read_summaries(rows: Iterable[tuple[int, int, bytes]]) -> Iterator[tuple[int, Any]]:
    """Place and summary, from rows in order; one summary at a time."""
    for place, pieces in groupby(rows, key=lambda row: row[0]):
        yield place, pickle.loads(b"".join(row[2] for row in pieces))


def _merge(partitions, numbers, merge, n_collected):
    """Merge neighbours among the summaries of these partitions until few are left."""
    from pyspark.sql import functions as F

    summaries = partitions.select("place", "piece", "data")
    n_left = len(numbers)
    if n_left > n_collected:
        # Partitions without rows have no place in the tree.
        rank = F.array_position(F.lit(numbers), F.col("place")) - 1
        summaries = summaries.withColumn("place", rank.cast("int"))
    while n_left > n_collected:
        n_left = -(-n_left // _N_MERGED)
        summaries = (
            summaries.withColumn("group", F.expr(f"place div {_N_MERGED}"))
            .repartition(n_left, "group")
            .sortWithinPartitions("place", "piece")
            .select("place", "piece", "data")
            .mapInArrow(_merging(merge), _SUMMARIES)
        )
    return summaries


def _merging(merge: Callable):
    """The function that merges neighbours on an executor."""

    def merge_neighbours(batches):
        rows = (row for batch in batches for row in _rows_of(batch))
        for group, some in groupby(read_summaries(rows), key=lambda pair: pair[0] // _N_MERGED):
            merged = merge_in_tree((summary for _, summary in some), merge)
            for row in write_summary(group, merged):
                yield _one_row(*row)

    return merge_neighbours


def _rows_of(batch):
    return zip(*(map(_as_python, column) for column in batch.columns), strict=True)


def _as_python(value):
    return value.as_py()
