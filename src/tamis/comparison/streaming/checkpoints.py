"""Checkpoints of a streamed table: the result of each pass as arrays."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike

from numpy.typing import NDArray

from tamis._passes import Remember
from tamis.comparison.running.store import Store
from tamis.paths.hashing import Sketch
from tamis.tables.formats.table_file import as_text, from_text
from tamis.tables.preparing.streamed_preparation import ColumnSurvey

__all__ = ["SavedPasses", "digest_file", "read_survey", "write_survey"]

_BLOCK = 1 << 22


def digest_file(path: PathLike) -> str:
    """Hash of the content of a file."""
    hasher = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            hasher.update(block)
    return hasher.hexdigest()


@dataclass(frozen=True)
class SavedPasses:
    """Results of passes over a file, which are saved and found again."""

    store: Store | None
    tell: Callable[[str], None]  # called with messages for the user
    prefix: str = ""  # of all keys

    def __call__(
        self, key: str, message: str, make: Callable[[], dict[str, NDArray]]
    ) -> dict[str, NDArray]:
        """The arrays of a pass: found, or made and saved."""
        key = self.prefix + key
        found = None if self.store is None else self.store.load(key)
        if found is None:
            self.tell(message)
            found = make()
            if self.store is not None:
                self.store.save(key, found)
        return found

    def of(self, name: str) -> SavedPasses:
        """Those over some of the rows, which the name stands for."""
        return replace(self, prefix=f"{name}-")

    def several(
        self, key: str, message: str, make: Callable[[Remember], dict[str, NDArray]]
    ) -> dict[str, NDArray]:
        """What `make` finds in several passes, of which each that it remembers is saved."""
        if self.store is None:
            return self(key, message, lambda: make(lambda make_pass: make_pass()))
        key = self.prefix + key
        found = self.store.load(key)
        if found is None:
            parts = _Parts(self.store, key, message, self.tell)
            found = make(parts)
            self.store.save(key, found)
            parts.remove()
        return found


class _Parts:
    """Passes that follow each other, each saved until all are finished."""

    def __init__(self, store, key, message, tell):
        self.store, self.key, self.message, self.tell = store, key, message, tell
        self.keys = []
        if not store.path(self._name(1)).exists():
            tell(message)

    def _name(self, number):
        return f"{self.key}-pass{number}"

    def __call__(self, make):
        number = len(self.keys) + 1
        self.keys.append(self._name(number))
        found = self.store.load(self.keys[-1])
        if found is None:
            if number > 1:
                self.tell(f"{self.message}, pass {number}")
            found = make()
            self.store.save(self.keys[-1], found)
        return found

    def remove(self):
        """Remove what only later passes needed."""
        for key in self.keys:
            self.store.path(key).unlink(missing_ok=True)


def write_survey(survey: ColumnSurvey) -> dict[str, NDArray]:
    """A survey as arrays."""
    return {
        "missing": survey.missing,
        "ranges": survey.ranges,
        "row_numbers": survey.rows.numbers,
        "row_counts": survey.rows.counts,
        "class_weights": survey.class_weights,
        "sample_units": survey.sample_units,
        "about": as_text(
            {
                "n_rows": survey.n_rows,
                "size": survey.rows.size,
                "counts": survey.counts,
                "lost_words": sorted(survey.lost_words),
            }
        ),
    }


def read_survey(arrays: dict[str, NDArray]) -> ColumnSurvey:
    """The survey of `write_survey`."""
    about = from_text(arrays["about"])
    return ColumnSurvey(
        about["n_rows"],
        arrays["missing"],
        arrays["ranges"],
        {name: Counter(counts) for name, counts in about["counts"].items()},
        Sketch(about["size"], arrays["row_numbers"], arrays["row_counts"]),
        arrays["class_weights"],
        arrays["sample_units"],
        frozenset(about["lost_words"]),
    )
