"""One cell of the table of scale.py, in a process of its own whose memory is limited.

    python benchmarks/speed/scale_cells.py '{"way": "chunks", "metric": "l2", ...}'

prints a line of JSON. `RLIMIT_DATA` is the limit: it counts what the process allocates (heap and
private writable maps), but not files that are mapped for reading. `RLIMIT_AS` would count those
too, so that an 8 GB file could not even be opened with 1 GB.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

CHUNK_BYTES = 64e6


class Counted:
    """Chunks that count how often they are read."""

    def __init__(self, chunks: Any) -> None:
        self.chunks, self.passes = chunks, 0

    def __iter__(self) -> Iterator:
        self.passes += 1
        return iter(self.chunks)


def evict(files: list[str]) -> None:
    """Drop files from the page cache, so that the next pass reads from disk."""
    gc.collect()  # closes maps
    for name in files:
        file = os.open(name, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def timed(task: Callable, clock: Callable[[], float] = time.process_time) -> dict:
    """Wall-clock and CPU seconds of a task."""
    start, used = time.perf_counter(), clock()
    task()
    return {"wall": time.perf_counter() - start, "cpu": clock() - used}


def measure(
    task: dict, read: Callable, fit: Callable, clock: Callable = time.process_time
) -> dict:
    """Times of a pass that sums and of a fit; the pass before and after the fit, from the cache.

    `read` and `fit` must open the files anew: pages that are mapped cannot be dropped.
    """
    found = {}
    evict(task["files"])
    found["sum_disk"] = timed(read, clock)
    first = timed(read, clock)
    found["fit"] = timed(fit, clock)
    last = timed(read, clock)
    found["sum"] = {name: (first[name] + last[name]) / 2 for name in first}
    if task["metric"] == "l2":
        evict(task["files"])
        found["fit_disk"] = timed(fit, clock)
    return found


def in_memory(task: dict) -> dict:
    """All rows in one array."""
    from tamis import SparseCenterClassifier

    y = np.load(task["labels"])[: task["rows"]]
    model = SparseCenterClassifier(10, metric=task["metric"])
    _warm_up(model)
    X = np.empty((task["rows"], task["columns"]), dtype=np.float32)
    at = 0
    for name in task["files"]:
        part = np.load(name, mmap_mode="r")
        X[at : (at := at + part.shape[0])] = part
    first = timed(lambda: X.sum(axis=0))
    found = {"fit": timed(lambda: model.fit(X, y))}
    last = timed(lambda: X.sum(axis=0))
    found["sum"] = {name: (first[name] + last[name]) / 2 for name in first}
    return {**found, "passes": None, "support": model.get_support(indices=True).tolist()}


def in_chunks(task: dict) -> dict:
    """`fit_chunks` on what `read_chunks` reads."""
    from tamis import SparseCenterClassifier, read_chunks

    y = np.load(task["labels"], mmap_mode="r")[: task["rows"]]
    step = int(CHUNK_BYTES // (4 * task["columns"]))
    model = SparseCenterClassifier(10, metric=task["metric"])
    _warm_up(model)
    passes = []

    def open_chunks():
        return Counted(read_chunks(task["files"], labels=y, chunk_rows=step))

    def read():
        return sum(X.sum(axis=0) for X, _ in open_chunks())

    def fit():
        chunks = open_chunks()
        model.fit_chunks(chunks)
        passes.append(chunks.passes)

    found = measure(task, read, fit)
    return {**found, "passes": passes[0], "support": model.get_support(indices=True).tolist()}


def with_dask(task: dict) -> dict:
    """`DaskSparseCenterClassifier` on worker processes, each with the limit."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from tamis.dask import DaskSparseCenterClassifier

    dask.config.set({"distributed.admin.tick.limit": "1h"})
    y = np.load(task["labels"], mmap_mode="r")[: task["rows"]]
    X, codes = _dask_blocks(task, y)
    with (
        LocalCluster(
            n_workers=task["workers"],
            threads_per_worker=1,
            processes=True,
            memory_limit=task["cap"] or 0,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):

        def clock():
            return time.process_time() + sum(client.run(time.process_time).values())

        model = DaskSparseCenterClassifier(10, metric=task["metric"], client=client)
        client.run(_warm_up, model.get_params()["metric"])

        def read():
            da.sum(X, axis=0, split_every=2).compute()

        found = measure(task, read, lambda: model.fit(X, codes), clock)
        support = model.to_local().get_support(indices=True).tolist()
    return {**found, "passes": None, "support": support}


def _dask_blocks(task, y):
    """Blocks that are read from the files where they are needed, each time they are needed."""
    import dask
    import dask.array as da

    step = int(CHUNK_BYTES // (4 * task["columns"]))
    rows, labels, at = [], [], 0
    for name in task["files"]:
        n_rows = np.load(name, mmap_mode="r").shape[0]
        for first in range(0, n_rows, step):
            size = min(step, n_rows - first)
            block = dask.delayed(_read_rows, pure=False)(name, first, size)
            rows.append(da.from_delayed(block, (size, task["columns"]), np.float32))
            some = da.from_array(np.asarray(y[at : (at := at + size)]), chunks=-1)
            labels.append(some)
    return da.concatenate(rows), da.concatenate(labels)


def _read_rows(name, first, size):
    return np.array(np.load(name, mmap_mode="r")[first : first + size])


def _warm_up(model):
    """Load compiled code before anything is timed."""
    from tamis import SparseCenterClassifier

    metric = model if isinstance(model, str) else model.metric
    X = np.random.default_rng(0).normal(size=(40, 12)).astype(np.float32)
    chunks = [(X[:20], np.arange(20) % 2), (X[20:], np.arange(20) % 2)]
    SparseCenterClassifier(3, metric=metric).fit_chunks(chunks)
    SparseCenterClassifier(3, metric=metric).fit(X, np.arange(40) % 2)


WAYS = {"memory": in_memory, "chunks": in_chunks, "dask": with_dask}


def main(arguments: list[str]) -> int:
    """Run one cell."""
    task = json.loads(arguments[0])
    if task["cap"]:
        resource.setrlimit(resource.RLIMIT_DATA, (int(task["cap"]), int(task["cap"])))
    try:
        found = WAYS[task["way"]](task)
    except MemoryError as error:
        found = {"died": f"MemoryError: {error}".rstrip(": ")}
    print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
