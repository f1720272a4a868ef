"""The panel, allowed baselines and kept columns on the command line."""

import json

import pytest

from tests.cli.conftest import HEADER, make_rows, write_csv

FAST = ("--folds", "2", "--repeats", "1", "--n-jobs", "1")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("panel") / "data.csv", HEADER, make_rows(80, 3))


def test_a_panel_is_fitted_saved_and_used(tamis, table, data, tmp_path):
    run = tmp_path / "run"
    words = ("--methods", "panel,most-frequent", *FAST)
    code, out, err = tamis("fit", data, "--target", "y", "-o", run, *words)
    assert code == 0, err
    head = json.loads((run / "metrics.json").read_text())["model"]["head"]
    head = {"lda": "linear discriminant"}.get(head, head)
    assert f" (panel, {head})\n" in out
    rows = table("predict", run, data)
    labels = [row[-1] for row in make_rows(80, 3)]
    right = [row["prediction"] == label for row, label in zip(rows, labels, strict=True)]
    assert sum(right) > 60
    assert tamis("evaluate", run, data)[0] == 0


def test_the_kept_columns_alone_are_shown_with_what_is_added(tamis, data):
    words = ("--methods", "centers,most-frequent", "--keep", "noise", *FAST)
    code, out, err = tamis("fit", data, "--target", "y", *words)
    assert code == 0, err
    assert out.count("  kept columns alone") == 2
    assert "the other features add +0." in out and "(paired)" in out
    code, out, _ = tamis("fit", data, "--target", "y", "--json", *words)
    metrics = json.loads(out)
    told = metrics["model"]["kept_alone"]
    assert told["score"] == metrics["methods"]["kept"]["best"]["score"] < 0.7
    assert told["added"] > 0.1 > told["added_standard_error"] > 0
    code, out, _ = tamis("fit", data, "--target", "y", "--methods", "centers,most-frequent", *FAST)
    assert "kept" not in out


def test_a_sparse_baseline_is_picked_unless_it_is_only_compared(
    tamis, refuses, table, data, tmp_path
):
    words = ("--methods", "centers,rfe", *FAST, "--no-report")
    runs = {}
    for option in ("", "--no-baselines"):
        run = runs[option] = tmp_path / f"run{option}"
        given = [option] if option else []
        code, out, err = tamis("fit", data, "--target", "y", "-o", run, *words, *given)
        assert code == 0, err
        assert ("\n  RFE " in out[out.find("\n  baselines\n") :]) == bool(option)
    pick = ("--method", "rfe", "--n-features", "2", "-o", tmp_path / "picked")
    refuses("pick", runs["--no-baselines"], *pick, match="without --no-baselines")
    code, out, err = tamis("pick", runs[""], *pick)
    assert code == 0, err
    assert "PICKED: 2 features (RFE" in out
    assert len({row["feature"] for row in table("explain", tmp_path / "picked", data)}) == 3


def test_only_baselines_may_be_named(tamis, data):
    words = ("--methods", "relaxed-l1,most-frequent", *FAST)
    code, out, err = tamis("fit", data, "--target", "y", *words)
    assert code == 0, err
    assert "(relaxed lasso" in out[out.index("RECOMMENDED:") :].split("\n")[0]
