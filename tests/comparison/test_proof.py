"""What a comparison says about the fit of a panel, against the search itself."""

import itertools

import numpy as np
import pytest

from tamis import compare
from tamis.comparison.fitted.proof import _state, limit_in_percent
from tamis.panel import best_panels
from tamis.panel.proof.effort import Effort

FAST = {"methods": ["panel"], "cv": 3, "repeats": 1, "max_features": 2}


def make_table(n=90, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, 1] += 1.2 * y
    X[:, 4] -= 0.9 * y
    return X, y


@pytest.fixture(scope="module", autouse=True)
def no_clock():
    """No search ends because the machine is busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Effort, "seconds", 0.0)
        yield


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
    # A machine on which every look at the clock takes a second says the same.
    turns = itertools.count()
    monkeypatch.setattr(Effort, "seconds", property(lambda effort: next(turns)))
    monkeypatch.setattr("tamis.comparison.fitted.proof._SLOWEST", 1e9)
    assert describe(stopped)[1] == told
    assert next(turns) > 10


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


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.0231, "2.4"),
        (0.023, "2.3"),
        (0.0230000001, "2.4"),
        (0.05, "5"),
        (0.0991, "10"),
        (0.3, "30"),
        (0.301, "31"),
        (0.0001, "0.01"),
        (0.00123, "0.13"),
        (1e-8, "0.01"),
        (0.99, "99"),
        (0.991, "99.1"),
        (0.9996, "99.96"),
        (0.99999, "99.999"),
        (1.0, "100"),
    ],
)
def test_limits_in_per_cent_are_never_rounded_down(share, told):
    assert limit_in_percent(share) == told


def test_no_limit_in_per_cent_is_below_the_share():
    for share in np.random.default_rng(0).random(1000) ** 3:
        told = limit_in_percent(share)
        assert share <= float(told) / 100 * (1 + 1e-15)
        assert float(told) < 100


def make_told(**changes):
    told = {
        "loss": 10.0,
        "lower_bound": 9.769,
        "gap": 0.0231,
        "is_best": False,
        "is_proved": False,
        "is_complete": False,
        "best_loss": 10.0,
        "of": 2,
        "panels": 45,
        "as_good": 1,
        "first": [["a", "b"]],
        "rows": 90,
        "of_rows": 90,
    }
    return told | changes


def test_a_limit_is_told_rounded_up():
    assert "by more than 2.4 % of its loss." in _state(make_told(), ["a", "b"])


def test_what_is_better_is_told_rounded_down():
    told = make_told(best_loss=9.801, first=[["a", "c"]])
    said = _state(told, ["a", "b"])
    assert said.startswith("With c instead of b, the panel fits these rows better: ")
    assert "its loss is 1.9 % smaller; no panel" in said
    assert "2.4 %" in said
    said = _state(make_told(best_loss=10.0 - 1e-6, first=[["a", "c"]]), ["a", "b"])
    assert "less than 0.01 % smaller" in said


@pytest.mark.parametrize(
    ("n", "end"),
    [
        (3, "with e instead of b. This"),
        (4, "with e instead of b; and 1 other. This"),
        (1200, "with e instead of b; and 1,197 others. This"),
    ],
)
def test_three_other_panels_are_named_and_the_rest_counted(n, end):
    panels = [["a", name] for name in "bcdefghij"]
    said = _state(make_told(as_good=n + 1, first=panels, is_complete=True), ["a", "b"])
    assert f"{n:,} other panels are within 2 units" in said
    assert f": with c instead of b; with d instead of b; {end}" in said


def test_long_exchanges_are_counted():
    mine, other = list("abcdef"), list("abuvwx")
    said = _state(make_told(of=6, as_good=2, first=[mine, other], is_complete=True), mine)
    assert "of the best fit: with 4 of the 6 features exchanged." in said


def test_nothing_is_said_where_nothing_is_proved(stopped, monkeypatch):
    monkeypatch.setattr("tamis.comparison.fitted.proof._count_nodes", lambda part, seconds: 0)
    records, told = describe(stopped)
    assert "statement" not in told
    assert told["reason"] == "the search ended before anything was proved"
    assert {record["in_best_fits"] for record in records} == {""}


def test_a_panel_without_others_is_compared_with_none():
    X, y = make_table()
    told = compare(X[:, [1]], y, **FAST).guarantees["fit"]
    assert told["reason"] == "there is no other panel of the size"
