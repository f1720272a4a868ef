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

options = pytest.mark.parametrize(
    "parameters", [{}, {"metric": "l1"}, {"scaling": "std"}, {"covariance": "shrunk"}], ids=str
)


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
    fitted = SparseCenterClassifierCV(cv=cv, n_resamples=0, **parameters).fit(X, y)
    splits = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    assert_array_equal(fitted.path_["k"], np.arange(1, 16))
    assert fitted.path_["scores"].shape == (len(splits), 15)
    for row, (train, test) in zip(fitted.path_["scores"], splits, strict=True):
        for k in (1, 4, 15):
            one = SparseCenterClassifier(k, **parameters).fit(X[train], y[train])
            expected = balanced_accuracy_score(y[test], one.predict(X[test]))
            assert row[k - 1] == pytest.approx(expected)
    assert_allclose(fitted.path_["mean"], fitted.path_["scores"].mean(axis=0))


@options
def test_the_model_is_the_one_trained_on_all_data(parameters):
    X, y = make_data()
    fitted = SparseCenterClassifierCV(n_resamples=0, **parameters).fit(X, y)
    plain = SparseCenterClassifier(fitted.n_features_, **parameters).fit(X, y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_allclose(fitted.gains_, plain.gains_, rtol=1e-9)
    assert_allclose(
        fitted.decision_function(X) * fitted.temperature_, plain.decision_function(X), rtol=1e-8
    )
    assert_array_equal(fitted.predict(X), plain.predict(X))


def test_rules_choose_the_best_and_the_sparsest_within_one_standard_error():
    X, y = make_data()
    best = SparseCenterClassifierCV(n_resamples=0).fit(X, y)
    mean, se = best.path_["mean"], best.path_["se"]
    assert best.n_features_ == np.flatnonzero(mean == mean.max())[0] + 1
    assert best.best_score_ == mean.max()
    sparse_one = SparseCenterClassifierCV(n_resamples=0, rule="1se").fit(X, y)
    within = mean >= mean.max() - se[mean.argmax()]
    assert sparse_one.n_features_ == np.flatnonzero(within)[0] + 1
    assert_allclose(se, best.path_["scores"].std(axis=0, ddof=1) / np.sqrt(5))


def test_features_that_matter_are_stable():
    X, y = make_data()
    fitted = SparseCenterClassifierCV(random_state=0).fit(X, y).with_n_features(3)
    assert np.all((fitted.stability_ >= 0) & (fitted.stability_ <= 1))
    assert fitted.stability_[:3].min() > 0.9
    assert fitted.stability_[3:].mean() < 0.5


def test_temperature_makes_out_of_fold_probabilities_better():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(0, y.size, 2), np.arange(1, y.size, 2)
    fitted = SparseCenterClassifierCV(metric="l1", n_resamples=0).fit(X[train], y[train])
    calibrated = log_loss(y[test], fitted.predict_proba(X[test]))
    assert fitted.temperature_ > 1.5
    fitted.temperature_ = 1.0
    assert calibrated < 0.8 * log_loss(y[test], fitted.predict_proba(X[test]))


def test_sparse_data_use_a_grid_of_a_few_hundred():
    X = sparse.random_array((80, 3000), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = np.arange(80) % 2
    fitted = SparseCenterClassifierCV(n_resamples=2, random_state=0).fit(X, y)
    assert 128 < fitted.path_["k"].size < 400
    assert fitted.path_["k"][-1] == 3000


def test_given_levels_scores_and_groups():
    X, y = make_data(n_classes=2)
    groups = np.arange(y.size) // 4
    fitted = SparseCenterClassifierCV(
        ks=[2, 5, 99], scoring="roc_auc", cv=GroupKFold(3), n_resamples=0
    ).fit(X, y, groups=groups)
    assert fitted.path_["k"].tolist() == [2, 5, 15]
    assert 0.5 < fitted.score(X, y) <= 1
    assert not hasattr(fitted, "stability_")
    plain = SparseCenterClassifierCV(scoring=None, n_resamples=0).fit(X, y)
    assert plain.score(X, y) == np.mean(plain.predict(X) == y)


def test_no_feature_with_gain_on_all_data_though_folds_have_some():
    A = np.array([[0.0], [1], [2], [3]] * 5)
    with pytest.warns(UserWarning, match="only 0 separate"):
        fitted = SparseCenterClassifierCV(n_resamples=0, cv=3).fit(
            np.r_[A, A], np.repeat([0, 1], 20)
        )
    assert fitted.n_features_ == 0
    assert_allclose(fitted.predict_proba(A), 0.5)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_rows_of_weight_zero_are_rows_left_out(metric):
    X, y = make_data(n_classes=2)
    weight = np.ones(y.size)
    weight[:40] = 0
    cv = [(np.arange(40, 120), np.arange(40)), (np.arange(80), np.arange(80, 120))]
    fitted = SparseCenterClassifierCV(metric=metric, cv=cv, n_resamples=4, random_state=0)
    fitted.fit(X, y, sample_weight=weight)
    assert len(fitted.path_["scores"]) == 1  # the test rows of the first split have no weight
    without = SparseCenterClassifierCV(
        metric=metric, cv=[(np.arange(40), np.arange(40, 80))], n_resamples=4, random_state=0
    ).fit(X[40:], y[40:])
    assert_allclose(fitted.path_["scores"], without.path_["scores"])
    assert_array_equal(fitted.stability_, without.stability_)
    cv = [(np.arange(40), np.arange(40, 80))]
    with pytest.raises(ValueError, match="All training rows of split 0 have zero weight"):
        SparseCenterClassifierCV(metric=metric, cv=cv).fit(X, y, sample_weight=weight)
    cv = [(np.arange(40, 80), np.arange(40))]
    with pytest.raises(ValueError, match="No split has a test row with weight"):
        SparseCenterClassifierCV(metric=metric, cv=cv).fit(X, y, sample_weight=weight)


def test_stability_is_that_of_this_fit():
    X, y = make_data()
    fitted = SparseCenterClassifierCV(n_resamples=4, random_state=0).fit(X, y)
    assert fitted.stability_.max() == 1.0
    assert not hasattr(fitted.set_params(n_resamples=0).fit(X[:, :4], y), "stability_")


def test_a_half_sample_that_cannot_be_trained_is_named():
    X = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.raises(ValueError, match=r"half-sample for stability_ \(30 rows\).*full rank"):
        SparseCenterClassifierCV(covariance="empirical", random_state=0).fit(X, np.arange(60) % 2)


def test_scores_of_decisions_when_a_fold_lacks_a_class():
    X, y = make_data(n_classes=2)
    X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    some = np.flatnonzero(y == 0)[:30]
    cv = [(some, np.arange(120)), (np.arange(0, 120, 2), np.arange(1, 120, 2))]
    fitted = SparseCenterClassifierCV(cv=cv, scoring="roc_auc", n_resamples=0).fit(X, y)
    assert np.all(np.isfinite(fitted.path_["scores"]))


def test_one_fold_a_sample():
    X, y = make_data(n=60)
    fitted = SparseCenterClassifierCV(cv=LeaveOneOut(), n_resamples=0).fit(X, y)
    assert fitted.path_["scores"].shape == (60, 15)


def test_masks_are_splits_too():
    X, y = make_data()
    mask = np.arange(y.size) % 3 == 0
    masks = SparseCenterClassifierCV(cv=[(~mask, mask)], n_resamples=0).fit(X, y)
    rows = SparseCenterClassifierCV(
        cv=[(np.flatnonzero(~mask), np.flatnonzero(mask))], n_resamples=0
    ).fit(X, y)
    assert_array_equal(masks.path_["scores"], rows.path_["scores"])


def test_path_scores_of_probabilities_use_the_temperature():
    X, y = make_data()
    fitted = SparseCenterClassifierCV(n_resamples=0).fit(X, y)
    scores = fitted.path_score(X, y, [fitted.n_features_], scoring="neg_log_loss")
    assert scores[0] == pytest.approx(-log_loss(y, fitted.predict_proba(X)))


def test_a_scorer_that_takes_no_weights_is_told():
    X, y = make_data()

    def accuracy(estimator, X, y):
        return np.mean(estimator.predict(X) == y)

    assert SparseCenterClassifierCV(scoring=accuracy, n_resamples=0).fit(X, y).best_score_ > 0.7
    with pytest.raises(ValueError, match="does not take sample_weight"):
        SparseCenterClassifierCV(scoring=accuracy).fit(X, y, sample_weight=np.ones(y.size))


@options
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_class_that_some_folds_do_not_have(parameters):
    X, y = make_data()
    X, y = np.vstack([X, X[:1] + 20]), np.append(y, 3)
    fitted = SparseCenterClassifierCV(random_state=0, n_resamples=4, **parameters).fit(X, y)
    assert fitted.predict(X[-1:])[0] == 3
    assert np.all(np.isfinite(fitted.path_["mean"]))


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_two_classes_one_of_them_a_single_sample():
    X, y = make_data(n_classes=2)
    y[:] = 0
    y[7], X[7] = 1, 25.0
    fitted = SparseCenterClassifierCV(cv=3, random_state=0, n_resamples=4).fit(X, y)
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


@pytest.mark.parametrize("n_steps", [1, 3, 5, 9])
def test_a_callback_can_stop_and_leaves_a_usable_classifier(n_steps):
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    fitted = SparseCenterClassifierCV(n_resamples=20, random_state=0)
    fitted.set_callbacks(StopAfter(n_steps)).fit(X, y)
    assert len(fitted.path_["scores"]) == min(n_steps, 5)
    assert fitted.score(X, y) > 0.7
    assert hasattr(fitted, "stability_") == (n_steps > 5)
    assert getattr(fitted, "stability_", np.ones(1)).max() == 1.0  # of the halves that were done


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "2se"}, "rule must be 'best' or '1se', got '2se'"),
        ({"ks": [0, 3]}, "ks must be a list of integers >= 1"),
        ({"ks": []}, "ks must be a list of integers >= 1"),
        ({"ks": [1.5]}, "ks must be a list of integers >= 1"),
        ({"ks": [[1, 2]]}, "ks must be a list of integers >= 1"),
        ({"ks": 3}, "ks must be a list of integers >= 1"),
        ({"n_resamples": -1}, "n_resamples must be an integer >= 0"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer >= 0"),
        ({"cv": []}, "gave no split"),
        ({"cv": [([], [0, 1])]}, "without training or without test rows"),
        ({"scoring": "nonsense"}, "nonsense"),
        ({"scoring": ["accuracy"]}, "scoring must be a name, a callable or None"),
        ({"cv": [([0, 1], [1000])]}, "not among the 120 samples"),
    ],
)
def test_parameters_that_make_no_sense_are_told(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        SparseCenterClassifierCV(**parameters).fit(X, y)
