"""The checkpoints of a comparison: which data, options and versions they belong to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis import __version__
from tamis.comparison.running.store import ManifestMismatch, Store, other_versions
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.callbacks import Callback
    from tamis.comparison.options import Options
    from tamis.comparison.problem.problem import Problem
    from tamis.comparison.settings import Settings

__all__ = ["open_store", "refuse_other_versions", "store_of", "versions"]

# 2 since linear and kernel panels are methods of their own.
_FORMAT = 2
# What to do about checkpoints of something else.
_DISCARD = "Use another folder, or --force to discard them."
_PUT_BACK = (
    "Put back the data as they were when the run was made, or repeat it with tamis fit on those "
    "that are there now: into another folder, or with --force."
)


def open_store(
    folder: str | PathLike,
    problem: Problem,
    options: Options,
    settings: Settings,
    *,
    force: bool = False,
    only_finished: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Store:
    """Open the checkpoints of a comparison.

    `force`: whether checkpoints of a different comparison are discarded; `only_finished`: whether
    they will only be read: none is discarded, of whichever version; `callbacks`: told of damaged
    and discarded checkpoints. Returns `store`: InputError is raised if the folder holds those of a
    different comparison.
    """

    def tell(message):
        for callback in callbacks:
            callback.on_message(message)

    if only_finished:
        refuse_other_versions(folder)
    words = options.words | {"folds": settings.n_folds, "repeats": settings.n_repeats}
    manifest = {
        "format": _FORMAT,
        "data": problem.digest(),
        "options": words,
        "versions": versions(),
    }
    return store_of(folder, manifest, force, tell, _PUT_BACK if only_finished else _DISCARD)


def store_of(
    folder: str | PathLike,
    manifest: dict[str, Any],
    force: bool,
    tell: Callable[[str], None],
    advice: str = _DISCARD,
) -> Store:
    """The checkpoints of what a manifest describes; raises InputError for those of another.

    `advice`: what to do then.
    """
    manifest = json.loads(json.dumps(manifest, default=str))  # tuples become lists
    try:
        return Store(folder, manifest, force, tell=tell)
    except ManifestMismatch as error:
        raise InputError(
            f"{folder} holds results of a different comparison ({error}). {advice}"
        ) from error


def refuse_other_versions(folder: str | PathLike) -> None:
    """Raise InputError if a folder holds checkpoints of other versions."""
    try:
        known = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    wanted = {"format": _FORMAT, "versions": versions()}
    if isinstance(known, dict) and (told := other_versions(known, wanted)):
        raise InputError(
            f"{folder} holds checkpoints of {told}, which cannot be used; repeat tamis fit first."
        )


def versions():
    """Versions that a result depends on."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    return {"tamis": __version__, **{name: version(name) for name in names}}
