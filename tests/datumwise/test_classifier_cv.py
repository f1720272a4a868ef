import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

from tamis import DatumWiseClassifier, DatumWiseClassifierCV

LEARNERS = {
    "linear": {"learner": "linear", "n_states": 300, "n_iterations": 4, "random_state": 0},
    "forest": {"learner": "forest", "n_trees": 10, "n_sets": 12, "random_state": 0},
}


# The paper's learner is not the default: its half of these tests is slow.
@pytest.fixture(params=["forest", pytest.param("linear", marks=pytest.mark.slow)])
def small(request):
    return LEARNERS[request.param]


@pytest.fixture
def fit(small):
    def fit(X, y, weights=(0.2, 0.03, 0.003), **kwargs):
        return DatumWiseClassifierCV(list(weights), **{**small, "cv": 3, **kwargs}).fit(X, y)

    return fit


def make_data(seed=0):
    return make_classification(
        240, 10, n_informative=5, n_classes=3, n_clusters_per_class=1, random_state=seed
    )


def test_the_path_is_that_of_the_folds(fit, small):
    X, y = make_data()
    splits = list(StratifiedKFold(3).split(X, y))
    costs = np.arange(1, 11) / 10
    model = fit(X, y, cv=splits, scoring="accuracy", feature_costs=costs)
    plain = DatumWiseClassifier(**small, feature_costs=costs)
    right, counts, paid, asked = [], [], [], []
    for f, (train, test) in enumerate(splits):
        path = plain.fit_path(X[train], y[train], [0.2, 0.03, 0.003])
        acquired = [path.model(level).acquire(X[test]) for level in range(3)]
        right.append([np.mean(one.labels == y[test]) for one in acquired])
        counts.append([one.n_questions.mean() for one in acquired])
        paid.append([one.cost.mean() for one in acquired])
        asked.append([path.model(level).support_ for level in range(3)])
        assert_allclose(model.cv_results_[f"split{f}_test_score"], right[f])
    assert_array_equal(model.path_["level"], [0.2, 0.03, 0.003])
    assert_allclose(model.path_["score"], np.mean(right, axis=0))
    assert_allclose(model.path_["n_features"], np.mean(counts, axis=0))
    assert_allclose(model.path_["cost"], np.mean(paid, axis=0))
    assert model.path_["n_features"][0] < model.path_["n_features"][-1]
    chosen = [0.2, 0.03, 0.003].index(model.cost_weight_)
    assert_allclose(model.stability_, np.mean(asked, axis=0)[chosen])


def test_the_chosen_level_is_that_of_the_path_on_all_data(fit, small):
    X, y = make_data()
    model = fit(X, y)
    level = int(model.path_["score"].argmax())
    one = DatumWiseClassifier(**small).fit_path(X, y, [0.2, 0.03, 0.003]).model(level)
    assert model.cost_weight_ == one.cost_weight
    assert model.best_score_ == model.path_["score"][level]
    assert_array_equal(model.predict(X), one.predict(X))
    assert_array_equal(model.acquire(X).order, one.acquire(X).order)
    assert_array_equal(model.feature_importances_, one.feature_importances_)


def test_a_wanted_number_of_features_or_score_picks_the_level(fit):
    X, y = make_data()
    few = fit(X, y, n_features_to_select=2.0)
    level = few.path_["level"].tolist().index(few.cost_weight_)
    assert few.path_["n_features"][level] <= 2.0
    score = few.path_["score"][level]
    assert score == max(few.path_["score"][few.path_["n_features"] <= 2.0])
    good = fit(X, y, min_score=float(score))
    assert good.cost_weight_ == few.cost_weight_
    assert few.with_n_features(10).cost_weight_ == fit(X, y).cost_weight_


def test_an_unreachable_wish_warns_and_takes_the_nearest_level(fit):
    X, y = make_data()
    with pytest.warns(UserWarning, match="No model of the path has a score of 1.5"):
        best = fit(X, y, min_score=1.5)
    assert best.best_score_ == best.path_["score"].max()
    with pytest.warns(UserWarning, match="asks for more than 0.01 features"):
        fewest = fit(X, y, weights=[0.003, 0.0003], n_features_to_select=0.01)
    assert fewest.cost_weight_ == 0.003


def test_the_sparsest_asks_no_more_than_the_best(fit):
    X, y = make_data(1)
    assert fit(X, y, rule="sparsest").cost_weight_ >= fit(X, y).cost_weight_
    assert fit(X, y, rule="sparsest", tolerance=1.0).cost_weight_ == 0.2


def test_a_number_of_cost_weights_spans_from_nothing_to_much(small):
    X, y = make_data()
    model = DatumWiseClassifierCV(5, cv=3, feature_costs=np.full(10, 7.0), **small).fit(X, y)
    weights = model.path_["level"]
    assert weights.size == 5
    assert (np.diff(weights) < 0).all()
    assert model.path_["n_features"][0] < 1
    assert model.path_["n_features"][-1] > 3
    assert model.path_["cost"][-1] == pytest.approx(7 * model.path_["n_features"][-1])
    free = DatumWiseClassifierCV(2, cv=3, feature_costs=np.zeros(10), **small).fit(X, y)
    assert free.mean_cost_ == 0


@pytest.mark.slow
def test_results_do_not_depend_on_n_jobs(fit):
    X, y = make_data()
    one, two = fit(X, y, n_jobs=1), fit(X, y, n_jobs=2)
    assert_array_equal(one.path_["score"], two.path_["score"])
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 2: 3.0}])
def test_a_fold_without_a_class_is_no_trouble(fit, class_weight):
    X, y = make_data()
    y[y == 2] = 1
    y[:3] = 2
    rows = np.arange(240)
    splits = [(rows[3:160], rows[160:]), (rows[80:], rows[:80])]
    model = fit(X, y, cv=splits, class_weight=class_weight)
    assert model.predict_proba(X).shape == (240, 3)
    assert np.isfinite(model.path_["score"]).all()


def test_groups_nan_and_scorings(fit):
    X, y = make_data()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    groups = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    model = fit(X, y, feature_groups=groups, scoring="neg_log_loss", max_features=2)
    assert model.acquire(X).n_questions.max() <= 2
    assert model.score(X, y) < 0
    assert np.isfinite(model.path_["score"]).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_weights": 0}, "cost_weights must be at least 1"),
        ({"cost_weights": []}, "cost_weights must be a list"),
        ({"cost_weights": [0.1, -1]}, "Each of cost_weights must be a finite number >= 0"),
        ({"cost_weights": "many"}, "cost_weights must be a list"),
        ({"n_features_to_select": -1}, "n_features_to_select must be a number >= 0"),
        ({"n_features_to_select": "3"}, "n_features_to_select must be a number >= 0"),
        ({"tolerance": -0.1}, "tolerance must be a number >= 0"),
        ({"min_score": "0.9"}, "min_score must be a number"),
        ({"min_score": 0.9, "n_features_to_select": 3}, "omit the other"),
        ({"rule": "1se"}, "rule must be 'best' or 'sparsest'"),
        ({"scoring": 3}, "scoring must be a name"),
        ({"learner": "magic"}, "learner must be one of"),
        ({"n_trees": 5, "n_states": 5}, "=5 is for learner='"),
    ],
    ids=str,
)
def test_wrong_parameters_are_told(small, parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        DatumWiseClassifierCV(**{"cv": 3, **small, **parameters}).fit(X, y)
