"""Models as files that people and other programs can read: JSON, skops, ONNX, SQL, Python, Excel.

Public names are loaded on first use; extras such as onnx only where they are used.
"""

from typing import TYPE_CHECKING

from tamis._lazy import load_lazily

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.models.onnx import export_onnx, register_skl2onnx
    from tamis.models.privacy import PrivacyWarning, holds_training_rows
    from tamis.models.python_file import export_python, make_python
    from tamis.models.saving import load_model, save_model
    from tamis.models.spreadsheet import export_spreadsheet
    from tamis.models.sql import export_sql, make_sql

_MODULE_OF_NAME = {
    "PrivacyWarning": "tamis.models.privacy",
    "export_onnx": "tamis.models.onnx",
    "export_python": "tamis.models.python_file",
    "export_spreadsheet": "tamis.models.spreadsheet",
    "export_sql": "tamis.models.sql",
    "holds_training_rows": "tamis.models.privacy",
    "load_model": "tamis.models.saving",
    "make_python": "tamis.models.python_file",
    "make_sql": "tamis.models.sql",
    "register_skl2onnx": "tamis.models.onnx",
    "save_model": "tamis.models.saving",
}

__all__ = [
    "PrivacyWarning",
    "export_onnx",
    "export_python",
    "export_spreadsheet",
    "export_sql",
    "holds_training_rows",
    "load_model",
    "make_python",
    "make_sql",
    "register_skl2onnx",
    "save_model",
]

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
