"""New rows for the classifiers of `tests.tables.tables`, with all that may be in a table."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from tamis import PanelClassifier, PrimalDualClassifier, SparseCenterClassifier
from tamis.tables.classifying.table_model import Recalibration
from tamis.tables.columns.table import Columns
from tests.tables.tables import table, table_classifier

WORDS = ("good", "bad", "wine", "today", "nothing", "at", "all", "größe", "x", "Wine,")
LINEAR = {
    "centers": SparseCenterClassifier(4),
    "covariance": SparseCenterClassifier(3, covariance="shrunk"),
    "medians": SparseCenterClassifier(4, metric="l1"),
    "frobenius": PrimalDualClassifier(1.0, loss="frobenius", head="projection"),
    "primal-dual": PrimalDualClassifier(1.0),
    "projection": PrimalDualClassifier(1.0, head="projection"),
    "panel": PanelClassifier(4, head="lda"),
    "logistic": PanelClassifier(3, head="logistic", cv=3),
}


def new_table(n_rows, with_text=True, seed=0):
    """Numbers with holes, categories with holes and new ones, and texts."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(scale=2.0, size=(n_rows, 3))
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    colors = rng.choice(np.array(["red", "blue", "größe", "new", "it's", None], object), n_rows)
    others = {"color": colors}
    if with_text:
        texts = [" ".join(rng.choice(WORDS, rng.integers(6))) for _ in range(n_rows)]
        others["review"] = np.array(texts, dtype=object)
    return Columns(numbers, np.array(["age", "weight", "a b"], dtype=object), others)


def as_dicts(rows):
    """The rows as dicts of plain values, None where missing."""
    names = rows.numeric_names.tolist()
    numbers = np.where(np.isnan(rows.numeric), None, rows.numeric).tolist()
    others = [
        dict(zip(rows.others, values, strict=True))
        for values in zip(*rows.others.values(), strict=True)
    ]
    return [
        dict(zip(names, line, strict=True)) | more
        for line, more in zip(numbers, others, strict=True)
    ]


def linear_table(name, threshold=None, recalibrated=False):
    """A classifier of a table without text, of one of `LINEAR`."""
    model = table_classifier("centers", with_text=False)
    rows, y = table(with_text=False)
    X = model.preparation.transform(rows)
    site = Recalibration(0.7, np.array([0.4, -0.1])) if recalibrated else None
    estimator = clone(LINEAR[name]).fit(X, y)
    return replace(model, estimator=estimator, threshold=threshold, recalibration=site)
