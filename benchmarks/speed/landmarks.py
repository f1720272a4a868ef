"""Speed of the landmark search, as ratios to scipy and scikit-learn measured in the same run.

One command, one thread: ``python benchmarks/speed/landmarks.py`` (``--quick`` for small sizes).
The peer evaluates 128 random configurations one at a time (`one_at_a_time.py`); ours evaluates all
3,900 of the paper's space. Both cross-validate with three folds and train nothing else. Times are
processor seconds of one thread, so that other work on the machine disturbs them little.
"""

import argparse
import os
import time
import warnings
from collections import Counter
from itertools import pairwise

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from one_at_a_time import balanced_error
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from tamis import LandmarkSearchCV
from tamis.landmarks.evaluation import FoldData, evaluate_branch, list_branches
from tamis.landmarks.space import check_space, draw_configurations, list_configurations

N_DRAWN = 128
TARGETS = {400: 0.8, 1_300: 1.0, 5_000: 1.0}


def best_times(tasks, repeats):
    """Least processor seconds of every task, in turns."""
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def make_data(n, d=20, seed=0):
    X, y = make_classification(
        n, d, n_informative=max(2, d // 2), n_clusters_per_class=3, flip_y=0.05, random_state=seed
    )
    return X, y.astype(np.int64)


def make_tasks(n, d=20):
    X, y = make_data(n, d)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    values = check_space("paper", False)
    grid = list_configurations(values)
    drawn = draw_configurations(values, N_DRAWN, np.random.RandomState(0))
    seeds = np.arange(12).reshape(3, 4)

    def evaluate(configurations):
        for branch in list_branches(configurations):
            for f, (train, test) in enumerate(splits):
                evaluate_branch(branch, FoldData(X, y, 2, train, test, seeds[f], None))

    return {
        "grid": lambda: evaluate(grid),
        "random": lambda: evaluate(drawn),
        "peer": lambda: [balanced_error(c, X, y, splits, 0) for c in drawn],
    }


def least_search(n):
    """Least processor seconds of products that bound distances, and of one look at them.

    One float32 product for each map of the grid and fold, in blocks that stay in the cache, and
    the largest bound of each query by each of two metrics. That serves all numbers of neighbours
    and both weightings; the near rows must still be found among the bounds, and measured.
    """
    names = ("landmarks", "kind", "n_landmarks", "distance", "kernel")
    grid = list_configurations(check_space("paper", False))
    maps = {tuple(getattr(c, name) for name in names) for c in grid if c.classifier == "knn"}
    sizes = Counter(n_landmarks for _, _, n_landmarks, _, _ in maps)
    n_test, seconds = n // 3, 0.0
    step = 8 * max(4, round(2**17 / (8 * (n - n_test))))
    for n_landmarks, n_maps in sizes.items():
        queries = np.ones((step, n_landmarks + 2), dtype=np.float32)
        rows = np.ones((n_landmarks + 2, n - n_test), dtype=np.float32)
        room = np.empty((step, n - n_test), dtype=np.float32)
        blocks = range(-(-n_test // step))

        def multiply(queries=queries, rows=rows, room=room, blocks=blocks):
            for _ in blocks:
                np.matmul(queries, rows, out=room)
                for _ in ("euclidean", "angle"):
                    room.max(axis=1)

        seconds += 3 * n_maps * best_times({"search": multiply}, 9)["search"]
    return seconds


def compare(n, repeats):
    seconds = best_times(make_tasks(n), repeats)
    least = least_search(n)
    grid, drawn = seconds["grid"] / seconds["peer"], seconds["random"] / seconds["peer"]
    verdict = ""
    if n in TARGETS:
        verdict = f"target <={TARGETS[n]} {'met' if grid <= TARGETS[n] else 'NOT MET'}"
    took = f"{seconds['grid']:.2f} s / {seconds['peer']:.2f} s"
    print(
        f"n = {n:>6}, d = 20  all 3,900 / {N_DRAWN} one at a time {grid:6.2f}  {took}  {verdict}"
    )
    print(f"{'':21}{N_DRAWN} drawn / {N_DRAWN} one at a time {drawn:6.2f}")
    share = least / seconds["peer"]
    print(f"{'':9}products and one look alone / {N_DRAWN} one at a time {share:6.2f}", flush=True)


def growth(n, d, repeats):
    for name, sizes in (
        ("n", [(n, d), (2 * n, d), (4 * n, d)]),
        ("d", [(n, d), (n, 4 * d), (n, 16 * d)]),
    ):
        times = [
            best_times({"grid": make_tasks(*size)["grid"]}, repeats)["grid"] for size in sizes
        ]
        ratios = ", ".join(f"{b / a:.2f}" for a, b in pairwise(times))
        factor = "doubled" if name == "n" else "four-fold"
        print(f"growth from n = {n}, d = {d}: {name} {factor} twice: {ratios}", flush=True)


def large(n):
    X, y = make_data(n)
    start = time.perf_counter()
    LandmarkSearchCV(random_state=0).fit(X, y)
    whole = time.perf_counter() - start
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        LandmarkSearchCV(random_state=0, max_samples=5_000).fit(X, y)
    part = time.perf_counter() - start
    print(f"n = {n}, d = 20: random search and 15 members, all rows: {whole:.0f} s")
    print(f"    {part:.0f} s with {said[0].message}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no verdict")
    parser.add_argument("--only", default="cgl", help="compare, growth, large: for instance cg")
    arguments = parser.parse_args()
    shrink = 10 if arguments.quick else 1
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best_times(make_tasks(60), 1)  # compile
        if "c" in arguments.only:
            for n, repeats in ((400, 3), (1_300, 2), (5_000, 1)):
                compare(n // shrink if arguments.quick else n, repeats)
        if "g" in arguments.only:
            growth(400 // min(shrink, 4), 8, 2)
        if "l" in arguments.only:
            large(50_000 // shrink)


if __name__ == "__main__":
    main()
