"""Small data sets with everything that goes wrong in large ones."""

import numpy as np


def duplicates():
    """Two classes on a small grid: most rows come several times, some with both labels."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(45, 3)).astype(float)
    return X, rng.permutation(np.arange(45) % 3 == 0).astype(np.int64)


def zeros_and_constants():
    """Three classes with zero rows, constant columns and very different units."""
    rng = np.random.default_rng(2)
    y = np.arange(42) % 3
    X = rng.normal(size=(42, 5)) + y[:, None]
    X *= [1.0, 1e3, 1e-3, 1.0, 1.0]
    X[:, 3] = 0.0
    X[:, 4] = 7.0
    X[[0, 5, 10, 11]] = 0.0
    X[12] = -X[13]
    X[14] = 3.0 * X[15]
    return X, y


def rare_class():
    """Three classes, one with two rows only, so that folds miss it."""
    rng = np.random.default_rng(3)
    y = np.array([0] * 25 + [1] * 17 + [2] * 2)
    X = rng.normal(size=(44, 2)) + np.array([[0.0, 0.0], [1.5, 0.0], [4.0, 4.0]])[y]
    X[30:33] = X[3]
    return X, y


DATA = {f.__name__: f for f in (duplicates, zeros_and_constants, rare_class)}
