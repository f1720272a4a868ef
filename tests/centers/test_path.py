import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.metrics import balanced_accuracy_score, f1_score, get_scorer

from tamis import SparseCenterClassifier
from tamis.centers import _path_kernels, terms
from tamis.centers import path as path_module
from tamis.centers.path import CentersPath
from tamis.paths.path import path_grid

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
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_decisions_of_all_levels_are_those_of_the_models(parameters, n_classes, form):
    X, y = make_data(n_classes)
    path = SparseCenterClassifier(**parameters).fit_path(form(X), y, [1, 4, 25])
    new = form(make_data(n_classes, seed=1)[0])
    decisions = path.decisions(new)
    labels = path.labels(new)
    assert decisions.shape == (3, 150, n_classes)
    for level in range(3):
        model = path.model(level)
        assert isinstance(model, SparseCenterClassifier)
        assert model.n_features_to_select == model.n_features_ == path.levels[level]
        assert_array_equal(decisions[level].argmax(axis=1), model.predict(new))
        assert_array_equal(labels[level], model.predict(new))
        assert_allclose(softmax(decisions[level], axis=1), model.predict_proba(new), atol=1e-9)
        assert_array_equal(path.features(level), np.flatnonzero(model.support_))
    assert_allclose(path.decisions(new, slice(1, 2))[0], decisions[1], atol=1e-9)
    assert_array_equal(path.usage(new).cost, np.tile([[1.0], [4.0], [25.0]], 150))


def test_ties_are_ties_on_the_path_and_in_the_models():
    X, y = np.array([[0.0, 0.1], [2.0, 0.3]]), np.array(["a", "b"])
    path = SparseCenterClassifier(scaling=None).fit_path(X, y)
    middle = np.array([[1.0, 0.2], [1.0, 0.1 + 0.2 - 0.1]])
    for level in range(2):
        decisions = path.decisions(middle)[level]
        assert_array_equal(decisions[:, 0], decisions[:, 1])
        assert_array_equal(path.model(level).predict(middle), ["a", "a"])


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("keep", [None, [0]])
def test_the_path_counts_groups_and_not_the_kept_ones(metric, keep):
    X, y = make_data(3, m=8)
    X[:, 6:] = 1.0  # a group without gain
    groups = [[0, 1], [2, 3], [4, 5], [6, 7]]
    path = SparseCenterClassifier(metric=metric, feature_groups=groups, keep=keep).fit_path(X, y)
    n_free = 3 if keep is None else 2
    assert_array_equal(path.levels, np.arange(1, n_free + 2))
    assert_array_equal(path.n_features, [*range(1, n_free + 1), n_free])
    assert_array_equal(path.features(n_free), np.arange(6))
    assert keep is None or {0, 1} < set(path.features(0))


def test_fit_path_with_weights_levels_and_labels_leaves_the_estimator_alone():
    X, y = make_data(2)
    names = np.array(["no", "yes"])[y]
    weight = np.random.default_rng(0).integers(0, 3, y.size).astype(float)
    estimator = SparseCenterClassifier(3)
    path = estimator.fit_path(X, names, 4, sample_weight=weight)
    assert not hasattr(estimator, "classes_")
    assert path.levels.tolist() == [1, 3, 9, 25]
    assert path.classes.tolist() == ["no", "yes"]
    fitted = SparseCenterClassifier(9).fit(X, names, weight)
    model = path.model(2)
    assert_array_equal(model.support_, fitted.support_)
    assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(model.partial_fit(X, names).gains_, fitted.partial_fit(X, names).gains_)


@pytest.mark.parametrize("priors", ["uniform", [0.2, 0.3, 0.5]])
def test_the_path_of_class_indices_may_lack_a_class(priors):
    X, y = make_data(3)
    rows = y != 2
    path = SparseCenterClassifier(priors=priors)._fit_path(X[rows], y[rows], [2, 5], n_classes=3)
    assert path.classes.tolist() == [0, 1, 2]
    assert np.all(path.labels(X) < 2)
    assert np.all(path.decisions(X)[..., 2] == -np.inf)
    assert_array_equal(path.model(1).predict(X), path.labels(X)[1])


def test_sparse_data_have_a_path_of_a_few_hundred_levels():
    X = sparse.random_array((40, 2000), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 2
    assert SparseCenterClassifier().fit_path(X, y).levels.size < 300
    assert SparseCenterClassifier().fit_path(X.toarray(), y).levels.size == 2000


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


def test_labels_of_another_length_are_an_error():
    X, y = make_data(3)
    fitted = SparseCenterClassifier().fit(X, y)
    for labels in (y[:-5], np.r_[y, y]):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            fitted.path_score(X, labels, [1, 2])
    with pytest.raises(ValueError, match="ks must be a sequence"):
        fitted.path_predict(X, 5)


@pytest.mark.parametrize("metric", ["l1", "l2"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_numpy_and_compiled_code_give_the_same_bits(form, n_classes, metric, monkeypatch):
    X, y = make_data(n_classes)
    X = form(X * (X > -0.5))
    model = SparseCenterClassifier(metric=metric).fit(X, y)._model
    summands = model.terms(model.ranked())
    results = []
    for limit in (0, 10**9):
        monkeypatch.setattr(terms, "WORTH_COMPILING", limit)
        ks = [5, 1, 0, 20, 5]
        results.append([terms.path_decisions(X, summands, ks), terms.path_labels(X, summands, ks)])
    assert_array_equal(results[0][0], results[1][0])
    assert_array_equal(results[0][1], results[1][1])


@pytest.mark.slow  # compiles the threaded twins
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_give_the_same_bits(form, n_classes, monkeypatch):
    X, y = make_data(n_classes)
    fitted = SparseCenterClassifier().fit(X, y)
    summands = fitted._model.terms(fitted._model.ranked())
    monkeypatch.setattr(terms, "WORTH_COMPILING", 0)
    serial = terms.path_decisions(form(X), summands, [1, 5, 20])
    labels = terms.path_labels(form(X), summands, [1, 5, 20])
    for name in ("dense_path", "csr_path", "dense_two_labels", "csr_two_labels"):
        kernel = getattr(_path_kernels, name)
        monkeypatch.setattr(kernel, "choose", lambda n, kernel=kernel: kernel.parallel)
    assert_array_equal(serial, terms.path_decisions(form(X), summands, [1, 5, 20]))
    assert_array_equal(labels, terms.path_labels(form(X), summands, [1, 5, 20]))


def test_chunks_of_rows_give_the_same_scores(monkeypatch):
    X, y = make_data(3, n=400)
    fitted = SparseCenterClassifier().fit(X, y)
    whole = fitted.path_score(X, y, None)
    calls = []
    labels = CentersPath.labels
    monkeypatch.setattr(CentersPath, "labels", lambda *a: calls.append(1) or labels(*a))
    monkeypatch.setattr(path_module, "_BLOCK", 25 * 100)
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
def test_invalid_numbers_of_features_are_an_error(ks):
    X, y = make_data(2)
    fitted = SparseCenterClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"Each of ks must be an integer >= 1"):
        fitted.path_predict(X, ks)
