"""Prediction sets: scikit-learn's checks, slow versions, crepes, and what is said about them."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.guarantees import ConformalClassifier, calibration_rows_needed
from tests.oracles import conformal as oracle


@parametrize_with_checks(
    [
        ConformalClassifier(),
        ConformalClassifier(method="cross", cv=3, class_conditional=False, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def make_data(n=150, n_classes=3, seed=0):
    return make_classification(
        n,
        6,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=[0.6, 0.3, 0.1][:n_classes],
        class_sep=0.8,
        random_state=seed,
    )


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers its training rows; its probabilities are the columns of X."""

    def fit(self, X, y, groups=None):
        self.classes_ = np.unique(y)
        self.rows_, self.groups_ = X[:, -1], groups
        return self

    def predict_proba(self, X):
        shares = np.exp(X[:, : len(self.classes_)] + 0.1 * np.sin(X[:, -1:] * self.rows_.size))
        return shares / shares.sum(axis=1, keepdims=True)


def with_numbers(X):
    """X with the number of each row as its last column."""
    return np.column_stack([X, np.arange(len(X))])


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("class_conditional", [True, False])
def test_p_values_against_the_slow_version(method, class_conditional):
    X, y = make_data(200)
    X = with_numbers(X)
    model = ConformalClassifier(
        Recorder(), method=method, class_conditional=class_conditional, random_state=0
    ).fit(X, y)
    # What did not train a model calibrates it.
    known = [
        (fold, own, -inner.predict_proba(X[[i]])[0, own])
        for fold, inner in enumerate(model.models_)
        for i, own in enumerate(y)
        if i not in inner.rows_
    ]
    new = with_numbers(3 * np.random.default_rng(1).normal(size=(20, 6)))
    p_values, sets = model.predict_p_values(new), model.predict_set(new, alpha=0.25)
    for i in range(20):
        for c in range(3):
            own = [(f, score) for f, label, score in known if label == c or not class_conditional]
            score_of_fold = [-inner.predict_proba(new[[i]])[0, c] for inner in model.models_]
            exact = oracle.p_value(own, len(model.models_), score_of_fold)
            assert p_values[i, c] == float(exact)
            assert sets[i, c] == (exact * 4 > 1)
    assert 0 < sets.mean() < 1


def test_equal_scores_count_as_strange():
    X, y = np.zeros((40, 7)), np.arange(40) % 2  # every row has the probabilities 1/2 and 1/2
    model = ConformalClassifier(Recorder(), random_state=0).fit(X, y)
    assert_array_equal(model.predict_p_values(X), 1.0)


def test_an_alpha_that_is_rounded_leaves_out_what_the_exact_one_does():
    X, y = make_data(n_classes=2)
    n = 9 * 4 + 3
    rows = np.concatenate([np.flatnonzero(y == c)[:n] for c in range(2)])
    model = ConformalClassifier(random_state=0, calibration_share=9 / n).fit(X[rows], y[rows])
    assert_array_equal(model.n_calibration_, [9, 9])
    assert 1 - 0.9 < 0.1
    exact, rounded = model.predict_set(100 * X, 0.1), model.predict_set(100 * X, 1 - 0.9)
    assert_array_equal(rounded, exact)
    assert not exact.all()
    assert model.coverage(1 - 0.9).n_needed == 9


@pytest.mark.parametrize("class_conditional", [True, False])
def test_sets_of_crepes_for_the_same_scores(class_conditional):
    crepes = pytest.importorskip("crepes")
    X, y = make_data(400)
    model = ConformalClassifier(class_conditional=class_conditional, random_state=0).fit(X, y)
    new = make_data(60, seed=1)[0]
    scores = -model.models_[0].predict_proba(new)
    if class_conditional:
        theirs = np.empty(scores.shape)
        for c, known in enumerate(model.calibration_scores_[0]):
            other = crepes.ConformalClassifier().fit(known, bins=np.full(known.size, c))
            column = other.predict_p(scores[:, [c]], bins=np.full(60, c), smoothing=False)
            theirs[:, c] = column[:, 0]
    else:
        other = crepes.ConformalClassifier().fit(model.calibration_scores_[0][0])
        theirs = other.predict_p(scores, smoothing=False)
    assert_allclose(model.predict_p_values(new), theirs, rtol=1e-12)
    for alpha in (0.07, 0.13, 0.31):  # not reached exactly, where crepes keeps the class
        assert_array_equal(model.predict_set(new, alpha), theirs >= alpha)


def test_the_whole_choice_is_redone_without_each_fold():
    X, y = make_data()
    model = ConformalClassifier(Recorder(), method="cross", cv=4, random_state=0)
    model.fit(with_numbers(X), y)
    left_out = [np.setdiff1d(np.arange(150), inner.rows_) for inner in model.models_]
    assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(150))
    assert_array_equal(model.n_calibration_, np.bincount(y))


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("class_conditional", [True, False])
def test_groups_stay_whole_and_calibrate_with_one_row(method, class_conditional):
    X, y = make_data()
    groups = np.array([f"patient {g}" for g in np.arange(150) // 5])
    model = ConformalClassifier(
        Recorder(), method=method, class_conditional=class_conditional, random_state=0
    ).fit(with_numbers(X), y, groups)
    for inner, scores in zip(model.models_, model.calibration_scores_, strict=True):
        kept = np.setdiff1d(np.arange(150), inner.rows_)
        assert not set(groups[kept]) & set(groups[inner.rows_.astype(int)])
        assert inner.groups_.size == inner.rows_.size
        for c in range(3):
            counted = groups[kept][y[kept] == c] if class_conditional else groups[kept]
            assert scores[c].size == len(set(counted))


def test_a_frozen_model_is_calibrated_on_all_rows_and_not_fitted():
    X, y = make_data(300)
    fitted = SparseCenterClassifier(3).fit(X[:150], y[:150])
    model = ConformalClassifier(FrozenEstimator(fitted)).fit(X[150:], y[150:])
    assert_array_equal(model.n_calibration_, np.bincount(y[150:]))
    assert_array_equal(model.predict(X), fitted.predict(X))
    assert_allclose(model.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ValueError, match="y has the label 7, which the fitted estimator does not"):
        ConformalClassifier(FrozenEstimator(fitted)).fit(X[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="cannot be fitted again"):
        ConformalClassifier(FrozenEstimator(fitted), method="cross").fit(X, y)


def test_frames_and_sparse_rows_reach_the_estimator():
    X, y = make_data()
    X = np.maximum(X, 0.0)
    names = [f"gene {j}" for j in range(6)]
    expected = ConformalClassifier(random_state=0).fit(X, y).predict_p_values(X)
    tables = [sparse.csc_array(X), pd.DataFrame(X, columns=names), pl.DataFrame(X, names)]
    for table in tables:
        model = ConformalClassifier(random_state=0).fit(table, y)
        assert_allclose(model.predict_p_values(table), expected, rtol=1e-9)
    assert model.models_[0].feature_names_in_.tolist() == names
    assert model.feature_names_in_.tolist() == names


def test_cross_takes_the_mean_of_the_models():
    X, y = make_data()
    model = ConformalClassifier(method="cross", cv=3, random_state=0).fit(X, y)
    mean = np.mean([inner.predict_proba(X) for inner in model.models_], axis=0)
    assert_allclose(model.predict_proba(X), mean, rtol=1e-9)
    assert_array_equal(model.predict(X), mean.argmax(axis=1))


def test_a_small_class_is_named_and_in_every_set():
    X, y = make_data(200)
    labels = np.array(["well", "ill", "rare"])[y]
    model = ConformalClassifier(random_state=0).fit(X, labels)
    coverage = model.coverage()
    assert dict(zip(model.classes_, model.n_calibration_ >= 19, strict=True)) == {
        "ill": False,
        "rare": False,
        "well": True,
    }
    assert coverage.small_classes.tolist() == ["ill", "rare"]
    sets = model.predict_set(10 * X)
    assert sets[:, :2].all()
    assert not sets[:, 2].all()
    ill, rare = model.n_calibration_[:2]
    assert (
        f"Class 'ill' has {ill} rows in the calibration set; 19 are needed to leave it out at "
        f"95.0 %: it is in every set.\nClass 'rare' has {rare} row"
    ) in str(coverage)
    assert str(coverage).count("Beta(") == 1


def test_nineteen_rows_are_enough_and_coverage_is_then_beta_19_1():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(63 * 2, 2)), np.repeat([0, 1], 63)
    model = ConformalClassifier(random_state=0, calibration_share=19 / 63).fit(X, y)
    coverage = model.coverage()
    assert coverage.n_needed == 19 == calibration_rows_needed(0.05)
    assert_array_equal(coverage.beta, [[19, 1], [19, 1]])
    assert_allclose(coverage.ranges[0], [0.025 ** (1 / 19), 0.975 ** (1 / 19)])  # B(19, 1): x**19
    assert coverage.small_classes.size == 0
    text = str(coverage)
    assert "Beta(19, 1): 95 % of calibrations give 82.4 % to 99.9 %." in text
    assert "contains its true class with probability at least 95.0 %." in text
    assert model.coverage(0.04).small_classes.tolist() == [0, 1]
    assert not model.predict_set(100 * X).all()
    assert model.predict_set(100 * X, alpha=0.04).all()


def test_cross_promises_one_minus_two_alpha():
    X, y = make_data(600, n_classes=2)
    coverage = ConformalClassifier(method="cross", random_state=0).fit(X, y).coverage()
    assert coverage.guaranteed == 0.9
    assert coverage.n_needed == 95
    text = str(coverage)
    assert (
        "at least 90.0 % (1 - 2 alpha, guaranteed), usually about 95.0 % (1 - alpha) or more."
        in text
    )
    assert "The whole selection was repeated without each of the 5 folds, and all 5 models" in text
    with pytest.raises(ValueError, match='only for method="split"'):
        coverage.ranges  # noqa: B018


def test_without_conditions_on_classes_all_rows_count_together():
    X, y = make_data(200)
    coverage = ConformalClassifier(class_conditional=False, random_state=0).fit(X, y).coverage()
    assert_array_equal(coverage.n_calibration, [60, 60, 60])
    assert str(coverage).startswith("The set of a new row contains")
    assert str(coverage).count("Beta(58, 3)") == 1
    few = ConformalClassifier(class_conditional=False, random_state=0).fit(X[:40], y[:40])
    assert "Every set has all classes" in str(few.coverage())


def test_a_class_that_no_model_knows_is_still_covered():
    X, y = make_data(60, n_classes=2)
    y[0] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConformalClassifier(method="cross", random_state=0).fit(X, y)
    assert model.predict_set(X)[:, 2].all()


def test_the_seed_decides_the_calibration_rows():
    X, y = make_data()
    fit = [ConformalClassifier(random_state=s).fit(X, y).predict_p_values(X) for s in (0, 0, 1)]
    assert_array_equal(fit[0], fit[1])
    assert (fit[0] != fit[2]).any()


def test_an_estimator_that_chooses_gets_the_groups():
    X, y = make_data()
    groups = np.arange(150) // 3
    model = ConformalClassifier(SparseCenterClassifierCV(cv=3), random_state=0)
    without = model.fit(X, y).models_[0].path_["standard_error"]
    train = ConformalClassifier(Recorder(), random_state=0).fit(with_numbers(X), y, groups)
    rows = train.models_[0].rows_.astype(int)
    inner = SparseCenterClassifierCV(cv=3).fit(X[rows], y[rows], groups=groups[rows])
    found = model.fit(X, y, groups).models_[0].path_["standard_error"]
    assert_array_equal(found, inner.path_["standard_error"])
    assert (found != without).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha must be a number between 0 and 1, got 0"),
        ({"method": "pooled"}, 'method must be "split" or "cross"'),
        ({"cv": 3}, 'cv does not apply to method="split"'),
        ({"method": "cross", "calibration_share": 0.2}, "calibration_share does not apply"),
        ({"calibration_share": 1.5}, "calibration_share must be a number between 0 and 1"),
        ({"method": "cross", "cv": 1}, "cv must be a number of folds, 2 or more, got 1"),
        ({"estimator": LinearSVC()}, "must have predict_proba, and LinearSVC has not"),
    ],
)
def test_wrong_parameters_are_errors(parameters, message):
    X, y = make_data(40)
    with pytest.raises(ValueError, match=message):
        ConformalClassifier(**parameters).fit(X, y)


# Records.


@pytest.mark.parametrize(
    "options", [{}, {"class_conditional": False}, {"method": "cross", "cv": 3}]
)
def test_a_classifier_comes_back_from_its_record(options):
    X, y = make_data(300)
    model = ConformalClassifier(SparseCenterClassifier(2), 0.1, random_state=0, **options)
    record = json.loads(json.dumps(model.fit(X, y).to_record()))
    again = ConformalClassifier.from_record(record)
    assert_array_equal(again.predict_p_values(X), model.predict_p_values(X))
    assert str(again.coverage()) == str(model.coverage())
    assert again.estimator.get_params() == model.estimator.get_params()
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_a_frozen_estimator_stays_frozen():
    X, y = make_data(300)
    inner = FrozenEstimator(SparseCenterClassifier(2).fit(X[:150], y[:150]))
    model = ConformalClassifier(inner).fit(X[150:], y[150:])
    again = ConformalClassifier.from_record(model.to_record())
    assert isinstance(again.estimator, FrozenEstimator)
    assert_array_equal(again.predict_set(X), model.predict_set(X))
    assert_array_equal(again.fit(X[150:], y[150:]).predict_set(X), model.predict_set(X))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda r: r["calibration"][0]["classes"].pop(), "classes must be 3 objects"),
        (lambda r: r["calibration"][0]["classes"][0]["scores"].insert(0, 0.0), "ascending"),
        (lambda r: r["calibration"][0]["classes"][0]["scores"].insert(0, -2.0), "at least -1"),
        (lambda r: r["models"].append(r["models"][0]), "one for split"),
        (lambda r: r["models"][0].update(model="ConformalClassifier"), "a classifier of tamis"),
        (
            lambda r: r["models"][0].update(model="LinearRegression"),
            "not a class of a tamis model",
        ),
        (lambda r: r["models"][0].update(classes=[7, 8, 9]), "the same classes"),
        (lambda r: r.update(estimator="new"), "estimator must be"),
    ],
)
def test_records_that_training_could_not_have_written_are_refused(change, match):
    X, y = make_data(300)
    record = json.loads(json.dumps(ConformalClassifier(random_state=0).fit(X, y).to_record()))
    change(record)
    with pytest.raises(ValueError, match=match):
        ConformalClassifier.from_record(record)


def test_only_classifiers_of_tamis_can_be_written():
    X, y = make_data(300)
    model = ConformalClassifier(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="must be a classifier of tamis to be written"):
        model.to_record()
