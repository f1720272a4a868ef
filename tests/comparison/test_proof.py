"""What a comparison says about the fit of a panel, against the search itself."""

import numpy as np
import pytest

from tamis import compare
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


def test_more_time_changes_no_proof(proved):
    told = proved[0]
    again = compare(*make_table(), **FAST, proof_seconds=30.0).guarantees["fit"]
    assert again == told


def test_other_methods_have_a_reason_instead():
    options = {**FAST, "methods": ["centers"]}
    told = compare(*make_table(), **options).guarantees["fit"]
    assert list(told) == ["reason"]
