"""Models as files: JSON that people and other languages can read, and skops."""

import copy
import json
import os
import warnings
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import tamis
from tamis.models._check_tables import check_table_classifier
from tamis.models._decoding import decode
from tamis.models._encoding import SPLITTERS, encode
from tamis.models._registry import ESTIMATORS, RECORDS, is_estimator, is_record
from tamis.models._state import build, check, describe, require_fitted
from tamis.models.files import LARGEST, check_size, read_json, write_atomically, write_json
from tamis.models.privacy import PrivacyWarning, holds_training_rows
from tamis.tables.errors import InputError
from tamis.tables.table_classifier import TableClassifier
from tamis.tables.table_model import TableModel

__all__ = ["load_model", "read_model", "save_model"]

FORMAT, FORMAT_VERSION = "tamis-model", 1
_EXTENSIONS = {".json": "json", ".json.gz": "json", ".skops": "skops"}
_HEADER = ("format", "format_version", "tamis_version", "model")
# Types that may be in a skops file: our own list.
TRUSTED = (
    *(f"{module}.{name}" for known in (ESTIMATORS, RECORDS) for name, module in known.items()),
    *(f"sklearn.model_selection._split.{name}" for name in SPLITTERS),
)
# Allowed nodes of the file's schema: loader, and the class that it makes. skops itself trusts
# more, such as functions of NumPy, which no model contains.
_NODES = {
    "DictNode": ("builtins.dict",),
    "JsonNode": ("builtins.str",),
    "ListNode": ("builtins.list",),
    "TupleNode": ("builtins.tuple",),
    "TypeNode": tuple(f"builtins.{name}" for name in ("str", "int", "float", "bool")),
    "NdArrayNode": (
        "numpy.ndarray",
        *(f"numpy.{name}" for name in ("float64", "float32", "int64", "int32", "bool", "bool_")),
    ),
    "ObjectNode": TRUSTED,
}
_KINDS = "biufU"


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
    if isinstance(model, TableClassifier):
        check_is_fitted(model)
        model = model.model_
    estimator = model if is_estimator(model) else getattr(model, "estimator", None)
    if not is_estimator(estimator) or not (is_estimator(model) or is_record(model)):
        raise InputError(
            f"a model of {type(estimator or model).__name__} cannot be saved: only estimators of "
            "tamis can. Use joblib, or skops."
        )
    require_fitted(estimator)
    try:
        check(estimator)
        if model is not estimator:
            check_table_classifier(model)
    except InputError as error:
        raise InputError(f"this {type(model).__name__} cannot be saved: {error}.") from error
    sentence = holds_training_rows(model)
    if sentence:
        warnings.warn(sentence, PrivacyWarning, stacklevel=2)
    if format == "skops":
        write_skops(model, path)
        return
    try:
        content, shared = encode(model, describe)
    except InputError as error:
        raise InputError(f"this {type(model).__name__} cannot be saved: {error}.") from error
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tamis_version": tamis.__version__,
        "model": type(model).__name__,
        **summary(model),
    }
    write_json({**header, "content": content, "shared": shared}, path)


def load_model(path: str | os.PathLike[str], max_bytes: int = LARGEST) -> Any:
    """Read a model that `save_model`, `tamis fit` or `Comparison.save` wrote.

    Nothing in the file is executed. It can only name classes of tamis and give them known
    attributes, and everything is checked, so that a model that was read behaves like a trained
    one.

    Parameters
    ----------
    path : str or path-like
        The file, or the folder of a run. The format of a file is detected from its first bytes,
        not from its name.
    max_bytes : int, default=4 GiB
        A file larger than this, after decompression, raises an error.

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
    return TableClassifier.from_model(model) if isinstance(model, TableModel) else model


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
        text = str(error)
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
    if version > FORMAT_VERSION:
        raise InputError(
            f"its format_version is {version}, and this tamis {tamis.__version__} reads "
            f"{FORMAT_VERSION}; upgrade with pip install -U tamis"
        )
    for key in (*_HEADER, "content"):
        if key not in document:
            raise InputError(f"it lacks {key!r}")
    if type(document["tamis_version"]) is not str:
        raise InputError("its tamis_version must be a string")
    model = decode(document["content"], document.get("shared", []), build)
    if not is_estimator(model):
        if type(model).__name__ != "TableModel" or not is_record(model):
            raise InputError("its content is not a model")
        check_table_classifier(model)
    expected = {"model": type(model).__name__, **summary(model)}
    said = {key: value for key, value in document.items() if key not in _HEADER[:3]}
    said.pop("content")
    said.pop("shared", None)
    for key in said:
        if key not in expected:
            raise InputError(f"it has {key[:60]!r}, which does not belong there")
    for key, value in expected.items():
        if key not in said or said[key] != value:
            raise InputError(f"its {key!r} does not match its content")
    return model


def summary(model):
    """The beginning of a file, for people: names, classes and selected features."""
    described = {}
    estimator = model
    if not is_estimator(model):
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


def write_skops(model, path):
    """Write a model that has been checked."""
    sio = _skops()
    raw = sio.dumps(_without_passing(model))
    with write_atomically(path) as file:
        file.write(raw)


def read_skops(path, max_bytes):
    """Read a model; raises InputError if it contains anything that a tamis model would not."""
    sio = _skops()
    try:
        _check_archive(path, max_bytes)
        untrusted = sio.get_untrusted_types(file=path)
        unknown = sorted(set(untrusted) - set(TRUSTED))
        if unknown:
            raise InputError(f"it has {unknown[0][:80]!r}, which is not a class of a tamis model")
        model = sio.load(path, trusted=list(TRUSTED))
    except InputError:
        raise
    except Exception as error:  # skops reads here, and the file may contain anything
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"skops cannot read it ({type(error).__name__}: {reason})") from error
    _require_whole(model)
    if is_estimator(model):
        check(model)
    elif is_record(model) and type(model).__name__ == "TableModel":
        if not is_estimator(model.estimator):
            raise InputError("its estimator must be an estimator")
        check(model.estimator)
        check_table_classifier(model)
    else:
        raise InputError("its content is not a model")
    return model


def _require_whole(value):
    """Raise unless records have exactly their fields, and estimators all their parameters."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _require_whole(item)
        return
    if is_record(value):
        needed = {field.name for field in fields(value)}
        whole = set(vars(value)) == needed
    elif is_estimator(value):
        whole = set(type(value)._get_param_names()) <= set(vars(value))
    else:
        return
    if not whole:
        raise InputError(f"a {type(value).__name__} has missing or unknown fields")
    _require_whole(vars(value))


def _skops():
    try:
        import skops.io
    except ImportError as error:
        raise InputError("reading and writing .skops needs skops: pip install 'tamis[cli]'") from (
            error
        )
    return skops.io


def _without_passing(model):
    """The model without parameters that cannot be written, as in a JSON file."""
    if not is_estimator(model):
        model = copy.copy(model)
        model.estimator = _without_passing(model.estimator)
        return model
    parameters, state = describe(model, as_json=False)
    other = type(model)(**parameters)
    vars(other).update(state)
    return other


def _check_archive(path, max_bytes):
    """Check sizes, before anything is unpacked, and the types in the schema."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > max_bytes:
            raise InputError(f"it has more than the {max_bytes} bytes that a model may have")
        by_name = {entry.filename: entry for entry in entries}
        if len(by_name) < len(entries) or "schema.json" not in by_name:
            raise InputError("it has no schema")
        for name, entry in by_name.items():
            if name.endswith(".npy"):
                _check_array_file(archive, entry)
            elif name != "schema.json":
                raise InputError(f"it has {name[:60]!r}, which is not part of a model")
        schema = json.loads(archive.read("schema.json"))
    _check_schema(schema, set(by_name))


def _check_array_file(archive, entry):
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise InputError("an array has an invalid header")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        n_bytes = entry.file_size - file.tell()
    if (
        dtype.kind not in _KINDS
        or int(np.prod([int(s) for s in shape], dtype=object)) * (dtype.itemsize) != n_bytes
    ):
        raise InputError("an array does not have the size that it declares")


def _check_schema(node, files):
    """Check that every node is allowed; with a stack, because files may be nested deeply."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack += node
            continue
        if not isinstance(node, dict):
            continue
        stack += node.values()
        if "__loader__" not in node:
            continue
        loader, name = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
        if not isinstance(loader, str) or name not in _NODES.get(loader, ()):
            raise InputError(f"it has {name[:80]!r}, which is not a class of a tamis model")
        if "file" in node and node["file"] not in files:
            raise InputError("it lacks one of its arrays")
