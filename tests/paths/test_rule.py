import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.paths.rule import LARGEST_LOSS, Counted, Drawn, choose, choose_drawn, smoothing
from tests.oracles import rule as oracle


def make(seed, n_rows=40, n_candidates=6, n_classes=3, grouped=False):
    rng = np.random.default_rng(seed)
    codes = np.concatenate(
        [np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)]
    )
    right = rng.integers(0, 4, size=(n_candidates, n_rows)) / 3  # three repeats
    groups = rng.integers(0, n_rows // 3, size=n_rows) if grouped else None
    weight = rng.integers(1, 4, size=n_rows).astype(float) if seed % 2 else None
    return right.astype(np.float32), codes, groups, weight


def units_of(groups, n_rows, times=None):
    times = np.ones(n_rows) if times is None else times
    labels = np.arange(n_rows) if groups is None else groups
    units = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label).tolist()
        units += [rows] * int(times[rows[0]])
    return units


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_standard_errors_are_those_of_the_formula(seed, grouped, balanced):
    right, codes, groups, weight = make(seed, grouped=grouped)
    errors = Counted.of(right, codes, balanced=balanced, groups=groups, weight=weight)
    units = units_of(groups, codes.size)
    mass = np.ones(codes.size) if weight is None else weight
    rows = range(codes.size)
    expected = [oracle.score(r, codes, mass, rows, balanced) for r in right]
    assert_allclose(errors.scores(), expected)
    for best in range(len(right)):
        expected = [
            oracle.standard_error(right[best], other, codes, mass, units, balanced)
            for other in right
        ]
        assert_allclose(errors.against(best), expected, rtol=1e-6)


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_rows_that_were_drawn_twice_count_twice(seed, grouped):
    right, codes, groups, weight = make(seed, grouped=grouped)
    labels = np.arange(codes.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    times = np.random.default_rng(seed).integers(1, 4, size=labels.max() + 1)[labels]
    errors = Counted.of(right, codes, balanced=True, groups=groups, weight=weight)
    errors = errors.drawn(times.astype(float))
    units = units_of(groups, codes.size, times)
    rows = [i for unit in units for i in unit]
    mass = np.ones(codes.size) if weight is None else weight
    expected = [oracle.score(r, codes, mass, rows, True) for r in right]
    assert_allclose(errors.scores(), expected, rtol=1e-6)
    expected = [
        oracle.standard_error(right[2], other, codes, mass, units, True) for other in right
    ]
    assert_allclose(errors.against(2), expected, rtol=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_the_sparsest_that_is_good_enough(seed, tolerance):
    right, codes, groups, weight = make(seed, n_candidates=12, grouped=seed % 3 == 0)
    rng = np.random.default_rng(100 + seed)
    sizes, allowed = rng.integers(1, 6, size=12).astype(float), rng.random(12) < 0.6
    allowed[0] = True
    errors = Counted.of(right, codes, balanced=True, groups=groups, weight=weight)
    scores = errors.scores()
    found = choose(scores, sizes, errors, tolerance=tolerance, allowed=allowed)
    expected = oracle.choose(scores, sizes, lambda b, a: errors.against(b)[a], tolerance, allowed)
    assert found == expected


@pytest.mark.parametrize("seed", range(10))
def test_preferred_candidates_win_over_others_that_are_as_sparse(seed):
    right, codes, groups, weight = make(seed, n_candidates=12)
    rng = np.random.default_rng(seed)
    sizes, preferred = rng.integers(1, 4, size=12).astype(float), rng.random(12) < 0.4
    errors = Counted.of(right, codes, balanced=True, groups=groups, weight=weight)
    scores = errors.scores()
    found, best = choose(scores, sizes, errors, tolerance=0.2, preferred=preferred)
    every = np.ones(12, dtype=bool)
    # The oracle knows sizes alone: a preferred candidate is a little smaller than it is.
    expected = oracle.choose(
        scores, sizes - 0.5 * preferred, lambda b, a: errors.against(b)[a], 0.2, every
    )
    assert found == expected[0]
    assert (found, best) == choose_drawn(
        np.ones((1, codes.size)),
        scores,
        sizes,
        errors,
        tolerance=0.2,
        allowed=every,
        preferred=preferred,
    )[0]


@pytest.mark.parametrize("seed", range(10))
def test_a_candidate_with_a_twin_counts_only_if_it_is_clearly_better(seed):
    right, codes, groups, weight = make(seed, n_candidates=12, grouped=seed % 2 == 0)
    right[6:] = np.maximum(right[6:], np.random.default_rng(seed).random((6, codes.size)) < 0.1)
    sizes = np.tile(np.arange(1.0, 7.0), 2)
    twins = np.array([-1] * 6 + [0, 1, 2, 3, 4, 5])
    errors = Counted.of(right, codes, balanced=True, groups=groups, weight=weight)
    scores, tolerance = errors.scores(), 0.02
    clear = [
        t < 0 or scores[a] - scores[t] > max(errors.against(t)[a], tolerance)
        for a, t in enumerate(twins)
    ]
    assert_allclose([errors.between(a, a - 6) for a in range(6, 12)],
                    [errors.against(a - 6)[a] for a in range(6, 12)])  # fmt: skip
    left = np.flatnonzero(clear)
    few = Counted.of(right[left], codes, balanced=True, groups=groups, weight=weight)
    expected = oracle.choose(
        scores[left],
        sizes[left],
        lambda b, a: few.against(b)[a],
        tolerance,
        np.ones(left.size, dtype=bool),
    )
    every, ones = np.ones(12, dtype=bool), np.ones((1, codes.size))
    found = choose(scores, sizes, errors, tolerance=tolerance, twins=twins)
    assert found == tuple(left[list(expected)])
    drawn = choose_drawn(
        ones, scores, sizes, errors, tolerance=tolerance, allowed=every, twins=twins
    )
    assert drawn == [found]


def test_a_perfect_score_is_not_infinitely_certain():
    """24 features that are always right do not beat 5 features with one error in 60."""
    codes = np.arange(60) % 2
    right = np.ones((2, 60), dtype=np.float32)
    right[0, 7] = 0
    errors = Counted.of(right, codes, balanced=True)
    chosen, best = choose(errors.scores(), np.array([5.0, 24.0]), errors, tolerance=0.0)
    assert (chosen, best) == (0, 1)


@pytest.mark.parametrize("n_rows", [24, 40, 100, 1000])
def test_no_candidate_is_chosen_that_is_further_behind_than_is_allowed(n_rows):
    """However few the rows, and however large the error of the difference."""
    rng = np.random.default_rng(n_rows)
    codes, sizes = np.arange(n_rows) % 2, np.arange(1.0, 31.0)
    right = (rng.random((30, n_rows)) < np.linspace(0.5, 0.9, 30)[:, None]).astype(np.float32)
    errors = Counted.of(right, codes, balanced=True)
    scores = errors.scores()
    for tolerance in (0.0, 0.01, 0.05):
        chosen, best = choose(scores, sizes, errors, tolerance=tolerance)
        assert scores[best] - scores[chosen] <= max(LARGEST_LOSS, tolerance) + 1e-9
    if n_rows <= 40:  # one standard error is more
        assert errors.against(best).max() > 2 * LARGEST_LOSS


def test_many_rows_do_not_make_a_tiny_difference_matter():
    codes = np.arange(20_000) % 2
    right = np.tile(np.random.default_rng(0).random(20_000) < 0.75, (2, 1))
    right[1, :150] = True  # a little better, and surely so
    right[0, :150] = False
    errors = Counted.of(right.astype(np.float32), codes, balanced=True)
    scores, sizes = errors.scores(), np.array([494.0, 2048.0])
    assert scores[1] - scores[0] > 1.5 * errors.against(1)[0]
    assert choose(scores, sizes, errors)[0] == 0
    assert choose(scores, sizes, errors, tolerance=0.0)[0] == 1


def test_pairing_makes_differences_more_certain_than_scores():
    rng = np.random.default_rng(3)
    codes = np.arange(100) % 2
    shared = rng.random(100) < 0.8
    right = np.stack([shared, shared ^ (rng.random(100) < 0.02)]).astype(np.float32)
    errors = Counted.of(right, codes, balanced=True)
    assert errors.against(0)[1] < 0.6 * errors.alone()[0]


def test_errors_of_draws_are_those_of_the_difference():
    scores = np.random.default_rng(0).normal(size=(200, 3))
    errors = Drawn.of(scores, 0.01)
    expected = np.sqrt((scores[:, 0] - scores[:, 2]).var(ddof=1) + 0.01)
    assert_allclose(errors.against(0)[2], expected)
    assert_allclose(errors.alone(), np.sqrt(scores.var(axis=0, ddof=1) + 0.01))


def test_smoothing_is_half_a_discordant_unit_in_each_direction():
    assert_allclose(smoothing([8, 18]), (1 / 100 + 1 / 400) / 4)
    assert_allclose(smoothing([8, 0, 18]), smoothing([8, 18]))
