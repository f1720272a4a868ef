"""Ablation of the primal-dual solver: CPU time when an inner algorithm is switched off.

``python benchmarks/speed/ablation.py`` (``--quick`` for small sizes) solves the same problems with
the whole solver and without each of its inner algorithms, and prints the ratios of CPU seconds to
a certified gap. A run that reaches the cap counts with the cap, so its ratio is a lower bound
(marked >). An algorithm without which no group of cases is 20 % slower is not worth its lines.
"""

import argparse
import os
from contextlib import contextmanager
from time import process_time

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.datasets import make_classification

from tamis.primal_dual import _fista, _interior, solver
from tamis.primal_dual.training import make_problem, prepare


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--cap", type=float, default=20.0, help="most seconds for one problem")
    options = parser.parse_args()
    groups = make_groups(4 if options.quick else 1)
    measure(groups, "nothing", options.cap)  # compiles
    whole = measure(groups, "nothing", options.cap)
    print(f"{'group':28s}{'whole':>9s}" + "".join(f"{name:>12s}" for name in SWITCHES))
    without = {name: measure(groups, name, options.cap) for name in SWITCHES}
    for group in groups:
        seconds, _ = whole[group]
        cells = []
        for name in SWITCHES:
            other, reached = without[name][group]
            cells.append(f"{'' if reached else '>'}{other / seconds:.2f} x")
        print(f"{group:28s}{seconds:8.2f}s" + "".join(f"{cell:>12s}" for cell in cells))


def make_groups(divisor):
    """Problems by loss and ball; correlated and wide ones among them."""
    groups = {}
    for loss in ("huber", "frobenius", "l1"):
        for ball in ("l1", "l21", "l12", "nuclear"):
            if ball in ("l12", "nuclear") and loss == "l1":
                continue
            groups[f"{loss} loss, {ball} ball"] = [
                make(400 // divisor, d // divisor, k, r, loss, ball)
                for d, k, r in ((100, 2, 1.0), (2000, 2, 2.0), (2000, 5, 4.0), (400, 3, 20.0))
            ]
    return groups


def make(n, d, k, radius, loss, ball):
    X, y = make_classification(
        n, d, n_informative=max(d // 20, 4), n_redundant=d // 5, n_classes=k, random_state=0
    )
    data = prepare(X, y, k, np.ones(n))
    rho = 2.0 * n / k
    return make_problem(data, loss=loss, huber_delta=0.1, ball=ball, radius=radius, rho=rho)


def measure(groups, name, cap):
    """CPU seconds of every group, and whether all of its problems reached their gap."""
    seconds = {}
    with switched_off(name):
        for group, problems in groups.items():
            total, all_reached = 0.0, True
            for problem in problems:
                fresh = problem.with_radius(problem.ball.radius)
                fresh.step_guess[0] = 1.0
                begin = process_time()
                gap = np.inf
                for solution in solver.solve(fresh, tol=1e-5, max_iter=10**6):
                    gap = solution.relative_gap
                    if process_time() - begin > cap:
                        break
                total += process_time() - begin
                all_reached &= gap <= 1e-5
            seconds[group] = total, all_reached
    return seconds


def never(problem):
    return False


SWITCHES = {
    "descent": [(solver, "can_descend", never)],
    "newton": [
        (_fista, "newton_cost", lambda problem, W: np.inf),
        (_interior, "newton_step", lambda problem, primal: None),
    ],
    "interior": [(solver, "can_walk_inside", never)],
    "splitting": [(solver, "can_split", never)],
    "polish": [(_interior, "_LARGEST_POLISH", -1)],
    "working set": [(solver, "_DENSE_SHARE", -1.0)],
}


@contextmanager
def switched_off(name):
    before = [
        (module, attribute, getattr(module, attribute))
        for module, attribute, _ in SWITCHES.get(name, [])
    ]
    for module, attribute, value in SWITCHES.get(name, []):
        setattr(module, attribute, value)
    try:
        yield
    finally:
        for module, attribute, value in before:
            setattr(module, attribute, value)


if __name__ == "__main__":
    main()
