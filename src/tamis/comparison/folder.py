"""The folder of a run: its files, each written completely or not at all."""

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np

from tamis import __version__
from tamis.models.files import guarded, refuse_broken_link, write_atomically
from tamis.models.privacy import privacy_sentences
from tamis.tables.errors import Failure, InputError, nearest

__all__ = ["RunFolder", "find_model"]

_RESULTS = (
    "model.json",
    "model.skops",
    "features.csv",
    "metrics.json",
    "report.html",
    "predictions.csv",
)
_DECISION = "checkpoints/stream.json"
# Training rows used to check a saved model, and how far its probabilities may differ.
_CHECKED_ROWS, _TOLERANCE = 10_000, 1e-12


class RunFolder:
    """The results, `about.txt`, `run.json` and `checkpoints/`."""

    def __init__(self, path):
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"

    @property
    def results(self):
        """Names of the existing result files."""
        return [name for name in _RESULTS if (self.path / name).is_file()]

    def check(self, *read):
        """Raise InputError if the path is not a folder, or an input file would be replaced."""
        refuse_broken_link(self.path)
        for path in (self.path, *self.path.parents):
            if path.exists() and not path.is_dir():
                raise InputError(f"-o {self.path}: {path} is a file; name a folder.")
        for name in (*_RESULTS, "run.json", "about.txt"):
            path = self.path / name
            for other in read:
                if other and path.exists() and Path(other).exists() and path.samefile(other):
                    raise InputError(
                        f"-o {self.path} would replace the input {other}; name another folder."
                    )

    def clear(self):
        """Remove the results of a different run."""
        for name in self.results:
            (self.path / name).unlink()

    def record(self, decision):
        """Record whether the table is streamed, and why."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        self.write_json(_DECISION, decision.as_dict() | {"tamis_version": __version__})

    @property
    def recorded(self):
        """The decision to stream that an earlier run of this version recorded, or None."""
        if not (self.path / _DECISION).exists():
            return None
        from tamis.comparison.stream_decision import Decision  # loads the readers of tables

        known = self.read_json(_DECISION)
        if isinstance(known, dict) and known.pop("tamis_version", None) != __version__:
            return None  # the run starts anew
        try:
            return Decision(**known).as_dict()
        except TypeError as error:
            raise InputError(f"{self.path / _DECISION} cannot be read: {error}") from error

    def write_results(self, model, records, metrics, table, guard):
        """Create the folder, write the results, and return messages about the model.

        `records`: the features; `table`: training data; `guard`: whether to quote cells of
        `features.csv` that a spreadsheet would read as formulas.
        """
        self.check()
        self.path.mkdir(parents=True, exist_ok=True)
        messages = self.write_model(model, table)
        self.write_features(records, guard)
        self.write_json("metrics.json", metrics)
        return messages

    def write_json(self, name, value):
        """Write plain values."""
        text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False).encode()
        with write_atomically(self.path / name) as file:
            file.write(text + b"\n")

    def read_json(self, name):
        """Read plain values."""
        refuse_broken_link(self.path)
        if not self.path.exists():
            raise InputError(
                f"the folder {self.path} does not exist; name the folder of a `tamis fit`."
            )
        if not self.path.is_dir():
            raise InputError(
                f"{self.path} is a file, not a run folder; name the folder of a `tamis fit`."
            )
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise InputError(
                f"{self.path} has no {name}: it is not the folder of a finished `tamis fit`."
            ) from error
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / name} cannot be read: {error}") from error

    @property
    def about(self):
        """The text of `about.txt`, the intended use; None without such a file."""
        path = self.path / "about.txt"
        return path.read_text(encoding="utf-8").strip() or None if path.exists() else None

    def write_about(self, text):
        """Write `about.txt`; None leaves the one that is there."""
        if text is not None:
            with write_atomically(self.path / "about.txt") as file:
                file.write(text.encode())

    def write_features(self, records, guard):
        """Write `features.csv`, with one column per class for its centers.

        With `guard`, no cell can be read as a spreadsheet formula.
        """
        records = [_flatten(record) for record in records]
        names = list(records[0]) if records else ["rank", "feature"]
        rows = [names, *([record[name] for name in names] for record in records)]
        self._write_rows("features.csv", rows, guard)

    def write_predictions(self, columns, guard):
        """Write `predictions.csv`, from columns by their names; `guard` as in `write_features`."""
        rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        self._write_rows("predictions.csv", rows, guard)

    def _write_rows(self, name, rows, guard):
        if guard:
            rows = [[guarded(cell) for cell in row] for row in rows]
        file = io.StringIO(newline="")
        csv.writer(file).writerows(rows)
        with write_atomically(self.path / name) as out:
            out.write(file.getvalue().encode())

    def write_model(self, model, table):
        """Write the model in both formats, and return messages about it.

        Both files are read again and must predict rows of `table`, the training data, as the model
        does; otherwise they are removed.
        """
        from tamis.models.saving import save_model

        said = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            save_model(model, self.path / "model.json")
            try:
                save_model(model, self.path / "model.skops")
            except (InputError, OSError) as error:
                said.append(_tell_unwritten("model.skops", error))
                # A file of an earlier run would hold a different model from model.json.
                if (self.path / "model.skops").is_file():
                    (self.path / "model.skops").unlink()
        try:
            written = [name for name in self.results if name.startswith("model.")]
            _check_saved([self.path / name for name in written], model, table)
        except Failure:
            self.clear()
            raise
        return said + privacy_sentences(caught)


def _tell_unwritten(name, error):
    """One line about a file that could not be written, while the model is in another."""
    why = f"{name} cannot be written: {getattr(error, 'strerror', None) or error}"
    why = error.for_command if isinstance(error, InputError) else why
    return f"{why.rstrip('.')}; model.json holds the same model"


def _flatten(record):
    """Flatten a record: one value per class for its centers."""
    flat = {}
    for name, value in record.items():
        if name != "centers":
            flat[name] = value
            continue
        for label, center in value.items():
            if isinstance(center, dict):
                center = "; ".join(f"{part} {share:.3g}" for part, share in center.items())
            flat[f"center_{label}"] = center
    return flat


def _check_saved(paths, model, table):
    """Raise unless the saved models predict training rows as the one in memory does."""
    from tamis.models.saving import read_model

    rows = np.linspace(0, table.n_rows - 1, min(table.n_rows, _CHECKED_ROWS)).astype(np.intp)
    table = table.select(model.preparation.required).take(rows)
    try:
        expected = model.predict_rows(table)
        for path in paths:
            predicted = read_model(path).predict_rows(table)
            if not np.array_equal(predicted.labels, expected.labels) or not np.allclose(
                predicted.probabilities, expected.probabilities, rtol=0.0, atol=_TOLERANCE
            ):
                raise ValueError(f"{path.name} gives different predictions")
    except Exception as error:
        raise Failure(
            f"the model was removed because it failed on its own training data: "
            f"{' '.join(str(error).split())}. This is a bug in tamis, please report it; another "
            "point of the curve may still work (tamis pick)."
        ) from error


def find_model(path):
    """Load the model of a run's folder, or of a model file."""
    from tamis.models.saving import read_model
    from tamis.tables.classifying.table_model import TableModel

    path = Path(path)
    refuse_broken_link(path)
    if path.is_dir():
        if not (path / "model.json").exists():
            raise InputError(
                f"{path} has no model.json: it is not the folder of a finished `tamis fit`."
            )
        path = path / "model.json"
    elif path.is_file() and not _may_be_model(path):
        raise InputError(
            f"{path} is not a model file; name the folder of a `tamis fit`, or its model.json."
        )
    elif not path.exists():
        known = [found.parent for found in path.parent.glob("*/model.json")]
        near = nearest(path, known) or sorted(map(str, known))[:3]
        here = f" (here: {', '.join(near)})" if near else ""
        raise InputError(
            f"{path} does not exist; name the folder of a `tamis fit`, or a model file{here}."
        )
    model = read_model(path)
    if not isinstance(model, TableModel):
        raise InputError(
            f"{path} holds a bare {type(model).__name__}; the command line needs models of "
            "`tamis fit`, which know their columns."
        )
    return model


def _may_be_model(path):
    """Whether a file begins like JSON, or like a zip or gzip archive; True if it is unreadable."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:
        return True  # whoever reads it says why
    return not head or head.lstrip().startswith((b"{", b"PK", b"\x1f\x8b", b"\xef\xbb\xbf"))
