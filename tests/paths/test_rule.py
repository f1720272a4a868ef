import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.paths.rule import Counted, Drawn, averaged, choose, choose_drawn, smoothing
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
    rng = np.random.default_rng(seed)
    scores, sizes = rng.random(30), rng.integers(0, 25, size=30).astype(float)
    paths, allowed = rng.integers(0, 3, size=30), rng.random(30) < 0.6
    allowed[0], scores[5:8] = True, [np.nan, -np.inf, scores[8]]
    means = oracle.averaged(scores, sizes, paths)
    expected = [-np.inf if mean is None else mean for mean in means]
    assert_allclose(averaged(scores, sizes, paths), expected)
    expected = oracle.choose(scores, sizes, tolerance, allowed, paths)
    found = choose(scores, sizes, paths=paths, tolerance=tolerance, allowed=allowed)
    assert found == expected
    # The same in every draw, and whatever the order of the candidates.
    draws = np.stack([scores, rng.random(30), scores])
    drawn = choose_drawn(
        draws, sizes, [None] * 3, paths=paths, tolerance=tolerance, allowed=allowed
    )
    other = oracle.choose(draws[1], sizes, tolerance, allowed, paths)
    assert drawn == [expected, other, expected]
    mixed = rng.permutation(30)
    again = choose(
        scores[mixed],
        sizes[mixed],
        paths=paths[mixed],
        tolerance=tolerance,
        allowed=allowed[mixed],
    )
    assert_allclose(sizes[mixed[list(again)]], sizes[list(expected)])


@pytest.mark.parametrize("seed", range(10))
def test_preferred_candidates_win_over_others_that_are_as_sparse(seed):
    rng = np.random.default_rng(seed)
    scores, sizes = rng.random(12), rng.integers(1, 4, size=12).astype(float)
    preferred, paths = rng.random(12) < 0.4, np.arange(12) % 4
    found, best = choose(scores, sizes, paths=paths, tolerance=0.2, preferred=preferred)
    means = averaged(scores, sizes, paths)
    assert best == oracle.choose(scores, sizes, 0.2, [True] * 12, paths)[1]
    enough = np.flatnonzero(means >= means.max() - 0.2 - 1e-12)
    fewest = enough[sizes[enough] == sizes[enough].min()]
    some = fewest[preferred[fewest]] if preferred[fewest].any() else fewest
    assert found in some and means[found] >= means[some].max() - 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_a_candidate_with_a_twin_counts_only_if_it_is_clearly_better(seed):
    right, codes, groups, weight = make(seed, n_candidates=12, grouped=seed % 2 == 0)
    right[6:] = np.maximum(right[6:], np.random.default_rng(seed).random((6, codes.size)) < 0.1)
    sizes, paths = np.tile(np.arange(1.0, 7.0), 2), np.repeat([0, 1], 6)
    twins = np.array([-1] * 6 + [0, 1, 2, 3, 4, 5])
    errors = Counted.of(right, codes, balanced=True, groups=groups, weight=weight)
    scores, tolerance = errors.scores(), 0.02
    clear = [
        t < 0 or scores[a] - scores[t] > max(errors.against(t)[a], tolerance)
        for a, t in enumerate(twins)
    ]
    assert_allclose([errors.between(a, a - 6) for a in range(6, 12)],
                    [errors.against(a - 6)[a] for a in range(6, 12)])  # fmt: skip
    found = choose(scores, sizes, paths=paths, tolerance=tolerance, twins=twins, errors=errors)
    assert found == oracle.choose(scores, sizes, tolerance, [True] * 12, paths, clear)


def test_one_size_is_chosen_whatever_its_score():
    for score in (0.3, 1.0, np.nan, -np.inf):
        assert choose(np.array([score]), np.array([7.0])) == (0, 0)


def test_ties_go_to_the_sparsest_and_then_to_the_first():
    scores, sizes = np.full(5, 0.8), np.array([3.0, 2.0, 5.0, 2.0, 3.0])
    for paths in (None, np.arange(5), np.array([0, 0, 1, 1, 2])):
        assert choose(scores, sizes, paths=paths, tolerance=0.0) == (1, 1)


def test_of_levels_of_one_size_the_best_is_chosen():
    """Their averages are the same, such as those of several penalties with as many features."""
    scores, sizes = np.array([0.7, 0.8, 0.8, 0.6, 0.7]), np.array([2.0, 2.0, 2.0, 9.0, 9.0])
    assert choose(scores, sizes) == (1, 1)
    assert choose(scores, sizes, allowed=np.array([True, False, False, True, True])) == (0, 1)
    assert choose(scores, sizes, allowed=sizes > 2) == (4, 4)
    drawn = np.array([scores, scores[[0, 2, 1, 4, 3]], [0.8, 0.7, 0.6, 0.5, 0.4]])
    assert choose_drawn(drawn, sizes, [None] * 3) == [(1, 1), (1, 1), (0, 0)]


def test_sizes_without_a_score_are_never_chosen_and_have_no_say():
    scores, sizes = np.array([np.nan, 0.8, np.nan, 0.9, -np.inf]), np.arange(1.0, 6.0)
    found = choose(scores, sizes, tolerance=0.2)
    assert found == (1, 3)
    assert_allclose(averaged(scores, sizes)[[1, 3]], averaged(scores[[1, 3]], sizes[[1, 3]]))


def test_a_lucky_size_among_worse_neighbours_is_not_the_standard():
    sizes, scores = np.arange(1.0, 31.0), np.full(30, 0.8)
    scores[19] = 0.85
    assert choose(scores, sizes, paths=np.arange(30)) == (19, 19)
    assert choose(scores, sizes)[0] == 0


def test_paths_are_not_averaged_with_each_other():
    scores, sizes = np.array([0.5, 0.6, 0.9, 0.9]), np.array([2.0, 3.0, 2.0, 3.0])
    paths = np.array([0, 0, 1, 1])
    assert_allclose(averaged(scores, sizes, paths)[2:], 0.9)
    assert averaged(scores, sizes, paths).argmax() >= 2
    assert choose(scores, sizes, paths=paths) == (2, 2)


@pytest.mark.parametrize("n_rows", [24, 40, 100, 20_000])
def test_no_candidate_is_chosen_that_is_further_behind_than_the_tolerance(n_rows):
    """However few the rows: their standard errors have no say."""
    rng = np.random.default_rng(n_rows)
    codes, sizes = np.arange(n_rows) % 2, np.arange(1.0, 31.0)
    right = (rng.random((30, n_rows)) < np.linspace(0.5, 0.9, 30)[:, None]).astype(np.float32)
    scores = Counted.of(right, codes, balanced=True).scores()
    means = averaged(scores, sizes)
    for tolerance in (0.0, 0.01, 0.05):
        chosen, best = choose(scores, sizes, tolerance=tolerance)
        assert means[best] - means[chosen] <= tolerance + 1e-9
        assert (means[:chosen] < means[best] - tolerance).all()


def test_many_sizes_are_averaged_in_parts():
    rng = np.random.default_rng(0)
    scores, sizes = rng.random(900), rng.permutation(900) + 1.0
    similar = np.exp(-0.5 * (np.subtract.outer(np.log1p(sizes), np.log1p(sizes)) / 0.35) ** 2)
    assert_allclose(averaged(scores, sizes), similar @ scores / similar.sum(axis=1))


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
