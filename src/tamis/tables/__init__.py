"""Tables: readers, kinds and roles of columns, their preparation, and classifiers of tables.

Public names are loaded on first use; extras such as pyarrow only where they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.tables.chunks import Chunks, read_chunks
    from tamis.tables.errors import InputError
    from tamis.tables.layout import lay_out
    from tamis.tables.missing import MissingWords
    from tamis.tables.preparation import Preparation
    from tamis.tables.readers import read_table
    from tamis.tables.rows import read_rows
    from tamis.tables.table import Columns, Table
    from tamis.tables.table_classifier import TableClassifier
    from tamis.tables.table_model import TableModel
    from tamis.tables.values import match_labels

_MODULE_OF_NAME = {
    "Chunks": "tamis.tables.chunks",
    "Columns": "tamis.tables.table",
    "InputError": "tamis.tables.errors",
    "MissingWords": "tamis.tables.missing",
    "Preparation": "tamis.tables.preparation",
    "Table": "tamis.tables.table",
    "TableClassifier": "tamis.tables.table_classifier",
    "TableModel": "tamis.tables.table_model",
    "lay_out": "tamis.tables.layout",
    "match_labels": "tamis.tables.values",
    "read_chunks": "tamis.tables.chunks",
    "read_rows": "tamis.tables.rows",
    "read_table": "tamis.tables.readers",
}

__all__ = [
    "Chunks",
    "Columns",
    "InputError",
    "MissingWords",
    "Preparation",
    "Table",
    "TableClassifier",
    "TableModel",
    "lay_out",
    "match_labels",
    "read_chunks",
    "read_rows",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.tables' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
