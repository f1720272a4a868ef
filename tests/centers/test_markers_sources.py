"""The table of features per class from chunks of rows, and from fitted models."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamis import SparseCenterClassifier, SparseCenterClassifierCV, rank_features_by_class
from tests.centers.test_markers import (
    COLUMNS,
    FRACTIONS,
    assert_same_tables,
    by_feature,
    make_cells,
)

# Chunks.


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_chunks_give_the_table_of_all_rows(make):
    X, y = make_cells()
    order = np.argsort(y, kind="stable")  # most chunks have one or two classes
    parts = np.array_split(order, 7)
    chunks = ((make(X[rows]), y[rows]) for rows in parts)
    assert_same_tables(rank_features_by_class(chunks), rank_features_by_class(X, y), 1e-9)


def test_names_of_chunks():
    X, y = make_cells()
    names = [f"gene {j}" for j in range(X.shape[1])]
    frames = [(pd.DataFrame(X[i::3], columns=names), y[i::3]) for i in range(3)]
    assert set(rank_features_by_class(frames)["names"]) == set(names)
    frames[2][0].columns = names[::-1]
    with pytest.raises(ValueError, match="Chunks 0 and 2 have different features"):
        rank_features_by_class(frames)


def test_chunks_that_cannot_be_used():
    X, y = make_cells()
    with pytest.raises(ValueError, match="Chunk 1 has sample weights"):
        rank_features_by_class([(X, y), (X, y, np.ones(len(y)))])
    with pytest.raises(ValueError, match="no rows"):
        rank_features_by_class([])
    with pytest.raises(ValueError, match="all rows are of class 'T'"):
        rank_features_by_class([(X[y == "T"], y[y == "T"])])
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 1: .*NaN"):
        rank_features_by_class([(X, y), (bad, y)])


# Models.


def test_a_model_has_kept_what_the_test_needs():
    X, y = make_cells()
    names = [f"gene {j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = SparseCenterClassifier(3).fit(frame, y)
    from_model = rank_features_by_class(model=model)
    from_data = rank_features_by_class(frame, y, model=model)
    assert list(from_model.columns) == [*COLUMNS, "in_panel", "center_shift"]
    assert_same_tables(from_model, from_data.drop(columns=FRACTIONS))
    with pytest.raises(ValueError, match="does not keep fractions"):
        rank_features_by_class(model=model, min_fraction=0.1)
    later = SparseCenterClassifierCV(cv=3).fit(frame, y)
    assert_same_tables(rank_features_by_class(model=later)[COLUMNS], from_model[COLUMNS], 1e-10)


def test_a_model_without_means_or_with_weights_is_refused():
    X, y = make_cells()
    with pytest.raises(ValueError, match="medians"):
        rank_features_by_class(model=SparseCenterClassifier(3, metric="l1").fit(X, y))
    for weights in (np.full(len(y), 2.0), np.full(len(y), 0.5)):
        with pytest.raises(ValueError, match="sample weights"):
            rank_features_by_class(model=SparseCenterClassifier(3).fit(X, y, weights))
    with pytest.raises(ValueError, match="Pass X and y"):
        rank_features_by_class()


def test_the_panel_of_a_model():
    X, y = make_cells()
    model = SparseCenterClassifier(4).fit(X, y)
    table = rank_features_by_class(X, y, model=model)
    panel = set(model.get_feature_names_out())
    assert set(table["names"][table["in_panel"]]) == panel
    assert not table["center_shift"][~table["in_panel"]].any()
    part = by_feature(table, "NK")
    shift = (model.centers_ - model.common_center_)[model.classes_ == "NK"][0] / model.scale_
    np.testing.assert_array_equal(part["center_shift"], shift)
    squares = (table["center_shift"] ** 2).groupby(table["names"]).sum()
    gains = pd.Series(model.feature_importances_, [f"x{j}" for j in range(X.shape[1])])
    np.testing.assert_allclose(squares.loc[gains.index], gains, rtol=1e-12)


def test_a_covariance_has_no_shift_of_single_features():
    X, y = make_cells()
    model = SparseCenterClassifier(2, covariance="shrunk").fit(X, y)
    assert "center_shift" not in rank_features_by_class(X, y, model=model)
