"""Small problems for the tests."""

import numpy as np

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.prepare import make_problem
from tamis.comparison.run import plan, run
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


def compare(problem, settings, **options):
    """A comparison on a problem that is there already."""
    comparison = run(problem, plan(problem, settings), **options)
    rows = problem.encoded[:, :0]
    columns = Columns(rows, np.zeros(0, dtype=str))
    comparison.data = Table(columns, {}, target="y", batches=problem.batches)
    return comparison


def point(comparison, method, place):
    """A point of the curve of a method."""
    result = comparison.result(method)
    return Choice(method, place, float(result.levels[place]), float(result.overall[place]))
