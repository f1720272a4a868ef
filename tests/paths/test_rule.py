import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.paths.path import path_grid
from tamis.paths.rule import Counted, Drawn, Neighbours, PerFold, choose, choose_drawn, smoothing
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


def drawn_errors(rng, n_candidates):
    """Standard errors of about 0.3 for any score."""
    return Drawn.of(rng.normal(scale=0.2, size=(50, n_candidates)), 1e-4)


def all_pairs(errors, n_candidates):
    return np.array([errors.against(one) for one in range(n_candidates)])


class Unknown:
    """Every score could be the same as any other."""

    @staticmethod
    def pairs(some, places):
        return np.full((some.size, places.size), np.inf)


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
    some, places = np.array([5, 0, 3]), np.array([2, 0])
    expected = all_pairs(errors, len(right))[some][:, some[places]]
    assert_allclose(errors.pairs(some, places), expected, rtol=1e-6)


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
    assert_allclose(errors.pairs(np.arange(6), np.array([2]))[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_the_sparsest_that_is_good_enough(seed, tolerance):
    rng = np.random.default_rng(seed)
    scores, sizes = rng.random(30), rng.integers(0, 25, size=30).astype(float)
    paths, allowed = rng.integers(0, 3, size=30), rng.random(30) < 0.6
    allowed[0], scores[5:8] = True, [np.nan, -np.inf, scores[8]]
    errors = drawn_errors(rng, 30)
    pairs = all_pairs(errors, 30)
    neighbours = Neighbours.of(sizes, errors, paths)
    means = oracle.averaged(scores, sizes, paths, pairs)
    expected = [-np.inf if mean is None else mean for mean in means]
    assert_allclose(neighbours.averaged(scores), expected)
    expected = oracle.choose(scores, sizes, tolerance, allowed, paths, pairs)
    found = choose(scores, sizes, neighbours, tolerance=tolerance, allowed=allowed)
    assert found == expected
    # The same in every draw, and whatever the order of the candidates.
    draws = np.stack([scores, rng.random(30), scores])
    drawn = choose_drawn(
        draws, sizes, neighbours, [None] * 3, tolerance=tolerance, allowed=allowed
    )
    other = oracle.choose(draws[1], sizes, tolerance, allowed, paths, pairs)
    assert drawn == [expected, other, expected]
    mixed = rng.permutation(30)
    covariance = errors.covariance[np.ix_(mixed, mixed)]
    again = choose(
        scores[mixed],
        sizes[mixed],
        Neighbours.of(sizes[mixed], Drawn(covariance, errors.smoothed), paths[mixed]),
        tolerance=tolerance,
        allowed=allowed[mixed],
    )
    assert_allclose(sizes[mixed[list(again)]], sizes[list(expected)])


@pytest.mark.parametrize("seed", range(10))
def test_preferred_candidates_win_over_others_that_are_as_sparse(seed):
    rng = np.random.default_rng(seed)
    scores, sizes = rng.random(12), rng.integers(1, 4, size=12).astype(float)
    preferred, paths = rng.random(12) < 0.4, np.arange(12) % 4
    errors = drawn_errors(rng, 12)
    neighbours = Neighbours.of(sizes, errors, paths)
    found, best = choose(scores, sizes, neighbours, tolerance=0.2, preferred=preferred)
    means, pairs = neighbours.averaged(scores), all_pairs(errors, 12)
    assert best == oracle.choose(scores, sizes, 0.2, [True] * 12, paths, pairs)[1]
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
    neighbours = Neighbours.of(sizes, errors, paths)
    found = choose(scores, sizes, neighbours, tolerance=tolerance, twins=twins, errors=errors)
    pairs = all_pairs(errors, 12)
    assert found == oracle.choose(scores, sizes, tolerance, [True] * 12, paths, pairs, clear)


def test_one_size_is_chosen_whatever_its_score():
    for score in (0.3, 1.0, np.nan, -np.inf):
        neighbours = Neighbours.of(np.array([7.0]), Unknown())
        assert choose(np.array([score]), np.array([7.0]), neighbours) == (0, 0)


def test_ties_go_to_the_sparsest_and_then_to_the_first():
    scores, sizes = np.full(5, 0.8), np.array([3.0, 2.0, 5.0, 2.0, 3.0])
    for paths in (None, np.arange(5), np.array([0, 0, 1, 1, 2])):
        neighbours = Neighbours.of(sizes, Unknown(), paths)
        assert choose(scores, sizes, neighbours, tolerance=0.0) == (1, 1)


def test_of_levels_of_one_size_the_best_is_chosen():
    """Their averages are the same, such as those of several penalties with as many features."""
    scores, sizes = np.array([0.7, 0.8, 0.8, 0.6, 0.7]), np.array([2.0, 2.0, 2.0, 9.0, 9.0])
    neighbours = Neighbours.of(sizes, Unknown())
    assert choose(scores, sizes, neighbours) == (1, 1)
    allowed = np.array([True, False, False, True, True])
    assert choose(scores, sizes, neighbours, allowed=allowed) == (0, 1)
    assert choose(scores, sizes, neighbours, allowed=sizes > 2) == (4, 4)
    drawn = np.array([scores, scores[[0, 2, 1, 4, 3]], [0.8, 0.7, 0.6, 0.5, 0.4]])
    found = choose_drawn(drawn, sizes, neighbours, [None] * 3)
    assert found == [(1, 1), (1, 1), (0, 0)]


def test_sizes_without_a_score_are_never_chosen_and_have_no_say():
    scores, sizes = np.array([np.nan, 0.8, np.nan, 0.9, -np.inf]), np.arange(1.0, 6.0)
    neighbours = Neighbours.of(sizes, Unknown())
    assert choose(scores, sizes, neighbours, tolerance=0.2) == (1, 3)
    alone = Neighbours.of(sizes[[1, 3]], Unknown())
    assert_allclose(neighbours.averaged(scores)[[1, 3]], alone.averaged(scores[[1, 3]]))


def test_a_lucky_size_among_worse_neighbours_is_not_the_standard():
    sizes, scores = np.arange(1.0, 31.0), np.full(30, 0.8)
    scores[19] = 0.85
    errors = Drawn(0.02**2 * np.eye(30), 0.0)
    assert choose(scores, sizes, Neighbours.of(sizes, errors, np.arange(30))) == (19, 19)
    assert choose(scores, sizes, Neighbours.of(sizes, errors))[0] == 0


@pytest.mark.parametrize("n_rows", [120, 500, 4_000])
def test_sizes_that_are_clearly_worse_have_no_say(n_rows):
    """Three features decide together: two are far behind, and more are of no use."""
    rng = np.random.default_rng(n_rows)
    codes, sizes = np.arange(n_rows) % 2, np.arange(1.0, 13.0)
    shares = np.array([0.6, 0.7] + [0.97] * 10)
    right = (rng.random(n_rows) < shares[:, None]).astype(np.float32)  # nested, as models are
    errors = Counted.of(right, codes, balanced=True)
    found = choose(errors.scores(), sizes, Neighbours.of(sizes, errors))
    assert sizes[found[0]] == 3


def test_paths_are_not_averaged_with_each_other():
    scores, sizes = np.array([0.5, 0.6, 0.9, 0.9]), np.array([2.0, 3.0, 2.0, 3.0])
    neighbours = Neighbours.of(sizes, Unknown(), np.array([0, 0, 1, 1]))
    assert_allclose(neighbours.averaged(scores)[2:], 0.9)
    assert neighbours.averaged(scores).argmax() >= 2
    assert choose(scores, sizes, neighbours) == (2, 2)


@pytest.mark.parametrize("n_rows", [24, 40, 100, 20_000])
def test_no_candidate_is_chosen_that_is_further_behind_than_the_tolerance(n_rows):
    """However few the rows: the tolerance is not in standard errors."""
    rng = np.random.default_rng(n_rows)
    codes, sizes = np.arange(n_rows) % 2, np.arange(1.0, 31.0)
    right = (rng.random((30, n_rows)) < np.linspace(0.5, 0.9, 30)[:, None]).astype(np.float32)
    errors = Counted.of(right, codes, balanced=True)
    neighbours = Neighbours.of(sizes, errors)
    means = neighbours.averaged(errors.scores())
    for tolerance in (0.0, 0.01, 0.05):
        chosen, best = choose(errors.scores(), sizes, neighbours, tolerance=tolerance)
        assert means[best] - means[chosen] <= tolerance + 1e-9
        assert (means[:chosen] < means[best] - tolerance).all()


@pytest.mark.parametrize("n_sizes", [128, 900])
def test_long_paths_have_a_few_hundred_neighbours(n_sizes):
    rng = np.random.default_rng(0)
    scores, sizes = rng.random(n_sizes), rng.permutation(n_sizes) + 1.0
    similar = np.exp(-0.5 * (np.subtract.outer(np.log1p(sizes), np.log1p(sizes)) / 0.35) ** 2)
    counts = np.isin(sizes, path_grid(n_sizes))
    similar *= counts | np.eye(n_sizes, dtype=bool)
    found = Neighbours.of(sizes, Unknown()).averaged(np.stack([scores, scores + 1]))
    expected = similar @ scores / similar.sum(axis=1)
    assert_allclose(found, [expected, expected + 1])
    assert counts.sum() < 200


def test_errors_over_folds_are_those_of_the_difference():
    scores = np.random.default_rng(0).normal(size=(5, 4))
    errors = PerFold(scores)
    expected = (scores[:, 1] - scores[:, 3]).std(ddof=1) / np.sqrt(5)
    assert_allclose(errors.pairs(np.array([3, 1]), np.array([1])), [[expected], [0.0]])
    # Scores that differ in every fold by as much are not the same; one fold tells nothing.
    shifted = PerFold(np.array([[0.5, 0.6], [0.7, 0.8]]))
    sizes, means = np.array([1.0, 2.0]), np.array([0.6, 0.7])
    assert_allclose(Neighbours.of(sizes, shifted).averaged(means), means, atol=1e-9)
    one = Neighbours.of(sizes, PerFold(scores[:1, :2])).averaged(means)
    assert (one > 0.6).all() and (one < 0.7).all()


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
