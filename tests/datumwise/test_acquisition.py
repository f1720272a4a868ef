from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification

from tamis import DatumWiseClassifier
from tests.quick import smaller

NAMES = list("abcdefgh")
GROUPS = {"panel": ["a", "b", "c"], "d": ["d"], "pair": ["e", "f"], "g": ["g"], "h": ["h"]}


LEARNERS = {
    "linear": {"n_states": 400, "n_iterations": 4},
    "forest": {"n_trees": 10, "n_sets": 20},
}
both_learners = pytest.mark.parametrize("learner", LEARNERS)


def make_model(learner, groups=None, **kwargs):
    X, y = make_classification(
        300, 8, n_informative=6, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    kwargs = {"cost_weight": 0.002, **kwargs}
    model = DatumWiseClassifier(learner, feature_groups=groups, random_state=0, **kwargs)
    model.set_params(**LEARNERS[learner])
    return model.fit(frame, np.array(["u", "v", "w"])[y]), frame


def test_the_cost_of_a_conversation_is_the_sum_of_the_decimals():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = DatumWiseClassifier("linear", 0.0, feature_costs=[0.1, 0.2, 0.3], random_state=0)
    model.set_params(**LEARNERS["linear"])
    visit = model.fit(X, X.sum(axis=1) > 0).start()
    costs = []
    for _ in range(3):
        costs.append(visit.answer(0.01).history[-1].cost)
    assert sorted(costs) == [0.1, 0.2, 0.3]
    assert visit.cost == 0.6


PARAMETERS = {
    "plain": {"feature_costs": dict(zip(NAMES, np.arange(1.0, 9.0), strict=True))},
    "fixed": {"order": "fixed"},
    "budget": {"max_cost": 9.0, "feature_costs": np.arange(1.0, 9.0), "cost_weight": 0.0},
    "groups": {"groups": GROUPS, "feature_costs": [3.0, 1.0, 2.0, 1.0, 0.0]},
}
MODELS = [f"{learner} {name}" for learner in LEARNERS for name in PARAMETERS]


@cache
def model_of(which):
    """A trained model and its data, made when the first test asks for them."""
    learner, name = which.split()
    return make_model(learner, **PARAMETERS[name])


def talk(visit, row, groups):
    """Answer all questions with the values of a row; skip what it lacks."""
    while (name := visit.next_feature()) is not None:
        value = row[groups[name]].tolist()
        if np.isnan(value).all():
            visit.skip()
        else:
            visit.answer(value[0] if len(value) == 1 else value)
    return visit


def groups_of(model):
    return model.feature_groups or {name: [name] for name in NAMES}


@pytest.mark.parametrize("n_rows", smaller(15, 60))
@pytest.mark.parametrize("which", MODELS)
def test_a_conversation_says_what_the_batch_says(which, n_rows):
    model, frame = model_of(which)
    acquired, questions = model.acquire(frame), model.explain(frame)
    names = model.process_.names
    for i in range(n_rows):
        visit = talk(model.start(), frame.iloc[i], groups_of(model))
        answered = [answer for answer in visit.history if answer.value is not None]
        count = acquired.n_questions[i]
        assert [a.name for a in answered] == names[acquired.order[i, :count]].tolist()
        assert visit.cost == pytest.approx(acquired.cost[i])
        label, probabilities = visit.prediction()
        assert label == acquired.labels[i]
        assert_array_equal(probabilities, acquired.probabilities[i])
        # An answer counts together with the skips that follow it.
        step, running = 0, {}
        for answer in visit.history:
            step += answer.value is not None
            running[step] = answer.probabilities
        for step, probabilities in running.items():
            assert_array_equal(probabilities, questions.probabilities[i, step])


@pytest.mark.parametrize("which", MODELS)
def test_what_is_known_at_the_start_is_as_known_in_the_batch(which):
    model, frame = model_of(which)
    groups = groups_of(model)
    chosen = [name for name in groups if name in ("panel", "a", "h")]
    columns = [c for name in chosen for c in groups[name]]
    acquired = model.acquire(frame, known=np.isin(NAMES, columns))
    for i in range(30):
        row = frame.iloc[i]
        known = {name: row[groups[name]].to_dict() for name in chosen}
        known = {
            name: values
            for name, values in known.items()
            if not np.isnan(list(values.values())).all()
        }
        visit = talk(model.start(known), row, groups)
        assert_array_equal(visit.prediction().probabilities, acquired.probabilities[i])
        assert visit.cost == pytest.approx(acquired.cost[i])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_undo_restores(data):
    model, frame = model_of(data.draw(st.sampled_from(sorted(MODELS))))
    row = frame.iloc[data.draw(st.integers(0, 299))]
    groups = groups_of(model)
    visit, states = model.start(), []
    for _ in range(12):
        states.append((visit.next_feature(), visit.cost, visit.prediction()))
        name = visit.next_feature()
        if name is None:
            break
        value = row[groups[name]].tolist()
        if np.isnan(value).all() or data.draw(st.booleans()):
            visit.skip()
        else:
            visit.answer(value)
    for name, cost, prediction in reversed(states[: len(visit.history)]):
        visit.undo()
        assert visit.next_feature() == name
        assert visit.cost == cost
        assert visit.prediction().label == prediction.label
        assert_array_equal(visit.prediction().probabilities, prediction.probabilities)
    assert visit.history == []
    with pytest.raises(ValueError, match="nothing to undo"):
        visit.undo()


@both_learners
def test_skipping_everything_ends_in_an_answer_for_free(learner):
    model, _ = model_of(f"{learner} plain")
    visit = model.start()
    skipped = set()
    while (name := visit.next_feature()) is not None:
        assert name not in skipped
        skipped.add(name)
        visit.skip()
    assert visit.cost == 0
    assert visit.prediction().label in model.classes_
    assert all(answer.value is None for answer in visit.history)


@both_learners
@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, "1.5", None, [1.0, 2.0], 10**400, 1j, {}]
)
def test_wrong_answers_are_told_and_change_nothing(learner, value):
    visit = model_of(f"{learner} plain")[0].start()
    name, before = visit.next_feature(), visit.prediction()
    with pytest.raises(ValueError, match=f"The answer to '{name}' must"):
        visit.answer(value)
    assert visit.next_feature() == name
    assert visit.history == []
    assert_array_equal(visit.prediction().probabilities, before.probabilities)


@both_learners
@pytest.mark.parametrize("value", [True, np.int8(1), np.float32(1.0), 1, [1.0], {"a": 1.0}])
def test_numbers_of_any_kind_are_answers(learner, value):
    model, _ = model_of(f"{learner} plain")
    visit = model.start()
    while visit.next_feature() != "a":
        visit.skip()
    visit.answer(value)
    assert visit.history[-1].name == "a"


@both_learners
@pytest.mark.parametrize(
    "value", [1.0, [1.0, 2.0], {"a": 1, "b": 2}, {"a": 1, "b": 2, "z": 3}, [1, 2, "x"], "abc"]
)
def test_wrong_answers_for_a_group_are_told(learner, value):
    model, _ = model_of(f"{learner} groups")
    visit = model.start()
    while visit.next_feature() != "panel":
        visit.skip()
    with pytest.raises(ValueError, match="The answer to 'panel' must"):
        visit.answer(value)
    with pytest.raises(ValueError, match="no value at all"):
        visit.answer([None, np.nan, None])
    assert visit.answer({"c": 1.0, "a": None, "b": 2.0}).history[-1].cost == 3.0


@both_learners
def test_answers_to_no_question_are_told(learner):
    visit = model_of(f"{learner} plain")[0].start()
    while visit.next_feature() is not None:
        visit.skip()
    assert "done" in repr(visit)
    for use in (lambda: visit.answer(1.0), visit.skip):
        with pytest.raises(ValueError, match="next_feature\\(\\) is None"):
            use()


@both_learners
@pytest.mark.parametrize("known", [{"z": 1.0}, {"a": np.nan}, {"a": "x"}, [1.0], {0: 1.0}])
def test_wrong_known_values_are_told(learner, known):
    with pytest.raises(ValueError, match=r"known|The answer to 'a'"):
        model_of(f"{learner} plain")[0].start(known)


@both_learners
def test_skipping_a_question_leads_to_another(learner):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 6)) + 1.2 * y[:, None]  # all tell something
    model = DatumWiseClassifier(learner, 0.01, random_state=0, **LEARNERS[learner]).fit(X, y)
    visit = model.start()
    first = visit.next_feature()
    second = visit.skip().next_feature()
    third = visit.skip().next_feature()
    assert None not in (second, third)
    assert len({first, second, third}) == 3
    high = visit.answer(4.0).prediction()
    low = visit.undo().answer(-3.0).prediction()
    assert high.label == 1 and low.label == 0
