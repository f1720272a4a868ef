"""A model of `compare` does not depend on what is said about it."""

import json

import numpy as np
import pytest

from tamis import compare as compare_data
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.settings import Settings
from tests.comparison.problems import blobs, compare, make


def fail(*words, **options):
    raise ValueError("nothing today")


@pytest.fixture(autouse=True)
def _not_debugging(monkeypatch):
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)


def test_compare_warns_about_what_fails_and_has_its_model(monkeypatch):
    monkeypatch.setattr("tamis.comparison.comparing.check_result", fail)
    monkeypatch.setattr("tamis.comparison.fitted.panel_guarantees.find_alternatives", fail)
    X, y = blobs(40, 3)
    with pytest.warns(UserWarning, match="the checks of the result could not be made: nothing"):
        comparison = compare_data(X, y, methods=["centers", "most-frequent"], cv=2, repeats=1)
    assert comparison.model.predict(X).shape == y.shape
    with pytest.warns(UserWarning, match="nearly as good could not be made: nothing today"):
        told = comparison.metrics["not_described"]
    reason = "nothing today (ValueError)"
    assert told == {"result_checks": reason, "alternatives": reason}
    assert comparison.not_described == {"result_checks": reason}
    assert comparison.guarantees["alternatives"] == {"reason": reason}


def test_a_number_that_no_file_can_hold_costs_only_its_part(monkeypatch, tmp_path):
    found = {"statement": "all", "share": np.nan}
    monkeypatch.setattr(
        "tamis.comparison.fitted.panel_guarantees._apply_rule", lambda *words: found
    )
    comparison = compare(make(*blobs(40, 3)), Settings(("centers",), n_folds=2))
    with pytest.warns(UserWarning, match="the rule of stability selection could not be made"):
        metrics = comparison.metrics
    json.dumps(metrics, allow_nan=False)
    assert list(metrics["not_described"]) == ["rule"]
    assert list(metrics["model"]["guarantees"]["rule"]) == ["reason"]


def test_a_learning_curve_that_fails_does_not_fail_its_method(monkeypatch):
    method = find_method("centers")
    train = type(method).train

    def train_many(part, levels):
        return train(method, part, levels) if part.codes.size >= 40 else fail()

    monkeypatch.setattr(method, "train", train_many)
    settings = Settings(("centers",), n_folds=2, learning_curve=True)
    with pytest.warns(UserWarning, match="the learning curve could not be made: nothing today"):
        comparison = compare(make(*blobs(80, 3)), settings)
    assert comparison.failed == {} and comparison.n_left == 0
    assert list(comparison.not_described) == ["learning_curve"]
    assert comparison.table_model(comparison.choice).method == "centers"


def test_ctrl_c_in_the_checks_keeps_the_comparison(monkeypatch):
    def stop(comparison):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamis.comparison.comparing.check_result", stop)
    comparison = compare_data(*blobs(40, 3), methods=["centers", "most-frequent"], cv=2, repeats=1)
    assert comparison.why_stopped == "stopped" and comparison.choice.method == "centers"


def test_ctrl_c_in_the_honest_score_keeps_the_model(monkeypatch):
    def stop(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamis.comparison.run.estimate", stop)
    comparison = compare(make(*blobs(40, 3)), Settings(("centers",), n_folds=2))
    assert comparison.why_stopped == "stopped" and comparison.honest is None
    assert comparison.metrics["not_described"]["honest_score"] == "stopped before it was done"
    assert comparison.table_model(comparison.choice).method == "centers"
    assert "without an honest score" in repr(comparison)
