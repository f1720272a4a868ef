"""The best panels by fitting every one of them with a general solver."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def standardized(X, weights):
    """Columns with weighted mean 0 and weighted variance 1; constant ones are 0."""
    X = np.asarray(X, dtype=float)
    X = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    mean = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    constant = X.max(axis=0) == X.min(axis=0)
    return np.where(constant, 0.0, (X - mean) / np.where(constant, 1.0, spread))


def balanced(y, weights):
    """Weights that sum to the same for every class."""
    weighed = weights / np.bincount(y, weights=weights)[y]
    return weighed * weights.sum() / weighed.sum()


def fit_loss(Z, is_class, weights, alpha):
    """Loss of ridge-logistic regression, the intercept free."""
    design = np.column_stack([Z, np.ones(len(Z))])
    penalty = np.array([alpha] * Z.shape[1] + [0.0])

    def loss(v):
        m = design @ v
        value = weights @ (np.logaddexp(0, m) - is_class * m) + 0.5 * penalty @ v**2
        return value, design.T @ (weights * (expit(m) - is_class)) + penalty * v

    v = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS").x
    for _ in range(4):
        p = expit(design @ v)
        hessian = design.T @ ((weights * p * (1 - p))[:, None] * design) + np.diag(penalty)
        v = v - np.linalg.solve(hessian, loss(v)[1])
    return loss(v)[0]


def panel_loss(X, y, columns, weights=None, alpha=3.0, class_weight="balanced"):
    """Loss F of the panel of some columns, summed over classes against the rest."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    used = weights > 0
    X, y, weights = np.asarray(X)[used], y[used], weights[used]
    if class_weight == "balanced":
        weights = balanced(y, weights)
    Z = standardized(X, weights)[:, list(columns)]
    classes = [1] if y.max() == 1 else range(y.max() + 1)
    return sum(fit_loss(Z, (y == c).astype(float), weights, alpha) for c in classes)


def all_panels(X, y, k, *, groups=None, keep=(), label=None, most=None, **more):
    """Loss of every panel of k groups, by the columns of its groups.

    `groups`: lists of columns that go together; `keep`: columns of every panel; `label`, `most`:
    a label per group, and how many groups of a label are allowed.
    """
    p = np.shape(X)[1]
    groups = [[j] for j in range(p)] if groups is None else groups
    label = np.zeros(len(groups), dtype=int) if label is None else np.asarray(label)
    most = len(groups) if most is None else most
    losses = {}
    free = [g for g, columns in enumerate(groups) if not set(columns) & set(keep)]
    for some in combinations(free, k):
        if np.bincount(label[list(some)]).max(initial=0) > most:
            continue
        columns = tuple(sorted(j for g in some for j in groups[g]))
        losses[columns] = panel_loss(X, y, (*columns, *keep), **more)
    return losses
