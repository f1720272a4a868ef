"""Which selection stands: by definition, whatever number of features is wanted."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis import PanelClassifier, PanelClassifierCV
from tamis.guarantees import swap_panels
from tamis.heads import fit_lda
from tamis.panel.forward import keys_of
from tamis.panel.judging import choose_selection, judge_selections, judged_sizes
from tamis.panel.outer import outer_splits, paired_error
from tamis.panel.tempered import tempered_losses
from tamis.paths.temperature import least_loss, match_folds


def make_weak(seed, n=80, p=400):
    """Weak signals, each in a fifth of the columns: the mean of many counts, luck misleads."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    hidden = rng.normal(size=(n, 5)) + (y[:, None] - 0.5) * np.array([1.2, 1.0, 0.8, 0.6, 0.4])
    return 0.6 * np.repeat(hidden, p // 5, axis=1) + rng.normal(size=(n, p)), y


def make_copies(seed, n=200):
    """Four strong signals of six copies each: the largest gains repeat the first."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    hidden = rng.normal(size=(n, 4)) + (y[:, None] - 0.5) * np.array([2.0, 1.5, 1.2, 1.0])
    return np.repeat(hidden, 6, axis=1) + 0.1 * rng.normal(size=(n, 24)), y


def judge(X, y, groups=None, cv=5):
    """What the library judges and takes, and the parts of it."""
    ones, model = np.ones(y.size), PanelClassifier(cv=cv)
    model.n_features_in_, model.classes_ = X.shape[1], np.unique(y)
    candidates = model._make_selection(model._make_choices()).candidates(X)
    splits = outer_splits(cv, X, y, ones, groups, 0, keys=keys_of(X, ones))
    data = (X, y, ones, y.max() + 1, candidates, np.array([3]), groups)
    judged = [judge_selections(*data, split) for split in splits]
    return candidates, splits, judged


def gain_by_definition(X, y, candidates, splits, groups):
    """Mean loss of the first candidate minus that of the other, and its standard error."""
    n_classes, rows = y.max() + 1, np.concatenate([test for _, test in splits])
    share = 1.0 / (n_classes * np.bincount(y[rows])[y[rows]])
    fold_of = np.concatenate([np.full(test.size, f) for f, (_, test) in enumerate(splits)])
    losses = []
    for selection in candidates:
        of_sizes = []
        for k in (1, 2, 3, 5, 8, 12):
            decisions = []
            for train, test in splits:
                order = selection.order(
                    X[train],
                    y[train],
                    np.ones(train.size),
                    n_classes,
                    12,
                    None if groups is None else groups[train],
                )
                some = np.sort(order[:k])
                equal = np.full(n_classes, 1 / n_classes)
                head = fit_lda(X[train][:, some], y[train], np.ones(train.size), equal)
                decisions.append(head.decisions(X[test][:, some]))
            matched = match_folds(np.concatenate(decisions), fold_of, np.ones(rows.size))
            of_sizes.append(tempered_losses(matched[None], y[rows], share, least_loss(rows.size)))
        losses.append(np.mean([loss[0][0] for loss in of_sizes], axis=0))
    gain = losses[0] - losses[1]
    groups = None if groups is None else groups[rows]
    return share @ gain, paired_error(gain, share, groups, np.ones(rows.size))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [make_weak, make_copies])
def test_the_order_is_the_one_that_predicts_outer_folds_better(make, seed):
    X, y = make(seed)
    groups = np.arange(y.size) // 4 if seed % 2 else None
    candidates, splits, judged = judge(X, y, groups)
    assert [selection.kind for selection in candidates] == ["forward", "centers"]
    gain, error = gain_by_definition(X, y, candidates, splits, groups)
    place = choose_selection(judged, splits, y, np.ones(y.size), groups=groups)
    assert place == int(gain > 0.5 * error)
    model = PanelClassifier(3, head="lda").fit(X, y, groups=groups)
    assert model.selection_ == candidates[place].kind


def test_each_order_is_taken_where_it_is_better():
    weak = [PanelClassifier(3, head="lda").fit(*make_weak(s)).selection_ for s in range(2)]
    assert weak == ["centers", "centers"]
    copies = [PanelClassifier(3, head="lda").fit(*make_copies(s)).selection_ for s in range(2)]
    assert copies == ["forward", "forward"]


@pytest.mark.parametrize("make", [make_weak, make_copies])
def test_auto_is_the_selection_that_it_takes(make):
    X, y = make(0)
    for estimator in (PanelClassifier(4), PanelClassifierCV([2, 4])):
        model = estimator.fit(X, y)
        other = type(estimator)(**{**estimator.get_params(), "selection": model.selection_})
        other.fit(X, y)
        assert other.selection_ == model.selection_
        assert_array_equal(other.feature_order_, model.feature_order_)
        assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("make", [make_weak, make_copies])
def test_all_sizes_have_one_order(make):
    X, y = make(1)
    models = [PanelClassifier(k, head="lda").fit(X, y) for k in (1, 3, 9)]
    assert len({model.selection_ for model in models}) == 1
    path = PanelClassifier(head="lda").fit_path(X, y)
    for model in models:
        k = model.n_features_
        assert_array_equal(model.feature_order_[:k], models[-1].feature_order_[:k])
        assert_array_equal(
            path.features(int(np.flatnonzero(path.levels == k)[0])), model.support_.nonzero()[0]
        )


def test_no_size_is_judged_that_the_prefilter_may_not_reach():
    X, y = make_copies(0)
    model = PanelClassifier(n_screened=7)
    model.n_features_in_, model.classes_ = X.shape[1], np.unique(y)
    selection = model._make_selection(model._make_choices())
    assert judged_sizes(selection).tolist() == [1, 2, 3]
    short = PanelClassifier(2, n_screened=7, head="lda").fit(X, y)
    same = PanelClassifier(2, n_screened=7, head="lda", selection=short.selection_).fit(X, y)
    assert_array_equal(short.feature_order_, same.feature_order_)


def test_costs_and_words_are_for_the_steps_alone():
    X, y = make_weak(0)
    assert PanelClassifier(3, head="lda").fit(X, y).selection_ == "centers"
    costs = np.ones(X.shape[1])
    costs[0] = 2.0
    model = PanelClassifier(3, head="lda", feature_costs=costs).fit(X, y)
    assert model.selection_ == "forward"
    rng = np.random.default_rng(0)
    words = sparse.csr_array((rng.random((90, 300)) < 0.03).astype(float))
    y = np.arange(90) % 2
    assert PanelClassifier(3).fit(words, y).selection_ == "forward"


def test_panels_of_the_largest_gains_have_no_swaps():
    X, y = make_weak(0)
    model = PanelClassifier(3, head="lda").fit(X, y)
    with pytest.raises(ValueError, match="features of forward steps, got 'centers'"):
        swap_panels(model, X, y)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("smallest", [0, 1])
def test_candidates_select_as_if_each_were_alone(n_classes, smallest):
    X, _ = make_weak(3, n=120, p=60)
    rng = np.random.default_rng(4)
    y, weights = np.arange(120) % n_classes, rng.integers(smallest, 4, size=120).astype(float)
    X[:, :9] += rng.normal(size=(n_classes, 9))[y]
    model = PanelClassifier()
    model.n_features_in_, model.classes_ = X.shape[1], np.arange(n_classes)
    candidates = model._make_selection(model._make_choices()).candidates(X)
    assert [selection.kind for selection in candidates] == ["forward", "centers"]
    train, test = np.flatnonzero(rng.random(120) < 0.7), np.arange(10)
    levels = np.array([1, 4, 9])
    judged = judge_selections(X, y, weights, n_classes, candidates, levels, None, (train, test))
    for selection, found in zip(candidates, judged.found, strict=True):
        every = np.concatenate([levels, judged_sizes(selection)])
        alone = selection.choose(X[train], y[train], weights[train], n_classes, every)
        for panel, expected in zip(found.panels, alone.panels[: levels.size], strict=True):
            assert_array_equal(panel, expected)
