"""What `tamis fit` and `tamis pick` print about the features, and `pick --without`."""

import csv
import json

import numpy as np
import pytest

from tests.cli.conftest import unwrapped, write_csv
from tests.cli.processes import call_here

FAST = [
    "--methods",
    "centers,l1-logistic,most-frequent",
    "--folds",
    "3",
    "--repeats",
    "1",
    "--n-jobs",
    "1",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on 100 genes of which three differ, and what it printed."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 100))
    X[:, :3] += 2.0 * y[:, None]
    folder = tmp_path_factory.mktemp("genes")
    header = [*(f"gene{j}" for j in range(100)), "y"]
    rows = [
        [*(f"{v:.4f}" for v in row), "ill" if c else "well"] for row, c in zip(X, y, strict=True)
    ]
    data = write_csv(folder / "genes.csv", header, rows)
    code, out, err = call_here("fit", data, "--target", "y", *FAST, "-o", folder / "run")
    assert code == 0, err
    return folder / "run", out


def read_features(folder):
    with open(folder / "features.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fit_prints_the_bound_and_writes_every_number(run):
    folder, out = run
    model = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["model"]
    bound = model["guarantees"]["true_features"]
    assert bound["of"] == model["features"] and 1 <= bound["at_least"] <= 3
    said = unwrapped(out)
    assert bound["statement"] in said and "between the classes, confidence 95 %" in said
    assert "reselected  or a twin  adjusted p\n" in out and "in folds" not in out
    assert "within one standard error of the explained spread" in said
    for record in read_features(folder):
        assert 0 <= float(record["frequency"]) <= float(record["frequency_with_substitutes"]) <= 1
        assert float(record["adjusted_p"]) <= 0.05
        assert record["interchangeable"] == "" and record["loss_if_replaced"] == ""


def test_pick_without_a_gene_replaces_it_and_says_what_its_score_is(run, tamis, tmp_path):
    folder, _ = run
    first = read_features(folder)[0]["feature"]
    words = ["pick", folder, "--method", "centers", "--n-features", 2, "-o", tmp_path / "picked"]
    code, out, err = tamis(*words, "--without", first, "--without", "gene7,gene8")
    assert code == 0, err
    assert f", without {first}, gene7, gene8" in out
    assert "cross-validated again without these features" in unwrapped(out)
    assert "report this one" not in out
    features = [record["feature"] for record in read_features(tmp_path / "picked")]
    assert len(features) == 2 and set(features) == {"gene0", "gene1", "gene2"} - {first}


def test_pick_without_a_gene_keeps_method_and_size_and_compares_with_nothing_that_uses_it(
    run, tamis, refuses, tmp_path
):
    folder, _ = run
    before = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert "l1-logistic" in before["methods"]  # it uses the gene
    first = read_features(folder)[0]["feature"]
    words = ["pick", folder, "-o", tmp_path / "picked"]
    code, out, err = tamis(*words, "--without", first)
    assert code == 0, err
    after = json.loads((tmp_path / "picked" / "metrics.json").read_text(encoding="utf-8"))
    model = before["model"]["method"], before["model"]["features"]
    assert (after["model"]["method"], after["model"]["features"]) == model
    assert after["methods"].keys() == {model[0], "most-frequent"}
    assert "lasso" not in out and "is better" not in out
    assert all(check["about"] == "data" for check in after["checks"])
    refuses(*words, match="say what to change: --method, --n-features, --without or")
    refuses(*words, "--method", "medians", match="name the number of features, too")


def test_pick_without_an_unknown_gene_names_the_nearest(run, refuses, tmp_path):
    words = ["pick", run[0], "--method", "centers", "--n-features", 2, "-o", tmp_path / "picked"]
    refuses(*words, "--without", "gene_42", match="did you mean gene42")
