"""Ablation: CPU time without a compiled kernel, or an inner algorithm of the primal-dual solver.

    python benchmarks/speed/ablation.py

solves the same problems with the whole solver and without each of its inner algorithms, and
compares the CPU seconds to a certified gap: single problems of all losses and balls, sparse and
nearly collinear data, and warm-started paths of 20 radii as `fit_path` solves them. ``--quick``
takes small sizes. A cell shows the ratio of a group and, in brackets, that of the case that
suffers most; "-" says that no case of the group uses the algorithm. A run that reaches the cap
counts with the cap (marked >), so its ratio is a lower bound. An algorithm without which no group
is 20 % slower is not worth its lines.

Then each compiled kernel of the other rooms, or the kernels that are one algorithm, is replaced by
numpy or by a simpler kernel, in a call of a public function that uses it (`kernel_cases`); all is
compiled before. A kernel without which no call takes 1.3 times as long is not worth its lines.
The tables are kept in `benchmarks/results/speed_ablation.txt`. ``--part kernels`` or ``--part
solver`` prints one of them.
"""

import argparse
import os
import platform
import signal
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from time import process_time

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from kernel_cases import CASES, WITHOUT_ANOTHER
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

from tamis.primal_dual import _fista, _interior, solver
from tamis.primal_dual.radii import CRISP, choose_radii, follow, many_features
from tamis.primal_dual.training import make_problem, prepare

RESULTS = Path(__file__).parents[1] / "results"
# Shorter runs are repeated: clocks of CPU time are coarse.
LONG = 0.5
# Relative gaps of single problems.
TOL = {"huber": 1e-4, "frobenius": 1e-4, "l1": 1e-3}
WORTH = 1.2
WORTH_OF_KERNEL = 1.3
# Calls of kernels are repeated for so long.
REPEATED = 0.2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is written")
    parser.add_argument("--cap", type=float, default=2.0, help="most seconds for one case")
    parser.add_argument("--only", default="", help="only groups whose name contains this")
    parser.add_argument("--output", type=Path, help="default: in benchmarks/results")
    parser.add_argument("--part", choices=("solver", "kernels"), help="default: both")
    options = parser.parse_args()
    output = options.output
    if output is None and not (options.quick or options.only or options.part):
        output = RESULTS / "speed_ablation.txt"
    lines = []
    for part, show in (("solver", show_solver), ("kernels", show_kernels)):
        if options.part in (None, part):
            for line in show(options):
                print(line, flush=True)
                lines.append(line)
    if output is not None:
        output.write_text("\n".join(lines) + "\n")


def show_solver(options):
    """Lines of the table of the primal-dual solver."""
    yield (
        f"CPU seconds of the primal-dual solver, and their ratio without one algorithm; cap "
        f"{options.cap:g} s. {platform.machine()}, Python {platform.python_version()}"
    )
    yield ""
    yield f"{'group':32s}{'whole':>9s}" + "".join(f"{name:>14s}" for name in SWITCHES)
    largest = dict.fromkeys(SWITCHES, 0.0)
    for group, make_cases in make_groups(4 if options.quick else 1).items():
        if options.only not in group:
            continue
        line, ratios = measure_group(group, make_cases(), options.cap)
        for name, ratio in ratios.items():
            largest[name] = max(largest[name], ratio)
        yield line
    yield ""
    for name, ratio in largest.items():
        yield judge(name, ratio)
    yield ""


def show_kernels(options):
    """Lines of the table of the compiled kernels."""
    yield (
        "CPU seconds of a call with its compiled kernels, and their ratio with the other version "
        f"in place of them; they stay from {WORTH_OF_KERNEL:g} on"
    )
    yield ""
    yield f"{'room':12s}{'kernels':47s}{'call':66s}{'other':13s}{'whole':>10s}{'ratio':>8s}"
    for case in CASES:
        if options.only in f"{case.room} {case.kernels}":
            whole, other, reached = measure_kernels(case, options.cap)
            ratio = other / whole
            yield (
                f"{case.room:12s}{case.kernels:47s}{case.call:66s}{case.other:13s}"
                f"{1e3 * whole:7.1f} ms{'' if reached else '>':>2s}{ratio:6.2f}  "
                + ("stays" if ratio >= WORTH_OF_KERNEL else "below")
            )
    yield ""
    for kernels, reason in WITHOUT_ANOTHER.items():
        yield f"{kernels}: no other version: {reason}."


def measure_kernels(case, cap):
    """CPU seconds of the call with its kernels and with the other version; whether both ended."""
    warnings.simplefilter("ignore", UserWarning)  # some data have no features that help
    call = case.make()

    def run():
        call()
        return True

    run()  # compiles
    with replaced(case.parts):
        _, reached = measure(run, cap, 0.0)  # compiles simpler kernels
    whole = other = np.inf
    for _ in range(2):
        whole = min(whole, measure(run, cap, REPEATED)[0])
        if reached:
            with replaced(case.parts):
                other = min(other, measure(run, cap, REPEATED)[0])
    return whole, other if reached else cap, reached


def judge(name, ratio):
    if ratio == 0.0:
        return f"{name}: not used"
    verdict = "stays" if ratio >= WORTH else "is not worth its lines"
    return f"{name}: without it, a group takes up to {ratio:.2f} x as long: {verdict}"


# Cases.


def make_groups(divisor):
    """Functions that make the cases of each group."""
    groups = {}
    for loss in ("huber", "frobenius", "l1"):
        for ball in ("l1", "l21", "l12", "nuclear"):
            if ball in ("l12", "nuclear") and loss == "l1":
                continue
            groups[f"{loss} loss, {ball} ball"] = lambda loss=loss, ball=ball: [
                single(*redundant(400 // divisor, d // divisor, k), loss, ball, radius)
                for d, k, radius in ((100, 2, 1.0), (2000, 2, 2.0), (2000, 5, 4.0), (400, 3, 20.0))
            ]
    for loss in ("huber", "l1"):
        groups[f"collinear, {loss} loss, l1 ball"] = lambda loss=loss: [
            single(*collinear(300 // divisor, d // divisor), loss, "l1", radius)
            for d, radius in ((300, 1.0), (300, 20.0), (1500, 5.0))
        ]
        groups[f"sparse, {loss} loss"] = lambda loss=loss: [
            single(*scattered(n // divisor, d // divisor), loss, ball, radius)
            for n, d, ball, radius in (
                (2000, 4000, "l1", 1.0),
                (2000, 4000, "l21", 1.0),
                (2500, 3000, "l1", 30.0),
            )
        ]
    groups["path: breast cancer"] = lambda: [path(*cancer(), "huber", "l1")]
    groups["path: genes"] = lambda: [path(*genes(118, 4000 // divisor), "huber", "l1")]
    groups["path: digits, 10 classes"] = lambda: [path(*digits(300), "huber", "l1")]
    groups["path: other losses and balls"] = lambda: [
        path(*cancer(), loss, ball) for loss, ball in (("l1", "l1"), ("huber", "l21"))
    ]
    return groups


def redundant(n, d, k):
    """Rows and classes with many features that are mixtures of others."""
    return make_classification(
        n, d, n_informative=max(d // 20, 4), n_redundant=d // 5, n_classes=k, random_state=0
    )


def collinear(n, d):
    """A few factors with 1 % noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    factors = rng.normal(size=(n, 8))
    factors[:, 0] += 1.5 * y
    return factors @ rng.normal(size=(8, d)) + 0.01 * rng.normal(size=(n, d)), y


def scattered(n, d):
    """Sparse counts, some of them more frequent in one class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    counts = sparse.random_array((n, d), density=0.01, rng=rng, format="csr")
    more = sparse.random_array((n, d // 50), density=0.1, rng=rng).multiply(y[:, None])
    return sparse.csr_array(counts + sparse.hstack([more, sparse.csr_array((n, d - d // 50))])), y


def cancer():
    return load_breast_cancer(return_X_y=True)


def digits(n):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def genes(n, d):
    """Gene-like: 40 features differ between the classes, and all share a few factors."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [n * 43 // 118, n - n * 43 // 118])
    X = rng.normal(8.0, 1.5, size=(n, d)) + rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
    X[:, :40] += np.linspace(2.0, 0.2, 40) * y[:, None]
    return X, y


def problem_of(X, y, loss, ball, radius, weights):
    k = int(y.max()) + 1
    data = prepare(X, y, k, weights)
    rho = 2.0 * weights.sum() / k
    return make_problem(data, loss=loss, huber_delta=0.1, ball=ball, radius=radius, rho=rho)


def single(X, y, loss, ball, radius):
    """A case: one problem from a cold start."""
    tol = TOL[loss]
    problem = problem_of(X, y, loss, ball, radius, np.ones(y.size))

    def run():
        fresh = problem.with_radius(radius)
        fresh.step_guess[0] = 1.0
        *_, solution = solver.solve(fresh, tol=tol, max_iter=10**6)
        return solution.relative_gap <= tol

    return run


def path(X, y, loss, ball, tol=1e-4):
    """A case: a path of 20 radii, each started from the one before."""
    weights = y.size / np.bincount(y)[y] / (y.max() + 1)
    problem = problem_of(X, y, loss, ball, 1.0, weights)
    limits = {"max_iter": 20_000, "crisp": CRISP}
    largest = many_features(problem)
    radii = choose_radii(problem, 20, fewest=1, largest=largest, slight=0.0, **limits)

    def run():
        problem.step_guess[0] = 1.0
        levels = follow(problem, radii, tol=tol, **limits)
        return all(level.solution.relative_gap <= tol for level in levels)

    return run


# Measurements.


def measure_group(group, cases, cap):
    """The group's line of the table, and the ratio of each algorithm that it uses."""
    whole, used = [], []
    for case in cases:
        with watched() as names:
            measure(case, cap)  # compiles
        used.append(names)
        whole.append(measure(case, cap))
    total = sum(seconds for seconds, _ in whole)
    mark = "" if all(reached for _, reached in whole) else ">"
    line = f"{group:32s}{f'{mark}{total:.2f} s':>9s}"
    ratios = {}
    for name in SWITCHES:
        without = list(whole)
        with switched_off(name):
            for i, case in enumerate(cases):
                if name in used[i]:
                    without[i] = measure(case, cap)
        if not any(name in names for names in used):
            line += f"{'-':>14s}"
            continue
        ratios[name] = sum(seconds for seconds, _ in without) / total
        worst = max(other[0] / one[0] for other, one in zip(without, whole, strict=True))
        mark = "" if all(reached for _, reached in without) else ">"
        line += f"{f'{mark}{ratios[name]:.2f} ({worst:.3g})':>14s}"
    return line, ratios


def measure(case, cap, long=LONG):
    """Mean CPU seconds of a case, and whether it reached its gap."""
    begin, n_runs = process_time(), 0
    try:
        with limited(cap):
            while n_runs == 0 or process_time() - begin < long:
                reached = case()
                n_runs += 1
    except TimeoutError:
        reached = n_runs > 0
    return (process_time() - begin) / max(n_runs, 1), reached


@contextmanager
def limited(seconds):
    """Raise TimeoutError after so many seconds of CPU time."""

    def stop(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


# Switches.


def never(problem):
    return False


# What replaces the parts of an algorithm (another algorithm, if it is the last resort), and the
# functions that are called when it is used.
SWITCHES = {
    "descent": ([(solver, "can_descend", never)], [(solver, "descent")]),
    "fista": (
        [(solver, "_SHARP_BEND", np.inf), (solver, "fista", solver.pdhg)],
        [(solver, "fista")],
    ),
    "newton": (
        [
            (_fista, "newton_cost", lambda problem, W: np.inf),
            (_interior, "newton_step", lambda problem, primal: None),
        ],
        [(_fista, "newton_step"), (_interior, "newton_step")],
    ),
    "interior": ([(solver, "can_walk_inside", never)], [(solver, "interior")]),
    "splitting": ([(solver, "can_split", never)], [(solver, "splitting")]),
    "pdhg": ([(solver, "pdhg", solver.splitting)], [(solver, "pdhg")]),
    "working set": (
        [(solver, "_DENSE_SHARE", -1.0), (solver, "_MOST_OF_ROWS", -1.0)],
        [(solver, "_restrict")],
    ),
}


@contextmanager
def replaced(parts):
    """Replace attributes of modules for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in parts]
    for module, name, value in parts:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def switched_off(name):
    return replaced(SWITCHES[name][0])


@contextmanager
def watched():
    """The names of the algorithms that are used meanwhile."""
    used = set()

    def note(name, function):
        def noted(*arguments):
            used.add(name)
            return function(*arguments)

        return noted

    parts = [
        (module, attribute, note(name, getattr(module, attribute)))
        for name, (_, functions) in SWITCHES.items()
        for module, attribute in functions
    ]
    with replaced(parts):
        yield used


if __name__ == "__main__":
    sys.exit(main())
