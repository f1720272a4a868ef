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
from itertools import groupby
from typing import Any

from tamis._passes import Passes, merge_in_tree
from tamis.spark.columns import Features, find_features, position_of, read_column, require_frame

# Neighbours that are merged at a time; a power of two.
_N_MERGED = 16
# Bytes of a summary in one row: Arrow's batches are limited to 2 GB.
_PIECE = 2**22

_SUMMARIES = "place int, piece int, data binary"
_PARTITIONS = f"{_SUMMARIES}, n_rows bigint"


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
        self.n_rows: dict[int, int] | None = None

    def run(self, task: Callable, merge: Callable) -> Any:
        """Run the task on all partitions, merge the results and return the last one."""
        return self._run(task, _Merge(merge), _N_MERGED)

    def collect(self, task: Callable) -> list:
        """The lists that the task makes of the chunks, as one; lists are not merged on the way."""
        return self._run(task, _Merge(operator.add), sys.maxsize)

    def _run(self, task, merge, n_collected):
        function = _summarising(self.features, list(self.others.values()), task, merge)
        partitions = self.rows.mapInArrow(function, _PARTITIONS)
        if self.n_rows is not None and len(self.n_rows) <= n_collected:
            rows = partitions.collect()
            self._check(rows)
        else:
            partitions = partitions.persist()  # used twice: sizes, then summaries
            try:
                self._check(partitions.where("piece = 0").select("place", "n_rows").collect())
                rows = _merge(partitions, sorted(self.n_rows), merge, n_collected).collect()
            finally:
                partitions.unpersist()
        rows.sort(key=lambda row: (row.place, row.piece))
        whole = merge_in_tree((summary for _, summary in read_summaries(rows)), merge)
        if isinstance(whole, _Failure):
            raise ValueError(whole.message)
        return whole

    def _check(self, sizes):
        n_rows = {row.place: row.n_rows for row in sizes}
        if not n_rows:
            raise ValueError("The frame has no rows.")
        if self.n_rows is None:
            self.n_rows = n_rows
        for place in sorted(n_rows | self.n_rows):
            before, now = self.n_rows.get(place, 0), n_rows.get(place, 0)
            if before != now:
                raise ValueError(
                    f"Partition {place} has {now} rows, but had {before} in the first pass: the "
                    "frame has other rows, or other partitions, each time it is computed. Call "
                    "data.persist() first, or write it to files and read these."
                )


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

        partition, n_rows = TaskContext.get().partitionId(), 0

        def summaries():
            nonlocal n_rows
            filled = (batch for batch in batches if batch.num_rows)
            for number, batch in enumerate(filled):
                n_rows += batch.num_rows
                yield _summarise(
                    features, others, task, f"{number} of partition {partition}", batch
                )

        summary = merge_in_tree(summaries(), merge)
        if n_rows:
            for row in write_summary(partition, summary):
                yield _one_row(*row, n_rows)

    return summarise


def _summarise(features, others, task, chunk, batch):
    """The summary of a record batch."""
    n_columns = len(features.columns)
    try:
        X = features.read(batch.columns[:n_columns])
        rest = [read_column(*pair) for pair in zip(others, batch.columns[n_columns:], strict=True)]
    except ValueError as error:
        return _Failure(f"Chunk {chunk}: {error}")
    try:
        return task(chunk, X, *rest, *([None] if len(rest) == 1 else []))
    except (TypeError, ValueError) as error:
        return _Failure(str(error))


def _one_row(*values):
    """A record batch of one row, with the columns of `_SUMMARIES` or `_PARTITIONS`."""
    import pyarrow as pa

    kinds = (pa.int32(), pa.int32(), pa.binary(), pa.int64())[: len(values)]
    names = ("place", "piece", "data", "n_rows")[: len(values)]
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
