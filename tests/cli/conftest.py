"""Small tables, a real run, and models of every family on the same columns."""

import csv

import numpy as np
import pytest

from tamis import (
    DatumWiseClassifier,
    LandmarkSearchCV,
    PanelClassifier,
    PrimalDualClassifier,
    SparseCenterClassifier,
)
from tamis.cli import main
from tamis.models import save_model
from tamis.report.page.pictures import NONE
from tamis.tables import TableModel, lay_out, read_table
from tests.quick import few_draws


@pytest.fixture(scope="package", autouse=True)
def _without_pictures():
    """Reports without pictures, which take most of their time; tests/report draws them."""
    none = NONE | {"missing": "nothing"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tamis.report.page.page.draw_pictures", lambda *words, **options: none)
        yield


@pytest.fixture(scope="package", autouse=True)
def _with_few_draws():
    """tests/comparison tests intervals and frequencies with all draws and half-samples."""
    with few_draws():
        yield


HEADER = ["name", "age", "dose", "color", "noise", "y"]


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def few(values, n):
    """Parameters of which only the first `n` are quick; the others are slow tests."""
    slow = pytest.mark.slow
    return [v if i < n else pytest.param(v, marks=slow) for i, v in enumerate(values)]


def unwrapped(text):
    """What was printed, as one line: where lines end does not matter."""
    return " ".join(text.split())


def make_rows(n_rows, seed, labels=("well", "ill")):
    """Numbers and a category that tell the class, with gaps; and a number that does not."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(n_rows):
        c = i % len(labels)
        age, dose = 50 + 8 * c + 4 * rng.normal(), 1 + c + 0.5 * rng.normal()
        color = ("red", "green", "blue")[rng.integers(3) if rng.random() < 0.4 else c]
        gaps = rng.random(2) < 0.05
        rows.append(
            [
                f"s{i}",
                "" if gaps[0] else f"{age:.2f}",
                f"{dose:.3f}",
                "" if gaps[1] else color,
                f"{rng.normal():.3f}",
                labels[c],
            ]
        )
    return rows


def make_model(data, method, path, **options):
    """A model of one method on all columns, as a file."""
    dataset = read_table(data, "y", drop=["name"], **options)
    preparation, encoded = lay_out(dataset.columns, dataset.kinds, missing=dataset.missing)
    preparation = preparation.learn(encoded)
    X = preparation.finish(encoded, impute=method != "datum-wise")
    members = {}
    for column, feature in enumerate(preparation.features):
        members.setdefault(feature, []).append(column)
    estimator = {
        "centers": SparseCenterClassifier(None),
        "medians": SparseCenterClassifier(None, metric="l1"),
        "primal-dual": PrimalDualClassifier(radius=3.0),
        "panel": PanelClassifier(2, head="lda", feature_groups=preparation.features),
        "kernel": PanelClassifier(2, head="kernel", feature_groups=preparation.features),
        "landmarks": LandmarkSearchCV(n_configurations=8, ensemble_size=3, random_state=0),
        "datum-wise": DatumWiseClassifier(feature_groups=members, n_trees=10, random_state=0),
    }[method].fit(X, dataset.y)
    n_classes = len(estimator.classes_)
    model = TableModel(
        method, 5.0, "y", preparation, estimator, np.full(n_classes, 1 / n_classes), 1.5
    )
    with pytest.warns() if method in ("landmarks", "kernel") else _quiet():
        save_model(model, path)
    return str(path)


class _quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("after")


@pytest.fixture(scope="package")
def small(folder):
    return write_csv(folder / "small.csv", HEADER, make_rows(60, 0))


@pytest.fixture(scope="package")
def new(folder):
    return write_csv(folder / "new.csv", HEADER, make_rows(41, 69))


@pytest.fixture(scope="package")
def run_folder(small, folder):
    """A run of `tamis fit`."""
    words = ["fit", small, "--target", "y", "--methods", "centers,most-frequent"]
    words += ["--folds", "2", "--repeats", "1", "--n-jobs", "1", "-o", str(folder / "run")]
    assert main(words) == 0
    return str(folder / "run")


@pytest.fixture(scope="package")
def models(small, folder):
    """Model files of two classes, by method."""
    names = ("centers", "medians", "primal-dual", "panel", "kernel", "landmarks", "datum-wise")
    return {name: make_model(small, name, folder / f"{name}.json") for name in names}


@pytest.fixture(scope="package")
def three(folder):
    """Model files of three classes, by method, and their data."""
    rows = make_rows(90, 2, ("well", "ill", "worse"))
    data = write_csv(folder / "three.csv", HEADER, rows)
    names = ("centers", "medians", "primal-dual", "panel")
    return data, {n: make_model(data, n, folder / f"three_{n}.json") for n in names}


@pytest.fixture
def tamis(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def call(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def table(tamis):
    """Run a command that prints CSV: a list of dictionaries."""

    def call(*words):
        code, out, err = tamis(*words)
        assert code == 0, err
        return list(csv.DictReader(out.splitlines()))

    return call


@pytest.fixture
def refuses(tamis):
    """Run a command that must say one line, and leave nothing on standard output.

    With `offers`, there is another line about what to do instead.
    """

    def call(*words, code=2, match="", offers=False):
        found, out, err = tamis(*words)
        assert (found, out) == (code, ""), err
        assert err.startswith("tamis: error: ") and err.count("\n") == 1 + offers
        assert "Traceback" not in err and match in err
        return err

    return call
