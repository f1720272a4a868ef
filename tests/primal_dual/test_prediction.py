import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.primal_dual.prediction import (
    confidence_of,
    contributions,
    decide,
    distances,
    project,
)
from tests.oracles import primal_dual as oracle

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
forms = pytest.mark.parametrize("form", FORMS, ids=["C", "F", "csr", "csc"])
metrics = pytest.mark.parametrize("euclidean", [False, True], ids=["l1", "l2"])
sizes = pytest.mark.parametrize("k", [2, 5])


class Model:
    def __init__(self, k, seed=0, empty=False):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(30, 7)) * (rng.random((30, 7)) < 0.6)
        self.W = rng.normal(size=(7, k))
        self.W[[1, 4]] = 0.0
        self.W *= not empty
        self.support = np.flatnonzero(self.W.any(axis=1))
        self.mean, self.scale = rng.normal(size=7), rng.uniform(0.5, 2.0, 7)
        self.mu = np.eye(k) + 0.1 * rng.normal(size=(k, k))

    @property
    def arrays(self):
        return self.W[self.support], self.mean, self.scale, self.support

    def true_distances(self, euclidean):
        rest = self.W, self.mu, self.mean, self.scale, euclidean
        return np.array([oracle.distances(x, *rest) for x in self.X])


@forms
@metrics
@sizes
def test_distances_are_those_of_the_projected_samples(form, euclidean, k):
    model = Model(k)
    P = project(form(model.X), *model.arrays)
    assert_allclose(P, oracle.standardized(model.X, model.mean, model.scale) @ model.W, atol=1e-12)
    assert_allclose(distances(P, model.mu, euclidean), model.true_distances(euclidean), rtol=1e-11)


@forms
def test_an_empty_support_projects_everything_to_0(form):
    model = Model(3, empty=True)
    assert_array_equal(project(form(model.X), *model.arrays), np.zeros((30, 3)))


@forms
def test_a_full_support_leaves_the_samples_alone(form):
    model = Model(3)
    model.W = np.ones((7, 3))
    model.support = np.arange(7)
    given = form(model.X)
    project(given, *model.arrays)
    assert_array_equal(given.toarray() if sparse.issparse(given) else given, model.X)


@metrics
def test_decisions_order_classes_as_distances_do(euclidean):
    found = Model(5).true_distances(euclidean)
    decisions = decide(found, euclidean, 0.3)
    assert_array_equal(decisions.argmax(axis=1), found.argmin(axis=1))
    power = -0.5 * found**2 / 0.09 if euclidean else -found / 0.3
    assert_allclose(decisions, power)


@sizes
def test_confidence_compares_the_two_nearest_centers(k):
    found = np.abs(np.random.default_rng(0).normal(size=(50, k)))
    before = found.copy()
    confidence = confidence_of(found)
    for row, value in zip(found, confidence, strict=True):
        first, second = sorted(row.tolist())[:2]
        assert value == pytest.approx((second - first) / (second + first))
    assert_array_equal(found, before)
    assert np.all((confidence >= 0) & (confidence <= 1))


def test_confidence_is_1_on_a_center_and_0_at_a_border():
    found = np.array([[0.0, 2.0, 3.0], [2.0, 2.0, 3.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    assert_array_equal(confidence_of(found), [1.0, 0.0, 0.0, 0.0])


@forms
@metrics
@sizes
def test_contributions_sum_to_the_decisions(form, euclidean, k):
    model = Model(k)
    given = form(model.X)
    values, base = contributions(given, *model.arrays, model.mu, euclidean, 0.3)
    assert len(values) == k
    total = np.stack([np.asarray(v.sum(axis=1)).ravel() for v in values], axis=1) + base
    assert_allclose(total, decide(model.true_distances(euclidean), euclidean, 0.3), rtol=1e-10)


@forms
@metrics
def test_only_selected_features_contribute(form, euclidean):
    model = Model(3)
    values, _ = contributions(form(model.X), *model.arrays, model.mu, euclidean, 0.3)
    full = [v.toarray() if sparse.issparse(v) else v for v in values]
    assert not np.array(full)[:, :, [1, 4]].any()


@metrics
@pytest.mark.parametrize("form", FORMS[2:], ids=["csr", "csc"])
def test_contributions_of_sparse_samples_are_as_sparse(form, euclidean):
    model = Model(3)
    values, base = contributions(form(model.X), *model.arrays, model.mu, euclidean, 0.3)
    for value in values:
        assert sparse.issparse(value)
        assert not value.toarray()[model.X == 0].any()
    nothing = oracle.distances(np.zeros(7), model.W, model.mu, model.mean, model.scale, euclidean)
    assert_allclose(base, decide(np.array([nothing]), euclidean, 0.3)[0])


@forms
@metrics
def test_the_reference_itself_has_no_contributions(form, euclidean):
    model = Model(4)
    reference = np.zeros(7) if sparse.issparse(form(model.X)) else model.mean
    values, base = contributions(form(reference[None]), *model.arrays, model.mu, euclidean, 0.3)
    assert not np.array([np.asarray(v.sum(axis=1)).ravel() for v in values]).any()
    there = oracle.distances(reference, model.W, model.mu, model.mean, model.scale, euclidean)
    assert_allclose(base, decide(np.array([there]), euclidean, 0.3)[0])


@metrics
def test_contributions_are_integrals_along_the_straight_path(euclidean):
    model = Model(3)
    values, _ = contributions(model.X, *model.arrays, model.mu, euclidean, 0.3)
    x, steps = model.X[0], 4000
    P = project(model.X[:1], *model.arrays)[0]
    by_hand = np.zeros(7)
    for t in (np.arange(steps) + 0.5) / steps:
        away = t * P - model.mu[1]
        slope = -away / 0.09 if euclidean else -np.sign(away) / 0.3
        by_hand += (x - model.mean) / model.scale * (model.W @ slope) / steps
    assert_allclose(values[1][0], by_hand, atol=0.05)
