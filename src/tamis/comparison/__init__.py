"""Compare all methods on the same folds: what sparsity costs, and which model to use.

Public names are loaded on first use.
"""

from typing import TYPE_CHECKING

from tamis._lazy import load_lazily

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.comparison.comparing import Callback, compare
    from tamis.comparison.comparison import Comparison

_MODULE_OF_NAME = {
    "Callback": "tamis.comparison.comparing",
    "Comparison": "tamis.comparison.comparison",
    "compare": "tamis.comparison.comparing",
}

__all__ = ["Callback", "Comparison", "compare"]

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
