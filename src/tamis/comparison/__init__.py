"""Compare all methods on the same folds: what sparsity costs, and which model to use.

Public names are loaded on first use.
"""

from importlib import import_module

_MODULE_OF_NAME = {
    "Callback": "tamis.comparison.comparing",
    "Comparison": "tamis.comparison.comparison",
    "compare": "tamis.comparison.comparing",
}

__all__ = ["Callback", "Comparison", "compare"]


def __getattr__(name):
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.comparison' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__():
    return __all__
