"""Small models of every family on one table, and random conversations with them."""

import json
import shutil
import subprocess
import warnings
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from tamis import (
    DatumWiseClassifier,
    PanelClassifier,
    PrimalDualClassifier,
    SparseCenterClassifier,
    TableClassifier,
)
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.form import make_form
from tamis.tables.classifying.table_model import Recalibration
from tests.report.browser import Browser, find_browser

FOREST = {"n_trees": 5, "n_sets": 12, "random_state": 0}
LINEAR = {"learner": "linear", "n_states": 200, "n_iterations": 3, "random_state": 0}
ESTIMATORS = {
    "centers": SparseCenterClassifier(5),
    "priors": SparseCenterClassifier(4, priors=[0.6, 0.3, 0.1]),
    "medians": SparseCenterClassifier(5, metric="l1"),
    "covariance": SparseCenterClassifier(4, covariance="shrunk"),
    "lda": PanelClassifier(5, head="lda"),
    "logistic": PanelClassifier(4, head="logistic", cv=3),
    "primal-dual": PrimalDualClassifier(2.0),
    "frobenius": PrimalDualClassifier(2.0, loss="frobenius", head="projection"),
    "projection": PrimalDualClassifier(2.0, head="projection"),
    "forest": DatumWiseClassifier(cost_weight=0.002, **FOREST),
    "balanced forest": DatumWiseClassifier(cost_weight=0.01, class_weight=None, **FOREST),
    "linear": DatumWiseClassifier(cost_weight=0.002, max_features=4, **LINEAR),
    "fixed": DatumWiseClassifier(order="fixed", max_cost=3.0, **LINEAR),
}
SUMS = ("centers", "priors", "medians", "covariance", "lda", "logistic", "primal-dual")
SUMS = (*SUMS, "frobenius")
SCRIPT = ("questionnaire.js", "questionnaire_policy.js")


@cache
def table(n_rows=150, n_classes=3):
    """Numbers and categories with gaps, and the labels."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % n_classes
    X = pd.DataFrame(
        {
            "age": 40 + 9 * codes + 8 * rng.normal(size=n_rows),
            "dose": np.round(np.exp(0.4 * codes + 0.5 * rng.normal(size=n_rows)), 2),
            "</script><b>odd": rng.normal(size=n_rows) + (codes == 1),
            "noise": rng.normal(size=n_rows),
            "color": np.array(["red", "green", "blue", "it's"])[
                (codes + rng.integers(2, size=n_rows)) % 4
            ],
            "sex": np.array(["f", "m"])[(codes + (rng.random(n_rows) < 0.3)) % 2],
        }
    )
    X[rng.random(X.shape) < 0.05] = None
    return X, np.array(["well", "ill", "worse"])[codes]


@cache
def model(name, n_classes=3, threshold=None, recalibrated=False, costly=False):
    """A fitted model of a table."""
    X, y = table(n_classes=n_classes)
    X = X.drop(columns=["color", "sex"]) if name == "covariance" else X
    estimator = ESTIMATORS[name]
    if name == "priors" and n_classes == 2:
        estimator = SparseCenterClassifier(4, priors=[0.8, 0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = TableClassifier(estimator).fit(X, y).model_
    site = Recalibration(0.7, np.linspace(0.4, -0.3, n_classes)) if recalibrated else None
    about = {"age": {"question": "How old?", "unit": "years", "min": 0.0, "max": 120.0}}
    given = {"positive": "ill", "threshold": threshold} if threshold else {}
    if costly:
        costs = np.arange(1.0, 1 + n_classes**2).reshape(n_classes, n_classes)
        np.fill_diagonal(costs, 0.0)
        given["misclassification"] = costs
        given["frequencies"] = np.arange(1.0, 1 + n_classes) / np.arange(1, 1 + n_classes).sum()
    return replace(found, temperature=1.3, recalibration=site, descriptions=about, **given)


def random_answer(one, rng, outside=0.1):
    """An answer to a field: within the training range, on its ends, or now and then outside."""
    if one.kind == "choice":
        return str(rng.choice([*one.choices, "unheard of"]))
    low, high = (-3.0, 3.0) if one.low is None else (one.low, one.high)
    if rng.random() < outside:
        low, high = low - 0.3 * (high - low), high + 0.3 * (high - low)
    value = rng.choice([rng.uniform(low, high), low, high], p=[0.8, 0.1, 0.1])
    value = max(0.0, value) if one.name == "age" else value
    return round(value) if one.kind in ("integer", "count") else round(float(value), 3)


def converse(talk, rng):
    """Random actions until the end, and what was seen before and after each of them."""
    actions, seen = [], [look(talk)]
    while (question := talk.next_question()) is not None:
        draw = rng.random()
        if draw < 0.08 and talk.history:
            talk.undo()
            actions.append("undo")
        elif draw < 0.2:
            talk.skip()
            actions.append("skip")
        else:
            given = [random_answer(one, rng) for one in question.fields]
            if len(given) > 1 and rng.random() < 0.3:
                given[int(rng.integers(len(given)))] = None
            names = [one.name for one in question.fields]
            talk.answer(dict(zip(names, given, strict=True)) if len(given) > 1 else given[0])
            actions.append(given)
        seen.append(look(talk))
    return actions, seen


def look(talk):
    question, now = talk.next_question(), talk.outcome()
    return {
        "question": None if question is None else question.name,
        "status": now.status,
        "label": str(now.label),
        "refer": now.refer,
        "reason": now.reason,
        "probabilities": now.probabilities.tolist(),
    }


_REPLAY = """
function replay(form, conversations) {
  let worst = 0, steps = 0;
  const wrong = [];
  conversations.forEach(([actions, seen], at) => {
    const talk = new Questionnaire(form);
    seen.forEach((expected, step) => {
      if (step > 0) {
        const action = actions[step - 1];
        if (action === "undo") talk.undo();
        else if (action === "skip") talk.skip();
        else talk.answer(action);
      }
      const now = talk.outcome(), question = talk.question;
      const label = form.classes[now.label];
      const found = [question && question.name, now.status, label, now.refer, now.reason];
      const { status, refer, reason } = expected;
      const told = [expected.question, status, expected.label, refer, reason];
      now.probabilities.forEach((p, c) => {
        worst = Math.max(worst, Math.abs(p - expected.probabilities[c]));
      });
      steps += 1;
      if (JSON.stringify(found) !== JSON.stringify(told)) wrong.push([at, step, found, told]);
    });
  });
  return { worst, steps, wrong: wrong.slice(0, 5), n_wrong: wrong.length };
}
"""


def script():
    """The script of the questionnaire, without its page."""
    folder = files("tamis.report") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPT)


def replay_all(pairs, tmp_path):
    """Replay conversations in the script: forms with their conversations."""
    code = f"{script()}\n{_REPLAY}\nconst found = {json.dumps(pairs)}.map(p => replay(...p));"
    node = shutil.which("node")
    if node:
        path = tmp_path / "replay.js"
        path.write_text(f"{code}\nconsole.log(JSON.stringify(found));", encoding="utf-8")
        done = subprocess.run([node, path], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)
    if find_browser() is None:
        pytest.skip("neither node nor Chromium on this machine: run `make browser`")
    with Browser() as browser:
        return browser.evaluate(f"{code}\nfound")


def conversations(name, n, seed=0, settings=None, **options):
    """The form of a model and random conversations with it."""
    settings, rng = settings or {}, np.random.default_rng(seed)
    found = model(name, **options)
    form = make_form(Questionnaire(found, **settings))
    return form, [converse(Questionnaire(found, **settings), rng) for _ in range(n)]
