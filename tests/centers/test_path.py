import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, f1_score, get_scorer

from tamis import SparseCenterClassifier
from tamis.centers import _path_kernels, path
from tamis.centers.path import path_grid

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
options = pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"metric": "l1"},
        {"scaling": None, "priors": "empirical"},
        {"metric": "l1", "scaling": "std", "priors": "empirical"},
        {"covariance": "shrunk"},
    ],
    ids=str,
)


def make_data(n_classes, seed=0, n=150, m=25):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.8) + 0.3 * y[:, None] * rng.random(m)
    return X, y


@options
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_the_path_equals_one_model_at_a_time(parameters, n_classes, form):
    X, y = make_data(n_classes)
    fitted = SparseCenterClassifier(**parameters).fit(X, y)
    new, truth = make_data(n_classes, seed=1)
    ks = [7, 1, 25, 2, 7, 40]
    labels = fitted.path_predict(form(new), ks)
    scores = fitted.path_score(form(new), truth, ks)
    assert labels.shape == (len(ks), len(new))
    for row, score, k in zip(labels, scores, ks, strict=True):
        one = fitted.with_n_features(k)
        assert_array_equal(row, one.predict(new))
        assert score == pytest.approx(one.score(new, truth))


@options
def test_without_ks_the_path_has_every_number_of_features(parameters):
    X, y = make_data(3)
    fitted = SparseCenterClassifier(**parameters).fit(X, y)
    assert_array_equal(
        fitted.path_predict(X, None), fitted.path_predict(X, range(1, X.shape[1] + 1))
    )


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1_macro", "neg_log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_scoring_gives_what_scikit_learn_gives(scoring, weighted):
    X, y = make_data(3)
    fitted = SparseCenterClassifier().fit(X, y)
    weight = np.random.default_rng(0).random(y.size) if weighted else None
    scores = fitted.path_score(X, y, [1, 5], scoring=scoring, sample_weight=weight)
    kwargs = {"sample_weight": weight} if weighted else {}
    for score, k in zip(scores, [1, 5], strict=True):
        assert score == pytest.approx(
            get_scorer(scoring)(fitted.with_n_features(k), X, y, **kwargs)
        )


def test_roc_auc_and_a_callable_score_two_classes():
    X, y = make_data(2)
    fitted = SparseCenterClassifier().fit(X, y)

    def macro_f1(estimator, X, y):
        return f1_score(y, estimator.predict(X), average="macro")

    for scoring in ("roc_auc", macro_f1):
        scores = fitted.path_score(X, y, [2, 9], scoring=scoring)
        assert np.all((scores > 0.5) & (scores < 1))


def test_labels_that_training_did_not_know_count_as_errors():
    X, y = make_data(2)
    fitted = SparseCenterClassifier().fit(X, y)
    truth = y.copy()
    truth[:30] = 7
    scores = fitted.path_score(X, truth, [3], scoring="balanced_accuracy")
    expected = balanced_accuracy_score(truth, fitted.with_n_features(3).predict(X))
    assert scores[0] == pytest.approx(expected)


def test_labels_of_another_length_are_told():
    X, y = make_data(3)
    fitted = SparseCenterClassifier().fit(X, y)
    for labels in (y[:-5], np.r_[y, y]):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            fitted.path_score(X, labels, [1, 2])
    with pytest.raises(ValueError, match="ks must be a sequence"):
        fitted.path_predict(X, 5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_threads_give_the_same_bits(form, monkeypatch):
    X, y = make_data(3)
    fitted = SparseCenterClassifier().fit(X, y)
    terms = fitted._model.terms(fitted._model.ranked())
    serial = path.path_decisions(form(X), terms, [1, 5, 20])
    for kernel in (_path_kernels.dense_path, _path_kernels.csr_path):
        monkeypatch.setattr(kernel, "choose", lambda n, kernel=kernel: kernel.parallel)
    assert_array_equal(serial, path.path_decisions(form(X), terms, [1, 5, 20]))


def test_chunks_of_rows_give_the_same_scores(monkeypatch):
    X, y = make_data(3, n=400)
    fitted = SparseCenterClassifier().fit(X, y)
    whole = fitted.path_score(X, y, None)
    calls = []
    labels = path.path_labels
    monkeypatch.setattr(path, "path_labels", lambda *a: calls.append(1) or labels(*a))
    monkeypatch.setattr(path, "_CONFUSION_VALUES", 25 * 100)
    assert_allclose(fitted.path_score(X, y, None), whole)
    assert len(calls) == 4


@pytest.mark.parametrize("m", [1, 5, 128, 129, 1000, 273_779])
def test_the_grid_has_both_ends_and_a_few_hundred_levels(m):
    grid = path_grid(m)
    assert grid[0] == 1
    assert grid[-1] == m
    assert np.all(np.diff(grid) > 0)
    assert len(grid) <= 320
    assert np.all(np.diff(grid) <= np.maximum(1, grid[1:] * 0.06))


@pytest.mark.parametrize("ks", [[0], [-1], [1.5], ["3"], [True]])
def test_numbers_of_features_that_make_no_sense_are_told(ks):
    X, y = make_data(2)
    fitted = SparseCenterClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"Each of ks must be an integer >= 1"):
        fitted.path_predict(X, ks)
