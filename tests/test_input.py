"""Arrays that could be taken for something else: masks, large integers, labels of bytes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from tamis import (
    DatumWiseClassifier,
    DatumWiseClassifierCV,
    LandmarkClassifier,
    LandmarkSearchCV,
    LandmarkTransformer,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
)
from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector

COMPLETE = [
    SparseCenterClassifier(2),
    SparseCenterClassifier(2, metric="l1"),
    SparseCenterClassifierCV(cv=3),
    PrimalDualClassifier(),
    PrimalDualClassifierCV([0.3, 0.8], cv=3),
    LandmarkClassifier(random_state=0),
    LandmarkSearchCV(n_configurations=4, random_state=0),
    LandmarkTransformer(random_state=0),
    LandmarkTransformer(per_class=True, random_state=0),
    OddsRatioSelector(2),
    SparseNaiveBayesSelector(2),
]
WITH_GAPS = [
    DatumWiseClassifier(n_trees=5, n_sets=8, random_state=0),
    DatumWiseClassifier("linear", n_states=100, n_iterations=2, random_state=0),
    DatumWiseClassifierCV([0.03], cv=3, n_trees=5, n_sets=8, random_state=0),
]
CLASSIFIERS = [e for e in COMPLETE + WITH_GAPS if hasattr(e, "predict")]
complete = pytest.mark.parametrize("estimator", COMPLETE, ids=str)
with_gaps = pytest.mark.parametrize("estimator", WITH_GAPS, ids=str)
classifiers = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
everything = pytest.mark.parametrize("estimator", COMPLETE + WITH_GAPS, ids=str)

LIMIT = 2**53


def make_data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.poisson(2 + 2 * y[:, None] * (np.arange(4) < 2), size=(60, 4))
    return X.astype(np.int64), y


def mask_of(X, *places):
    mask = np.zeros(X.shape, dtype=bool)
    for place in places:
        mask[place] = True
    return np.ma.masked_array(X, mask)


# Masked arrays.


@complete
def test_masked_entries_are_refused_where_data_must_be_complete(estimator):
    X, y = make_data()
    masked = mask_of(X.astype(float), (4, 1), (7, 0))
    with pytest.raises(ValueError, match=r"X has 2 masked entries, the first in row 4, column 1"):
        clone(estimator).fit(masked, y)
    fitted = clone(estimator).fit(X, y)
    ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(ValueError, match=r"X has 2 masked entries"):
        ask(masked)


@pytest.mark.parametrize("estimator", [e for e in COMPLETE if hasattr(e, "get_support")], ids=str)
def test_masked_entries_are_refused_where_columns_are_selected(estimator):
    X, y = make_data()
    fitted = clone(estimator).fit(X, y)
    with pytest.raises(ValueError, match="masked entries"):
        fitted.transform(mask_of(X, (4, 1)))


@with_gaps
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_masked_entries_are_missing_where_that_is_accepted(estimator, dtype):
    X, y = make_data()
    masked = mask_of(X.astype(dtype), (slice(3, 9), 1), (7, 0))
    gaps = X.astype(float)
    gaps[3:9, 1] = gaps[7, 0] = np.nan
    one, other = clone(estimator).fit(masked, y), clone(estimator).fit(gaps, y)
    assert_array_equal(one.predict_proba(masked), other.predict_proba(gaps))
    assert_array_equal(one.acquire(masked).order, other.acquire(gaps).order)


@everything
def test_a_mask_that_hides_nothing_changes_nothing(estimator):
    X, y = make_data()
    one = clone(estimator).fit(np.ma.masked_array(X), np.ma.masked_array(y))
    other = clone(estimator).fit(X, y)
    ask = "predict" if hasattr(one, "predict") else "transform"
    assert_array_equal(getattr(one, ask)(np.ma.masked_array(X)), getattr(other, ask)(X))


@classifiers
def test_masked_labels_are_refused(estimator):
    X, y = make_data()
    with pytest.raises(ValueError, match="y has 1 masked entries, the first in row 3"):
        clone(estimator).fit(X, mask_of(y, 3))


@pytest.mark.parametrize("estimator", [SparseCenterClassifier(), PrimalDualClassifier()], ids=str)
def test_masked_weights_are_refused(estimator):
    X, y = make_data()
    with pytest.raises(ValueError, match="sample_weight has 1 masked entries"):
        clone(estimator).fit(X, y, sample_weight=mask_of(np.ones(60), 3))


def test_masked_landmarks_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="landmarks has 1 masked entries"):
        LandmarkClassifier(mask_of(X[:5].astype(float), (0, 0))).fit(X, y)


# Integers that are no floating-point numbers.


@everything
@pytest.mark.parametrize("value", [LIMIT + 1, -LIMIT - 1, 2**62])
def test_integers_beyond_floating_point_are_refused_with_their_column(estimator, value):
    X, y = make_data()
    X[7, 2] = value
    with pytest.raises(ValueError, match=rf"Column 2 of X has the integer {value}.*identifiers"):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, LandmarkTransformer()], ids=str)
def test_new_integers_beyond_floating_point_are_refused(estimator):
    X, y = make_data()
    fitted = clone(estimator).fit(X, y)
    X[7, 2] = LIMIT + 1
    ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(ValueError, match=f"Column 2 of X has the integer {LIMIT + 1}"):
        ask(X)


@pytest.mark.parametrize(
    "form",
    [np.ndarray.tolist, np.asfortranarray, sparse.csr_array, sparse.lil_array, sparse.dok_array],
)
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_beyond_floating_point_are_found_in_every_form(form, dtype):
    X, y = make_data()
    X = X.astype(dtype)
    X[7, 2] = LIMIT + 1
    with pytest.raises(ValueError, match=f"Column 2 of X has the integer {LIMIT + 1}"):
        SparseCenterClassifier(2).fit(form(X), y)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "UInt64", "int64[pyarrow]"])
def test_integers_beyond_floating_point_are_found_in_frames_of_pandas(dtype):
    X, y = make_data()
    X[7, 2] = LIMIT + 1
    frame = pd.DataFrame(X, columns=["a", "b", "customer", "d"]).astype({"customer": dtype})
    with pytest.raises(ValueError, match=f"Column 'customer' of X has the integer {LIMIT + 1}"):
        SparseCenterClassifier(2).fit(frame, y)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64])
def test_integers_beyond_floating_point_are_found_in_frames_of_polars(dtype):
    X, y = make_data()
    X[7, 2] = LIMIT + 1
    frame = pl.DataFrame(X, schema=["a", "b", "customer", "d"]).cast({"customer": dtype})
    with pytest.raises(ValueError, match=f"Column 'customer' of X has the integer {LIMIT + 1}"):
        SparseCenterClassifier(2).fit(frame, y)


@pytest.mark.parametrize("value", [LIMIT, -LIMIT])
def test_the_largest_exact_integers_are_taken(value):
    X, y = make_data()
    X[7, 2] = value
    names = ["a", "b", "c", "d"]
    plain = SparseCenterClassifier(2).fit(X.astype(float), y)
    for form in (X, X.tolist(), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        assert_array_equal(SparseCenterClassifier(2).fit(form, y).gains_, plain.gains_)


def test_missing_values_next_to_integers_are_no_integers():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).astype("Int64")
    frame.loc[:, "c"] = pd.NA
    gaps = X.astype(float)
    gaps[:, 2] = np.nan
    model = DatumWiseClassifier(n_trees=5, n_sets=8, random_state=0)
    assert_array_equal(clone(model).fit(frame, y).predict(frame), model.fit(gaps, y).predict(gaps))


# Labels of bytes.


@classifiers
@pytest.mark.parametrize("dtype", ["S", object])
def test_labels_of_bytes_are_decoded(estimator, dtype):
    X, y = make_data()
    names = np.array(["café", "thé"])
    coded = np.array([name.encode() for name in names], dtype=dtype)
    one, other = clone(estimator).fit(X, coded[y]), clone(estimator).fit(X, names[y])
    assert one.classes_.tolist() == ["café", "thé"]
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, coded[y]) == other.score(X, names[y])


@classifiers
def test_labels_of_bytes_that_are_no_text_are_refused(estimator):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"b'\\xff\\xfe' is not UTF-8. Decode the labels"):
        clone(estimator).fit(X, np.array([b"a", b"\xff\xfe"])[y])


def test_labels_of_bytes_go_with_all_classes_named_in_advance():
    X, y = make_data()
    model = SparseCenterClassifier(2).partial_fit(
        X, np.array([b"a", b"b"])[y], classes=[b"a", b"b"]
    )
    model.partial_fit(X, np.array(["a", "b"])[y])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.path_score(X, np.array([b"a", b"b"])[y], [2])[0] == model.score(
        X, np.array(["a", "b"])[y]
    )
