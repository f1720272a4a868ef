"""Projections by definition: sorts, bisections and a full SVD; slow on purpose."""

import math

import numpy as np


def project_simplex(v, radius):
    """By sorting: the level is the largest of the averages that every prefix gives."""
    u = sorted(np.ravel(v).tolist(), reverse=True)
    if radius == 0:
        return np.zeros(np.shape(v))
    level, total = -np.inf, 0.0
    for p, a in enumerate(u, start=1):
        total += a
        level = max(level, (total - radius) / p)
    return np.maximum(np.asarray(v, dtype=float) - level, 0.0)


def project_l1_ball(v, radius):
    v = np.asarray(v, dtype=float)
    if np.abs(v).sum() <= radius:
        return v.copy()
    return np.sign(v) * project_simplex(np.abs(v), radius)


def bisect(excess, upper):
    """Root of a decreasing function that is positive at 0."""
    lower = 0.0
    while excess(upper) > 0:
        upper *= 2.0
    for _ in range(300):
        middle = 0.5 * (lower + upper)
        if excess(middle) > 0:
            lower = middle
        else:
            upper = middle
    return 0.5 * (lower + upper)


def project_weighted_l1_ball(v, weights, radius):
    v, weights = np.asarray(v, dtype=float), np.asarray(weights, dtype=float)
    if (weights * np.abs(v)).sum() <= radius:
        return v.copy()
    if radius == 0:
        return np.zeros_like(v)

    def shrunk(multiplier):
        return np.maximum(np.abs(v) - multiplier * weights, 0.0)

    multiplier = bisect(lambda m: (weights * shrunk(m)).sum() - radius, 1.0)
    return np.sign(v) * shrunk(multiplier)


def project_l21_ball(V, radius):
    V = np.asarray(V, dtype=float)
    norms = np.array([np.sqrt(sum(a * a for a in row)) for row in V])
    new = project_l1_ball(norms, radius)
    W = np.zeros_like(V)
    for i in range(len(V)):
        if new[i] > 0:
            W[i] = V[i] * (new[i] / norms[i])
    return W


def shrink_exclusive_row(row, multiplier):
    """Argmin of ||w - row||^2 / 2 + multiplier ||w||_1^2 / 2, trying every number of entries.

    With p entries left the threshold is m S_p / (1 + m p), S_p the sum of the p largest; that of
    the optimum is the largest of all. Objectives would be equal to the last digit for some p.
    """
    u = sorted(np.abs(row).tolist(), reverse=True)
    threshold = max(
        multiplier * math.fsum(u[:p]) / (1.0 + multiplier * p) for p in range(1, len(u) + 1)
    )
    return np.sign(row) * np.maximum(np.abs(row) - threshold, 0.0)


def l12_norm(W):
    return np.sqrt((np.abs(W).sum(axis=1) ** 2).sum())


def project_l12_ball(V, radius):
    V = np.asarray(V, dtype=float)
    if l12_norm(V) <= radius:
        return V.copy()
    if radius == 0:
        return np.zeros_like(V)

    def shrunk(multiplier):
        return np.array([shrink_exclusive_row(row, multiplier) for row in V])

    return shrunk(bisect(lambda m: l12_norm(shrunk(m)) - radius, 1.0))


def project_nuclear_ball(V, radius):
    U, values, Vt = np.linalg.svd(np.asarray(V, dtype=float), full_matrices=False)
    return (U * project_l1_ball(values, radius)) @ Vt
