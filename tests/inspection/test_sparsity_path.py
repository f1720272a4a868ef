import io
import re
import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from tamis import (
    DatumWiseClassifierCV,
    LandmarkSearchCV,
    PanelClassifierCV,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
)
from tamis.inspection import Curve, SparsityPathDisplay
from tamis.inspection._style import COLORS, GREY


def test_curves_of_a_comparison_are_its_table(comparison):
    display = SparsityPathDisplay.from_comparison(comparison)
    table = {name: np.array(values) for name, values in comparison.table.items()}
    for result, curve in zip(comparison.results, display.curves, strict=True):
        rows = table["method"] == result.method.name
        order = np.argsort(table["n_features"][rows], kind="stable")
        assert_allclose(curve.n_features, table["n_features"][rows][order])
        assert_allclose(curve.scores, table["score"][rows][order])
        assert_allclose(curve.errors, table["standard_error"][rows][order])
        assert curve.is_baseline == table["is_baseline"][rows][0]
    drawn = sorted(display.curves, key=lambda c: c.is_baseline)
    for curve, line in zip(drawn, display.lines_, strict=True):
        assert_array_equal(line.get_xdata(), curve.n_features)
        assert_array_equal(line.get_ydata(), curve.scores)
    at = np.flatnonzero(table["is_chosen"])[0]
    assert display.chosen == (table["n_features"][at], table["score"][at])
    assert_allclose(display.chosen_.get_ydata(), table["score"][at])
    assert display.chosen_.get_label() == "recommended model"
    assert display.ax_.get_ylabel() == "balanced accuracy"


def test_bands_are_one_standard_error_wide():
    curve = Curve.of("a", [3, 1, 2], [0.9, 0.7, 0.8], [0.03, 0.01, 0.02])
    display = SparsityPathDisplay([curve]).plot()
    corners = {tuple(row) for row in display.bands_[0].get_paths()[0].vertices.round(9)}
    for x, score, error in [(1, 0.7, 0.01), (2, 0.8, 0.02), (3, 0.9, 0.03)]:
        assert {(x, round(score - error, 9)), (x, round(score + error, 9))} <= corners


def test_the_path_of_an_estimator():
    model = SparseCenterClassifierCV(rule="sparsest").fit(*load_iris(return_X_y=True))
    display = SparsityPathDisplay.from_estimator(model)
    assert_array_equal(display.lines_[0].get_ydata(), model.path_["score"])
    assert display.chosen == (model.n_features_, model.best_score_)


def test_a_constant_far_below_does_not_flatten_the_curves():
    curves = [Curve.of("a", [1, 2], [0.8, 0.9], [0.01, 0.01])]
    display = SparsityPathDisplay([*curves, Curve.of("b", [0], [0.3], [0], True)]).plot()
    assert display.ax_.get_ylim()[0] > 0.7
    assert display.lines_[1].get_label() == "b: 0.30, below"


def test_axes_that_are_given_are_used():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = SparsityPathDisplay([Curve.of("a", [1], [0.5], [0.1])]).plot(axes[1], color="red")
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert display.lines_[0].get_color() == "red"
    assert len(plt.get_fignums()) == 1


def test_wide_ranges_are_logarithmic():
    narrow = SparsityPathDisplay([Curve.of("a", [1, 5], [0.5, 0.6], [0, 0])]).plot()
    wide = SparsityPathDisplay([Curve.of("a", [1, 200], [0.5, 0.6], [0, 0])]).plot()
    assert (narrow.ax_.get_xscale(), wide.ax_.get_xscale()) == ("linear", "log")


def test_estimators_without_a_path_are_refused():
    model = SparseCenterClassifier().fit(*load_iris(return_X_y=True))
    with pytest.raises(TypeError, match="got SparseCenterClassifier"):
        SparsityPathDisplay.from_estimator(model)


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"^SparsityPathDisplay needs .*'tamis\[plot\]'"):
        SparsityPathDisplay([Curve.of("a", [1], [0.5], [0.1])]).plot()


@pytest.mark.parametrize(
    ("model", "level"),
    [
        (PrimalDualClassifierCV([0.2, 0.5, 2.0], cv=3), "radius_"),
        (DatumWiseClassifierCV([0.1, 0.01], cv=3, random_state=0), "cost_weight_"),
        (PanelClassifierCV(levels=[1, 2, 3], cv=3), "n_features_"),
    ],
)
def test_the_choice_of_every_family_is_marked(model, level):
    model.fit(*load_iris(return_X_y=True))
    display = SparsityPathDisplay.from_estimator(model)
    at = np.flatnonzero(np.isclose(model.path_["level"], getattr(model, level)))[0]
    assert display.chosen == (model.path_["n_features"][at], model.path_["score"][at])


def test_a_landmark_search_counts_landmarks():
    model = LandmarkSearchCV(n_configurations=6, cv=3, random_state=0)
    model.fit(*load_iris(return_X_y=True))
    display = SparsityPathDisplay.from_estimator(model)
    assert_array_equal(display.curves[0].n_features, np.sort(model.path_["level"]))
    assert display.ax_.get_xlabel() == "number of landmarks"


def test_unknown_errors_and_single_levels_are_drawn():
    curves = [
        Curve.of("no errors", [1, 2], [0.7, 0.8], [np.nan, np.nan]),
        Curve.of("one level", [3], [0.75], [0.1]),
        Curve.of("no features", [0], [0.72], [0.1], True),
    ]
    display = SparsityPathDisplay(curves).plot()
    display.figure_.canvas.draw()
    assert np.isfinite(display.ax_.get_ylim()).all()
    flat = [line for line in display.ax_.lines if list(line.get_xdata()) == [0, 1]]
    assert [line.get_ydata()[0] for line in flat] == [0.75, 0.72]


def test_svg_keeps_text_and_known_colours(comparison):
    figure = SparsityPathDisplay.from_comparison(comparison).figure_
    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(file, format="svg", transparent=True)
    svg = file.getvalue()
    assert ">number of features</text>" in svg and ">sparse centers, means</text>" in svg
    assert "#ffffff" not in svg
    known = {"#000000", GREY, *COLORS}
    assert set(re.findall("#[0-9a-f]{6}", svg)) <= {color.lower() for color in known}
