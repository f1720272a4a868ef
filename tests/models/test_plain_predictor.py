"""docs/model_format.md suffices to predict: a reader of that page agrees to 1e-12."""

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import SparseCenterClassifier
from tamis.models import save_model
from tests.models import plain_predictor
from tests.models.families import MODELS, data, fitted
from tests.models.new_tables import as_dicts, linear_table, new_table
from tests.quick import smaller
from tests.tables.tables import ESTIMATORS, table_classifier

pytestmark = pytest.mark.filterwarnings("ignore::tamis.models.PrivacyWarning")
CLASSIFIERS = [
    name
    for name, model in MODELS.items()
    if hasattr(model, "predict") and not name.startswith("conformal")  # several models in one
]
_SLOW = ("landmark search", "landmarks knn", "landmarks knn angle", "landmark soft")


def told(model, rows, path):
    save_model(model, path / "model.json")
    document = plain_predictor.read(path / "model.json")
    return [plain_predictor.probabilities(document, row) for row in rows]


def test_the_predictor_uses_the_standard_library_only():
    tree = ast.parse(Path(plain_predictor.__file__).read_text(encoding="utf-8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [
        a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names
    ]
    assert names and all(name.partition(".")[0] in sys.stdlib_module_names for name in names)


@pytest.mark.parametrize("n_rows", smaller(300, 2000))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_of_every_family_agree(name, n_rows, tmp_path):
    model, rng = fitted(name), np.random.default_rng(3)
    X = np.abs(rng.normal(scale=1.5, size=(n_rows // 4 if name in _SLOW else n_rows, 6)))
    if name.startswith("datum-wise"):
        X[rng.random(X.shape) < 0.2] = np.nan
    X = pd.DataFrame(X, columns=data()[0].columns)
    shares = told(model, X.to_dict("records"), tmp_path)
    assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_rows", smaller(200, 1000))
@pytest.mark.parametrize("vectorizer", ["counts", "tfidf", "hashing"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_probabilities_of_tables_agree(name, vectorizer, n_rows, tmp_path):
    model, rows = table_classifier(name, vectorizer=vectorizer), new_table(n_rows, seed=5)
    shares = told(model, as_dicts(rows), tmp_path)
    assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-12)


def test_recalibrated_probabilities_agree(tmp_path):
    model, rows = linear_table("logistic", recalibrated=True), new_table(1000, with_text=False)
    shares = told(model, as_dicts(rows), tmp_path)
    assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [2.0**-400, 2.0**400])
def test_very_large_and_very_small_units_agree(metric, size, tmp_path):
    X, y = data()
    X = X * [size, 1.0, 1.0, 1.0, 1.0, 1.0]
    model = SparseCenterClassifier(4, metric=metric).fit(X, y)
    assert metric == "l1" or model.to_record()["other_units"] is not None
    shares = told(model, X.to_dict("records"), tmp_path)
    assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)


def test_large_arrays_are_read(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 400)), np.arange(200) % 2
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(400)])
    model = SparseCenterClassifier(5, covariance="shrunk").fit(frame, y)
    shares = told(model, frame[:5].to_dict("records"), tmp_path)
    assert_allclose(shares, model.predict_proba(frame[:5]), rtol=0, atol=1e-12)
