"""Predictions of rows by choices in which they had no say."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from tamis import compare
from tamis.comparison.choosing.predictions import temper
from tests.quick import few_draws


def noise(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)), rng.permutation(np.arange(n_rows) % 2)


@pytest.mark.parametrize("n_rows", [120, 600])
def test_every_row_has_one_calibrated_prediction(n_rows):
    X, y = noise(n_rows, 5)
    X[y == 1, 0] += 2
    comparison = compare(X, y, methods=["centers", "most-frequent"], cv=3, repeats=1)
    made = comparison.honest_score.predictions
    assert made.probabilities.shape == (n_rows, 2)
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(made.labels, made.probabilities.argmax(axis=1))
    right = np.mean([(made.labels == y)[y == c].mean() for c in (0, 1)])
    assert right == pytest.approx(comparison.honest_score.score, abs=0.03)


def test_the_table_of_predictions_gives_the_honest_score():
    pd = pytest.importorskip("pandas")
    X, y = noise(122, 5)
    X[y == 1, 0] += 2
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(5)])
    frame["y"] = np.where(y == 1, "ill", "well")
    frame.loc[[0, 50], "y"] = None
    comparison = compare(
        frame, "y", methods=["centers", "most-frequent"], cv=3, repeats=2, random_state=0
    )
    table = comparison.honest_predictions
    columns = ["row", "fold", "label", "prediction", "p_ill", "p_well"]
    assert list(table.columns) == columns and len(table) == 120
    assert 1 not in set(table["row"]) and 51 not in set(table["row"]) and max(table["row"]) == 122
    assert frame["y"][table["row"] - 1].tolist() == table["label"].tolist()
    first = [fold for fold in comparison.folds if fold.repeat == 0]
    for fold in first:
        assert set(table["fold"][fold.test]) == {fold.number + 1}
    found = balanced_accuracy_score(table["label"], table["prediction"])
    assert found == pytest.approx(comparison.honest_score.score)
    made = comparison.honest_score.predictions.probabilities
    np.testing.assert_array_equal(table[["p_ill", "p_well"]], made)


def test_choice_among_noise_is_not_in_its_predictions():
    """The chosen level looks good on the rows that chose it, and not on honest predictions."""
    chosen, honest = [], []
    for seed in range(8):
        X, y = noise(40, 150, seed)
        with few_draws():  # neither the choice nor the predictions depend on them
            comparison = compare(
                X, y, methods=["centers", "medians", "most-frequent"], cv=4, repeats=1
            )
        result, place = comparison.chosen
        chosen.append(result.scores[place])
        honest.append(np.mean(comparison.honest_score.predictions.labels == y))
    assert np.mean(chosen) > np.mean(honest) + 0.03
    assert np.mean(honest) < 0.58  # 320 rows: 0.5 and two and a half standard errors


def test_threshold_is_chosen_without_the_row():
    X, y = noise(600, 4)
    X[y == 1, 0] += 1
    comparison = compare(
        X, y, methods=["centers", "most-frequent"], positive=1, min_sensitivity=0.95
    )
    found = comparison.honest_score.predictions.labels[y == 1].mean()
    assert found == pytest.approx(comparison.honest_score.sensitivity, abs=0.03)
    assert found > 0.9


def test_temper():
    p = np.array([[0.8, 0.2], [1.0, 0.0]])
    np.testing.assert_allclose(temper(p, 1.0), p, atol=1e-15)
    np.testing.assert_allclose(temper(p, 2.0)[0], [2 / 3, 1 / 3])
