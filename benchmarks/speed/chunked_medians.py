"""Medians over dense chunks: CPU time relative to a sum, by brackets and by digits alone.

    python benchmarks/speed/chunked_medians.py

writes speed_chunked_medians.md. The sum is `X.sum(axis=0)` of the same chunks in the same process;
the smallest of several times counts, because other work may be going on.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np

from tamis import SparseCenterClassifier
from tamis.centers import chunks as room

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS, CHUNK, REPEATS = 100, 100_000, 2


def seconds(work) -> float:
    """CPU seconds of the fastest of several calls."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measure(n_rows: int, dtype: type) -> list[str]:
    """A row of the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, COLUMNS)).astype(dtype)
    y = rng.integers(2, size=n_rows)
    parts = [(X[at : at + CHUNK], y[at : at + CHUNK]) for at in range(0, n_rows, CHUNK)]

    def fit():
        return SparseCenterClassifier(10, metric="l1").fit_chunks(parts)

    def by_digits():
        with mock.patch.object(room, "_search_brackets", lambda *_: {}):
            return fit()

    one, other = fit(), by_digits()  # and compiles
    is_equal = all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("class_centers_", "common_center_", "gains_")
    )
    unit = seconds(lambda: [part.sum(axis=0) for part, _ in parts])
    times = [seconds(by_digits) / unit, seconds(fit) / unit]
    size = f"{n_rows:,} x {COLUMNS}, {np.dtype(dtype).name}"
    return [size, *(f"{time:.0f}" for time in times), "yes" if is_equal else "**no**"]


def main() -> int:
    """Print and write the table."""
    head = ["rows x features", "digits, sums", "brackets, sums", "the same bits"]
    cases = [(n, dtype) for n in (100_000, 400_000) for dtype in (np.float32, np.float64)]
    rows = [head, ["---"] * len(head), *(measure(*case) for case in cases)]
    lines = ["# Medians over dense chunks", ""]
    lines += [
        "Printed by `python benchmarks/speed/chunked_medians.py`: CPU time of a whole fit on"
    ]
    lines += [f"chunks of {CHUNK:,} rows, two classes, in times of `X.sum(axis=0)`.", ""]
    lines += ["## Times", "", *(f"| {' | '.join(cells)} |" for cells in rows)]
    text = "\n".join(lines) + "\n"
    print(text)
    (RESULTS / "speed_chunked_medians.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
