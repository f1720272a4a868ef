"""The primal-dual problem by definition: loops, full matrices and a general convex solver.

Everything is computed from raw data: X, class indices `codes`, sample weights `s` (products of
sample and class weights), `mean` and `scale`, `rho` (None for centers fixed at I).
"""

import math

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from tests.oracles import projections


def dense(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)


def standardized(X, mean, scale):
    return (dense(X) - mean) / scale


def indicator(codes, k):
    Y = np.zeros((len(codes), k))
    for i, c in enumerate(codes):
        Y[i, c] = 1.0
    return Y


# Losses and balls.


def loss_at(t, loss, delta):
    if loss == "frobenius":
        return 0.5 * t * t
    if loss == "l1" or delta == 0:
        return abs(t)
    return t * t / (2 * delta) if abs(t) <= delta else abs(t) - delta / 2


def norm(W, ball):
    if ball == "l1":
        return math.fsum(abs(w) for row in W for w in row)
    if ball == "l21":
        return math.fsum(math.sqrt(math.fsum(w * w for w in row)) for row in W)
    if ball == "l12":
        return math.sqrt(math.fsum(math.fsum(abs(w) for w in row) ** 2 for row in W))
    return math.fsum(np.linalg.svd(W, compute_uv=False).tolist())


def dual_norm(G, ball):
    if ball == "l1":
        return max(abs(g) for row in G for g in row)
    if ball == "l21":
        return max(math.sqrt(math.fsum(g * g for g in row)) for row in G)
    if ball == "l12":
        return math.sqrt(math.fsum(max(abs(g) for g in row) ** 2 for row in G))
    return np.linalg.svd(G, compute_uv=False)[0]


# The problem.


def objective(X, codes, s, mean, scale, rho, loss, delta, W, mu):
    A = standardized(X, mean, scale)
    terms = []
    for i in range(A.shape[0]):
        projected = A[i] @ W
        for j in range(W.shape[1]):
            terms.append(s[i] * loss_at(mu[codes[i], j] - projected[j], loss, delta))
    if rho is not None:
        terms.append(rho / 2 * ((np.eye(len(mu)) - mu) ** 2).sum())
    return math.fsum(terms)


def dual_objective(X, codes, s, mean, scale, rho, loss, delta, ball, radius, Z):
    A, Y = standardized(X, mean, scale), indicator(codes, Z.shape[1])
    sums = Y.T @ Z
    value = np.trace(sums) - radius * dual_norm(A.T @ Z, ball)
    if rho is not None:
        value -= (sums**2).sum() / (2 * rho)
    curvature = {"l1": 0.0, "huber": delta, "frobenius": 1.0}[loss]
    for i in range(Z.shape[0]):
        if s[i] > 0:
            value -= curvature / 2 * (Z[i] ** 2).sum() / s[i]
    return value


def empty_objective(codes, s, k, rho, loss, delta):
    """Objective at W = 0: one entry of mu at a time, by scalar minimisation."""
    total = []
    for c in range(k):
        size = math.fsum(s[i] for i in range(len(codes)) if codes[i] == c)
        for j in range(k):
            goal = float(c == j)
            if rho is None:
                total.append(size * loss_at(goal, loss, delta))
                continue

            def cost(m, size=size, goal=goal):
                return size * loss_at(m, loss, delta) + rho / 2 * (goal - m) ** 2

            found = minimize_scalar(
                cost, bounds=(-0.5, 1.5), method="bounded", options={"xatol": 1e-12}
            )
            total.append(min(found.fun, cost(0.0), cost(1.0)))
    return math.fsum(total)


def is_primal_feasible(W, mu, ball, radius, rho):
    fixed = rho is not None or np.array_equal(mu, np.eye(len(mu)))
    return norm(W, ball) <= radius * (1 + 1e-12) and fixed


def is_dual_feasible(Z, s, loss):
    if loss == "frobenius":
        return bool(np.isfinite(Z).all() and not Z[s == 0].any())
    return all(abs(z) <= s[i] for i in range(len(s)) for z in Z[i])


def cvxpy_optimum(X, codes, s, mean, scale, rho, loss, delta, ball, radius):
    """Optimal objective by an interior point method."""
    import cvxpy as cp

    A, k = standardized(X, mean, scale), int(max(codes)) + 1
    Y = indicator(codes, k)
    W = cp.Variable((A.shape[1], k))
    mu = np.eye(k) if rho is None else cp.Variable((k, k))
    R = Y @ mu - A @ W
    if loss == "frobenius":
        cost = cp.sum(cp.multiply(s[:, None], cp.square(R))) / 2
    elif loss == "l1" or delta == 0:
        cost = cp.sum(cp.multiply(s[:, None], cp.abs(R)))
    else:
        cost = cp.sum(cp.multiply(s[:, None], cp.huber(R, delta))) / (2 * delta)
    if rho is not None:
        cost = cost + rho / 2 * cp.sum_squares(np.eye(k) - mu)
    size = {
        "l1": lambda: cp.sum(cp.abs(W)),
        "l21": lambda: cp.sum(cp.norm(W, 2, axis=1)),
        "l12": lambda: cp.norm(cp.sum(cp.abs(W), axis=1), 2),
        "nuclear": lambda: cp.normNuc(W),
    }[ball]()
    problem = cp.Problem(cp.Minimize(cost), [size <= radius])
    problem.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9, max_iter=200
    )
    return problem.value


# Algorithm 1, as printed, with the steps and the start of the authors' program.

PROJECTIONS = {
    "l1": projections.project_l1_ball,
    "l21": projections.project_l21_ball,
    "l12": projections.project_l12_ball,
    "nuclear": projections.project_nuclear_ball,
}


def algorithm_1(A, codes, k, rho, loss, delta, ball, radius, n_iter):
    """W, mu and Z after every iteration; A is divided by its spectral norm and W multiplied."""
    size = np.linalg.svd(A, compute_uv=False)[0]
    A, radius, Y = A / size, radius * size, indicator(codes, k)
    norm_Y = np.linalg.svd(Y, compute_uv=False)[0]
    tau, tau_mu = 4.0, 0.25 / (np.sqrt(len(A)) * norm_Y)
    sigma = 1.0 / tau
    if rho is not None:
        sigma = 1.0 / (tau + tau_mu * norm_Y**2 / (1.0 + tau_mu * rho / 4.0))
    W, mu, Z = np.ones((A.shape[1], k)), np.eye(k), np.ones((len(A), k))
    iterates = []
    for _ in range(n_iter):
        W_old, mu_old = W, mu
        W = PROJECTIONS[ball](W + tau * (A.T @ Z), radius)
        if rho is not None:
            mu = (mu_old + rho * tau_mu * np.eye(k) - tau_mu * (Y.T @ Z)) / (1 + tau_mu * rho)
        Z = Z + sigma * (Y @ (2 * mu - mu_old) - A @ (2 * W - W_old))
        if loss == "frobenius":
            Z = Z / (1 + sigma)
        else:
            curvature = delta if loss == "huber" else 0.0
            Z = np.maximum(-1.0, np.minimum(1.0, Z / (1 + sigma * curvature)))
        iterates.append((W / size, mu, Z))
    return iterates


# Training by definition.


def class_balanced_moments(X, codes, s):
    """Mean of the class means, and root of the mean over classes of mean squares about it."""
    A = dense(X)
    mean, variance = np.zeros(A.shape[1]), np.zeros(A.shape[1])
    k = int(max(codes)) + 1
    for j in range(A.shape[1]):
        first = A[0, j]  # far from 0, differences are exact where values are not
        means = []
        for c in range(k):
            rows = [i for i in range(len(codes)) if codes[i] == c and s[i] > 0]
            total = math.fsum(s[i] for i in rows)
            means.append(math.fsum(s[i] * (A[i, j] - first) for i in rows) / total)
        middle = math.fsum(means) / k
        mean[j] = first + middle
        for c in range(k):
            rows = [i for i in range(len(codes)) if codes[i] == c and s[i] > 0]
            total = math.fsum(s[i] for i in rows)
            square = math.fsum(s[i] * (A[i, j] - first - middle) ** 2 for i in rows)
            variance[j] += square / total / k
    return mean, np.sqrt(variance)


def balanced_class_weights(codes, sample_weight):
    k = int(max(codes)) + 1
    sizes = [
        math.fsum(sample_weight[i] for i in range(len(codes)) if codes[i] == c) for c in range(k)
    ]
    return np.array([math.fsum(sizes) / (k * size) for size in sizes])


# Prediction by definition.


def distances(x, W, mu, mean, scale, euclidean):
    """Distances of one sample to all centers."""
    projected = [
        math.fsum((x[j] - mean[j]) / scale[j] * W[j, c] for j in range(len(x)))
        for c in range(W.shape[1])
    ]
    away = [[p - m for p, m in zip(projected, center, strict=True)] for center in mu]
    if euclidean:
        return [math.sqrt(math.fsum(a * a for a in row)) for row in away]
    return [math.fsum(abs(a) for a in row) for row in away]
