"""Models as files that people and other programs can read: JSON, skops and ONNX.

Public names are loaded on first use; extras such as onnx only where they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.models.onnx import export_onnx, register_skl2onnx
    from tamis.models.privacy import PrivacyWarning, holds_training_rows
    from tamis.models.saving import load_model, save_model

_MODULE_OF_NAME = {
    "PrivacyWarning": "tamis.models.privacy",
    "export_onnx": "tamis.models.onnx",
    "holds_training_rows": "tamis.models.privacy",
    "load_model": "tamis.models.saving",
    "register_skl2onnx": "tamis.models.onnx",
    "save_model": "tamis.models.saving",
}

__all__ = [
    "PrivacyWarning",
    "export_onnx",
    "holds_training_rows",
    "load_model",
    "register_skl2onnx",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.models' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
