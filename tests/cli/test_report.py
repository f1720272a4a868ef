"""`tamis report`, and the reports of `tamis fit` and `tamis pick`."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import unwrapped

FAST = ["--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1"]


@pytest.fixture
def run(run_folder, tmp_path):
    return shutil.copytree(run_folder, tmp_path / "run")


def test_fit_writes_the_report_with_its_command_and_the_intended_use(small, tmp_path, tamis):
    about = tmp_path / "use.txt"
    about.write_text("For the <ward>.\nNot at home.", encoding="utf-8")
    out = tmp_path / "a run"
    code, _, err = tamis("fit", small, "--target", "y", *FAST, "--about", about, "-o", out)
    assert code == 0, err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "For the &lt;ward&gt;.\nNot at home." in page
    assert (out / "about.txt").read_text(encoding="utf-8").startswith("For the <ward>.")
    command = f"tamis fit {small} --target y "
    assert command in page and "--about" in page
    digest = json.loads((out / "model.json").read_text(encoding="utf-8"))["digest"]
    assert digest in page


def test_without_a_report_there_is_none(small, tmp_path, tamis):
    out = tmp_path / "run"
    code, told, err = tamis("fit", small, "--target", "y", *FAST, "--no-report", "-o", out)
    assert code == 0, err
    assert not (out / "report.html").exists() and "report.html" not in told


def test_a_report_that_fails_costs_no_other_result(small, tmp_path, tamis, monkeypatch):
    def fail(*words, **options):
        raise ValueError("no page today")

    monkeypatch.setattr("tamis.report.page.page.make_content", fail)
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)
    out = tmp_path / "run"
    code, told, err = tamis("fit", small, "--target", "y", *FAST, "-o", out)
    assert code == 0 and "the report could not be made: no page today (ValueError);" in err
    assert "RECOMMENDED" in told and (out / "model.json").exists()


def test_folders_in_the_way_of_files_cost_only_these_files(small, tmp_path, tamis, monkeypatch):
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)
    out = tmp_path / "run"
    names = ("report.html", "model.skops", "predictions.csv")
    for name in names:
        (out / name).mkdir(parents=True)
    code, told, err = tamis("fit", small, "--target", "y", *FAST, "--save-predictions", "-o", out)
    assert code == 0, err
    for name in names:
        assert f"{out / name} cannot be written: it is a folder" in err
    assert ".part" not in err and "model.json holds the same model" in err
    assert f"saved in {out}/: model.json, features.csv, metrics.json next: " in unwrapped(told)
    assert json.loads((out / "metrics.json").read_text())["not_described"].keys() == {
        "report",
        "predictions",
    }


def test_pick_writes_its_own_report_and_takes_the_use_along(run, tmp_path, tamis, refuses):
    (run / "about.txt").write_text("For us.")
    words = ["--method", "centers", "--n-features", "1", "-o", tmp_path / "one"]
    code, _, err = tamis("pick", run, *words)
    assert code == 0, err
    page = (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    assert "chosen after seeing the curve" in page and "For us." in page
    assert f"tamis pick {run} --method centers" in page  # for other levels: from the run itself
    assert (tmp_path / "one" / "about.txt").read_text() == "For us."
    refuses("report", tmp_path / "one", match="its report is there already")


def test_report_writes_the_same_page_again(run, tamis):
    path = Path(run) / "report.html"
    before = path.read_text(encoding="utf-8")
    path.unlink()
    code, out, err = tamis("report", run)
    assert code == 0, err
    assert out == f"written: {path}\n"
    again = path.read_text(encoding="utf-8")
    assert again.count("<section") == before.count("<section")
    assert json_of(again)["clinical"] == json_of(before)["clinical"]


def json_of(page):
    start = page.index(">", page.index('id="page-data"')) + 1
    return json.loads(page[start : page.index("</script>", start)])


def test_external_validations_are_shown_beside_the_internal_score(run, new, tmp_path, tamis):
    validation, page = tmp_path / "validation.json", tmp_path / "page.html"
    code, _, err = tamis("evaluate", run, new, "-o", validation)
    assert code == 0, err
    code, _, err = tamis("report", run, "--evaluation", validation, "-o", page)
    assert code == 0, err
    text = page.read_text(encoding="utf-8")
    assert f"<bdi>{new}</bdi>" in text and "another model" not in text
    report = json.loads(validation.read_text())
    assert f"{report['scores']['balanced_accuracy']['score']:.3f}" in text
    report["model"]["digest"] = "sha256:other"
    validation.write_text(json.dumps(report))
    tamis("report", run, "--evaluation", validation, "-o", page)
    assert "another model" in page.read_text(encoding="utf-8")


def test_no_row_is_named_unless_asked_for(small, tmp_path, tamis):
    out = tmp_path / "run"
    words = [
        "--methods",
        "landmarks,most-frequent",
        "--folds",
        "2",
        "--repeats",
        "1",
        "--n-jobs",
        "1",
    ]
    code, _, err = tamis("fit", small, "--target", "y", "--id", "name", *words, "-o", out)
    assert code == 0, err
    names = [f"<bdi>s{row}</bdi>" for row in range(60)]
    page = (out / "report.html").read_text(encoding="utf-8")
    kept = re.search(r"contains (\d+) training rows, its landmarks", err)[1]
    assert f"They include {kept} different rows of the training data" in page
    assert not any(name in page for name in names)
    assert tamis("report", out, "--include-rows")[0] == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert any(name in page for name in names)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--evaluation", "nowhere.json"], "nowhere.json cannot be read"),
        (["--about", "nowhere.txt"], "--about nowhere.txt cannot be read"),
        (["--data", "nowhere.csv"], "not at nowhere.csv, a path relative to the folder"),
        (["-o", "no/such/folder.html"], "there is no folder"),
    ],
)
def test_invalid_options_are_refused(words, match, run, refuses):
    refuses("report", run, *words, match=match)


def test_a_folder_without_a_run_is_refused(tmp_path, refuses):
    refuses("report", tmp_path, match="run.json")


def test_the_report_never_replaces_the_data(run, small, refuses):
    refuses("report", run, "-o", small, match="would replace an input file")
