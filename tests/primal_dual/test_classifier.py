import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import balanced_accuracy_score

from tamis import PrimalDualClassifier
from tamis.models import save_model
from tamis.models.saving import read_model
from tamis.primal_dual import classifier as module
from tests.oracles import primal_dual as oracle

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
# All four forms are in the tests of `training` and `standardized`, and in one test here.
forms = pytest.mark.parametrize("form", [FORMS[0], FORMS[2]], ids=["C", "csr"])
LOSSES, BALLS = ["huber", "l1", "frobenius"], ["l1", "l21", "l12", "nuclear"]
losses = pytest.mark.parametrize("loss", LOSSES)
balls = pytest.mark.parametrize("ball", BALLS)


def make_data(n=60, d=8, k=3, seed=0, gap=2.0, sizes=None):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k if sizes is None else np.repeat(np.arange(k), sizes)
    X = rng.normal(size=(y.size, d))
    X[:, :k] += gap * (y[:, None] == np.arange(k))[:, :d]
    return X, y


def certify(model, X, y, sample_weight=None):
    """Everything that a fit claims, recomputed from raw data by the oracle."""
    classes, codes = np.unique(y, return_inverse=True)
    assert_array_equal(model.classes_, classes)
    k = classes.size
    given = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, float)
    are_counts = all(float(w).is_integer() for w in given)
    given = given if are_counts else given / given[given > 0].mean()
    by_class = {
        "None": lambda: np.ones(k),
        "balanced": lambda: oracle.balanced_class_weights(codes, given),
    }.get(
        str(model.class_weight),
        lambda: np.array([model.class_weight.get(c, 1.0) for c in classes.tolist()]),
    )()
    assert_allclose(model.class_weight_, by_class, rtol=1e-12)
    s = given * model.class_weight_[codes]
    rho = model.rho_
    W, mu, Z = model.weights_, model.centers_, model.dual_
    assert W.shape == (model.n_features_in_, k)
    assert mu.shape == (k, k)
    assert Z.shape == (len(codes), k)
    assert oracle.is_primal_feasible(W, mu, model.ball, model.radius, rho)
    assert oracle.is_dual_feasible(Z, s, model.loss)
    delta = model.huber_delta
    raw = (X, codes, s, model.mean_, model.scale_, rho, model.loss, delta)
    primal = oracle.objective(*raw, W, mu)
    dual = oracle.dual_objective(*raw, model.ball, model.radius, Z)
    unit = oracle.empty_objective(codes, s, k, rho, model.loss, delta)
    slack = 1e-9 * unit
    assert model.objective_ == pytest.approx(primal, rel=1e-9, abs=slack)
    assert model.gap_ == pytest.approx(max(primal - dual, 0.0), abs=slack)
    assert model.gap_ >= primal - dual - slack
    assert model.relative_gap_ == pytest.approx(model.gap_ / unit, rel=1e-8, abs=1e-12)
    assert_array_equal(model.support_, [row.any() for row in W])
    assert model.n_features_ == model.support_.sum()
    return (primal - dual) / unit


def assert_certified(model, X, y, sample_weight=None):
    """The fit is within its tolerance of the optimum: proved from raw data."""
    assert certify(model, X, y, sample_weight) <= model.tol + 1e-9


def fit(X, y, sample_weight=None, **parameters):
    """A certified fit."""
    model = PrimalDualClassifier(**parameters).fit(X, y, sample_weight=sample_weight)
    assert_certified(model, X, y, sample_weight)
    return model


def quiet_fit(X, y, sample_weight=None, **parameters):
    """A certified fit that may collapse."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The fit has collapsed", UserWarning)
        return fit(X, y, sample_weight, **parameters)


# The optimum.


@losses
@balls
@pytest.mark.parametrize("k", [2, 3])
def test_every_combination_fits_and_proves_it(loss, ball, k):
    X, y = make_data(k=k)
    model = fit(X, y, radius=1.5, loss=loss, ball=ball)
    assert model.score(X, y) > 0.7
    mean, scale = oracle.class_balanced_moments(X, y, np.ones(y.size))
    assert_allclose(model.mean_, mean, atol=1e-12)
    assert_allclose(model.scale_, scale, rtol=1e-12)


@losses
@balls
@pytest.mark.parametrize("k", [2, 3])
def test_every_combination_with_fixed_centers_proves_its_fit(loss, ball, k):
    X, y = make_data(k=k)
    # With centers fixed at I the l1 loss gains nothing from centered data: it may collapse.
    model = quiet_fit(X, y, radius=1.5, loss=loss, ball=ball, adaptive_centers=False)
    assert_array_equal(model.centers_, np.eye(k))
    assert model.rho_ is None


@losses
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_more_features_than_samples(loss, ball):
    X, y = make_data(d=250, n=45)
    model = fit(X, y, radius=1.0, loss=loss, ball=ball)
    assert 0 < model.n_features_ < 120


def test_auto_rho_is_twice_the_mean_class_size():
    X, y = make_data(sizes=[30, 10, 5])
    assert fit(X, y).rho_ == pytest.approx(30.0)
    assert fit(X, y, class_weight=None).rho_ == pytest.approx(30.0)
    counts = np.arange(y.size) % 4
    assert fit(X, y, counts).rho_ == pytest.approx(2 * counts.sum() / 3)
    relative = np.linspace(0.5, 2, y.size)
    assert fit(X, y, relative).rho_ == pytest.approx(30.0)


def test_a_number_is_the_rho_of_the_paper():
    X, y = make_data()
    assert fit(X, y, rho=7).rho_ == 7.0
    assert fit(X, y, rho=7.5, adaptive_centers=False).rho_ is None


@balls
def test_huber_with_delta_0_is_the_l1_loss(ball):
    X, y = make_data()
    huber = PrimalDualClassifier(1.5, ball=ball, huber_delta=0).fit(X, y)
    l1 = fit(X, y, radius=1.5, ball=ball, loss="l1")
    assert_array_equal(huber.weights_, l1.weights_)
    assert huber.objective_ == l1.objective_


@balls
def test_a_large_huber_delta_is_the_squared_loss(ball):
    X, y = make_data()
    huber = fit(X, y, radius=1.5, ball=ball, huber_delta=1e3, rho=0.04, tol=1e-7)
    squares = fit(X, y, radius=1.5, ball=ball, loss="frobenius", rho=40.0, tol=1e-7)
    assert huber.objective_ * 1e3 == pytest.approx(squares.objective_, rel=1e-5)


def test_larger_balls_hold_better_optima():
    X, y = make_data()
    radii = [0.1, 0.3, 1.0, 3.0]
    values = [fit(X, y, radius=r, tol=1e-7).objective_ for r in radii]
    assert values == sorted(values, reverse=True)


def test_without_standardization_the_data_count_as_they_are():
    X, y = make_data()
    X *= np.linspace(0.5, 2, 8)
    model = fit(X, y, standardize=False, radius=1.0)
    assert_array_equal(model.mean_, np.zeros(8))
    assert_array_equal(model.scale_, np.ones(8))


def test_algorithm_1_runs_its_iterations_and_certifies_what_it_has():
    X, y = make_data()
    model = PrimalDualClassifier(1.5, algorithm="paper").fit(X, y)
    assert model.n_iter_ == 30
    assert certify(model, X, y) > 1e-4
    longer = PrimalDualClassifier(1.5, algorithm="paper", max_iter=600).fit(X, y)
    assert longer.n_iter_ == 600
    certify(longer, X, y)
    assert longer.gap_ < model.gap_


# Weights.


@losses
@pytest.mark.parametrize(
    ("ball", "class_weight"),
    [("l1", "balanced"), ("l21", None), ("l12", {0: 2.0, 1: 0.5}), ("nuclear", "balanced")],
    ids=str,
)
def test_weight_is_repetition(loss, ball, class_weight):
    X, y = make_data(n=45)
    weight = np.random.default_rng(1).integers(0, 4, 45)
    parameters = {
        "loss": loss, "ball": ball, "tol": 1e-6, "radius": 1.3, "class_weight": class_weight
    }  # fmt: skip
    weighted = fit(X, y, weight, **parameters)
    repeated = fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), **parameters)
    assert_allclose(weighted.mean_, repeated.mean_, rtol=1e-12, atol=1e-14)
    assert weighted.rho_ == pytest.approx(repeated.rho_)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-6)
    assert not weighted.dual_[weight == 0].any()


@pytest.mark.parametrize("loss", ["huber", "frobenius"])
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_weight_is_repetition_to_the_last_digits(loss, ball):
    X, y = make_data(n=45)
    weight = np.random.default_rng(2).integers(0, 4, 45)
    parameters = {"loss": loss, "ball": ball, "tol": 1e-10, "radius": 0.8}
    weighted = fit(X, y, weight, **parameters)
    repeated = fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), **parameters)
    assert_array_equal(weighted.support_, repeated.support_)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@losses
def test_a_constant_weight_changes_nothing(loss):
    X, y = make_data()
    parameters = {"loss": loss, "tol": 1e-6, "head": "projection"}
    one = fit(X, y, **parameters)
    many = fit(X, y, np.full(60, 64.0), **parameters)
    assert many.objective_ == pytest.approx(64 * one.objective_, rel=3e-6)
    assert_allclose(many.predict_proba(X), one.predict_proba(X), atol=0.02)


@losses
@pytest.mark.parametrize("size", [1e-90, 1e-9, 1e90])
def test_relative_weights_of_any_unit_are_those_of_rows(loss, size):
    X, y = make_data()
    one = fit(X, y, loss=loss, head="logistic")
    other = PrimalDualClassifier(loss=loss, head="logistic").fit(X, y, np.full(60, size))
    assert other.objective_ == one.objective_
    assert_array_equal(other.predict_proba(X), one.predict_proba(X))


@losses
def test_very_large_counts_change_nothing_but_the_objective(loss):
    X, y = make_data()
    one = fit(X, y, loss=loss, head="projection")
    other = PrimalDualClassifier(loss=loss, head="projection").fit(X, y, np.full(60, 1e9))
    assert other.objective_ == pytest.approx(1e9 * one.objective_, rel=3e-4)
    assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=0.1)


@losses
def test_rows_of_hardly_any_weight_hardly_count(loss):
    X, y = make_data()
    weight = np.ones(60)
    weight[:9] = 1e-12
    one, other = fit(X[9:], y[9:], loss=loss), fit(X, y, weight, loss=loss)
    # The weights of all 60 rows sum to 60, and nearly all of that is on 51.
    assert other.objective_ == pytest.approx(60 / 51 * one.objective_, rel=3e-4)


def test_class_weights_multiply_sample_weights():
    X, y = make_data(sizes=[30, 20, 10])
    weight = np.linspace(0.5, 1.5, 60)
    by_class = {0: 2.0, 1: 0.25, 2: 3.0}
    one = fit(X, y, weight, class_weight=by_class, tol=1e-7)
    product = weight * np.array([2.0, 0.25, 3.0])[y]
    other = fit(X, y, product, class_weight=None, tol=1e-7)
    # These weights are relative: they are scaled to sum to 60.
    assert one.objective_ == pytest.approx(other.objective_ * product.sum() / 60, rel=1e-6)


def test_balanced_is_the_default_and_gives_every_class_the_same_weight():
    X, y = make_data(sizes=[30, 20, 10])
    model = fit(X, y)
    assert_allclose(model.class_weight_ * [30, 20, 10], [20.0, 20.0, 20.0])


@losses
@balls
def test_a_rare_class_is_predicted(loss, ball):
    X, y = make_data(k=2, sizes=[170, 30], gap=1.5)
    model = fit(X, y, loss=loss, ball=ball)
    assert set(model.predict(X)) == {0, 1}
    assert balanced_accuracy_score(y, model.predict(X)) > 0.75


@losses
@pytest.mark.parametrize("seed", [0])
def test_a_rare_class_is_predicted_on_noisy_wide_data(loss, seed):
    X, y = make_data(k=2, d=120, sizes=[170, 30], gap=1.0, seed=seed)
    model = fit(X, y, loss=loss, radius=1.0, tol=1e-3)
    assert balanced_accuracy_score(y, model.predict(X)) > 0.65


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("equal", "class_weight must be None, 'balanced' or a dict"),
        (3.0, "class_weight must be None, 'balanced' or a dict"),
        ({0: 0.0}, "class_weight must be positive numbers between"),
        ({0: -1.0}, "class_weight must be positive numbers between"),
        ({0: np.nan}, "class_weight must be positive numbers between"),
        ({0: np.inf}, "class_weight must be positive numbers between"),
        ({9: 2.0}, "class_weight has the label 9, which is not among"),
        ({0: "much"}, "much"),
    ],
    ids=str,
)
def test_wrong_class_weights_are_errors(class_weight, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifier(class_weight=class_weight).fit(X, y)


# Data of all kinds.


@losses
@balls
@pytest.mark.parametrize("form", FORMS[1:], ids=["F", "csr", "csc"])
def test_the_form_of_the_data_does_not_matter(form, loss, ball):
    X, y = make_data(n=45)
    X = np.maximum(np.rint(3 * X), 0)
    one = fit(X, y, loss=loss, ball=ball, tol=1e-5)
    other = fit(form(X), y, loss=loss, ball=ball, tol=1e-5)
    assert other.objective_ == pytest.approx(one.objective_, rel=3e-5)
    assert_allclose(one.predict_proba(form(X)), one.predict_proba(X), rtol=1e-9, atol=1e-12)


@forms
@pytest.mark.parametrize("loss", ["huber", "l1"])
@pytest.mark.parametrize("shape", [(20, 60), (60, 5), (210, 220)], ids=str)
def test_the_data_of_the_user_are_left_alone(form, loss, shape):
    n, d = shape
    X, y = make_data(n=n, d=d)
    X = X + 3.0
    given, weight = form(X), np.linspace(0.5, 2.0, n)
    kept = weight.copy()
    model = quiet_fit(given, y, weight, loss=loss, radius=0.5, tol=1e-2)
    model.predict(given)
    model.explain(given)
    assert_array_equal(given.toarray() if sparse.issparse(given) else given, X)
    assert_array_equal(weight, kept)
    same = quiet_fit(X, y, weight, loss=loss, radius=0.5, tol=1e-2)
    assert model.objective_ == pytest.approx(same.objective_, rel=3e-2)


@forms
@pytest.mark.parametrize("k", [2, 3])
def test_read_only_data_are_taken(form, k, tmp_path):
    X, y = make_data(n=30, d=40, k=k)
    X = form(X)
    part = X.data if sparse.issparse(X) else X
    part.flags.writeable = False
    y.flags.writeable = False
    fit(X, y)


def test_memory_maps_are_taken(tmp_path):
    X, y = make_data(n=30, d=40)
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert fit(mapped, y).objective_ == pytest.approx(fit(X, y).objective_, rel=3e-4)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool, np.float16])
def test_numbers_of_any_type_are_taken(dtype):
    X, y = make_data()
    X = (X > 0.5).astype(dtype)
    fit(X, y)


@losses
@pytest.mark.parametrize("form", FORMS, ids=["C", "F", "csr", "csc"])
def test_single_precision_gives_the_optimum_of_the_rounded_data(form, loss):
    X, y = make_data()
    X = X.astype(np.float32)
    single = fit(form(X), y, loss=loss, tol=1e-5)
    double = fit(X.astype(np.float64), y, loss=loss, tol=1e-5)
    assert single.weights_.dtype == np.float64
    assert single.objective_ == pytest.approx(double.objective_, rel=3e-5)
    assert_allclose(single.predict_proba(form(X)), single.predict_proba(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", FORMS[2:], ids=["csr", "csc"])
def test_sparse_data_with_long_indices_and_entries_given_twice(form):
    X, y = make_data()
    half = sparse.coo_array(X / 2)
    row, column = np.r_[half.row, half.row], np.r_[half.col, half.col]
    twice = form(sparse.coo_array((np.r_[half.data, half.data], (row, column)), shape=X.shape))
    shuffled = form(X)
    shuffled.indices = shuffled.indices[::-1].astype(np.int64)
    shuffled.data = shuffled.data[::-1].copy()
    shuffled.indptr = shuffled.indptr.astype(np.int64)
    shuffled.has_sorted_indices = False
    true = shuffled.toarray()
    assert fit(twice, y).objective_ == pytest.approx(fit(X, y).objective_, rel=3e-4)
    y = y if form is sparse.csc_array else y[::-1]
    assert fit(shuffled, y).objective_ == pytest.approx(fit(true, y).objective_, rel=3e-4)


@forms
@losses
@pytest.mark.parametrize("offset", [1e8, -1e5])
def test_offsets_do_not_matter(form, loss, offset):
    X, y = make_data()
    X = np.round(X * 2**20) / 2**20  # exact after the shift, up to 1e8
    one = fit(X, y, loss=loss, tol=1e-5)
    far = PrimalDualClassifier(loss=loss, tol=1e-5).fit(form(X + offset), y)
    assert far.objective_ == pytest.approx(one.objective_, rel=3e-5)
    assert_allclose(far.scale_, one.scale_, rtol=1e-6)
    assert_allclose(far.predict_proba(X + offset), one.predict_proba(X), atol=0.1)
    assert_allclose(far.predict_proba(form(X + offset)), far.predict_proba(X + offset), atol=1e-4)


@forms
@losses
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_do_not_matter(form, loss, size):
    X, y = make_data()
    one, other = fit(X, y, loss=loss), fit(form(X * size), y, loss=loss)
    assert other.objective_ == pytest.approx(one.objective_, rel=3e-4)
    assert_allclose(other.predict_proba(form(X * size)), one.predict_proba(X), atol=0.1)


@forms
@balls
@pytest.mark.parametrize("seed", [0])
def test_constant_columns_are_never_selected(form, ball, seed):
    X, y = make_data(n=59 + seed, seed=seed)
    X[:, 5:] = [0.1, 1e8 / 3, -7.7]
    weight = 10.0 ** np.random.default_rng(seed).uniform(-2, 2, y.size)
    assert not fit(form(X), y, ball=ball, radius=50.0, tol=0.1).support_[5:].any()
    assert not fit(form(X), y, weight, ball=ball, radius=50.0, tol=0.1).support_[5:].any()


@forms
@balls
@pytest.mark.parametrize("size", [1.0, -1e8, 1e12, 1e16])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_that_vary_by_rounding_only_leave_the_certificate_true(form, ball, size, weighted):
    X, y = make_data()
    rng = np.random.default_rng(1)
    X[:, 2] = size * (1 + rng.integers(-3, 4, y.size) * 2.0**-52)
    X[:, 5] = size * (1 + 1e-15 * X[:, 0])
    X[:, 7] = size
    weight = rng.integers(0, 4, y.size).astype(float) if weighted else None
    model = fit(form(X), y, weight, ball=ball, radius=0.8, tol=1e-6, feature_weights=[2.0] * 8)
    assert not model.support_[[2, 5, 7]].any()
    assert_array_equal(model.scale_[[2, 5, 7]], [np.inf, np.inf, 1.0])
    used = [0, 1, 3, 4, 6]
    rest = fit(X[:, used], y, weight, ball=ball, radius=0.8, tol=1e-6, feature_weights=[2.0] * 5)
    assert model.objective_ == pytest.approx(rest.objective_, rel=3e-6)


@forms
@losses
@pytest.mark.parametrize("ball", ["l1", "nuclear"])
@pytest.mark.parametrize("d", [1, 90])
def test_constant_data_collapse_and_say_so(form, ball, loss, d):
    X, y = np.full((30, d), 2.5), np.arange(30) % 2
    X[:, ::2] = 0.0
    with pytest.warns(UserWarning, match="collapsed"):
        model = PrimalDualClassifier(ball=ball, loss=loss).fit(form(X), y)
    assert_certified(model, X, y)
    assert model.n_features_ == 0
    assert_allclose(model.predict_proba(X), 0.5)
    assert_array_equal(model.predict(X), np.zeros(30))


@losses
@balls
def test_equal_columns_share_or_not_but_the_optimum_is_one(loss, ball):
    X, y = make_data()
    one = fit(X, y, loss=loss, ball=ball, tol=1e-5)
    twice = fit(np.column_stack([X, X]), y, loss=loss, ball=ball, tol=1e-5)
    assert twice.objective_ <= one.objective_ * (1 + 3e-5)


@losses
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_copies_of_a_column_are_worth_no_more_than_one_in_a_ball_that_selects(loss, ball):
    X, y = make_data()
    one = fit(X, y, loss=loss, ball=ball, tol=1e-5)
    many = fit(np.tile(X, (1, 20)), y, loss=loss, ball=ball, tol=1e-5)
    assert many.objective_ == pytest.approx(one.objective_, rel=3e-5)


@losses
@balls
def test_classes_of_one_sample(loss, ball):
    X, y = make_data(k=3, sizes=[20, 1, 1], gap=6.0)
    model = quiet_fit(X, y, loss=loss, ball=ball, radius=3.0)
    assert set(model.predict(X)) <= {0, 1, 2}


@losses
@balls
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_array], ids=["C", "csr"])
def test_two_samples(loss, ball, d, form):
    X, y = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, -3.0]])[:, :d], np.array([0, 1])
    model = fit(form(X), y, loss=loss, ball=ball, max_iter=5000)
    assert_array_equal(model.predict(X), y)


@losses
@balls
def test_one_feature(loss, ball):
    X, y = make_data(d=1, k=2)
    assert fit(X, y, loss=loss, ball=ball).score(X, y) > 0.7


@pytest.mark.parametrize("loss", ["huber", "frobenius"])
def test_forty_classes(loss):
    X, y = make_data(n=200, d=45, k=40, gap=8.0)
    assert fit(X, y, loss=loss, radius=30.0, tol=1e-2).score(X, y) > 0.7


@losses
@balls
@pytest.mark.parametrize("radius", [1e-300, 1e-12, 1e-3])
def test_tiny_balls(loss, ball, radius):
    X, y = make_data()
    quiet_fit(X, y, loss=loss, ball=ball, radius=radius)


@losses
@balls
def test_balls_far_larger_than_needed(loss, ball):
    X, y = make_data()
    one = fit(X, y, loss=loss, ball=ball, radius=1e2, tol=1e-2)
    other = fit(X, y, loss=loss, ball=ball, radius=1e4, tol=1e-2)
    assert other.objective_ == pytest.approx(one.objective_, rel=3e-2)


@losses
def test_row_order_does_not_matter(loss):
    X, y = make_data()
    order = np.random.default_rng(0).permutation(60)
    one = fit(X, y, loss=loss, tol=1e-6)
    other = fit(X[order], y[order], loss=loss, tol=1e-6)
    assert other.objective_ == pytest.approx(one.objective_, rel=3e-6)
    assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-2)


@losses
@balls
def test_equal_calls_give_equal_bits(loss, ball):
    X, y = make_data(n=30, d=40)
    one, other = fit(X, y, loss=loss, ball=ball), fit(X, y, loss=loss, ball=ball)
    assert_array_equal(one.weights_, other.weights_)
    assert_array_equal(one.dual_, other.dual_)


@pytest.mark.parametrize(
    "names",
    [["b", "a", "c"], [-3, 7, 2], [0.0, 2.0, 1.0], np.array(["x", "yy", "z"], dtype=object)],
    ids=["str", "int", "float", "object"],
)
def test_labels_of_any_type(names):
    X, y = make_data()
    labels = np.asarray(names)[y]
    model = fit(X, labels, class_weight={names[0]: 2.0})
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.7


def test_labels_of_two_values():
    X, y = make_data(k=2)
    model = fit(X, y.astype(bool))
    assert model.predict(X).dtype == bool


# What a fitted classifier can do.


@losses
@balls
@pytest.mark.parametrize("k", [2, 5])
def test_predictions_follow_from_distances(loss, ball, k):
    X, y = make_data(k=k)
    model = quiet_fit(X, y, loss=loss, ball=ball, radius=2.0, tol=1e-2, head="projection")
    rest = model.weights_, model.centers_, model.mean_, model.scale_, loss == "frobenius"
    far = np.array([oracle.distances(x, *rest) for x in X])
    first, second = np.sort(far, axis=1)[:, :2].T
    for given in (form(X) for form in FORMS):
        assert_array_equal(model.predict(given), far.argmin(axis=1))
        assert_allclose(model.confidence(given), (second - first) / (second + first), atol=1e-9)
        decisions = model.decision_function(given)
        assert decisions.shape == ((60,) if k == 2 else (60, k))
        assert_array_equal(model.predict(given), model.predict_proba(given).argmax(axis=1))
        assert_allclose(model.explain(given).decision, decisions, rtol=1e-8, atol=1e-8)
        assert_allclose(model.predict_proba(given).sum(axis=1), 1.0)


@pytest.mark.parametrize("k", [2, 4])
def test_rejected_samples_are_those_without_a_probable_class(k):
    X, y = make_data(k=k)
    model = fit(X, y)
    labels, rejected = model.predict_reject(X, 0.9)
    assert_array_equal(labels, model.predict(X))
    assert_array_equal(rejected, model.predict_proba(X).max(axis=1) < 0.9)
    assert 0 < rejected.sum() < y.size
    assert not model.predict_reject(X, 0)[1].any()


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan, "high", None])
def test_wrong_thresholds_are_errors(threshold):
    X, y = make_data()
    with pytest.raises(ValueError, match="threshold must be a probability"):
        fit(X, y).predict_reject(X, threshold)


def test_importances_order_the_features_and_select_from_a_model():
    X, y = make_data(k=3)
    model = fit(X, y, radius=0.3, head="projection")
    expected = np.sqrt((model.weights_**2).sum(axis=1))
    assert_allclose(model.feature_importances_, expected)
    assert np.all(np.diff(expected[model.feature_order_]) <= 0)
    selector = SelectFromModel(PrimalDualClassifier(0.3), threshold=1e-12).fit(X, y)
    assert_array_equal(selector.get_support(), model.support_)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("k", [2, 3])
def test_coefficients_give_the_decisions_of_squared_distances(k):
    X, y = make_data(k=k)
    model = fit(3 + 5 * X, y, loss="frobenius", head="projection")
    assert model.coef_.shape == ((1, 8) if k == 2 else (k, 8))
    linear = (3 + 5 * X) @ model.coef_.T + model.intercept_
    decisions = model.decision_function(3 + 5 * X).reshape(y.size, -1)
    if k > 2:  # up to a constant per sample
        linear, decisions = linear - linear[:, :1], decisions - decisions[:, :1]
    assert_allclose(linear, decisions, atol=1e-9)


def test_selected_columns_come_out_of_transform():
    X, y = make_data()
    model = fit(X, y, radius=0.3)
    assert 0 < model.n_features_ < 8
    assert_array_equal(model.transform(X), X[:, model.support_])
    assert_array_equal(model.get_support(), model.support_)
    names = [f"x{j}" for j in np.flatnonzero(model.support_)]
    assert model.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("head", ["auto", "projection"])
@pytest.mark.parametrize("k", [2, 3])
def test_explanations_have_the_shape_of_the_decisions(k, head):
    X, y = make_data(k=k)
    model = fit(X, y, head=head)
    dense, thin = model.explain(X), model.explain(sparse.csr_array(X))
    assert dense.values.shape == ((60, 8) if k == 2 else (60, 8, 3))
    assert_allclose(thin.decision, dense.decision, atol=1e-9)
    assert dense.names.tolist() == [f"x{j}" for j in range(8)]


@pytest.mark.parametrize("ending", ["json", "skops"])
def test_columns_that_vary_by_rounding_only_go_into_a_model_file(ending, tmp_path):
    X, y = make_data()
    X[:, 2] = 1e16 * (1 + 1e-15 * X[:, 0])
    model = fit(X, y)
    save_model(model, tmp_path / f"model.{ending}")
    again = read_model(tmp_path / f"model.{ending}")
    assert_array_equal(again.scale_, model.scale_)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_fitted_classifier_survives_pickling():
    X, y = make_data()
    model = fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_certified(again, X, y)


def test_fitted_state_is_arrays_numbers_and_strings():
    X, y = make_data()
    model = fit(X, y)
    kinds = (np.ndarray, float, int, str, type(None), np.bool_, bool)
    for name, value in vars(model).items():
        values = value.values() if name == "history_" else [value]
        assert all(isinstance(v, kinds) for v in values), name


# Stopping.


def test_history_tells_how_the_fit_went():
    X, y = make_data(d=300)
    model = fit(X, y, radius=2.0, loss="l1", tol=1e-5)
    history = model.history_
    assert list(history) == ["n_iter", "objective", "relative_gap", "n_features", "seconds"]
    assert len({len(column) for column in history.values()}) == 1
    assert np.all(np.diff(history["n_iter"]) >= 0)
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(np.diff(history["objective"]) <= 0)
    assert np.all(np.diff(history["relative_gap"]) <= 0)
    assert history["n_iter"][0] == 0
    assert history["n_features"][0] == 0
    assert history["n_iter"][-1] == model.n_iter_
    assert history["objective"][-1] == model.objective_
    assert history["relative_gap"][-1] == model.relative_gap_
    assert history["n_features"][-1] == model.n_features_


@losses
@balls
def test_an_early_end_warns_with_the_gap_and_is_certified(loss, ball):
    X, y = make_data(n=40, d=60)
    with pytest.warns(ConvergenceWarning, match="relative duality gap is") as caught:
        model = PrimalDualClassifier(3.0, loss=loss, ball=ball, tol=1e-9, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert certify(model, X, y) > 1e-9
    message = str(next(w for w in caught if w.category is ConvergenceWarning).message)
    told = float(re.search(r"gap is ([0-9.e+-]+) after max_iter=3", message).group(1))
    assert told == pytest.approx(model.relative_gap_, rel=0.1)
    assert "above tol=1e-09" in message


def test_warnings_point_at_the_caller():
    X, y = make_data(n=40, d=60)
    with pytest.warns(ConvergenceWarning) as caught:
        PrimalDualClassifier(3.0, tol=1e-9, max_iter=3).fit(X, y)
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize("algorithm", ["fast", "paper"])
def test_warnings_of_a_collapse_point_at_the_caller(monkeypatch, algorithm):
    X, y = np.ones((20, 3)), np.arange(20) % 2
    # Algorithm 1 leaves traces of its start on constant columns: put an empty model in its place.
    monkeypatch.setattr(module, "algorithm_1", lambda problem, max_iter: module.solve(problem))
    with pytest.warns(UserWarning, match="collapsed") as caught:
        PrimalDualClassifier(algorithm=algorithm).fit(X, y)
    assert {w.filename for w in caught} == {__file__}


def test_the_rho_of_the_paper_makes_l1_collapse_and_the_warning_says_why():
    X, y = make_data(k=2, sizes=[100, 100])
    with pytest.warns(UserWarning, match=r"collapsed.*rho=1 is small against"):
        model = PrimalDualClassifier(1.0, loss="l1", rho=1.0).fit(X, y)
    assert_certified(model, X, y)
    assert not model.weights_.any()
    assert np.unique(model.predict(X)).size == 1
    assert fit(X, y, loss="l1").n_features_ > 0


def test_a_good_fit_warns_of_nothing():
    X, y = make_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in LOSSES:
            fit(X, y, loss=loss)


@losses
@balls
def test_warm_starts_save_iterations(loss, ball):
    X, y = make_data(n=40, d=30)
    model = PrimalDualClassifier(2.0, loss=loss, ball=ball, warm_start=True, tol=1e-4).fit(X, y)
    cold = model.n_iter_
    assert_certified(model.fit(X, y), X, y)
    assert model.n_iter_ == 0
    assert cold >= 10
    model.set_params(radius=1.0).fit(X, y)
    assert_certified(model, X, y)
    weight = np.linspace(0.5, 1.5, 40)
    assert_certified(model.fit(X, y, weight), X, y, weight)
    weight[::4] = 0.0
    assert_certified(model.fit(X, y, weight), X, y, weight)
    assert_certified(model.fit(X, y), X, y)


@pytest.mark.filterwarnings("ignore:The fit has collapsed:UserWarning")
@pytest.mark.parametrize("loss", ["l1", "frobenius"])
def test_warm_starts_may_change_everything_but_the_shape(loss):
    X, y = make_data()
    model = PrimalDualClassifier(warm_start=True).fit(X, y)
    for change in (
        {"loss": loss},
        {"ball": "nuclear"},
        {"adaptive_centers": False},
        {"ball": "l12", "adaptive_centers": True},
        {"radius": 1e-3, "ball": "l21"},
        {"standardize": False, "radius": 1.0},
        {"class_weight": None, "loss": "huber"},
        {"rho": 500.0},
    ):
        assert_certified(model.set_params(**change).fit(X, y), X, y)


def test_warm_starts_are_left_alone_where_shapes_differ():
    X, y = make_data()
    model = PrimalDualClassifier(warm_start=True).fit(X, y)
    assert_certified(model.fit(X[:, :5], y), X[:, :5], y)
    assert_certified(model.fit(X[:40], y[:40]), X[:40], y[:40])
    two = y > 0
    assert_certified(model.fit(X, two), X, two)
    names = np.array(["a", "b", "c"])[y]
    assert_certified(model.fit(X, names), X, names)
    renamed = y + 7
    assert_certified(model.fit(X, renamed), X, renamed)


def test_without_warm_start_every_fit_is_the_same():
    X, y = make_data(n=40, d=30)
    model = fit(X, y, radius=2.0)
    first, n_iter = model.weights_.copy(), model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ == n_iter > 0
    assert_array_equal(model.weights_, first)


@losses
@balls
@pytest.mark.parametrize("n_rounds", [1, 2])
def test_an_interrupt_leaves_the_best_so_far(monkeypatch, loss, ball, n_rounds):
    X, y = make_data(d=150)

    def interrupted(*arguments, **keywords):
        for n, solution in enumerate(solve(*arguments, **keywords)):
            yield solution
            if n + 1 == n_rounds:
                raise KeyboardInterrupt

    solve = module.solve
    monkeypatch.setattr(module, "solve", interrupted)
    model = PrimalDualClassifier(3.0, loss=loss, ball=ball, tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    certify(model, X, y)
    assert model.predict(X).shape == (60,)
    assert model.predict_proba(X).shape == (60, 3)
    assert len(model.history_["n_iter"]) == n_rounds
    monkeypatch.undo()
    assert_certified(model.set_params(warm_start=True, tol=1e-3).fit(X, y), X, y)


class Interrupt:
    """A callback that raises, or asks to stop, at the end of a step."""

    def __init__(self, raises):
        self.raises = raises
        self.n_steps = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.n_steps += 1
        if self.raises:
            raise KeyboardInterrupt
        return True


def test_an_interrupt_in_a_callback_leaves_the_best_so_far():
    pytest.importorskip("sklearn.callback")
    X, y = make_data(d=150)
    model = PrimalDualClassifier(3.0, tol=1e-9).set_callbacks(Interrupt(True))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    certify(model, X, y)
    assert model.predict(X).shape == (60,)


def test_a_callback_that_asks_to_stop_ends_the_fit():
    pytest.importorskip("sklearn.callback")
    X, y = make_data(d=150)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The fit has collapsed", UserWarning)
        model = PrimalDualClassifier(3.0, tol=1e-9).set_callbacks(Interrupt(False)).fit(X, y)
    certify(model, X, y)
    assert model.relative_gap_ > 1e-9
    assert len(model.history_["n_iter"]) == 1


# Wrong calls.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": 0}, "radius must be a number > 0, got 0"),
        ({"radius": -1.0}, r"radius must be a number > 0, got -1\.0"),
        ({"radius": np.nan}, "radius must be a number > 0, got nan"),
        ({"radius": np.inf}, "radius must be a number > 0, got inf"),
        ({"radius": True}, "radius must be a number > 0, got True"),
        ({"radius": "1"}, "radius must be a number > 0, got '1'"),
        ({"radius": None}, "radius must be a number > 0, got None"),
        ({"radius": [1.0]}, r"radius must be a number > 0, got \[1\.0\]"),
        ({"radius": 1j}, "radius must be a number > 0"),
        ({"huber_delta": -0.1}, r"huber_delta must be a number >= 0, got -0\.1"),
        ({"huber_delta": np.nan}, "huber_delta must be a number >= 0, got nan"),
        ({"huber_delta": "x"}, "huber_delta must be a number >= 0, got 'x'"),
        ({"rho": 0}, "rho must be a number > 0 or 'auto', got 0"),
        ({"rho": -2.0}, r"rho must be a number > 0 or 'auto', got -2\.0"),
        ({"rho": np.inf}, "rho must be a number > 0 or 'auto', got inf"),
        ({"rho": "automatic"}, "rho must be a number > 0 or 'auto', got 'automatic'"),
        ({"rho": None}, "rho must be a number > 0 or 'auto', got None"),
        ({"rho": np.array([1.0, 2.0])}, "rho must be a number > 0 or 'auto'"),
        ({"tol": 0}, "tol must be a number > 0, got 0"),
        ({"tol": -1e-3}, "tol must be a number > 0"),
        ({"tol": "small"}, "tol must be a number > 0, got 'small'"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1 or None, got 0"),
        ({"max_iter": 1.5}, r"max_iter must be an integer >= 1 or None, got 1\.5"),
        ({"max_iter": True}, "max_iter must be an integer >= 1 or None, got True"),
        ({"max_iter": "many"}, "max_iter must be an integer >= 1 or None, got 'many'"),
        ({"ball": "l2"}, "ball must be one of 'l1', 'l21', 'l12', 'nuclear', got 'l2'"),
        ({"ball": None}, "ball must be one of .* got None"),
        ({"ball": ["l1"]}, r"ball must be one of .* got \['l1'\]"),
        ({"loss": "hinge"}, "loss must be one of 'huber', 'l1', 'frobenius', got 'hinge'"),
        ({"loss": 1}, "loss must be one of .* got 1"),
        ({"algorithm": "slow"}, "algorithm must be 'fast' or 'paper', got 'slow'"),
        ({"algorithm": None}, "algorithm must be 'fast' or 'paper', got None"),
        ({"algorithm": ["fast"]}, r"algorithm must be 'fast' or 'paper', got \['fast'\]"),
    ],
    ids=str,
)
def test_wrong_parameters_are_errors(parameters, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"radius": np.float32(1)},
        {"radius": 2},
        {"rho": np.int64(50)},
        {"max_iter": np.int32(5000)},
        {"tol": np.float32(1e-3)},
        {"huber_delta": 1},
    ],
    ids=str,
)
def test_numbers_of_numpy_are_numbers(parameters):
    X, y = make_data()
    fit(X, y, **parameters)


@forms
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_entries_are_errors(form, bad):
    X, y = make_data()
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PrimalDualClassifier().fit(form(X), y)
    model = fit(np.nan_to_num(X, posinf=0, neginf=0), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(form(X))


@forms
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_sums_that_overflow_are_errors_and_not_warnings(form, standardize, size):
    X, y = make_data()
    X[:, 0] *= size
    with pytest.raises(ValueError, match="overflow"):
        PrimalDualClassifier(standardize=standardize).fit(form(X), y)


@forms
def test_columns_that_are_nearly_0_do_no_harm(form):
    X, y = make_data()
    X[:, 0] *= 1e-160
    X[:, 1] *= 1e-305
    fit(form(X), y)


@pytest.mark.parametrize("size", [1e200, 1e306])
@losses
def test_samples_far_away_get_a_label_without_warnings(loss, size):
    X, y = make_data()
    model = fit(X, y, loss=loss)
    assert np.isfinite(model.predict_proba(X * size)).all()
    assert np.isfinite(model.confidence(X * size)).all()
    assert set(model.predict(X * size)) <= {0, 1, 2}


@losses
@pytest.mark.parametrize("rho", [1e-6, 1e6])
def test_extreme_rho_gives_a_certified_fit(loss, rho):
    X, y = make_data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = fit(X, y, loss=loss, rho=rho, max_iter=500)
    assert np.isfinite(model.weights_).all()


@losses
@pytest.mark.parametrize("rho", [1e-20, 1e20])
def test_rho_out_of_all_proportion_is_an_error(loss, rho):
    X, y = make_data()
    with pytest.raises(ValueError, match="out of proportion to the mean"):
        PrimalDualClassifier(loss=loss, rho=rho).fit(X, y)


@pytest.mark.parametrize("name", ["radius", "huber_delta"])
def test_parameters_beyond_any_use_are_errors(name):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"{name} must be at most 1e.09"):
        PrimalDualClassifier(**{name: 1e12}).fit(X, y)


@pytest.mark.parametrize("name", ["adaptive_centers", "standardize"])
def test_switches_are_true_or_false(name):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 'yes'"):
        PrimalDualClassifier(**{name: "yes"}).fit(X, y)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_class_weights_too_extreme_for_sums_are_errors(size):
    X, y = make_data()
    with pytest.raises(ValueError, match="weight"):
        PrimalDualClassifier(class_weight={0: size}).fit(X, y)


def test_one_class_is_an_error():
    X, _ = make_data()
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class: 'a'"):
        PrimalDualClassifier().fit(X, ["a"] * 60)


def test_numbers_that_are_no_labels_are_an_error():
    X, _ = make_data()
    with pytest.raises(ValueError, match="Unknown label type"):
        PrimalDualClassifier().fit(X, np.random.default_rng(0).normal(size=60))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(59), "sample_weight must have one number for each of the 60 samples"),
        (np.ones((60, 1)), "sample_weight must have one number for each of the 60 samples"),
        (-np.ones(60), "sample_weight must not be negative"),
        (np.full(60, np.nan), "NaN"),
        (np.full(60, np.inf), "infinity"),
        (np.zeros(60), "have zero weight"),
        (np.arange(60) % 3 != 1, "All samples of the class 1 have zero weight"),
        (np.full(60, 1e200), "Divide all weights by their largest"),
        (np.geomspace(1e-9, 1e9, 60), "a ratio above the limit of 4.5e"),
    ],
    ids=["short", "2d", "negative", "nan", "inf", "zero", "class", "huge", "ratio"],
)
def test_wrong_sample_weights_are_errors(weight, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifier().fit(X, y, sample_weight=weight)


def test_predictions_need_a_fit_and_its_columns():
    X, y = make_data()
    with pytest.raises(ValueError, match="not fitted"):
        PrimalDualClassifier().predict(X)
    with pytest.raises(ValueError, match="features"):
        fit(X, y).predict(X[:, :5])


@pytest.mark.parametrize("ball", ["l1", "l21", "l12", "nuclear"])
def test_weights_that_are_only_rounding_count_as_collapsed(ball):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(203, 7)), np.arange(203) % 2
    X[:, :2] += 0.5 * np.eye(2)[y]
    for rho in 10 ** rng.uniform(-2, 1.2, 6):
        with pytest.warns(UserWarning, match="collapsed"):
            model = PrimalDualClassifier(
                0.01, ball=ball, loss="l1", rho=float(rho), class_weight=None
            ).fit(X, y)
        assert model.n_features_ == 0
        assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


@pytest.mark.parametrize("ball", ["l1", "l21"])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_a_small_delta_is_no_harder_than_l1(ball, delta):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 160)), np.arange(80) % 4
    X[:, :4] += np.eye(4)[y]
    fit(X, y, radius=3.0, ball=ball, huber_delta=delta)


@pytest.mark.slow
def test_correlated_features_converge():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(150, 5))
    X = F @ rng.normal(size=(5, 200)) + 0.01 * rng.normal(size=(150, 200))
    y = (F[:, 0] > 0) + 2 * (F[:, 1] > 0)
    for ball in ("l1", "l21"):
        for loss in ("huber", "l1"):
            fit(X, y, radius=5.0, ball=ball, loss=loss, tol=1e-3)


def test_a_failed_fit_leaves_no_mixture():
    X, y = make_data()
    model = PrimalDualClassifier().fit(X, y)
    with pytest.raises(ValueError, match="out of proportion"):
        model.set_params(rho=1e20).fit(X[:, :3], y)
    assert not hasattr(model, "weights_")
    assert not hasattr(model, "support_")


def test_the_algorithm_of_the_paper_has_its_own_start():
    X, y = make_data()
    with pytest.raises(ValueError, match="needs algorithm='fast'"):
        PrimalDualClassifier(algorithm="paper", warm_start=True).fit(X, y)


def test_raw_data_out_of_scale_are_told():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"columns of norm up to .*use standardize=True"):
        PrimalDualClassifier(standardize=False).fit(1e100 * X, y)


def test_the_last_iterate_of_the_paper_is_kept_also_above_the_empty_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    X[:, 0] += y
    few = PrimalDualClassifier(20.0, algorithm="paper", loss="l1", max_iter=1).fit(X, y)
    empty = PrimalDualClassifier(1e-9, loss="l1").fit(X, y)
    assert few.objective_ > empty.objective_
    assert few.n_features_ > 0


@losses
@balls
@forms
def test_small_data_need_no_compiled_code(form, loss, ball, monkeypatch):
    monkeypatch.setattr("tamis._compile.Kernel.__call__", None)
    X, y = make_data()
    model = fit(form(X), y, loss=loss, ball=ball, head="projection")
    assert model.relative_gap_ <= model.tol


@pytest.mark.parametrize(("offset", "is_weighted"), [(1e4, True), (1e5, False)])
def test_columns_far_from_zero_do_not_stop_the_line_search(offset, is_weighted):
    X, y = make_classification(
        30, 80, n_informative=6, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    weight = 10.0 ** np.random.default_rng(0).uniform(-8, 0, 30) if is_weighted else None
    model = PrimalDualClassifier(2.0, standardize=False, tol=1e-3)
    model.fit(X + offset, y, sample_weight=weight)
    assert 0 <= model.relative_gap_ <= 1e-3
