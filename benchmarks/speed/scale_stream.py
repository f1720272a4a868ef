"""A table larger than its memory limit, end to end: `tamis fit --stream on`, killed, and on Dask.

    python benchmarks/speed/scale_stream.py --rows 20000000     # 8 GB of float32

Writes a parquet file of rows x 100 and compares

1. `tamis fit --stream on` with centers, medians and panel, with a limit on memory,
2. the same, killed with SIGKILL and started again: its files must be equal,
3. `fit_chunks` of centers and panels in such a process, and Dask with two workers: features must
   be equal, and coefficients to 1e-8.

Results are printed and written to speed_scale_stream.md (`--only fit`: speed_scale_fit.md).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from scale_memory import end, run_watched

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS, GROUP = 100, 50_000
METHODS = "centers,medians,panel,most-frequent"


def main(arguments: list[str] | None = None) -> int:
    """Measure, or do one of the measured things."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--cap", type=float, default=2.0, help="GB of memory of a process")
    parser.add_argument("--only", choices=["fit", "engines"], help="1 and 2, or 3")
    parser.add_argument("--folder", help="where to put the data (default: the temporary folder)")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        return work(options.cap, *options.work)
    with tempfile.TemporaryDirectory(prefix="tamis-stream-", dir=options.folder) as name:
        folder = Path(name)
        file = generate(folder, options.rows)
        rows = []
        if options.only != "engines":
            rows.append(run_whole(folder, file, options))
            rows.append(run_killed(folder, file, options, rows[0][1]))
        if options.only != "fit":
            rows += [run_engine(way, folder, file, options) for way in ("chunks", "dask")]
        text = page(options, file, rows, agreement(folder))
    print(text)
    name = f"speed_scale_{options.only or 'stream'}.md"
    (options.output / name).write_text(text, encoding="utf-8")
    return 0


def generate(folder: Path, n_rows: int) -> Path:
    """Normal features, of which 8 carry a little about two classes each."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(COLUMNS)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int64())])
    file = folder / "table.parquet"
    with parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, n_rows, GROUP):
            size = min(GROUP, n_rows - first)
            y = rng.integers(2, size=size)
            X = rng.standard_normal((size, COLUMNS), dtype=np.float32)
            X[:, ::13] += np.float32(0.6) * y[:, None].astype(np.float32)
            parts = [pa.array(np.ascontiguousarray(column)) for column in X.T]
            writer.write_table(pa.table([*parts, pa.array(y)], schema=schema))
    return file


def capped(options: argparse.Namespace, *words: Any) -> list[str]:
    """The command that does some of the work in a process of its own."""
    script = [sys.executable, str(Path(__file__).resolve()), "--cap", str(options.cap)]
    return [*script, "--work", *map(str, words)]


def run_whole(folder, file, options):
    """One run without interruption."""
    start = time.perf_counter()
    code, output, errors, peak = run_watched(capped(options, "fit", file, folder / "run"), 7200)
    if code != 0:
        raise RuntimeError(output + errors)
    print(output + errors, file=sys.stderr)
    return "`tamis fit --stream on`", time.perf_counter() - start, peak


def run_killed(folder, file, options, usual):
    """The same, killed after half of the seconds that a whole run takes."""
    start, run = time.perf_counter(), folder / "killed"
    command = capped(options, "fit", file, run)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(0.5 * usual)
        raise RuntimeError("The run ended before it could be killed.")
    except subprocess.TimeoutExpired:
        pass
    end(process)
    process.wait()
    seconds = time.perf_counter() - start
    code, output, errors, peak = run_watched(command, 7200)
    if code != 0:
        raise RuntimeError(output + errors)
    again = time.perf_counter() - start - seconds
    return f"killed after {seconds:.0f} s, and started again", again, peak


def run_engine(way, folder, file, options):
    """Centers and panel from chunks, or from Dask's blocks."""
    start = time.perf_counter()
    # Workers and the client share one process group; the limit is for each of them.
    command = capped(options, way, file, folder / f"{way}.npz")
    code, output, errors, peak = run_watched(command, 7200)
    if code != 0:
        raise RuntimeError(output + errors)
    title = {"chunks": "`fit_chunks`", "dask": "Dask, 2 workers"}[way]
    return f"{title}: means, medians, panel", time.perf_counter() - start, peak


def work(cap: float, way: str, file: str, output: str) -> int:
    """What a process with limited memory does."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(cap * 1e9), int(cap * 1e9)))
    if way == "fit":
        given = ["--target", "y", "--stream", "on", "--methods", METHODS]
        sys.argv = ["tamis", "fit", file, *given, "--n-jobs", "1", "-o", output]
        runpy.run_module("tamis", run_name="__main__")
        return 0
    np.savez(output, **(in_chunks(file) if way == "chunks" else with_dask(file)))
    return 0


def in_chunks(file: str) -> dict[str, np.ndarray]:
    """Models of `fit_chunks`."""
    from tamis import PanelClassifier, SparseCenterClassifier, read_chunks

    chunks = read_chunks(file, target="y", chunk_rows=GROUP)
    models = [SparseCenterClassifier(8, metric=metric) for metric in ("l2", "l1")]
    models.append(PanelClassifier(8))
    return numbers([model.fit_chunks(chunks) for model in models])


def with_dask(file: str) -> dict[str, np.ndarray]:
    """The same on two workers."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster
    from pyarrow import parquet

    from tamis.dask import DaskPanelClassifier, DaskSparseCenterClassifier

    metadata = parquet.ParquetFile(file).metadata
    X, y = [], []
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).num_rows
        block = dask.delayed(_read_group, pure=False, nout=2)(file, number)
        X.append(da.from_delayed(block[0], (size, COLUMNS), np.float32))
        y.append(da.from_delayed(block[1], (size,), np.int64))
    data = da.concatenate(X), da.concatenate(y)
    given = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(n_workers=2, processes=True, **given) as cluster, Client(cluster):
        models: list[Any] = [DaskSparseCenterClassifier(8, metric=m) for m in ("l2", "l1")]
        models.append(DaskPanelClassifier(8))
        return numbers([model.fit(*data).to_local() for model in models])


def _read_group(file, number):
    from pyarrow import parquet

    table = parquet.ParquetFile(file).read_row_group(number)
    X = np.column_stack([table[f"x{j}"].to_numpy() for j in range(COLUMNS)])
    return X, table["y"].to_numpy()


def numbers(models: list) -> dict[str, np.ndarray]:
    """Features and coefficients of the models."""
    means, medians, panel = models
    return {
        "features of means": means.get_support(indices=True),
        "features of medians": medians.get_support(indices=True),
        "features of the panel": panel.get_support(indices=True),
        "means": means.class_centers_,
        "medians": medians.class_centers_,
        "coefficients of the panel": panel._head_state["coef"],
        "intercepts of the panel": panel._head_state["intercept"],
    }


def agreement(folder: Path) -> list[list[str]]:
    """How the results compare."""
    found = []
    for name in ("features.csv", "metrics.json") if (folder / "run").exists() else ():
        one, other = (readable(folder / run / name) for run in ("run", "killed"))
        found.append([f"{name}, killed or not", "equal" if one == other else "**differ**"])
    if not (folder / "dask.npz").exists():
        return found
    chunks, dask = (np.load(folder / f"{way}.npz") for way in ("chunks", "dask"))
    for name in chunks:
        one, other = chunks[name], dask[name]
        away = float(np.abs(one - other).max() / max(np.abs(one).max(), 1e-300))
        is_equal = np.array_equal(one, other)
        how = "equal" if is_equal else f"largest difference / largest value {away:.1g}"
        found.append([f"{name}, chunks or Dask", how])
    return found


def readable(file: Path) -> Any:
    """The content of a file, without what may differ: times and free memory."""
    if file.suffix != ".json":
        return file.read_bytes()
    return without_times(json.loads(file.read_text()))


def without_times(value: Any) -> Any:
    """The same without entries that are seconds, dates or free memory."""
    if isinstance(value, dict):
        kept = (
            key
            for key in value
            if not any(w in key for w in ("second", "time", "date", "available"))
        )
        return {key: without_times(value[key]) for key in kept}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def page(options, file, rows, agreed):
    """The results as a page."""
    size = file.stat().st_size / 1e9
    lines = [
        "# A streamed run"
        if options.only != "engines"
        else "# A table in chunks and on two workers",
        "",
        f"Printed by `python benchmarks/speed/scale_stream.py --rows {options.rows}"
        f"{f' --only {options.only}' if options.only else ''}`: "
        f"{options.rows:,} x {COLUMNS} float32, a parquet file of {size:.2g} GB; every process "
        f"may allocate {options.cap:g} GB.",
        f"Other work was going on: load {os.getloadavg()[1]:.1f} on {os.cpu_count()} CPUs.",
        "",
        "## Runs",
        "",
        "| work | wall seconds | peak MB |",
        "| --- | --- | --- |",
        *(f"| {title} | {seconds:.0f} | {peak / 1e6:.0f} |" for title, seconds, peak in rows),
        "",
        "## Agreement",
        "",
        "| what | result |",
        "| --- | --- |",
        *(f"| {name} | {how} |" for name, how in agreed),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
