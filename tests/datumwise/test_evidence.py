import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise import evidence as module
from tamis.datumwise.evidence import Gatherer, deal_folds, expected_loss, number_cells
from tamis.datumwise.process import Process

FOLDS = np.arange(120) % 5


def make_gatherer(seed=0, losses=(1.0, 1.0, 1.0), codes=None, fold_of=FOLDS, **kwargs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5))
    X[:, 2] = np.round(X[:, 2])
    X[rng.random(X.shape) < 0.05] = np.nan
    if codes is None:
        codes = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1]), [-0.7, 0.7])
    process = Process(
        block_of=np.array([0, 1, 1, 2, 3]),
        costs=np.ones(4),
        cost_weight=0.0,
        class_losses=np.array(losses),
        max_blocks=4,
        max_cost=np.inf,
        names=np.array(list("abcd"), dtype=object),
    )
    gatherer = Gatherer(X, codes, process, **{"n_trees": 10, "n_folds": 5, "seed": 0, **kwargs})
    gatherer.fold_of = fold_of
    return gatherer


@pytest.mark.parametrize("sizes", [(40, 30, 7), (50, 1), (3, 3, 3, 1), (2, 1)])
@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_have_equal_shares_of_every_class(sizes, n_folds):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    n_folds = min(n_folds, codes.size)
    fold_of = deal_folds(codes, n_folds, 3)
    table = np.zeros((n_folds, len(sizes)), dtype=int)
    np.add.at(table, (fold_of, codes), 1)
    assert (np.ptp(table, axis=0) <= 1).all()
    assert np.ptp(table.sum(axis=1)) <= 1
    assert (table.sum(axis=1) > 0).all()
    assert_array_equal(fold_of, deal_folds(codes, n_folds, 3))


@pytest.mark.parametrize("blocks", [(0,), (1,), (0, 1, 3)])
def test_the_label_of_a_row_has_no_say_in_its_own_evidence(blocks, monkeypatch):
    # One resolution and temperature for all: these are chosen on all rows.
    monkeypatch.setattr(module, "_fit_temperature", lambda *arguments: 1.0)
    monkeypatch.setattr(module, "_brier", lambda *arguments: 0.0)
    gatherer = make_gatherer()
    before = gatherer.evidence(blocks)
    changed = 0
    for row in (3, 50, 111):
        codes = gatherer.codes.copy()
        codes[row] = (codes[row] + 1) % 3
        after = make_gatherer(codes=codes).evidence(blocks)
        fold = row % 5 == FOLDS
        assert_array_equal(after.stop[fold], before.stop[fold])
        changed += (after.stop != before.stop).sum()
    assert changed > 0  # but it has a say in that of others


def test_values_of_other_blocks_do_not_matter():
    gatherer, other = make_gatherer(), make_gatherer()
    other.XT[[0, 3]] = -7.0
    assert_array_equal(other.evidence((1, 3)).stop, gatherer.evidence((1, 3)).stop)


@pytest.mark.parametrize("losses", [(1.0, 1.0, 1.0), (1.0, 5.0, 0.2), (1e6, 1.0, 1e-6)])
def test_expected_loss_is_a_sum_over_classes(losses):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5, 0.5, 0.5], size=50)
    for share, found in zip(shares, expected_loss(shares, np.array(losses)), strict=True):
        # Counted by their losses the classes have these shares; so many are there of each.
        true = [p / loss for p, loss in zip(share, losses, strict=True)]
        named = int(np.argmax(share))
        loss = sum(true[c] / sum(true) * losses[c] for c in range(3) if c != named)
        assert_allclose(found, loss, rtol=1e-9)
        # No other class has a smaller one.
        others = [sum(true[c] / sum(true) * losses[c] for c in range(3) if c != k) for k in (0, 1)]
        assert found <= min(others) + 1e-12


@pytest.mark.parametrize("losses", [(1.0, 1.0, 1.0), (1.0, 5.0, 0.2)])
def test_nothing_known_leaves_the_prior(losses):
    gatherer = make_gatherer(losses=losses)
    sizes = np.bincount(gatherer.codes) * losses
    assert_allclose(gatherer.prior, sizes / sizes.sum())
    found = gatherer.evidence(())
    named = sizes.argmax()
    expected = (sizes.sum() - sizes[named]) / 120
    assert_allclose(found.stop, expected)
    true = np.where(gatherer.codes == named, 0.0, np.array(losses)[gatherer.codes])
    assert_allclose(found.loss, 0.75 * expected + 0.25 * true)
    assert_allclose(found.loss.mean(), expected)


def test_local_means_are_those_of_the_rows_in_the_same_cells_of_other_folds():
    gatherer = make_gatherer()
    values = np.random.default_rng(1).normal(size=(120, 2))
    found = gatherer.evidence((0, 1))
    means = found.local_means(values)
    # Rows of a cell of each fold: those whose trees, with 10 trees per fold, say so.
    rows, others, inside, outside, sizes, n_trees = found.cells
    assert_allclose(inside.sum(axis=1).ravel(), sizes[None])
    assert sorted(others) == list(range(120))
    inside = inside.toarray()
    first = 0
    for fold in range(5):
        held = others[FOLDS[others] == fold]
        own = slice(first, first + 96)
        assert set(rows[own]) == set(range(120)) - set(held)
        for k in np.flatnonzero(FOLDS[others] == fold)[::5]:
            total = np.zeros(2)
            for cell in outside[k].indices:
                members = rows[own][inside[cell, own] > 0]
                assert members.size == sizes[cell]  # all of them rows of this fold's forest
                total += values[members].mean(axis=0)
            assert_allclose(means[others[k]], total / n_trees, rtol=1e-10)
        first += 96
    assert_allclose(
        gatherer.evidence(()).local_means(values), np.tile(values.mean(axis=0), (120, 1))
    )


def test_the_final_forest_gives_probabilities_of_new_rows():
    gatherer = make_gatherer()
    own, answers = gatherer.final((0, 1))
    rows = np.array([5, 7])
    decisions, wide = own.decisions_and_cells(gatherer.XT, rows)
    assert decisions.shape == (2, 3) and np.isfinite(decisions).all()
    assert_array_equal(wide, answers.cells[rows])
    assert_array_equal(decisions, answers.decisions[rows])
    assert_array_equal(own.decisions(gatherer.XT, rows), decisions)
    assert gatherer.final((0, 1)) is gatherer.final((0, 1))
    nothing = gatherer.final(())[0].decisions(gatherer.XT, rows)
    assert_allclose(np.exp(nothing), np.tile(gatherer.prior, (2, 1)))


@pytest.mark.parametrize("losses", [(1.0, 1.0, 1.0), (1.0, 1e9, 1e-9)])
def test_evidence_is_finite_and_within_the_losses(losses):
    gatherer = make_gatherer(losses=losses)
    for blocks in [(), (0,), (0, 1, 2, 3)]:
        found = gatherer.evidence(blocks)
        assert np.isfinite(found.stop).all() and np.isfinite(found.loss).all()
        assert (found.stop >= 0).all() and (found.stop <= max(losses)).all()
        assert 0.05 <= found.temperature <= 3.0


def test_the_seed_of_a_forest_depends_on_its_blocks_and_not_on_what_was_grown_before():
    one, two = make_gatherer(), make_gatherer()
    two.evidence((1,))
    two.gains_of_blocks()
    assert_array_equal(one.evidence((0, 2)).stop, two.evidence((0, 2)).stop)


def test_gains_of_a_block_are_those_of_its_columns():
    gatherer = make_gatherer()
    gains = gatherer.gains_of_blocks()
    assert gains.shape == (120, 4)
    assert gains[:, :2].mean() > 2 * gains[:, 2:].mean()


def test_cells_are_numbered_in_order():
    number, sizes = number_cells(np.array([[7, 2], [7, 5]]), 9)
    assert sizes.tolist() == [1, 1, 2]
    assert number[[2, 5, 7]].tolist() == [0, 1, 2]
    assert (number[[0, 1, 3, 4, 6, 8]] == -1).all()
