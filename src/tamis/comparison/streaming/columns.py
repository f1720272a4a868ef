"""What describes the columns of all rows: centers of the classes, and p-values.

One pass adds up what means and F tests need; medians of numbers take one or two more
(`tamis.tables.preparing.streamed_medians`, each class as a column of its own). Missing values are
left out of centers and replaced in tests, as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis._passes import Remember
from tamis.centers.statistics import ClassMoments, summarise
from tamis.comparison.fitted.f_tests import f_test
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.streamed_medians import find_medians, first_brackets
from tamis.tables.reading.row_stream import RowChunk, RowStream

__all__ = ["DescribedColumns", "class_means", "class_medians"]

_MEDIAN_BYTES = 16e6


@dataclass(frozen=True)
class DescribedColumns:
    """Centers of the classes and p-values, by column."""

    means: NDArray  # (n_classes, n_columns)
    p: NDArray  # of the columns of a part
    numbers: NDArray  # (n_numbers,): columns with medians
    medians: NDArray | None  # (n_classes, n_numbers)

    def centers(self, columns: NDArray, use_median: bool) -> NDArray[np.float64]:
        """Means or medians of some columns: (n_classes, n)."""
        centers = self.means[:, columns]
        if use_median and self.medians is not None:
            is_number = np.isin(columns, self.numbers)
            places = np.searchsorted(self.numbers, columns[is_number])
            centers[:, is_number] = self.medians[:, places]
        return centers


@dataclass(frozen=True)
class _Sums:
    """Of known values and their weights, by class; and moments of rows without gaps."""

    sums: NDArray  # (n_classes, n_columns)
    known: NDArray  # (n_classes, n_columns)
    moments: ClassMoments

    def merge(self, other: _Sums) -> _Sums:
        moments = self.moments.merge(other.moments)
        return _Sums(self.sums + other.sums, self.known + other.known, moments)


def class_means(
    stream: RowStream, preparation: Preparation, remember: Remember
) -> dict[str, NDArray]:
    """Means of known values, and the p-value of each column, in one pass.

    `preparation`: learned from the rows. Returns `means` (n_classes, n_columns), NaN where a class
    has no value; `p` (n_columns,): of unweighted rows.
    """
    n_classes = len(stream.classes)

    def look(chunk: RowChunk) -> _Sums:
        encoded = preparation.encode(chunk.table)
        weights = np.ones(chunk.codes.size) if chunk.weights is None else chunk.weights
        place = chunk.codes, np.arange(chunk.codes.size)
        member = sparse.csr_array((weights, place), (n_classes, chunk.codes.size))
        values, gaps = _without_gaps(preparation.pool(encoded))
        known = member.sum(axis=1)[:, None] - _dense(member @ gaps)
        moments = summarise(preparation.finish(encoded), chunk.codes, n_classes)
        return _Sums(_dense(member @ values), known, moments)

    def make():
        found = stream.run(look, _Sums.merge)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(found.known > 0, found.sums / found.known, np.nan)
        return {"means": means, "p": f_test(found.moments)}

    return remember(make)


def class_medians(
    stream: RowStream, names: list[str], sample: Matrix, codes: NDArray, remember: Remember
) -> NDArray[np.float64]:
    """Weighted medians of the known values of some numbers, by class.

    `names`: of the columns; `sample` (n_sample, n_columns), `codes`: values and classes of some
    rows. Returns `medians` (n_classes, n_columns), NaN where a class has no value.
    """
    n_classes, narrow = len(stream.classes), stream.select(names)
    most = int(_MEDIAN_BYTES / 16 / (n_classes * len(names)))
    brackets = first_brackets(_by_class(sample, codes, n_classes), most, empty=np.nan)

    def run(task, merge):
        def look(chunk: RowChunk):
            return task(_by_class(chunk.table.numeric, chunk.codes, n_classes), chunk.weights)

        return narrow.run(look, merge)

    return find_medians(run, brackets, remember).reshape(n_classes, len(names))


def _by_class(values, codes, n_classes):
    """Each class in columns of its own, NaN in the rows of others: (n_rows, n_classes * n)."""
    values = values.toarray() if is_sparse(values) else values
    return np.hstack([np.where((codes == c)[:, None], values, np.nan) for c in range(n_classes)])


def _without_gaps(values):
    """Values with 0 where one is missing, and 1 where one is."""
    if is_sparse(values):
        gaps = sparse.csr_array(values, dtype=np.float64, copy=True)
        gaps.data = np.isnan(gaps.data).astype(np.float64)
        values = values.copy()
        values.data = np.nan_to_num(values.data)
        return values, gaps
    missing = np.isnan(values)
    return np.where(missing, 0.0, values), missing.astype(np.float64)


def _dense(values):
    return values.toarray() if is_sparse(values) else values
