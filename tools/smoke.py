"""Use every public name and command of an installed tamis, with the extras that are there.

`release.py` runs it in fresh environments, without the sources on the path. What needs an extra
must work where the extra is, and say how to install it where it is not. Prints a line per failure.
"""

import contextlib
import importlib.metadata
import importlib.util
import io
import pkgutil
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

import tamis
from tamis.cli import main

FAILED = []
# Modules that only work with what no extra installs.
APART = ("tamis.centers._triton_kernels", "tamis.__main__")
COMMANDS = ("fit", "pick", "predict", "evaluate", "explain", "ask", "export", "report", "methods")
RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = np.round(RNG.normal(size=(60, 4)) + 2.0 * Y[:, None] * [1, 1, 0, 0], 3)
LABELS = np.array(["well", "ill"])[Y]
NAMES = ["age", "dose", "noise", "more"]


def has(*modules):
    """Whether modules are installed."""
    return all(importlib.util.find_spec(module) is not None for module in modules)


class check:
    """One step: a failure is printed, and the next step begins.

    `needs`: modules without which it must fail with a plain message about how to install them.
    """

    def __init__(self, name, *needs):
        self.name, self.needs = name, needs

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is KeyboardInterrupt:
            return False
        lacks = [module for module in self.needs if not has(module)]
        if lacks and error is None:
            self._fail(f"worked without {', '.join(lacks)}")
        elif lacks and not ("pip install" in str(error) and lacks[0] in str(error)):
            self._fail(f"does not say how to install {lacks[0]}: {kind.__name__}: {error}")
        elif error is not None and not lacks:
            last = traceback.extract_tb(trace)[-1]
            self._fail(f"{kind.__name__}: {error} ({last.filename}:{last.lineno})")
        return True

    def _fail(self, message):
        FAILED.append(self.name)
        print(f"FAILED {self.name}: {' '.join(message.split())}")


def run(*words, code=0):
    """Run a command; its standard output. A wrong exit status is an error with its message."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            found = main([str(word) for word in words])
        except SystemExit as end:
            found = end.code or 0
    if "Traceback" in err.getvalue() or found != code:
        raise RuntimeError(f"exit status {found}: {err.getvalue()}")
    return out.getvalue(), err.getvalue()


def try_names():
    """Every module can be imported, and every public name is there."""
    with check("it is the installed package"):
        place = Path(tamis.__file__)
        assert "site-packages" in place.parts, place
        assert importlib.metadata.version("tamis") == tamis.__version__
    for module in pkgutil.walk_packages(tamis.__path__, "tamis."):
        name = module.name
        if name in APART:
            continue
        with check(name):
            for public in getattr(importlib.import_module(name), "__all__", ()):
                getattr(sys.modules[name], public)
    for name in tamis.__all__:
        with check(f"tamis.{name}"):
            getattr(tamis, name)


def try_estimators(folder):
    """Every estimator trains, predicts and is saved."""
    options = {"LandmarkSearchCV": {"n_configurations": 4}, "LandmarkTransformer": {}}
    options["DatumWiseClassifierCV"] = {"cost_weights": [0.1, 0.01]}
    for name in tamis.__all__:
        made = getattr(tamis, name)
        if not hasattr(made, "fit"):
            continue
        with check(f"{name}.fit"):
            if name == "TableClassifier":
                model = made(tamis.SparseCenterClassifier(2)).fit(frame(), LABELS)
            else:
                model = made(**options.get(name, {})).fit(X, LABELS)
                assert (model.transform if "Transformer" in name else model.predict)(X).shape
            tamis.save_model(model, folder / f"{name}.json")
            again = tamis.load_model(folder / f"{name}.json")
            assert type(again) is type(model)
        with check(f"{name} as skops", "skops"):
            tamis.save_model(model, folder / f"{name}.skops")
            tamis.load_model(folder / f"{name}.skops")
    from tamis import projections, selectors

    for name in projections.__all__:
        with check(f"projections.{name}"):
            values = X if name.endswith(("l21_ball", "l12_ball", "nuclear_ball")) else X[:, 0]
            more = (np.ones(60),) if "weighted" in name else ()
            assert getattr(projections, name)(values, *more, 1.0).shape == values.shape
    for name in selectors.__all__:
        with check(f"selectors.{name}"):
            assert getattr(selectors, name)(2).fit(np.abs(X), LABELS).transform(X).shape == (60, 2)
    with check("compare"):
        found = tamis.compare(X, LABELS, methods=["centers"], cv=2, repeats=1, random_state=0)
        assert found.model.predict(X).shape == (60,)
        assert "<html" in found.to_html()


def frame():
    """The data as a frame, if there is a library of frames; else as an array."""
    for library in ("pandas", "polars", "pyarrow"):
        if has(library):
            module = importlib.import_module(library)
            make = module.table if library == "pyarrow" else module.DataFrame
            return make(dict(zip(NAMES, X.T, strict=True)))
    return X


def try_rooms():
    """What needs an extra works, or says which."""
    with check("inspection", "matplotlib"):
        from tamis.inspection import CentersDisplay

        CentersDisplay.from_estimator(tamis.SparseCenterClassifier(2).fit(X, LABELS))
    with check("dask", "dask"):
        from tamis.dask import DaskSparseCenterClassifier

        chunks = X, LABELS
        if has("dask"):
            array = importlib.import_module("dask.array")
            chunks = array.from_array(X, chunks=(20, 4)), array.from_array(LABELS, chunks=20)
        DaskSparseCenterClassifier(2).fit(*chunks)
    with check("spark", "pyspark"):
        from tamis.spark import SparkSparseCenterClassifier

        if has("pyspark"):
            importlib.import_module("pyspark.sql")  # a session needs Java: make test-spark
        else:
            SparkSparseCenterClassifier(2).fit(X, "y")
    with check("onnx", "onnx"):
        from tamis.models import export_onnx

        export_onnx(tamis.SparseCenterClassifier(2).fit(X, LABELS), "model.onnx")
    with check("torch", "torch"):
        tamis.PrimalDualClassifier(device="cpu").fit(X, LABELS)
        tamis.PrimalDualClassifier(device="cuda").fit(X, LABELS)
    from tamis.guarantees import ConformalClassifier, StableSelector

    with check("guarantees"):
        ConformalClassifier(tamis.SparseCenterClassifier(2)).fit(X, LABELS).predict_set(X)
        StableSelector(tamis.SparseCenterClassifier(2), random_state=0).fit(X, LABELS)


def try_formats():
    """Files of every format are read, or it is said what reads them."""
    rows = [dict(zip(NAMES, values, strict=True)) for values in X.tolist()]
    with check("csv", "pyarrow"):
        assert tamis.read_table("data.csv", "y").n_rows == 60
    with check("npz"):
        assert tamis.read_table("data.npz").n_rows == 60
    with check("xlsx", "openpyxl"):
        Path("data.xlsx").write_bytes(b"PK")
        if has("openpyxl"):
            book = importlib.import_module("openpyxl").Workbook()
            book.active.append([*NAMES, "y"])
            for row, label in zip(rows, LABELS, strict=True):
                book.active.append([*row.values(), str(label)])
            book.save("data.xlsx")
        assert tamis.read_table("data.xlsx", "y").n_rows == 60
    with check("parquet", "pyarrow"):
        Path("data.parquet").write_bytes(b"PAR1")
        if has("pyarrow"):
            arrow = importlib.import_module("pyarrow")
            columns = {name: X[:, j] for j, name in enumerate(NAMES)}
            importlib.import_module("pyarrow.parquet").write_table(
                arrow.table({**columns, "y": LABELS.tolist()}), "data.parquet"
            )
        assert tamis.read_table("data.parquet", "y").n_rows == 60
    with check("h5ad", "h5py"):
        Path("data.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n")
        if has("h5py"):
            with importlib.import_module("h5py").File("data.h5ad", "w") as file:
                file["X"] = X
                for part, size in (("obs", 60), ("var", 4)):
                    group = file.create_group(part)
                    group.attrs["_index"] = "_index"
                    group["_index"] = np.array([f"{part}{i}" for i in range(size)], dtype="S")
                file["obs"]["y"] = LABELS.astype("S")
        assert tamis.read_table("data.h5ad", "y").n_rows == 60


def try_commands():
    """Every command helps, and does what it is for."""
    with check("tamis --version"):
        assert tamis.__version__ in run("--version")[0]
    for words in ([], *([command] for command in COMMANDS)):
        with check(" ".join(["tamis", *words, "--help"])):
            assert "usage: tamis" in run(*words, "--help")[0]
    with check("tamis methods"):
        assert "panel" in run("methods")[0]
    data, target = ("data.csv", ["--target", "y"]) if has("pyarrow") else ("data.npz", [])
    few = ("--methods", "centers,panel", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
    with check("tamis fit"):
        out, err = run("fit", data, *target, *few, "-o", "run")
        assert "Recommended" in out or "recommended" in out, out
        page = Path("run", "report.html").read_text(encoding="utf-8")
        assert has("matplotlib") or "pip install" in page
        written = {path.name for path in Path("run").iterdir()}
        assert {"model.json", "features.csv", "metrics.json", "report.html"} <= written
        assert has("skops") or "pip install" in err, err
    with check("tamis pick"):
        run("pick", "run", "--method", "centers", "--n-features", "2", "-o", "picked")
    for command in (["predict"], ["explain"], ["evaluate", *target]):
        with check(f"tamis {command[0]}"):
            assert run(command[0], "picked", data, *command[1:])[0]
    with check("tamis ask"):
        keyboard, sys.stdin = sys.stdin, io.StringIO("1.5\n0.2\n")
        try:
            assert run("ask", "picked")[0]
        finally:
            sys.stdin = keyboard
    with check("tamis report"):
        run("report", "run", "-o", "again.html")
    needed = {"skops": ["skops"], "onnx": ["onnx"], "spreadsheet": ["openpyxl"]}
    for format in ("json", "skops", "onnx", "python", "spreadsheet", "sql", "html", "card"):
        with check(f"tamis export --to {format}", *needed.get(format, [])):
            place = "run" if format == "card" else "picked"
            run("export", place, "--to", format, "-o", f"exported.{format}")
            assert Path(f"exported.{format}").stat().st_size
    for name, module in (("data.xlsx", "openpyxl"), ("data.parquet", "pyarrow")):
        with check(f"tamis predict {name}", module):
            run("predict", "picked", name)


def write_data():
    """The table as files."""
    np.savez("data.npz", X=X, y=LABELS, feature_names=np.array(NAMES))
    lines = [",".join([*NAMES, "y"])]
    lines += [",".join([*map(str, row), c]) for row, c in zip(X.tolist(), LABELS, strict=True)]
    Path("data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_data()
    try_names()
    try_estimators(Path())
    try_rooms()
    try_formats()
    try_commands()
    print(f"{len(FAILED)} failed")
    sys.exit(bool(FAILED))
