"""Seconds to read tables, beside numpy, polars and pandas in the same run.

    python benchmarks/speed/tables.py

A wide table (200 rows, 20,000 columns of numbers and a class) and a tall one (a million rows of
numbers, words and gaps). All columns and the class are read, and `read_table` finds roles, codes
and missing values too; its ratio to `numpy.loadtxt` on the numbers alone is printed.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from timing import best_times

from tamis.tables import read_rows, read_table


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
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 7))
    words = np.array(["red", "green", "blue", ""])[rng.integers(4, size=n_rows)].tolist()
    with open(path, "w") as file:
        file.write("id,a,b,c,d,e,f,g,color,y\n")
        for i, (row, word) in enumerate(zip(X.tolist(), words, strict=True)):
            numbers = ",".join(["" if value > 2.5 else f"{value:.4f}" for value in row])
            file.write(f"r{i},{numbers},{word},{'ab'[i % 2]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--columns", type=int, default=20_000)
    parser.add_argument("--tall", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    import pandas as pd
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        wide, numbers, tall = (Path(folder) / name for name in ("w.csv", "n.csv", "t.csv"))
        write_wide(wide, numbers, arguments.rows, arguments.columns)
        size = wide.stat().st_size / 1e6
        print(f"wide: {arguments.rows:,} x {arguments.columns:,}, {size:.0f} MB")
        seconds = best_times(
            {
                "np.loadtxt": lambda: np.loadtxt(numbers, delimiter=",", skiprows=1),
                "read_table": lambda: read_table(wide, "y"),
                "polars": lambda: pl.read_csv(wide),
                "pandas": lambda: pd.read_csv(wide),
            },
            arguments.repeats,
        )
        for name, value in seconds.items():
            print(f"  {name:12s} {value:6.2f} s   {value / seconds['np.loadtxt']:5.2f} x loadtxt")

        write_tall(tall, arguments.tall)
        print(f"tall: {arguments.tall:,} x 10, {tall.stat().st_size / 1e6:.0f} MB")
        columns = [*"abcdefg", "color"]
        seconds = best_times(
            {
                "read_table": lambda: read_table(tall, "y"),
                "read_rows": lambda: sum(
                    table.n_rows for table, _ in read_rows(tall, columns, {"color": "categorical"})
                ),
                "polars": lambda: pl.read_csv(tall),
                "pandas": lambda: pd.read_csv(tall),
            },
            1,
        )
        for name, value in seconds.items():
            print(f"  {name:12s} {value:6.2f} s")


if __name__ == "__main__":
    main()
