"""Compare all methods on the same folds: what sparsity costs, and which model to use.

Public names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.comparison.comparing import Callback, compare
    from tamis.comparison.comparison import Comparison

_MODULE_OF_NAME = {
    "Callback": "tamis.comparison.comparing",
    "Comparison": "tamis.comparison.comparison",
    "compare": "tamis.comparison.comparing",
}

__all__ = ["Callback", "Comparison", "compare"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.comparison' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
