"""Blocks of rows of Dask collections, and passes over them.

A pass is one task for each block and a tree of merges of the same shape as that of
`tamis._passes.merge_in_tree`, so the result has the same bits as on one machine, whatever
worker does a task, and when. Reductions of dask.array are not used: they fail on sparse blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis._passes import merge_in_tree

__all__ = ["DaskBlocks", "map_rows", "rows_of"]


def rows_of(X: Any, name: str = "X") -> list:
    """The blocks of rows of a Dask array or dataframe, as delayed objects."""
    if hasattr(X, "to_delayed") and not hasattr(X, "chunks"):
        return list(X.to_delayed())
    if not hasattr(X, "to_delayed"):
        raise ValueError(
            f"{name} must be a Dask array or dataframe, got {type(X).__name__}. For data in "
            "memory use tamis.SparseCenterClassifier, for chunks its fit_chunks."
        )
    if X.ndim == 2 and X.numblocks[1] > 1:
        raise ValueError(
            f"{name} has {X.numblocks[1]} chunks of columns, and one is needed: a row must be in "
            f"one chunk. Call {name} = {name}.rechunk({{1: -1}}) first."
        )
    return list(X.to_delayed().ravel())


class DaskBlocks:
    """Passes over the blocks of X, y and weights: see `tamis._passes.Passes`.

    Parameters
    ----------
    X, y, sample_weight : Dask collections with the same blocks of rows; weights may be None
    client : distributed.Client or None
        Where to compute; None: the current client, or Dask's default scheduler.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any, client: Any) -> None:
        self.client = client
        self.feature_names: Sequence[str] | None = None  # frames have names of their own
        self.blocks = rows_of(X)
        others = [rows_of(y, "y")]
        if sample_weight is not None:
            others.append(rows_of(sample_weight, "sample_weight"))
        for name, part in zip(("y", "sample_weight"), others, strict=False):
            if len(part) != len(self.blocks):
                raise ValueError(
                    f"X has {len(self.blocks)} blocks of rows, but {name} has {len(part)}. "
                    f"Rechunk {name} to the rows of X."
                )
        if sample_weight is None:
            others.append([None] * len(self.blocks))
        self.others = others

    def run(self, task: Callable, merge: Callable) -> Any:
        """Run the task on all blocks, merge the results and return the last one."""
        import dask

        # The task holds arrays: it is sent once, not with every block.
        shared = dask.delayed(task, pure=False)
        summaries = [
            dask.delayed(_call, pure=False)(shared, number, *parts)
            for number, parts in enumerate(zip(self.blocks, *self.others, strict=True))
        ]
        whole = merge_in_tree(summaries, dask.delayed(merge, pure=False))
        if whole is None:
            return None
        if self.client is not None:
            return self.client.compute(whole).result()
        return whole.compute()


def _call(task, number, X, y, sample_weight):
    return task(number, X, y, sample_weight)


def map_rows(function: Callable, X: Any, n_columns: int | None, dtype: Any) -> Any:
    """Apply a function to every block of rows, lazily; a Dask array.

    Parameters
    ----------
    function : callable
        From a block of rows to an array with one row (or value, if `n_columns` is None) for each.
    X : Dask array or dataframe
    n_columns : int or None
    dtype : dtype

    Returns
    -------
    mapped : dask.array.Array
        With unknown numbers of rows if those of X are unknown.
    """
    import dask
    import dask.array as da

    rows = rows_of(X)
    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(rows)
    shapes = [(size,) if n_columns is None else (size, n_columns) for size in sizes]
    shared = dask.delayed(function, pure=False)
    parts = [
        da.from_delayed(dask.delayed(_apply, pure=False)(shared, block), shape, dtype)
        for block, shape in zip(rows, shapes, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _apply(function, block):
    return function(block)
