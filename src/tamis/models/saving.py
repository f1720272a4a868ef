"""Models as files: JSON that people and other languages can read, and skops."""

import hashlib
import json
import os
import warnings
from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator

import tamis
from tamis.models._registry import as_model, find_class
from tamis.models.files import LARGEST, check_size, read_json, write_json
from tamis.models.privacy import PrivacyWarning, holds_training_rows
from tamis.models.skops import read_skops, write_skops
from tamis.tables.classifying.table_classifier import TableClassifier
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError

Kind = TypeVar("Kind")

FORMAT, FORMAT_VERSION = "tamis-model", 2
_EXTENSIONS = {".json": "json", ".json.gz": "json", ".skops": "skops"}
_HEADER = ("format", "format_version", "tamis_version", "model")


def save_model(
    model: TableModel | BaseEstimator, path: str | os.PathLike[str], format: str | None = None
) -> None:
    """Write a fitted model to a file; an existing file is replaced in one step, or not at all.

    Parameters
    ----------
    model : estimator or TableClassifier
        Any fitted estimator of tamis.
    path : str or path-like
        A name that ends with ".json", ".json.gz" (compressed) or ".skops".
    format : {"json", "skops"} or None, default=None
        None: by the extension.

    Warns
    -----
    PrivacyWarning
        If the model contains rows of the training data: see `holds_training_rows`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.models import load_model, save_model
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifier(2).fit(data.data, data.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.json"
    ...     save_model(model, path)
    ...     again = load_model(path)
    >>> bool((again.predict_proba(data.data) == model.predict_proba(data.data)).all())
    True
    """
    path = os.fspath(path)
    format = _format_of(path, format)
    model = as_model(model, "saved")
    document = make_document(model)
    sentence = holds_training_rows(model)
    if sentence:
        warnings.warn(sentence, PrivacyWarning, stacklevel=2)
    if format == "skops":
        write_skops(model, path)
    else:
        write_json(document, path)


def make_document(model: TableModel | BaseEstimator) -> dict[str, Any]:
    """The content of a model's JSON file: a header for people, the record, and its digest."""
    model = as_model(model, "saved")
    try:
        record = model.to_record()
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"this {type(model).__name__} cannot be saved: its {_one_line(error)}."
        ) from error
    try:
        _build(type(model).__name__, record)  # what cannot be read is not written
    except InputError as error:
        why = error.for_command
        raise InputError(f"this {type(model).__name__} cannot be saved: {why}.") from error
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tamis_version": tamis.__version__,
        "model": type(model).__name__,
        **summary(model),
        "record": record,
    }
    return document | {"digest": digest(document)}


@overload
def load_model(
    path: str | os.PathLike[str], max_bytes: int = ..., *, kind: None = ...
) -> TableClassifier: ...
@overload
def load_model(
    path: str | os.PathLike[str], max_bytes: int = ..., *, kind: type[Kind]
) -> Kind: ...
def load_model(
    path: str | os.PathLike[str], max_bytes: int = LARGEST, *, kind: type | None = None
) -> Any:
    """Read a model that `save_model`, `tamis fit` or `Comparison.save` wrote.

    Nothing in the file is executed. It can only name classes of tamis, each of which checks the
    values of its record, so that a model that was read behaves like a trained one.

    Parameters
    ----------
    path : str or path-like
        The file, or the folder of a run. The format of a file is detected from its first bytes,
        not from its name.
    max_bytes : int, default=4 GiB
        A file larger than this, after decompression, raises an error.
    kind : class or None
        Class of the model, such as `PanelClassifier`; another one raises an error. None: of any
        class. Type checkers then expect a `TableClassifier`, as a run has.

    Returns
    -------
    model : estimator
        A `TableClassifier` if the model knows its columns. Its predictions are identical, bit for
        bit, to those of the model that was written.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        if not os.path.exists(os.path.join(path, "model.json")):
            raise InputError(
                f"{path} has no model.json: it is not the folder of a finished `tamis fit`."
            )
        path = os.path.join(path, "model.json")
    model = read_model(path, max_bytes)
    model = TableClassifier.from_model(model) if isinstance(model, TableModel) else model
    if kind is not None and not isinstance(model, kind):
        raise InputError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}.")
    return model


def read_model(path: str | os.PathLike[str], max_bytes: int = LARGEST) -> Any:
    """As `load_model`, for a file; a `TableModel` is returned unchanged."""
    path = os.fspath(path)
    check_size(path, max_bytes)
    with open(path, "rb") as file:
        is_zip = file.read(2) == b"PK"
    try:
        if is_zip:
            return read_skops(path, max_bytes)
        return _from_document(read_json(path, max_bytes))
    except InputError as error:
        text = error.for_command
        if text.startswith(("reading ", path)):
            raise
        raise InputError(f"{path} is not a usable tamis model: {text}.") from error
    except (RecursionError, MemoryError) as error:
        raise InputError(f"{path} is not a usable tamis model: it is too large.") from error


def _from_document(document):
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f'it does not begin with "format": "{FORMAT}"')
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError("its format_version must be an integer")
    if version != FORMAT_VERSION:
        advice = "upgrade with pip install -U tamis"
        if version < FORMAT_VERSION:
            advice = "it was written before the first release; train the model again"
        raise InputError(
            f"its format_version is {version}, and this tamis {tamis.__version__} reads "
            f"{FORMAT_VERSION}; {advice}"
        )
    for key in (*_HEADER, "record", "digest"):
        if key not in document:
            raise InputError(f"it lacks {key!r}")
    if type(document["tamis_version"]) is not str:
        raise InputError("its tamis_version must be a string")
    model = _build(document["model"], document["record"])
    _check_summary(document, model)
    if document["digest"] != digest(document):
        raise InputError(
            "its digest does not match its content, so the file was damaged or edited; take "
            "another copy of it"
        )
    return model


def _build(name, record):
    """Make a model from its record."""
    if not isinstance(record, dict):
        raise InputError("its record must be an object")
    try:
        if name == TableModel.__name__:
            return TableModel.from_record(record, find_class)
        return find_class(name).from_record(record)
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(f"its {_one_line(error)}") from error


def _check_summary(document, model):
    expected = summary(model)
    known = {*_HEADER, "record", "digest", *expected}
    for key in document:
        if key not in known:
            raise InputError(f"it has {key[:60]!r}, which does not belong there")
    for key, value in expected.items():
        if key not in document or document[key] != value:
            raise InputError(f"its {key!r} does not match its record")


def digest(document: dict[str, Any]) -> str:
    """SHA-256 of a document without its digest, as JSON with sorted keys and without spaces."""
    content = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _one_line(error):
    return " ".join(str(error).split())[:200].rstrip(".")


def summary(model):
    """The beginning of a file, for people: names, classes and selected features."""
    described: dict[str, Any] = {}
    estimator = model
    if isinstance(model, TableModel):
        estimator = model.estimator
        described["target"] = model.target
        described["required_columns"] = list(model.preparation.required)
        names = np.array(model.preparation.columns, dtype=object)
    else:
        names = getattr(model, "feature_names_in_", None)
    if hasattr(estimator, "classes_"):
        described["classes"] = estimator.classes_.tolist()
    described["n_features"] = int(estimator.n_features_in_)
    support = getattr(estimator, "support_", None)
    if support is not None:
        selected = np.flatnonzero(support)
        described["selected_features"] = (selected if names is None else names[selected]).tolist()
    return described


def _format_of(path, format):
    if format is None:
        for end, known in _EXTENSIONS.items():
            if path.endswith(end):
                return known
        raise InputError(
            f"{path} must end with .json, .json.gz or .skops, or format must be 'json' or 'skops'."
        )
    if format not in ("json", "skops"):
        raise InputError(f"format must be 'json' or 'skops', got {format!r}.")
    return format
