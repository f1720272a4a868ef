"""Temperatures and heads from outer folds; and what noise says about inner and outer figures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from tamis import PanelClassifier, PanelClassifierCV, SparseCenterClassifier
from tamis.heads import fit_logistic
from tamis.panel.forward import content_folds
from tamis.panel.outer import KERNEL_MARGIN, choose_heads, paired_error
from tamis.panel.settings import Setting, fit_settings, settings_of
from tamis.panel.tempered import tempered_losses


def make_decisions(n_classes, scale=1.0, n=60, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    decisions = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[codes]
    return decisions * scale, codes, rng.uniform(0, 2, n) * (rng.random(n) < 0.9)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("scale", [1e-6, 0.1, 1.0, 50.0, 1e6])
def test_the_temperature_minimises_the_log_loss(n_classes, scale):
    decisions, codes, weights = make_decisions(n_classes, scale)

    def loss(log_s):
        own = log_softmax(np.exp(log_s) * decisions, axis=1)[np.arange(codes.size), codes]
        return -weights @ own

    low = -np.log(scale)
    best = minimize_scalar(
        loss, bounds=(low - 5, low + 5), method="bounded", options={"xatol": 1e-10}
    )
    losses, (temperature,) = tempered_losses(decisions[None], codes, weights, 0.0)
    assert_allclose(losses @ weights, best.fun, rtol=1e-9)
    assert_allclose(temperature, np.exp(-best.x), rtol=1e-4)


def test_decisions_without_any_sense_are_flattened():
    decisions, codes, weights = make_decisions(3)
    wrong = -decisions  # worse than none at any temperature
    both = np.stack([wrong, np.zeros_like(wrong)])
    losses, temperatures = tempered_losses(both, codes, weights, 0.0)
    assert temperatures[0] > 1e3
    assert_allclose(losses[0], np.log(3), rtol=1e-3)
    assert temperatures[1] == 1.0
    assert_allclose(losses[1], np.log(3))


def test_heads_do_not_change_each_others_temperatures():
    decisions, codes, weights = make_decisions(3, n=40)
    several = decisions * np.geomspace(0.01, 100, 9)[:, None, None]
    several[4] *= -1
    several[6] = 20 * np.eye(3)[codes]
    for least in (0.0, 0.2):
        losses, temperatures = tempered_losses(several, codes, weights, least)
        alone = [tempered_losses(d[None], codes, weights, least) for d in several]
        assert_allclose(losses, [of_one[0][0] for of_one in alone], rtol=1e-12, atol=1e-15)
        assert_allclose(temperatures, [of_one[1][0] for of_one in alone], rtol=1e-9)
        assert (losses @ weights >= 0.999999 * least * weights.sum()).all()
    assert_allclose(losses[6] @ weights, 0.2 * weights.sum(), rtol=1e-6)


def test_perfect_decisions_have_a_finite_temperature_and_hardly_any_loss():
    codes = np.arange(30) % 3
    losses, (temperature,) = tempered_losses(np.eye(3)[codes][None], codes, np.ones(30), 0.0)
    assert 0 < temperature < 0.1
    assert losses.max() < 1e-6


SETTINGS = [Setting("lda"), Setting("logistic", (1.0,)), Setting("kernel", (1.0, 1.0))]


def make_gain(gain_of_kernel, n=200):
    """Decisions of three heads; each row of the kernel has a larger margin by some gain."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    signs = np.where(codes == 1, 1.0, -1.0)
    margins = np.array(
        [rng.normal(size=n), rng.normal(size=n) + signs, rng.normal(size=n) + signs]
    )
    margins[2] = margins[1] + signs * gain_of_kernel + 0.5 * rng.normal(size=n)
    return np.stack([-margins / 2, margins / 2], axis=2), codes


def choose(gain_of_kernel, groups=None, margin=KERNEL_MARGIN):
    """The head that is chosen."""
    decisions, codes = make_gain(gain_of_kernel)
    chosen = choose_heads(
        decisions[None], codes, np.ones(codes.size), SETTINGS, groups=groups, margin=margin
    )
    return SETTINGS[chosen[0].place].head


def test_the_head_with_the_least_loss_is_chosen_and_a_kernel_must_be_clearly_better():
    assert choose(-0.5) == "logistic"
    assert choose(1.0) == "kernel"
    share = np.full(200, 1 / 200)
    n_close = 0
    for gain in np.linspace(0, 1, 41):
        decisions, codes = make_gain(gain)
        losses, _ = tempered_losses(decisions, codes, share, 0.0)
        difference = losses[1] - losses[2]
        error = difference.std(ddof=1) / np.sqrt(200)
        n_close += 0 < difference.mean() < error
        assert (choose(gain) == "kernel") == (difference.mean() > max(error, KERNEL_MARGIN))
    assert n_close > 0


def test_a_kernel_that_is_certainly_but_hardly_better_is_not_chosen():
    n, gain = 20_000, 0.15
    decisions, codes = make_gain(gain, n)
    share = np.full(n, 1 / n)
    losses, _ = tempered_losses(decisions, codes, share, 0.0)
    better = float((losses[1] - losses[2]).mean())
    error = paired_error(losses[1] - losses[2], share, None, np.ones(n))
    assert 0 < error < 0.5 * better

    def choose_with(margin):
        chosen = choose_heads(decisions[None], codes, np.ones(n), SETTINGS, margin=margin)
        return SETTINGS[chosen[0].place].head

    assert choose_with(0.0) == choose_with(0.9 * better) == "kernel"
    assert choose_with(1.1 * better) == "logistic"


def test_sample_groups_count_as_one_row_in_the_paired_error():
    of_group = np.random.default_rng(0).normal(size=12)
    gains, share = np.repeat(of_group, 10), np.full(120, 1 / 120)
    expected = of_group.std(ddof=1) / np.sqrt(12)
    groups = np.repeat(np.array(list("abcdefghijkl")), 10)
    ones = np.ones(120)
    assert_allclose(paired_error(gains, share, groups, ones), expected)
    assert paired_error(gains, share, None, ones) < 0.4 * expected
    tried, groups = np.linspace(0, 0.4, 201), np.arange(200) // 50
    alone = [g for g in tried if choose(g, margin=0.0) == "kernel"]
    in_groups = [g for g in tried if choose(g, groups, margin=0.0) == "kernel"]
    assert alone != in_groups


def test_without_a_linear_head_the_best_kernel_is_chosen():
    rng = np.random.default_rng(0)
    codes = np.arange(100) % 2
    margins = rng.normal(size=(9, 100)) + 0.1 * np.arange(9)[:, None] * (2 * codes - 1)
    decisions = np.stack([-margins, margins], axis=2)[None]
    chosen = choose_heads(decisions, codes, np.ones(100), settings_of("kernel"))[0]
    _, expected = tempered_losses(decisions[0], codes, np.full(100, 0.01), 0.0)
    assert chosen.temperature == expected[chosen.place]
    assert chosen.loss < np.log(2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_landmarks_of_a_kernel_follow_the_rows(n_classes):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(700, 3)), rng.integers(0, n_classes, 700)
    rows = rng.permutation(700)
    settings = [Setting("kernel", (1.0, 1.0))]
    one = fit_settings(X, codes, np.ones(700), n_classes, settings, "balanced", 0)[0]
    other = fit_settings(X[rows], codes[rows], np.ones(700), n_classes, settings, "balanced", 0)[0]
    assert_allclose(one.decisions(X), other.decisions(X), atol=1e-6)
    assert 190 <= len(one.landmarks) <= 200


# Noise: the loss that chooses features is not a score.


def make_noise(seed):
    return np.random.default_rng(seed).normal(size=(60, 2000)), np.arange(60) % 2


def inner_accuracy(X, y, k):
    """Accuracy in the very folds by which the forward steps have chosen k features."""
    model = PanelClassifier(k, head="lda").fit(X, y)
    chosen = model.feature_order_[:k]
    screened = SparseCenterClassifier(1).fit(X, y).feature_order_[:100]
    assert set(chosen) <= set(screened)
    folds = content_folds(X, y, 5)
    right = np.empty(y.size)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        head = fit_logistic(X[train][:, chosen], y[train], np.ones(train.sum()), 2, [3.0])[0]
        right[test] = head.decisions(X[test][:, chosen]).argmax(axis=1) == y[test]
    return right.mean()


def outer_score(X, y, k, head="auto"):
    return PanelClassifierCV([k], head=head).fit(X, y).path_["score"][0]


def test_noise_looks_predictable_to_the_inner_folds_and_not_to_the_outer_ones():
    assert inner_accuracy(*make_noise(0), 8) > 0.85
    outer = [outer_score(*make_noise(seed), 8) for seed in range(8)]
    assert abs(np.mean(outer) - 0.5) < 0.08  # three standard errors


@pytest.mark.slow
def test_noise_looks_predictable_to_the_inner_folds_again_and_again():
    assert min(inner_accuracy(*make_noise(seed), 8) for seed in range(1, 10)) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("head", ["lda", "logistic", "auto"])
def test_outer_scores_of_noise_are_one_half_on_average(head):
    outer = [outer_score(*make_noise(seed), 8, head) for seed in range(200)]
    assert abs(np.mean(outer) - 0.5) < 0.02
