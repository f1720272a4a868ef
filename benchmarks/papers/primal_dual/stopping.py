"""Algorithm 1 along its iterations, beside the optimum."""

from time import process_time

import numpy as np
from norm_loss import NormLoss, NormProblem

from tamis.primal_dual.paper import algorithm_1
from tamis.primal_dual.solver import solve
from tamis.primal_dual.training import make_problem, prepare

ITERATIONS = (10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000)
RADIUS = 1.0
# loss, delta, rho as a multiple of the mean class size (None: the paper's rho = 1)
CASES = {
    "Huber, published settings (rho = 1, delta = 1)": ("huber", 1.0, None),
    "Huber, tamis (rho = 2 x class size, delta = 0.25)": ("huber", 0.25, 2.0),
    "l1, published settings (rho = 1)": ("l1", 0.0, None),
    "l1, tamis (rho = 2 x class size)": ("l1", 0.0, 2.0),
    "Frobenius norm, published settings (rho = 1)": ("norm", 0.0, None),
}


def follow(X, y, case, iterations=ITERATIONS, *, tol=1e-6, max_iter=20_000):
    """Objective, relative gap and selected rows of Algorithm 1, and of the optimum."""
    loss, delta, factor = CASES[case]
    problem = make(X, y, loss, delta, factor)
    best, optimum = None, None
    if loss != "norm":
        *_, solution = solve(problem, tol=tol, max_iter=max_iter)
        best = set(np.flatnonzero(solution.pair.primal.W.any(axis=1)))
        optimum = {
            "objective": solution.pair.primal.value,
            "gap": float(f"{solution.relative_gap:.3g}"),
            "features": len(best),
        }
    rows = []
    start = process_time()
    for solution in algorithm_1(problem, max_iter=max(iterations)):
        if solution.n_iter in iterations:
            found = set(np.flatnonzero(solution.pair.primal.W.any(axis=1)))
            rows.append(
                {
                    "n_iter": solution.n_iter,
                    "objective": solution.pair.primal.value,
                    "gap": float(f"{solution.relative_gap:.3g}"),
                    "features": len(found),
                    "shared": None if best is None else len(best & found),
                    "seconds": round(process_time() - start, 3),
                }
            )
    return {"optimum": optimum, "rows": rows, "unit": problem.empty().value}


def make(X, y, loss, delta, factor):
    """The problem on all samples, without class weights for the published settings."""
    codes = np.unique(y, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    weights = np.ones(codes.size)
    rho = 1.0
    if factor is not None:
        weights = codes.size / n_classes / np.bincount(codes)[codes]
        rho = factor * codes.size / n_classes
    data = prepare(X, codes, n_classes, weights)
    known = "l1" if loss == "norm" else loss
    problem = make_problem(data, loss=known, huber_delta=delta, ball="l1", radius=RADIUS, rho=rho)
    if loss != "norm":
        return problem
    return NormProblem(data.matrix, data.codes, n_classes, weights, NormLoss(), problem.ball, rho)
