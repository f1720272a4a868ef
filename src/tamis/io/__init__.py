"""Tables in, models out: files that people and other programs can read.

Public names are loaded on first use; extras such as onnx only where they are used.
"""

from importlib import import_module

_MODULE_OF_NAME = {
    "InputError": "tamis.io.errors",
    "PrivacyWarning": "tamis.io.privacy",
    "export_onnx": "tamis.io.onnx",
    "fingerprint": "tamis.io.source",
    "holds_training_rows": "tamis.io.privacy",
    "load_model": "tamis.io.models",
    "match_labels": "tamis.io.labels",
    "read_rows": "tamis.io.rows",
    "read_table": "tamis.io.readers",
    "register_skl2onnx": "tamis.io.onnx",
    "save_model": "tamis.io.models",
}

__all__ = [
    "InputError",
    "PrivacyWarning",
    "export_onnx",
    "fingerprint",
    "holds_training_rows",
    "load_model",
    "match_labels",
    "read_rows",
    "read_table",
    "register_skl2onnx",
    "save_model",
]


def __getattr__(name):
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.io' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__():
    return __all__
