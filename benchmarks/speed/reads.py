"""Count how often the primal-dual solver reads the data matrix.

The unit is one read of all of X. These are counted:

- full passes: the moments and class sums of `prepare`, and each product with all of X or X';
- copies: the columns of a working set are read from X, by their share of the columns;
- inner products: those with the copies of the columns in use, which are small enough for the
  cache, by their share of the columns. An iteration of the compiled descent counts as two products
  of all columns in use, although one of them reads only those with coefficients that are not 0.

A product with the few columns of all classes is one read: X' Z is computed in blocks that stay in
the cache while the classes take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.primal_dual import _interior, solver, standardized, training


@dataclass
class Reads:
    """Reads of X, in units of the whole matrix."""

    size: int
    full: float = 0.0
    copied: float = 0.0
    inner: float = 0.0

    @property
    def total(self) -> float:
        """All reads."""
        return self.full + self.copied + self.inner

    def note(self, n_values: int, times: float = 1.0) -> None:
        """Count reads of this many values."""
        if n_values == self.size:
            self.full += times
        else:
            self.inner += times * n_values / self.size

    def __str__(self) -> str:
        return (
            f"{self.total:.2f} passes over X: {self.full:g} full, {self.copied:.2f} for copies of "
            f"columns, {self.inner:.2f} in products with these copies"
        )


@contextmanager
def counted(n_values: int) -> Iterator[Reads]:
    """Count the reads of a dense matrix with this many values."""
    reads = Reads(n_values)

    def product(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(X: Any, *arguments: Any, **options: Any) -> Any:
            reads.note(X.size)
            return function(X, *arguments, **options)

        return noted

    def take(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(X: Any, columns: Any) -> Any:
            taken = function(X, columns)
            if X.size == reads.size:
                reads.copied += taken.size / reads.size
            return taken

        return noted

    def descend(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(problem: Any, *arguments: Any) -> Iterator[Any]:
            n_values = int(np.prod(problem.matrix.shape))
            for pair, n_iter in function(problem, *arguments):
                reads.note(n_values, 2.0 * n_iter)
                yield pair, n_iter

        return noted

    def refuse(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            raise NotImplementedError("Reads of the interior-point method are not counted.")

        return noted

    wrappers = [
        (standardized, "multiply", product),
        (standardized, "multiply_transposed", product),
        (standardized, "weighted_gram", product),
        (standardized, "take_columns", take),
        (training, "_moments", product),
        (solver, "descent", descend),
        (_interior, "_Walk", refuse),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in wrappers]
    for module, name, wrap in wrappers:
        setattr(module, name, wrap(getattr(module, name)))
    try:
        yield reads
    finally:
        for module, name, function in before:
            setattr(module, name, function)
