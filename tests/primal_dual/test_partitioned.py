"""Training on chunks gives the solution of training on all rows, to the certified gap."""

import numpy as np
import pytest
from scipy import sparse

from tamis import PrimalDualClassifier
from tamis._passes import LocalChunks
from tamis.primal_dual.partitioned import train_passes

# Enough for all columns of the data here, and for none.
ALL, NONE = 1e9, 1e3


class CountedChunks(LocalChunks):
    """Chunks that count how often they are read."""

    n_passes = 0

    def run(self, task, merge):
        self.n_passes += 1
        return super().run(task, merge)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=300, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(300, 40))
    X[:, 5] += y
    X[:, 9] -= 2 * (y == 1)
    X[:, 4] = 7.1  # constant
    X[:, 11] += 1e6  # far from 0
    return X, y


def chunks_of(X, y, weights=None, size=70):
    parts = [slice(i, i + size) for i in range(0, len(y), size)]
    return [(X[p], y[p]) if weights is None else (X[p], y[p], weights[p]) for p in parts]


def assert_same_solution(model, whole):
    """Both objectives are within their gaps of the same optimum, and the features agree."""
    np.testing.assert_allclose(model.mean_, whole.mean_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.scale_, whole.scale_, rtol=1e-9)
    assert model.relative_gap_ <= model.tol
    slack = 1e-9 * whole.objective_
    assert model.objective_ - model.gap_ <= whole.objective_ + slack
    assert whole.objective_ - whole.gap_ <= model.objective_ + slack
    np.testing.assert_array_equal(model.support_, whole.support_)


@pytest.mark.parametrize("max_bytes", [ALL, NONE])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"ball": "l21", "loss": "frobenius"},
        {"ball": "nuclear", "adaptive_centers": False},
        {"standardize": False, "class_weight": {1: 3.0}, "feature_weights": np.linspace(1, 2, 39)},
    ],
    ids=lambda p: "-".join(map(str, p)) or "default",
)
def test_solution_of_all_rows(parameters, kind, max_bytes, rows):
    X, y = rows
    X = kind(X if parameters.get("standardize", True) else np.delete(X, 11, axis=1))
    parameters = {"head": "projection", "tol": 1e-6, **parameters}
    whole = PrimalDualClassifier(**parameters).fit(X, y)
    model = PrimalDualClassifier(**parameters).fit_chunks(chunks_of(X, y), max_bytes=max_bytes)
    assert_same_solution(model, whole)
    np.testing.assert_allclose(model.dispersion_, whole.dispersion_, rtol=1e-3)
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.99


def test_l1_loss_is_solved_on_gathered_columns(rows):
    X, y = rows
    whole = PrimalDualClassifier(loss="l1").fit(X, y)
    model = PrimalDualClassifier(loss="l1").fit_chunks(chunks_of(X, y))
    slack = whole.gap_ + model.gap_
    assert abs(model.objective_ - whole.objective_) <= slack
    with pytest.raises(ValueError, match=r"loss='l1' needs .* max_bytes"):
        PrimalDualClassifier(loss="l1").fit_chunks(chunks_of(X, y), max_bytes=NONE)


def test_weights_count_rows(rows):
    X, y = rows
    weights = np.random.default_rng(1).integers(0, 3, size=300) * 1.0
    weights[70:140] = 0  # a chunk without weight
    whole = PrimalDualClassifier(tol=1e-6).fit(X, y, weights)
    model = PrimalDualClassifier(tol=1e-6).fit_chunks(chunks_of(X, y, weights))
    assert_same_solution(model, whole)
    assert model.head_ == whole.head_ == "logistic"
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(model.class_weight_, whole.class_weight_)


def test_few_passes():
    """Moments, one gathering and one certificate; more only where features were missing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3000)), rng.integers(2, size=400)
    X[:, :30] += 0.3 * y[:, None]
    passes = CountedChunks(chunks_of(X, y, size=100), is_read_again=True)
    model = PrimalDualClassifier(0.5)
    train_passes(model, passes, ALL)
    assert model.relative_gap_ <= 1e-4
    assert passes.n_passes == 3
    small = CountedChunks(passes.chunks, is_read_again=True)
    again = PrimalDualClassifier(0.5)
    train_passes(again, small, 1.5e6)  # holds 200 columns
    assert 3 < small.n_passes <= 7
    np.testing.assert_array_equal(again.support_, model.support_)


def test_one_pass_per_iteration(rows):
    """Steps that must be repeated are rare."""
    passes = CountedChunks(chunks_of(*rows), is_read_again=True)
    model = PrimalDualClassifier(loss="frobenius", head="projection", tol=1e-8)
    train_passes(model, passes, NONE)
    assert model.relative_gap_ <= 1e-8
    n_rounds = len(model.history_["n_iter"]) - 1
    assert passes.n_passes == 1 + model.n_iter_ + n_rounds


@pytest.mark.parametrize("head", ["auto", "lda"])
def test_the_limit_of_memory_does_not_change_the_head(rows, head):
    X, y = rows
    passes = [CountedChunks(chunks_of(X, y), is_read_again=True) for _ in range(2)]
    models = [PrimalDualClassifier(0.5, tol=1e-8, head=head) for _ in range(2)]
    for model, own, max_bytes in zip(models, passes, (ALL, 2.2e5), strict=True):
        train_passes(model, own, max_bytes)
    assert passes[1].n_passes > 2 * passes[0].n_passes  # the columns stay where they are
    assert models[0].head_ == models[1].head_ != "projection"
    np.testing.assert_allclose(*(m.predict_proba(X) for m in models), atol=1e-3)


def test_a_head_that_does_not_fit_is_an_error(rows):
    passes = CountedChunks(chunks_of(*rows), is_read_again=True)
    with pytest.raises(ValueError, match=r"'auto' is 'logistic' here and needs \d+ selected col"):
        train_passes(PrimalDualClassifier(1.0), passes, 2e4)
    early = CountedChunks(passes.chunks, is_read_again=True)
    with pytest.raises(ValueError, match="'lda' needs 1 selected column of 300 rows in memory, 9"):
        train_passes(PrimalDualClassifier(head="lda"), early, NONE)
    assert early.n_passes == 1 < passes.n_passes  # before the work, where it is known


def test_gap_that_is_not_reached(rows):
    with pytest.warns(UserWarning, match="relative duality gap"):
        model = PrimalDualClassifier(max_iter=8, head="projection")
        model.fit_chunks(chunks_of(*rows), max_bytes=NONE)
    assert model.relative_gap_ > 1e-4


def test_wrong_chunks(rows):
    X, y = rows
    model = PrimalDualClassifier()

    def spoiled(change):
        parts = chunks_of(X, y)
        parts[2] = change(parts[2][0]), parts[2][1]
        return parts

    with pytest.raises(ValueError, match=r"Chunk 2.*NaN"):
        model.fit_chunks(spoiled(lambda X: np.where(X > 1, np.nan, X)))
    with pytest.raises(ValueError, match="Chunks 2 and 3 have different numbers of features"):
        model.fit_chunks(spoiled(lambda X: X[:, :5]))
    with pytest.raises(ValueError, match="Chunk 2"):
        model.fit_chunks(spoiled(lambda X: X.astype(str).astype(object) + "x"))
    with pytest.raises(ValueError, match="There are no rows"):
        model.fit_chunks([])
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit_chunks([(X, np.zeros(300))])
    with pytest.raises(ValueError, match="only once"):
        model.fit_chunks(iter(chunks_of(X, y)))
    with pytest.raises(ValueError, match="warm_start=False"):
        PrimalDualClassifier(warm_start=True).fit_chunks(chunks_of(X, y))
    with pytest.raises(ValueError, match="device=None"):
        PrimalDualClassifier(device="cuda").fit_chunks(chunks_of(X, y))
    large = np.where(np.arange(40) == 3, 1e300, 1.0) * np.sign(X)
    with pytest.raises(ValueError, match="overflow"):
        model.fit_chunks(chunks_of(large, y))


def test_names_of_frames(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(40)])
    model = PrimalDualClassifier().fit_chunks([(frame[:100], y[:100]), (frame[100:], y[100:])])
    assert "f5" in model.get_feature_names_out()
    other = frame[100:].rename(columns={"f1": "g"})
    with pytest.raises(ValueError, match="Chunks 0 and 1 have different feature names"):
        model.fit_chunks([(frame[:100], y[:100]), (other, y[100:])])
