"""The cross-validation engine, with a path whose decisions are given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from tamis.paths.engine import CrossValidation, check_rule
from tamis.paths.path import Path
from tamis.paths.rule import Neighbours

N_ROWS, N_LEVELS = 60, 5


class GivenPath(Path):
    """Column j of X is the decision for class 1 at level j."""

    def __init__(self, rows):
        self.rows = rows
        self.levels = np.arange(1.0, N_LEVELS + 1)
        self.classes = np.array([0, 1])
        self.n_features = np.arange(1, N_LEVELS + 1)

    def features(self, level):
        return np.array([level]) if self.rows.size % 2 else np.arange(level + 1)

    def decisions(self, X, places=slice(None)):
        return np.stack([np.zeros_like(X), X], axis=2).transpose(1, 0, 2)[places]

    def model(self, level):
        raise NotImplementedError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    codes = (rng.random(N_ROWS) < 0.3).astype(np.int64)
    X = rng.normal(size=(N_ROWS, N_LEVELS)) + np.linspace(0, 2, N_LEVELS) * (
        2 * codes[:, None] - 1
    )
    return X, codes


def splits_of(n_folds, seed=0):
    order = np.random.default_rng(seed).permutation(N_ROWS)
    parts = np.array_split(order, n_folds)
    return [(np.setdiff1d(order, part), part) for part in parts]


def run(X, codes, splits, scoring="balanced_accuracy", **more):
    cv = CrossValidation(X, codes, np.array(["a", "b"]), splits, scoring, **more)
    return cv.gather(list(cv.walk(lambda rows, fold: GivenPath(rows))))


def test_scores_are_those_of_all_out_of_fold_predictions(data):
    X, codes = data
    found = run(X, codes, splits_of(4))
    expected = [balanced_accuracy_score(codes, X[:, j] > 0) for j in range(N_LEVELS)]
    assert_allclose(found.scores, expected)
    for fold, (_, test) in enumerate(splits_of(4)):
        by_hand = [balanced_accuracy_score(codes[test], X[test, j] > 0) for j in range(N_LEVELS)]
        assert_allclose(found.fold_scores[fold], by_hand)


def test_rows_that_several_folds_test_count_once(data):
    X, codes = data
    once = run(X, codes, splits_of(4))
    twice = run(X, codes, splits_of(4) + splits_of(4, seed=1))
    assert_allclose(twice.scores, once.scores)
    assert_allclose(twice.errors.alone(), once.errors.alone())


def test_rows_that_no_fold_tests_do_not_count(data):
    X, codes = data
    rows = np.arange(40)
    found = run(X, codes, [(np.arange(40, N_ROWS), rows)])
    expected = [balanced_accuracy_score(codes[rows], X[rows, j] > 0) for j in range(N_LEVELS)]
    assert_allclose(found.scores, expected)


def test_other_scorings_are_means_over_folds(data):
    X, codes = data
    found = run(X, codes, splits_of(3), "roc_auc")
    expected = [
        [roc_auc_score(codes[test], X[test, j]) for j in range(N_LEVELS)]
        for _, test in splits_of(3)
    ]
    assert_allclose(found.fold_scores, expected)
    assert_allclose(found.scores, np.mean(expected, axis=0))
    spread = np.std(expected, axis=0, ddof=1) / np.sqrt(3)
    assert_allclose(found.errors.alone(), spread)


def test_sample_weights_are_rows_again(data):
    X, codes = data
    weight = np.random.default_rng(1).integers(1, 4, size=N_ROWS)
    again = np.repeat(np.arange(N_ROWS), weight)
    weighted = run(X, codes, [(np.arange(5), np.arange(N_ROWS))], sample_weight=weight * 1.0)
    repeated = CrossValidation(
        X[again],
        codes[again],
        np.array(["a", "b"]),
        [(np.arange(5), np.arange(again.size))],
        "balanced_accuracy",
    )
    expected = repeated.gather(list(repeated.walk(lambda rows, fold: GivenPath(rows))))
    assert_allclose(weighted.scores, expected.scores)


def test_weights_are_copies_of_rows_that_belong_together(data):
    X, codes = data
    weight = np.random.default_rng(1).integers(0, 4, size=N_ROWS)
    again = np.repeat(np.arange(N_ROWS), weight)
    test = [(np.arange(5), np.arange(N_ROWS))]
    weighted = run(X, codes, test, sample_weight=weight * 1.0)
    test = [(np.arange(5), np.arange(again.size))]
    repeated = run(X[again], codes[again], test, groups=again)
    assert_allclose(weighted.scores, repeated.scores)
    assert_allclose(weighted.errors.alone(), repeated.errors.alone())
    assert_allclose(weighted.errors.against(2), repeated.errors.against(2))


def test_a_row_that_a_fold_tests_twice_counts_once(data):
    X, codes = data
    (train, test), *rest = splits_of(4)
    twice = run(X, codes, [(train, np.r_[test, test[:3]]), *rest])
    assert_allclose(twice.scores, run(X, codes, splits_of(4)).scores)


def test_the_best_level_is_the_sparsest_of_equals():
    codes = np.arange(N_ROWS) % 2
    X = np.tile(codes[:, None] - 0.5, (1, N_LEVELS))
    X[:, 0] *= -1
    assert run(X, codes, splits_of(4)).choose("best") == 1


def test_the_rule_takes_a_sparser_level_that_is_as_good(data):
    X, codes = data
    found = run(X, codes, splits_of(4))
    sparse, best = found.choose("sparsest"), found.choose("best")
    means = Neighbours.of(found.n_features, found.errors).averaged(found.scores)
    assert sparse == np.flatnonzero(means >= means.max() - 0.01)[0]
    assert sparse <= best


def test_stability_is_the_share_of_the_folds(data):
    X, codes = data
    found = run(X, codes, splits_of(4))
    assert_array_equal(found.stability(1), [0, 1, 0, 0, 0])
    odd = splits_of(4)
    odd[0] = (odd[0][0][1:], odd[0][1])
    assert_array_equal(run(X, codes, odd).stability(1), [0.25, 1, 0, 0, 0])


def test_a_larger_temperature_for_decisions_that_are_too_sure(data):
    X, codes = data
    calm, loud = run(X, codes, splits_of(4)), run(10 * X, codes, splits_of(4))
    assert_allclose(loud.temperature(3), 10 * calm.temperature(3), rtol=1e-3)


def test_classes_that_a_fold_has_not_seen_are_wrong(data):
    X, codes = data

    class OneClass(GivenPath):
        def __init__(self, rows):
            super().__init__(rows)
            self.classes = np.array([1])

        def decisions(self, X, places=slice(None)):
            return super().decisions(X, places)[:, :, 1:]

    cv = CrossValidation(X, codes, np.array(["a", "b"]), splits_of(4), "accuracy")
    found = cv.gather(list(cv.walk(lambda rows, fold: OneClass(rows))))
    assert_allclose(found.scores, codes.mean())


def test_results_have_the_form_of_scikit_learn(data):
    X, codes = data
    results = run(X, codes, splits_of(4)).as_cv_results("k")
    assert [params["k"] for params in results["params"]] == [1, 2, 3, 4, 5]
    folds = np.stack([results[f"split{f}_test_score"] for f in range(4)])
    assert_allclose(results["mean_test_score"], folds.mean(axis=0))
    best = results["mean_test_score"].argmax()
    assert results["rank_test_score"][best] == 1
    assert results["rank_test_score"].max() <= N_LEVELS


@pytest.mark.parametrize("rule", ["most", None, 1])
def test_unknown_rules_are_refused(rule):
    with pytest.raises(ValueError, match="rule must be"):
        check_rule(rule)


def test_scores_that_are_all_nan_are_refused(data):
    X, codes = data
    with pytest.raises(ValueError, match="Every score is NaN"):
        run(X, codes, splits_of(3), lambda model, X, y: np.nan).choose()


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc"])
def test_decisions_that_were_kept_change_nothing(data, scoring):
    X, codes = data
    again = run(X, codes, splits_of(4), scoring)
    kept = run(X, codes, splits_of(4), scoring, keep_decisions=True)
    assert_array_equal(kept.scores, again.scores)
    assert_array_equal(kept.fold_scores, again.fold_scores)
    for evaluation in kept.evaluations:
        evaluation.path.decisions = None  # they are not computed again
    for level in range(N_LEVELS):
        assert kept.temperature(level) == again.temperature(level)
