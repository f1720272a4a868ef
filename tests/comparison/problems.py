"""Small problems for the tests."""

import numpy as np

from tamis.comparison import make_problem
from tamis.tables import Columns, Table, lay_out


def make(X, y, kinds=None, others=None, groups=None, batches=None, feature_groups=None, **options):
    names = np.array([f"x{j}" for j in range(X.shape[1])])
    table = Columns(X, names, others or {})
    dataset = Table(table, kinds or {}, np.asarray(y), "y", groups=groups, batches=batches)
    preparation, encoded = lay_out(table, dataset.kinds, groups=feature_groups)
    return make_problem(dataset, preparation, encoded, **options)


def blobs(n=80, p=6, shift=1.5, seed=0, n_classes=2):
    """Classes that differ in the first two features."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 0] += shift * y
    X[:, 1] -= shift * (y == 0)
    return X, np.array(["ab", "cd", "ef"])[y]
