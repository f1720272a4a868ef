"""Which rows of a streamed table train the final model: not those set aside, no dropped copies.

Rows are numbered as the stream gives them, and one bit a row is kept. Calibration rows are known
by their units, which are whole sample groups where there are some. A row outside the sample that
equals one of them is left out as well, unless so many would be equal by chance that nothing is
left to learn from. With duplicates="drop", one pass finds the hashes of rows and labels that occur
twice, in parts that fit into memory; if there are far more equal pairs than independent columns
would give, only the first row of each stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tamis._passes import Remember
from tamis.paths.copies import expected_pairs
from tamis.paths.hashing import mix
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.streamed_preparation import hash_table, numbers_of
from tamis.tables.reading.row_stream import RowChunk, RowStream

__all__ = ["FAR_MORE", "SetAside", "find_training_rows", "training_stream"]

#: As many more equal pairs than by chance are copies.
FAR_MORE = 10
# Share of the rows that may be left out because they equal a calibration row by chance.
_BY_CHANCE = 0.01
# Bytes for a hash, while equal ones are searched.
_HASH_BYTES = 32
# Memory that is used for hashes, however little there is: else there would be no end of passes.
_LEAST_BYTES = 2.0**24


@dataclass(frozen=True)
class SetAside:
    """Calibration rows."""

    units: NDArray[np.uint64]
    rows: Columns
    have_copies: bool  # whether equal rows elsewhere are copies, or samples of their own


def find_training_rows(
    stream: RowStream,
    sample: Columns,
    ignored: list[str],
    aside: SetAside | None,
    drops: bool,
    max_bytes: float,
    remember: Remember,
) -> dict[str, NDArray]:
    """Find the rows that train.

    `sample`: features of the sample; `ignored`: columns in which copies may differ; `aside`: rows
    that do not train; `drops`: whether copies with the same label are dropped; `remember`: see
    `Passes`. Returns `rows`: one bit a row, packed; `n_rows`; `class_weights` (n_classes,).
    """
    repeated = np.zeros(0, dtype=np.uint64)
    if drops:
        repeated = _find_repeated(stream, sample, ignored, max_bytes, remember)
    units, equal = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64)
    if aside is not None:
        units = np.unique(aside.units)
        n_pairs = stream.n_labelled * float(aside.rows.n_rows)
        by_chance = expected_pairs(numbers_of(sample, ignored), n_pairs)
        if aside.have_copies and by_chance < _BY_CHANCE * stream.n_labelled:
            equal = np.unique(hash_table(aside.rows, ignored))

    def look():
        seen, weights = np.zeros(repeated.size, dtype=bool), np.zeros(len(stream.classes))
        masks, n_rows = [], 0
        for chunk in stream:
            trains = ~np.isin(chunk.units, units)
            if equal.size:
                trains &= ~np.isin(hash_table(chunk.table, ignored), equal)
            if repeated.size:
                trains &= _is_first(_hash(chunk, ignored), repeated, seen)
            masks.append(trains)
            n_rows += int(trains.sum())
            chunk = chunk.take(np.flatnonzero(trains))
            weights += np.bincount(chunk.codes, chunk.weights, weights.size)
        rows = np.packbits(np.concatenate(masks))
        return {"rows": rows, "n_rows": np.array(n_rows), "class_weights": weights}

    return remember(look)


def training_stream(stream: RowStream, found: dict[str, NDArray]) -> RowStream:
    """The stream of the rows that `find_training_rows` found."""
    return replace(stream, chosen=found["rows"], n_labelled=int(found["n_rows"]))


def _hash(chunk: RowChunk, ignored):
    """One number for the features and the label of each row."""
    return hash_table(chunk.table, ignored) ^ mix(chunk.codes.astype(np.uint64))


def _is_first(hashes, repeated, seen):
    """Which rows are the first with their hash; `seen`: which of the repeated were, changed."""
    at = np.minimum(np.searchsorted(repeated, hashes), repeated.size - 1)
    later = repeated[at] == hashes
    places, first = np.unique(at[later], return_index=True)
    first = np.flatnonzero(later)[first[~seen[places]]]
    seen[places] = True
    later[first] = False
    return ~later


def _find_repeated(stream, sample, ignored, max_bytes, remember):
    """Hashes of rows that occur more than once, if these are copies."""
    n_rows = stream.n_labelled
    n_parts = max(1, int(np.ceil(_HASH_BYTES * n_rows / max(max_bytes, _LEAST_BYTES))))
    found, n_pairs = [], 0.0
    for part in range(n_parts):

        def look(part=part):
            hashes = (_hash(chunk, ignored) for chunk in stream)
            some = [h[h % np.uint64(n_parts) == part] for h in hashes]
            values, times = np.unique(np.concatenate(some), return_counts=True)
            many = times > 1
            pairs = 0.5 * float((times[many] * (times[many] - 1.0)).sum())
            return {"hashes": values[many], "n_pairs": np.array(pairs)}

        seen = remember(look)
        found.append(seen["hashes"])
        n_pairs += float(seen["n_pairs"])
    by_chance = expected_pairs(numbers_of(sample, ignored), 0.5 * n_rows * (n_rows - 1.0))
    if n_pairs <= FAR_MORE * by_chance:
        return np.zeros(0, dtype=np.uint64)
    return np.sort(np.concatenate(found))
