r"""Accelerated gradients with Newton steps in the l1 ball, as one compiled loop.

The algorithm of `_fista` and `_newton` for dense data and a smooth loss: FISTA on (W, mu) with
backtracking and restarts, where each gradient is a dual point and so a certificate; once the
support has stopped changing, Newton steps on it. A step in Python takes about a millisecond for
calls, more than its arithmetic on up to a million values; here it takes only its arithmetic.

Arrays are class-first, so that each product is a BLAS call on contiguous memory: W is
(n_classes, n_features), XW, U and Z are (n_classes, n_samples); the columns of X are rows. The
centers stay as they are elsewhere: ``mu[c, j]`` is coordinate j of the center of class c.
"""

import numpy as np

from tamis._compile import compiled
from tamis.primal_dual._kernels import (
    Data,
    Point,
    State,
    Terms,
    add_violators,
    assign,
    copy,
    extrapolate,
    finish,
    gradient,
    keep_dual,
    keep_primal,
    newton_cost,
    newton_step,
    project,
    same_support,
    uphill,
)
from tamis.primal_dual._restarts import next_momentum
from tamis.primal_dual.problem import Dual, Pair, Primal

__all__ = ["can_descend", "descent"]

# Iterations on one support before a Newton step is tried there.
_SAME_SUPPORT = 3
# Smallest share of the mean diagonal entry that is added to the diagonal of a Newton system.
_LEAST_DAMPING = 1e-10
# Successive Newton steps with little gain before gradient steps follow.
_WEAK_STEPS = 6
# Values of the data that may be copied.
_LARGEST_COPY = 100_000_000
# Iterations between two checks by the caller.
_STRIDE = 50
# Indices into `State.numbers`.
_STEP, _MOMENTUM, _SAME, _PATIENCE, _SPENT, _NEWTON_SPENT, _DAMPING = range(7)


def can_descend(problem):
    """Whether this method can solve the problem."""
    return (
        problem.ball.is_flat
        and problem.loss.is_smooth
        and not (problem.matrix.is_sparse or problem.matrix.is_on_device)
        and np.prod(problem.matrix.shape) <= _LARGEST_COPY
    )


def descent(problem, pair, aim, limit=np.inf):
    """Yield successively better pairs and the number of iterations that each took.

    Parameters
    ----------
    problem : Problem
        As `can_descend` says.
    pair : Pair
        Where to start: its primal point.
    aim : float
        Gap to stop at; the caller may stop earlier.
    limit : float
        Most iterations.

    Yields
    ------
    pair : Pair
    n_iter : int
    """
    data = Data(
        problem.matrix.transposed,
        problem.codes,
        problem.weights,
        problem.class_sizes,
    )
    terms = Terms(
        problem.loss.curvature,
        problem.loss.bound,
        float(problem.ball.radius),
        0.0 if problem.rho is None else float(problem.rho),
        max(problem.rough_squared_norm, 1e-300),
    )
    primal = pair.primal
    state = _new_state(
        *(np.ascontiguousarray(a) for a in (primal.W.T, primal.mu, primal.XW.T)),
        primal.value,
        problem.step_guess[0],
    )
    while limit > 0:
        n_iter = _descend(data, terms, state, aim, int(min(_STRIDE, limit)))
        limit -= n_iter
        problem.step_guess[0] = state.numbers[_STEP]
        best = state.best
        primal = Primal(best.W.T.copy(), best.mu.copy(), best.XW.T.copy(), float(best.value[0]))
        value, factor = state.dual
        dual = Dual(state.U.T.copy(), state.G.T.copy(), float(factor), float(value))
        pair = Pair(primal, dual) if pair is None else pair.better(primal, dual)
        yield pair, n_iter


def _new_state(W, mu, XW, value, step):
    """The state before the first iteration.

    Parameters
    ----------
    W, mu, XW, value : ndarray, ndarray, ndarray, float
        Where to start, class-first.
    step : float
        First guess of the curvature, as a share of the largest possible one.

    Returns
    -------
    state : State
    """
    points = [Point(W.copy(), mu.copy(), XW.copy(), np.array([value])) for _ in range(3)]
    numbers = np.array([step, 1.0, _SAME_SUPPORT, _SAME_SUPPORT, 0.0, 0.0, _LEAST_DAMPING])
    return State(*points, np.zeros_like(XW), np.zeros_like(W), np.array([-np.inf, 0.0]), numbers)


@compiled
def _descend(data, terms, state, aim, n_steps):
    """Iterate until the gap of the best points is at most `aim`, at most `n_steps` times.

    Parameters
    ----------
    data : Data
    terms : Terms
    state : State
        Changed.
    aim : float
    n_steps : int

    Returns
    -------
    n_iter : int
        Number of iterations made.
    """
    current, previous, numbers = state.current, state.previous, state.numbers
    n_classes, n_features = current.W.shape
    n_samples = data.codes.size
    ahead = copy(current)
    new = copy(current)
    U, Z, G = np.empty_like(current.XW), np.empty_like(current.XW), np.empty_like(current.W)
    sums = np.empty((n_classes, n_classes))
    identity = np.eye(n_classes)
    n_iter = 0
    while n_iter < n_steps:
        if numbers[_SAME] >= numbers[_PATIENCE] and numbers[_NEWTON_SPENT] <= numbers[_SPENT]:
            n_iter += _walk(data, terms, state, aim, n_steps - n_iter)
            if state.best.value[0] - state.dual[0] <= aim or n_iter >= n_steps:
                break
        n_iter += 1
        momentum = numbers[_MOMENTUM]
        following = next_momentum(momentum)
        weight = (momentum - 1.0) / following
        extrapolate(current, previous, weight, ahead)
        value, square = gradient(data, terms, ahead, U, Z, sums)
        for j in range(n_classes):
            np.dot(data.columns, Z[j], G[j])
        keep_dual(terms, state, U, G, sums, square)
        slope = sums + terms.rho * (ahead.mu - identity)
        while True:
            lipschitz = numbers[_STEP] * terms.lipschitz / terms.curvature
            project(ahead.W + G / lipschitz, terms.radius, new.W)
            model = value
            for c in range(n_classes):
                curved = numbers[_STEP] * data.sizes[c] / terms.curvature + terms.rho
                for j in range(n_classes):
                    move = -slope[c, j] / curved if terms.rho > 0 else 0.0
                    new.mu[c, j] = ahead.mu[c, j] + move
                    model += slope[c, j] * move + 0.5 * curved * move**2
            for j in range(n_classes):
                for f in range(n_features):
                    move = new.W[j, f] - ahead.W[j, f]
                    model += move * (0.5 * lipschitz * move - G[j, f])
            finish(data, terms, new)
            if new.value[0] <= model + 1e-12 * abs(value):
                break
            numbers[_STEP] *= 2.0
        upwards = uphill(data, terms, numbers[_STEP], lipschitz, ahead, new, current)
        numbers[_STEP] = max(0.9 * numbers[_STEP], 1e-3)
        if upwards > 0:
            following = next_momentum(1.0)
        numbers[_MOMENTUM] = following
        same, used = same_support(new.W, current.W)
        assign(previous, current)
        assign(current, new)
        keep_primal(state, current)
        numbers[_SPENT] += n_samples * (2.0 * n_features * n_classes + 2.0 * used + 20.0)
        numbers[_SAME] = numbers[_SAME] + 1 if same else 0.0
        if state.best.value[0] - state.dual[0] <= aim:
            break
    return n_iter


@compiled
def _walk(data, terms, state, aim, n_steps):
    """Take Newton steps from face to face of the ball as long as they pay; returns their number.

    Before each step, the entries that violate optimality most are added to the face, a few at a
    time: more would be clipped at 0 again.
    """
    current, numbers = state.current, state.numbers
    n_classes = current.W.shape[0]
    new = copy(current)
    U, Z, G = np.empty_like(current.XW), np.empty_like(current.XW), np.empty_like(current.W)
    sums = np.empty((n_classes, n_classes))
    _, square = gradient(data, terms, current, U, Z, sums)
    for j in range(n_classes):
        np.dot(data.columns, Z[j], G[j])
    keep_dual(terms, state, U, G, sums, square)
    weak = 0
    for n_iter in range(1, n_steps + 1):
        gap = state.best.value[0] - state.dual[0]
        if gap <= aim:
            return n_iter - 1
        face = add_violators(current.W, G)
        cost = newton_cost(face, data.codes.size, terms)
        numbers[_NEWTON_SPENT] += cost
        if cost == np.inf:
            break
        length = newton_step(data, terms, current, face, new, Z, sums, numbers[_DAMPING])
        if length == 1.0:
            numbers[_DAMPING] = max(numbers[_DAMPING] / 30.0, _LEAST_DAMPING)
        elif length < 0.5:
            numbers[_DAMPING] = max(numbers[_DAMPING] * 100.0, 1e-6)
        if length == 0.0:
            weak += 1
            if weak >= _WEAK_STEPS:
                break
            continue
        fall = current.value[0] - new.value[0]
        _, square = gradient(data, terms, new, U, Z, sums)
        for j in range(n_classes):
            np.dot(data.columns, Z[j], G[j])
        keep_dual(terms, state, U, G, sums, square)
        assign(current, new)
        keep_primal(state, current)
        pays = fall >= 0.02 * gap or state.best.value[0] - state.dual[0] <= 0.8 * gap
        weak = 0 if pays else weak + 1
        if weak >= _WEAK_STEPS:
            break
        if pays:
            numbers[_NEWTON_SPENT] -= cost
    assign(state.previous, current)
    numbers[_MOMENTUM] = 1.0
    numbers[_SAME] = 0.0
    numbers[_PATIENCE] *= 2.0
    return n_iter
