"""Columns whose distribution is not that of training."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from tamis import SparseCenterClassifier, TableClassifier
from tamis.models import load_model, save_model
from tamis.models.saving import digest, make_document
from tamis.tables.classifying.moved import Moved
from tamis.tables.classifying.unusual import observe
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.preparation import Preparation

NAMES = ["age", "gene", "score"]


def training(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(50, 10, n_rows), np.log1p(rng.poisson(3, n_rows)), rng.normal(size=n_rows)]
    )


def prepared(values=None):
    values = training() if values is None else values
    layout = Preparation(NAMES, {}, {}, {}, False)
    return observe(layout.learn(values), values)


def table(values):
    return Columns(values, np.array(NAMES, dtype=object), {})


def found(values, preparation=None):
    moved = Moved(prepared() if preparation is None else preparation)
    for start in range(0, len(values), 100):
        moved.add(table(values[start : start + 100]))
    return moved


def test_a_median_half_a_standard_deviation_away_is_named():
    new = training(seed=1)
    new[:, 0] += 8
    moved = found(new)
    (one,) = moved.found()
    assert one["column"] == "age" and not one["is_counts"]
    shift = (np.median(new[:, 0]) - np.median(training()[:, 0])) / training()[:, 0].std()
    assert one["shift"] == pytest.approx(shift)
    (sentence,) = moved.messages()
    assert sentence.startswith("medians that moved since training: age (")


def test_new_rows_of_the_same_kind_move_nothing():
    for seed in range(1, 6):
        assert found(training(seed=seed)).messages() == []


def test_another_unit_is_named_instead_of_hundreds_of_standard_deviations():
    new = training(seed=1)
    new[:, 0] *= 100
    (told,) = found(new).messages()
    assert "more than 10 standard deviations higher, " in told and "times the value" in told
    assert "is it in another unit?" in told and "+" not in told


def test_few_rows_are_not_taken_for_a_move():
    new = training(12, seed=1)
    new[:, 0] += 3
    assert found(new).found() == []


def test_counts_given_to_a_model_of_logarithms_are_named():
    new = training(seed=1)
    new[:, 1] = np.expm1(new[:, 1]).round()
    moved = found(new)
    assert [one["column"] for one in moved.found() if one["is_counts"]] == ["gene"]
    assert "are these counts" in moved.messages()[-1]


def test_whole_numbers_that_were_whole_are_no_counts():
    old = training()
    old[:, 0] = old[:, 0].round()
    new = training(seed=1)
    new[:, 0] = new[:, 0].round() + 30
    assert not any(one["is_counts"] for one in found(new, prepared(old)).found())


def test_many_rows_are_thinned_out(monkeypatch):
    monkeypatch.setattr("tamis.tables.classifying.moved._MOST_ROWS", 100)
    new = training(2000, seed=1)
    new[:, 0] += 8
    moved = found(new)
    assert moved.step > 1 and [one["column"] for one in moved.found()] == ["age"]


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_spreads_are_the_same_of_sparse_and_dense_columns(offset):
    values = training() + np.array([0, 0, offset])
    values[::7, 2] = np.nan
    dense = observe(Preparation(NAMES, {}, {}, {}, False), values)
    thin = observe(Preparation(NAMES, {}, {}, {}, True), sparse.csr_array(values))
    assert_allclose(dense.spreads, np.nanstd(values, axis=0), rtol=1e-6)
    assert_allclose(thin.spreads, dense.spreads, rtol=1e-6)
    assert thin.whole == dense.whole == []


@pytest.mark.parametrize("format", ["json", "skops"])
def test_the_model_file_has_the_spreads(tmp_path, format):
    X = training()
    y = np.where(X[:, 0] > 50, "a", "b")
    model = TableClassifier(SparseCenterClassifier(2)).fit(X, y)
    save_model(model, tmp_path / "model", format=format)
    again = load_model(tmp_path / "model").model_.preparation
    assert_allclose(again.spreads, model.model_.preparation.spreads)


def test_older_files_without_spreads_move_nothing(tmp_path):
    X = training()
    model = TableClassifier(SparseCenterClassifier(2)).fit(X, np.where(X[:, 0] > 50, "a", "b"))
    document = make_document(model.model_)
    for column in document["record"]["preparation"]["columns"]:
        del column["spread"], column["whole"]
    document["digest"] = digest(document)
    (tmp_path / "old.json").write_text(json.dumps(document), encoding="utf-8")
    old = load_model(tmp_path / "old.json").model_.preparation
    assert old.spreads.size == 0
    assert found(X + 100, replace(old, numbers=NAMES)).found() == []
