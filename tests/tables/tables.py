"""Small fitted classifiers of tables."""

from functools import cache

import numpy as np
from sklearn.base import clone

from tamis import (
    DatumWiseClassifier,
    LandmarkClassifier,
    PrimalDualClassifier,
    SparseCenterClassifier,
)
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.layout import lay_out

ESTIMATORS = {
    "centers": SparseCenterClassifier(4),
    "primal-dual": PrimalDualClassifier(1.0),
    "landmarks": LandmarkClassifier("fft", 5, random_state=0),
    "datum-wise": DatumWiseClassifier(n_trees=3, n_sets=5, random_state=0),
}


@cache
def table(n_rows=90, with_text=True):
    """Numbers with holes, categories with holes, and free text; and the labels."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % 2
    numbers = rng.normal(size=(n_rows, 3)) + codes[:, None] * [2.0, 0.5, 0.0]
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    colors = np.array(["red", "blue", "größe"], dtype=object)[
        (codes + rng.integers(2, size=n_rows))
    ]
    colors[::13] = None
    others = {"color": colors}
    if with_text:
        words = np.array(["good wine", "bad wine today", "nothing at all"], dtype=object)
        others["review"] = words[(codes + (rng.random(n_rows) < 0.3)) % 3]
    names = np.array(["age", "weight", "a b"], dtype=object)
    return Columns(numbers, names, others), np.array(["no", "yes"], dtype=object)[codes]


@cache
def table_classifier(name, with_text=True, vectorizer="counts"):
    """A fitted classifier of the table."""
    rows, y = table(with_text=with_text)
    kinds = {"color": "categorical", "review": "text"}
    preparation, encoded = lay_out(rows, kinds, vectorizer=vectorizer, ngrams=(1, 2))
    preparation = preparation.learn(encoded)
    if vectorizer == "hashing":
        used = np.unique(encoded.nonzero()[1])
        preparation, encoded = preparation.restrict(used), encoded[:, used]
    X = preparation.finish(encoded, impute=name != "datum-wise")
    if name == "datum-wise":
        X = X.toarray() if hasattr(X, "toarray") else X
    return TableModel(
        method=name,
        level=4.0,
        target="sick",
        preparation=preparation,
        estimator=clone(ESTIMATORS[name]).fit(X, y),
        priors=np.array([0.5, 0.5]),
        temperature=1.3,
        positive="yes",
        threshold=0.4,
        descriptions={"age": {"question": "How old?", "unit": "years", "min": 0, "max": 120.0}},
        scores={"balanced_accuracy": 0.9, "interval": [0.8, 0.95]},
        version="0.1",
        is_dense=name == "datum-wise",
    )
