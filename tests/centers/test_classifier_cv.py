import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tests.oracles import rule

options = pytest.mark.parametrize(
    "parameters", [{}, {"metric": "l1"}, {"scaling": "std"}, {"covariance": "shrunk"}], ids=str
)


def fold_scores(fitted):
    """Scores of shape (n_folds, n_levels)."""
    results = fitted.cv_results_
    n_folds = sum(name.startswith("split") for name in results)
    return np.stack([results[f"split{f}_test_score"] for f in range(n_folds)])


def make_data(n=120, m=15, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    X = rng.normal(size=(n, m))
    X[:, :3] += 1.5 * y[:, None]
    return X, y


@options
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(4),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=3, random_state=0),
        [(np.arange(60), np.arange(60, 120)), (np.arange(30, 120), np.arange(30))],
        [(np.r_[np.arange(60), np.arange(60)], np.arange(60, 120))],
    ],
    ids=["partition", "repeated", "given", "bootstrap"],
)
def test_scores_are_those_of_separate_fits_on_every_fold(parameters, cv):
    X, y = make_data()
    fitted = SparseCenterClassifierCV(cv=cv, **parameters).fit(X, y)
    splits = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    assert_array_equal(fitted.path_["level"], np.arange(1, 16))
    assert fold_scores(fitted).shape == (len(splits), 15)
    for row, (train, test) in zip(fold_scores(fitted), splits, strict=True):
        for k in (1, 4, 15):
            one = SparseCenterClassifier(k, **parameters).fit(X[train], y[train])
            expected = balanced_accuracy_score(y[test], one.predict(X[test]))
            assert row[k - 1] == pytest.approx(expected)
    assert_allclose(fitted.cv_results_["mean_test_score"], fold_scores(fitted).mean(axis=0))
    assert fitted.cv_results_["params"][3] == {"n_features_to_select": 4}


@options
def test_the_model_is_the_one_trained_on_all_data(parameters):
    X, y = make_data()
    fitted = SparseCenterClassifierCV(**parameters).fit(X, y)
    plain = SparseCenterClassifier(fitted.n_features_, **parameters).fit(X, y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_allclose(fitted.gains_, plain.gains_, rtol=1e-9)
    assert_allclose(
        fitted.decision_function(X) * fitted.temperature_, plain.decision_function(X), rtol=1e-8
    )
    assert_array_equal(fitted.predict(X), plain.predict(X))


def test_rules_choose_the_best_and_the_sparsest_that_is_good_enough():
    X, y = make_data()
    best = SparseCenterClassifierCV().fit(X, y)
    score = best.path_["score"]
    right = np.zeros((15, y.size))
    for train, test in StratifiedKFold(5).split(X, y):
        path = SparseCenterClassifier().fit_path(X[train], y[train])
        right[:, test] = path.labels(X[test]) == y[test]
    for k in (1, 8):
        expected = np.mean([right[k - 1, y == c].mean() for c in range(3)])
        assert score[k - 1] == pytest.approx(expected)
    assert best.n_features_ == np.flatnonzero(score > score.max() - 1e-9)[0] + 1
    assert best.best_score_ == pytest.approx(score.max())
    sizes, one_path, units = best.path_["n_features"], np.zeros(15), [[i] for i in range(y.size)]
    errors = rule.standard_errors(right, y, np.ones(y.size), units, True)
    for tolerance in (0.0, 0.01, 0.03, 0.1):
        few = SparseCenterClassifierCV(rule="sparsest", tolerance=tolerance).fit(X, y)
        place = rule.choose(score, sizes, tolerance, [True] * sizes.size, one_path, errors)[0]
        assert few.n_features_ == sizes[place] <= best.n_features_
    # A tolerance that is as large as any difference needs no more than one feature.
    assert SparseCenterClassifierCV(rule="sparsest", tolerance=1.0).fit(X, y).n_features_ == 1
    assert sorted(best.path_) == ["cost", "level", "n_features", "score", "standard_error"]


def test_stability_is_the_share_of_the_folds_that_select_a_feature():
    X, y = make_data()
    fitted = SparseCenterClassifierCV([4]).fit(X, y)
    counts = np.zeros(15)
    for train, _ in StratifiedKFold(5).split(X, y):
        counts += SparseCenterClassifier(4).fit(X[train], y[train]).support_
    assert_allclose(fitted.stability_, counts / 5)
    assert 0 < fitted.stability_[3:].max() < 1
    assert_array_equal(fitted.stability_[:3], 1.0)


def test_temperature_makes_out_of_fold_probabilities_better():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(0, y.size, 2), np.arange(1, y.size, 2)
    fitted = SparseCenterClassifierCV(metric="l1").fit(X[train], y[train])
    calibrated = log_loss(y[test], fitted.predict_proba(X[test]))
    assert fitted.temperature_ > 1.5
    fitted.temperature_ = 1.0
    assert calibrated < 0.8 * log_loss(y[test], fitted.predict_proba(X[test]))


def test_sparse_data_use_a_grid_of_a_few_hundred():
    X = sparse.random_array((80, 3000), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = np.arange(80) % 2
    fitted = SparseCenterClassifierCV().fit(X, y)
    assert 128 < fitted.path_["level"].size < 400
    assert fitted.path_["level"][-1] == 3000


def test_given_levels_scores_and_groups():
    X, y = make_data(n_classes=2)
    groups = np.arange(y.size) // 4
    fitted = SparseCenterClassifierCV([2, 5, 99], scoring="roc_auc", cv=GroupKFold(3)).fit(
        X, y, groups=groups
    )
    assert fitted.path_["level"].tolist() == [2, 5, 15]
    three = SparseCenterClassifierCV(3, cv=3).fit(X, y)
    assert three.path_["level"].tolist() == [1, 4, 15]
    assert 0.5 < fitted.score(X, y) <= 1
    plain = SparseCenterClassifierCV(scoring=None).fit(X, y)
    assert plain.score(X, y) == np.mean(plain.predict(X) == y)


def test_no_feature_with_gain_on_all_data_though_folds_have_some():
    A = np.array([[0.0], [1], [2], [3]] * 5)
    with pytest.warns(UserWarning, match="only 0 separate"):
        fitted = SparseCenterClassifierCV(cv=3).fit(np.r_[A, A], np.repeat([0, 1], 20))
    assert fitted.n_features_ == 0
    assert_allclose(fitted.predict_proba(A), 0.5)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_rows_of_weight_zero_are_rows_left_out(metric):
    X, y = make_data(n_classes=2)
    weight = np.ones(y.size)
    weight[:40] = 0
    cv = [(np.arange(40, 120), np.arange(40)), (np.arange(80), np.arange(80, 120))]
    fitted = SparseCenterClassifierCV(metric=metric, cv=cv)
    fitted.fit(X, y, sample_weight=weight)
    assert len(fold_scores(fitted)) == 1  # the test rows of the first split have no weight
    without = SparseCenterClassifierCV(metric=metric, cv=[(np.arange(40), np.arange(40, 80))]).fit(
        X[40:], y[40:]
    )
    assert_allclose(fold_scores(fitted), fold_scores(without))
    assert_array_equal(fitted.stability_, without.stability_)
    cv = [(np.arange(40), np.arange(40, 80))]
    with pytest.raises(ValueError, match="All training rows of split 0 have zero weight"):
        SparseCenterClassifierCV(metric=metric, cv=cv).fit(X, y, sample_weight=weight)
    cv = [(np.arange(40, 80), np.arange(40))]
    with pytest.raises(ValueError, match="No split has a test row with weight"):
        SparseCenterClassifierCV(metric=metric, cv=cv).fit(X, y, sample_weight=weight)


def test_scores_of_decisions_when_a_fold_lacks_a_class():
    X, y = make_data(n_classes=2)
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    some = np.flatnonzero(y == 0)[:30]
    cv = [(some, np.arange(120)), (np.arange(0, 120, 2), np.arange(1, 120, 2))]
    fitted = SparseCenterClassifierCV(cv=cv, scoring="roc_auc").fit(X, y)
    assert np.all(np.isfinite(fold_scores(fitted)))


def test_one_fold_a_sample():
    X, y = make_data(n=60)
    fitted = SparseCenterClassifierCV(cv=LeaveOneOut()).fit(X, y)
    assert fold_scores(fitted).shape == (60, 15)


def test_masks_are_splits_too():
    X, y = make_data()
    mask = np.arange(y.size) % 3 == 0
    masks = SparseCenterClassifierCV(cv=[(~mask, mask)]).fit(X, y)
    rows = SparseCenterClassifierCV(cv=[(np.flatnonzero(~mask), np.flatnonzero(mask))]).fit(X, y)
    assert_array_equal(fold_scores(masks), fold_scores(rows))


def test_path_scores_of_probabilities_use_the_temperature():
    X, y = make_data()
    fitted = SparseCenterClassifierCV().fit(X, y)
    scores = fitted.path_score(X, y, [fitted.n_features_], scoring="neg_log_loss")
    assert scores[0] == pytest.approx(-log_loss(y, fitted.predict_proba(X)))


def test_a_scorer_without_weights_is_an_error():
    X, y = make_data()

    def accuracy(estimator, X, y):
        return np.mean(estimator.predict(X) == y)

    assert SparseCenterClassifierCV(scoring=accuracy).fit(X, y).best_score_ > 0.7
    with pytest.raises(ValueError, match="does not take sample_weight"):
        SparseCenterClassifierCV(scoring=accuracy).fit(X, y, sample_weight=np.ones(y.size))


@options
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_some_folds_do_not_have(parameters):
    X, y = make_data()
    X, y = np.vstack([X, X[:1] + 20]), np.append(y, 3)
    fitted = SparseCenterClassifierCV(**parameters).fit(X, y)
    assert fitted.predict(X[-1:])[0] == 3
    assert np.all(np.isfinite(fitted.path_["score"]))


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_two_classes_one_of_them_a_single_sample():
    X, y = make_data(n_classes=2)
    y[:] = 0
    y[7], X[7] = 1, 25.0
    fitted = SparseCenterClassifierCV(cv=3).fit(X, y)
    assert_array_equal(fitted.predict(X), y)


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


@pytest.mark.parametrize("n_steps", [1, 3, 9])
def test_a_callback_can_stop_and_leaves_a_usable_classifier(n_steps):
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    fitted = SparseCenterClassifierCV()
    fitted.set_callbacks(StopAfter(n_steps)).fit(X, y)
    assert len(fold_scores(fitted)) == min(n_steps, 5)
    assert fitted.score(X, y) > 0.7
    assert fitted.stability_.max() == 1.0  # of the folds that were done


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "1se"}, "rule must be 'best' or 'sparsest' .*, got '1se'"),
        ({"levels": [0, 3]}, "levels must be a list of integers >= 1"),
        ({"levels": []}, "levels must be a list of integers >= 1"),
        ({"levels": [1.5]}, "levels must be a list of integers >= 1"),
        ({"levels": [[1, 2]]}, "levels must be a list of integers >= 1"),
        ({"levels": 0}, "levels must be a list of integers >= 1"),
        ({"cv": []}, "gave no split"),
        ({"cv": [([], [0, 1])]}, "without training or without test rows"),
        ({"scoring": "nonsense"}, "nonsense"),
        ({"scoring": ["accuracy"]}, "scoring must be a name, a callable or None"),
        ({"cv": [([0, 1], [1000])]}, "not among the 120 samples"),
    ],
)
def test_invalid_parameters_are_an_error(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        SparseCenterClassifierCV(**parameters).fit(X, y)
