"""Small problems for the tests."""

import numpy as np

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.comparison import Comparison
from tamis.comparison.prepare import make_problem
from tamis.comparison.run import Work, plan, recommend, run
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
    work = Work(problem, plan(problem, settings), **options)
    outcome = run(work)
    columns = Columns(problem.encoded[:, :0], np.zeros(0, dtype=str))
    table = Table(columns, {}, target="y", batches=problem.batches)
    return Comparison.of(outcome, recommend(outcome, work), data=table)


def point(comparison, method, place):
    """A point of the curve of a method."""
    result = comparison.result(method)
    return Choice(method, place, float(result.levels[place]), float(result.overall[place]))
