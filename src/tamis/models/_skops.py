"""Models as skops files, read with our own list of trusted types."""

import json
import zipfile
from dataclasses import fields

import numpy as np

from tamis.models._check_tables import check_table_classifier
from tamis.models._checking import is_plain
from tamis.models._codec import SPLITTERS
from tamis.models._registry import ESTIMATORS, RECORDS, is_estimator, is_record
from tamis.models._state import check
from tamis.models.files import write_atomically
from tamis.tables.errors import InputError

__all__ = ["read_skops", "write_skops"]

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
    import copy

    from tamis.models._state import describe

    if not is_estimator(model):
        model = copy.copy(model)
        model.estimator = _without_passing(model.estimator)
        return model
    parameters, state = describe(model, is_kept=_is_kept)
    other = type(model)(**parameters)
    vars(other).update(state)
    return other


def _is_kept(value):
    """Whether a parameter is a plain value, or a splitter with plain parameters."""
    return is_plain(value) or (type(value).__name__ in SPLITTERS and is_plain(vars(value)))


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
