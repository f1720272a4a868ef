"""The panel, and the baselines whose models are panels, in the comparison."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from tamis import PanelClassifier, compare
from tamis.comparison.methods.baselines import BASELINES, find_method
from tamis.comparison.methods.method import Trained
from tamis.comparison.methods.panel import forward_features
from tamis.comparison.options import Options
from tamis.comparison.run import plan
from tamis.comparison.running.tasks import Parts
from tamis.comparison.settings import make_settings
from tamis.models import load_model
from tests.comparison.problems import blobs, make

LINEAR = [method.name for method in BASELINES if method.is_sparse_baseline]


def train(problem, name, limit=None) -> tuple[Trained, list]:
    method = find_method(name)
    part = problem.train_part(np.arange(problem.n_rows), problem.codes, 0)
    levels = list(method.levels(problem, limit))
    return method.train(part, levels), levels


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["panel", *LINEAR])
def test_a_reduced_model_gives_the_probabilities_of_its_level(name, n_classes):
    problem = make(*blobs(90, 8, n_classes=n_classes))
    trained, levels = train(problem, name)
    X = trained.part.X
    expected, _ = trained.predict(X, X)
    for place in range(len(levels)):
        columns, model = find_method(name).shrink(trained, place)
        assert isinstance(model, PanelClassifier)
        assert_allclose(model.predict_proba(X[:, columns]), expected[place], atol=1e-12)
        assert model.n_features_in_ == columns.size


def test_dummies_of_one_column_count_as_one_and_kept_columns_are_always_there():
    rng = np.random.default_rng(0)
    X, y = blobs(90, 4)
    color = np.where(y == "ab", "red", rng.choice(["green", "blue"], size=90)).astype(object)
    color[::5] = "blue"
    problem = make(X, y, kinds={"color": "categorical"}, others={"color": color}, keep=["x3"])
    trained, levels = train(problem, "panel")
    assert levels[-1] == 4  # x0, x1, x2 and color
    for place, k in enumerate(levels):
        features = trained.features(place)
        assert np.count_nonzero(~problem.kept[features]) == k
        assert problem.kept[features].any()
        for feature in features:
            columns = np.flatnonzero(trained.part.feature_of == feature)
            assert np.isin(columns, trained.columns_of(place)).all()


def test_a_cheap_copy_is_preferred_to_a_dear_one():
    X, y = blobs(120, 4)
    noise = np.random.default_rng(1).normal(size=120)
    X = np.column_stack([X, X[:, 0] + 0.05 * noise])
    first = {}
    for dear in ("x0", "x4"):
        problem = make(X, y, costs={dear: 20.0, "x1": 20.0})
        trained, _ = train(problem, "panel")
        first[dear] = problem.names[trained.features(0)[0]]
    assert first == {"x0": "x4", "x4": "x0"}


def test_sample_groups_reach_the_panel(monkeypatch):
    X, y = blobs(60, 4)
    groups = np.repeat(np.arange(30), 2)
    problem = make(X, y, groups=groups)
    rows = np.arange(0, 60, 3)
    assert_array_equal(problem.train_part(rows, problem.codes, 0).groups, problem.groups[rows])
    seen = []
    usual = PanelClassifier._fit_paths

    def watch(self, heads, X, codes, levels, weights, n_classes, groups, keys, **more):
        seen.append(groups)
        return usual(self, heads, X, codes, levels, weights, n_classes, groups, keys, **more)

    monkeypatch.setattr(PanelClassifier, "_fit_paths", watch)
    trained, _ = train(problem, "panel")
    assert_array_equal(seen[0], trained.part.groups)


def test_elimination_drops_what_the_elimination_of_scikit_learn_drops():
    X, y = blobs(90, 8, shift=0.8, seed=3)
    problem = make(X, y)
    trained, levels = train(problem, "rfe")
    Z = StandardScaler().fit_transform(X)
    for place, k in enumerate(levels):
        expected = RFE(LogisticRegression(C=1.0), n_features_to_select=k, step=1).fit(Z, y)
        assert_array_equal(trained.features(place), np.flatnonzero(expected.support_))
    model = LogisticRegression(C=1.0).fit(Z, y)
    shares, _ = trained.predict(X, X)
    assert_allclose(shares[-1], model.predict_proba(Z), atol=5e-3)


def test_relaxed_l1_has_the_features_of_l1_and_larger_weights():
    X, y = blobs(120, 8)
    problem = make(X, y)
    relaxed, levels = train(problem, "relaxed-l1")
    plain = find_method("l1-logistic").train(relaxed.part, levels)
    for place in range(len(levels)):
        assert_array_equal(relaxed.columns_of(place), plain.columns_of(place))
    first = next(p for p in range(len(levels)) if plain.columns_of(p).size)
    assert np.abs(relaxed.model(first).coef_).sum() > np.abs(plain.model(first).coef_).sum()


def test_a_sparse_baseline_is_recommended_unless_it_is_only_compared(tmp_path):
    X, y = blobs(150, 6, shift=1.2)
    options = {"methods": ["medians", "rfe"], "cv": 3, "repeats": 1}
    never = compare(X, y, baselines=False, **options)
    assert never.choice.method == "medians"
    with pytest.raises(ValueError, match="rfe was not finished"):
        never.pick("rfe", 2)
    peers = compare(X, y, **options)
    assert never.result("rfe").method.is_baseline
    assert not peers.result("rfe").method.is_baseline
    assert not find_method("rfe").is_baseline  # for others it still is a peer
    peers.save(tmp_path, peers.find("rfe", 2))
    again = load_model(tmp_path)
    assert_array_equal(again.predict_proba(X), peers.pick("rfe", 2).predict_proba(X))
    alone = compare(X, y, methods=["rfe", "most-frequent"], cv=3, repeats=1)
    assert alone.choice.method == "rfe"
    assert (alone.model.predict(X) == y).mean() > 0.75


def test_a_sparse_baseline_that_is_not_named_is_not_recommended_in_place_of_those_that_are():
    X, y = blobs(150, 6, shift=1.2)
    comparison = compare(X, y, methods=["medians"], cv=3, repeats=1)
    kinds = {r.method.name: r.method.is_baseline for r in comparison.results}
    assert not kinds.pop("medians")
    assert {"l1-logistic", "relaxed-l1", "rfe"} < kinds.keys() and all(kinds.values())
    assert comparison.choice.method == "medians"
    with pytest.raises(ValueError, match="none of the methods named may be recommended"):
        compare(X, y, methods=["rfe"], baselines=False)


def test_the_kept_columns_alone_are_scored_and_what_is_added_to_them():
    X, y = blobs(150, 6, shift=1.5)
    options = {"methods": ["panel", "most-frequent"], "cv": 3, "repeats": 1}
    assert compare(X, y, **options).kept_alone is None
    comparison = compare(X, y, keep=["x0"], **options)
    told = comparison.kept_alone
    result, place = comparison.chosen
    kept = comparison.result("kept")
    assert kept.overall.tolist() == [0.0]
    assert told["score"] == kept.scores[0]
    assert told["added"] == pytest.approx(result.scores[place] - kept.scores[0])
    assert told["added"] > 0.03 and 0 < told["added_standard_error"] < 0.1
    assert comparison.metrics["model"]["kept_alone"] == told
    # Of the kept column alone: a model of any other column would be near chance or near 0.93.
    single = PanelClassifier(1, head="lda").fit(X[:, [0]], y)
    assert told["score"] == pytest.approx((single.predict(X[:, [0]]) == y).mean(), abs=0.05)


def test_landmarks_use_the_features_that_the_panel_chooses_first():
    X, y = blobs(90, 8, shift=1.0)
    X[:, 2] = X[:, 0] + 0.1 * X[:, 2]  # a copy has much gain and adds little
    problem = make(X, y, keep=["x7"])
    trained, levels = train(problem, "landmarks")
    panel = find_method("panel").train(trained.part, levels)
    for place in range(len(levels)):
        assert_array_equal(trained.features(place), panel.features(place))
    two = levels.index(2)
    assert trained.features(two).tolist() != trained.part.best_features(2).tolist()


def test_importances_are_changes_of_the_decision_function():
    X, y = blobs(90, 5)
    model = PanelClassifier(3, head="lda").fit(X, y)
    assert model.temperature_ != 1.0
    away = np.abs(X - X.mean(axis=0)).mean(axis=0)
    # Of two classes each has half of the change.
    assert_allclose(model.feature_importances_, away * np.abs(model.coef_[0]) / 2)


def test_words_get_long_panels_that_stay_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    rate = 0.02 * np.exp(0.8 * rng.normal(size=(2, 400)))
    X = sparse.csr_array(rng.poisson(rate[y]).astype(float))
    assert find_method("panel").levels(make(X, y), None)[-1] == 400
    assert find_method("panel").levels(make(X.toarray() + 1.0, y), None)[-1] == 50
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    monkeypatch.setattr(sparse.csc_array, "toarray", None)
    problem = make(X, y)
    for name in ("panel", "relaxed-l1", "rfe"):
        trained, levels = train(problem, name)
        probabilities = trained.predict(X, X)[0]
        assert probabilities.shape == (len(levels), 300, 2)
        assert trained.model(len(levels) - 1).n_features_ >= 50


@pytest.mark.slow
def test_neither_units_nor_the_order_of_columns_change_a_comparison_of_panels():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(3)
    columns, units = rng.permutation(13), np.exp(3 * rng.normal(size=13))
    scores = []
    for values in (X, (X * units)[:, columns]):
        table = compare(values, y, methods=["panel"], repeats=1, max_features=3).table
        # The random forest, which is compared too, draws columns by their places.
        scores.append(np.asarray(table["score"])[np.asarray(table["method"]) == "panel"])
    assert_allclose(scores[0], scores[1])


@pytest.mark.parametrize("limit", [3, None])
@pytest.mark.parametrize("n_columns", [12, 70])
def test_landmarks_take_over_the_forward_steps_of_the_panel(n_columns, limit, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, n_columns))
    sign = 2 * y - 1
    X[:, :6] = (0.8 * sign + rng.normal(size=120))[:, None] + 0.1 * X[:, :6]  # tell the same
    X[:, 6:10] += 0.6 * sign[:, None]
    problem = make(X, y)

    def prepare(shared=None):
        return problem.train_part(np.arange(120), problem.codes, 0, shared)

    panel, landmarks = find_method("panel"), find_method("landmarks")
    levels = landmarks.levels(problem, limit)
    alone = landmarks.train(prepare(), levels)
    part = prepare()
    trained = panel.train(part, panel.levels(problem, limit))
    assert trained.model(0).selection_ == "forward"

    def refuse(*_):
        raise AssertionError("the features were selected twice")

    monkeypatch.setattr("tamis.comparison.methods.panel._order", refuse)
    together = landmarks.train(prepare(part.shared), levels)  # prepared again, as with few bytes
    assert_array_equal(together.path.decisions(X), alone.path.decisions(X))
    for place in range(len(levels)):
        assert_array_equal(together.features(place), alone.features(place))


def test_more_features_than_the_panel_selected_are_selected_anew():
    problem = make(*blobs(100, 12, shift=0.8))
    panel = find_method("panel")
    part, alone = (problem.train_part(np.arange(100), problem.codes, 0) for _ in range(2))
    panel.train(part, [1, 2])
    for k in (1, 2, 5, 12):
        assert_array_equal(forward_features(part, k), forward_features(alone, k))


def test_what_methods_found_out_is_kept_where_the_rows_are_not():
    problem = make(*blobs(60, 4))
    settings = make_settings(Options(methods="panel"), problem, [])
    task = plan(problem, settings).tasks[0]
    for limit, is_kept in ((0, False), (1e6, True)):
        parts = Parts(limit)
        first = parts.prepare(problem, task, 0)
        keys = first.keys
        again = parts.prepare(problem, task, 0)
        assert (again is first) == is_kept
        assert again.keys is keys
