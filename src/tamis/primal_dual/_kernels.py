"""Compiled pieces of `_descent`: points, objectives, dual points and Newton steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled
from tamis.projections._sums import survey
from tamis.projections.simplex import find_level, shrink

__all__ = [
    "Data",
    "Point",
    "State",
    "Terms",
    "add_violators",
    "assign",
    "copy",
    "extrapolate",
    "finish",
    "gradient",
    "keep_dual",
    "keep_primal",
    "newton_cost",
    "newton_step",
    "project",
    "same_support",
    "uphill",
]

# Systems larger than this are left to first-order steps.
_LARGEST_SYSTEM = 1500


class Data(NamedTuple):
    """Standardized columns as rows, classes, sample weights and their sums over classes."""

    columns: NDArray
    codes: NDArray
    weights: NDArray
    sizes: NDArray


class Terms(NamedTuple):
    """Numbers of the problem: those of the loss, of the ball and of the centers.

    `rho` is 0 for fixed centers; `lipschitz` is about the largest eigenvalue of X' diag(s) X.
    """

    curvature: float
    bound: float
    radius: float
    rho: float
    lipschitz: float


class Point(NamedTuple):
    """A primal point with its product and its objective (in an array of one)."""

    W: NDArray
    mu: NDArray
    XW: NDArray
    value: NDArray


class State(NamedTuple):
    """What goes on from one call of `descend` to the next; changed in place.

    `dual` holds the value and the factor of the best dual point U, with its X' Z in G.
    """

    current: Point
    previous: Point
    best: Point
    U: NDArray
    G: NDArray
    dual: NDArray
    numbers: NDArray


# Points.


@compiled
def copy(point):
    return Point(point.W.copy(), point.mu.copy(), point.XW.copy(), point.value.copy())


@compiled
def assign(to, point):
    to.W[:] = point.W
    to.mu[:] = point.mu
    to.XW[:] = point.XW
    to.value[:] = point.value


@compiled
def extrapolate(current, previous, weight, out):
    out.W[:] = current.W + weight * (current.W - previous.W)
    out.mu[:] = current.mu + weight * (current.mu - previous.mu)
    for j in range(out.XW.shape[0]):
        for i in range(out.XW.shape[1]):
            now = current.XW[j, i]
            out.XW[j, i] = now + weight * (now - previous.XW[j, i])


@compiled
def keep_primal(state, point):
    if point.value[0] < state.best.value[0]:
        assign(state.best, point)


@compiled
def keep_dual(terms, state, U, G, sums, square):
    """Keep the best multiple of U if it is better than the best so far: see `problem`."""
    linear = np.trace(sums) - terms.radius * np.abs(G).max()
    if terms.rho > 0:
        square += 0.5 * (sums**2).sum() / terms.rho
    if linear <= 0:
        factor = 0.0
    else:
        largest = np.abs(U).max()
        limit = terms.bound / largest if largest > 0 else 1.0
        factor = min(0.5 * linear / square, limit) if square > 0 else limit
    value = factor * linear - factor**2 * square
    if value > state.dual[0]:
        state.dual[0], state.dual[1] = value, factor
        state.U[:] = U
        state.G[:] = G


@compiled
def gradient(data, terms, point, U, Z, sums):
    """Objective of a point, and the conjugate of its dual point; fills U, Z and Y' Z."""
    value = square = 0.0
    sums[:] = 0.0
    edge = terms.bound * terms.curvature
    for j in range(U.shape[0]):
        for i in range(U.shape[1]):
            c, s = data.codes[i], data.weights[i]
            r = point.mu[c, j] - point.XW[j, i]
            near = min(max(r, -edge), edge)
            u = near / terms.curvature
            U[j, i] = u
            Z[j, i] = s * u
            sums[c, j] += s * u
            square += s * u * u
            value += s * (0.5 * near * u + abs(r - near) * abs(u))
    square *= 0.5 * terms.curvature
    return value + _distance(terms, point.mu), square


@compiled
def finish(data, terms, point):
    """Fill in the product and the objective of a point."""
    edge = terms.bound * terms.curvature
    value = 0.0
    for j in range(point.W.shape[0]):
        product = point.XW[j]
        product[:] = 0.0
        for f in range(point.W.shape[1]):
            w = point.W[j, f]
            if w != 0.0:
                column = data.columns[f]
                for i in range(product.size):
                    product[i] += w * column[i]
        for i in range(product.size):
            r = abs(point.mu[data.codes[i], j] - product[i])
            near = min(r, edge)
            value += data.weights[i] * near * (r - 0.5 * near)
    point.value[0] = value / terms.curvature + _distance(terms, point.mu)


@compiled
def _distance(terms, mu):
    """What the centers cost."""
    if terms.rho == 0:
        return 0.0
    return 0.5 * terms.rho * ((mu - np.eye(mu.shape[0])) ** 2).sum()


@compiled
def project(V, radius, out):
    flat = V.ravel()
    total, largest, _ = survey(flat, True, radius)
    if total <= radius:
        out[:] = V
    else:
        shift, high, low = find_level(flat, True, radius, total, largest)
        out[:] = shrink(flat, True, shift, high, low).reshape(V.shape)


@compiled
def uphill(data, terms, step, lipschitz, ahead, new, current):
    """Whether the momentum points uphill, for it is positive then."""
    total = 0.0
    for j in range(new.W.shape[0]):
        for f in range(new.W.shape[1]):
            w = new.W[j, f]
            total += (ahead.W[j, f] - w) * (w - current.W[j, f])
    total *= lipschitz
    for c in range(new.mu.shape[0]):
        curved = step * data.sizes[c] / terms.curvature + terms.rho
        for j in range(new.mu.shape[0]):
            m = new.mu[c, j]
            total += curved * (ahead.mu[c, j] - m) * (m - current.mu[c, j])
    return total


@compiled
def same_support(new, old):
    """Whether two matrices are non-zero at the same places, and at how many the first is."""
    same, used = True, 0
    for j in range(new.shape[0]):
        for f in range(new.shape[1]):
            here = new[j, f] != 0.0
            used += here
            same = same and here == (old[j, f] != 0.0)
    return same, used


# Newton steps.


@compiled
def add_violators(W, G):
    """Signs of the entries of W, with those of the zero entries that G would change most."""
    face = np.empty_like(W)
    used, total, level = 0, 0.0, 0.0
    n_classes, n_features = W.shape
    for j in range(n_classes):
        for f in range(n_features):
            w = W[j, f]
            face[j, f] = 0.0 if w == 0 else (1.0 if w > 0 else -1.0)
            used += w != 0
            total += abs(w)
            level += w * G[j, f]
    level = level / total * (1 + 1e-9) if total > 0 else 0.0
    for _ in range(max(2, used // 8)):
        largest, row, column = level, -1, -1
        for j in range(n_classes):
            for f in range(n_features):
                if face[j, f] == 0 and abs(G[j, f]) > largest:
                    largest, row, column = abs(G[j, f]), j, f
        if row < 0:
            break
        face[row, column] = 1.0 if G[row, column] > 0 else -1.0
    return face


@compiled
def newton_cost(face, n_samples, terms):
    """About how many operations a step takes; infinity where it would be too large."""
    cost = 0.0
    for j in range(face.shape[0]):
        size = (face[j] != 0).sum() + (face.shape[0] if terms.rho > 0 else 0)
        if size > _LARGEST_SYSTEM:
            return np.inf
        cost += 0.3 * n_samples * size**2 + size**3 / 3.0
    return cost


@compiled
def newton_step(data, terms, point, face, new, Z, sums, damping):
    """Fill `new` with a better point of a face of the ball; the step length, 0 for failure.

    The system is that of `_newton`: one block per class, joined by the multiplier of the ball.
    """
    n_classes, n_features = point.W.shape
    move_W, along_W = np.zeros_like(point.W), np.zeros_like(point.W)
    move_mu, along_mu = np.zeros_like(point.mu), np.zeros_like(point.mu)
    pull = give = 0.0
    for j in range(n_classes):
        free = np.flatnonzero(face[j])
        size = free.size + (n_classes if terms.rho > 0 else 0)
        if size == 0:
            continue
        hessian = _hessian(data, terms, point, j, free, damping)
        first, second = np.empty(size), np.zeros(size)
        for a in range(free.size):
            first[a] = -np.dot(data.columns[free[a]], Z[j])
            second[a] = face[j, free[a]]
        for a in range(free.size, size):
            c = a - free.size
            first[a] = sums[c, j] + terms.rho * (point.mu[c, j] - (1.0 if c == j else 0.0))
        if not _factorize(hessian):
            return 0.0
        _solve(hessian, first)
        normal = second.copy()
        _solve(hessian, second)
        pull += np.dot(normal, first)
        give += np.dot(normal, second)
        for a in range(free.size):
            move_W[j, free[a]], along_W[j, free[a]] = first[a], second[a]
        for a in range(free.size, size):
            move_mu[a - free.size, j], along_mu[a - free.size, j] = first[a], second[a]
    inside = np.abs(point.W).sum() < terms.radius * (1 - 1e-9)
    multiplier = 0.0 if inside or give <= 0 else -pull / give
    move_W += multiplier * along_W
    move_mu += multiplier * along_mu
    if not (np.isfinite(move_W).all() and np.isfinite(move_mu).all()):
        return 0.0
    for length in (1.0, 0.5, 0.25, 0.1, _first_crossing(point.W, move_W)):
        W = point.W - length * move_W
        for j in range(n_classes):
            for f in range(n_features):
                if W[j, f] * face[j, f] < 0:  # it would leave the face
                    W[j, f] = 0.0
        project(W, terms.radius, new.W)
        new.mu[:] = point.mu - length * move_mu
        finish(data, terms, new)
        if new.value[0] < point.value[0]:
            return length
    return 0.0


@compiled
def _first_crossing(W, move):
    """The longest step, up to 0.1, that changes no sign."""
    length = 0.1
    for j in range(W.shape[0]):
        for f in range(W.shape[1]):
            if W[j, f] * move[j, f] > 0:
                length = min(length, W[j, f] / move[j, f])
    return length


@compiled
def _hessian(data, terms, point, j, free, damping):
    """Second derivatives for the free entries of one column, its centers last, with a ridge."""
    n_samples, n_classes = data.codes.size, point.W.shape[0]
    edge = terms.bound * terms.curvature
    curved = np.empty(n_samples, dtype=np.int64)
    count = 0
    for i in range(n_samples):
        curved[count] = i
        count += abs(point.mu[data.codes[i], j] - point.XW[j, i]) <= edge
    root = np.empty(count)
    for t in range(count):
        root[t] = np.sqrt(data.weights[curved[t]] / terms.curvature)
    size = free.size + (n_classes if terms.rho > 0 else 0)
    hessian = np.zeros((size, size))
    part = np.empty((free.size, count))
    for a in range(free.size):
        column = data.columns[free[a]]
        for t in range(count):
            part[a, t] = column[curved[t]] * root[t]
    hessian[: free.size, : free.size] = np.dot(part, part.T)
    if terms.rho > 0:
        for t in range(count):
            c = free.size + data.codes[curved[t]]
            hessian[c, c] += root[t] ** 2
        for a in range(free.size):
            for t in range(count):
                hessian[free.size + data.codes[curved[t]], a] -= root[t] * part[a, t]
        for a in range(free.size, size):
            hessian[a, a] += terms.rho
    ridge = damping * (np.trace(hessian) / size + 1e-300)
    for a in range(size):
        hessian[a, a] += ridge
    return hessian


@compiled
def _factorize(matrix):
    """Cholesky factor in the lower triangle, in place; False if there is none."""
    for a in range(matrix.shape[0]):
        for b in range(a):
            matrix[a, b] = (matrix[a, b] - np.dot(matrix[a, :b], matrix[b, :b])) / matrix[b, b]
        left = matrix[a, a] - np.dot(matrix[a, :a], matrix[a, :a])
        if not left > 0:
            return False
        matrix[a, a] = np.sqrt(left)
    return True


@compiled
def _solve(factor, right):
    """Solve with the factor of `_factorize`, in place."""
    for a in range(right.size):
        right[a] = (right[a] - np.dot(factor[a, :a], right[:a])) / factor[a, a]
    for a in range(right.size - 1, -1, -1):
        right[a] /= factor[a, a]
        for b in range(a):
            right[b] -= factor[a, b] * right[a]
