"""Units so large or so small that squares overflow or vanish: nothing but units may change."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.models import save_model
from tamis.models.saving import read_model
from tests.quick import few_quick

FORMS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
SIZES = [2.0**-1000, 2.0**-530, 2.0**-400, 2.0**400, 2.0**530, 2.0**1000]
UNITLESS = [
    {"metric": "l2"},
    {"metric": "l2", "scaling": "std"},
    {"metric": "l2", "covariance": "shrunk"},
    {"metric": "l1"},
    {"metric": "l1", "scaling": "std"},
]


def make_data(n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(90) % n_classes
    X = rng.normal(size=(90, 8)) + 0.8 * y[:, None] * (np.arange(8) < 4)
    X[:, [1, 5]] *= np.abs(X[:, [1, 5]]) > 0.7
    X[:, 2] += 1000.0
    X[:, 6] = 0.0
    return X, y


def assert_same_answers(fitted, plain, X, size, form):
    assert_array_equal(fitted.support_, plain.support_)
    big = form(X * size)
    assert_array_equal(fitted.predict_proba(big), plain.predict_proba(form(X)))
    assert_array_equal(fitted.path_predict(big, None), plain.path_predict(form(X), None))
    assert_array_equal(fitted.explain(big).decision, plain.explain(form(X)).decision)
    assert_array_equal(fitted.centers_, plain.centers_ * size)
    assert_array_equal(fitted.class_centers_, plain.class_centers_ * size)
    assert_array_equal(fitted.common_center_, plain.common_center_ * size)


@few_quick("parameters, size, form", UNITLESS, SIZES, FORMS)
def test_units_change_no_bit_of_a_model_without_units(parameters, size, form):
    X, y = make_data()
    plain = SparseCenterClassifier(3, **parameters).fit(form(X), y)
    fitted = SparseCenterClassifier(3, **parameters).fit(form(X * size), y)
    assert_same_answers(fitted, plain, X, size, form)
    assert_array_equal(fitted.gains_, plain.gains_)
    assert fitted.objective_ == plain.objective_
    assert fitted.dispersion_ == plain.dispersion_
    varies = X.std(axis=0) > 0
    assert_array_equal(fitted.scale_, np.where(varies, plain.scale_ * size, 1.0))


@few_quick(
    "metric, scaling, size, form", ["l2", "l1"], ["variance", None], [2.0**-400, 2.0**400], FORMS
)
def test_units_of_the_scaled_data_go_into_the_fitted_attributes(metric, scaling, size, form):
    X, y = make_data()
    power = -1 if scaling == "variance" else 1
    plain = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(form(X), y)
    fitted = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(form(X * size), y)
    assert_same_answers(fitted, plain, X, size, form)
    factor = size ** (power * (2 if metric == "l2" else 1))
    assert_array_equal(fitted.gains_, plain.gains_ * factor)
    assert fitted.objective_ == plain.objective_ * factor
    assert fitted.dispersion_ == plain.dispersion_ * factor
    varies = X.std(axis=0) > 0
    expected = plain.scale_ * (size**2 if scaling == "variance" else 1.0)
    assert_array_equal(fitted.scale_, np.where(varies, expected, 1.0))


@few_quick(
    "scaling, unit",
    ["spread", "std", "variance", None],
    [1e-120, 1e-130, 1e-140, 1e120, 1e130, 1e140],
)
def test_decimal_units_select_the_same_features_and_give_the_same_labels(scaling, unit):
    X, y = make_data()
    plain = SparseCenterClassifier(3, scaling=scaling).fit(X, y)
    fitted = SparseCenterClassifier(3, scaling=scaling).fit(X * unit, y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_allclose(fitted.predict_proba(X * unit), plain.predict_proba(X), rtol=1e-6)


@few_quick(
    "unit, form",
    [1e-150, 1e-155, 1e-160, 1e-161, 1e-200, 1e160, 1e300],
    [np.asarray, sparse.csr_array],
)
def test_squares_need_not_be_representable_with_the_default_scaling(unit, form):
    X, y = make_data()
    plain = SparseCenterClassifier(3).fit(form(X), y)
    fitted = SparseCenterClassifier(3).fit(form(X * unit), y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_array_equal(fitted.feature_order_, plain.feature_order_)
    assert_allclose(fitted.predict_proba(form(X * unit)), plain.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-170, 1e170])
@pytest.mark.parametrize(
    ("scaling", "message"),
    [("variance", "variance of column 0"), (None, "squares of such numbers overflow or vanish")],
)
def test_attributes_that_are_no_numbers_are_refused(unit, scaling, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=rf"{message}.*use scaling='spread'"):
        SparseCenterClassifier(3, scaling=scaling).fit(X * unit, y)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("scaling", ["spread", "std"])
def test_every_column_may_have_units_of_its_own(metric, scaling):
    X, y = make_data()
    units = 2.0 ** np.array([-900, -500, -300, 0, 20, 300, 0, 900])
    plain = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(X, y)
    fitted = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(X * units, y)
    assert_array_equal(fitted.gains_, plain.gains_)
    assert_array_equal(fitted.predict_proba(X * units), plain.predict_proba(X))
    assert_array_equal(fitted.class_centers_, plain.class_centers_ * units)


@pytest.mark.parametrize("scaling", ["variance", None])
@pytest.mark.parametrize("size", [2.0**-350, 2.0**350])
def test_scaled_columns_are_compared_in_common_units(scaling, size):
    X, y = make_data()
    X = X * 2.0 ** np.array([-3, 2, 0, 1, -2, 5, 0, 3])
    plain = SparseCenterClassifier(3, scaling=scaling).fit(X, y)
    fitted = SparseCenterClassifier(3, scaling=scaling).fit(X * size, y)
    assert_array_equal(fitted.feature_order_, plain.feature_order_)
    assert_array_equal(fitted.predict_proba(X * size), plain.predict_proba(X))


def test_a_column_that_is_nothing_next_to_the_others_is_not_selected_without_scaling():
    X, y = make_data()
    X[:, 0] *= 2.0**-1000
    X[:, 3] *= 2.0**300
    fitted = SparseCenterClassifier(1, scaling=None).fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [3]
    assert_array_equal(fitted.scale_, 1.0)
    assert np.isfinite(fitted.predict_proba(X)).all()


@few_quick("size, rows", SIZES, [7, 45, 1])
def test_chunks_of_any_units_equal_all_data(size, rows):
    X, y = make_data()
    X[:12, 0] = 0.0  # nothing is known of its units in the first chunk
    units = np.where(np.arange(8) < 4, size, 1.0)
    whole = SparseCenterClassifier(3).fit(X * units, y)
    online = SparseCenterClassifier(3)
    for start in range(0, 90, rows):
        part = slice(start, start + rows)
        online.partial_fit(X[part] * units, y[part], classes=[0, 1, 2])
    assert_array_equal(online.support_, whole.support_)
    assert_allclose(online.gains_, whole.gains_, rtol=1e-9)
    assert_allclose(online.centers_, whole.centers_, rtol=1e-9)
    proba = whole.predict_proba(X * units)
    assert_allclose(online.predict_proba(X * units), proba, rtol=1e-6)


@few_quick("parameters, size", [*UNITLESS, {"scaling": "variance"}], [2.0**-400, 2.0**400])
def test_cross_validation_chooses_the_same_whatever_the_units(parameters, size):
    X, y = make_data()
    one = SparseCenterClassifierCV(cv=3, **parameters)
    plain = one.fit(X, y)
    scores, stability, proba = plain.path_["score"], plain.stability_, plain.predict_proba(X)
    fitted = one.fit(X * size, y)
    assert_array_equal(fitted.path_["score"], scores)
    assert_array_equal(fitted.stability_, stability)
    assert_array_equal(fitted.predict_proba(X * size), proba)


@few_quick(
    "metric, scaling, size",
    ["l2", "l1"],
    ["spread", "std", "variance", None],
    [2.0**-100, 2.0**110],
)
def test_single_precision_reaches_the_ends_of_its_range(metric, scaling, size):
    X, y = make_data()
    X = X.astype(np.float32)
    plain = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(X, y)
    small = X * np.float32(size)
    fitted = SparseCenterClassifier(3, metric=metric, scaling=scaling).fit(small, y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_array_equal(fitted.predict_proba(small), plain.predict_proba(X))


@pytest.mark.parametrize("size", [2.0**-530, 2.0**530])
def test_rows_without_weight_have_no_say_in_the_units(size):
    X, y = make_data()
    weight = np.ones(90)
    weight[[4, 5]] = 0.0
    rows = np.flatnonzero(weight)
    plain = SparseCenterClassifier(3).fit(X[rows] * size, y[rows])
    X = X * size
    X[4], X[5] = 1.5e300, 1e-300
    fitted = SparseCenterClassifier(3).fit(X, y, weight)
    assert_array_equal(fitted.predict_proba(X[rows]), plain.predict_proba(X[rows]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_new_values_whose_squared_distances_overflow_are_refused(n_classes, form):
    X, y = make_data(n_classes)
    fitted = SparseCenterClassifier(4).fit(X * 2.0**-100, y)
    X = np.ones(X.shape)
    X[3] = 1e308
    for ask in (
        fitted.predict,
        fitted.predict_proba,
        fitted.explain,
        lambda new: fitted.path_predict(new, None),
        lambda new: fitted.path_score(new, y, None),
        lambda new: fitted.path_score(new, y, None, scoring="neg_log_loss"),
    ):
        with pytest.raises(ValueError, match="distances to the class centers overflow"):
            ask(form(X))


@few_quick(
    "n_classes, form, huge",
    [2, 3],
    [np.asarray, sparse.csr_array, sparse.csc_array],
    [1e9, 1e20, 1e308, -1e9, -1e20, -1e308],
)
def test_a_huge_value_counts_like_any_value_beyond_the_medians(n_classes, form, huge):
    X, y = make_data(n_classes)
    fitted = SparseCenterClassifier(4, metric="l1").fit(X, y)
    beyond, far = X.copy(), X.copy()
    beyond[:, 0], far[:, 0] = np.copysign(100.0, huge), huge
    assert_allclose(fitted.predict_proba(form(far)), fitted.predict_proba(beyond), rtol=1e-6)
    labels = fitted.path_predict(beyond, None)
    assert_array_equal(fitted.path_predict(form(far), None), labels)
    assert_array_equal(fitted.path_score(form(far), y, None), (labels == y).mean(axis=1))
    explanation = fitted.explain(form(far))
    assert_allclose(explanation.decision, fitted.decision_function(form(far)), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_medians_of_the_largest_numbers_are_found_and_used(n_classes):
    X, y = make_data(n_classes)
    X[:, 2] -= 1000.0
    X = X / np.abs(X).max()
    plain = SparseCenterClassifier(3, metric="l1").fit(X, y)
    huge = X * np.finfo(np.float64).max
    fitted = SparseCenterClassifier(3, metric="l1").fit(huge, y)
    assert_array_equal(fitted.support_, plain.support_)
    assert_allclose(fitted.predict_proba(huge), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("ending", ["json", "skops"])
@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_a_model_file_keeps_the_units(ending, metric, tmp_path):
    X, y = make_data()
    X = X * 2.0**-1000
    fitted = SparseCenterClassifier(3, metric=metric).fit(X, y)
    save_model(fitted, tmp_path / f"model.{ending}")
    again = read_model(tmp_path / f"model.{ending}")
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(again.centers_, fitted.centers_)
