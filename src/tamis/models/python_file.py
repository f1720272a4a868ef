"""Models as one Python file without dependencies."""

from __future__ import annotations

import inspect
import json
import os
import re
import textwrap
from importlib import import_module
from typing import Any

from tamis.models._registry import as_model
from tamis.models.files import write_atomically
from tamis.models.saving import make_document
from tamis.models.standalone.families import ESTIMATE
from tamis.tables.errors import InputError

_ROOM = "tamis.models.standalone"
# Parts of a record that predictions do not need.
_OF_TRAINING = {
    *("parameters", "path", "levels", "fold_scores", "stability", "score", "scores", "history"),
    *("dual", "configurations", "best_configuration", "configuration", "importances", "seed"),
    *("row_classes", "class_dispersions", "unscaled_gains", "gains", "feature_order", "rows"),
}


# Functions of a model and a row, beside those of a row in the file.
_OF_MODELS = re.compile(r"(?<![\w.])predict(_proba)?\(")


def export_python(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier as one Python file: see `make_python`."""
    text = make_python(model)
    with write_atomically(path) as file:
        file.write(text.encode())


def make_python(model: Any) -> str:
    """A Python file with ``predict(row)`` and ``predict_proba(row)`` that needs nothing else.

    A row is a dict by the names of the columns. As a program it reads a CSV file from standard
    input, and writes it with the predictions; it finds the delimiter and the decimal mark.

    Parameters
    ----------
    model : classifier or TableModel

    Returns
    -------
    source : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.models import make_python
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifier(1).fit(data.data, data.target_names[data.target])
    >>> names: dict = {}
    >>> exec(make_python(model), names)
    >>> names["predict"](data.data.iloc[0].to_dict())
    'setosa'
    """
    document = make_document(as_model(model, "exported to Python"))
    inner = document["record"].get("estimator", document)
    name = inner["model"]
    function = ESTIMATE.get(name.removesuffix("CV"))
    if function is None:
        raise InputError(f"a {name} cannot be exported to Python: it has no labels to predict.")
    rooms = ("numbers", "headings", "tables", "predicting", "program")
    rooms = [f"{_ROOM}.{name}" for name in rooms]
    modules = [*rooms[:2], function.__module__, *rooms[2:]]
    sources = [_content(import_module(module)) for module in modules]
    imports = sorted({line for lines, _ in sources for line in lines}, key=_import_order)
    bodies = [_OF_MODELS.sub(r"_predict\1(", body) for _, body in sources]
    used = {"model": document["model"], "record": _without(document["record"], _OF_TRAINING)}
    text = json.dumps(used, separators=(",", ":"))
    lines = [f"    {text[at : at + 90]!r}" for at in range(0, len(text), 90)]
    estimate = f'ESTIMATE = {{"{name.removesuffix("CV")}": {function.__name__}}}'
    return "\n".join(
        [
            f'"""A {name} of tamis {document["tamis_version"]}, without dependencies.',
            "",
            "predict(row) gives a label, predict_proba(row) probabilities; a row is a dict by the",
            "names of the columns. As a program: python this_file.py < rows.csv > predictions.csv",
            '"""',
            "",
            *imports,
            "",
            "\n\n\n".join([*bodies, estimate]),
            "",
            "MODEL = load(json.loads(",
            *lines,
            "))",
            _END,
        ]
    )


_END = textwrap.dedent('''

    def predict(row):
        """The label of a row, a dict by the names of the columns."""
        return _predict(MODEL, row)


    def predict_proba(row):
        """The probability of each class, as a dict."""
        return _predict_proba(MODEL, row)


    if __name__ == "__main__":
        predict_file(MODEL, sys.stdin, sys.stdout)
    ''')


def _content(module):
    """The imports of a module of the standard library, and everything after `__all__`."""
    lines = inspect.getsource(module).splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("__all__"))
    imports = [line for line in lines[:first] if line.startswith(("import", "from"))]
    imports = [line for line in imports if "tamis" not in line]
    return [*imports, "import csv", "import json", "import sys"], "\n".join(
        lines[first + 1 :]
    ).strip()


def _import_order(line):
    return line.startswith("from"), line


def _without(value, keys):
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_without(item, keys) for item in value]
    return value
