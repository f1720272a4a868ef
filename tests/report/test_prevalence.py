"""Probabilities that people see are at a stated prevalence, the same one everywhere."""

import csv
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from tamis import SparseCenterClassifier, TableClassifier, compare
from tamis.cli import main
from tamis.inspection import rebase
from tamis.models import export_spreadsheet, load_model, save_model
from tamis.models.saving import digest, make_document
from tamis.report.card.card import make_card
from tamis.report.card.page import make_card_page
from tamis.report.page.clinical import describe_classes
from tamis.report.page.content import make_content
from tamis.report.page.page import render
from tamis.report.page.pictures import NONE
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.form import make_form
from tamis.tables import InputError
from tamis.tables.classifying.prevalence import Prevalence, find_prevalence, why_not_likeliest


def rare(n_rows=1000, seed=0):
    """A sign of three in four of the ill, and of one in four of the well; one in five is ill."""
    rng = np.random.default_rng(seed)
    is_ill = rng.random(n_rows) < 0.2
    sign = rng.random(n_rows) < np.where(is_ill, 0.75, 0.25)
    frame = pd.DataFrame({"sign": sign.astype(float), "noise": rng.normal(size=n_rows)})
    return frame, np.where(is_ill, "ill", "well")


@cache
def comparison():
    X, y = rare()
    methods = ["centers", "most-frequent"]
    return compare(X, y, methods=methods, max_features=1, cv=3, repeats=1, positive="ill")


@cache
def model():
    return comparison().table_model(comparison().final_choice)


@cache
def simple():
    """A model of centers, which gives both classes the same say."""
    found = TableClassifier(SparseCenterClassifier(1)).fit(*rare(300)).model_
    return replace(found, temperature=2.0)


def asked(found, answer, **settings):
    return Questionnaire(found, **settings).answer(answer).outcome()


def test_card_questionnaire_report_and_predict_agree(tmp_path, capsys):
    X, y = rare()
    (example,) = (
        row for row in make_content(comparison())["example"]["rows"] if row["label"] == "ill"
    )
    reported = dict(example["probabilities"])["ill"]
    save_model(model(), tmp_path / "model.json")
    X[X["sign"] == 1][:1].to_csv(tmp_path / "one.csv", index=False)
    words = [str(tmp_path / "model.json"), str(tmp_path / "one.csv")]
    assert main(["predict", *words, "--prevalence", "training"]) == 0
    predicted = float(next(csv.DictReader(capsys.readouterr().out.splitlines()))["p_ill"])
    assert main(["explain", *words]) == 0
    (first, *_) = csv.DictReader(capsys.readouterr().out.splitlines())
    talk = asked(model(), 1)
    assert talk.label == first["prediction"] == "ill"
    assert_allclose([talk.probabilities[0], reported], predicted, atol=1e-9)
    assert_allclose(float(first["probability"]), predicted, atol=1e-9)
    card = make_card(model(), comparison().data.columns, y, positive="ill")
    assert card.risk(card.score(comparison().data.columns)).max() == pytest.approx(
        predicted, abs=0.02
    )
    # The share of the ill among those with the sign, which all of them estimate.
    assert predicted == pytest.approx((y[X["sign"] == 1] == "ill").mean(), abs=0.02)


def test_the_prevalence_of_training_is_in_the_model_file(tmp_path):
    y = rare()[1]
    assert_allclose(model().frequencies, [(y == "ill").mean(), (y == "well").mean()])
    save_model(model(), tmp_path / "model.json")
    assert_allclose(load_model(tmp_path / "model.json").model_.frequencies, model().frequencies)
    told = find_prevalence(model()).sentence()
    assert f"where {100 * (y == 'ill').mean():.3g} % are ill, as in training" in told
    assert "case-control" in told


def test_sample_weights_count_in_the_prevalence():
    X, y = rare(200)
    weights = np.where(y == "ill", 3.0, 1.0)
    found = TableClassifier(SparseCenterClassifier(1)).fit(X, y, sample_weight=weights).model_
    assert_allclose(found.frequencies[0], weights[y == "ill"].sum() / weights.sum())
    methods = ["centers", "most-frequent"]
    compared = compare(X, y, sample_weight=weights, methods=methods, cv=2, repeats=1)
    assert_allclose(compared.problem.frequencies, found.frequencies)


def test_copies_of_a_row_count_once_in_the_prevalence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(["ill", "well"], [20, 40])
    X[y == "ill", 0] += 1
    four_times = [*range(60), *np.repeat(np.arange(20), 3)]
    methods = ["centers", "most-frequent"]
    found = compare(X[four_times], y[four_times], methods=methods, cv=2, repeats=1)
    assert_allclose(found.problem.frequencies, [1 / 3, 2 / 3])


def older(found, tmp_path, **changes):
    """The model of a file without class frequencies, as earlier versions wrote them."""
    document = make_document(found)
    del document["record"]["frequencies"]
    document["record"] |= changes
    document["digest"] = digest(document)
    (tmp_path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    return load_model(tmp_path / "old.json").model_


def test_a_file_without_the_prevalence_shows_equal_frequencies_and_says_so(tmp_path):
    found = older(model(), tmp_path)
    assert found.frequencies is None
    prevalence = find_prevalence(found)
    assert prevalence.shares.tolist() == [0.5, 0.5]
    assert "all classes are equally frequent" in prevalence.sentence()
    assert "does not say how frequent they were in training" in prevalence.sentence()
    assert_allclose(asked(found, 1).probabilities, asked(model(), 1, prevalence=0.5).probabilities)


def test_a_file_with_frequencies_among_the_costs_is_read(tmp_path):
    costs = {"costs": [[0, 3], [1, 0]], "frequencies": [0.2, 0.8]}
    found = older(model(), tmp_path, misclassification=costs)
    assert found.frequencies.tolist() == [0.2, 0.8]
    assert find_prevalence(found).source == "training"


def test_the_same_say_is_explained_where_the_probability_is_below_a_half():
    now = asked(simple(), 1)
    assert now.label == "ill" and now.probabilities[0] < 0.5
    assert now.reason == "all classes have equal weight"
    assert asked(simple(), 0).reason is None
    assert asked(simple(), 1, prevalence={"ill": 0.5}).reason is None


def test_costs_are_decided_at_the_stated_prevalence_and_explained():
    costs = np.array([[0.0, 3.0], [1.0, 0.0]])
    found = replace(simple(), misclassification=costs)
    now = asked(found, 1)
    assert now.label == "ill" and now.probabilities[0] < 0.5
    assert now.reason == "missing it costs 3 times as much as a false alarm"
    rarer = Questionnaire(found, prevalence={"ill": 0.02})
    assert rarer.outcome().label == "well"
    assert rarer.next_question() is None  # not even the sign makes the ill frequent enough
    free = replace(found, misclassification=np.array([[0.0, 3.0], [0.0, 0.0]]))
    assert why_not_likeliest(free, 0, 1) == (
        "calling ill well costs 3, and the other way round nothing"
    )


def test_a_threshold_and_other_frequencies_are_explained():
    found = replace(simple(), positive="ill", threshold=0.4)
    assert why_not_likeliest(found, 0, 1) == (
        "ill has a threshold of its own, chosen for its sensitivity"
    )
    plain = TableClassifier(LogisticRegression()).fit(*rare(300)).model_
    assert why_not_likeliest(plain, 0, 1) == (
        "the model decides by the class frequencies of training"
    )


def test_labels_do_not_depend_on_the_prevalence_but_on_costs_alone():
    for prevalence in (None, 0.01, 0.99):
        assert asked(simple(), 1, prevalence=prevalence).label == "ill"


@pytest.mark.parametrize("reject", [0.6, 0.9])
def test_a_person_is_asked_as_in_prediction(reject):
    """Without a stated prevalence, the probabilities of `predict` are compared with the limit."""
    frame = pd.DataFrame({"sign": [1.0], "noise": [0.0]})
    own = TableClassifier.from_model(simple()).predict_proba(frame).max()
    now = asked(simple(), 1, reject=reject)
    assert now.largest == pytest.approx(own)
    assert now.refer == (own < reject)
    stated = asked(simple(), 1, reject=reject, prevalence=0.2)
    assert stated.largest == pytest.approx(stated.probabilities.max())


def test_a_table_classifier_knows_which_frequencies_its_probabilities_assume():
    X, y = rare(300)
    equal = TableClassifier(SparseCenterClassifier(1)).fit(X, y)
    assert equal.model_.priors.tolist() == [0.5, 0.5]
    own = TableClassifier(LogisticRegression()).fit(X, y)
    assert_allclose(own.model_.priors, own.model_.frequencies)
    weighted = TableClassifier(LogisticRegression(class_weight={"ill": 4.0})).fit(X, y)
    share = 4 * own.model_.frequencies[0]
    assert_allclose(weighted.model_.priors[0], share / (share + own.model_.frequencies[1]))
    given = TableClassifier(SparseCenterClassifier(1, priors=[0.3, 0.7])).fit(X, y)
    assert_allclose(given.model_.priors, [0.3, 0.7])
    shares = [0.02, 0.98]
    expected = rebase(equal.predict_proba(X), [0.5, 0.5], shares)
    assert_allclose(equal.predict_proba(X, priors=shares), expected)


def test_the_card_states_its_prevalence_and_moves_with_it():
    _, y = rare()
    table = comparison().data.columns
    usual = make_card(model(), table, y, positive="ill")
    share = (y == "ill").mean()
    assert usual.prevalence == pytest.approx(share)
    assert f"{100 * share:.3g}\u00a0% are ill, as in training" in make_card_page(usual)
    rarer = make_card(
        model(), table, y, positive="ill", prevalence=find_prevalence(model(), {"ill": 0.02})
    )
    page = make_card_page(rarer)
    assert "2\u00a0% are ill" in page and "as in training" not in page
    assert_allclose(rarer.risk(3), rebase(usual.risk([3]), share, 0.02)[0])


def test_the_page_of_questions_states_the_prevalence():
    form = make_form(Questionnaire(model(), prevalence=0.02))
    assert form["prevalence"] == "Probabilities hold where 2 % are ill, as stated."


def test_only_the_report_explains_sampling_by_class():
    shown = find_prevalence(model())
    assert "case-control" not in shown.sentence(on_page=True)
    assert make_content(comparison())["prevalence"].endswith(shown.caution)
    assert "case-control" in shown.caution and not find_prevalence(model(), 0.02).caution


def test_the_report_states_the_prevalence_and_explains_the_example():
    content = make_content(comparison(), prevalence=0.1)
    assert content["prevalence"].startswith("Probabilities hold where 10 % are ill")
    (ill,) = (row for row in content["example"]["rows"] if row["label"] == "ill")
    assert ill["prediction"] == "ill" and ill["probability"] < 0.5
    assert ill["reason"] == "all classes have equal weight"
    assert content["clinical"]["classes"][0]["shown"] == pytest.approx(0.1)


def page(content):
    """The text of the report's page, without pictures."""
    return " ".join(render(content, NONE | {"missing": "none"}).split())


def test_the_report_says_which_prevalence_its_scores_and_its_formula_are_for():
    share = f"{100 * model().frequencies[0]:.3g} %"
    stated, usual = (page(make_content(comparison(), prevalence=p)) for p in (0.1, None))
    told = f"Brier score is for the prevalence in these data, {share}, and not for the stated one"
    assert told in stated and "not for the stated one" not in usual
    assert "The probabilities are for equally frequent classes (in training: ill" in usual


def test_the_report_of_a_threshold_says_that_the_model_decides_by_it():
    usual, content = page(make_content(comparison())), make_content(comparison())
    content["model"] |= {"positive": "ill", "threshold": 0.19}
    told = (
        "The model predicts <bdi>ill</bdi> where its probability (for equally frequent classes) "
        "is at least 0.19"
    )
    assert told in page(content) and "equal weight: it decides" not in page(content)
    assert "equal weight: it decides" in usual and "a threshold chosen" not in usual


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (0.0, "above 0 and below 1"),
        ({"sick": 0.1}, "no class 'sick'"),
        ({"ill": 0.3, "well": 0.3}, "must sum to 1"),
    ],
)
def test_impossible_prevalences_are_refused(given, match):
    with pytest.raises(InputError, match=re.escape(match)):
        find_prevalence(simple(), given)


def test_classes_that_are_not_named_share_the_rest_as_in_training():
    X, _ = rare(300)
    y = np.repeat(["a", "b", "c"], [50, 100, 150])
    found = TableClassifier(SparseCenterClassifier(1)).fit(X, y).model_
    assert_allclose(find_prevalence(found, {"a": 0.4}).shares, [0.4, 0.24, 0.36])
    with pytest.raises(InputError, match=re.escape("3 classes, so name them: prevalence=a=0.4")):
        find_prevalence(found, 0.4)


def test_a_spreadsheet_says_what_its_probabilities_are_for(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    export_spreadsheet(model(), tmp_path / "model.xlsx", n_rows=2)
    (heading,) = (
        cell for cell in openpyxl.load_workbook(tmp_path / "model.xlsx")["rows"][1] if cell.comment
    )
    assert heading.value == "p_ill"
    assert "equally frequent classes (in training: ill" in heading.comment.text


def test_the_threshold_of_the_report_begins_where_the_model_decides():
    found = replace(model(), misclassification=np.array([[0.0, 3.0], [1.0, 0.0]]))
    told = describe_classes(
        comparison(), comparison().final_choice, found, find_prevalence(found)
    )["classes"][0]
    # At the frequencies of the data, a risk of 1 in 4 makes both errors cost the same.
    expected = rebase([0.25], found.frequencies[0], 0.5)[0]
    assert told["label"] == "ill" and told["thresholds"][told["start"]] == pytest.approx(expected)


@pytest.mark.parametrize("source", ["training", "site", "unknown"])
def test_a_page_names_no_option_of_the_command_that_made_it(source):
    shares = Prevalence(np.array([0.2, 0.8]), source, "20 % are ill")
    assert "--prevalence" not in shares.sentence(on_page=True)
    assert shares.sentence().endswith(". --prevalence states another.")
