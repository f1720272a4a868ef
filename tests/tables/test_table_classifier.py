"""TableClassifier: a scikit-learn classifier of raw frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import (
    DatumWiseClassifier,
    PanelClassifier,
    PanelClassifierCV,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
    TableClassifier,
    load_model,
    save_model,
)


@parametrize_with_checks([TableClassifier()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 60
    y = np.where(rng.random(n) < 0.5, "sick", "well")
    is_sick = y == "sick"
    data = pd.DataFrame(
        {
            "age": rng.normal(50 + 10 * is_sick, 5),
            "dose": rng.integers(0, 5, size=n),
            "smoker": rng.random(n) < 0.5,
            "city": pd.Categorical(np.array(["A", "B", "C"])[rng.integers(3, size=n)]),
            "color": np.where(is_sick, "red", "blue").astype(object),
        }
    )
    data.loc[::7, "age"] = np.nan
    data.loc[::11, "color"] = None
    return data, y


def test_frames_of_all_libraries_give_the_same(frame):
    X, y = frame
    expected = TableClassifier(SparseCenterClassifier(2)).fit(X, y).predict_proba(X)
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        model = TableClassifier(SparseCenterClassifier(2)).fit(other, y)
        assert_allclose(model.predict_proba(other), expected, rtol=1e-12)
        assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


def test_columns_are_found_by_their_names(frame):
    X, y = frame
    model = TableClassifier().fit(X, y)
    mixed = X[X.columns[::-1]].assign(more=1.0)
    assert_array_equal(model.predict(mixed), model.predict(X))


def test_a_lacking_column_is_named(frame):
    X, y = frame
    model = TableClassifier().fit(X, y)
    with pytest.raises(ValueError, match="lacks 1 of the 5 columns needed: age"):
        model.predict(X.drop(columns="age"))


NARROWED = [
    SparseCenterClassifier(3),
    SparseCenterClassifier(3, metric="l1"),
    SparseCenterClassifierCV(cv=3),
    PanelClassifier(3, head="lda"),
    PanelClassifier(3, head="kernel", cv=3),
    PanelClassifierCV([1, 2], head="lda", cv=3),
    PrimalDualClassifier(0.05, ball="l21"),
    PrimalDualClassifier(0.1, head="projection"),
    PrimalDualClassifierCV([0.05, 0.1], cv=3),
]


@pytest.mark.parametrize("estimator", NARROWED, ids=lambda one: type(one).__name__)
def test_only_selected_columns_are_needed(estimator, tmp_path):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    values = rng.normal(size=(60, 12)) + codes[:, None] * (np.arange(12) < 3) * 2.0
    X = pd.DataFrame(values, columns=[f"f{j}" for j in range(12)])
    X["color"] = np.array(["red", "blue", "gray"])[rng.integers(3, size=60)]
    model = TableClassifier(estimator).fit(X, codes)
    needed = model.required_
    assert 0 < len(needed) < 12
    whole = model.estimator_.predict_proba(
        np.column_stack([values, *(X["color"] == c for c in ("blue", "gray", "red"))])
    )
    assert_allclose(model.predict_proba(X[needed]), whole, rtol=0, atol=1e-12)
    save_model(model, tmp_path / "model.json")
    saved = load_model(tmp_path / "model.json")
    assert saved.required_ == needed
    assert_array_equal(saved.predict_proba(X[needed]), model.predict_proba(X))


def test_the_categories_of_a_column_count_as_one_feature(frame):
    X, y = frame
    model = TableClassifier(SparseCenterClassifier(1)).fit(X[["city", "dose"]], y)
    assert model.estimator_.n_groups_ == 1


def test_missing_values_are_imputed_from_the_training_rows(frame):
    X, y = frame
    model = TableClassifier().fit(X, y)
    row = X.iloc[[0]].assign(age=np.nan, color=None)
    filled = row.assign(age=X["age"].median(), color=X["color"].mode()[0])
    assert_allclose(model.predict_proba(row), model.predict_proba(filled), rtol=1e-12)


def test_missing_values_can_be_refused(frame):
    X, y = frame
    with pytest.raises(ValueError, match="missing in 2 columns"):
        TableClassifier(missing="error").fit(X, y)


def test_unknown_categories_are_missing(frame):
    X, y = frame
    model = TableClassifier().fit(X, y)
    shares = [model.predict_proba(X.assign(city=city)) for city in ("Y", "Z", None, "B")]
    assert_array_equal(shares[0], shares[1])
    assert_array_equal(shares[0], shares[2])
    assert (shares[0] != shares[3]).any()


def test_words_of_a_text_column(frame):
    _, y = frame
    notes = [f"patient is {'tired and pale' if label == 'sick' else 'fine today'}" for label in y]
    model = TableClassifier(SparseCenterClassifier(2), text=["note"])
    model.fit(pd.DataFrame({"note": notes}), y)
    assert model.score(pd.DataFrame({"note": notes}), y) == 1.0


def test_prevalence_is_another_name_of_priors(frame):
    X, y = frame
    classifier = TableClassifier().fit(X, y)
    rare = np.r_[0.99, np.full(classifier.classes_.size - 1, 0.01)]
    rare /= rare.sum()
    for predict in (classifier.predict, classifier.predict_proba):
        assert_array_equal(predict(X, prevalence=rare), predict(X, priors=rare))
        with pytest.raises(ValueError, match="give one of them"):
            predict(X, priors=rare, prevalence=rare)
    assert not np.array_equal(classifier.predict_proba(X), classifier.predict_proba(X, rare))


def test_dropped_columns_are_not_needed(frame):
    X, y = frame
    model = TableClassifier(drop=["color"]).fit(X, y)
    assert_array_equal(model.predict(X.drop(columns="color")), model.predict(X))


def test_numbers_as_categories(frame):
    X, y = frame
    model = TableClassifier(categorical=["dose"]).fit(X, y)
    assert "dose" in model.model_.preparation.categories


def test_names_of_rows_are_dropped_and_noted(frame):
    X, y = frame
    model = TableClassifier().fit(X.assign(name=[f"patient {i}" for i in range(len(X))]), y)
    assert "name" not in model.model_.preparation.required
    assert any("name" in note and "include=" in note for note in model.notes_)


def test_any_classifier_of_scikit_learn(frame):
    X, y = frame
    model = TableClassifier(LogisticRegression()).fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_classifier_that_asks_sees_missing_values(frame):
    X, y = frame
    model = TableClassifier(DatumWiseClassifier(random_state=0, n_trees=10)).fit(X, y)
    acquired = model.acquire(X.drop(columns="age"))
    assert acquired.labels.shape == (60,)
    with pytest.raises(AttributeError):
        TableClassifier().fit(X, y).acquire(X)


def test_sample_weights_are_refused_where_they_are_not_used(frame):
    X, y = frame
    weights = np.ones(len(y))
    with pytest.raises(ValueError, match="does not take sample_weight"):
        TableClassifier(DatumWiseClassifier()).fit(X, y, sample_weight=weights)


def test_sparse_matrices_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    y = np.arange(40) % 2
    model = TableClassifier().fit(X, y)
    assert_allclose(model.predict_proba(X), model.predict_proba(X.toarray()), rtol=1e-10)


def test_cross_validation_prepares_inside_the_folds(frame):
    X, y = frame
    scores = cross_val_score(clone(TableClassifier()), X, y, error_score="raise")
    assert scores.mean() > 0.8


def test_saved_models_are_table_classifiers(frame, tmp_path):
    X, y = frame
    model = TableClassifier(SparseCenterClassifier(2)).fit(X, y)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert isinstance(again, TableClassifier)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"categorical": "all"}, "categorical must be 'auto' or a list"),
        ({"text": ["nothing"]}, "text: no column 'nothing'"),
        ({"missing": "drop"}, "missing must be 'impute' or 'error'"),
        ({"drop": ["age"], "text": ["age"]}, "either dropped or used"),
    ],
)
def test_wrong_parameters(frame, parameters, message):
    X, y = frame
    with pytest.raises(ValueError, match=message):
        TableClassifier(**parameters).fit(X, y)


def test_value_that_is_missing_for_the_first_time_is_the_median():
    """A column without gaps in training is filled like any other."""
    frame = pd.DataFrame({"dose": [10.0, 11.0, 17.0, 18.0], "y": ["a", "a", "b", "b"]})
    model = TableClassifier(SparseCenterClassifier(1)).fit(frame[["dose"]], frame["y"])
    missing, median = (
        model.predict_proba(pd.DataFrame({"dose": [value]})) for value in (np.nan, 14.0)
    )
    np.testing.assert_allclose(missing, median)
