"""Frames as results, of whichever library is installed."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["make_frame"]

_LIBRARIES = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Any], library: Any = None) -> Any:
    """Make a frame of columns.

    `library`: pandas, polars or pyarrow; None: the first of them that is installed.
    """
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=library or _installed()).to_native()


def _installed():
    for name in _LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError("A frame needs pandas, polars or pyarrow: pip install pandas.")
