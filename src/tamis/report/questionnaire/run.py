"""The model of a run with its digest and its intended use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tamis.comparison.folder import find_model
from tamis.models.files import LARGEST, read_json
from tamis.models.saving import make_document
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError

_LONGEST_ABOUT = 20_000


@dataclass(frozen=True)
class OpenedRun:
    """A run, or a model file."""

    model: TableModel
    digest: str  # digest of the model
    about: str | None  # intended use: the text of `about.txt` in the folder of the run


def open_run(path: str | os.PathLike[str]) -> OpenedRun:
    """Open a run's folder or a model file; InputError if it cannot be used."""
    model, path = find_model(path), Path(path)
    file = path / "model.json" if path.is_dir() else path
    with open(file, "rb") as start:
        is_skops = start.read(2) == b"PK"
    document = make_document(model) if is_skops else read_json(os.fspath(file), LARGEST)
    about = None
    if path.is_dir() and (path / "about.txt").is_file():
        try:
            about = (path / "about.txt").read_text(encoding="utf-8").strip()[:_LONGEST_ABOUT]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path / 'about.txt'} cannot be read: {error}.") from error
    return OpenedRun(model, str(document["digest"]), about)
