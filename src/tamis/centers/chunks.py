"""Training on chunks of rows: summaries that are merged in a fixed tree.

A chunk is summarised on its own and summaries are merged in pairs, in the order of the chunks, so
the result does not depend on where and when a chunk is summarised. Means need one pass over the
chunks (`tamis.centers.statistics`). Medians need one for each digit, and one for the deviations
from them (`tamis.centers.median_search`), so the chunks must be readable again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamis.centers.median_search import MedianSearch, Survey, plan_search
from tamis.centers.segments import ClassMedians

__all__ = ["Labelled", "Rereadable", "medians_of_chunks", "merge_in_tree"]

_T = TypeVar("_T")
# Sums of numbers up to this size do not overflow.
_LARGEST = 2.0**900


def merge_in_tree(summaries: Iterable[_T], merge: Callable[[_T, _T], _T]) -> _T | None:
    """Merge neighbours, then neighbours of the results, and so on; None without summaries.

    At most log2(n) summaries are held at a time.

    Parameters
    ----------
    summaries : iterable
    merge : callable

    Returns
    -------
    merged : summary or None

    Examples
    --------
    >>> from tamis.centers.chunks import merge_in_tree
    >>> merge_in_tree("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    waiting: list[tuple[int, _T]] = []
    for summary in summaries:
        size = 1
        while waiting and waiting[-1][0] == size:
            summary = merge(waiting.pop()[1], summary)
            size *= 2
        waiting.append((size, summary))
    if not waiting:
        return None
    merged = waiting.pop()[1]
    while waiting:
        merged = merge(waiting.pop()[1], merged)
    return merged


@dataclass
class Labelled:
    """A summary of some classes, which can be merged with one of other classes.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        The classes, in order.
    summary : object
        With `spread(places, n_classes)`, its classes at other places, and `merge(other)`.
    """

    labels: NDArray
    summary: Any

    def merge(self, other: Labelled) -> Labelled:
        """Of the rows and classes of both."""
        if np.array_equal(self.labels, other.labels):
            return Labelled(self.labels, self.summary.merge(other.summary))
        labels = np.union1d(self.labels, other.labels)
        return Labelled(labels, self._spread(labels).merge(other._spread(labels)))

    def _spread(self, labels):
        return self.summary.spread(np.searchsorted(labels, self.labels), labels.size)


class Rereadable:
    """Chunks that can be read again.

    Parameters
    ----------
    chunks : iterable or callable
        Of tuples (X, y) or (X, y, sample_weight); a callable returns such an iterable.
    n_passes : {"one", "many"}
        Whether an iterator that can be read only once is enough.
    """

    def __init__(self, chunks: Any, n_passes: str) -> None:
        if not callable(chunks) and not isinstance(chunks, Iterable):
            raise ValueError(
                "chunks must be a list of tuples (X, y), an iterable of them, or a function that "
                f"returns one; got {type(chunks).__name__}."
            )
        if n_passes == "many" and isinstance(chunks, Iterator):
            raise ValueError(
                "Medians need several passes over the chunks, but chunks is an iterator that can "
                "be read only once. Pass a list, or a function that returns a new iterator."
            )
        self.chunks = chunks

    def __iter__(self) -> Iterator[tuple]:
        for number, chunk in enumerate(self.chunks() if callable(self.chunks) else self.chunks):
            if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
                raise ValueError(
                    f"Chunk {number} must be a tuple (X, y) or (X, y, sample_weight); got "
                    f"{type(chunk).__name__}."
                )
            yield (*chunk, None) if len(chunk) == 2 else tuple(chunk)


def medians_of_chunks(
    chunks: Callable[[], Iterable[tuple]],
    whole: Survey,
    max_bytes: float,
) -> ClassMedians:
    """Medians, dispersions and gains of all columns.

    Parameters
    ----------
    chunks : callable
        Returns the chunks as tuples (X, codes, sample_weight), checked.
    whole : Survey
        Of all chunks; every class has weight.
    max_bytes : float
        Memory for counts; with less, the chunks are read more often.

    Returns
    -------
    medians : ClassMedians
    """
    bits, blocks = plan_search(whole.n_features, whole.weight.size, whole.width, max_bytes)
    parts = []
    for block in blocks:
        search = MedianSearch(block, whole, bits)
        while not search.is_found:
            counted = merge_in_tree((search.count(*c) for c in chunks()), search.merge_counts)
            assert counted is not None
            search.descend(counted)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = merge_in_tree((search.deviations(*c) for c in chunks()), np.add)
            assert sums is not None
            parts.append(search.finish(sums))
    result = ClassMedians(
        parts[0].weight,
        *(
            np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in ("median", "common", "dispersion", "gain")
        ),
    )
    _require_ordinary_size(result)
    return result


def _require_ordinary_size(result):
    spread = result.dispersion.sum(axis=0) + result.gain
    safe = (spread == 0) | ((spread > 1 / _LARGEST) & (spread < _LARGEST))
    wrong = np.flatnonzero(~safe)
    if wrong.size:
        raise ValueError(
            f"Column {wrong[0]} has values so large or small that sums over chunks overflow or "
            "vanish. Multiply the column by a constant, or call fit on all data."
        )
