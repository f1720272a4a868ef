import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.comparison.scores import (
    SCORINGS,
    area_under_curve,
    class_table,
    confusion,
    score_confusion,
)
from tests.oracles import comparison as oracle


def predictions(n_classes, seed=0, n=60, ties=False):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    p = rng.dirichlet(np.ones(n_classes), size=n) + 0.3 * np.eye(n_classes)[codes]
    p = np.round(p, 1) + 0.01 if ties else p
    p /= p.sum(axis=1, keepdims=True)
    return codes, p


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_those_of_scikit_learn(scoring, n_classes, ties):
    codes, p = predictions(n_classes, ties=ties)
    labels = p.argmax(axis=1)
    expected = oracle.score(scoring, codes, labels, p)
    if scoring == "roc_auc":
        found = area_under_curve(codes, p)
    else:
        found = score_confusion(confusion(codes, labels, n_classes), scoring)
    assert_allclose(found, expected)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_weight_is_the_row_so_many_times(scoring):
    codes, p = predictions(3, seed=1)
    labels = p.argmax(axis=1)
    weights = np.random.default_rng(2).integers(0, 4, size=(5, codes.size)).astype(float)
    if scoring == "roc_auc":
        found = area_under_curve(codes, p, weights)
    else:
        found = score_confusion(confusion(codes, labels, 3, weights), scoring)
    for row, value in zip(weights, found, strict=True):
        again = np.repeat(np.arange(codes.size), row.astype(int))
        assert_allclose(value, oracle.score(scoring, codes[again], labels[again], p[again]))


def test_the_class_table_counts():
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0, 0])
    p = np.column_stack([1 - labels, labels]) * 0.8 + 0.1
    row = class_table(codes, labels, p, np.array(["well", "ill"]))["ill"]
    assert row["sensitivity"] == 4 / 6 and row["specificity"] == 3 / 4
    assert row["ppv"] == 4 / 5 and row["npv"] == 3 / 5 and row["rows"] == 6


def test_a_ratio_of_nothing_is_none():
    codes, labels = np.array([0, 1, 2, 0]), np.array([0, 1, 1, 0])
    row = class_table(codes, labels, np.eye(3)[labels], np.array([5, 6, 7]))["7"]
    assert row["ppv"] is None and row["sensitivity"] == 0.0
