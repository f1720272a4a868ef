"""The questionnaire in Python: it predicts as the model does, and stops when it is settled."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import (
    DatumWiseClassifier,
    LandmarkClassifier,
    PanelClassifier,
    SparseCenterClassifier,
    TableClassifier,
)
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.engines import refuse_rows
from tamis.tables import InputError
from tamis.tables.errors import NotReadable
from tests.quick import few_quick, quick_pairs
from tests.report.forms import ESTIMATORS, FOREST, SUMS, converse, model, random_answer, table
from tests.tables.tables import table_classifier


def frame_of(found, answers):
    """Rows for `predict`: dicts by column, None where unavailable."""
    kinds = found.preparation.kinds
    rows = pd.DataFrame(answers, columns=found.preparation.required)
    return rows.astype({n: object if n in kinds else float for n in rows})


def predicted(found, answers, priors=None):
    classifier = TableClassifier.from_model(found)
    rows = frame_of(found, answers)
    return classifier.predict(rows), classifier.predict_proba(rows, priors)


def given(talk):
    return {step.name: step.value for step in talk.history}


@pytest.mark.parametrize(
    ("name", "options", "prevalence"),
    quick_pairs(
        list(ESTIMATORS), [{}, {"threshold": 0.3, "recalibrated": True}], [None, {"ill": 0.05}]
    ),
)
def test_a_conversation_predicts_as_the_model_does(name, options, prevalence):
    found, rng = model(name, **options), np.random.default_rng(1)
    for _ in range(3):
        talk = Questionnaire(found, prevalence=prevalence)
        converse(talk, rng)
        labels, _ = predicted(found, [given(talk)])
        assert talk.outcome().label == labels[0]
        shares = predicted(found, [given(talk)], talk.prevalence.shares)[1]
        assert_allclose(talk.probabilities(), shares[0], atol=1e-12)


def test_a_model_of_a_family_without_a_form_is_refused():
    found = replace(model("logistic"), estimator=SimpleNamespace())
    with pytest.raises(NotReadable, match="no sums over features"):
        refuse_rows(found, "asked")


def completions(found, talk, rng, n_random=60):
    """The answers so far with all corners of what is left, and random answers between them."""
    done = given(talk)
    left = [q.fields[0] for q in talk.questions if q.name not in done]
    centers = np.atleast_2d(getattr(found.estimator, "centers_", np.zeros((1, 0))))
    corners = []
    for one in left:
        if one.kind == "choice":
            corners.append([*one.choices, None])
        else:
            kinks = centers[:, one.columns[0]].tolist() if centers.shape[1] > 5 else []
            kinks = [x for x in kinks if one.low < x < one.high]
            corners.append([one.low, one.high, None, *kinks])
    names = [one.name for one in left]
    rows = [done | dict(zip(names, values, strict=True)) for values in product(*corners)]
    for _ in range(n_random):
        rows.append(done | {one.name: random_answer(one, rng, outside=0.0) for one in left})
    return rows


@few_quick(
    "name, options",
    SUMS,
    [
        {},
        {"n_classes": 2},
        {"n_classes": 2, "threshold": 0.2},
        {"n_classes": 2, "costly": True},
        {"recalibrated": True},
    ],
)
def test_it_stops_exactly_when_no_answer_can_change_the_label(name, options):
    found, rng, n_early = model(name, **options), np.random.default_rng(2), 0
    for _ in range(6):
        talk = Questionnaire(found)
        while True:
            labels, _ = predicted(found, completions(found, talk, rng))
            can_change = len(set(labels)) > 1
            assert can_change == (talk.next_question() is not None)
            if talk.next_question() is None:
                break
            (one,) = talk.next_question().fields
            answer = random_answer(one, rng, outside=0.0)
            talk.answer("red" if answer == "unheard of" else answer)
        n_early += talk.outcome().status == "settled"
    assert n_early > 0


@pytest.mark.parametrize("options", [{"threshold": 0.3}, {"costly": True}])
def test_with_more_classes_a_threshold_or_costs_never_stop_too_early(options):
    found, rng = model("centers", **options), np.random.default_rng(3)
    for _ in range(10):
        talk = Questionnaire(found)
        converse(talk, rng)
        labels, _ = predicted(found, completions(found, talk, rng))
        assert set(labels) == {talk.outcome().label}


@pytest.mark.parametrize(("n_classes", "reject"), [(2, 0.95), (3, 0.75)])
def test_with_a_confidence_it_stops_when_that_is_settled_too(n_classes, reject):
    found, rng, told = model("lda", n_classes), np.random.default_rng(4), set()
    for _ in range(12):
        talk = Questionnaire(found, reject=reject)
        converse(talk, rng)
        labels, shares = predicted(found, completions(found, talk, rng))
        now = talk.outcome()
        assert set(labels) == {now.label} or now.refer
        assert ((shares.max(axis=1) < reject) == now.refer).all()
        told.add(now.refer)
    assert told == {True, False}


@pytest.mark.parametrize("name", ["forest", "linear"])
def test_a_policy_asks_what_it_asks_a_row_for(name):
    found = model(name)
    X, _ = table()
    rows = X.dropna()[:30]
    columns = TableClassifier.from_model(found)._read(rows)
    asked = found.predict_rows(columns).asked
    for at, row in enumerate(rows.to_dict("records")):
        talk = Questionnaire(found)
        while (question := talk.next_question()) is not None:
            talk.answer(row[question.name])
        assert [step.name for step in talk.history] == asked[at]


def test_undo_goes_back_to_where_it_was():
    for name in ("medians", "forest", "projection"):
        talk, rng = Questionnaire(model(name)), np.random.default_rng(0)
        before = [(talk.next_question().name, talk.probabilities())]
        for _ in range(2):
            talk.answer(random_answer(talk.next_question().fields[0], rng))
            question = talk.next_question()
            before.append((question and question.name, talk.probabilities()))
        for asked, shares in before[-2::-1]:
            talk.undo()
            assert talk.next_question().name == asked
            assert (talk.probabilities() == shares).all()
        with pytest.raises(ValueError, match="nothing to undo"):
            talk.undo()


def test_a_budget_counts_answers_only():
    talk = Questionnaire(model("projection"), max_questions=1)
    talk.skip()
    assert talk.next_question() is not None
    talk.answer(random_answer(talk.next_question().fields[0], np.random.default_rng(0)))
    assert talk.next_question() is None and talk.outcome().status == "budget"
    with pytest.raises(ValueError, match="over"):
        talk.answer(1.0)


def test_invalid_and_unusual_answers_are_told_apart():
    talk = Questionnaire(model("centers"))
    while talk.next_question().name != "age":
        talk.skip()
    (age,) = talk.next_question().fields
    assert (age.question, age.unit) == ("How old?", "years")
    for wrong in ("old", -1, 130, True, float("nan"), None, [1]):
        with pytest.raises(ValueError, match=r"age: (expected|no value)"):
            talk.answer(wrong)
    assert talk.unusual(45) == []
    (sentence,) = talk.unusual(119)
    assert "above all training values" in sentence and age.range in sentence
    assert talk.answer(119).history[-1].value == 119.0


def test_a_new_category_is_unusual_and_counts_as_none():
    found = model("centers")
    talk = Questionnaire(found)
    while talk.next_question().name != "color":
        talk.skip()
    assert talk.unusual("red") == [] and "none of" in talk.unusual("pink")[0]
    talk.answer("pink")
    assert_allclose(talk.probabilities(), predicted(found, [given(talk)])[1][0], atol=1e-12)


def test_groups_are_asked_together():
    X, y = table()
    numbers = X[["age", "dose", "noise"]]
    forest = DatumWiseClassifier(
        cost_weight=1e-4, feature_groups={"a": [0, 1], "b": [2]}, **FOREST
    )
    found = TableClassifier(forest).fit(numbers, y).model_
    talk = Questionnaire(found)
    question = talk.next_question()
    assert [one.name for one in question.fields] == ["age", "dose"]
    with pytest.raises(ValueError, match="dict with age, dose"):
        talk.answer(3.0)
    with pytest.raises(ValueError, match="no value"):
        talk.answer({"age": None, "dose": None})
    talk.answer({"age": 50, "dose": None})
    _, shares = predicted(found, [{"age": 50, "dose": None, "noise": None}])
    while talk.next_question() is not None:
        talk.skip()
    assert_allclose(talk.probabilities(), shares[0], atol=1e-12)


def test_words_are_asked_for_one_by_one():
    for vectorizer in ("counts", "tfidf"):
        found = table_classifier("centers", vectorizer=vectorizer)
        talk = Questionnaire(found)
        counts = [q.fields[0] for q in talk.questions if q.fields[0].kind == "count"]
        assert counts and counts[0].question.startswith("How often does")
        with pytest.raises(ValueError, match="whole number"):
            counts[0].read(0.5)
    with pytest.raises(InputError, match="hashing"):
        Questionnaire(table_classifier("centers", vectorizer="hashing"))


def test_models_that_compare_whole_rows_are_refused():
    X, y = table()
    numbers = X[["age", "dose"]]
    for estimator, word in (
        (LandmarkClassifier("fft", 4, random_state=0), "landmarks"),
        (PanelClassifier(2, head="kernel", cv=3), "kernel"),
    ):
        with pytest.raises(InputError, match=f"{word}.*tamis pick"):
            Questionnaire(TableClassifier(estimator).fit(numbers, y))
    with pytest.raises(InputError, match="does not know its columns"):
        Questionnaire(SparseCenterClassifier(1).fit(np.eye(4), [0, 0, 1, 1]))


@pytest.mark.parametrize("name", ["centers", "forest"])
def test_a_flip_risk_is_refused_where_it_is_not_needed(name):
    with pytest.raises(InputError, match="flip_risk"):
        Questionnaire(model(name), flip_risk=0.1)


def test_what_costs_much_is_asked_later():
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[np.arange(80) % 2]
    X = rng.normal(size=(80, 3)) + np.array([3.0, 2.0, 1.0]) * (y == "ill")[:, None]
    frame = pd.DataFrame(X, columns=list("abc"))
    found = TableClassifier(SparseCenterClassifier(3)).fit(frame, y).model_
    assert Questionnaire(found).questions[-1].name == "c"
    dear = replace(found, descriptions={"a": {"cost": 20.0}, "c": {"cost": 0.0}})
    assert [q.name for q in Questionnaire(dear).questions] == ["c", "b", "a"]
