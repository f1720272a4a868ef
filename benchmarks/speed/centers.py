"""Speed of the sparse centers, as ratios to named peers measured in the same run.

One command, one thread: ``python benchmarks/speed/centers.py`` (``--quick`` for small sizes).
Every number is the best of several repetitions, in which short tasks take turns. Seconds are
processor time, so other work on the machine matters only as far as it fills the caches. Targets
are for ``scaling=None``, except that of many classes.
"""

import argparse
import os
import time
import warnings
from functools import partial
from itertools import pairwise

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.naive_bayes import MultinomialNB
from threadpoolctl import threadpool_limits
from timing import best_times as best_times_by

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.paths.path import path_grid

best_times = partial(best_times_by, clock=time.process_time)


def zipf_counts(n, m, per_row, seed=0, shuffled=False):
    """CSR counts whose columns follow a Zipf law, about `per_row` stored values a row."""
    rng = np.random.default_rng(seed)
    law = np.cumsum(1.0 / np.arange(1, m + 1))
    lengths = rng.poisson(1.05 * per_row, n)  # some words come twice
    words = np.searchsorted(law, rng.random(lengths.sum()) * law[-1]).astype(np.int32)
    words = rng.permutation(m).astype(np.int32)[words] if shuffled else words
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sparse.csr_array((np.ones(words.size), words, indptr), shape=(n, m))
    X.sum_duplicates()
    return X, rng.integers(0, 2, n)


def normal(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)), rng.integers(0, 2, n)


def fit(X, y, **parameters):
    return lambda: SparseCenterClassifier(10, **parameters).fit(X, y)


def read(X):
    return lambda: (np.add.reduce(X.data), np.add.reduce(X.indices))


def show(case, ours, peer, ratio, target=None):
    verdict = "" if target is None else f"   target {target:<8} {judge(ratio, target)}"
    print(f"{case:<46} {ours:<16} / {peer:<24} {ratio:8.2f}{verdict}", flush=True)


def judge(ratio, target):
    bound = float(target[2:])
    return "met" if (ratio <= bound if target[0] == "<" else ratio >= bound) else "NOT MET"


def sparse_l2(sizes, repeats):
    for shuffled in (False, True):
        X, y = zipf_counts(*sizes, shuffled=shuffled)
        order = "columns shuffled" if shuffled else "Zipf order"
        case = f"(a) CSR {X.shape[0]} x {X.shape[1]}, {X.nnz / X.shape[0]:.1f} a row, {order}"
        print(case)
        seconds = best_times(
            {
                "read": read(X),
                "count": lambda X=X: np.bincount(X.indices),
                "None": fit(X, y, scaling=None),
                "spread": fit(X, y, scaling="spread"),
            },
            repeats,
        )
        seconds |= best_times(
            {
                "MultinomialNB": lambda X=X, y=y: MultinomialNB().fit(X, y),
                "chi2": lambda X=X, y=y: SelectKBest(chi2, k=10).fit(X, y),
            },
            max(1, repeats // 3),
        )
        show("", "l2 fit None", "read", seconds["None"] / seconds["read"], "<=2.5")
        show("", "l2 fit spread", "read", seconds["spread"] / seconds["read"])
        ratio = seconds["MultinomialNB"] / seconds["None"]
        show("", "MultinomialNB.fit", "l2 fit None", ratio, ">=5")
        show("", "SelectKBest.fit", "l2 fit None", seconds["chi2"] / seconds["None"], ">=12")
        # What has to be done: read everything, and add to a counter for each value.
        show("", "np.bincount(indices)", "read", seconds["count"] / seconds["read"])


def dense_l2(n, m, repeats):
    X, y = normal(n, m)
    print(f"(b) dense {n} x {m}")
    seconds = best_times(
        {
            "sum": lambda: X.sum(axis=0),
            "None": fit(X, y, scaling=None),
            "spread": fit(X, y, scaling="spread"),
        },
        repeats,
    )
    show("", "l2 fit None", "X.sum(axis=0)", seconds["None"] / seconds["sum"], "<=1.2")
    show("", "l2 fit spread", "X.sum(axis=0)", seconds["spread"] / seconds["sum"])


def dense_l1(n, m, repeats, target):
    X, y = normal(n, m)
    print(f"(c) dense {n} x {m}")
    seconds = best_times(
        {
            "sort": lambda: np.sort(X, axis=0),
            "classes": lambda: [np.ascontiguousarray(X[y == c].T).sort(axis=1) for c in (0, 1)],
            "None": fit(X, y, metric="l1", scaling=None),
            "spread": fit(X, y, metric="l1"),
        },
        repeats,
    )
    show("", "l1 fit None", "np.sort(X, axis=0)", seconds["None"] / seconds["sort"], target)
    show("", "l1 fit spread", "np.sort(X, axis=0)", seconds["spread"] / seconds["sort"])
    # What has to be done where columns are short: sort the values of each class.
    show("", "sort of classes", "np.sort(X, axis=0)", seconds["classes"] / seconds["sort"])


def sparse_l1(n, m, repeats):
    X, y = zipf_counts(n, m, 11.4)
    print(f"(d) CSR {n} x {m}, {X.nnz / n:.1f} a row")
    seconds = best_times(
        {
            "read": read(X),
            "None": fit(X, y, metric="l1", scaling=None),
            "spread": fit(X, y, metric="l1"),
        },
        repeats,
    )
    show("", "l1 fit None", "read", seconds["None"] / seconds["read"], "<=6")
    show("", "l1 fit spread", "read", seconds["spread"] / seconds["read"])


def many_classes(n, m, repeats):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, m), density=0.08, rng=rng, format="csr")
    counts = X.copy()
    counts.data = np.ceil(1.2 * X.data)  # five of six are 1
    few, many = rng.integers(0, 2, n), rng.integers(0, 200, n)
    for name, values in (("reals", X), ("counts", counts)):
        print(f"(f) CSR {n} x {m}, 8 % stored, {name}")
        tasks = {classes.max() + 1: fit(values, classes) for classes in (few, many)}
        seconds = best_times(tasks, repeats)
        ratio = seconds[200] / seconds[2]
        show("", "l2 fit, 200", "l2 fit, 2 classes", ratio, "<=2")


def paths(dense_shape, sparse_shape, repeats):
    for metric in ("l2", "l1"):
        X, y = normal(*dense_shape)
        model = SparseCenterClassifier(None, metric=metric).fit(X, y)
        print(f"(e) {metric}, dense {X.shape[0]} x {X.shape[1]}, every k")
        seconds = best_times(
            {
                "predict": lambda X=X, model=model: model.predict(X),
                "path": lambda X=X, y=y, model=model: model.path_score(X, y, None),
            },
            repeats,
        )
        ratio = seconds["path"] / seconds["predict"]
        show("", "path_score all k", "predict, all features", ratio, "<=15")
    X, y = zipf_counts(*sparse_shape, 11.4)
    model = SparseCenterClassifier(None).fit(X, y)
    ks = np.unique(np.linspace(0, len(path_grid(X.shape[1])) - 1, 170).astype(int))
    ks = path_grid(X.shape[1])[ks]
    print(f"(e) l2, CSR {X.shape[0]} x {X.shape[1]}, {len(ks)} values of k")
    seconds = best_times(
        {"predict": lambda: model.predict(X), "path": lambda: model.path_score(X, y, ks)}, repeats
    )
    ratio = seconds["path"] / seconds["predict"]
    show("", f"path_score {len(ks)} k", "predict, all features", ratio, "<=8")


def cross_validation(sizes):
    X, y = zipf_counts(*sizes)
    print(f"(v) CSR {X.shape[0]} x {X.shape[1]}, cross-validation with all defaults, once")
    start = time.process_time()
    model = SparseCenterClassifierCV().fit(X, y)
    seconds = time.process_time() - start
    one = best_times({"fit": fit(X, y)}, 3)["fit"]
    case = f"{len(model.path_['level'])} levels, 5 folds, {seconds:.1f} s"
    show(case, "CV fit", "l2 fit", seconds / one)


def growth(n, m, repeats):
    print(f"growth: time of fit against that at half the size, from {n} x {m} up")
    for metric in ("l2", "l1"):
        for name, sizes in (
            ("n", [(n, m), (2 * n, m), (4 * n, m)]),
            ("m", [(n, m), (n, 2 * m), (n, 4 * m)]),
        ):
            times = []
            for size in sizes:
                X, y = normal(*size)
                times.append(best_times({"fit": fit(X, y, metric=metric)}, repeats)["fit"])
            ratios = ", ".join(f"{b / a:.2f}" for a, b in pairwise(times))
            print(f"    {metric} fit, {name} doubled twice: {ratios}")
    times = []
    for factor in (1, 2, 4):
        X, y = zipf_counts(20_000 * factor, 16_600, 11.4)
        times.append(best_times({"fit": fit(X, y)}, repeats)["fit"])
    ratios = ", ".join(f"{b / a:.2f}" for a, b in pairwise(times))
    print(f"    l2 fit, CSR rows doubled twice: {ratios}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no verdict")
    parser.add_argument("--only", default="abcdefgv", help="which parts, for instance ac")
    arguments = parser.parse_args()
    shrink = 10 if arguments.quick else 1
    parts = {
        "a": lambda: sparse_l2((1_600_000 // shrink, 273_779, 11.4), 9),
        "b": lambda: dense_l2(20_000 // shrink, 5_000, 7),
        "c": lambda: (
            dense_l1(20_000 // shrink, 5_000, 2, "<=0.6"),
            dense_l1(118, 22_215, 9, "<=1.5"),
        ),
        "d": lambda: sparse_l1(80_000, 16_600, 15),
        "e": lambda: paths((20_000 // shrink, 5_000), (1_600_000 // shrink, 273_779), 3),
        "f": lambda: many_classes(30_000 // shrink, 10_000, 7),
        "g": lambda: growth(1_000, 1_000, 5),
        "v": lambda: cross_validation((1_600_000 // shrink, 273_779, 11.4)),
    }
    warnings.filterwarnings("ignore", message=".*separate the class centers.*")
    print("Sparse centers: ratios of processor time, one thread, best of several repetitions")
    with threadpool_limits(1):
        for name in arguments.only:
            parts[name]()


if __name__ == "__main__":
    main()
