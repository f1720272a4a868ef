"""Names of methods and models in the output."""

import pytest

from tamis.comparison.choosing.results import whole
from tamis.comparison.methods.naming import bracket, explain_marks, mark_method, name_model

PANEL = {"title": "panel, linear head", "asks": False, "is_readable": True}
KERNEL = {"title": "panel, kernel head", "asks": False, "is_readable": False}
ASKING = {"title": "datum-wise", "asks": True, "is_readable": False}


@pytest.mark.parametrize(
    "name, described, n_features, head, expected",
    [
        ("panel", PANEL, 10, "linear", "panel, 10 features"),
        ("panel", PANEL, 1, "lda", "panel, 1 feature, linear discriminant"),
        ("panel-kernel", KERNEL, 4, "kernel", "panel, kernel head, 4 features"),
        ("rfe", {"title": "RFE", "is_baseline": True}, 2.5, "", "RFE, 2.5 features"),
    ],
)
def test_a_model_has_one_name(name, described, n_features, head, expected):
    assert name_model(name, described, n_features, head) == expected


def test_methods_that_cannot_be_read_are_marked_and_the_mark_is_explained():
    assert mark_method("panel", PANEL) == "panel"
    assert mark_method("panel-kernel", KERNEL) == "panel, kernel head°"
    shown = {"good_enough": {"counts": True}, "best": {"counts": True}}
    kernel, asking = KERNEL | shown, ASKING | shown
    assert explain_marks({"panel": PANEL}) is None
    told = explain_marks({"panel": PANEL, "panel-kernel": kernel})
    assert told == "°: cannot be asked, carded or exported to SQL"
    told = explain_marks({"panel-kernel": kernel, "datum-wise": asking})
    assert told.endswith("SQL (datum-wise: can be asked)")
    assert bracket("0.9", {"counts": True}) == "0.9"
    assert bracket("0.9", {"counts": False}) == "(0.9)"
    told = explain_marks({"panel-kernel": kernel | {"best": {"counts": False}}})
    assert "in brackets: not clearly better than the linear panel" in told


def test_whole_numbers_of_features_are_integers():
    assert repr(whole(3.0)) == "3" and repr(whole(2.5)) == "2.5"
