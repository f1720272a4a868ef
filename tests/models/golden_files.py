"""Model files of a version, and what they predict: read by every later version.

Run `python -m tests.models.golden_files` before a release and commit the new folder. Folders of
earlier versions are never written again: a change that cannot read them needs a new
`format_version` and a sentence in the changelog.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import tamis
from tamis.guarantees import ConformalClassifier
from tamis.models import load_model, save_model
from tests.models.families import MODELS, data, fitted
from tests.tables.tables import ESTIMATORS, table, table_classifier

FOLDER = Path(__file__).parent / "golden"
# More than a few kB, of classes whose smaller models are here.
LARGE = {"datum-wise forest", "datum-wise cv", "landmarks knn", "landmark search"}
TABLES = {f"table {name}": name for name in ESTIMATORS if name != "datum-wise"}
N_ROWS = 6


def predictions(model, rows):
    """All that a model says about rows, as plain values."""
    names = ["predict", "predict_proba", "decision_function", "transform"]
    names += ["predict_set"] if isinstance(model, ConformalClassifier) else []
    return {
        name: np.asarray(getattr(model, name)(rows)).tolist()
        for name in names
        if hasattr(model, name)
    }


def make():
    """Write the models of this version."""
    folder = FOLDER / tamis.__version__.partition(".dev")[0]
    folder.mkdir(parents=True, exist_ok=True)
    table_rows, _ = table()
    numbers = dict(zip(table_rows.numeric_names, table_rows.numeric.T, strict=True))
    frame = pd.DataFrame({**numbers, **table_rows.others})[:N_ROWS]
    matrix = data()[0][:N_ROWS]
    models = {name: (fitted(name), matrix) for name in MODELS if name not in LARGE}
    models |= {name: (table_classifier(one), frame) for name, one in TABLES.items()}
    found = {}
    for name, (model, rows) in models.items():
        path = folder / f"{name.replace(' ', '-')}.json.gz"
        save_model(model, path)
        found[path.name] = {"rows": "table" if rows is frame else "matrix"}
        found[path.name] |= predictions(load_model(path), rows)
    rows = {
        "matrix": matrix.to_dict("list"),
        "table": frame.astype(object).where(frame.notna(), None).to_dict("list"),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    text = f'{{"rows": {json.dumps(rows)}, "predictions": {{\n' + ",\n".join(lines) + "\n}}\n"
    (folder / "predictions.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    make()
