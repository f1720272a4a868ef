"""Sample weights: a weight of 2 is the row twice, in training and in every score."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import read_table
from tamis._base import weighted_median
from tamis.comparison.choosing.draws import Draws
from tamis.comparison.choosing.results import score_rows
from tamis.comparison.methods.baselines import BASELINES, find_method
from tamis.comparison.methods.families import METHODS
from tamis.tables import Columns, Table, lay_out
from tamis.tables.reading.frames import as_table
from tests.comparison.problems import make

EXACT = [method.name for method in (*METHODS, *BASELINES) if method.takes_weights]


def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + np.eye(3, 5)[y] * 1.5
    X[rng.random(X.shape) < 0.1] = np.nan
    color = rng.choice(["red", "green", "blue"], size=60).astype(object)
    color[::9] = None
    return X, y, color, rng.integers(1, 4, size=60)


def problem(X, y, color, weights=None):
    found = make(X, y, kinds={"color": "categorical"}, others={"color": color})
    object.__setattr__(found, "weights", weights)
    return found


@pytest.mark.parametrize("name", EXACT)
def test_a_weight_of_two_is_the_row_twice(name):
    X, y, color, weights = data()
    again = np.repeat(np.arange(60), weights)
    weighted = problem(X, y, color, weights.astype(float))
    repeated = problem(X[again], y[again], color[again])
    method = find_method(name)
    levels = [0.3] if name in ("l1-logistic", "relaxed-l1", "most-frequent") else [1, 3, 6]
    found = []
    for one in (weighted, repeated):
        part = one.train_part(np.arange(one.n_rows), one.codes, 0)
        rows = part.test_rows(np.arange(one.n_rows))
        found.append(method.train(part, levels).predict(*rows)[0])
    assert_allclose(np.repeat(found[0], weights, axis=1), found[1], atol=2e-3)


@pytest.mark.parametrize("name", ["primal-dual", "panel"])
def test_training_rows_keep_the_weights_of_the_whole_table(name):
    X, y, color, _ = data()
    heavy = np.arange(60) >= 30
    whole = problem(X, y, color, np.where(heavy, 1.5, 0.5))
    same = problem(X, y, color, np.where(heavy, 1.5, 7.0))
    plain = problem(X, y, color)
    rows, method = np.flatnonzero(heavy), find_method(name)
    parts = [one.train_part(rows, one.codes, 0) for one in (whole, same, plain)]
    found = [method.train(part, [3]).predict(*part.test_rows(rows))[0] for part in parts]
    assert_allclose(found[0], found[1])
    assert not np.allclose(found[0], found[2], atol=1e-4)  # a ridge sees 45 rows, not 30


@pytest.mark.parametrize("form", ["array", "column", "table"])
def test_a_table_says_how_its_weights_are_read(form, tmp_path):
    X, y, _, counts = data()
    frame = pd.DataFrame(np.nan_to_num(X), columns=list("abcde")).assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)

    def read(weights):
        X, y, given = {
            "array": (frame[[*"abcde"]].to_numpy(), frame["y"], weights),
            "column": (frame.assign(w=weights), "y", "w"),
            "table": (read_table(tmp_path / "t.csv", "y"), None, weights),
        }[form]
        return as_table(X, y, weights=given, drop=[])[0]

    for scale in (1 / 7, 1e-9):
        relative = read(scale * counts)
        assert_allclose(relative.weights, counts / counts.mean())
        assert sum("are read as relative" in n and "sum to 60," in n for n in relative.notes) == 1
    whole = read(counts)
    assert_allclose(whole.weights, counts)
    assert sum("are read as counts" in note for note in whole.notes) == 1
    with pytest.raises(ValueError, match="a ratio above the limit"):
        read(np.where(counts == 1, 1e-20, counts))
    with pytest.raises(ValueError, match="row 1 has -"):
        read(-1.0 * counts)


@pytest.mark.parametrize("form", ["array", "column", "table", "file"])
def test_rows_of_weight_0_are_not_in_the_table(form, tmp_path):
    X, y, color, weights = data()
    weights[[0, 7, 31]] = 0
    used = np.flatnonzero(weights)
    frame = pd.DataFrame(np.nan_to_num(X), columns=list("abcde"))
    frame.assign(y=y, w=weights, site=color).to_csv(tmp_path / "t.csv", index=False)

    def read_file():
        return read_table(tmp_path / "t.csv", "y", weights="w", drop=["site"])

    read = {
        "array": lambda: as_table(frame.to_numpy(), y, weights=weights, drop=[])[0],
        "column": lambda: as_table(frame.assign(y=y, w=weights), "y", weights="w", drop=[])[0],
        "table": lambda: as_table(
            read_table(tmp_path / "t.csv", "y", drop=["w", "site"]), weights=weights, drop=[]
        )[0],
        "file": read_file,
    }
    table = read[form]()
    assert "3 rows of weight 0 ignored" in table.notes
    assert_allclose(table.columns.numeric, frame.to_numpy()[used])
    assert_allclose(table.weights, weights[used])
    assert table.y.astype(int).tolist() == y[used].tolist()
    assert table.row_numbers.tolist() == (used + 1).tolist()


def test_a_class_whose_rows_all_have_weight_0_is_absent():
    X, y, _, _ = data()
    table = as_table(np.nan_to_num(X), y, weights=(y != 2).astype(float), drop=[])[0]
    assert np.unique(table.y).tolist() == [0, 1]
    with pytest.raises(ValueError, match="has only one class"):
        as_table(np.nan_to_num(X), y, weights=(y == 2).astype(float), drop=[])


def test_what_stands_for_a_missing_value_is_that_of_the_rows_repeated():
    X, y, color, weights = data()
    again = np.repeat(np.arange(60), weights)
    weighted = problem(X, y, color, weights.astype(float))
    repeated = problem(X[again], y[again], color[again])
    fills = [
        one.train_part(np.arange(one.n_rows), one.codes, 0).preparation.fill
        for one in (weighted, repeated)
    ]
    assert_allclose(*fills)


@pytest.mark.parametrize("seed", range(10))
def test_the_weighted_median_is_that_of_the_values_repeated(seed):
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(0, 9, size=12).astype(float), rng.integers(1, 5, size=12)
    expected = np.median(np.repeat(values, weights))
    assert weighted_median(values, weights.astype(float)) == expected


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"]
)
def test_scores_are_those_of_the_rows_repeated(scoring):
    rng = np.random.default_rng(1)
    codes, p = rng.integers(0, 3, size=50), rng.dirichlet(np.ones(3), size=50)
    weights = rng.integers(1, 4, size=50)
    again = np.repeat(np.arange(50), weights)
    labels = p.argmax(axis=1)
    found = score_rows(codes, labels, p, scoring, weights.astype(float))
    assert_allclose(found, score_rows(codes[again], labels[again], p[again], scoring))


def test_a_class_without_weight_is_in_no_draw():
    codes = np.repeat([0, 1, 2], 20)
    weights = np.where(codes == 2, 0.0, 1.0)
    weights[40:43] = 1.0
    for drawn in Draws(codes, 3, None, 20, 0, weights):
        assert (drawn[:, 40:43].max(axis=1) > 0).all()


def test_rows_of_a_data_set_are_taken_with_all_that_belongs_to_them():
    table = Columns(np.arange(6.0)[:, None], np.array(["x"]))
    dataset = Table(
        table,
        {},
        np.arange(6),
        groups=np.arange(6),
        batches=np.arange(6),
        ids=np.arange(6),
        weights=np.arange(6.0),
    )
    some = dataset.take(np.array([1, 4]))
    for values in (some.y, some.groups, some.batches, some.ids, some.weights):
        assert values.tolist() == [1, 4]
    assert lay_out(some.columns, {})[1].ravel().tolist() == [1.0, 4.0]
