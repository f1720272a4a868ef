"""Rare categories in the folds of a comparison."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

from tamis import compare
from tamis.comparison.checks.events import _count_parameters
from tests.comparison.problems import make


def table(typos):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    sexes = np.where(rng.random(90) < 0.25 + 0.5 * y, "male", "female").astype(object)
    sexes[[3, 40]] = typos
    return pd.DataFrame({"age": 50 + 6 * y + 8 * rng.normal(size=90), "sex": sexes}), y


def test_typing_errors_are_compared_as_missing_values_are():
    found = []
    for typos in (["M", "Male"], [None, None]):
        X, y = table(typos)
        comparison = compare(X, y, methods=["centers", "most-frequent"], cv=3, repeats=1)
        found.append((comparison, comparison.model.predict_proba(table(["M", None])[0])))
    (one, shares), (other, expected) = found
    assert_allclose(shares, expected)
    assert_array_equal(one.results[0].scores, other.results[0].scores)


def test_a_fold_learns_its_own_rare_categories():
    words = np.array(["a", "b", "c"], dtype=object)[np.arange(60) % 2]
    words[:6] = "c"
    y = np.arange(60) // 2 % 2
    problem = make(np.zeros((60, 1)), y, kinds={"kind": "categorical"}, others={"kind": words})
    everything = problem.train_part(np.arange(60), problem.codes, 0)
    assert everything.columns.size == problem.preparation.n_columns == 4
    fold = problem.train_part(np.arange(2, 60), problem.codes, 0)
    assert [problem.preparation.columns[j] for j in fold.columns[1:]] == ["kind=b"]
    imputed, missing = fold.test_rows(np.arange(2))
    assert np.isnan(missing[:, 1]).all() and not np.isnan(imputed).any()


def test_rare_categories_are_no_parameters_of_a_regression():
    words = {
        "sex": ["male"] * 30 + ["female"] * 28 + ["M", "Male"],  # 1
        "site": ["A"] * 20 + ["B"] * 18 + ["C"] * 16 + ["D", "E", "F"] * 2,  # 3 and "other"
        "kind": ["a", "b", "c"] * 20,  # 2
        "smoker": ["yes", "no"] * 30,  # 1
    }
    others = {name: np.array(values, dtype=object) for name, values in words.items()}
    kinds = dict.fromkeys(others, "categorical")
    problem = make(np.zeros((60, 1)), np.arange(60) % 2, kinds=kinds, others=others)
    assert _count_parameters(problem) == 1 + 1 + 3 + 2 + 1
