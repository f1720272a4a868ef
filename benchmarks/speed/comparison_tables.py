"""The tables on which `comparison.py` measures `tamis fit`; the class is in the column "class"."""

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

sys.path.append(str(Path(__file__).parents[1] / "papers"))
from loaders import load_genes

__all__ = ["TABLES", "write_table"]

TABLES = ("cancer", "genes", "some-genes", "digits", "mixed", "million")


def write_table(name, path, data_home=None, small=False):
    """Write a table as CSV, or a small part of it; returns what it is, in words."""
    make = {
        "cancer": _cancer,
        "genes": _genes,
        "some-genes": _some_genes,
        "digits": _digits,
        "mixed": _mixed,
        "million": _million,
    }[name]
    origin, names, columns, y = make(data_home)
    rows = len(y)
    if small:
        columns = columns[:60]
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:100])
        columns, y = [column[rows] for column in columns], y[rows]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names[: len(columns)], "class"])
        writer.writerows(zip(*[column.tolist() for column in columns], y.tolist(), strict=True))
    return f"{origin}, {len(y):,} x {len(columns):,}"


def _cancer(data_home):
    data = load_breast_cancer()
    return (
        "breast cancer",
        list(data.feature_names),
        list(data.data.T),
        data.target_names[data.target],
    )


def _genes(data_home):
    if data_home is None:
        rng = np.random.default_rng(0)
        y = np.repeat(["negative", "positive"], [43, 75])
        X = rng.normal(8.0, 1.5, size=(y.size, 16_384))
        X[:, :40] += np.linspace(2.0, 0.2, 40) * (y == "positive")[:, None]
        origin, X = "generated genes", X[:, rng.permutation(X.shape[1])]
    else:
        data = load_genes("chin", data_home)
        origin, X, y = "chin", data.data, data.target
    return origin, [f"g{j}" for j in range(X.shape[1])], list(np.round(X, 2).T), y


def _some_genes(data_home):
    origin, names, columns, y = _genes(data_home)
    rows = np.sort(np.random.default_rng(0).permutation(y.size)[:90])
    some = slice(12_500)
    return f"a part of {origin}", names[some], [column[rows] for column in columns[some]], y[rows]


def _digits(data_home):
    X, y = load_digits(return_X_y=True)
    return "digits, ten classes", [f"pixel{j}" for j in range(X.shape[1])], list(X.T), y


def _million(data_home):
    """Thirty columns of which eight tell something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 30)).round(4)
    signal = X[:, :8] @ np.linspace(1.0, 0.2, 8)
    y = np.where(signal + rng.logistic(size=len(X)) > 0, "yes", "no")
    return "generated columns", [f"v{j}" for j in range(30)], list(X.T), y


def _mixed(data_home):
    """28 columns of numbers (12 tell something), 12 of categories (4 do), a tenth with gaps."""
    rng = np.random.default_rng(0)
    n = 50_000
    X = rng.normal(size=(n, 28))
    codes = [rng.integers(3 + j % 6, size=n) for j in range(12)]
    effects = [rng.normal(size=9) * (j < 4) for j in range(12)]
    signal = X[:, :12] @ np.linspace(1.0, 0.1, 12)
    signal += sum(effect[code] for code, effect in zip(codes, effects, strict=True))
    y = np.where(signal + rng.logistic(size=n) > np.median(signal), "yes", "no")
    columns = [np.char.mod("%.4f", column) for column in X.T]
    columns += [
        np.char.add(f"level_{'abcdefghijkl'[j]}", c.astype(str)) for j, c in enumerate(codes)
    ]
    for column in columns[::4]:
        column[rng.uniform(size=n) < 0.1] = ""
    order = rng.permutation(len(columns))
    return "generated mixed columns", [f"v{j}" for j in range(40)], [columns[j] for j in order], y
