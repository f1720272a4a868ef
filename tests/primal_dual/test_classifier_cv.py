"""PrimalDualClassifierCV: every level certified, rules, wanted features, interrupts, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tamis import PrimalDualClassifier, PrimalDualClassifierCV
from tamis.primal_dual.solver import solve
from tests.primal_dual.test_classifier import assert_certified


def make_data(n_classes=3, n_features=40, seed=0):
    return make_classification(
        n_samples=120,
        n_features=n_features,
        n_informative=6,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.5,
        random_state=seed,
    )


RADII = [0.2, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("ball", "loss"),
    [
        ("l1", "huber"),
        ("l1", "l1"),
        ("l1", "frobenius"),
        ("l21", "huber"),
        ("l21", "frobenius"),
        ("l12", "huber"),
        ("nuclear", "frobenius"),
    ],
)
def test_scores_are_those_of_classifiers_trained_one_by_one(ball, loss):
    X, y = make_data(n_features=15)
    cv = list(StratifiedKFold(3).split(X, y))
    model = PrimalDualClassifierCV(RADII, ball=ball, loss=loss, cv=cv, tol=1e-7).fit(X, y)
    for at, radius in enumerate(RADII):
        one, sizes = PrimalDualClassifier(radius, ball=ball, loss=loss, tol=1e-7), []
        for f, (train, test) in enumerate(cv):
            labels = one.fit(X[train], y[train]).predict(X[test])
            sizes.append(one.n_features_)
            assert_allclose(
                model.cv_results_[f"split{f}_test_score"][at],
                balanced_accuracy_score(y[test], labels),
            )
        assert model.path_["n_features"][at] == pytest.approx(np.mean(sizes), abs=0.5)
    assert model.best_score_ == model.path_["score"].max()
    assert model.path_["level"].tolist() == RADII
    assert model.cv_results_["params"][1] == {"radius": 0.5}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_the_chosen_model_is_certified(ball, weighted):
    X, y = make_data()
    weight = np.random.default_rng(0).integers(1, 4, y.size) if weighted else None
    model = PrimalDualClassifierCV(RADII, ball=ball, cv=3).fit(X, y, sample_weight=weight)
    model.radius = model.radius_  # what the oracle looks at
    assert_certified(model, X, y, weight)


def test_a_larger_tolerance_gives_a_sparser_model():
    X, y = make_data(seed=3)
    radii = [0.1, 0.3, 1.0, 3.0]
    best, sparser, sparsest = (
        PrimalDualClassifierCV(radii, cv=4, rule=rule, tolerance=tolerance).fit(X, y)
        for rule, tolerance in (("best", 0.01), ("sparsest", 0.01), ("sparsest", 1.0))
    )
    assert best.best_score_ == best.path_["score"].max()
    assert sparsest.radius_ == 0.1
    assert sparsest.radius_ <= sparser.radius_ <= best.radius_


@pytest.mark.parametrize("wanted", [1, 4, 10, 0.5])
def test_a_wanted_number_of_features_is_kept(wanted):
    X, y = make_data()
    model = PrimalDualClassifierCV(10, n_features_to_select=wanted, cv=3).fit(X, y)
    limit = wanted if isinstance(wanted, int) else 20
    assert limit - 1 <= model.n_features_ <= limit
    assert model.radius_ in model.path_["level"]


def test_other_levels_need_no_training():
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, cv=3, tol=1e-8).fit(X, y)
    sizes = np.array([PrimalDualClassifier(r, tol=1e-8).fit(X, y).n_features_ for r in RADII])
    for size in sizes:
        other = model.with_n_features(int(size))
        assert other.radius_ == np.array(RADII)[sizes <= size].max()
        alone = PrimalDualClassifier(other.radius_, tol=1e-8).fit(X, y)
        assert_array_equal(other.support_, alone.support_)
        assert_allclose(other.weights_, alone.weights_, atol=1e-5)
        assert_array_equal(other.predict(X), alone.predict(X))


def test_the_temperature_is_the_most_likely_one_out_of_fold():
    X, y = make_data(seed=5)
    folds = StratifiedKFold(5)
    model = PrimalDualClassifierCV([0.5], cv=folds, tol=1e-7).fit(X, y)
    plain = PrimalDualClassifier(0.5, tol=1e-7)
    decisions = cross_val_predict(plain, X, y, cv=folds, method="decision_function")
    weight = model.class_weight_[y]

    def loss(temperature):
        return log_loss(y, softmax(decisions / temperature, axis=1), sample_weight=weight)

    best = loss(model.temperature_)
    assert best < loss(0.9 * model.temperature_)
    assert best < loss(1.1 * model.temperature_)


def test_stability_is_the_share_of_folds():
    X, y = make_data()
    model = PrimalDualClassifierCV([0.4], cv=4).fit(X, y)
    assert set(np.unique(4 * model.stability_).round(9)) <= {0, 1, 2, 3, 4}
    assert model.stability_[model.support_].mean() > 0.5
    assert model.stability_.max() == pytest.approx(1.0)


def test_sparse_data_give_the_same_path():
    X, y = make_data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = PrimalDualClassifierCV(RADII, cv=3, tol=1e-8).fit(X, y)
    thin = PrimalDualClassifierCV(RADII, cv=3, tol=1e-8).fit(sparse.csr_array(X), y)
    assert_array_equal(dense.path_["n_features"], thin.path_["n_features"])
    assert_allclose(dense.path_["score"], thin.path_["score"])


def test_a_class_that_a_fold_lacks_is_never_predicted_there():
    X, y = make_data()
    y[y == 2] = 0
    y[:2] = 2
    cv = [(np.arange(2, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    model = PrimalDualClassifierCV(RADII, cv=cv).fit(X, y)
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_
    assert model.path_["score"].shape == (4,)
    assert model.classes_.tolist() == [0, 1, 2]


class StopAfter:
    """A callback that asks to stop after some steps."""

    def __init__(self, n_steps):
        self.left = n_steps

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.left -= 1
        return self.left <= 0


class InterruptAfter(StopAfter):
    """A callback at which the user presses Ctrl-C."""

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.left -= 1
        if self.left <= 0:
            raise KeyboardInterrupt
        return False


def test_a_callback_that_stops_leaves_the_folds_done_so_far():
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, cv=5)
    model.set_callbacks(StopAfter(3)).fit(X, y)
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_
    assert model.path_["score"].shape == (4,)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("n_steps", [1, 3])
def test_an_interrupt_leaves_a_usable_estimator(n_steps):
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, cv=5)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(InterruptAfter(n_steps)).fit(X, y)
    splits = [name for name in getattr(model, "cv_results_", {}) if name.startswith("split")]
    assert len(splits) == n_steps - 1
    assert model.path_["score"].shape == (4,)
    assert model.predict(X).shape == y.shape
    assert model.predict_proba(X).shape == (y.size, 3)


def test_an_interrupt_on_the_path_leaves_the_radii_so_far(monkeypatch):
    X, y = make_data()
    calls = []

    def interrupted(problem, start=None, **limits):
        calls.append(problem.ball.radius)
        assert len(calls) < 10  # the folds are never reached
        yield from solve(problem, start, **limits)
        if problem.ball.radius == 1.0:
            raise KeyboardInterrupt

    monkeypatch.setattr("tamis.primal_dual.radii.solve", interrupted)
    model = PrimalDualClassifierCV(RADII, cv=5)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.path_["level"].tolist() == [0.2, 0.5]
    assert model.radius_ == 0.5
    assert model.predict(X).shape == y.shape


def test_a_refit_that_fails_leaves_no_mixture():
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="out of proportion"):
        model.set_params(rho=1e30).fit(X[:, :5], y)
    assert not hasattr(model, "support_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("loss", ["huber", "l1", "frobenius"])
def test_chosen_radii_follow_the_units_of_the_data(loss, scale):
    X, y = make_data(n_classes=2)
    model = PrimalDualClassifierCV(8, cv=3, loss=loss, standardize=False).fit(scale * X, y)
    assert 8 <= model.path_["level"].size <= 12  # four more where the number of features jumps
    assert model.path_["n_features"][0] <= 6
    assert model.path_["n_features"][-1] >= 20
    assert model.best_score_ > 0.7


def test_other_levels_have_their_own_statistics():
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, cv=3, n_features_to_select=40).fit(X, y)
    other = model.with_n_features(PrimalDualClassifier(0.2).fit(X, y).n_features_)
    place = int(np.flatnonzero(model.path_["level"] == other.radius_)[0])
    assert place < 3
    assert other.best_score_ == model.path_["score"][place]
    assert not hasattr(other, "dual_")
    assert model.dual_.shape == (y.size, 3)


def test_fewer_features_than_the_path_has_are_told():
    X, y = make_data()
    with pytest.warns(UserWarning, match="smallest radius has .* more than the 1 wanted"):
        model = PrimalDualClassifierCV([2.0, 5.0], n_features_to_select=1, cv=3).fit(X, y)
    assert model.radius_ == 2.0


@pytest.mark.parametrize("ball", ["l12", "nuclear"])
def test_balls_that_keep_all_features_have_no_level_of_features(ball):
    X, y = make_data()
    model = PrimalDualClassifierCV(RADII, ball=ball, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="which uses all features"):
        model.with_n_features(2)


def test_a_scoring_that_cannot_do_without_a_class_says_so():
    X, y = make_data()
    y[:2] = 7
    folds = [(np.arange(40, 120), np.arange(40)), (np.arange(80), np.arange(80, 120))]
    with pytest.raises(ValueError, match="cannot score test samples that lack a class"):
        PrimalDualClassifierCV(RADII, cv=folds, scoring="neg_log_loss").fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radii": 0}, "radii must be at least 1 radius, got 0"),
        ({"radii": []}, "radii must be a number of radii or a list"),
        ({"radii": "many"}, "radii must be a number of radii or a list"),
        ({"radii": (r for r in [1.0])}, "radii must be a number of radii or a list"),
        ({"tol": 2.0}, "tol must be at most 0.5, got 2.0"),
        ({"radii": [1.0, -1.0]}, "Each of radii must be a number > 0, got -1.0"),
        ({"radii": [1.0, np.nan]}, "Each of radii must be a number > 0, got nan"),
        ({"n_features_to_select": 0}, "n_features_to_select must be an integer >= 1"),
        ({"n_features_to_select": 3, "ball": "nuclear"}, "needs a ball that selects"),
        ({"rule": "first"}, "rule must be 'best' or 'sparsest'"),
        ({"scoring": 3}, "scoring must be a name"),
        ({"ball": "l3"}, "ball must be one of"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"cv": 1}, "cv|fold|split"),
    ],
)
def test_wrong_parameters_are_errors(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifierCV(**parameters).fit(X, y)
