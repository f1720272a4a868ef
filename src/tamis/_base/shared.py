"""A function that all tasks of a parallel run share, with the data that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Shared", "call"]

# Joblib's Dask backend sends arguments of more than 1,000 bytes once, and others with each task.
_LARGE = 1 << 20


class Shared:
    """A function with large data: as an argument of `call`, it is sent once to Dask's workers."""

    def __init__(self, function: Callable) -> None:
        self.function = function

    def __sizeof__(self) -> int:
        return _LARGE


def call(shared: Shared, *values: Any) -> Any:
    """Call the function."""
    return shared.function(*values)
