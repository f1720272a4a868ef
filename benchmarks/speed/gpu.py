"""Speed on a GPU, as shares of its read bandwidth and as ratios to the CPU of the same machine.

``python benchmarks/speed/gpu.py`` on a machine with a CUDA card and torch (``--device cpu --rows
2000 --features 500`` tries it anywhere). Data are random: two classes, 50 informative features.
Copies of the data to the card are printed separately; the CPU uses all its cores.
"""

import argparse
import os
import platform
import time
from contextlib import suppress

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from tamis import PrimalDualClassifier
from tamis.centers.statistics import summarise
from tamis.landmarks.evaluation import FoldData, evaluate_branch, list_branches
from tamis.landmarks.space import check_space, list_configurations
from tamis.primal_dual._device_fista import can_stay_there, device_fista
from tamis.primal_dual._fista import fista
from tamis.primal_dual.problem import Pair
from tamis.primal_dual.solver import solve
from tamis.primal_dual.training import make_problem, prepare

PARTS = ("statistics", "iterations", "gap", "landmarks", "paths")
# Rows and features of tables whose paths are trained on the processor and on the card.
PATHS = ((600, 30), (2_000, 1_000), (5_000, 4_000), (50_000, 500))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--landmark-rows", type=int, default=20_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}; CPU: {os.cpu_count()} cores, {platform.machine()}")
    if "landmarks" in options.parts:
        landmarks(options.landmark_rows, options.device)
    if "paths" in options.parts:
        paths(options.device)
    if set(options.parts) <= {"landmarks", "paths"}:
        return
    X, y = generate(options.rows, options.features, options.device)
    read = seconds_of(lambda: X.sum(), options.device)
    size = X.nbytes / 1e12
    print(
        f"X: {options.rows:,} x {options.features:,} float32, {X.nbytes / 1e9:.1f} GB; a plain "
        f"read (X.sum()) reaches {size / read:.2f} TB/s"
    )
    for part in options.parts:
        if part in ("landmarks", "paths"):
            continue
        globals()[part](X, y, read, options.device)


def generate(n_rows, n_features, device):
    """Samples on the device, and their labels."""
    torch.manual_seed(0)
    y = np.random.default_rng(0).integers(2, size=n_rows)
    X = torch.randn(n_rows, n_features, device=device)
    sign = torch.as_tensor(2.0 * y - 1, device=device, dtype=torch.float32)
    useful = min(50, n_features)
    X[:, :useful] += 0.3 * torch.rand(useful, device=device) * sign[:, None]
    return X, y


def seconds_of(task, device, repeats=5):
    """Median seconds of a task, after one untimed call."""
    task()
    times = []
    for _ in range(repeats):
        wait(device)
        start = time.perf_counter()
        task()
        wait(device)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def kernel_seconds(task):
    """Seconds that kernels of a task run on the card, and their number, the longest first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        task()
        torch.cuda.synchronize()
    found = [(event.device_time_total / 1e6, event.count) for event in profiled.key_averages()]
    return sorted(found, reverse=True)


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def judge(value, target, at_least=True):
    met = value >= target if at_least else value <= target
    return f"target {'>=' if at_least else '<='} {target:g} {'met' if met else 'NOT MET'}"


def problem_of(X, y, radius=2.0, ball="l1"):
    data = prepare(X, y, 2, np.ones(y.size))
    return make_problem(
        data, loss="huber", huber_delta=0.25, ball=ball, radius=radius, rho=float(y.size)
    )


def statistics(X, y, read, device):
    took = seconds_of(lambda: summarise(X, y, 2), device, 9)
    share = read / took
    print(f"l2 statistics: {1e3 * took:.2f} ms, {share:.0%} of read bandwidth", end="; ")
    print(judge(share, 0.85))
    if device == "cuda":
        kernel = kernel_seconds(lambda: summarise(X, y, 2))[0][0]
        print(
            f"    its kernel alone: {1e3 * kernel:.2f} ms, {read / kernel:.0%} of read bandwidth; "
            "the rest are calls and copies of small arrays"
        )
        small, found = y.astype(np.uint8), X.new_empty((5, X.shape[1]), dtype=torch.float64)
        sort = seconds_of(
            lambda: torch.argsort(torch.as_tensor(small, device=device), stable=True), device
        )
        copy = seconds_of(lambda: found.cpu(), device)
        least = kernel + sort + copy
        print(
            f"    the least of a call: its kernel, a sort of the labels before it "
            f"({1e3 * sort:.2f} ms) and a copy of the result after it ({1e3 * copy:.2f} ms): "
            f"{1e3 * least:.2f} ms, {read / least:.0%} of read bandwidth"
        )
    part = slice(0, min(5_000, len(y)))
    ours = summarise(X[part], y[part], 2)
    host = summarise(X[part].cpu().numpy(), y[part], 2)
    error = np.abs((ours.mean + ours.offset) - (host.mean + host.offset)).max()
    error = max(error, np.abs(ours.variance - host.variance).max())
    print(f"    largest difference from numpy on {len(y[part]):,} rows: {error:.1e}")


def iterations(X, y, read, device):
    problem = problem_of(X, y)
    for arithmetic in problem.matrix.arithmetics:
        took = time_of_iterations(problem.with_arithmetic(arithmetic), device)
        share = 2 * read / took
        print(
            f"iteration of the whole problem in {arithmetic}: {1e3 * took:.2f} ms, two passes at "
            f"{share:.0%} of read bandwidth",
            end="; " if arithmetic == "tf32" else "\n",
        )
        if arithmetic == "tf32":
            print(judge(share, 0.8))
            tell_parts(problem.with_arithmetic(arithmetic), read, device)
        asked = time_of_iterations(problem.with_arithmetic(arithmetic), device, is_asked=True)
        print(f"    with a look at every iteration: {1e3 * asked:.2f} ms = {asked / took:.2f} x")


def begin(problem, n_looks, is_asked=False):
    """Pairs of the solver's iterations, and how many iterations each took."""
    empty = problem.empty()
    start = Pair(empty, problem.dual_of(empty))
    if can_stay_there(problem) and not is_asked:
        return device_fista(problem, start, 10 * n_looks)
    return ((pair, 1) for pair in fista(problem, start))


def time_of_iterations(problem, device, n_looks=15, is_asked=False):
    """Median seconds of an iteration, without backtracking and Newton steps.

    `is_asked`: whether the host looks at every iteration.
    """
    steps, times = begin(problem, n_looks, is_asked), []
    for _ in range(n_looks):
        wait(device)
        start = time.perf_counter()
        _, n_iter = next(steps)
        wait(device)
        times.append((time.perf_counter() - start) / n_iter)
    return float(np.median(times))


def tell_parts(problem, read, device):
    """Where the time of ten iterations goes on the card: products with X, and all else."""
    if device != "cuda" or not can_stay_there(problem):
        return
    steps = begin(problem, 2)
    next(steps)
    kernels = kernel_seconds(lambda: next(steps))
    products = sum(seconds for seconds, _ in kernels if seconds >= 5 * read)
    others = [(seconds, count) for seconds, count in kernels if 0 < seconds < 5 * read]
    print(
        f"    on the card: products with X {100 * products:.2f} ms per iteration, "
        f"{20 * read / products:.0%} of read bandwidth; {sum(c for _, c in others) / 10:.0f} "
        f"other kernels {100 * sum(s for s, _ in others):.2f} ms, the longest "
        f"{100 * others[0][0]:.3f} ms"
    )


def gap(X, y, read, device):
    start = time.perf_counter()
    solved(X, y)
    first = time.perf_counter() - start
    print(f"first call, which loads libraries and compiles kernels: {first:.2f} s in all")
    host = X.cpu().numpy()
    copy = seconds_of(lambda: torch.as_tensor(host).to(device, copy=True), device, 1)
    solved(host[:500].copy(), y[:500])
    total = seconds_of(lambda: host.sum(axis=0), "cpu", 1)
    for ball, radius in (("l1", 2.0), ("l1", 6.0), ("l21", 2.0)):
        wait(device)
        prepared, took, solution, _ = solved(X, y, radius, ball)
        wait(device)
        print(
            f"{ball} ball of radius {radius:g} on {device}: gap {solution.relative_gap:.1e}, "
            f"{np.count_nonzero(solution.pair.primal.W.any(axis=1))} features, "
            f"{took:.3f} s; standardization {prepared:.3f} s, copy of X {copy:.2f} s"
        )
        if ball != "l1" or radius != 2.0:
            continue
        cpu_prepared, cpu_took, cpu_solution, _ = solved(host, y, radius, ball)
        ratio = cpu_took / took
        print(
            f"    CPU: gap {cpu_solution.relative_gap:.1e}, {cpu_took:.2f} s = {ratio:.0f} x "
            f"({cpu_took / total:.0f} x the time of X.sum(axis=0)); standardization "
            f"{cpu_prepared:.2f} s = {cpu_prepared / prepared:.0f} x; {judge(ratio, 40)}"
        )
        ours, theirs = (s.pair.primal.W.any(axis=1) for s in (solution, cpu_solution))
        print(
            f"    supports: {np.count_nonzero(ours & theirs)} features of both, "
            f"{np.count_nonzero(ours ^ theirs)} of one only; objectives differ by "
            f"{abs(solution.pair.primal.value / cpu_solution.pair.primal.value - 1):.1e}"
        )


def landmarks(n_rows, device):
    """All 3,900 configurations of the paper in three folds, on the CPU's cores and on the card."""
    X, y = make_classification(
        n_rows, 20, n_informative=10, n_clusters_per_class=3, flip_y=0.05, random_state=0
    )
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    configurations = list_configurations(check_space("paper", False))
    n_threads = os.cpu_count()

    def evaluate(rows, where):
        tasks = [
            (branch, FoldData(X, y, 2, train[:rows], test[:rows], np.arange(4), None, where))
            for branch in list_branches(configurations)
            for train, test in splits
        ]
        start = time.perf_counter()
        with threadpool_limits(1):
            labels = Parallel(n_jobs=n_threads, prefer="threads")(
                delayed(evaluate_branch)(*task) for task in tasks
            )
        return time.perf_counter() - start, [found for found, _ in labels]

    for where in (None, device):
        evaluate(200, where)
    cpu, theirs = evaluate(n_rows, None)
    card, ours = evaluate(n_rows, device)
    same = np.mean([np.mean(one == other) for one, other in zip(ours, theirs, strict=True)])
    print(
        f"landmarks, all {len(configurations):,} configurations, n = {n_rows:,}: {n_threads} "
        f"threads {cpu:.1f} s, with neighbours on {device} {card:.1f} s = {cpu / card:.1f} x; "
        f"{judge(cpu / card, 10)}; {same:.4%} of the predictions are the same"
    )


def paths(device):
    """Paths as `compare` trains them: one thread, and with `device`; the first call is untimed."""
    for n_rows, n_features in PATHS:
        X, y = make_classification(
            n_rows, n_features, n_informative=min(20, n_features // 2), random_state=0
        )
        model = PrimalDualClassifier(huber_delta=0.1, tol=1e-3)
        seconds = {}
        for where in (None, device):
            task = model.set_params(device=where).fit_path
            task(X[:500], y[:500], 5)
            start = time.perf_counter()
            with threadpool_limits(1):
                task(X, y, 20, max_features=min(500, n_features))
            seconds[where] = time.perf_counter() - start
        print(
            f"path over 20 radii, {n_rows:,} x {n_features:,}: one core {seconds[None]:.2f} s, "
            f"{device} {seconds[device]:.2f} s; {seconds[None] / seconds[device]:.1f} x"
        )


def solved(X, y, radius=2.0, ball="l1"):
    """Seconds to standardize and to solve, the solution, and the history of gaps."""
    start = time.perf_counter()
    problem = problem_of(X, y, radius, ball)
    middle = time.perf_counter()
    history = []
    with suppress(StopIteration):
        for solution in solve(problem, tol=1e-4):
            history.append((time.perf_counter() - middle, solution.relative_gap, solution.n_iter))
    if os.environ.get("TAMIS_TRACE"):
        for at, gap, n_iter in history:
            print(f"        {at:.3f} s: gap {gap:.1e} after {n_iter} iterations")
    return middle - start, time.perf_counter() - middle, solution, history


if __name__ == "__main__":
    main()
