"""A path says what its models say, for all levels at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectFromModel

from tamis import DatumWiseClassifier, DatumWiseClassifierCV
from tamis.datumwise import path as paths
from tamis.tables.classifying.narrow import narrow_datum_wise

LEARNERS = {
    "linear": {"learner": "linear", "n_states": 300, "n_iterations": 3, "random_state": 0},
    "forest": {"learner": "forest", "n_trees": 10, "n_sets": 20, "random_state": 0},
}
COSTS = np.arange(1, 9) / 10


def make_path(learner, n_classes=3, levels=(0.001, 0.3, 0.03), **kwargs):
    X, y = make_classification(
        240, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = DatumWiseClassifier(**LEARNERS[learner], feature_costs=COSTS, **kwargs)
    return model.fit_path(X, np.array(["u", "v", "w"])[y], levels), X


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_levels_at_once_are_the_models_one_by_one(learner, n_classes, monkeypatch):
    path, X = make_path(learner, n_classes)
    monkeypatch.setattr(paths, "_ROWS", 100)  # blocks of rows change nothing
    decisions, usage = path.decisions_and_usage(X)
    labels, same = path.labels_and_usage(X)
    for level in range(3):
        model = path.model(level)
        acquired = model.acquire(X)
        assert_array_equal(model.classes_[decisions[level].argmax(axis=1)], model.predict(X))
        assert_array_equal(model.classes_[labels[level]], model.predict(X))
        shares = np.exp(decisions[level])
        shares /= shares.sum(axis=1, keepdims=True)
        assert_allclose(shares, model.predict_proba(X), rtol=1e-12)
        for use in (usage, same):
            assert_array_equal(use.n_features[level], acquired.n_questions)
            assert_array_equal(use.cost[level], acquired.cost)
        asked = acquired.order[acquired.order >= 0]
        assert_array_equal(path.features(level), np.unique(asked))
        assert path.n_features[level] == np.unique(asked).size
        assert_allclose(path.importances(level), np.bincount(asked, minlength=8) / 240)
    assert usage.n_features.max() > usage.n_features.min()


def test_some_levels_are_those_of_all():
    path, X = make_path("forest")
    some = slice(1, 3)
    assert_array_equal(path.decisions(X, some), path.decisions(X)[some])
    assert_array_equal(path.labels(X, some), path.labels(X)[some])
    assert_array_equal(path.usage(X, some).cost, path.usage(X).cost[some])
    assert path.decisions(X, slice(0, 0)).shape == (0, 240, 3)


@pytest.mark.parametrize(("levels", "n_levels"), [(None, 12), (4, 4), ([0.1], 1)])
def test_the_data_choose_levels_where_none_are_given(levels, n_levels):
    path, _ = make_path("linear", levels=levels)
    assert len(path) == n_levels
    assert (np.diff(path.levels) < 0).all()


@pytest.mark.parametrize("levels", [0, [], "many", [0.1, -1]])
def test_wrong_levels_are_refused(levels):
    with pytest.raises(ValueError, match="levels must be"):
        make_path("linear", levels=levels)


def test_a_feature_group_counts_as_one_feature():
    X, y = make_classification(200, 6, n_informative=4, n_redundant=0, random_state=0)
    groups = {"pair": [0, 5], "rest": [1, 2, 3, 4]}
    model = DatumWiseClassifier(**LEARNERS["forest"], feature_groups=groups)
    path = model.fit_path(X, y, [0.0])
    assert path.n_features.tolist() == [2]
    assert path.features(0).tolist() == [0, 1, 2, 3, 4, 5]
    assert path.usage(X).n_features.max() == 2


@pytest.mark.parametrize("learner", LEARNERS)
def test_features_can_be_selected_by_importance(learner):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6))
    X[:, 2] += 4.0 * y
    selector = SelectFromModel(DatumWiseClassifier(**LEARNERS[learner], cost_weight=0.05))
    assert selector.fit(X, y).get_support().tolist() == [j == 2 for j in range(6)]
    model = selector.estimator_
    assert model.feature_importances_[2] == 1.0
    assert_array_equal(model.support_, model.feature_importances_ > 0)
    assert model.feature_order_[0] == 2


def test_explanations_of_two_classes_add_up_to_the_margin():
    path, X = make_path("forest", 2)
    model = path.model(2)
    questions = model.explain(X)
    assert list(vars(questions))[:3] == ["values", "base", "names"]
    assert questions.values.shape == questions.order.shape
    assert_allclose(
        questions.base + questions.values.sum(axis=1), model.decision_function(X), atol=1e-9
    )
    assert (questions.values[questions.order < 0] == 0).all()


def test_cross_validation_shares_its_parameters_with_the_models():
    X, y = make_classification(120, 5, random_state=0)
    cv = DatumWiseClassifierCV([0.1, 0.01], cv=2, max_features=2, **LEARNERS["forest"]).fit(X, y)
    assert cv.cv_results_["params"] == [{"cost_weight": 0.1}, {"cost_weight": 0.01}]
    assert cv.stability_.shape == cv.feature_importances_.shape == (5,)
    assert set(cv.stability_) <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize("with_gaps", [False, True])
def test_rows_are_asked_for_required_columns_only_and_a_narrow_model_has_just_these(with_gaps):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 30))
    X[:, :3] += y[:, None]
    groups = {"pair": [0, 7], **{f"f{j}": [j] for j in range(30) if j not in (0, 7)}}
    model = DatumWiseClassifier(n_trees=10, feature_groups=groups, random_state=0)
    path = model.fit_path(X, y, [0.1, 0.03, 0.01])
    new = 2 * rng.normal(size=(500, 30))
    new[rng.random(new.shape) < 0.3 * with_gaps] = np.nan
    for level in range(3):
        whole, required = path.model(level), path.required(level)
        asked = np.flatnonzero(whole.acquire(new).mask.any(axis=0))
        assert set(path.features(level)) | set(asked) <= set(required)
        narrow = narrow_datum_wise(whole, required)
        assert_allclose(narrow.predict_proba(new[:, required]), whole.predict_proba(new))
        assert_array_equal(
            narrow.acquire(new[:, required]).mask, whole.acquire(new).mask[:, required]
        )
        assert_allclose(narrow.feature_importances_, whole.feature_importances_[required])
    assert path.features(2).size < path.required(2).size
    assert path.required(0).size < 30


@pytest.mark.parametrize("max_features", [0, 2, None])
def test_a_narrow_linear_policy_does_the_same(max_features):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 6))
    X[:, :2] += y[:, None]
    groups = {"pair": [0, 4], **{f"f{j}": [j] for j in (1, 2, 3, 5)}}
    model = DatumWiseClassifier(
        feature_groups=groups, max_features=max_features, **LEARNERS["linear"]
    )
    path = model.fit_path(X, y, [0.03])
    whole, required = path.model(0), path.required(0)
    columns = required if required.size else np.array([3])  # a model has at least one column
    narrow = narrow_datum_wise(whole, columns)
    assert_allclose(narrow.predict_proba(X[:, columns]), whole.predict_proba(X))
    assert_array_equal(narrow.acquire(X[:, columns]).mask, whole.acquire(X).mask[:, columns])
