"""What is guaranteed about the features of a model.

Each number belongs to the procedure that chose the features. Features that were ranked one by one
(sparse centers) get a bound on the number of true ones, the rule of stability selection, and the
panels that are as good. Features that were chosen for what they add to others get frequencies
only, from half-samples in which prefilter and steps are done again. Adjusted p-values describe
single features, whoever chose them.

All columns take part in the bound, also those that `redundancy` drops (dropping looks at the
labels) and those that a user excludes after seeing results. The test is the same for all methods
of a comparison, so that the choice between means and medians costs nothing. Missing values are
imputed without labels, so a feature whose values are missing more often in one class counts as
differing. Kept features are not tested. A feature of several columns is one feature, with the mean
share of its columns. The number of permutations and of halves depends on the size of the data
alone, so that numbers do not depend on the machine; a clock only decides that permutations take
too long for there to be any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.centers import SparseCenterClassifier
from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.results import whole
from tamis.comparison.fitted.alternatives import find_alternatives
from tamis.comparison.fitted.proof import prove_panel
from tamis.comparison.methods.method import Method, Trained
from tamis.comparison.problem.problem import Problem
from tamis.guarantees import StableSelector, TrueFeatures, true_features
from tamis.guarantees.half_shares import choose_largest, half_rows, half_shares
from tamis.guarantees.substitutes import frequencies_with_substitutes
from tamis.panel.selection import is_rare
from tamis.stability import complementary_pairs

__all__ = ["PanelGuarantees", "guarantee_features"]

_N_PERMUTATIONS, _FEWEST_PERMUTATIONS = 1000, 199
_N_PAIRS, _FEWEST_PAIRS = 50, 5
# Rough seconds on one core: a value in one permutation, by metric, and one shuffled block.
_SHUFFLED, _BLOCK = {"l2": 7e-10, "l1": 4.6e-9}, 6e-6
# A value in all halves together, by metric; one in a fit, and one in a forward step.
_HALVED, _FITTED, _STEP = {"l2": 6.5e-8, "l1": 2.7e-7}, {"l2": 2.5e-8, "l1": 2e-7}, 7e-8
# Seconds for the permutations of ranked features, of others, for halves, for halves that need a
# path of models each, and for the rule.
_BOUND_TIME, _TEST_TIME, _HALF_TIME, _PATH_TIME, _RULE_TIME = 2.0, 0.5, 2.0, 1.2, 0.5
# Seconds that permutations may take, by the clock, and how many permuted labels there may be.
_MOST_TIME, _MOST_LABELS = 10.0, 100_000_000
_SCREENED = 100
_MOST_ROWS = 20_000
_WEIGHTS = "the rows have weights"
_FOLDS = "the proportion of folds is given"


@dataclass
class PanelGuarantees:
    """Numbers about the features of one model."""

    # (n_features,): family-wise p-value of every counted feature; NaN where there is none.
    adjusted_p: NDArray
    # frequency, with_substitutes: (n_features,): proportion of half-samples that select a feature,
    # and it or a substitute; NaN where not known.
    frequency: NDArray
    with_substitutes: NDArray
    # Statements about the model as plain values, for `metrics.json`.
    told: dict[str, Any] = field(default_factory=dict)


def guarantee_features(
    problem: Problem,
    method: Method,
    trained: Trained,
    place: int,
    levels: tuple[float, ...],
    seed: int,
    correlation: float,
    metric: str,
    cache: dict,
    failed: dict[str, str],
    prove: Callable[..., dict[str, Any]] = prove_panel,
) -> PanelGuarantees:
    """Compute what is guaranteed about the features of one level of a method.

    `trained`: the path on all rows; `place`: place of the level; `levels`: all levels;
    `correlation`: correlation from which a feature is a substitute of another; `metric`: of the
    test of all features, whichever method is described; `cache`: keeps what does not depend on the
    level; `failed`: receives the parts that fail, with the reason; `prove`: `prove_panel` with its
    options.
    """
    nothing = np.full(len(problem.names), np.nan)
    found = PanelGuarantees(nothing, nothing.copy(), nothing.copy())
    features = trained.features(place)
    features = features[~problem.kept[features]]
    if not features.size:
        return found
    data = _Data.of(problem, trained)
    one_by_one = method.ranks == "one by one"

    def bound():
        if one_by_one not in cache:
            everything = _Data.of(problem, trained, with_excluded=True)
            cache[one_by_one] = _test_features(problem, everything, metric, one_by_one, seed)
        bound = cache[one_by_one]
        if isinstance(bound, _Bound):
            found.adjusted_p[bound.tested] = bound.found.max_t_p_values
        return _tell_bound(bound, method, trained, levels, features)

    def tell(part, make):
        told = attempt(failed, part, make)
        found.told[part] = {"reason": failed[part]} if told is None else told

    k = int(levels[place]) if method.ranks else 0
    tell("true_features", bound)
    frequencies = attempt(
        failed,
        "frequencies",
        lambda: _find_frequencies(problem, data, method, trained, place, k, seed, correlation),
    )
    if frequencies is None:
        frequencies = failed["frequencies"]
    if isinstance(frequencies, str):
        found.told["frequencies"] = {"reason": frequencies}
    else:
        found.frequency, found.with_substitutes, n_pairs = frequencies
        found.told["frequencies"] = {
            "pairs": n_pairs,
            "substitutes_from_correlation": correlation,
            "is": "proportion of half-samples in which the selection, repeated in the same way, "
            "includes the feature",
        }
    if one_by_one:
        tell("rule", lambda: _apply_rule(problem, data, method.metric, features, seed))
    tell("alternatives", lambda: find_alternatives(method, trained, place, k))
    tell("fit", lambda: prove(method, trained, place))
    return found


@dataclass(frozen=True)
class _Data:
    """The columns that can be chosen, all rows.

    `X` is (n, columns); `feature_of` their features, from 0, or None if each is one; `tested` the
    counted features in that order.
    """

    X: Matrix
    codes: NDArray
    feature_of: NDArray | None
    tested: NDArray

    @classmethod
    def of(cls, problem, trained, with_excluded=False):
        part = trained.part
        X = part.X
        if part.columns.size < problem.feature_of.size:
            X = part.preparation.finish(problem.encoded)
        free = ~problem.kept[problem.feature_of]
        if not with_excluded:
            free &= ~problem.excluded[problem.feature_of]
        X = X if free.all() else X[:, np.flatnonzero(free)]
        tested, place = np.unique(problem.feature_of[free], return_inverse=True)
        single = tested.size == place.size
        return cls(X, part.codes, None if single else place, tested)

    @property
    def n_values(self):
        return self.X.shape[0] * self.X.shape[1]

    def first_columns(self, features):
        """Index of the first column of each of some counted features."""
        of_column = np.arange(self.tested.size) if self.feature_of is None else self.feature_of
        first = np.unique(of_column, return_index=True)[1]
        return first[np.searchsorted(self.tested, features)]

    def sums(self, rows):
        """Values of columns, summed over the columns of each feature: (n, features)."""
        if self.feature_of is None:
            return rows
        size = self.tested.size
        return np.array([np.bincount(self.feature_of, weights=r, minlength=size) for r in rows])


@dataclass(frozen=True)
class _Bound:
    found: TrueFeatures
    tested: NDArray
    n_permutations: int


def _test_features(problem, data, metric, one_by_one, seed):
    """The permutation test of all features, or why there is none."""
    if problem.weights is not None:
        return _WEIGHTS
    groups = np.arange(problem.n_rows) if problem.groups is None else problem.groups
    n_units = np.unique(groups).size
    batches = np.zeros(problem.n_rows, int) if problem.batches is None else problem.batches
    n_blocks = np.unique(batches).size
    if problem.groups is not None:
        if np.unique(np.stack([groups, batches]), axis=1).shape[1] > n_units:
            return "a sample group has rows of several sites or batches"
        n_blocks += np.unique(np.stack([groups, problem.codes]), axis=1).shape[1] - n_units
    each = n_units * data.X.shape[1] * _SHUFFLED[metric] * max(problem.classes.size - 1, 1)
    each += n_blocks * _BLOCK
    budget = _BOUND_TIME if one_by_one else _TEST_TIME
    too_long = (
        f"{_FEWEST_PERMUTATIONS} permutations would take too long ({_MOST_TIME:g} s or more)"
    )
    if n_blocks * _BLOCK * _FEWEST_PERMUTATIONS > _MOST_TIME:
        return too_long
    if n_units * _FEWEST_PERMUTATIONS > _MOST_LABELS:
        return f"labels of {_FEWEST_PERMUTATIONS} permutations would take too much memory"
    n_permutations = int(np.clip(budget / each, _FEWEST_PERMUTATIONS, _N_PERMUTATIONS))
    try:
        found = true_features(
            data.X,
            data.codes,
            metric=metric,
            groups=problem.groups,
            batches=problem.batches,
            feature_groups=data.feature_of,
            n_permutations=n_permutations,
            random_state=seed,
            max_seconds=_MOST_TIME,
        )
    except TimeoutError:
        return too_long
    return _Bound(found, data.tested, n_permutations)


def _tell_bound(bound, method, trained, levels, features):
    if method.ranks != "one by one":
        return {
            "reason": "the features were selected as a panel, and the bound is about each feature "
            "alone; so is adjusted_p"
        }
    if isinstance(bound, str):
        return {"reason": bound}
    kept = trained.part.problem.kept
    order, sizes = np.zeros(0, dtype=np.intp), []
    for place in range(len(levels)):  # every level has the features of the one before
        more = np.setdiff1d(trained.features(place), order, assume_unique=True)
        order = np.append(order, more[~kept[more]])
        sizes.append(order.size)
    along = np.append(0, bound.found.at_least_along(np.searchsorted(bound.tested, order)))
    path = [
        {"level": whole(level), "features": size, "at_least": int(along[size])}
        for level, size in zip(levels, sizes, strict=True)
    ]
    chosen = np.searchsorted(bound.tested, features)
    return {
        "at_least": bound.found.at_least(chosen),
        "of": int(features.size),
        "confidence": 1 - bound.found.alpha,
        "permutations": bound.n_permutations,
        "path": path,
        "statement": bound.found.statement(chosen),
    }


def _find_frequencies(problem, data, method, trained, place, k, seed, correlation):
    """Frequencies, those with substitutes and the number of pairs; or why there are none."""
    if method.ranks is None:
        return f"selecting again on many half-samples would take too long; {_FOLDS}"
    if method.ranks != "one by one" and is_rare(problem.encoded):
        return f"words are selected along a path, which takes too long; {_FOLDS}"
    metric = method.metric
    plain = problem.weights is None and not problem.missing.size and problem.redundancy is None
    together = method.ranks == "one by one" and plain
    n_pairs = _N_PAIRS
    half = data.n_values / 2
    if together:
        each = 0.5 * _HALVED[metric] * data.n_values / _N_PAIRS
    elif method.ranks == "one by one":
        each = 2 * (0.003 + _FITTED[metric] * half)
    elif method.ranks == "path":
        each = 2 * method.choice_seconds(trained.part, k)
    else:
        n_problems = 1 if problem.classes.size == 2 else problem.classes.size
        steps = problem.n_rows / 2 * min(data.X.shape[1], _SCREENED) * k * n_problems
        each = 2 * (0.003 + 2 * _FITTED["l2"] * half + _STEP * steps)
    most = _PATH_TIME if method.ranks == "path" else _HALF_TIME
    n_pairs = min(n_pairs, int(most / each))
    if n_pairs < _FEWEST_PAIRS:
        return f"half-samples of data of this size take too long; {_FOLDS}"
    random_state = np.random.RandomState(seed)
    pairs = complementary_pairs(problem.codes, problem.groups, n_pairs, random_state)
    for c in range(problem.classes.size):
        if not (pairs[:, problem.codes == c] == 0).any(axis=1).all():
            return "a class has too few rows or sample groups for two half-samples"
    if together:
        X = data.X.tocsc() if is_sparse(data.X) else data.X
        shares = data.sums(half_shares(X, data.codes, pairs, problem.classes.size, metric))
        choices = [choose_largest(row, k, random_state) for row in shares]
        choices = [data.tested[some[some >= 0]] for some in choices]
    else:
        parts = (problem.train_part(rows, problem.codes, seed) for rows in half_rows(pairs))
        model = trained.model(place)
        choices = [method.choose(part, k, model) for part in parts]
    chosen = np.zeros((len(choices), len(problem.names)), dtype=bool)
    for row, some in zip(chosen, choices, strict=True):
        row[some] = True
    frequency = np.where(problem.kept, np.nan, chosen.mean(axis=0))
    return frequency, _with_substitutes(data, chosen, frequency, correlation), n_pairs


def _with_substitutes(data, chosen, frequency, correlation):
    """Proportion of half-samples that select a feature or a substitute; both of a single column.

    Clusters are made without labels, of all rows or every n-th of many.
    """
    sizes = np.ones(data.tested.size) if data.feature_of is None else np.bincount(data.feature_of)
    single = data.tested[sizes == 1]
    single = single[chosen[:, single].any(axis=0)]
    result = frequency.copy()
    if single.size:
        X = data.X[:: -(-data.X.shape[0] // _MOST_ROWS)]
        columns = data.first_columns(single)
        result[single] = frequencies_with_substitutes(
            X, columns, columns, chosen[:, single], correlation
        )
    return result


def _apply_rule(problem, data, metric, features, seed):
    """Which features pass the rule of stability selection, or why nothing can be said."""
    reason = None
    if problem.weights is not None:
        reason = _WEIGHTS
    elif problem.missing.size:
        reason = "values are missing, and how often may depend on the class"
    elif problem.redundancy is not None:
        reason = "features that repeat others were dropped first"
    elif _HALVED[metric] * data.n_values > _RULE_TIME:
        reason = "half-samples of data of this size would take too long"
    if reason is not None:
        return {"reason": reason}
    estimator = SparseCenterClassifier(metric=metric, feature_groups=data.feature_of)
    selector = StableSelector(estimator, n_pairs=_N_PAIRS, random_state=seed)
    try:
        selector.fit(data.X, data.codes, problem.groups)
    except ValueError as error:  # a class is too small for halves
        return {"reason": str(error)}
    if selector.refusal_ is not None:
        return {"reason": selector.refusal_}
    columns = data.first_columns(features)
    return {
        "passed": int(selector.support_[columns].sum()),
        "of": int(features.size),
        "expected_false": selector.expected_false,
        "statement": selector.statement(columns),
    }
