"""Whole Python estimators as skops files."""

from __future__ import annotations

import os
import warnings
import zipfile
from typing import Any

from tamis._base.plain_values import SPLITTERS
from tamis.models._registry import ESTIMATORS, PARTS, find_class, is_estimator
from tamis.models.files import write_atomically
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError, load

# Types that skops does not trust by itself.
TRUSTED = [
    *(f"{module}.{name}" for known in (ESTIMATORS, PARTS) for name, module in known.items()),
    *(f"sklearn.model_selection._split.{name}" for name in SPLITTERS),
]


def write_skops(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    raw = load("skops.io", "reading and writing .skops").dumps(model)
    with write_atomically(path) as file:
        file.write(raw)


def read_skops(path: str | os.PathLike[str], max_bytes: int) -> Any:
    """Read a model; raises InputError if it has anything that no tamis model has.

    skops creates only types that it trusts and those of tamis. The model is then described by a
    record and made again from it, so that its values are checked as those of a JSON file.
    """
    sio = load("skops.io", "reading and writing .skops")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > max_bytes:
                raise InputError(f"it has more than the {max_bytes} bytes that a model may have")
        unknown = sorted(set(sio.get_untrusted_types(file=path)) - set(TRUSTED))
        if unknown:
            raise InputError(f"it has {unknown[0][:80]!r}, which is not a class of a tamis model")
        model = sio.load(path, trusted=TRUSTED)
    except InputError:
        raise
    except Exception as error:  # skops reads here, and the file may contain anything
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"skops cannot read it ({type(error).__name__}: {reason})") from error
    return _checked(model)


def _checked(model):
    """The same model, made again from its record."""
    inner = model.estimator if type(model) is TableModel else model
    if not is_estimator(inner):
        raise InputError("its content is not a model")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parameters that no record can have: see below
            again = type(inner).from_record(inner.to_record())
            for name in inner._get_param_names():
                setattr(again, name, getattr(inner, name))
            _require_same_attributes(inner, again)
            if type(model) is not TableModel:
                return again
            table = TableModel.from_record(model.to_record(), find_class)
            table.estimator = again
            _require_same_attributes(model, table)
            return table
    except (ValueError, MemoryError) as error:
        raise InputError(f"its {' '.join(str(error).split())[:200].rstrip('.')}") from error
    except Exception as error:  # attributes are missing, or are something else
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"it has missing or unknown fields ({reason})") from error


def _require_same_attributes(model, again):
    for name in vars(model):
        if name not in vars(again) and not name.startswith(("_metadata_request", "_skl_callb")):
            raise ValueError(f"{name[:60]!r} does not belong there")
