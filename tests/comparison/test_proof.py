"""What a comparison says about the fit of a panel, against the search itself."""

import time

import numpy as np
import pytest

from tamis import compare
from tamis.comparison.fitted.proof import _state
from tamis.panel import best_panels

FAST = {"methods": ["panel"], "cv": 3, "repeats": 1, "max_features": 2}


def make_table(n=90, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, 1] += 1.2 * y
    X[:, 4] -= 0.9 * y
    return X, y


@pytest.fixture(scope="module")
def proved():
    X, y = make_table()
    comparison = compare(X, y, **FAST)
    told = comparison.guarantees["fit"]
    return told, best_panels(X, y, told["of"], max_seconds=None), comparison


def test_the_panel_is_compared_with_all_of_its_size(proved):
    told, best, _ = proved
    assert told["panels"] == best.n_panels
    assert told["as_good"] == best.n_within
    assert told["is_proved"]
    assert told["is_complete"]
    assert told["best_loss"] == pytest.approx(best.losses[0])
    assert told["gap"] == pytest.approx(1 - best.losses[0] / told["loss"], abs=1e-8)


def test_the_statement_says_what_is_proved_and_what_it_is_about(proved):
    told, best, _ = proved
    kind = "Proved: none of the" if told["is_best"] else "With "
    assert told["statement"].startswith(kind)
    assert f"{best.n_panels} panels" in told["statement"]
    assert "these 90 rows, not about new rows." in told["statement"]


def test_features_say_whether_the_best_fits_have_them(proved):
    _, best, comparison = proved
    names = comparison.problem.names
    for name, told_of in zip(
        comparison.features["feature"], comparison.features["in_best_fits"], strict=True
    ):
        inside = [name in {str(names[j]) for j in panel} for panel in best.panels]
        assert told_of == ("all" if all(inside) else "some" if any(inside) else "none")


def make_noise():
    """Rows whose best panels no brief search proves."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 150))
    X[:, :40] += 0.3 * y[:, None]
    return X, y


@pytest.fixture(scope="module")
def stopped():
    return compare(*make_noise(), **{**FAST, "max_features": 6}, proof_seconds=0.01)


def describe(comparison, callbacks=()):
    """Records of the largest panel, and what is said about its fit, searched for again."""
    comparison.memo.described.clear()
    _, records, metrics = comparison.fitted(comparison.find("panel", 6), callbacks)
    return records, metrics["model"]["guarantees"]["fit"]


def test_counted_work_ends_the_proof_at_the_same_place(stopped, monkeypatch):
    told = describe(stopped)[1]
    assert told["gap"] > 0
    assert told["nodes"] < 10
    assert describe(stopped)[1] == told
    # A machine that is three times as slow says the same.
    clock = time.perf_counter
    monkeypatch.setattr("tamis.panel.proof.effort.time.perf_counter", lambda: 3.0 * clock())
    monkeypatch.setattr("tamis.comparison.fitted.proof._SLOWEST", 1e6)
    assert describe(stopped)[1] == told


def test_a_cut_list_claims_nothing(stopped):
    records, told = describe(stopped)
    assert not told["is_complete"]
    assert told["in_all"] == told["model_features_in_none"] == []
    assert {record["in_best_fits"] for record in records} == {""}
    assert "No other panel" not in told["statement"]
    assert "Proved" not in told["statement"]


def test_ctrl_c_keeps_the_model_and_what_was_proved(stopped):
    heard = []

    def interrupt(progress):
        heard.append(progress)
        raise KeyboardInterrupt

    records, told = describe(stopped, callbacks=[interrupt])
    assert len(heard) == 1
    assert told["lower_bound"] == heard[0].lower_bound > 0
    assert "can fit these rows better by more than" in told["statement"]
    assert len(records) == told["of"]


@pytest.mark.parametrize(
    ("rows", "of_rows", "words"),
    [
        (90, 90, "to these 90 rows,"),
        (25_000, 25_000, "to all 25,000 rows,"),
        (50_000, 10**6, "to the sample of 50,000 rows (of 1,000,000) that chose the panel,"),
    ],
)
def test_the_statement_says_which_rows_it_is_about(proved, rows, of_rows, words):
    told = {**proved[0], "rows": rows, "of_rows": of_rows}
    assert words in _state(told, ["x1"])


def test_more_time_changes_no_proof(proved):
    told = proved[0]
    again = compare(*make_table(), **FAST, proof_seconds=30.0).guarantees["fit"]
    assert again == told


def test_other_methods_have_a_reason_instead():
    options = {**FAST, "methods": ["centers"]}
    told = compare(*make_table(), **options).guarantees["fit"]
    assert list(told) == ["reason"]
