"""Passes over chunks of rows: a task that summarises one chunk, and merges in a fixed tree.

Summaries are merged in pairs, in the order of the chunks, so a result does not depend on where and
when a chunk is summarised: here, one chunk after the other, or on the machines of a cluster. Every
engine (`tamis.dask`, `tamis.spark`) is an object with the methods of `Passes`, and whatever learns
from chunks is written for these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from tamis._fingerprints import Fingerprint, FingerprintedTask, MergeFingerprinted

__all__ = ["NO_ROWS", "LocalChunks", "Passes", "Remember", "merge_in_tree"]

NO_ROWS = "There are no rows: give at least one chunk that has some."

_T = TypeVar("_T")
#: Makes a pass, which gives named arrays; or finds what it gave when it was made before.
Remember = Callable[[Callable[[], dict[str, NDArray]]], dict[str, NDArray]]


class Passes(Protocol):
    """Something that can make passes over chunks.

    `feature_names`: names of the columns, if the chunks themselves have none.
    """

    feature_names: Sequence[str] | None

    def run(self, task: Callable[..., _T], merge: Callable[[_T, _T], _T]) -> _T | None:
        """Call the task with number, X, y and weights of each chunk, and merge the results."""

    def remember(self, make: Callable[[], dict[str, NDArray]]) -> dict[str, NDArray]:
        """What `make` finds in one pass, or what it found before the run was interrupted."""
        return make()


def merge_in_tree(summaries: Iterable[_T], merge: Callable[[_T, _T], _T]) -> _T | None:
    """Merge neighbours, then neighbours of the results, and so on; None without summaries.

    At most log2(n) summaries are held at a time.

    Examples
    --------
    >>> from tamis._passes import merge_in_tree
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


class SamePasses(Passes):
    """Passes that raise an error if the rows of a later one are not those of the first."""

    _first: Fingerprint | None = None
    _whose, _advice = "The chunks have", ""

    def run(self, task: Callable[..., _T], merge: Callable[[_T, _T], _T]) -> _T | None:
        """See `Passes`."""
        seen = self._run(FingerprintedTask(task), MergeFingerprinted(merge))
        found, now = (None, Fingerprint(0, 0)) if seen is None else seen
        if self._first is None:
            self._first = now
        self._first.require_same(now, self._whose, self._advice)
        return found

    def _run(self, task, merge):
        """Make a pass."""
        raise NotImplementedError


class LocalChunks(SamePasses):
    """Chunks that are read one after the other; those without rows are skipped.

    `chunks`: of tuples (X, y) or (X, y, sample_weight); a callable returns such an iterable.
    `is_read_again`: whether an iterator that can be read only once is an error. `remember`: see
    `Passes`.
    """

    _advice = (
        "they must be the same each time they are read. Pass a list, or a function that reads "
        "them in the same order."
    )

    def __init__(self, chunks: Any, is_read_again: bool, remember: Remember | None = None) -> None:
        if not callable(chunks) and not isinstance(chunks, Iterable):
            raise ValueError(
                "chunks must be a list of tuples (X, y), an iterable of them, or a function that "
                f"returns one; got {type(chunks).__name__}."
            )
        if is_read_again and isinstance(chunks, Iterator):
            raise ValueError(
                "The chunks are needed several times, but chunks is an iterator that can "
                "be read only once. Pass a list, or a function that returns a new iterator."
            )
        self.chunks = chunks
        self.feature_names = getattr(chunks, "feature_names", None)
        self._remember, self._is_read_again = remember, is_read_again

    def remember(self, make: Callable[[], dict[str, NDArray]]) -> dict[str, NDArray]:
        """See `Passes`."""
        return make() if self._remember is None else self._remember(make)

    def run(self, task: Callable[..., _T], merge: Callable[[_T, _T], _T]) -> _T | None:
        """See `Passes`."""
        return super().run(task, merge) if self._is_read_again else self._run(task, merge)

    def _run(self, task, merge):
        return merge_in_tree((task(*chunk) for chunk in self._read()), merge)

    def _read(self):
        """Number, X, y and weights of each chunk that has rows."""
        for number, chunk in enumerate(self.chunks() if callable(self.chunks) else self.chunks):
            if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
                raise ValueError(
                    f"Chunk {number} must be a tuple (X, y) or (X, y, sample_weight); got "
                    f"{type(chunk).__name__}."
                )
            if _has_rows(chunk[0]) or _has_rows(chunk[1]):  # labels alone are an error
                yield number, *chunk, *([None] if len(chunk) == 2 else [])


def _has_rows(values):
    """Whether there are rows; values of an unknown kind are left to the checks of a task."""
    shape = getattr(values, "shape", None)
    if shape is not None:  # sparse containers have no length
        return not shape or shape[0] > 0
    return not hasattr(values, "__len__") or len(values) > 0
