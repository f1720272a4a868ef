"""Arrays of other libraries: array-api-strict stands in for torch on a GPU."""

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from tamis import (
    LandmarkSearchCV,
    PanelClassifier,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
)
from tamis._array import is_on_device, multiply, multiply_transposed, only_columns, to_host
from tamis._base.devices import is_dispatching
from tamis.centers.statistics import summarise
from tamis.landmarks.neighbors import nearest_rows
from tamis.primal_dual._device_fista import _Loop, device_fista
from tamis.primal_dual.problem import Pair
from tamis.primal_dual.solver import solve
from tamis.primal_dual.training import make_problem, prepare

xp = pytest.importorskip("array_api_strict")


@pytest.fixture
def dispatch(monkeypatch):
    """scikit-learn computes where the data are; it insists on scipy's variable."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """A device of torch."""
    torch = pytest.importorskip("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return request.param


def make_data(n_classes=3, dtype=np.float32, n=300, d=60):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, d))
    X[:, :6] += rng.normal(size=(n_classes, 6))[y]
    return X.astype(dtype), y


def problem_of(X, y, loss="huber", ball="l1", radius=1.5):
    n_classes = int(y.max()) + 1
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=y.size)
    data = prepare(X, y, n_classes, weights)
    return make_problem(
        data, loss=loss, huber_delta=0.25, ball=ball, radius=radius, rho=2 * y.size / n_classes
    )


@pytest.mark.parametrize(
    ("loss", "ball"),
    [
        ("huber", "l1"),
        ("huber", "l21"),
        ("huber", "l12"),
        ("huber", "nuclear"),
        ("frobenius", "l1"),
        ("l1", "l1"),
    ],
)
def test_solver_agrees_with_numpy(loss, ball):
    X, y = make_data(n=100, d=20) if loss == "l1" else make_data()
    tol = 1e-3 if loss == "l1" else 1e-5
    host, device = (problem_of(kind, y, loss, ball) for kind in (X, xp.asarray(X)))
    *_, ours = solve(device, tol=tol)
    *_, theirs = solve(host, tol=1e-8)
    assert ours.relative_gap <= tol
    # The certificate is of 64 bits: numpy confirms it.
    primal = host.primal(ours.pair.primal.W, ours.pair.primal.mu)
    dual = host.dual(to_host(ours.pair.dual.U))
    assert_allclose(primal.value, ours.pair.primal.value, rtol=1e-12)
    assert_allclose(dual.value, ours.pair.dual.value, rtol=1e-12)
    assert ours.pair.primal.value - theirs.pair.primal.value <= 1.01 * tol * ours.unit


def test_whole_problem_is_iterated_in_few_digits_and_certified_in_many():
    X, y = make_data(n=400, d=20)
    problem = problem_of(xp.asarray(X), y, ball="l12")
    assert problem.matrix.arithmetics == ("tf32", "float32", "float64")
    *_, solution = solve(problem, tol=1e-7)
    exact = problem.certify(solution.pair)
    assert_allclose(exact.gap, solution.pair.gap, atol=1e-10 * solution.unit)
    assert solution.relative_gap <= 1e-7


@pytest.mark.parametrize("kind", ["array_api_strict", "torch"])
@pytest.mark.parametrize("ball", ["l1", "l21"])
@pytest.mark.parametrize("loss", ["huber", "frobenius"])
@pytest.mark.parametrize("rho", [100.0, None])
def test_large_data_are_iterated_on_without_the_host(kind, ball, loss, rho, monkeypatch):
    monkeypatch.setattr("tamis.primal_dual._device_fista._LEAST_VALUES", 0)
    asarray = pytest.importorskip(kind).asarray
    X, y = make_data(n=400, d=60)
    here, there = (replace(problem_of(Z, y, loss, ball, 4.0), rho=rho) for Z in (X, asarray(X)))
    start = Pair(there.empty(), there.dual_of(there.empty()))
    pairs = list(device_fista(there, start, 47))
    assert [n_iter for _, n_iter in pairs] == [10, 10, 10, 10, 7]
    gaps = [pair.gap for pair, _ in pairs]
    assert gaps == sorted(gaps, reverse=True)
    # Numpy confirms values and gap, and finds no better point.
    last = pairs[-1][0]
    assert_allclose(here.primal(last.primal.W, last.primal.mu).value, last.primal.value)
    assert_allclose(here.dual(to_host(last.dual.U)).value, last.dual.value)
    assert here.ball.norm(last.primal.W) <= 4.0 * (1 + 1e-12)
    *_, best = solve(here, tol=1e-9)
    assert -1e-9 <= last.primal.value / best.pair.primal.value - 1 <= 1e-6
    *_, found = solve(there, tol=1e-6)
    assert found.relative_gap <= 1e-6
    assert_allclose(found.pair.primal.value, best.pair.primal.value, rtol=1e-6)


@pytest.mark.parametrize("least", [0, 10**9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_more_iterations_than_allowed(least, dtype, monkeypatch):
    monkeypatch.setattr("tamis.primal_dual._device_fista._LEAST_VALUES", least)
    X, y = make_data(n=400, d=60, dtype=dtype)
    for max_iter in (3, 7, 10):
        *_, last = solve(problem_of(xp.asarray(X), y, radius=4.0), tol=1e-15, max_iter=max_iter)
        assert last.n_iter == max_iter
        assert last.pair.gap < last.unit


def test_a_step_that_is_too_long_is_repeated():
    X, y = make_data(n=400, d=60)
    problem = problem_of(xp.asarray(X), y, radius=4.0)
    problem._rough[0] = 1e-3 * problem.rough_squared_norm  # steps a thousand times too long
    loop = _Loop(problem, problem.empty())
    lengths, values = [], [problem.empty().value]
    for _ in range(40):
        loop.advance()
        lengths.append(float(loop.factor[0]))
        values.append(loop.primal().value)
    assert lengths[:9] == [2.0**i for i in range(1, 10)]
    assert values[:9] == [values[0]] * 9  # nothing moves before the length fits
    assert values[-1] < 0.8 * values[0]


def test_iterations_do_not_wait_for_the_device():
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    class Strict(TorchDispatchMode):
        """Fails where the host would wait for a number of a device."""

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            waits = ("_local_scalar_dense", "nonzero", "equal", "masked_select", "lift_fresh")
            assert str(function).split(".")[1] not in waits, function
            return function(*args, **(kwargs or {}))

    X, y = make_data(n=400, d=60)
    for ball in ("l1", "l21"):
        problem = problem_of(torch.as_tensor(X), y, ball=ball).with_arithmetic("tf32")
        loop = _Loop(problem, problem.empty())
        loop.advance()
        with Strict():
            loop.advance()
        with pytest.raises(AssertionError, match="_local_scalar_dense"), Strict():
            loop.primal()


@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_iterations_do_not_wait_for_a_gpu(ball):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    X, y = make_data(n=400, d=60)
    problem = problem_of(torch.as_tensor(X, device="cuda"), y, ball=ball).with_arithmetic("tf32")
    loop = _Loop(problem, problem.empty())
    loop.advance()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls this mode a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            loop.advance()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert loop.primal().value < problem.empty().value


def test_products_have_the_digits_that_are_asked_for(monkeypatch):
    monkeypatch.setattr("tamis._array._BLOCK_BYTES", 8 * 60 * 7)  # blocks of 7 rows
    X, _ = make_data()
    rng = np.random.default_rng(2)
    W, Z = rng.normal(size=(60, 3)), rng.normal(size=(300, 3))
    exact = X.astype(np.float64)
    for arithmetic, error in (("float64", 1e-13), ("float32", 1e-5), ("tf32", 1e-5)):
        product = to_host(multiply(xp.asarray(X), xp.asarray(W), arithmetic))
        assert_allclose(product, exact @ W, atol=error * 50)
        transposed = multiply_transposed(xp.asarray(X), xp.asarray(Z), arithmetic)
        assert_allclose(to_host(transposed), exact.T @ Z, atol=error * 100)
        if arithmetic != "float64":
            assert np.abs(product - exact @ W).max() > 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_class_moments_agree_with_numpy(weighted):
    X, y = make_data()
    X[:, 3] += 1e4  # cancellation
    weights = np.random.default_rng(0).uniform(size=y.size) if weighted else None
    ours, theirs = (summarise(kind, y, 3, weights) for kind in (xp.asarray(X), X))
    assert_allclose(ours.mean + ours.offset, theirs.mean + theirs.offset, rtol=1e-12)
    assert_allclose(ours.variance, theirs.variance, rtol=1e-9)
    assert_allclose(ours.weight, theirs.weight)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_for_nvidia_cards_agrees_with_numpy(n_classes, weighted, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs a GPU, or triton and TRITON_INTERPRET=1")
    monkeypatch.setattr("tamis.centers._device_sums._has_triton", lambda X: True)
    X, y = make_data(n_classes, n=1300, d=70)
    X[:, 3] += 1e4  # cancellation
    y[y == 3] = 2  # a class without rows, if there are five
    weights = np.random.default_rng(0).uniform(size=y.size) if weighted else None
    there, here = (
        summarise(Z, y, n_classes, weights) for Z in (torch.asarray(X, device=device), X)
    )
    seen = here.weight > 0
    assert_array_equal(there.weight, here.weight)
    assert_array_equal(there.offset, X[0])
    assert_allclose(
        (there.mean + there.offset)[seen], (here.mean + here.offset)[seen], rtol=1e-11, atol=1e-14
    )
    assert_allclose(there.variance[seen], here.variance[seen], rtol=1e-9)
    assert not there.mean[~seen].any() and not there.variance[~seen].any()


def test_only_columns_are_those_of_the_array():
    X, _ = make_data()
    some = np.array([0, 7, 59])
    part = only_columns(xp.asarray(X), some)
    assert part.shape == X.shape
    assert part.nnz == 3 * len(X)
    assert_array_equal(part.toarray()[:, some], X[:, some])


ESTIMATORS = [
    PrimalDualClassifier(radius=1.0),
    PrimalDualClassifier(radius=1.0, head="projection"),
    SparseCenterClassifier(5),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("text", [False, True])
def test_estimators_return_arrays_of_the_kind_they_get(estimator, text, dispatch):
    X, y = make_data()
    labels = np.array(["a", "b", "c"])[y] if text else y
    host = sklearn.clone(estimator).fit(X, labels)
    model = sklearn.clone(estimator).fit(xp.asarray(X), labels if text else xp.asarray(y))
    assert_array_equal(model.get_support(), host.get_support())
    new = xp.asarray(X)
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        ours, theirs = getattr(model, name)(new), getattr(host, name)(X)
        assert is_on_device(ours)
        assert_allclose(to_host(ours), theirs, rtol=1e-3, atol=1e-3)
    predicted = model.predict(new)
    assert is_on_device(predicted) is not text
    assert_array_equal(to_host(predicted), model.predict(X))
    assert model.score(new, labels) == model.score(X, labels)
    assert is_on_device(model.transform(new))
    assert_array_equal(to_host(model.transform(new)), X[:, model.get_support()])
    assert isinstance(model.explain(new).values, np.ndarray)


def test_weights_are_repetitions(dispatch):
    X, y = make_data(2)
    weights = np.random.default_rng(0).integers(0, 3, size=y.size)
    twice = np.repeat(np.arange(y.size), weights)
    model = PrimalDualClassifier(1.0, tol=1e-8)
    one = sklearn.clone(model).fit(xp.asarray(X), y, sample_weight=xp.asarray(weights))
    other = sklearn.clone(model).fit(X[twice], y[twice])
    assert_allclose(one.objective_, other.objective_, rtol=1e-7)


def test_paths_are_trained_where_the_data_are(dispatch):
    X, y = make_data(2)
    ours = PrimalDualClassifier(tol=1e-6).fit_path(xp.asarray(X), y, levels=[0.3, 1.0])
    theirs = PrimalDualClassifier(tol=1e-6).fit_path(X, y, levels=[0.3, 1.0])
    assert_allclose(ours.gaps, 0, atol=1e-6)
    for i in range(2):
        assert_allclose(ours.model(i).objective_, theirs.model(i).objective_, rtol=1e-5)


def test_without_dispatch_arrays_are_read_by_numpy():
    assert not is_dispatching()
    X, y = make_data(2)
    model = SparseCenterClassifier(3).fit(xp.asarray(X), y)
    assert isinstance(model.predict(xp.asarray(X)), np.ndarray)


def test_estimators_without_device_code_compute_in_numpy(dispatch):
    X, y = make_data(2)
    model = PanelClassifier(3).fit(xp.asarray(X), y)
    assert_array_equal(model.predict(xp.asarray(X)), model.predict(X))
    medians = SparseCenterClassifier(3, metric="l1").fit(xp.asarray(X), y)
    assert_array_equal(
        medians.get_support(), SparseCenterClassifier(3, metric="l1").fit(X, y).get_support()
    )


class OnCard:
    """Looks like an array in the memory of a card."""

    device = "cuda:0"
    ndim, shape = 2, (4, 2)

    def __array_namespace__(self):
        return xp


def test_memory_of_a_card_is_not_copied_unasked(dispatch):
    with pytest.raises(TypeError, match=r"on the device cuda:0, and PanelClassifier.*X\.cpu"):
        PanelClassifier().fit(OnCard(), [0, 1, 0, 1])


def test_memory_of_a_card_needs_dispatch():
    with pytest.raises(TypeError, match="array_api_dispatch=True"):
        PrimalDualClassifier().fit(OnCard(), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], "2 dimensions"),
        (lambda X: X[:0, :], "at least 1 row"),
        (lambda X: xp.where(xp.abs(X) > 2, xp.asarray(xp.nan), X), "NaN"),
    ],
)
def test_bad_arrays_are_named(change, message, dispatch):
    X, y = make_data(2, np.float64)
    with pytest.raises(ValueError, match=message):
        PrimalDualClassifier().fit(change(xp.asarray(X)), y)


def test_other_numbers_of_features_are_refused(dispatch):
    X, y = make_data(2)
    model = PrimalDualClassifier().fit(xp.asarray(X), y)
    with pytest.raises(ValueError, match="X has 59 features, but PrimalDualClassifier"):
        model.predict(xp.asarray(X[:, 1:]))


@pytest.mark.parametrize(
    ("device", "message"), [(3, "device must be None or"), ("cuda:99", "device='cuda:99'")]
)
@pytest.mark.parametrize("kind", [PrimalDualClassifier, PrimalDualClassifierCV])
def test_devices_that_do_not_exist(kind, device, message):
    X, y = make_data(2)
    with pytest.raises((ValueError, ImportError), match=message):
        kind(device=device).fit(X, y)


@pytest.mark.parametrize("n_groups", [64, 1024])
def test_neighbours_are_those_of_the_processor(n_groups, device, monkeypatch):
    monkeypatch.setattr("tamis.landmarks.device_neighbors._GROUPS", n_groups)
    monkeypatch.setattr("tamis.landmarks.neighbors._LEAST_PAIRS", 0)
    rng = np.random.default_rng(0)
    A, B = rng.random((40, 5)), rng.random((300, 5))
    B[100:120] = B[7]  # ties, more than are kept besides those asked for
    A[:3], B[5] = B[[7, 8, 9]], 0.0
    metrics = ["euclidean", "angle"]
    ours, theirs = (nearest_rows(A, B, 4, metrics, where) for where in (device, None))
    for metric in metrics:
        for one, other in zip(ours[metric], theirs[metric], strict=True):
            assert_array_equal(one, other)


def test_few_neighbours_are_searched_on_the_processor():
    rows = np.random.default_rng(0).random((20, 3))
    found = nearest_rows(rows, rows, 2, ["angle"], device="nowhere")
    assert_array_equal(found["angle"][0], nearest_rows(rows, rows, 2, ["angle"])["angle"][0])


def test_searches_are_those_of_the_processor(device, monkeypatch):
    monkeypatch.setattr("tamis.landmarks.neighbors._LEAST_PAIRS", 0)
    X, y = make_data(2, np.float64, n=120, d=6)
    search = LandmarkSearchCV(n_configurations=20, cv=3, random_state=0)
    plain = sklearn.clone(search).fit(X, y)
    other = sklearn.clone(search).set_params(device=device).fit(X, y)
    assert_array_equal(other.predict_proba(X), plain.predict_proba(X))


def test_torch(device):
    torch = pytest.importorskip("torch")
    X, y = make_data(2)
    model = PrimalDualClassifier(device=device, tol=1e-7).fit(X, y)
    plain = PrimalDualClassifier(tol=1e-7).fit(X, y)
    assert_array_equal(model.get_support(), plain.get_support())
    assert_allclose(model.objective_, plain.objective_, rtol=1e-7)
    assert isinstance(model.predict(X), np.ndarray)
    assert_allclose(model.predict_proba(torch.as_tensor(X)), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_validation_is_that_of_the_processor(device, dtype):
    X, y = make_data(3, dtype)
    plain = PrimalDualClassifierCV([0.2, 0.5, 1.0], cv=3, tol=1e-7)
    model = sklearn.clone(plain).set_params(device=device).fit(X, y)
    threaded = sklearn.clone(plain).set_params(device=device, n_jobs=3).fit(X, y)
    plain.fit(X, y)
    assert_array_equal(threaded.weights_, model.weights_)
    assert_array_equal(threaded.path_["score"], model.path_["score"])
    assert_array_equal(model.get_support(), plain.get_support())
    for name in ("level", "n_features", "score"):
        assert_allclose(model.path_[name], plain.path_[name], rtol=1e-12)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-7)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-4)


def test_folds_are_chosen_on_the_device(monkeypatch):
    monkeypatch.setattr(
        "tamis.primal_dual.classifier_cv.send_to_device", lambda X, device: xp.asarray(X)
    )
    X, y = make_data(2)
    plain = PrimalDualClassifierCV([0.2, 0.5], cv=3, tol=1e-7)
    model = sklearn.clone(plain).set_params(device="strict").fit(X, y)
    assert_array_equal(model.get_support(), plain.fit(X, y).get_support())
    assert_array_equal(model.path_["score"], plain.path_["score"])
