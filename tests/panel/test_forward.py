"""Forward selection against its definition, and folds that depend on what rows hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import PanelClassifier
from tamis.panel.forward import Choices, content_folds, sample_rows, select_forward, weigh_classes
from tamis.panel.forward_steps import (
    Limits,
    Model,
    Problems,
    StepCandidates,
    candidate_losses,
    forward_steps,
)
from tests.oracles import panel as oracle
from tests.quick import quick_pairs

N_FOLDS = 3


def make_problem(n_classes, seed, sizes=(1,) * 8, n_kept=0, n=75):
    """Standardised columns in blocks and kept ones, class indices, weights, folds in order."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    p = sum(sizes) + n_kept
    X = rng.normal(size=(n, p)) + rng.normal(size=(n_classes, p))[codes]
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=n)  # tells nearly the same
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = weigh_classes(codes, rng.uniform(0.5, 2, n), n_classes, "balanced")
    folds = np.sort(rng.integers(0, N_FOLDS, n))
    return X[:, n_kept:], X[:, :n_kept], codes, weights, folds


def arguments_of(free, kept, codes, n_classes, weights, folds, alpha, sizes, cost, limits):
    starts = np.cumsum([0, *sizes])
    candidates = StepCandidates(free.T.copy(), starts, np.asarray(cost, dtype=float))
    is_class = np.array(oracle.targets_of(codes, n_classes))
    fold_starts = np.searchsorted(folds, np.arange(N_FOLDS + 1))
    problems = Problems(is_class, weights, fold_starts, alpha)
    set_of = np.asarray(limits[0])
    return (
        kept.T.copy(),
        candidates,
        problems,
        Limits(set_of, np.full(set_of.max() + 1, limits[1])),
    )


CASES = {
    "single": {},
    "blocks": {"sizes": (2, 1, 3, 1, 2)},
    "kept": {"n_kept": 2},
    "costs": {"cost": (1.0, 4.0, 0.5, 2.0, 1.0, 3.0, 1.0, 0.2)},
    "limits": {"limits": ((0, 0, 0, 0, 1, 1, 1, 1), 1)},
    "all": {
        "sizes": (2, 1, 3, 1, 2),
        "n_kept": 1,
        "cost": (2.0, 1.0, 5.0, 0.3, 1.0),
        "limits": ((0, 1, 0, 1, 0), 2),
    },
}


@pytest.mark.parametrize(("name", "seed", "n_classes"), quick_pairs(list(CASES), range(2), [2, 3]))
def test_steps_are_those_of_the_definition(name, seed, n_classes):
    case = CASES[name]
    sizes = case.get("sizes", (1,) * 8)
    n = len(sizes)
    cost, limits = case.get("cost", (1.0,) * n), case.get("limits", ((0,) * n, n))
    free, kept, codes, weights, folds = make_problem(n_classes, seed, sizes, case.get("n_kept", 0))
    order, losses = forward_steps(
        *arguments_of(free, kept, codes, n_classes, weights, folds, 2.0, sizes, cost, limits),
        4,
    )
    blocks = np.split(free, np.cumsum(sizes)[:-1], axis=1)
    expected, history = oracle.select_forward(
        *(kept, blocks, codes, n_classes, weights, folds, 2.0, 4),
        cost=cost,
        set_of=limits[0],
        most=limits[1],
    )
    assert order.tolist() == expected
    assert_allclose(losses, history, rtol=1e-5)
    if case is CASES["limits"]:
        assert len(order) == 2  # one of each set


@pytest.mark.parametrize("n_kept", [0, 1])
def test_features_that_the_chosen_ones_explain_come_last(n_kept):
    free, kept, codes, weights, folds = make_problem(2, 3, n_kept=n_kept)
    rng = np.random.default_rng(0)
    first = kept[:, 0] if n_kept else free[:, 0] + 3 * codes
    twins = first[:, None] + 0.1 * first.std() * rng.normal(size=(codes.size, 3))
    columns = np.column_stack([*([] if n_kept else [first]), twins, free[:, 2:6]])
    n = columns.shape[1]
    order, _ = forward_steps(
        *arguments_of(
            *(columns, kept, codes, 2, weights, folds, 30.0, (1,) * n, (1.0,) * n), ((0,) * n, n)
        ),
        n,
    )
    assert sorted(order) == list(range(n))
    n_twins = 3 if n_kept else 4  # the first to be chosen is one of them
    assert np.count_nonzero(order[-3:] < n_twins) == 3


@pytest.mark.parametrize("seed", range(3))
def test_among_features_that_harm_a_dear_one_is_no_better(seed):
    rng = np.random.default_rng(seed)
    free, kept = rng.normal(size=(40, 6)), np.empty((40, 0))
    codes, weights, folds = np.arange(40) % 2, np.ones(40), np.sort(np.arange(40) % N_FOLDS)
    cost = (9.0, 0.5, 4.0, 1.0, 0.2, 2.0)
    arguments = arguments_of(
        *(free, kept, codes, 2, weights, folds, 0.01, (1,) * 6, cost), ((0,) * 6, 6)
    )
    order, losses = forward_steps(*arguments, 6)
    assert losses[-1] > losses[0]
    expected, _ = oracle.select_forward(
        *(kept, np.split(free, 6, axis=1), codes, 2, weights, folds, 0.01, 6),
        cost=cost,
        set_of=(0,) * 6,
        most=6,
    )
    assert order.tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sizes", [(1,) * 6, (2, 1, 3)], ids=["single", "blocks"])
def test_a_bordered_step_is_the_newton_step_of_the_enlarged_model(n_classes, sizes):
    free, kept, codes, weights, folds = make_problem(n_classes, 5, sizes, n_kept=2)
    n = len(sizes)
    columns, candidates, problems, _ = arguments_of(
        *(free, kept, codes, n_classes, weights, folds, 0.5, sizes, (1.0,) * n),
        ((0,) * n, n),
    )
    model = Model(columns, problems)
    model.refit(100, 1e-12)
    losses = candidate_losses(model, candidates)
    for j, block in enumerate(np.split(free, np.cumsum(sizes)[:-1], axis=1)):
        expected = oracle.out_of_fold_loss(kept, block, codes, n_classes, weights, folds, 0.5)
        assert_allclose(losses[j], expected, rtol=1e-9)


@pytest.mark.parametrize("sizes", [(1,) * 6, (2, 1, 3)], ids=["single", "blocks"])
def test_problems_that_are_not_worked_on_together_give_the_same(monkeypatch, sizes):
    free, kept, codes, weights, folds = make_problem(4, 5, sizes, n_kept=2)
    n = len(sizes)
    arguments = arguments_of(
        *(free, kept, codes, 4, weights, folds, 0.5, sizes, (1.0,) * n), ((0,) * n, n)
    )
    expected = forward_steps(*arguments, n)
    for module in ("tamis.heads.newton", "tamis.panel.forward_steps"):
        monkeypatch.setattr(f"{module}._BLOCK", 1)
    order, losses = forward_steps(*arguments, n)
    assert_array_equal(order, expected[0])
    assert_allclose(losses, expected[1], rtol=1e-12)


@pytest.mark.parametrize(("seed", "unit"), quick_pairs(range(3), [1e-8, 1.0, 1e8]))
def test_of_equal_features_the_first_is_chosen_whatever_the_last_digits(seed, unit):
    free, kept, codes, weights, folds = make_problem(3, seed, n=60)
    cost = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0]) * unit
    rounding = 1 + 4e-16 * np.random.default_rng(seed).integers(-2, 3, (60, 24))
    orders = [
        forward_steps(
            *arguments_of(
                *(np.tile(free, 3) * digits, kept, codes, 3, weights, folds, 2.0),
                *((1,) * 24, np.tile(cost, 3), (np.tile(np.arange(8), 3), 1)),
            ),
            8,
        )[0]
        for digits in (np.ones((60, 24)), rounding)
    ]
    assert_array_equal(*orders)
    assert sorted(orders[0]) == list(range(8))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_beyond_the_range_of_exp_have_their_losses(n_classes):
    free, kept, codes, weights, folds = make_problem(n_classes, 0)
    columns, candidates, problems, _ = arguments_of(
        *(free, kept, codes, n_classes, weights, folds, 2.0, (1,) * 8, (1.0,) * 8), ((0,) * 8, 8)
    )
    model = Model(columns, problems)
    of_class = np.where(problems.is_class > 0, -1e4, 1e4)
    model.margins[:] = np.tile(of_class, (len(model.margins) // len(of_class), 1))
    # Of two classes one margin is wrong by 1e4; of three, two others are 2e4 above the own one.
    expected = 1e4 if n_classes == 2 else 2e4 + np.log(2)
    assert_allclose(model.loss(), expected * weights.sum())
    assert np.isfinite(candidate_losses(model, candidates)).all()


def plain_choices(p, kept=(), cost=None, set_of=None, most=None):
    mask = np.zeros(p, dtype=bool)
    mask[list(kept)] = True
    return Choices(
        np.arange(p),
        mask,
        np.ones(p) if cost is None else np.asarray(cost, dtype=float),
        np.zeros(p, dtype=np.int64) if set_of is None else np.asarray(set_of),
        p if most is None else most,
    )


def make_rows(n_classes=2, n=80, p=10, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    return rng.normal(size=(n, p)) + rng.normal(size=(n_classes, p))[codes], codes


def order_of(X, codes, weights=None, choices=None, **options):
    choices = plain_choices(X.shape[1]) if choices is None else choices
    screened = np.flatnonzero(~choices.kept)
    weights = np.ones(codes.size) if weights is None else weights
    settings = {"alpha": 3.0, "n_folds": 4, **options}
    return select_forward(
        X, codes, weights, codes.max() + 1, screened, choices, 5, **settings
    ).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_copy_of_a_chosen_feature_is_not_chosen_next(n_classes):
    X, codes = make_rows(n_classes)
    first, *_ = order_of(X, codes)
    X = np.column_stack([X, X[:, first]])
    assert {order_of(X, codes)[0], order_of(X, codes)[1]} != {first, X.shape[1] - 1}


def test_sparse_rows_without_a_screened_word_are_spread_over_the_folds():
    X = sparse.random_array(
        (3000, 5000), density=0.002, rng=np.random.default_rng(0), format="csr"
    )
    codes = np.arange(3000) % 2
    folds = content_folds(X, codes, 5)
    assert_array_equal(content_folds(X.toarray(), codes, 5), folds)
    with_a_zero = X.copy()
    with_a_zero.data[::7] = 0.0
    without = with_a_zero.copy()
    without.eliminate_zeros()
    assert_array_equal(content_folds(with_a_zero, codes, 5), content_folds(without, codes, 5))
    unlike = np.flatnonzero(np.diff(X.indptr))
    assert np.bincount(folds[unlike]).max() < 1.1 * unlike.size / 5
    assert sample_rows(X[unlike], codes[unlike], 500).size < 600


@pytest.mark.parametrize("n_classes", [2, 3])
def test_neither_the_order_nor_the_repetition_of_rows_matters(n_classes):
    X, codes = make_rows(n_classes)
    expected = order_of(X, codes)
    rows = np.random.default_rng(1).permutation(codes.size)
    assert order_of(X[rows], codes[rows]) == expected
    assert order_of(sparse.csr_array(X), codes) == expected
    weights = np.random.default_rng(2).integers(1, 4, codes.size) ** 3
    weighted = order_of(X, codes, weights.astype(float))
    assert order_of(X.repeat(weights, axis=0), codes.repeat(weights)) == weighted
    assert weighted != expected


def test_the_folds_do_not_depend_on_the_order_of_screened_features():
    X, codes = make_rows(3)
    choices = plain_choices(10)
    options = {"alpha": 3.0, "n_folds": 4}
    one = select_forward(X, codes, np.ones(80), 3, np.arange(10), choices, 5, **options)
    other = select_forward(X, codes, np.ones(80), 3, np.arange(10)[::-1], choices, 5, **options)
    assert_array_equal(one, other)


def test_kept_features_are_not_chosen_and_their_copies_come_late():
    X, codes = make_rows()
    best = order_of(X, codes)[0]
    order = order_of(X, codes, choices=plain_choices(10, kept=[best]))
    assert best not in order
    doubled = np.column_stack([X, X[:, best]])
    assert order_of(doubled, codes, choices=plain_choices(11, kept=[best]))[0] != 10


def test_dear_features_come_later_and_limits_hold():
    X, codes = make_rows()
    best = order_of(X, codes)[0]
    dear = np.where(np.arange(10) == best, 1e6, 1.0)
    assert order_of(X, codes, choices=plain_choices(10, cost=dear))[0] != best
    limited = order_of(X, codes, choices=plain_choices(10, set_of=np.arange(10) % 2, most=1))
    assert sorted(np.array(limited) % 2) == [0, 1]


@pytest.mark.parametrize("class_weight", [None, "balanced", np.array([1.0, 3.0, 0.5])])
def test_weights_of_classes_keep_the_total(class_weight):
    codes = np.array([0, 0, 0, 0, 1, 1, 2])
    weights = np.array([1.0, 2, 1, 1, 3, 0, 2])
    weighed = weigh_classes(codes, weights, 3, class_weight)
    assert_allclose(weighed.sum(), weights.sum())
    sums = np.bincount(codes, weights=weighed)
    if class_weight is None:
        assert_array_equal(weighed, weights)
    elif isinstance(class_weight, str):
        assert_allclose(sums, sums.mean())
    else:
        ratio = sums / np.bincount(codes, weights=weights)
        assert_allclose(ratio / ratio[0], class_weight)


# Folds.


def test_folds_follow_rows_wherever_they_stand_and_however_often():
    X, codes = make_rows(3)
    folds = content_folds(X, codes, 5)
    rows = np.random.default_rng(1).integers(0, 80, 200)
    rows = np.concatenate([rows, np.arange(80)])  # in another order, some several times
    assert_array_equal(content_folds(X[rows], codes[rows], 5), folds[rows])


def test_folds_do_not_depend_on_units_and_the_order_of_columns():
    X, codes = make_rows()
    folds = content_folds(X, codes, 5)
    rng = np.random.default_rng(0)
    columns, units = rng.permutation(X.shape[1]), rng.uniform(1e-3, 1e3, X.shape[1])
    assert_array_equal(content_folds((X * units)[:, columns], codes, 5), folds)
    assert_array_equal(sample_rows((X * units)[:, columns], codes, 30), sample_rows(X, codes, 30))


def test_folds_depend_on_the_seed_and_on_every_column():
    X, codes = make_rows()
    folds = content_folds(X, codes, 5)
    assert np.mean(content_folds(X, codes, 5, seed=1) == folds) < 0.5
    for j in range(10):
        changed = X.copy()
        changed[:, j] = changed[::-1, j]
        assert np.any(content_folds(changed, codes, 5) != folds)


def test_zero_and_minus_zero_are_the_same():
    X = np.zeros((20, 2))
    X[:, 1] = np.arange(20)
    signed = X.copy()
    signed[::2, 0] = -0.0
    codes = np.arange(20) % 2
    assert_array_equal(content_folds(X, codes, 4), content_folds(signed, codes, 4))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_classes_and_rows_are_dealt_evenly(n_classes):
    X, codes = make_rows(n_classes, n=101)
    folds = content_folds(X, codes, 5)
    for c in range(n_classes):
        assert np.ptp(np.bincount(folds[codes == c], minlength=5)) <= 1
    assert np.ptp(np.bincount(folds, minlength=5)) <= 1


@pytest.mark.parametrize("dtype", [int, str])
def test_groups_stay_whole_and_are_dealt_evenly(dtype):
    X, codes = make_rows(n=120)
    groups = np.repeat(np.arange(40), 3)
    folds = content_folds(X, codes, 5, groups.astype(dtype))
    for g in range(40):
        assert np.unique(folds[groups == g]).size == 1
    assert np.ptp(np.bincount(folds[::3], minlength=5)) <= 1
    rows = np.random.default_rng(1).permutation(120)
    again = content_folds(X[rows], codes[rows], 5, groups[rows].astype(dtype))
    assert_array_equal(again, folds[rows])


def test_groups_of_each_class_are_dealt_evenly():
    X, _ = make_rows(n=120)
    groups = np.repeat(np.arange(40), 3)
    codes = (groups % 8 == 0).astype(int)  # 5 of 40 groups
    folds = content_folds(X, codes, 5, groups)
    for c in range(2):
        assert np.ptp(np.bincount(folds[codes == c][::3], minlength=5)) <= 1


def test_small_integers_are_dealt_like_any_other_values():
    X = np.random.default_rng(0).integers(0, 3, (300, 6)).astype(float)
    codes = np.zeros(300, dtype=int)
    distinct = np.unique(X, axis=0)
    folds = content_folds(distinct, np.zeros(len(distinct), dtype=int), 5)
    assert np.ptp(np.bincount(folds)) <= 1
    for value in range(3):  # no fold holds one value only
        share = np.bincount(folds[distinct[:, 0] == value], minlength=5) / np.bincount(folds)
        assert np.all((share > 0.1) & (share < 0.6))
    assert np.unique(content_folds(X, codes, 5)).size == 5


def test_a_sample_of_the_rows_has_its_share_of_each_class_and_whole_groups():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(3000, 4)), np.arange(3000) % 3 // 2
    rows = sample_rows(X, codes, 400)
    assert 350 <= rows.size <= 400
    assert_allclose(codes[rows].mean(), codes.mean(), atol=0.01)
    order = rng.permutation(3000)
    assert_array_equal(np.sort(order[sample_rows(X[order], codes[order], 400)]), rows)
    groups = np.arange(3000) // 10
    rows = sample_rows(X, codes, 400, groups)
    assert_array_equal(np.unique(groups[rows], return_counts=True)[1], 10)
    assert_array_equal(sample_rows(X, codes, 3000), np.arange(3000))


def test_a_sample_of_few_patterns_has_its_share_of_each():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(40_000, 3)).astype(float)
    codes = (X[:, 0] + rng.random(40_000) > 1.2).astype(int)
    rows = sample_rows(X, codes, 400)
    pattern = np.ravel_multi_index((*X.astype(int).T, codes), (2, 2, 2, 2))
    shares = np.bincount(pattern, minlength=16) / 40_000
    assert_allclose(np.bincount(pattern[rows], minlength=16) / rows.size, shares, atol=5e-3)
    order = rng.permutation(40_000)
    again = np.bincount(pattern[order][sample_rows(X[order], codes[order], 400)], minlength=16)
    assert_array_equal(again, np.bincount(pattern[rows], minlength=16))
    model = PanelClassifier(1, head="lda").fit(X, codes)
    assert_array_equal(model.get_support(), [True, False, False])
