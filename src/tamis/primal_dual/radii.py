"""The path over radii: solutions from the sparsest to the fullest, each starting from the last.

A solution of a smaller radius is admissible for a larger one, and so is its dual point, so a step
of the path needs no product to start and few iterations to finish.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from tamis.primal_dual.problem import BallProblem, Pair
from tamis.primal_dual.solver import Solution, solve

# Radii are explored with this factor and accuracy.
_GROWTH, _LOOSE = 1.6, 1e-3
# A model that explains less than this, in units of the empty one, is too small to be useful.
_SLIGHT = 0.01
# The gap of a small model is limited to this share of what it explains, because its features
# matter; to the second one if the path is meant for models with very few features.
_CRISP, CRISP = 1e-2, 1e-4
# A model that explains no more than this, in units of the empty model, counts as empty.
_NOTHING = 1e-9
# Largest factor from the first radius to explore.
_SMALLEST_RADIUS, _LARGEST_RADIUS = 1e-6, 1e6
# A fit this good, in units of the empty model, needs no improvement.
_SATURATED = 0.01
_REFINEMENTS = 12
# From one level to the next, the number of features should grow by one or by this share; radii
# closer to each other than the factor are not told apart.
_JUMP, _CLOSEST = 0.1, 1.0005
# A path ends at a quarter as many features as samples, but at least this many.
_MANY = 100


@dataclass(frozen=True)
class Level:
    """One level of the path."""

    radius: float
    problem: BallProblem
    solution: Solution
    # Of the residuals, of a level that no other will start from; see `lighter`.
    dispersion: float | None = None

    @cached_property
    def size(self):
        """What the ball makes small: the number of features or entries, or the rank."""
        return self.problem.ball.level(self.solution.pair.primal.W)

    @property
    def explained(self):
        """Share by which the objective is below that of the empty model."""
        return 1.0 - self.solution.pair.primal.value / self.solution.unit

    @property
    def is_empty(self):
        """Whether nothing is explained, except for rounding."""
        return self.size == 0 or self.explained <= _NOTHING

    def lighter(self):
        """The level without the arrays of the size of the data."""
        if self.dispersion is not None:
            return self
        pair = self.solution.pair
        light = Pair(replace(pair.primal, XW=None), replace(pair.dual, U=None))
        dispersion = self.problem.dispersion(pair.primal)
        return replace(self, solution=replace(self.solution, pair=light), dispersion=dispersion)

    @property
    def is_free(self):
        """Whether a larger radius would change nothing important."""
        primal, ball = self.solution.pair.primal, self.problem.ball
        inside = primal.W.any() and ball.norm(primal.W) < 0.99 * ball.radius
        return inside or primal.value <= _SATURATED * self.solution.unit


def follow(problem, radii, *, tol, max_iter, level=None, crisp=_CRISP):
    """Yield the level of each radius, each started from the one before.

    `crisp`: the gap is also at most this share of what the level explains; smaller values make its
    features more certain.
    """
    for radius in radii:
        here = problem.with_radius(radius)
        start = None if level is None else here.carry_over(level.solution.pair)
        aim = tol
        if level is not None and level.explained > 0:
            # About the accuracy needed below, so that one solve is enough.
            aim = min(tol, crisp * level.explained)
        *_, solution = solve(here, start, tol=max(aim, 1e-3 * tol), max_iter=max_iter)
        level = Level(radius, here, solution)
        small = crisp * level.explained
        if 0 < small < solution.relative_gap and solution.n_iter < max_iter:
            rest = max_iter - solution.n_iter
            done = solution.n_iter
            *_, solution = solve(here, solution.pair, tol=small, max_iter=rest)
            level = Level(radius, here, replace(solution, n_iter=done + solution.n_iter))
        yield level


def choose_radii(
    problem, n_radii, *, fewest, largest, max_iter, slight=_SLIGHT, most=None, crisp=_CRISP
):
    """Choose radii along which the number of features (entries, rank) grows from few to many.

    `most`: end at the last radius with at most this size, although `largest` was explored: sizes
    may go up and down. Returns `radii` (n_radii,): ascending, evenly spaced in the logarithm of
    the size as far as it is known; fewer if several coincide.
    """
    limits = {"tol": _LOOSE, "max_iter": max_iter, "crisp": crisp}
    explored, radius = [], _first_radius(problem)
    slight = max(slight, _NOTHING)
    level = next(follow(problem, [radius], **limits))
    start = level
    while (
        level.size > fewest
        and level.explained > slight
        and (radius > _SMALLEST_RADIUS * start.radius)
    ):
        radius /= _GROWTH
        level = next(follow(problem, [radius], **limits, level=level))
        explored.append((radius, level.size, level.is_empty))
    level = start
    explored.append((level.radius, level.size, level.is_empty))
    while (
        (level.size < largest or level.explained <= slight)
        and not level.is_free
        and level.radius < _LARGEST_RADIUS * start.radius
    ):
        radius = level.radius * _GROWTH
        level = next(follow(problem, [radius], **limits, level=level))
        explored.append((radius, level.size, level.is_empty))
    explored.sort()
    if most is not None:
        few = [i for i, (_, size, _) in enumerate(explored) if size <= most]
        explored = explored[: few[-1] + 2] if few else explored[:1]
    radii, sizes, empty = zip(*explored, strict=True)
    size = np.maximum.accumulate(sizes)
    # Start where the first features are.
    first = 0 if all(empty) else empty.index(False)
    radius, size = np.log(radii[first:]), np.log(np.maximum(size[first:], 1))
    # Equal sizes are distinguished by their radii.
    position = size + 0.1 * (radius - radius[0])
    wanted = np.linspace(position[0], position[-1], n_radii)
    return np.unique(np.exp(np.interp(wanted, position, radius)))


def many_features(problem, wanted=None):
    """Number of features at which a path ends.

    With a wanted number it is twice that, because sizes go up and down, but at most the number of
    samples: beyond, the models interpolate and their features are arbitrary.
    """
    n_rows, n_features = problem.matrix.shape
    if wanted is None:
        return min(n_features, max(_MANY, n_rows // 4))
    return min(n_features, 2 * wanted, max(_MANY, n_rows))


def _first_radius(problem):
    """A tenth of the radius at which the first feature could explain everything."""
    empty = problem.empty()
    slope = problem.ball.dual_norm(problem.empty_dual().G)
    return 0.1 * empty.value / slope if slope > 0 else 0.1


def path_of(problem, radii, n_radii, wanted, limits, light):
    """Levels of the given or chosen radii, with at most `wanted` features if that is given.

    The sparsest level is always included, with a warning.

    `radii`: None: chosen.
    """
    largest = wanted or many_features(problem)
    if radii is None:
        radii = choose_radii(
            problem,
            n_radii,
            fewest=1,
            largest=many_features(problem, wanted),
            max_iter=limits["max_iter"],
            slight=0.0,  # a model of one feature may explain little
            most=wanted,
            crisp=limits["crisp"],
        )
    levels: list = []
    for level in follow(problem, radii, **limits):
        if levels and n_radii is not None and levels[-1].is_empty:
            levels.pop()
        levels.append(level)
        if light and not level.is_empty:
            _lighten(levels, largest)
    if n_radii is not None:
        if len(levels) > 1 and levels[-1].is_empty:
            levels.pop()
        if problem.ball.selects_rows:
            fill_jumps(levels, 3 * n_radii // 4, largest, light=light, **limits)
    if wanted is None:
        return levels
    if n_radii is not None:
        add_wanted(levels, wanted, **limits)
    few = [level for level in levels if level.size <= wanted]
    if not few:
        few = [min(levels, key=lambda level: level.size)]
        warnings.warn(
            f"The sparsest model has {few[0].size} features, more than max_features={wanted}; the "
            "path consists of that model only. Give smaller radii.",
            UserWarning,
            stacklevel=5,
        )
    return few


def refine_radius(below, above, wanted, **limits):
    """Find the level with the largest radius that has at most `wanted` features, by bisection.

    `below`, `above`: levels with at most and with more than `wanted` features.
    """
    for _ in range(_REFINEMENTS):
        if below.size == wanted:
            break
        middle = np.sqrt(below.radius * above.radius)
        level = next(follow(below.problem, [middle], **limits, level=below))
        if level.size <= wanted:
            below = level
        else:
            above = level
    return below


def add_wanted(levels, wanted, **limits):
    """Insert a level as close to the wanted number of features as possible.

    `levels`: from the smallest radius to the largest; changed.
    """
    few = [i for i, level in enumerate(levels) if level.size <= wanted]
    if not few or few[-1] == len(levels) - 1 or levels[few[-1]].size == wanted:
        return
    i = few[-1]
    level = refine_radius(levels[i], levels[i + 1], wanted, **limits)
    if level is not levels[i]:
        levels.insert(i + 1, level)


def fill_jumps(levels, n_extra, most=None, *, light=False, **limits):
    """Insert levels where the number of features jumps, the largest jump (in relation) first.

    `levels`: from the smallest radius to the largest; changed.
    """
    added = set()
    for _ in range(n_extra):
        places = [i for i in range(len(levels) - 1) if _jumps(levels[i], levels[i + 1], most)]
        if not places:
            break
        place = max(places, key=lambda i: levels[i + 1].size / levels[i].size)
        below, above = levels[place : place + 2]
        radius = np.sqrt(below.radius * above.radius)
        level = next(follow(below.problem, [radius], **limits, level=below))
        levels.insert(place + 1, level)
        added.add(radius)
        if light:
            _lighten(levels, most)
    # Of equal numbers of features the largest radius counts; the others were only steps.
    levels[:] = [
        level
        for level, after in zip(levels, [*levels[1:], None], strict=True)
        if level.radius not in added or after is None or level.size != after.size
    ]


def _lighten(levels, most):
    """Make those levels lighter that neither `fill_jumps` nor `add_wanted` will start from.

    The last one is not touched: the path may continue from it.

    `levels`: from the smallest radius to the largest; changed.
    """
    for i, (below, above) in enumerate(pairwise(levels)):
        if not (_jumps(below, above, most) or below.size < most < above.size):
            levels[i] = below.lighter()


def _jumps(below, above, most):
    """Whether there should be a level between two neighbours."""
    few = most is None or below.size < most
    far = above.size - below.size > max(1, _JUMP * below.size)
    return few and far and below.size > 0 and above.radius > _CLOSEST * below.radius
