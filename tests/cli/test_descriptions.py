"""Nothing that describes a model can prevent that it is saved."""

import json

import numpy as np
import pytest

from tamis.comparison.attempts import PARTS, tell_failure
from tests.cli.conftest import write_csv

COMPARISON, REPORT = "tamis.comparison", "tamis.report"
#: The function that makes each part.
MAKERS = {
    "data_checks": f"{COMPARISON}.prepare.check_data",
    "honest_score": f"{COMPARISON}.run.estimate",
    "left_out_batches": f"{COMPARISON}.further.clinical._sites",
    "time_order": f"{COMPARISON}.further.clinical._time_order",
    "permutations": f"{COMPARISON}.run._permute",
    "learning_curve": f"{COMPARISON}.run.describe_curve",
    "assay": f"{COMPARISON}.run.measure_again",
    "misclassification": f"{COMPARISON}.further.clinical.describe_costs",
    "subgroups": f"{COMPARISON}.further.clinical._subgroups",
    "result_checks": f"{COMPARISON}.comparing.check_result",
    "model_checks": f"{COMPARISON}.comparing.check_model",
    "true_features": f"{COMPARISON}.fitted.panel_guarantees.true_features",
    "frequencies": f"{COMPARISON}.fitted.panel_guarantees.half_shares",
    "rule": f"{COMPARISON}.fitted.panel_guarantees._apply_rule",
    "alternatives": f"{COMPARISON}.fitted.panel_guarantees.find_alternatives",
    "fit": f"{COMPARISON}.fitted.final.prove_panel",
    "interchangeable": f"{COMPARISON}.fitted.final.replace_features",
    "p_values": f"{COMPARISON}.fitted.final._one_row_a_group",
    "substitutes": f"{COMPARISON}.fitted.final._substitutes",
    "tells_batch": f"{COMPARISON}.fitted.final.find_batch_features",
    "centers": f"{COMPARISON}.fitted.final.class_centers",
    "outside_sample": f"{COMPARISON}.streaming.description.verify",
    "predictions": f"{COMPARISON}.fitted.describing.tabulate",
    "pictures": f"{REPORT}.page.page.draw_pictures",
    "report": f"{REPORT}.page.page.make_content",
    "results": "tamis.cli.fit_command.show_results",
}
IN_MEMORY = sorted(PARTS.keys() - {"outside_sample"})
WORDS = ["--target", "y", "--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1"]
WORDS += ["--n-jobs", "1", "--batch", "lab", "--time", "day", "--subgroups", "sex"]
WORDS += ["--misclassification", "ill:well=2", "--learning-curve", "--assay-error", "0.1"]
WORDS += ["--permutations", "1", "--save-predictions"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng, rows = np.random.default_rng(0), []
    for i in range(80):
        c = i // 2 % 2
        numbers = rng.normal(size=3) + 3 * c * np.array([1, 1, 0])
        labels = ["uvw"[i % 3], str(i), "mf"[rng.integers(2)]]
        rows.append([*(f"{value:.4f}" for value in numbers), *labels, ("well", "ill")[c]])
    path = tmp_path_factory.mktemp("described") / "data.csv"
    return write_csv(path, ["a", "b", "noise", "lab", "day", "sex", "y"], rows)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A run whose checkpoints spare the others the work."""
    from tamis.cli import main

    out = tmp_path_factory.mktemp("finished") / "run"
    assert main(["fit", data, *WORDS, "--no-report", "-o", str(out)]) == 0
    assert json.loads((out / "metrics.json").read_text())["not_described"] == {}
    return out


def fail(*words, **options):
    raise ValueError("nothing\ntoday")


def break_part(patch, part, error=fail):
    patch.delenv("TAMIS_DEBUG", raising=False)
    patch.setattr(MAKERS[part], error)


def start_again(finished):
    for name in ("model.json", "model.skops", "features.csv", "metrics.json"):
        (finished / name).unlink(missing_ok=True)


def check_saved(out, parts, err):
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["not_described"] == dict.fromkeys(parts, "nothing today (ValueError)")
    for part in parts:
        assert tell_failure(part, "nothing today (ValueError)") in err
    assert json.loads((out / "model.json").read_text())["format"].startswith("tamis")
    assert (out / "features.csv").read_text().startswith("rank,feature")
    return metrics


def test_every_part_has_a_maker_here():
    assert MAKERS.keys() == PARTS.keys()


def test_all_descriptions_fail_and_the_model_is_saved(data, finished, tamis, monkeypatch):
    start_again(finished)
    # Pictures have no page, and others need the honest score.
    parts = [part for part in IN_MEMORY if part not in ("pictures", "honest_score")]
    for part in parts:
        break_part(monkeypatch, part)
    code, _, err = tamis("fit", data, *WORDS, "-o", finished)
    assert code == 0, err
    metrics = check_saved(finished, parts, err)
    assert metrics["model"]["selection_score"]["score"] > 0.9
    assert metrics["model"]["guarantees"]["rule"] == {"reason": "nothing today (ValueError)"}


@pytest.mark.slow
@pytest.mark.parametrize("part", sorted({*IN_MEMORY} - {"honest_score"}))
def test_a_description_fails_alone(part, data, finished, tamis, monkeypatch):
    start_again(finished)
    break_part(monkeypatch, part)
    code, told, err = tamis("fit", data, *WORDS, "-o", finished)
    assert code == 0, err
    check_saved(finished, [part], err)
    assert "model.json" in told


def test_without_an_honest_score_the_rest_is_there(data, finished, tamis, monkeypatch):
    start_again(finished)
    break_part(monkeypatch, "honest_score")
    code, told, err = tamis("fit", data, *WORDS, "-o", finished)
    assert code == 0, err
    assert tell_failure("honest_score", "nothing today (ValueError)") in err
    assert "used for selection (optimistic" in " ".join(told.split()) and "learning curve" in told
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["not_described"] == {
        "honest_score": "nothing today (ValueError)",
        "misclassification": "it needs the honest score",
        "subgroups": "it needs the honest score",
    }
    assert {"learning_curve", "assay", "time_order"} < metrics["model"].keys()
    assert not (finished / "predictions.csv").exists()
    assert "could not be computed: its" in (finished / "report.html").read_text(encoding="utf-8")


def test_pick_saves_its_model_whatever_the_descriptions_do(finished, tmp_path, tamis, monkeypatch):
    parts = ["alternatives", "centers", "frequencies", "report", "results", "true_features"]
    for part in parts:
        break_part(monkeypatch, part)
    words = ["--method", "centers", "--n-features", "1", "-o", tmp_path / "one"]
    code, _, err = tamis("pick", finished, *words)
    assert code == 0, err
    check_saved(tmp_path / "one", parts, err)
    assert (tmp_path / "one" / "run.json").exists()


@pytest.mark.parametrize("part", ["alternatives", "report"])
def test_ctrl_c_in_a_description_keeps_the_model(part, data, finished, tamis, monkeypatch):
    def stop(*words, **options):
        raise KeyboardInterrupt

    start_again(finished)
    break_part(monkeypatch, part, stop)
    code, _, err = tamis("fit", data, *WORDS, "-o", finished)
    assert code == 1 and "stopped while the model was described; the model is in" in err
    assert (finished / "model.json").exists() and (finished / "features.csv").exists()
    metrics = json.loads((finished / "metrics.json").read_text())
    assert metrics["model"]["honest_score"]["score"] > 0.9
    told = "the run ended before the model was described; repeat the command"
    assert metrics["not_described"] == ({"description": told} if part == "alternatives" else {})


def test_a_failing_calibration_is_an_error(data, tmp_path, tamis, monkeypatch):
    monkeypatch.setattr("tamis.comparison.fitted.calibrated.SetCalibration.of", fail)
    words = ["--target", "y", "--methods", "centers,most-frequent", "--folds", "2"]
    words += ["--repeats", "1"]
    words += ["--n-jobs", "1", "--calibration-share", "0.3", "-o", tmp_path / "run"]
    code, _, err = tamis("fit", data, *words)
    assert code == 1 and "nothing today" in err
    assert not (tmp_path / "run" / "model.json").exists()
