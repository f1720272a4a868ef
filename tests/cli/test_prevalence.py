"""`--prevalence`: what probabilities are shown for, in every command that shows them."""

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tamis.models import save_model
from tamis.models.saving import digest, read_model
from tamis.tables.classifying.table_model import Recalibration
from tests.cli.conftest import write_csv


@pytest.fixture(scope="module")
def rare(models, tmp_path_factory):
    """A model of data in which one in ten is ill."""
    folder = tmp_path_factory.mktemp("rare")
    with open(models["centers"], encoding="utf-8") as file:
        document = json.load(file)
    document["record"]["frequencies"] = [0.1, 0.9]
    document["digest"] = digest(document)
    (folder / "model.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "model.json"


def test_predict_says_what_its_probabilities_are(rare, new, tamis):
    _, _, err = tamis("predict", rare, new)
    assert "are for equally frequent classes (in training: ill 10 %, well 90 %)" in err


def test_predict_at_a_prevalence_changes_probabilities_and_no_label(rare, new, table, tamis):
    usual, training = table("predict", rare, new), None
    training = table("predict", rare, new, "--prevalence", "training")
    stated = table("predict", rare, new, "--prevalence", "ill=0.1")
    decided = table("predict", rare, new, "--priors", "ill=0.1,well=0.9")
    assert training == stated
    assert [row["prediction"] for row in stated] == [row["prediction"] for row in usual]
    assert [row["p_ill"] for row in stated] == [row["p_ill"] for row in decided]
    assert [row["prediction"] for row in stated] != [row["prediction"] for row in decided]
    odds = [float(row["p_ill"]) / float(row["p_well"]) for row in usual]
    shown = [float(row["p_ill"]) / float(row["p_well"]) for row in stated]
    np.testing.assert_allclose(shown, np.array(odds) / 9, rtol=1e-6)
    _, _, err = tamis("predict", rare, new, "--prevalence", "0.9")
    assert "10 % are ill and 90 % are well, as stated; labels are not changed" in err


def test_relabel_decides_by_the_prevalence_as_priors_do(rare, new, table, tamis, tmp_path):
    for model in (rare, careful(rare, tmp_path / "careful.json")):
        decided = table("predict", model, new, "--priors", "ill=0.1,well=0.9")
        for stated in ("ill=0.1", "well=0.9", "training"):
            assert decided == table("predict", model, new, "--prevalence", stated, "--relabel")
    _, _, err = tamis("predict", rare, new, "--prevalence", "ill=0.1", "--relabel")
    assert "probabilities and labels are for class frequencies of ill 10 %" in err


def test_evaluate_relabels_as_priors_do(rare, new, tamis, refuses):
    words = ("evaluate", rare, new, "--target", "y", "--json")
    by_priors = json.loads(tamis(*words, "--priors", "ill=0.1,well=0.9")[1])
    relabelled = json.loads(tamis(*words, "--prevalence", "ill=0.1", "--relabel")[1])
    for key in ("scores", "confusion", "priors", "by_class"):
        assert relabelled[key] == by_priors[key]
    assert relabelled["prevalence"]["shares"] == by_priors["prevalence"]["shares"]
    usual = json.loads(tamis(*words, "--prevalence", "ill=0.1")[1])
    assert relabelled["confusion"] != usual["confusion"]
    refuses(*words, "--prevalence", "here", "--relabel", match="known without the labels")


def careful(path, saved, **changed):
    """The file of a model that finds ill rows by a threshold."""
    save_model(replace(read_model(path), positive="ill", threshold=0.3, **changed), saved)
    return saved


SITE = Recalibration(2.0, np.array([0.4, -0.4]))


@pytest.mark.parametrize("words", [[], ["--prevalence", "0.05"], ["--priors", "ill=0.2,well=0.8"]])
@pytest.mark.parametrize("changed", [{}, {"recalibration": SITE}])
def test_predict_says_its_threshold_for_the_probabilities_it_writes(
    rare, new, table, tamis, tmp_path, words, changed
):
    model = careful(rare, tmp_path / "careful.json", **changed)
    rows = table("predict", model, new, *words)
    _, _, err = tamis("predict", model, new, *words)
    threshold = float(re.search(r"labels are ill .* at least ([\d.]+), the threshold", err)[1])
    found = [float(row["p_ill"]) for row in rows if row["prediction"] == "ill"]
    others = [float(row["p_ill"]) for row in rows if row["prediction"] == "well"]
    assert max(others) < threshold * 1.005 and min(found) > threshold * 0.995
    assert ("(0.3 before it is converted)" in err) == bool(words or changed)


def test_a_threshold_among_three_classes_is_of_the_model_s_own_probability(three, tamis, tmp_path):
    data, models = three
    model = careful(models["centers"], tmp_path / "careful.json")
    assert (
        "labels are ill where its probability is at least 0.3" in tamis("predict", model, data)[2]
    )
    _, _, err = tamis("predict", model, data, "--prevalence", "ill=0.05")
    assert re.search(r"its probability for class frequencies of .*33.3 %.* is at least 0.3", err)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--prevalence", "0.1", "--priors", "ill=0.1,well=0.9"], "either --priors or --prev"),
        (["--relabel", "--priors", "ill=0.1,well=0.9"], "either --priors or --prevalence"),
        (["--relabel"], "--relabel decides the labels by"),
        (["--prevalence", "ten percent"], "expected a proportion such as 0.02"),
        (["--prevalence", "ill=0.1,ill=0.2"], "names the class 'ill' twice"),
        (["--prevalence", "ill=2"], "above 0 and below 1"),
    ],
)
def test_what_does_not_fit_is_refused(rare, new, refuses, words, match):
    refuses("predict", rare, new, *words, match=match)


def test_other_formats_have_no_prevalence(rare, tmp_path, refuses):
    words = ("--prevalence", "0.1", "-o", tmp_path / "model.sql")
    refuses("export", rare, "--to", "sql", *words, match="is for --to html and --to card")


def test_explain_gives_the_probabilities_of_a_stated_prevalence(rare, new, table, tamis):
    explained = table("explain", rare, new, "--id", "name")
    shown = {row["name"]: row["probability"] for row in explained}
    predicted = table("predict", rare, new, "--id", "name", "--prevalence", "training")
    for row in predicted:
        of_label = float(row[f"p_{row['prediction']}"])
        assert float(shown[row["name"]]) == pytest.approx(of_label, abs=1e-9)
    margins = dict.fromkeys(shown, 0.0)
    for row in explained:
        margins[row["name"]] += float(row["contribution"])
    for row in predicted:
        p = float(row[f"p_{row['prediction']}"])
        assert margins[row["name"]] == pytest.approx(np.log(p / (1 - p)), abs=1e-6)
    _, _, err = tamis("explain", rare, new)
    assert "hold where 10 % are ill and 90 % are well, as in training" in err


@pytest.mark.parametrize(("text", "share"), [("training", 0.1), ("ill=0.02", 0.02)])
def test_ask_decides_as_predict_does_and_explains_it(
    rare, tmp_path, monkeypatch, table, tamis, text, share
):
    # A little more like the ill: with the same say for both classes it is ill, but few are.
    row = {"age": "51", "dose": "1.3", "noise": "0", "color": "green"}
    path = write_csv(tmp_path / "one.csv", list(row), [list(row.values())])
    (predicted,) = table("predict", rare, path, "--prevalence", text)
    log = tmp_path / "log"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*row.values(), ""])))
    code, out, _ = tamis("ask", rare, "--log", log, "--prevalence", text)
    assert code == 0
    record = json.loads(log.read_text())
    assert record["label"] == predicted["prediction"] == "ill"
    assert record["probabilities"]["ill"] == pytest.approx(float(predicted["p_ill"]), abs=1e-9)
    assert record["prevalence"]["ill"] == share
    told = f"{100 * float(predicted['p_ill']):.1f} %"
    assert f"It decides for ill at {told}: all classes have equal weight." in out
    assert f"Probabilities hold where {100 * share:g} % are ill and" in out
