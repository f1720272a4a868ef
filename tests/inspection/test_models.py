"""Centers, stability, questions, convergence and landmarks, against the fitted attributes."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris

from tamis import (
    DatumWiseClassifier,
    LandmarkClassifier,
    LandmarkTransformer,
    PrimalDualClassifier,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
    compare,
)
from tamis.guarantees import StableSelector
from tamis.inspection import (
    AcquisitionDisplay,
    BestPanelsDisplay,
    CentersDisplay,
    ConvergenceDisplay,
    LandmarkDisplay,
    StabilityDisplay,
)


@pytest.fixture(scope="module")
def many():
    """26 classes, one of a single row, and 200 features with long names."""
    rng = np.random.default_rng(0)
    y = np.append(np.arange(260) % 25, 25)
    X = rng.normal(size=(261, 200))
    X[:, :40] += rng.normal(size=(26, 40))[y]
    names = [f"the concentration of metabolite number {i} in the morning" for i in range(200)]
    return pd.DataFrame(X, columns=names), np.array([f"class {c:02d}" for c in range(26)])[y]


def texts_below_8_points(display):
    from matplotlib.text import Text

    drawn = display.figure_.findobj(Text)
    return [text for text in drawn if text.get_text() and text.get_fontsize() < 8]


# Centers.


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_centers_are_in_units_of_spread(metric):
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]  # classes of different sizes
    model = SparseCenterClassifier(2, metric=metric).fit(X, y)
    display = CentersDisplay.from_estimator(model)
    middle = np.mean if metric == "l2" else np.median
    for k, j in enumerate(model.feature_order_[:2]):
        of_class = [X[y == c, j] for c in range(3)]
        shared = model.common_center_[j]
        if metric == "l2":
            spread = np.sqrt(np.mean([((x - shared) ** 2).mean() for x in of_class]))
        else:
            spread = np.mean([np.abs(x - shared).mean() for x in of_class])
        expected = [(middle(x) - shared) / spread for x in of_class]
        assert_allclose(display.centers[:, k], expected)
        assert_allclose([line.get_xdata()[k] for line in display.points_], expected)
        assert display.ax_.get_yticklabels()[k].get_text() == f"x{j}"


@pytest.mark.parametrize("scaling", ["std", "variance", None])
def test_centers_of_other_scalings(scaling):
    X, y = load_iris(return_X_y=True)
    model = SparseCenterClassifier(3, scaling=scaling).fit(X, y)
    display = CentersDisplay.from_estimator(model)
    shown = model.feature_order_[:3]
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    unit = np.ones(4) if scaling is None else X.std(axis=0)
    assert_allclose(display.centers, ((means - means.mean(axis=0)) / unit)[:, shown], rtol=1e-6)


def test_centers_of_a_comparison(comparison, three_classes):
    X, y = three_classes
    display = CentersDisplay.from_comparison(comparison)
    assert display.class_names == ["high", "low", "middle"]
    has_medians = comparison.chosen[0].method.has_medians
    for k, name in enumerate(display.feature_names):
        x = X[:, int(name[1:])]
        of_class = [x[y == label] for label in display.class_names]
        middles = np.array([np.median(v) if has_medians else v.mean() for v in of_class])
        spread = np.sqrt(np.mean([((v - middles.mean()) ** 2).mean() for v in of_class]))
        assert_allclose(display.centers[:, k], (middles - middles.mean()) / spread, rtol=1e-6)


def test_centers_of_categories_and_missing_values():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    color = np.where(rng.uniform(size=80) < 0.2 + 0.6 * y, "red", "blue")
    marker = y + rng.normal(size=80)
    marker[::9] = np.nan
    frame = pd.DataFrame({"color": color, "marker": marker})
    found = compare(frame, y, methods=["centers", "most-frequent"], cv=3, repeats=1, tolerance=0)
    display = CentersDisplay.from_comparison(found)
    assert np.isfinite(display.centers).all()
    at = display.feature_names.index("color: red")
    share = np.array([(color[y == c] == "red").mean() for c in (0, 1)])
    assert np.sign(display.centers[1, at]) == np.sign(share[1] - share[0])


def test_many_classes_are_a_map(many):
    model = SparseCenterClassifier(60).fit(*many)
    display = CentersDisplay.from_estimator(model, max_features=10)
    assert display.points_ is None and display.n_left_out == 50
    assert_allclose(display.image_.get_array(), display.centers.T)
    assert display.ax_.get_title(loc="left") == "50 more features not shown"


# Stability.


def test_frequencies_of_a_stable_selector(many):
    X, y = many[0][:-1], many[1][:-1]  # halves need two rows of each class
    selector = StableSelector(n_pairs=5, random_state=0).fit(X, y)
    display = StabilityDisplay.from_estimator(selector, max_features=12)
    assert_allclose(display.frequencies, np.sort(selector.frequencies_)[::-1][:12])
    assert_allclose([bar.get_width() for bar in display.bars_], display.frequencies)
    assert_array_equal(display.threshold_.get_xdata(), 0.75)
    share_of = dict(zip(X.columns, selector.frequencies_, strict=True))
    assert [share_of[name] for name in display.feature_names] == list(display.frequencies)
    assert display.n_left_out == np.count_nonzero(selector.frequencies_) - 12


def test_frequencies_of_folds():
    X, y = load_breast_cancer(return_X_y=True)
    model = SparseCenterClassifierCV(levels=[4]).fit(X[::5], y[::5])
    display = StabilityDisplay.from_estimator(model)
    assert display.frequencies.size == np.count_nonzero(model.stability_ + model.support_)
    for name, share, selected in zip(
        display.feature_names, display.frequencies, display.selected, strict=True
    ):
        assert share == model.stability_[int(name[1:])]
        assert selected == model.support_[int(name[1:])]


def test_frequencies_of_a_comparison(comparison):
    display = StabilityDisplay.from_comparison(comparison)
    result, place = comparison.chosen
    for name, share in zip(display.feature_names, display.frequencies, strict=True):
        assert share == result.selected[place, comparison.problem.names.index(name)]
    used = np.array(display.feature_names)[display.selected]
    assert set(used) == set(comparison.features["feature"])


# Questions.


@pytest.fixture(scope="module")
def asking():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :12]
    return DatumWiseClassifier(cost_weight=0.005, random_state=0).fit(X[::2], y[::2]), X[1::2]


def test_questions_are_those_of_the_classifier(asking):
    model, X = asking
    display = AcquisitionDisplay.from_estimator(model, X)
    order = model.acquire(X).order
    column_of = {name: k for k, name in enumerate(display.feature_names)}
    for i, row in enumerate(display.rows):
        asked = [column_of[model.process_.names[j]] for j in order[row] if j >= 0]
        expected = np.zeros(len(column_of), dtype=int)
        expected[asked] = np.arange(1, len(asked) + 1)
        assert_array_equal(display.order[i], expected)
    assert sorted(display.rows) == list(range(len(X)))
    n_questions = (display.order > 0).sum(axis=1)
    assert (np.diff(n_questions) >= 0).all() and n_questions[0] < n_questions[-1]
    assert_array_equal(display.image_.get_array().filled(0), display.order)


def test_rare_questions_are_left_out(asking):
    model, X = asking
    all_of_them = AcquisitionDisplay.from_estimator(model, X)
    few = AcquisitionDisplay.from_estimator(model, X, max_features=2)
    assert few.feature_names == all_of_them.feature_names[:2]
    assert few.n_left_out == len(all_of_them.feature_names) - 2 > 0
    assert_array_equal(few.order, all_of_them.order[:, :2])


def test_no_questions_and_one_sample(asking):
    model, X = asking
    AcquisitionDisplay.from_estimator(model, X[:1]).figure_.canvas.draw()
    known = np.ones(X[:3].shape, dtype=bool)
    display = AcquisitionDisplay.from_estimator(model, X[:3], known=known)
    assert display.order.shape == (3, 0)
    display.figure_.canvas.draw()


# Convergence.


def test_objective_and_gap_of_the_history():
    X, y = load_breast_cancer(return_X_y=True)
    model = PrimalDualClassifier(radius=0.5, tol=1e-8).fit(X, y)
    display = ConvergenceDisplay.from_estimator(model)
    gaps = model.history_["relative_gap"]  # the last one may round to zero, which is left out
    drawn = (model.history_["objective"], np.where(gaps > 0, gaps, np.nan))
    for line, expected in zip(display.lines_, drawn, strict=True):
        assert_array_equal(line.get_xdata(), model.history_["n_iter"])
        assert_array_equal(line.get_ydata(), expected)
    assert display.axes_[1].get_yscale() == "log" and display.ax_ is display.axes_[0]
    assert_array_equal(display.axes_[1].lines[1].get_ydata(), 1e-8)


def test_a_gap_of_zero_is_left_out():
    display = ConvergenceDisplay(np.arange(3), np.ones(3), np.array([1.0, 0.1, 0.0])).plot()
    assert_array_equal(display.lines_[1].get_ydata(), [1.0, 0.1, np.nan])
    single = ConvergenceDisplay(np.array([4]), np.ones(1), np.zeros(1)).plot()
    single.figure_.canvas.draw()


def test_both_axes_take_the_place_of_the_one_given():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2)
    display = ConvergenceDisplay(np.arange(3), np.ones(3), np.ones(3)).plot(axes[0])
    assert display.figure_ is figure
    assert all(ax.get_position().x1 < axes[1].get_position().x0 for ax in display.axes_)


# Landmarks.


@pytest.mark.parametrize("cls", [LandmarkClassifier, LandmarkTransformer])
def test_landmarks_in_the_plane_of_two_features(cls):
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = cls(n_landmarks=9, scaling="standard", random_state=0).fit(X, y)
    names = ["petal width (cm)", "sepal length (cm)"]
    display = LandmarkDisplay.from_estimator(model, X, y, features=names)
    scaled = ((X - X.mean()) / X.std(ddof=0))[names].to_numpy()
    assert_allclose(display.landmarks_.get_xydata(), model.landmarks_[:, [3, 0]])
    for label, line in zip(np.unique(y), display.points_, strict=True):
        assert_allclose(line.get_xydata(), scaled[y == label])
        assert line.get_label() == label
    assert display.ax_.get_xlabel() == names[0]


def test_landmarks_in_the_plane_of_principal_components():
    X, y = load_iris(return_X_y=True)
    model = LandmarkClassifier(n_landmarks=9, random_state=0).fit(X, y)
    display = LandmarkDisplay.from_estimator(model, X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    plane = vectors[:, ::-1][:, :2]
    for drawn, points in ((display.points, X), (display.landmarks, model.landmarks_)):
        assert_allclose(np.abs(drawn), np.abs((points - X.mean(axis=0)) @ plane), atol=1e-8)
    share = values[-1] / values.sum()
    assert display.ax_.get_xlabel() == f"principal component 1 ({share:.0%})"


# All.


@pytest.mark.parametrize("width", [4, 8])
def test_many_classes_and_features_stay_readable(many, width):
    import matplotlib.pyplot as plt

    X, y = many
    landmarks = LandmarkClassifier(n_landmarks=5, random_state=0).fit(X, y)
    centers = SparseCenterClassifier(60).fit(X, y)
    for draw in (
        lambda ax: LandmarkDisplay.from_estimator(landmarks, X, y, ax=ax),
        lambda ax: CentersDisplay.from_estimator(centers, ax=ax),
    ):
        figure, ax = plt.subplots(figsize=(width, 0.75 * width), layout="constrained")
        display = draw(ax)
        figure.canvas.draw()
        assert not texts_below_8_points(display)
        tight, box = display.ax_.get_tightbbox(), figure.bbox  # with labels and legend
        assert tight.x0 >= -1 and tight.y0 >= -1
        assert tight.x1 <= box.x1 + 1 and tight.y1 <= box.y1 + 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda m, X: CentersDisplay.from_estimator(m),
        lambda m, X: StabilityDisplay.from_estimator(m),
        lambda m, X: AcquisitionDisplay.from_estimator(m, X),
        lambda m, X: ConvergenceDisplay.from_estimator(m),
        lambda m, X: LandmarkDisplay.from_estimator(m, X),
    ],
)
def test_estimators_of_another_family_are_refused(draw):
    from sklearn.linear_model import LogisticRegression

    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match=r"Display needs a .* got LogisticRegression"):
        draw(LogisticRegression(max_iter=1000).fit(X, y), X)


@pytest.mark.parametrize(
    "display",
    [
        CentersDisplay(np.zeros((2, 1)), ["a"], [0, 1]),
        StabilityDisplay(np.ones(1), ["a"], np.ones(1, dtype=bool)),
        BestPanelsDisplay(np.ones((1, 1), dtype=bool), ["a"], np.zeros(1)),
        AcquisitionDisplay(np.ones((1, 1), dtype=int), ["a"], np.zeros(1, dtype=int)),
        ConvergenceDisplay(np.ones(1), np.ones(1), np.ones(1)),
        LandmarkDisplay(np.zeros((1, 2)), np.zeros((1, 2))),
    ],
)
def test_without_matplotlib_the_message_says_what_to_install(display, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"^{type(display).__name__} needs .*'tamis\[plot\]'"):
        display.plot()
