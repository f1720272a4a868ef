"""Smoke simulations: what `compare` prints about calibration rows holds for new rows.

There is evidence against a promise if the lower 99 % limit of the violation rate is above the
promised rate: there must be none, and some for the controls, which break a condition.
"""

import numpy as np
import pytest
from scipy.stats import beta

import tamis.datumwise
from tamis import compare
from tamis.comparison.choosing.choice import Honest

pytestmark = pytest.mark.slow

N_REPETITIONS = 30
QUICK = {"cv": 2, "repeats": 1}


@pytest.fixture(autouse=True)
def without_honest_scores(monkeypatch):
    """The honest score takes longest, and no choice depends on it."""
    nothing = Honest(0.5, 0.0, 1.0, 0.0, 0.5, 0.5)
    monkeypatch.setattr("tamis.comparison.run.estimate", lambda *args, **options: nothing)
    monkeypatch.setattr("tamis.comparison.run.is_nested", lambda *args: False)


def lower_limit(violations, n=N_REPETITIONS):
    """Lower 99 % limit of a rate, from the number of violations (Clopper-Pearson)."""
    return beta.ppf(0.01, violations, n - violations + 1) if violations else 0.0


def draw_rows(rng, n):
    """Noise, a weak feature and one that is strong; rows of class 1 are fewer and spread wider."""
    y = np.where(rng.random(n) < 0.45, "ill", "well")
    X = rng.normal(size=(n, 5)) * (1 + (y == "ill")[:, None])
    X[:, 0] += 2.5 * (y == "ill")
    X[:, 1] += 1.0 * (y == "ill")
    return X, y


def test_sets_and_thresholds_of_compare_keep_their_promises():
    rng = np.random.default_rng(0)
    missed, found, control, sizes = [], [], [], []
    options = {"positive": "ill", "min_sensitivity": 0.9}
    for seed in range(N_REPETITIONS):
        X, y = draw_rows(rng, 200)
        new, labels = draw_rows(rng, 2000)
        methods = ["centers", "most-frequent"]
        comparison = compare(
            X,
            y,
            methods=methods,
            **QUICK,
            **options,
            calibration_share=0.5,
            confidence=0.9,
            random_state=seed,
        )
        model = comparison.model
        sets = model.predict_set(new, coverage=0.8)
        sizes.append(sets.mean())
        missed.append(
            [1 - sets[labels == label, c].mean() for c, label in enumerate(model.classes_)]
        )
        is_ill = labels == "ill"
        found.append((model.predict(new)[is_ill] == "ill").mean())
        scores = model.predict_proba(new)[is_ill, 0]
        # The smallest threshold of the promise, moved up by five ranks: what looking would do.
        own = np.sort(
            model.predict_proba(comparison.kept.table.frame)[comparison.kept.table.y == "ill", 0]
        )
        rank = comparison.metrics["calibration"]["sensitivity"]["rank"]
        control.append((scores >= own[rank + 5]).mean())
    spread = 2.33 * np.std(missed, axis=0) / np.sqrt(N_REPETITIONS)
    assert ((np.mean(missed, axis=0) - spread) <= 0.2).all()
    assert np.mean(missed) > 0.1  # sets do leave classes out
    assert np.mean(sizes) < 0.9
    assert lower_limit(int(np.sum(np.array(found) < 0.9))) <= 0.1
    assert lower_limit(int(np.sum(np.array(control) < 0.9))) > 0.1


def test_limited_errors_of_compare_keep_their_promise(monkeypatch):
    real = tamis.datumwise.DatumWiseClassifier

    def quick(*, n_trees, **options):
        return real("linear", n_states=200, n_iterations=2, **options)

    monkeypatch.setattr(tamis.datumwise, "DatumWiseClassifier", quick)
    monkeypatch.setattr(
        "tamis.comparison.methods.families.DatumWise.levels", lambda *args: [0.3, 0.1, 0.01]
    )
    rng = np.random.default_rng(1)
    violations = n_answers = control = 0
    for seed in range(N_REPETITIONS):
        X, y = draw_rows(rng, 160)
        new, labels = draw_rows(rng, 2000)
        comparison = compare(
            X,
            y,
            methods=["datum-wise", "most-frequent"],
            **QUICK,
            calibration_share=0.5,
            max_error=0.2,
            confidence=0.8,
            random_state=seed,
        )
        questions = comparison.kept.questions
        if questions.choice is not None:
            n_answers += 1
            violations += (comparison.model.predict(new) != labels).mean() > 0.2
        # Taking the cheapest model, whatever the tests say, is not safe.
        cheapest = comparison.pick(
            "datum-wise", float(comparison.result("datum-wise").per_sample.min())
        )
        control += (cheapest.predict(new) != labels).mean() > 0.2
    assert n_answers > 5
    assert lower_limit(int(violations)) <= 0.2
    assert lower_limit(int(control)) > 0.2
