"""Time and peak memory of training against the size of the data, with a cap on memory.

    python benchmarks/speed/scale.py               # or make bench-scale
    python benchmarks/speed/scale.py --atlas       # sparse cells: benchmarks/speed/scale_atlas.py

Tables of 0.5 to 8 GB (float32) are trained on in memory, in chunks (`read_chunks` and
`fit_chunks`), and with Dask on one and two worker processes. Every cell runs in a process of its
own whose memory is limited; a cell that needs more dies, and the table says so. Every cell also
sums the columns of the same chunks: the ratio of the two times does not depend on the disk, and
less on whatever else the machine does.

Records are saved in speed_scale.json one by one; the same command resumes an interrupted run.
Remove the file to begin again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scale_memory import run_watched

RESULTS = Path(__file__).parents[1] / "results"
CELLS = Path(__file__).with_name("scale_cells.py")
COLUMNS = 1000
PART = 5e8  # bytes of a file
WAYS = (("memory", 0), ("chunks", 0), ("dask", 1), ("dask", 2))
METRICS = ("l2", "l1")
TITLES = {
    ("memory", 0): "in memory",
    ("chunks", 0): "chunks",
    ("dask", 1): "Dask, 1 worker",
    ("dask", 2): "Dask, 2 workers",
}


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, and write the table and the picture."""
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the data are removed
    if options.atlas:
        from scale_atlas import run_atlas

        return run_atlas(options)
    records = Records(options.output / "speed_scale.json", options.cap)
    wanted = [
        (size, *group, metric)
        for metric in METRICS
        for size in options.sizes
        for group in WAYS
        if records.lacks(options.limit, size, *group, metric)
    ]
    if wanted:
        folder = Path(tempfile.mkdtemp(prefix="tamis-scale-", dir=options.folder))
        try:
            largest = max(size for size, *_ in wanted)
            files, labels = generate(folder, largest)
            for cell in wanted:
                expected = records.expected(*cell)
                if expected > options.limit:
                    record = {
                        "skipped": f"about {expected:.0f} s expected, limit {options.limit:g} s"
                    }
                else:
                    record = measure(cell, files, labels, options)
                records.add(key(*cell), record)
        finally:
            shutil.rmtree(folder)
    text = table(records)
    print(text)
    (options.output / "speed_scale.txt").write_text(text + "\n", encoding="utf-8")

    from scale_picture import draw

    draw(records.cells, options.cap, options.output / "speed_scale.png")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Options of the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="0.5,1,2,4,8", help="GB on disk (default: %(default)s)")
    parser.add_argument(
        "--cap", type=float, default=1.0, help="GB of memory of a process (default: %(default)s)"
    )
    parser.add_argument(
        "--limit", type=float, default=600.0, help="seconds of a fit at most (default: 600)"
    )
    parser.add_argument("--folder", help="where to put the data (default: the temporary folder)")
    parser.add_argument("--atlas", action="store_true", help="measure the atlas of cells instead")
    parser.add_argument("--output", type=Path, default=RESULTS, help="default: benchmarks/results")
    options = parser.parse_args(arguments)
    options.sizes = [float(size) for size in options.sizes.split(",")]
    return options


def key(size: float, way: str, workers: int, metric: str) -> str:
    """Name of a cell in the records."""
    return f"{size:g}/{way}/{workers}/{metric}"


def generate(folder: Path, size: float) -> tuple[list[Path], Path]:
    """Files of half a GB, and labels: 2 classes in normal features, 20 of which differ."""
    rng = np.random.default_rng(0)
    n_rows = int(PART // (4 * COLUMNS))
    files, labels = [], []
    for number in range(round(size * 1e9 / PART)):
        y = rng.integers(2, size=n_rows)
        files.append(folder / f"part-{number:02d}.npy")
        X = np.lib.format.open_memmap(files[-1], "w+", np.float32, (n_rows, COLUMNS))
        for first in range(0, n_rows, 10_000):
            rows = slice(first, min(first + 10_000, n_rows))
            block = rng.standard_normal((rows.stop - first, COLUMNS), dtype=np.float32)
            block[:, ::50] += np.float32(0.3) * y[rows, None].astype(np.float32)
            X[rows] = block
        X.flush()
        del X
        labels.append(y)
    np.save(folder / "y.npy", np.concatenate(labels))
    return files, folder / "y.npy"


def measure(cell: tuple, files: list[Path], labels: Path, options: argparse.Namespace) -> dict:
    """Run one cell."""
    size, way, workers, metric = cell
    count = round(size * 1e9 / PART)
    task = {
        "way": way,
        "workers": workers,
        "metric": metric,
        "files": [str(name) for name in files[:count]],
        "labels": str(labels),
        "rows": count * int(PART // (4 * COLUMNS)),
        "columns": COLUMNS,
        "cap": options.cap * 1e9,
    }
    load = os.getloadavg()[0]
    command = [sys.executable, str(CELLS), json.dumps(task)]
    code, output, errors, peak = run_watched(command, 2 * options.limit)
    record: dict[str, Any] = {"rows": task["rows"], "peak": peak, "load": round(load, 1)}
    if code is None:
        record["died"] = f"stopped after {2 * options.limit:g} s"
    elif code != 0 or not output.strip():
        last = (errors.strip().splitlines() or ["no message"])[-1]
        record["died"] = f"exit code {code}: {last}"
    else:
        record |= json.loads(output.strip().splitlines()[-1])
    print(f"{key(*cell)}: {json.dumps(record)}", file=sys.stderr, flush=True)
    return record


class Records:
    """Cells by name, in a file that a later run continues."""

    def __init__(self, path: Path, cap: float) -> None:
        self.path = path
        self.settings = {
            "cap": cap,
            "columns": COLUMNS,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        }
        self.cells: dict[str, dict] = {}
        if path.is_file():
            document = json.loads(path.read_text())
            if document["settings"] == self.settings:
                self.cells = document["cells"]

    def lacks(self, limit: float, *cell: Any) -> bool:
        """Whether a cell is missing, or was skipped under a lower limit."""
        found = self.cells.get(key(*cell))
        return found is None or ("skipped" in found and self.expected(*cell) <= limit)

    def expected(self, size: float, way: str, workers: int, metric: str) -> float:
        """Seconds of a fit, from the next smaller size that was measured; 0 without one."""
        for factor in (2, 4, 8, 16):
            found = self.cells.get(key(size / factor, way, workers, metric), {})
            if "fit" in found:
                return factor * found["fit"]["wall"]
        return 0.0

    def add(self, name: str, record: dict) -> None:
        """Add a cell and save all."""
        self.cells[name] = record
        draft = self.path.with_suffix(".tmp")
        lines = json.dumps({"settings": self.settings, "cells": self.cells}, indent=1)
        draft.write_text(lines + "\n")
        os.replace(draft, self.path)


def table(records: Records) -> str:
    """The records as text."""
    settings = records.settings
    lines = [
        f"{settings['cpus']} CPUs, one thread per process, numpy {settings['numpy']}, python "
        f"{settings['python']}; float32, {settings['columns']:,} features, 2 classes, chunks of "
        "64 MB.",
        f"Memory of every process is limited to {settings['cap']:g} GB (RLIMIT_DATA: what it "
        "allocates, not files that it maps).",
        "peak: largest RssAnon, in MB, of the process, with Dask of client and workers together "
        "(looked at every 20 ms).",
        "rows/s, fit, CPU: with the file in the page cache; disk: fit after it was dropped from "
        "there.",
        "/ sum: CPU seconds of the fit relative to one pass of X.sum(axis=0) over the same chunks "
        "in the same process.",
        "load: runnable processes on the machine before the cell; other work was going on if it "
        "is not about 0.",
        "",
        f"{'metric':<7}{'way':<17}{'GB':>5}{'peak':>7}{'fit s':>8}{'CPU s':>8}{'disk s':>8}"
        f"{'rows/s':>11}{'sum s':>7}{'/ sum':>7}{'passes':>8}{'load':>6}",
    ]
    for metric in METRICS:
        for way, workers in WAYS:
            for name, record in sorted(
                records.cells.items(), key=lambda c: float(c[0].split("/")[0])
            ):
                size, *rest = name.split("/")
                if rest != [way, str(workers), metric]:
                    continue
                lines.append(f"{metric:<7}{TITLES[way, workers]:<17}{size:>5}{_cells(record)}")
    return "\n".join(lines)


def _cells(record):
    if "skipped" in record:
        return f"   skipped ({record['skipped']})"
    if "died" in record:
        reason = record["died"].split(" for an array")[0]
        return f"   does not fit ({reason})"
    fit, read = record["fit"], record["sum"]
    disk = f"{record['fit_disk']['wall']:.1f}" if "fit_disk" in record else ""
    passes = "" if record["passes"] is None else str(record["passes"])
    return (
        f"{record['peak'] / 1e6:>7.0f}{fit['wall']:>8.1f}{fit['cpu']:>8.1f}{disk:>8}"
        f"{record['rows'] / fit['wall']:>11,.0f}"
        f"{read['cpu']:>7.2f}{fit['cpu'] / read['cpu']:>7.1f}{passes:>8}{record['load']:>6.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
