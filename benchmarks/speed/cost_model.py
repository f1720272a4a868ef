"""What training costs, in bytes moved: checked against scale.py, worked out for a large cluster.

    python benchmarks/speed/cost_model.py

reads benchmarks/results/speed_scale.json and writes cost_model.md beside it; the page "When it
does not fit" shows its tables. A fit makes some passes over the data. In a pass every worker reads
its chunks, at the rate of the disk or of the arithmetic, whichever is slower, and summaries are
merged in a binary tree. So

    seconds = passes x (bytes / (workers x rate) + merges x summary / network)
    merges  = chunks / workers + log2(workers), one after the other

The last term is an upper bound: a summary need not travel if both halves of a merge are on the
same worker.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from tamis.centers.median_search import plan_search

RESULTS = Path(__file__).parents[1] / "results"
ROWS, FEATURES, CLASSES, WORKERS = 10**9, 10**6, 2, 100
STORED = 10  # values of a row of text
# What is assumed of the cluster: bytes per second of a worker, and the memory of one.
DISK, NETWORK, MEMORY = 1e9, 1.25e9, 16e9
CHUNK = 64e6
# Of a primal-dual fit, as `DaskPrimalDualClassifier` says: full passes, and between them
# iterations (two products each) on the columns in use.
FULL_PASSES, ITERATIONS, COLUMNS_IN_USE = 5, 200, 1000
SHARE_IN_USE = 0.1  # of the stored values of text: frequent words are chosen


@dataclass(frozen=True)
class Table:
    """Size of a table; `stored` values per row if it is sparse (4-byte values and indices)."""

    rows: int
    features: int
    classes: int = 2
    stored: int | None = None

    @property
    def size(self) -> float:
        """Bytes, float32."""
        if self.stored is None:
            return 4.0 * self.rows * self.features
        return self.rows * (8.0 * self.stored + 8.0)


@dataclass(frozen=True)
class Plan:
    """Passes over a table, bytes of the summaries that are merged, and bytes of a chunk."""

    passes: int
    summary: float
    chunk: float


def plan(table: Table, method: str, max_bytes: float = 2e8) -> Plan:
    """Passes, summary and chunk of a method: "means", "medians" or "primal-dual"."""
    entries = 8.0 * table.features * table.classes
    if method == "means":
        found = 1, 2 * entries  # means and dispersions
    elif method == "medians":
        bits, blocks = plan_search(table.features, table.classes, 32, max_bytes)
        digits = -(-32 // bits)
        found = 1 + len(blocks) * (digits + 1), 2 * 2**bits * entries / len(blocks)
    else:
        found = FULL_PASSES, entries  # X.T @ Z; W is sent to the workers once a pass
    passes, summary = found
    # Large chunks mean few merges; every worker needs one, and room for it.
    return Plan(passes, summary, max(CHUNK, min(MEMORY / 8, table.size / WORKERS)))


def pass_seconds(table: Table, work: Plan, workers: int, rate: float) -> tuple[float, float]:
    """Seconds of one pass: reading, and merging."""
    chunks = max(1.0, table.size / work.chunk)
    merges = chunks / workers + math.ceil(math.log2(workers)) if workers > 1 else 0.0
    return table.size / (workers * rate), merges * work.summary / NETWORK


def largest(cells: dict[str, dict], way: str) -> tuple[float, dict]:
    """Bytes and record of the largest table that was measured in one way."""
    sizes = [float(n.split("/")[0]) for n, c in cells.items() if n.endswith(way) and "fit" in c]
    return max(sizes) * 1e9, cells[f"{max(sizes):g}/{way}"]


def rates(cells: dict[str, dict], atlas: dict) -> dict[str, float]:
    """Bytes per CPU second of a pass: the largest dense table that was measured, and the atlas."""
    size, means = largest(cells, "chunks/0/l2")
    size_medians, medians = largest(cells, "chunks/0/l1")
    size_dask, dask = largest(cells, "dask/1/l2")
    read = means["sum"]["cpu"] / size
    return {
        "sum": 1 / read,
        "copy": 1 / (dask["sum"]["cpu"] / size_dask - read),
        "means": size / means["fit"]["cpu"],
        "medians": medians["passes"] * size_medians / medians["fit"]["cpu"],
        **{
            f"{name}, sparse": step["passes"] * atlas["bytes"] / step["cpu"]
            for name, step in atlas["steps"].items()
            if "passes" in step
        },
    }


def with_copy(rate: float, found: dict[str, float]) -> float:
    """Rate of a pass with Dask, which copies a block before it is used."""
    return 1 / (1 / rate + 1 / found["copy"])


def write(document: dict, atlas: dict) -> str:
    """The page of tables."""
    found, settings = rates(document["cells"], atlas), document["settings"]
    lines = ["# Cost model", "", "Printed by `python benchmarks/speed/cost_model.py`.", ""]
    lines += ["## Rates", ""]
    names = {"sum": "`X.sum(axis=0)`", "copy": "a block that Dask reads, in addition"}
    rows = [[names.get(name, name), f"{rate / 1e9:.2g}"] for name, rate in found.items()]
    lines += _table(["pass", "GB per second of one core"], rows)
    lines += ["", "## Check", "", *_check(document["cells"], settings["columns"], found)]
    lines += ["", "## Assumed", "", *_assumed()]
    lines += ["", "## Plans", "", *_plans()]
    lines += ["", "## Times", "", *_times(found)]
    return "\n".join(lines) + "\n"


def _check(cells, columns, found):
    rows = []
    for name, cell in sorted(cells.items(), key=_order):
        size, way, workers, metric = name.split("/")
        if way == "memory" or "fit" not in cell:
            continue
        table = Table(cell["rows"], columns)
        method = "means" if metric == "l2" else "medians"
        work = plan(table, method)
        rate = found[method] if way == "chunks" else with_copy(found[method], found)
        model = work.passes * pass_seconds(table, work, 1, rate)[0]
        used = cell["fit"]["cpu"]
        title = "chunks" if way == "chunks" else f"Dask, {workers} worker{'s'[: int(workers) > 1]}"
        cells_ = [method, title, size, str(work.passes), f"{model:.2g}", f"{used:.2g}"]
        rows.append([*cells_, f"{used / model:.1f}"])
    head = ["pass", "way", "GB", "passes", "model, CPU s", "measured, CPU s", "measured / model"]
    return _table(head, rows)


def _order(item):
    size, way, workers, metric = item[0].split("/")
    return metric, way, workers, float(size)


def _tables():
    return {
        "text": Table(ROWS, FEATURES, CLASSES, STORED),
        "dense": Table(ROWS, FEATURES, CLASSES),
    }


def _assumed():
    rows = [
        ["workers, with one core each", f"{WORKERS}"],
        ["disk of a worker", f"{_bytes(DISK)} per second"],
        ["network of a worker", f"{8 * NETWORK / 1e9:g} Gbit per second"],
        ["memory of a worker", f"{_bytes(MEMORY)}; a quarter for counts of digits"],
        ["values of a row of text", f"{STORED}, of 4 bytes, and their columns"],
        ["full passes of primal-dual", f"{FULL_PASSES}"],
        [
            "iterations between them",
            f"{ITERATIONS}, two products each, on {COLUMNS_IN_USE:,} columns, which have "
            f"{SHARE_IN_USE:.0%} of the words",
        ],
    ]
    return _table(["what", "assumed"], rows)


def _plans():
    rows = []
    for name, table in _tables().items():
        for method in ("means", "medians", "primal-dual"):
            work = plan(table, method, MEMORY / 4)
            chunks = table.size / work.chunk
            rows.append(
                [
                    name,
                    method,
                    _bytes(table.size),
                    str(work.passes),
                    _bytes(work.summary),
                    _bytes(work.chunk),
                    f"{chunks:,.0f}",
                    str(max(1, math.ceil(math.log2(chunks)))),
                ]
            )
    head = ["data", "method", "size", "passes", "summary", "chunk", "chunks", "depth of the tree"]
    return _table(head, rows)


def _times(found):
    rows = []
    for name, table in _tables().items():
        for method in ("means", "medians", "primal-dual"):
            work = plan(table, method, MEMORY / 4)
            kind = method if table.stored is None else f"{method}, sparse"
            # A product with a few columns reads X as the means do.
            own = found.get(kind) or found[kind.replace("primal-dual", "means")]
            rate = min(DISK, with_copy(own, found))
            read, merge = (work.passes * s for s in pass_seconds(table, work, WORKERS, rate))
            more = _iterations(table, own) if method == "primal-dual" else 0.0
            limit = "disk" if rate == DISK else "arithmetic"
            seconds = [read, merge, more, read + merge + more]
            rows.append([name, method, limit, *(_time(s) if s else "" for s in seconds)])
    head = ["data", "method", "a pass is limited by"]
    head += ["reading", "merging, at most", "iterations", "in all"]
    return _table(head, rows)


def _iterations(table, rate):
    """Seconds of the iterations on the columns in use, which the workers keep."""
    if table.stored is None:
        size = 4.0 * table.rows * COLUMNS_IN_USE
        # More than fits into the workers' memory is read from disk each time.
        rate = rate if size / WORKERS < MEMORY / 2 else min(rate, DISK)
    else:
        size = 8.0 * table.rows * table.stored * SHARE_IN_USE
    vectors = 8.0 * COLUMNS_IN_USE * table.classes * math.ceil(math.log2(WORKERS)) / NETWORK
    return ITERATIONS * 2 * (size / (WORKERS * rate) + vectors)


def _table(head, rows):
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return lines


def _bytes(size):
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size / 1e6:.3g} MB"


def _time(seconds):
    for unit, factor in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * factor:
            return f"{_short(seconds / factor)} {unit}"
    return f"{_short(seconds)} s"


def _short(number):
    return f"{number:.0f}" if number >= 10 else f"{number:.1g}" if number < 1 else f"{number:.2g}"


def main() -> int:
    """Write the tables."""
    document = json.loads((RESULTS / "speed_scale.json").read_text())
    atlas = json.loads((RESULTS / "speed_scale_atlas.json").read_text())
    text = write(document, atlas)
    (RESULTS / "cost_model.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
