"""Blocks of rows of Dask collections, and passes over them.

A pass is one task for each block and a tree of merges of the same shape as that of
`tamis._passes.merge_in_tree`, so the result has the same bits as on one machine, whatever
worker does a task, and when. Reductions of dask.array are not used: they fail on sparse blocks.
Blocks without rows, which filters leave behind, are skipped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from tamis._passes import Passes, SamePasses, merge_in_tree

# Seconds between two looks at the workers of a cluster.
_LOOK = 1.0


def rows_of(X: Any, name: str = "X") -> list:
    """The blocks of rows of a Dask array or dataframe, as delayed objects."""
    if hasattr(X, "to_delayed") and not hasattr(X, "chunks"):
        return list(X.to_delayed())
    if not hasattr(X, "to_delayed"):
        if find_spec("dask") is None:
            raise ImportError("tamis.dask needs dask: pip install 'tamis[dask]'.")
        raise ValueError(
            f"{name} must be a Dask array or dataframe, got {type(X).__name__}. For data in "
            "memory use the classifier of the same name in tamis, for chunks its fit_chunks."
        )
    if X.ndim == 2 and X.numblocks[1] > 1:
        raise ValueError(
            f"{name} has {X.numblocks[1]} chunks of columns, and one is needed: a row must be in "
            f"one chunk. Call {name} = {name}.rechunk({{1: -1}}) first."
        )
    return list(X.to_delayed().ravel())


class _Passes(Passes):
    """Passes over blocks: see `tamis._passes.Passes`."""

    feature_names: Sequence[str] | None = None  # frames have names of their own

    def __init__(self, blocks, client, worker_timeout):
        self.blocks = blocks
        self.client = client
        self.worker_timeout = worker_timeout

    def run(self, task: Callable, merge: Callable) -> Any:
        """Run the task on all blocks, merge the results and return the last one."""
        import dask

        merge = dask.delayed(merge, pure=False)
        join = dask.delayed(_merge, pure=False)
        whole = merge_in_tree(self._map(task), lambda one, other: join(merge, one, other))
        return None if whole is None else self._compute([whole])[0]

    def _map(self, task):
        import dask

        # The task holds arrays: it is sent once, not with every block.
        shared = dask.delayed(task, pure=False)
        call = dask.delayed(_call, pure=False)
        return [call(shared, number, block) for number, block in enumerate(self.blocks)]

    def _compute(self, values):
        import dask

        client = self.client or _current_client()
        if client is None:
            return dask.compute(*values)
        # Large is only what a task must know: dual points of the rows. The setting must not be
        # made before distributed is imported: its end would then remove all of distributed's.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            futures = client.compute(values)
        return _await(client, futures, self.worker_timeout)


class DaskBlocks(SamePasses, _Passes):
    """Passes over the blocks of X, y and weights: see `tamis._passes.Passes`.

    `client`: where to compute; None: the current client, or Dask's default scheduler.
    """

    _whose = "The blocks have"
    _advice = (
        "they must be the same each time they are computed. Persist them first: X = X.persist()."
    )

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, client: Any, worker_timeout: float
    ) -> None:
        parts = [rows_of(X), rows_of(y, "y")]
        if sample_weight is not None:
            parts.append(rows_of(sample_weight, "sample_weight"))
        for name, part in zip(("y", "sample_weight"), parts[1:], strict=False):
            if len(part) != len(parts[0]):
                raise ValueError(
                    f"X has {len(parts[0])} blocks of rows, but {name} has {len(part)}. "
                    f"Rechunk {name} to the rows of X."
                )
        if sample_weight is None:
            parts.append([None] * len(parts[0]))
        super().__init__(list(zip(*parts, strict=True)), client, worker_timeout)

    def _run(self, task, merge):
        return _Passes.run(self, task, merge)

    def collect(self, task: Callable) -> list:
        """The lists that the task makes of the blocks, as one."""
        results = self._compute(self._map(task))
        return [item for result in results if result is not None for item in result]

    def keep(self, prepare: Callable) -> _Passes:
        """Passes over what `prepare` makes of the blocks, kept where they are."""
        import dask

        client = self.client or _current_client()
        persist = dask.persist if client is None else lambda *values: client.persist(values)
        return _Passes(list(persist(*self._map(prepare))), client, self.worker_timeout)


def _call(task, number, block):
    """The result of a task; None for a block without rows."""
    if block is None or getattr(block[0], "shape", (1,))[0] == 0:
        return None
    return task(number, *block)


def _merge(merge, one, other):
    if one is None or other is None:
        return one if other is None else other
    return merge(one, other)


def _current_client():
    """The client that Dask would use by itself; None for its local schedulers."""
    import dask

    distributed = sys.modules.get("distributed")
    if distributed is None or dask.config.get("scheduler", None) is not None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _await(client, futures, worker_timeout):
    """The results of futures; an error instead of waiting for workers that do not come."""
    import distributed
    from distributed.comm import CommClosedError

    seen = time.monotonic()
    try:
        while True:
            try:
                distributed.wait(futures, timeout=_LOOK)
                return client.gather(futures)
            except TimeoutError:
                if client.nthreads():
                    seen = time.monotonic()
            if time.monotonic() - seen > worker_timeout:
                client.cancel(futures)
                raise RuntimeError(
                    f"The Dask cluster has had no workers for {worker_timeout:g} seconds, so the "
                    "work cannot go on. Start workers and fit again; worker_timeout says how "
                    "long to wait for them."
                )
    except (distributed.CancelledError, CommClosedError) as error:
        raise RuntimeError(
            "The connection to the Dask cluster was lost before the work was done. Start a "
            "cluster and fit again."
        ) from error


def map_rows(function: Callable, X: Any, n_columns: int | None, dtype: Any) -> Any:
    """Apply a function to every block of rows, lazily; a Dask array."""
    import dask
    import dask.array as da

    rows = rows_of(X)
    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(rows)
    shape = () if n_columns is None else (n_columns,)
    shared = dask.delayed(function, pure=False)
    apply = dask.delayed(_apply, pure=False)
    parts = [
        da.from_delayed(apply(shared, block, shape, dtype), (size, *shape), dtype)
        for block, size in zip(rows, sizes, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _apply(function, block, shape, dtype):
    return function(block) if block.shape[0] else np.empty((0, *shape), dtype=dtype)
