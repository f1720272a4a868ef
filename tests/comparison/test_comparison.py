import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse, stats
from sklearn.feature_selection import f_classif

from tamis.comparison.comparing import Callback
from tamis.comparison.fitted.f_tests import feature_p_values
from tamis.comparison.fitted.final import describe_features, fit_final
from tamis.comparison.fitted.importance import importance_of
from tamis.comparison.methods.baselines import BASELINES, find_method
from tamis.comparison.methods.families import METHODS
from tamis.comparison.problem.redundancy import correlations, drop_redundant
from tamis.comparison.run import plan
from tamis.comparison.running.store import ManifestMismatch, Store
from tamis.comparison.running.tasks import Task, compute_together, shuffle_labels
from tamis.comparison.settings import Settings
from tamis.paths.folds import leave_one_batch_out, make_folds
from tests.comparison.problems import blobs, compare, make, point

# The datum-wise method trains as long as all others together.
OURS = [
    pytest.param(method.name, marks=pytest.mark.slow)
    if method.name == "datum-wise"
    else method.name
    for method in METHODS
]
ALL = [*OURS, *(method.name for method in BASELINES)]


def compute(problem, task, seed):
    return compute_together(problem, [task], seed)[0]


def one_unit(problem, name, fold=None):
    fold = fold or make_folds(problem.codes, problem.groups, 3, 1, 0)[0]
    levels = tuple(find_method(name).levels(problem, 4))
    return Task("cv", name, levels, fold)


@pytest.mark.parametrize("name", [name for name in ALL if name != "most-frequent"])
def test_every_method_learns_and_counts_its_features(name):
    problem = make(*blobs(90, 8))
    task = one_unit(problem, name)
    outcome = compute(problem, task, 0)
    assert outcome.probabilities.shape == (len(task.levels), 30, 2)
    np.testing.assert_allclose(outcome.probabilities.sum(axis=2), 1.0, rtol=1e-5)
    right = outcome.probabilities[-1].argmax(axis=1) == problem.codes[task.fold.test]
    assert right.mean() > 0.75
    if name in ("centers", "medians", "landmarks"):
        assert outcome.used.sum(axis=1).tolist() == list(task.levels)


@pytest.mark.parametrize("name", OURS)
def test_test_rows_are_predicted_in_blocks(name, monkeypatch):
    X, y = blobs(90, 8)
    X[::7, 2] = np.nan
    problem = make(X, y)
    task = one_unit(problem, name)
    expected = compute(problem, task, 0)
    monkeypatch.setattr("tamis.comparison.running.tasks._BLOCK_VALUES", 7 * 2 * len(task.levels))
    found = compute(problem, task, 0)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)
    assert_array_equal(found.n_used, expected.n_used)
    assert_array_equal(found.cost, expected.cost)


def test_p_values_are_those_of_f_tests():
    X, y = blobs(90, 7)
    y = np.unique(y, return_inverse=True)[1]
    found, q = feature_p_values(X, y, np.arange(7), 7)
    np.testing.assert_allclose(found, f_classif(X, y)[1], rtol=1e-9)
    np.testing.assert_allclose(q, stats.false_discovery_control(found))
    # Nothing varies; nothing varies within the classes, also where sums are rounded.
    X[:, 0], X[:, 1] = 0.1, np.where(y > 0, 0.1, 1 / 3)
    found, _ = feature_p_values(X, y, np.array([0, 1, 2, 2, 3, 3, 3]), 4)
    assert found[:2].tolist() == [1.0, 0.0]
    p = f_classif(X[:, 2:], y)[1]
    np.testing.assert_allclose(
        found[2:], np.minimum(1, [2 * p[:2].min(), 3 * p[2:].min()]), rtol=1e-9
    )


def test_the_most_frequent_class_is_predicted_for_every_row():
    X, y = blobs(90, 8)
    problem = make(X, np.where(np.arange(90) < 12, "ab", y))
    outcome = compute(problem, one_unit(problem, "most-frequent"), 0)
    np.testing.assert_array_equal(outcome.probabilities, np.tile([1.0, 0.0], (1, 30, 1)))


@pytest.mark.parametrize("name", ALL)
def test_a_feature_made_from_the_test_fold_is_of_no_use(name):
    """The trap: a feature that is the label in the test fold, and noise in training."""
    X, y = blobs(90, 8, shift=0.0)
    problem = make(X, y)
    task = one_unit(problem, name)
    test = task.fold.test
    trapped = X.copy()
    trapped[test, 5] = np.where(y[test] == "ab", -5.0, 5.0)
    before, after = compute(problem, task, 0), compute(make(trapped, y), task, 0)
    assert_array_equal(after.used, before.used)  # what is learned does not see the test rows


@pytest.mark.parametrize("name", ALL)
def test_a_test_row_changes_nothing_for_the_others(name):
    X, y = blobs(90, 8, shift=0.5)
    X[::7, 3] = np.nan
    task = one_unit(make(X, y), name)
    test = task.fold.test
    poisoned = X.copy()
    poisoned[test[::2]] = 1e9
    labels = y.copy()
    labels[test[::2]] = "cd"
    before = compute(make(X, y), task, 0)
    after = compute(make(poisoned, labels), task, 0)
    assert_array_equal(after.used, before.used)
    assert_array_equal(after.probabilities[:, 1::2], before.probabilities[:, 1::2])


def test_selection_outside_the_folds_would_look_good_and_ours_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2000)), np.arange(60) % 2
    everything = np.abs(X[y == 0].mean(axis=0) - X[y == 1].mean(axis=0))
    leaked = X[:, np.argsort(-everything)[:10]]
    settings = Settings(("centers",), max_features=10)
    fooled = compare(make(leaked, y), settings)
    honest = compare(make(X, y), settings)
    assert fooled.results[0].scores.max() > 0.7
    assert honest.honest_score.low < 0.5 < honest.honest_score.high


class Impatient(Callback):
    """Presses Ctrl-C when the second task begins."""

    n_begun = 0

    def on_task_begin(self, task):
        """Count the tasks."""
        self.n_begun += 1
        if self.n_begun == 2:
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_workers_and_checkpoints_do_not_change_a_number(name, tmp_path):
    problem = make(*blobs(60, 5))
    settings = Settings((name,), n_folds=3, n_repeats=1)
    plain = compare(problem, settings)
    store = Store(tmp_path / "a", {"is": "a"})
    compare(problem, settings, store=store, callbacks=[Impatient()])
    assert 0 < len(list((tmp_path / "a").glob("*.npz"))) < 3
    resumed = compare(problem, settings, store=store, n_jobs=2)
    assert_array_equal(plain.results[0].probabilities, resumed.results[0].probabilities)
    assert plain.choice == resumed.choice and plain.honest_score == resumed.honest_score


def test_a_broken_checkpoint_is_computed_again(tmp_path):
    problem = make(*blobs(60, 5))
    settings = Settings(("centers",), n_folds=3)
    store = Store(tmp_path, {})
    plain = compare(problem, settings, store=store)
    paths = sorted(tmp_path.glob("*.npz"))
    paths[0].write_bytes(paths[0].read_bytes()[:100])
    paths[1].write_bytes(b"")
    again = compare(problem, settings, store=store)
    assert again.honest_score == plain.honest_score


def test_a_store_of_other_work_is_refused_or_emptied(tmp_path):
    store = Store(tmp_path, {"options": {"seed": 1}})
    store.save("task", {"x": np.zeros(2)})
    with pytest.raises(ManifestMismatch, match="seed was 1, is now 2"):
        Store(tmp_path, {"options": {"seed": 2}})
    assert store.load("task") is not None
    assert Store(tmp_path, {"options": {"seed": 2}}, force=True).load("task") is None


def test_rows_of_a_group_stay_in_one_fold():
    codes = np.repeat([0, 1, 0, 1, 1, 0, 0, 1, 0, 1], 6)
    groups = np.arange(60) // 6
    for fold in make_folds(codes, groups, 3, 2, 0):
        assert not set(groups[fold.train]) & set(groups[fold.test])


def test_one_batch_is_left_out_at_a_time():
    X, y = blobs(60, 4)
    batches = np.array(["lab1", "lab2", "lab3"])[np.arange(60) // 20]
    problem = make(X, y, batches=batches)
    tasks = plan(problem, Settings(("centers",), n_folds=2)).tasks
    held_out = [task.fold for task in tasks if task.key.startswith("batch")]
    assert [set(batches[fold.test]) for fold in held_out] == [{"lab1"}, {"lab2"}, {"lab3"}]
    comparison = compare(problem, Settings(("centers",), n_folds=2))
    assert comparison.clinical["left_out_batches"]["score"] > 0.6


def categorical_problem(**options):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    color = np.where(y == 1, rng.choice(["red", "green"], 120), rng.choice(["blue", "pink"], 120))
    color[:12] = rng.choice(["red", "green", "blue", "pink"], 12)
    color = color.astype(object)
    color[5] = None
    X = rng.normal(size=(120, 4))
    return make(X, y, {"color": "categorical"}, {"color": color}, **options)


@pytest.mark.parametrize("name", OURS)
def test_dummies_are_counted_selected_and_asked_once(name):
    problem = categorical_problem()
    assert problem.names[-1] == "color" and problem.n_features == 5
    outcome = compute(problem, one_unit(problem, name), 0)
    assert outcome.used[0].sum() <= 2 and outcome.used[0, 4]
    assert outcome.n_used.max() <= 5


@pytest.mark.parametrize("name", OURS)
def test_kept_features_are_in_and_not_counted(name):
    X, y = blobs(90, 6)
    problem = make(X, y, keep=["x0"])
    outcome = compute(problem, one_unit(problem, name), 0)
    assert problem.n_features == 5
    if name != "datum-wise":
        assert outcome.used[:, 0].all()
        assert outcome.used[0].sum() == 2 and outcome.n_used[0].max() == 1


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_final_model_is_the_model_of_the_folds_without_what_it_can_spare(name, is_sparse):
    X, y = blobs(90, 8)
    X = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0)) if is_sparse else X
    problem = make(X, y)
    comparison = compare(problem, Settings((name,), n_folds=2))
    at = 1
    choice = point(comparison, name, at)
    model, trained = fit_final(comparison, choice)
    records, _ = describe_features(comparison, choice, trained, {})
    assert set(model.classes_) == {"ab", "cd"}
    part = problem.train_part(np.arange(90), problem.codes, 0)
    levels = list(comparison.results[0].levels)
    expected = find_method(name).train(part, levels).predict(part.X, part.with_missing)[0][at]
    table = make_table(X)
    found = model.estimator.predict_proba(model.prepare(table))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if name in ("centers", "medians", "landmarks"):
        assert len(model.preparation.required) == comparison.results[0].levels[at]
    assert {"rank", "feature", "stability", "p", "q", "stands_out", "substitutes"} <= set(
        records[0]
    )
    assert importance_of(records[0])[0] == find_method(name).importance_name
    gains = [importance_of(record)[1] for record in records]
    assert gains == sorted(gains, reverse=True)


def make_table(X):
    from tamis.tables import Columns

    return Columns(X, np.array([f"x{j}" for j in range(X.shape[1])]))


def test_redundant_features_are_skipped():
    X, y = blobs(100, 5)
    rng = np.random.default_rng(1)
    X = np.column_stack([X, X[:, 0] + 0.01 * rng.normal(size=100)])
    codes = (y == "cd").astype(int)
    left = drop_redundant(X, codes, np.arange(6), np.zeros(6, bool), 0.95)
    assert sum(j in left for j in (0, 5)) == 1 and len(left) == 5
    kept = np.array([True, False, False, False, False, False])
    assert 0 in drop_redundant(X, codes, np.arange(6), kept, 0.95)


def test_correlations_are_those_of_numpy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) * (rng.uniform(size=(50, 7)) < 0.4)
    X[:, 4] = 2.0
    expected = np.nan_to_num(np.corrcoef(np.delete(X, 4, axis=1), rowvar=False))
    for matrix in (X, sparse.csr_array(X)):
        found = correlations(matrix, np.array([0, 2]))
        np.testing.assert_allclose(np.delete(found, 4, axis=1), expected[[0, 2]], atol=1e-12)
        np.testing.assert_allclose(found[:, 4], 0.0, atol=1e-12)


def test_permutations_give_a_small_p_value_for_a_signal_and_not_for_noise():
    settings = Settings(("centers",), n_folds=2, permutations=19)
    signal = compare(make(*blobs(60, 5)), settings)
    assert signal.p_value == 1 / 20
    rng = np.random.default_rng(3)
    noise = compare(make(rng.normal(size=(60, 5)), np.arange(60) % 2), settings)
    assert noise.p_value > 0.05


def test_features_that_tell_the_batch_are_flagged():
    X, y = blobs(120, 5)
    batches = np.repeat(["a", "b"], 60)
    X[batches == "b", 0] += 3.0
    comparison = compare(make(X, y, batches=batches), Settings(("centers",), n_folds=2))
    records = comparison.fitted(point(comparison, "centers", 1))[1]
    told = {r["feature"]: r["tells_batch"] for r in records}
    assert told["x0"] and not told["x1"]


def test_missing_values_are_asked_by_nobody():
    X, y = blobs(90, 5)
    X[np.arange(90) % 3 == 0, 0] = np.nan
    problem = make(X, y)
    outcome = compute(problem, one_unit(problem, "datum-wise"), 0)
    assert np.isfinite(outcome.probabilities).all()


def test_a_minimal_sensitivity_is_reached():
    X, y = blobs(120, 4, shift=0.7)
    settings = Settings(("centers",), n_folds=3, positive=1, min_sensitivity=0.9)
    comparison = compare(make(X, y), settings)
    result, at = comparison.chosen
    positive = comparison.problem.codes == 1
    assert (result.labels[at, 0][positive] == 1).mean() >= 0.9
    assert comparison.honest_score.sensitivity > 0.8
    model, _ = fit_final(comparison, point(comparison, "centers", at))
    assert 0 < model.threshold < 1


def test_a_method_that_fails_is_told_and_the_others_go_on(monkeypatch):
    def fail(part, levels):
        raise ValueError("these data\nare too strange")

    monkeypatch.setattr(find_method("medians"), "train", fail)
    settings = Settings(("centers", "medians"), n_folds=2)
    comparison = compare(make(*blobs(40, 3)), settings)
    assert comparison.failed == {"medians": "these data are too strange (ValueError)"}
    assert comparison.choice.method == "centers"


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("redundancy", [None, 0.9])
def test_features_that_never_change_give_chance_and_no_crash(name, redundancy):
    problem = make(np.ones((12, 3)), ["ab", "cd"] * 6, redundancy=redundancy)
    comparison = compare(problem, Settings((name,), n_folds=3))
    assert 0 <= comparison.honest_score.low <= 0.5
    comparison.fitted(comparison.choice)


@pytest.mark.parametrize("name", OURS)
def test_two_rows_of_a_class_are_enough(name):
    X, y = blobs(4, 3)
    comparison = compare(make(X, y), Settings((name,), n_folds=2))
    assert np.isfinite([comparison.honest_score.score, comparison.honest_score.low]).all()
    comparison.fitted(comparison.choice)


@pytest.mark.parametrize("name", ["centers", "medians", "primal-dual"])
def test_the_final_threshold_finds_what_was_promised_whatever_the_priors(name):
    """Classes far apart: probabilities are 1 within rounding."""
    X, y = blobs(80, 3, shift=5.0)
    settings = Settings((name,), n_folds=4, positive=1, min_sensitivity=0.8)
    comparison = compare(make(X, y), settings)
    model, _ = fit_final(comparison, comparison.choice)
    new, labels = blobs(400, 3, shift=5.0, seed=1)
    table = make_table(new)
    for priors in (None, np.array([0.99, 0.01])):
        found = model.predict_rows(table, priors)
        assert (found.labels[labels == "cd"] == "cd").mean() > 0.95
        assert (found.labels[labels == "ab"] == "ab").mean() > 0.95
        assert_array_equal(model.predict(table, priors), found.labels)


def test_shuffled_labels_stay_with_their_groups_even_when_one_group_has_two():
    groups = np.repeat(np.arange(10), 4)
    y = (np.arange(10) % 2)[groups]
    y[0] = 1
    problem = make(np.zeros((40, 1)), y, groups=groups)
    seen = {tuple(shuffle_labels(problem, 0, p)) for p in range(50)}
    assert len(seen) > 40
    for codes in map(np.array, seen):
        assert sorted(codes[:4]) == [0, 0, 0, 1]  # the mixed group, inside of itself
        assert all(np.unique(codes[groups == g]).size == 1 for g in range(1, 10))
        assert codes.sum() == problem.codes.sum()


def test_kept_features_are_not_counted_where_they_are_asked_for():
    X, y = blobs(90, 4)
    X[:, 0] += 4.0 * (y == "cd")
    problem = make(X, y, keep=["x0"])
    outcome = compute(problem, one_unit(problem, "datum-wise"), 0)
    # x0, and another one that is asked for only where x0 is missing
    assert outcome.used[0, 0] and np.count_nonzero(outcome.used[0]) <= 2
    assert (outcome.n_used[0] == 0).all()  # x0 says it all, and is free


def test_a_batch_that_is_left_out_leaves_its_groups_out():
    batches, groups = np.repeat([0, 1, 2], 4), np.array([0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4])
    for fold in leave_one_batch_out(batches, groups, 0):
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert set(batches[fold.test]) == {fold.number}
    assert leave_one_batch_out(batches, groups, 0)[0].train.tolist() == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("name", OURS)
def test_no_model_is_larger_than_it_may_be(name):
    problem = make(*blobs(60, 8), max_features=3)
    levels = tuple(find_method(name).levels(problem, 3))
    fold = make_folds(problem.codes, None, 2, 1, 0)[0]
    outcome = compute(problem, Task("cv", name, levels, fold), 0)
    assert outcome.used.sum(axis=1).max() <= 3


def test_a_path_that_begins_with_two_features_still_has_one():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = y + 0.5 * rng.normal(size=80)
    X = np.column_stack([x, x + 1e-9 * rng.normal(size=80), rng.normal(size=80)])
    problem = make(X, y)
    part = problem.train_part(np.arange(80), problem.codes, 0)
    trained = find_method("primal-dual").train(part, [1, 2, 3])
    assert trained.features(0).size == 1
    right = trained.predict(X, X)[0][0].argmax(axis=1) == y
    assert right.mean() > 0.75


def test_workers_get_the_store_without_what_tells_the_user(tmp_path):
    lock = threading.Lock()  # cannot be pickled
    store = Store(tmp_path, {"a": 1}, tell=lambda line: lock)
    again = pickle.loads(pickle.dumps(store))
    again.save("x", {"value": np.arange(3)})
    assert_array_equal(store.load("x")["value"], np.arange(3))
