"""Seconds to read tables beside numpy and pandas, rows per second and memory of the commands.

    python benchmarks/speed/tables.py
    python benchmarks/speed/tables.py --fit      # also the memory of `tamis fit`; takes long

A wide table (200 rows, 20,000 columns of numbers and a class) and a tall one (a million rows of
numbers, words and gaps). All columns and the class are read, and `read_table` finds roles, codes
and missing values too. Tasks take turns; medians are shown.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import median_times

from tamis.tables import read_rows, read_table

NUMBERS = "abcdefg"


def write_wide(path, numbers_path, n_rows, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    header = ",".join(f"g{j}" for j in range(n_columns))
    with open(path, "w") as file, open(numbers_path, "w") as numbers:
        file.write(f"y,{header}\n")
        numbers.write(f"{header}\n")
        for i, row in enumerate(X):
            line = ",".join([f"{value:.4f}" for value in row])
            file.write(f"{'ab'[i % 2]},{line}\n")
            numbers.write(f"{line}\n")


def write_tall(path, n_rows):
    """Rows whose class shows in some of the numbers."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, len(NUMBERS))) + codes[:, None] * [1, 0.8, 0.6, 0.4, 0, 0, 0]
    words = np.array(["red", "green", "blue", ""])[rng.integers(4, size=n_rows)].tolist()
    with open(path, "w") as file:
        file.write(f"id,{','.join(NUMBERS)},color,y\n")
        for i, (row, word) in enumerate(zip(X.tolist(), words, strict=True)):
            numbers = ",".join(["" if value > 3.5 else f"{value:.4f}" for value in row])
            file.write(f"r{i},{numbers},{word},{'ab'[i % 2]}\n")


def write_numbers(path, n_rows, n_columns):
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(n_columns)) + ",y\n")
        for start in range(0, n_rows, 10_000):
            codes = np.arange(start, min(n_rows, start + 10_000)) % 2
            X = rng.normal(size=(codes.size, n_columns)) + codes[:, None] * 0.2
            for row, code in zip(X.tolist(), codes.tolist(), strict=True):
                file.write(",".join([f"{value:.4f}" for value in row]) + f",{'ab'[code]}\n")


# A process starts with the memory of the one that starts it, so that one has to be small.
MEASURE = """
import resource, subprocess, sys
quiet = subprocess.DEVNULL
subprocess.run(sys.argv[1:], stdout=quiet, stderr=quiet, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def call(*words):
    """Seconds of a command, and its peak of resident memory in MB."""
    start = time.perf_counter()
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "tamis", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - start, int(done.stdout) / 1024


def show(seconds, reference, most):
    """Print seconds and ratios; `most` is the largest ratio that we want of `read_table`."""
    for name, value in seconds.items():
        ratio = value / seconds[reference]
        target = f"   (target: at most {most})" if name == "read_table" else ""
        print(f"  {name:12s} {value:6.2f} s   {ratio:5.2f} x {reference}{target}")


def read(folder, arguments):
    import pandas as pd

    wide, numbers, tall = (folder / name for name in ("w.csv", "n.csv", "t.csv"))
    write_wide(wide, numbers, arguments.rows, arguments.columns)
    size = wide.stat().st_size / 1e6
    print(f"wide: {arguments.rows:,} x {arguments.columns:,}, {size:.0f} MB")
    tasks = {
        "np.loadtxt": lambda: np.loadtxt(numbers, delimiter=",", skiprows=1),
        "read_table": lambda: read_table(wide, "y"),
        "pandas": lambda: pd.read_csv(wide),
    }
    show(median_times(tasks, arguments.repeats), "np.loadtxt", 1.1)
    write_tall(tall, arguments.tall)
    print(f"tall: {arguments.tall:,} x 10, {tall.stat().st_size / 1e6:.0f} MB")
    columns, kinds = [*NUMBERS, "color"], {"color": "categorical"}
    tasks = {
        "pandas": lambda: pd.read_csv(tall),
        "read_table": lambda: read_table(tall, "y"),
        "read_rows": lambda: sum(table.n_rows for table, _ in read_rows(tall, columns, kinds)),
    }
    show(median_times(tasks, arguments.repeats), "pandas", 2)
    return tall


def predict(folder, tall, n_rows, repeats):
    """Rows per second beyond the first tenth, so that the start of Python does not count."""
    with open(tall) as file:
        lines = [next(file) for _ in range(n_rows // 10 + 1)]
    few, some = folder / "few.csv", folder / "some.csv"
    few.write_text("".join(lines[:2001]))
    some.write_text("".join(lines))
    words = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1")
    call("fit", few, "--target", "y", *words, "-o", folder / "run")
    calls = {path: [] for path in (some, tall)}
    for _ in range(repeats):
        for path, figures in calls.items():
            figures.append(call("predict", folder / "run", path, "-o", folder / "p.csv"))
    seconds, memory = ({p: np.median(f, axis=0)[k] for p, f in calls.items()} for k in (0, 1))
    rate = (n_rows - n_rows // 10) / (seconds[tall] - seconds[some])
    print(f"tamis predict, {n_rows:,} rows: {seconds[tall]:.2f} s, {rate:,.0f} rows a second")
    print(f"  peak memory {memory[tall]:.0f} MB; a tenth of the rows: {memory[some]:.0f} MB")


def fit(folder, n_rows, n_columns=30):
    write_numbers(folder / "m.csv", n_rows, n_columns)
    words = ("--methods", "centers,primal-dual", "--n-jobs", "1")
    seconds, peak = call("fit", folder / "m.csv", "--target", "y", *words)
    table = n_rows * n_columns * 8 / 2**20
    print(f"tamis fit, {n_rows:,} x {n_columns}: {seconds:.0f} s, peak memory {peak:.0f} MB,")
    print(f"  {peak / table:.2f} x the table in float64 (target: at most 2.5)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--tall", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--fit", action="store_true", help="also measure `tamis fit`")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tall = read(folder, arguments)
        predict(folder, tall, arguments.tall, arguments.repeats)
        if arguments.fit:
            fit(folder, arguments.tall)


if __name__ == "__main__":
    main()
