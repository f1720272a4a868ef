"""Speed of the primal-dual family, as ratios to named peers measured in the same run.

One command, one thread: ``python benchmarks/speed/primal_dual.py`` (``--quick`` for small sizes).
Times are CPU seconds until the certified relative gap is what is said; every solver gets the same
standardized matrix. A peer that reaches its cap is counted with the cap, so its ratio is a lower
bound (marked >). How often the data are read is counted by `reads`. skglm is needed:
``pip install skglm``.
"""

import argparse
import os
import sys
from pathlib import Path
from time import process_time

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.append(str(Path(__file__).parents[1] / "papers" / "primal_dual"))

import numpy as np
from datasets import generate as make_correlated
from reads import counted
from rivals import fast, time_to_gap
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from tamis.primal_dual.solver import solve
from tamis.primal_dual.training import make_problem, prepare

RADIUS = {2: 2.0, 9: 5.0}


def main():
    options = parse()
    sizes = (200, 400) if options.quick else (1000, 3000, 5000, 10_000, 15_000)
    m = 200 if options.quick else 1000
    warm_up()
    passes(m, sizes[len(sizes) // 2])
    collinear(m, options.cap)
    growth(m, sizes, options.cap)
    against_algorithm_1(m, sizes[len(sizes) // 2], options.cap)
    against_fista(m, sizes[-1], options.cap)
    against_skglm(m, sizes[len(sizes) // 2])
    against_cvxpy(m)
    hard(m, sizes[len(sizes) // 2], options.cap)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--cap", type=float, default=120.0, help="most seconds for a peer")
    return parser.parse_args()


def make_data(m, d, k):
    X, y = make_classification(
        n_samples=m,
        n_features=d,
        n_informative=min(60, d // 4),
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=1,
        random_state=0,
    )
    return np.asfortranarray(StandardScaler().fit_transform(X)), y


def generate(m, d, correlation):
    X, y = make_correlated(m, d, correlation=correlation)
    return np.asfortranarray(X), y


def problem_of(X, y, *, loss="huber", ball="l1", radius=None, adaptive=True, standardize=False):
    k = int(y.max()) + 1
    data = prepare(X, y, k, np.ones(y.size), standardize=standardize)
    rho = 2.0 * y.size / k if adaptive else None
    radius = RADIUS.get(k, 2.0) if radius is None else radius
    return make_problem(data, loss=loss, huber_delta=0.25, ball=ball, radius=radius, rho=rho)


def warm_up():
    X, y = make_data(60, 40, 2)
    for loss in ("huber", "l1", "frobenius"):
        for ball in ("l1", "l21"):
            time_to_gap("tamis", problem_of(X, y, loss=loss, ball=ball), tol=1e-6, cap=5.0)


def best_of(solver, make, tol, cap, repeats=3):
    found = [time_to_gap(solver, make(), tol=tol, cap=cap) for _ in range(repeats)]
    return min(found, key=lambda record: record["seconds"])


def judge(ratio, target):
    return f"target >= {target:g} x {'met' if ratio >= target else 'NOT MET'}"


def passes(m, d):
    """How often X is read, from the raw data to the certificate; see `reads`."""
    for correlation in (0, 0.9):
        X, y = generate(m, d, correlation) if correlation else make_data(m, d, 2)
        for standardize in (False, True):
            with counted(X.size) as reads:
                problem = problem_of(X, y, standardize=standardize)
                *_, solution = solve(problem, tol=1e-3)
            print(
                f"Reads to a gap of 1e-3 (reached {solution.relative_gap:.0e}), Huber, l1 ball, "
                f"m={m}, d={d}, correlation {correlation}, "
                f"{'standardizing' if standardize else 'as is'}: {reads}; "
                f"target <= 6 {'met' if reads.total <= 6 else 'NOT MET'}",
                flush=True,
            )


def make_collinear(m, d, k):
    """Ten factors with another mean in each class, and 1 % noise."""
    rng = np.random.default_rng(0)
    y = np.arange(m) % k
    factors = rng.normal(size=(m, 10)) + rng.normal(size=(k, 10))[y]
    X = factors @ rng.normal(size=(10, d))
    return np.asfortranarray(X + 0.01 * X.std() * rng.normal(size=(m, d))), y


def collinear(m, cap):
    """The l2,1 ball, from few to many rows."""
    print(f"Nearly collinear data, l2,1 ball, m = d = {m}, gap 1e-4, target 10 s")
    for k in (2, 4, 9):
        X, y = make_collinear(m, m, k)
        for loss in ("huber", "l1", "frobenius"):
            cells = []
            for radius in (1.0, 10.0, 100.0):
                problem = problem_of(X, y, loss=loss, ball="l21", radius=radius, standardize=True)
                begin = process_time()
                for solution in solve(problem, tol=1e-4, max_iter=10**9):
                    if solution.relative_gap <= 1e-4 or process_time() - begin > cap:
                        break
                seconds = process_time() - begin
                met = solution.relative_gap <= 1e-4 and seconds <= 10
                n_rows = np.count_nonzero(solution.pair.primal.W.any(axis=1))
                cells.append(
                    f"radius {radius:g}: {seconds:.1f} s ({n_rows} rows, gap "
                    f"{solution.relative_gap:.0e}) {'met' if met else 'NOT MET'}"
                )
            print(f"  k={k}, {loss} loss: {'; '.join(cells)}", flush=True)


def growth(m, sizes, cap):
    print(f"Time to a gap, Huber, l1 ball, m = {m} (seconds; features in brackets)")
    for k in (2, 9):
        for tol in (1e-3, 1e-6):
            cells, seconds = [], []
            for d in sizes:
                X, y = make_data(m, d, k)
                found = best_of("tamis", lambda X=X, y=y: problem_of(X, y), tol, cap)
                seconds.append(found["seconds"])
                cells.append(f"d={d}: {found['seconds']:.3f} ({found['features']})")
            power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            print(f"  k={k} gap {tol:g}: {', '.join(cells)}; grows like d^{power:.2f}", flush=True)


def against_algorithm_1(m, d, cap):
    """Independent features, and neighbours correlated as in spectra."""
    for correlation in (None, 0.9, 0.99):
        X, y = make_data(m, d, 2) if correlation is None else generate(m, d, correlation)
        for tol in (1e-3, 1e-6):
            name = f"Algorithm 1 as printed, correlation {correlation or 0}"
            compare(name, "Algorithm 1", lambda X=X, y=y: problem_of(X, y), tol, cap, 50, d)


def against_fista(m, d, cap):
    X, y = make_data(m, d, 2)
    compare("FISTA on the whole problem", "FISTA", lambda: problem_of(X, y), 1e-6, cap, 15, d)


def compare(name, peer, make, tol, cap, target, d):
    ours = best_of("tamis", make, tol, cap)
    theirs = time_to_gap(peer, make(), tol=tol, cap=cap)
    ratio = theirs["seconds"] / ours["seconds"]
    print(
        f"{name}, d={d}, gap {tol:g}: {theirs['seconds']:.2f} s (gap {theirs['gap']:.1e}, "
        f"{theirs['rounds']} iterations) / {ours['seconds']:.3f} s = "
        f"{'' if theirs['reached'] else '> '}{ratio:.0f} x; {judge(ratio, target)}",
        flush=True,
    )


def against_skglm(m, d):
    """MultiTaskLasso at the penalty that our radius stands for, to the same gap."""
    from skglm import MultiTaskLasso

    X, y = make_data(m, d, 9)
    Y = np.asfortranarray((y[:, None] == np.arange(9)).astype(float))
    for radius in (2.0, 5.0):

        def make(radius=radius):
            return problem_of(X, y, loss="frobenius", ball="l21", radius=radius, adaptive=False)

        problem = make()
        ours = best_of("tamis", make, 1e-6, 60.0)
        *_, pair = fast_to(fast(problem), problem, 1e-10)
        penalty = problem.ball.dual_norm(problem.adjoint(problem.residual(*centers(pair)))) / m
        for tol in 10.0 ** -np.arange(2, 13):
            model = MultiTaskLasso(alpha=penalty, tol=tol, fit_intercept=False, max_iter=1000)
            seconds = []
            for _ in range(3):
                begin = process_time()
                model.fit(X, Y)
                seconds.append(process_time() - begin)
            W = model.coef_.T
            own = problem.with_radius(problem.ball.norm(W))
            primal = own.primal(W, problem.identity)
            gap = (primal.value - own.dual_of(primal).value) / problem.empty().value
            if gap <= 1e-6:
                break
        ratio = min(seconds) / ours["seconds"]
        rows = int(np.count_nonzero(W.any(axis=1)))
        print(
            f"skglm MultiTaskLasso, d={d}, k=9, radius {radius:g}, gap 1e-6: {min(seconds):.3f} s "
            f"(gap {gap:.1e}, {rows} features) / {ours['seconds']:.3f} s (gap {ours['gap']:.1e}, "
            f"{ours['features']} features) = {ratio:.1f} x; {judge(ratio, 1)}",
            flush=True,
        )


def fast_to(pairs, problem, tol):
    unit = problem.empty().value
    for pair in pairs:
        yield pair
        if pair.gap <= tol * unit:
            return


def centers(pair):
    return pair.primal.mu, pair.primal.XW


def against_cvxpy(size):
    import cvxpy as cp

    X, y = make_data(size, size, 2)
    problem = problem_of(X, y)
    ours = best_of("tamis", lambda: problem_of(X, y), 1e-6, 60.0)
    W, mu = cp.Variable((size, 2)), cp.Variable((2, 2))
    R = (y[:, None] == np.arange(2)).astype(float) @ mu - X @ W
    delta, rho = problem.loss.curvature, problem.rho
    # cvxpy's huber is t^2 up to M and 2 M |t| - M^2 beyond.
    loss = cp.sum(cp.huber(R, delta)) / (2 * delta)
    task = cp.Problem(
        cp.Minimize(loss + rho / 2 * cp.sum_squares(np.eye(2) - mu)),
        [cp.sum(cp.abs(W)) <= problem.ball.radius],
    )
    begin = process_time()
    task.solve(solver=cp.CLARABEL)
    seconds = process_time() - begin
    ratio = seconds / ours["seconds"]
    found = time_to_gap("tamis", problem, tol=1e-10, cap=60.0)
    *_, pair = fast_to(fast(problem), problem, 1e-10)
    off = abs(task.value - pair.primal.value) / pair.primal.value
    print(
        f"cvxpy with Clarabel, m=d={size}: {seconds:.1f} s / {ours['seconds']:.3f} s = "
        f"{ratio:.0f} x; {judge(ratio, 100)} (objectives differ by {off:.0e}; "
        f"ours to 1e-10: {found['seconds']:.3f} s)",
        flush=True,
    )


def hard(m, d, cap):
    """The l1 loss with most rows active: no working set, no small system."""
    X, y = make_data(m, d, 9)
    for tol in (1e-2, 1e-3, 1e-4):
        found = time_to_gap("tamis", problem_of(X, y, loss="l1", radius=40.0), tol=tol, cap=cap)
        print(
            f"l1 loss, d={d}, k=9, {found['features']} rows active, gap {tol:g}: "
            f"{found['seconds']:.1f} s{'' if found['reached'] else ' (cap)'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
