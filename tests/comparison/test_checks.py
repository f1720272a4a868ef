"""Every check has a case in which it speaks, a near miss, and stays quiet on shuffled labels."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from tamis import compare
from tamis.comparison.checks import (
    check_categories,
    check_columns,
    check_labels,
    check_leaks,
    check_rows,
)
from tamis.comparison.checks.events import rows_for_features
from tamis.comparison.checks.limits import check_limits
from tamis.comparison.checks.near_copies import split_columns
from tamis.comparison.checks.result import chance_level, check_result
from tamis.comparison.choosing.scores import area_under_curve
from tamis.comparison.prepare import find_disguised, handle_duplicates
from tamis.paths.copies import find_copies
from tamis.tables import Columns, Table, lay_out
from tamis.tables.columns.missing import MissingWords
from tests.comparison.problems import make
from tests.quick import smaller


def table_of(X, others=None, names=None):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    return Columns(X, np.array(names), others or {})


def leaks(X, y, others=None, **options):
    """Codes of the leak checks."""
    table = table_of(X, others)
    kinds = dict.fromkeys(others or {}, "categorical")
    problem = make(X, y, kinds=kinds, others=others, **options)
    return [check.code for check in check_leaks(table, problem)]


def noise(n=100, p=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), np.arange(n) % 2, rng


# Columns that separate the classes.


def test_a_column_that_separates_the_classes_far_ahead_of_the_next_is_told():
    X, y, rng = noise()
    X[:, 3] = y + 0.01 * rng.normal(size=100)
    assert leaks(X, y) == ["separating-column"]


def test_a_label_that_is_there_twice_is_told():
    X, y, _ = noise()
    X[:, 3], X[:, 5] = y, 7 - 2 * y
    assert "separating-column" in leaks(X, y)


def test_a_class_number_in_no_order_is_told():
    X = noise(150)[0]
    y = np.arange(150) % 5
    X[:, 2] = np.array([3.0, 0.0, 4.0, 1.0, 2.0])[y]
    assert "separating-column" in leaks(X, y)


def test_strong_markers_in_a_family_are_no_leak():
    X, y, rng = noise()
    X[:, :4] = y[:, None] * 4 + rng.normal(size=(100, 4))
    assert leaks(X, y) == []


def test_a_strong_marker_with_errors_is_no_leak():
    X, y, rng = noise()
    X[:, 3] = 2.5 * y + rng.normal(size=100)
    assert leaks(X, y) == []


def test_among_thousands_of_columns_chance_separates_a_few_samples():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 5000)), np.arange(12) % 2
    assert leaks(X, y) == []


def test_a_number_that_is_zero_except_in_one_class_is_told():
    X, y, rng = noise()
    X[:, 6] = np.where((y == 1) & (rng.random(100) < 0.5), rng.lognormal(size=100), 0.0)
    assert leaks(X, y) == ["one-sided-column"]


def test_a_number_that_is_zero_except_in_few_rows_of_one_class_is_not():
    X, y, _ = noise()
    X[:, 6] = 0.0
    X[[1, 3, 5], 6] = 2.0
    assert leaks(X, y) == []


def test_the_checks_work_on_sparse_data():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.poisson(0.2, size=(200, 40)).astype(float)
    X[:, 7] = np.where(y == 1, 1.0 + rng.poisson(1.0, size=200), 0.0)
    assert set(leaks(sparse.csr_array(X), y)) == {"separating-column", "one-sided-column"}
    X[:, 7] = rng.poisson(0.2, size=200)
    assert leaks(sparse.csr_array(X), y) == []


# Missing values and categories.


def test_gaps_that_reveal_the_class_are_told():
    X, y, rng = noise()
    X[(y == 1) & (rng.random(100) < 0.7), 2] = np.nan
    assert leaks(X, y) == ["revealing-missingness"]


def test_gaps_that_are_a_little_more_frequent_in_one_class_are_not():
    X, y, rng = noise()
    X[rng.random(100) < np.where(y == 1, 0.4, 0.25), 2] = np.nan
    assert leaks(X, y) == []


def test_leaks_are_counted_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr("tamis.comparison.checks.leaks._BLOCK_VALUES", 20)
    test_a_number_that_is_zero_except_in_one_class_is_told()
    test_a_number_that_is_zero_except_in_few_rows_of_one_class_is_not()
    test_gaps_that_reveal_the_class_are_told()
    test_gaps_that_are_a_little_more_frequent_in_one_class_are_not()


def test_a_category_that_reveals_the_class_is_told():
    X, y, rng = noise()
    ward = np.where((y == 1) & (rng.random(100) < 0.8), "intensive", "general").astype(object)
    assert leaks(X, y, {"ward": ward}) == ["revealing-category"]


def test_a_category_that_is_more_frequent_in_one_class_does_not():
    X, y, rng = noise()
    is_red = rng.random(100) < np.where(y == 1, 0.8, 0.2)
    assert leaks(X, y, {"color": np.where(is_red, "red", "blue").astype(object)}) == []


# Identifiers, times and weights.


def columns(**given):
    X = np.column_stack(list(given.values())).astype(float)
    table = table_of(X, names=list(given))
    return [check.code for check in check_columns(table, *find_disguised(table))]


def test_numbers_that_count_the_rows_are_told():
    assert columns(mrn=np.arange(60) * 10 + 4711.0) == ["identifier-in-disguise"]
    steps = np.where(np.arange(60) == 30, 500, 1)  # a gap between two wards
    assert columns(mrn=4711 + np.cumsum(steps)) == ["identifier-in-disguise"]


def test_a_sorted_measurement_is_no_identifier():
    ages = np.sort(np.random.default_rng(0).integers(200, 900, size=60))
    assert columns(income=np.unique(ages * 100)) == []


def test_times_that_are_written_as_numbers_are_told():
    rng = np.random.default_rng(0)
    days = 20240000 + 100 * rng.integers(1, 13, size=60) + rng.integers(1, 29, size=60)
    assert columns(admitted=days) == ["time-in-disguise"]
    assert columns(stamp=1.7e9 + rng.integers(0, 10**7, size=60)) == ["time-in-disguise"]


def test_large_whole_numbers_are_no_times():
    rng = np.random.default_rng(0)
    assert columns(population=rng.integers(20_000_000, 20_999_999, size=60)) == []


def test_survey_weights_are_told():
    rng = np.random.default_rng(0)
    assert columns(fnlwgt=rng.integers(10_000, 900_000, size=60)) == ["survey-weights"]
    assert columns(weight=rng.gamma(4, 0.25, size=4000)) == ["survey-weights"]


def test_the_weight_of_a_body_is_no_survey_weight():
    assert columns(weight=np.random.default_rng(0).normal(70, 10, size=60)) == []


# Rows.


def rows(X, y, duplicates="group", others=None, groups=None):
    dataset = Table(table_of(X, others), {}, y)
    dataset, copies, n_dropped = handle_duplicates(dataset, duplicates)
    codes = np.unique(dataset.y, return_inverse=True)[1]
    kinds = dict.fromkeys(others or {}, "categorical")
    measured = split_columns(dataset.columns, *lay_out(dataset.columns, kinds))
    groups = copies.groups if groups is None else groups
    return check_rows(copies, codes, *measured, duplicates, n_dropped, groups)


def codes_of(checks):
    return [check.code for check in checks]


def test_copies_are_counted_and_the_choice_is_named():
    X = np.repeat(np.random.default_rng(0).normal(size=(15, 4)), 6, axis=0)
    y = np.repeat(np.arange(15) % 2, 6)
    told = rows(X, y)
    assert codes_of(told) == ["duplicates"] and "75 rows repeat another row" in told[0].sentence
    assert "optimistic" in rows(X, y, "keep")[0].sentence
    assert "75 rows repeated an earlier row and were dropped" in rows(X, y, "drop")[0].sentence


def test_dropping_keeps_one_row_for_every_label():
    X = np.repeat(np.random.default_rng(0).normal(size=(15, 4)), 6, axis=0)
    y = np.arange(90) % 2
    dataset, copies, n_dropped = handle_duplicates(Table(table_of(X), {}, y), "drop")
    assert dataset.columns.n_rows == 30 and n_dropped == 60
    assert copies.n_copies == 15


def test_words_tell_rows_apart():
    X = np.ones((40, 1))
    words = np.array([f"text number {i // 2} of many" for i in range(40)], dtype=object)
    assert codes_of(rows(X, np.arange(40) // 2 % 2, others={"text": words})) == ["duplicates"]
    words = np.array(["yes", "no"] * 20, dtype=object)
    assert codes_of(rows(X, np.arange(40) % 2, others={"answer": words})) == []


def test_equal_rows_that_may_be_coincidences_are_counted():
    """Most incomes differ, but many are 0: rows without income repeat by chance."""
    rng = np.random.default_rng(0)
    income = np.where(np.arange(100) < 30, 0.0, rng.normal(size=100))
    X = np.column_stack([income, rng.integers(0, 2, size=(100, 2))])
    y = rng.integers(0, 2, size=100)
    assert "duplicates" not in codes_of(rows(X, y))
    X, y = np.concatenate([X, X[-3:]]), np.concatenate([y, y[-3:]])
    assert "3 rows repeat another row" in rows(X, y)[0].sentence
    assert "26 more equal another row, perhaps by coincidence." in rows(X, y)[0].sentence


def test_rows_that_are_nearly_copies_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(8, 2, size=1) + rng.normal(size=(40, 300))
    X[7] = X[3] + 0.01 * rng.normal(size=300)
    told = rows(X, np.arange(40) % 2)
    assert codes_of(told) == ["near-duplicates"] and "rows 4 and 8" in told[0].sentence


def test_rows_that_are_alike_because_all_are_is_no_near_copy():
    """Profiles of genes resemble each other: each gene has its own level."""
    rng = np.random.default_rng(0)
    X = rng.normal(8, 3, size=300) + 0.3 * rng.normal(size=(40, 300))
    assert codes_of(rows(X, np.arange(40) % 2)) == []


def measured_six_times(n_columns, size, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(20, n_columns)), 6, axis=0)
    return X * (1 + size * rng.normal(size=X.shape)), rng.integers(0, 2, size=20).repeat(6)


@pytest.mark.parametrize("n_columns, size", [(3, 1e-3), (8, 1e-4), (30, 1e-2), (300, 1e-2)])
def test_rows_closer_than_chance_makes_likely_are_told(n_columns, size):
    told = rows(*measured_six_times(n_columns, size))
    assert codes_of(told) == ["near-duplicates"] and told[0].severity == "warning"
    assert "scores are unreliable" in told[0].sentence and "--groups" in told[0].advice


def a_visit(rng, X):
    return np.column_stack([X, np.tile(np.arange(6), 20)])


def a_yes_or_no(rng, X):
    return np.column_stack([X, rng.integers(0, 2, size=120)])


def a_whole_number(rng, X):
    return np.column_stack([X, rng.integers(0, 50, size=120)])


def a_measurement(rng, X):
    return np.column_stack([X, rng.normal(size=120)])


def an_age_at_each_visit(rng, X):
    return np.column_stack([X, np.repeat(rng.integers(20, 80, size=20), 6) + np.arange(120) % 6])


def some_gaps(rng, X):
    return np.where(rng.random(X.shape) < 0.05, np.nan, X)


@pytest.mark.parametrize("size", [0, 1e-7])
@pytest.mark.parametrize(
    "change",
    [a_visit, a_yes_or_no, a_whole_number, a_measurement, an_age_at_each_visit, some_gaps],
)
def test_rows_that_are_equal_but_for_a_few_cells_are_told(change, size):
    X, y = measured_six_times(8, size)
    X = change(np.random.default_rng(1), X)
    told = [check for check in rows(X, y) if check.code == "near-duplicates"]
    assert len(told) == 1 and "in most columns, such as rows 1 and " in told[0].sentence
    assert codes_of(rows(X, y, groups=np.arange(120) // 6)) == []


def test_rows_that_are_equal_but_for_a_category_are_told():
    X, y = measured_six_times(8, 1e-7)
    raters = np.array(list("abc"), dtype=object)[np.random.default_rng(1).integers(0, 3, size=120)]
    assert "near-duplicates" in codes_of(rows(X, y, others={"rater": raters}))


def test_of_many_rows_some_are_searched_for_equal_cells():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(1500, 60)), 2, axis=0)
    X[:, 0] = rng.normal(size=3000)
    X[rng.random(X.shape) < 0.1] = np.nan
    told = rows(X, np.arange(3000) % 2)
    assert "1,000 rows that were compared" in told[0].sentence
    one, other = map(int, re.findall(r"rows (\d+) and (\d+)", told[0].sentence)[0])
    assert other == one + 1 and one % 2 == 1


def test_of_many_rows_some_are_compared_with_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 10))
    X[3000:] = X[:3000] * (1 + 1e-3 * rng.normal(size=(3000, 10)))
    told = rows(X, np.arange(6000) % 2)
    assert (
        codes_of(told) == ["near-duplicates"]
        and "2,000 rows that were compared" in told[0].sentence
    )


def test_rows_that_are_named_as_one_sample_are_not_told():
    X, y = measured_six_times(30, 1e-2)
    assert codes_of(rows(X, y, groups=np.arange(120) // 6)) == []


def test_a_category_with_many_values_makes_no_table_wide():
    """Rows of one category are alike in nearly all dummies; they are not nearly equal."""
    rng = np.random.default_rng(0)
    towns = np.array([f"town {k}" for k in rng.integers(0, 80, size=200)], dtype=object)
    X = rng.normal(size=(200, 3))
    assert codes_of(rows(X, np.arange(200) % 2, others={"town": towns})) == []


def one_line(rng):
    z = rng.normal(size=(200, 1))
    return np.hstack([z, 2 * z + 1e-6 * rng.normal(size=(200, 1))])


def long_tails(rng):
    return np.exp(3 * rng.normal(size=(200, 3)))


def mostly_zeros(rng):
    return np.where(rng.random((200, 4)) < 0.8, 0.0, rng.exponential(size=(200, 4)))


def two_states(rng):
    """A machine that is on or off, with little noise in each state."""
    return rng.integers(0, 2, size=(200, 1)) + 1e-3 * rng.normal(size=(200, 6))


def one_age(rng):
    """Columns that depend on a rounded age, and one that does not."""
    age = rng.integers(20, 90, size=200)
    age = np.where(rng.random(200) < 0.5, age // 5 * 5, age)
    return np.column_stack([age, 2020 - age, age**2, np.log(age), rng.normal(size=200)])


def whole_numbers(rng):
    return rng.integers(0, 15, size=(200, 4)).astype(float)


def answers(rng):
    """Answers from 1 to 5 that have much in common."""
    return np.clip(
        np.round(3 + rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 12))), 1, 5
    )


def dummies(rng):
    return np.hstack(
        [np.eye(30)[rng.integers(0, 30, size=200)], rng.normal(size=(200, 5)).round(1)]
    )


def below_a_limit(rng):
    X = rng.normal(size=(200, 1)) + 0.2 * rng.normal(size=(200, 10))
    return np.column_stack([np.maximum(X, -1.4), rng.normal(size=200)])


def two_factors(rng):
    return rng.normal(size=(200, 2)) @ rng.normal(size=(2, 12))


def rounded_with_gaps(rng):
    X = (rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 10))).round(1)
    return np.where(rng.random(X.shape) < 0.5, np.nan, X)


@pytest.mark.parametrize(
    "draw",
    [
        *(one_line, long_tails, mostly_zeros, two_states, one_age, whole_numbers, answers),
        *(dummies, below_a_limit, two_factors, rounded_with_gaps),
    ],
)
def test_rows_that_are_close_by_chance_are_not_told(draw):
    for seed in range(5):
        X = draw(np.random.default_rng(seed))
        assert "near-duplicates" not in codes_of(rows(X, np.arange(200) % 2))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_real_measurements_are_not_near_copies(load):
    X, y = load(return_X_y=True)
    assert codes_of(rows(X, y)) == []
    assert codes_of(rows(np.random.default_rng(0).permuted(X, axis=0), y)) == []


def test_equal_rows_with_other_labels_are_told():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3)).astype(float)
    told = rows(X, rng.permutation(np.arange(200) % 2))
    assert codes_of(told) == ["conflicting-labels"] and told[0].severity == "note"


def test_few_equal_rows_with_other_labels_are_not():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 3)).astype(float)
    y = (X[:, 0] > 0).astype(int)
    y[0] = 1 - y[0]
    assert codes_of(rows(X, y)) == []


# Labels.


def labels(y, groups=None):
    classes, codes = np.unique(y, return_inverse=True)
    return [check.code for check in check_labels(codes, classes, "y", groups)]


def test_small_classes_are_told():
    assert labels(np.repeat(["a", "b"], [40, 9])) == ["small-class"]
    assert labels(np.repeat(["a", "b"], [40, 10])) == []


def test_groups_count_once_in_small_classes():
    assert labels(np.repeat(["a", "b"], 40), np.arange(80) // 5) == ["small-class"]


def test_a_number_with_many_values_is_told():
    assert labels(np.repeat(np.arange(21), 10)) == ["numeric-target"]
    assert labels(np.repeat(np.arange(20), 10)) == []
    assert labels(np.repeat([f"kind {i}" for i in range(21)], 10)) == []


@pytest.mark.parametrize(
    ("one", "other", "sizes"),
    [
        ("Yes", "yes", [50, 50]),
        ("stage a", "stagea", [50, 50]),
        ("yes", "yse", [50, 10]),
        ("benign", "bening", [100, 12]),
        ("tumour", "tumor", [100, 12]),
        ("stage-a", "stage a", [50, 50]),
    ],
)
def test_labels_that_may_mean_the_same_are_told(one, other, sizes):
    assert labels(np.repeat([one, other, "other thing"], [*sizes, 50])) == ["similar-labels"]


@pytest.mark.parametrize(
    ("one", "other", "sizes"),
    [
        ("grade1", "grade2", [100, 12]),
        ("cat", "car", [50, 50]),
        ("male", "female", [100, 12]),
        ("T1", "T2", [100, 12]),
        ("HER2+", "HER2-", [50, 50]),
        ("1-2", "12", [50, 50]),
    ],
)
def test_labels_that_differ_are_not(one, other, sizes):
    assert labels(np.repeat([one, other, "other thing"], [*sizes, 50])) == []


# Categories.


def categories(words, kind="categorical"):
    columns = Columns(np.zeros((len(words), 0)), np.zeros(0, str), {"sex": np.array(words)})
    return check_categories(Table(columns, {"sex": kind}))


def test_categories_that_differ_by_case_spaces_or_punctuation_are_told():
    told = categories(["male"] * 9 + ["Male"] + ["f.", "F"] + ["non-smoker", "Non smoker"])
    assert codes_of(told) == ["similar-categories"]
    assert "sex 'Male' and 'male', sex 'f.' and 'F', sex 'non-smoker' and" in told[0].sentence


def test_categories_that_differ_are_not():
    assert categories(["A+", "A-", "1.5", "15", "male", "female", "-", "+"]) == []
    assert categories(["Male", "male"], kind="text") == []


# Detection limits.


def limited(share, rule="half", n=100):
    rng = np.random.default_rng(0)
    y, sites = (
        np.array(["ill", "well"])[np.arange(n) % 2],
        np.array(["A", "B"])[np.arange(n) // 50],
    )
    words = np.full(n, None, dtype=object)
    words[: int(share * n)] = "<0.1"
    words[1] = "< 0.5"
    columns = Columns(rng.random((n, 1)), np.array(["crp"]), {})
    limits, missing = {"crp": words}, MissingWords(below_detection=rule, limited=["crp"])
    return check_limits(Table(columns, {}, y, batches=sites, limits=limits, missing=missing))


def test_detection_limits_are_told_by_class_and_site():
    (told,) = limited(0.3)
    assert (told.code, told.severity) == ("detection-limits", "note")
    assert "read as half of the limit" in told.sentence
    assert "crp 30 % (<0.1); by class: ill 30 % (<0.1), well 30 % (<0.1); " in told.sentence
    assert "by site: A 60 % (<0.1), B 0 %" in told.sentence


def test_detection_limits_of_few_rows_are_not_told():
    words = np.full(100, None, dtype=object)
    words[:20], words[20:23], words[98:] = "<0.1", ">10", ">90"
    sites = np.array(["A"] * 20 + ["B"] * 78 + ["C"] * 2)
    columns = Columns(np.random.default_rng(0).random((100, 1)), np.array(["crp"]), {})
    missing = MissingWords(below_detection="half", limited=["crp"])
    table = Table(columns, {}, sites, batches=sites, limits={"crp": words}, missing=missing)
    (told,) = check_limits(table)
    assert "crp 25 % (<0.1); " in told.sentence
    assert "by site: A 100 % (<0.1), B fewer than 5 values." in told.sentence


def test_a_column_of_mostly_limits_is_a_warning():
    (told,) = limited(0.51, "missing")
    assert told.severity == "warning" and "read as missing" in told.sentence


# Results.


def result(right, codes, fold_of, honest, groups=None):
    folds = [
        SimpleNamespace(repeat=0, number=f, test=np.flatnonzero(fold_of == f))
        for f in range(fold_of.max() + 1)
    ]
    labels = np.where(right, codes, 1 - codes)[None, None]
    found = SimpleNamespace(labels=labels, method=SimpleNamespace(name="centers"))
    return SimpleNamespace(
        problem=SimpleNamespace(
            codes=codes, classes=np.arange(2), n_rows=codes.size, groups=groups, weights=None
        ),
        settings=SimpleNamespace(
            scoring="balanced_accuracy", seed=0, min_sensitivity=None, misclassification=None
        ),
        folds=folds,
        results=[found],
        recommended=SimpleNamespace(method="centers", place=0),
        honest=honest,
    )


GOOD = SimpleNamespace(low=0.7, high=0.9, predictions=None)
CODES, FOLD_OF = np.arange(200) % 2, np.arange(200) // 2 % 5


def test_folds_that_disagree_are_told():
    rng = np.random.default_rng(0)
    right = rng.random(200) < np.where(FOLD_OF == 2, 0.4, 0.9)
    assert codes_of(check_result(result(right, CODES, FOLD_OF, GOOD))) == ["folds-disagree"]


def test_folds_that_differ_by_chance_are_not():
    alarms = 0
    for seed in range(200):
        right = np.random.default_rng(seed).random(200) < 0.8
        alarms += bool(check_result(result(right, CODES, FOLD_OF, GOOD)))
    assert alarms <= 4


def test_a_score_whose_interval_includes_chance_is_told():
    right = np.random.default_rng(0).random(200) < 0.55
    honest = SimpleNamespace(low=0.44, high=0.6, predictions=None)
    assert codes_of(check_result(result(right, CODES, FOLD_OF, honest))) == ["chance"]


QUICK = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}


def rare(shift, seed=0, n=240):
    """A class of one row in six that differs in the first column, but for a few rows."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 6 == 0).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] += shift * (y - 4 * (np.arange(n) % 60 == 0))
    return X, y


@pytest.mark.parametrize(
    "asked", [{"positive": 1, "min_sensitivity": 0.98}, {"scoring": "accuracy"}]
)
def test_decisions_like_those_of_a_constant_are_not_called_chance(asked):
    comparison = compare(*rare(1.0), **QUICK, **asked)
    honest = comparison.honest_score
    scoring = comparison.settings.scoring
    assert honest.low <= chance_level(comparison.problem.codes, scoring)  # moved, not worthless
    area = area_under_curve(comparison.problem.codes, honest.predictions.probabilities)
    assert area > 0.65
    found = codes_of(comparison.checks)
    assert "chance" not in found and "constant" in found


@pytest.mark.parametrize(
    "asked", [{"positive": 1, "min_sensitivity": 0.98}, {"scoring": "accuracy"}]
)
def test_noise_is_called_chance_whatever_moves_the_decisions(asked):
    assert "chance" in codes_of(compare(*rare(0.0), **QUICK, **asked).checks)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("balanced_accuracy", 1 / 3),
        ("accuracy", 0.6),
        ("mcc", 0.0),
        ("roc_auc", 0.5),
        ("f1_macro", 0.25),
    ],
)
def test_the_level_of_chance_is_that_of_a_constant(scoring, expected):
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    assert chance_level(codes, scoring) == pytest.approx(expected)


def few_events(n_rows, n_columns, **options):
    rng = np.random.default_rng(0)
    y = (np.arange(n_rows) % 5 == 0).astype(int)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += 1.5 * y
    found = compare(X, y, **QUICK, **options).checks
    return [check for check in found if check.code == "few-events"]


def test_few_events_for_many_features_are_noted_with_the_rows_that_would_be_needed():
    (check,) = few_events(60, 40)
    assert check.severity == "note"
    assert check.sentence.startswith("12 rows of class 1, the rarest, are few for 40 candidate f")
    assert check.sentence.endswith(
        "there are 60. Expect other features and scores in another sample."
    )
    needed = re.search(r"need about ([\d,]+)00 rows", check.sentence)[1]  # two digits
    assert int(needed.replace(",", "")) > 10
    (grouped,) = few_events(60, 40, groups=np.arange(60) % 30)
    assert "independent rows (Riley's criteria); those here are worth 30." in grouped.sentence
    (weighted,) = few_events(60, 40, sample_weight=np.repeat([1.0, 3.0], 30))
    assert re.search(r"those here are worth 4\d\.", weighted.sentence)


def test_enough_events_are_not_noted_and_wide_tables_never():
    assert few_events(500, 3) == []
    assert few_events(60, 100) == []


def test_rows_for_features_are_those_of_the_paper():
    assert rows_for_features(24, 0.288, 0.5) == 623
    assert rows_for_features(48, 0.288, 0.5) == pytest.approx(2 * 623, abs=1)


# False alarms.


@pytest.mark.parametrize("n_rows", smaller(24, 120))
def test_shuffled_labels_raise_no_alarm(n_rows):
    """At most one in a hundred, for all checks that look at the labels together."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 30))
    X[:, :8] = np.where(rng.random((n_rows, 8)) < 0.3, 0.0, X[:, :8])  # many zeros
    X[:, 8:12][rng.random((n_rows, 4)) < 0.3] = np.nan
    words = {f"c{j}": rng.choice(["a", "b", "c"], size=n_rows).astype(object) for j in range(3)}
    table = table_of(X, words)
    coded = [np.unique(column, return_inverse=True)[1] for column in words.values()]
    copies = find_copies([X], n_rows)
    alarms = 0
    for _ in range(100):
        y = rng.permutation(np.arange(n_rows) % 2)
        problem = make(X, y, kinds=dict.fromkeys(words, "categorical"), others=words)
        found = check_leaks(table, problem)
        found += check_rows(copies, problem.codes, X, coded, "group")
        found += check_labels(problem.codes, problem.classes, "y")
        alarms += bool(found)
    assert alarms <= 1


def test_a_dataset_lays_out_as_before():
    """Nothing that a check looks at is changed by it."""
    X, y, _ = noise()
    table = table_of(X.copy())
    _, encoded = lay_out(table, {})
    before = encoded.copy()
    check_leaks(table, make(X, y))
    check_columns(table, *find_disguised(table))
    np.testing.assert_array_equal(table.numeric, before)
