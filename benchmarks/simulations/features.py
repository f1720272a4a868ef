"""Features: how many of any set are true, and what halves of the data agree on.

A false feature has the same distribution in all classes. The bound of `true_features` is for any
set, and the worst set can be named: taking t true features out of a set lowers the bound by at
most t, and adding false ones never lowers it. So a bound is too high for some set if and only if
it is above 0 for the set of all false features.
"""

from dataclasses import replace

import numpy as np

from simulations.engine import Measure, Simulation, each
from tamis import SparseCenterClassifier
from tamis.guarantees import StableSelector, center_frequencies, true_features
from tamis.guarantees.closed_testing import simes_critical
from tamis.guarantees.error_bounds import r_concave_bound

ALPHA = 0.05


def as_seed(rng):
    return int(rng.integers(2**31 - 1))


def mixed_noise(rng, n, each_kind):
    """Columns of unequal variance, sparse ones, heavy tails, and four categories; their features.

    Columns of a kind are next to each other; a category is one feature of four columns.
    """
    wide = rng.normal(size=(n, each_kind)) * 10.0 ** rng.uniform(-2, 2, each_kind)
    sparse = rng.exponential(size=(n, each_kind)) * (rng.random((n, each_kind)) < 0.15)
    heavy = rng.standard_t(1.5, size=(n, each_kind))
    kinds = rng.choice(4, p=[0.55, 0.3, 0.1, 0.05], size=(n, each_kind))
    dummies = (kinds[:, :, None] == np.arange(4)).reshape(n, -1)
    single = 3 * each_kind
    feature_of = np.concatenate([np.arange(single), single + np.repeat(np.arange(each_kind), 4)])
    return np.hstack([wide, sparse, heavy, dummies]), feature_of


def with_signals(rng, X, feature_of, y, n_signals, shift):
    """Add true features after the false ones; the number of false features."""
    n_false = feature_of.max() + 1
    signals = rng.normal(size=(y.size, n_signals)) + shift * y[:, None]
    feature_of = np.concatenate([feature_of, n_false + np.arange(n_signals)])
    return np.hstack([X, signals]), feature_of, n_false


def claims_too_much(found, n_false):
    """Whether some set has a bound that is too high; whether a false feature passes max-T."""
    return (
        found.at_least(np.arange(n_false)) > 0,
        (found.max_t_p_values[:n_false] <= found.alpha).any(),
    )


def repeat_mixed(metric):
    def repeat(rng):
        y = np.repeat([0, 1, 2], [5, 10, 20])
        X, feature_of = mixed_noise(rng, y.size, 12)
        X, feature_of, n_false = with_signals(rng, X, feature_of, y, 4, 2.0)
        found = true_features(
            X,
            y,
            metric=metric,
            feature_groups=feature_of,
            alpha=ALPHA,
            n_permutations=199,
            random_state=as_seed(rng),
        )
        return claims_too_much(found, n_false)

    return repeat


def repeat_proxies(rng):
    """False features that go with the noise of a true one; all three bounds."""
    y = np.arange(24) % 2
    noise = rng.normal(size=(24, 4))
    signals = noise + 2.0 * y[:, None]
    proxies = signals + 0.5 * rng.normal(size=(24, 4))
    shadows = np.tile(noise, 2) + 0.3 * rng.normal(size=(24, 8))
    alike = rng.normal(size=(24, 1)) + 0.3 * rng.normal(size=(24, 6))
    X = np.hstack([shadows, alike, signals, proxies])
    found = true_features(X, y, alpha=ALPHA, n_permutations=299, random_state=as_seed(rng))
    simes = replace(
        found,
        method="simes",
        critical=simes_critical(found.p_values, ALPHA),
        _values=found.p_values,
    )
    return *claims_too_much(found, 14), claims_too_much(simes, 14)[0]


def draw_patients(rng, n_patients, n_columns, most):
    """Rows of patients who have 1 to `most` of them; a tenth of the variance is within."""
    patients = np.repeat(np.arange(n_patients), rng.integers(1, most + 1, n_patients))
    own = rng.normal(size=(n_patients, n_columns))[patients]
    X = np.sqrt(0.9) * own + np.sqrt(0.1) * rng.normal(size=own.shape)
    return X, (np.arange(n_patients) % 2)[patients], patients


def repeat_groups(rng):
    X, y, patients = draw_patients(rng, 20, 20, 9)
    X, _, n_false = with_signals(rng, X, np.arange(20), y, 2, 2.0)
    options = {"alpha": ALPHA, "n_permutations": 199, "random_state": as_seed(rng)}
    told = claims_too_much(true_features(X, y, groups=patients, **options), n_false)
    return *told, claims_too_much(true_features(X, y, **options), n_false)[0]


def repeat_batches(rng):
    batches = np.repeat([0, 1, 2], [8, 12, 20])
    y = (rng.random(40) < np.array([0.25, 0.75, 0.5])[batches]).astype(int)
    y[[0, 1]] = 0, 1
    X = rng.normal(size=(40, 20)) + 3.0 * rng.normal(size=(3, 20))[batches]
    X, _, n_false = with_signals(rng, X, np.arange(20), y, 2, 2.0)
    found = true_features(
        X, y, batches=batches, alpha=ALPHA, n_permutations=199, random_state=as_seed(rng)
    )
    return claims_too_much(found, n_false)


# Stability selection.


def false_passed(selector, feature_of, n_false):
    return np.unique(feature_of[selector.support_ & (feature_of < n_false)]).size


def repeat_stable(metric):
    def repeat(rng):
        y = np.repeat([0, 1], [15, 25])
        X, feature_of = mixed_noise(rng, y.size, 40)
        X, feature_of, n_false = with_signals(rng, X, feature_of, y, 3, 1.5)
        estimator = SparseCenterClassifier(metric=metric, feature_groups=feature_of)
        selector = StableSelector(estimator, random_state=as_seed(rng)).fit(X, y)
        return [false_passed(selector, feature_of, n_false)]

    return repeat


def repeat_stable_scales(rng):
    """A tenth of the columns is ten times wider: judged by their shares, and by raw gains."""
    y, features = np.arange(40) % 2, np.arange(200)
    X = rng.normal(size=(40, 200)) * np.where(features < 20, 10, 1)
    seed, counts = as_seed(rng), []
    for scaling in ("spread", None):
        estimator = SparseCenterClassifier(scaling=scaling)
        selector = StableSelector(estimator, n_pairs=25, random_state=seed).fit(X, y)
        counts.append(false_passed(selector, features, 200))
    return counts


def repeat_stable_groups(rng):
    X, y, patients = draw_patients(rng, 20, 200, 9)
    seed, counts = as_seed(rng), []
    for groups in (patients, None):
        selector = StableSelector(n_pairs=25, random_state=seed).fit(X, y, groups)
        counts.append(false_passed(selector, np.arange(200), 200))
    return counts


def repeat_after_looking(rng, p=200, n_pairs=50):
    """200 equal noise features: tau and q fixed at 0.75 and 10, and chosen for what they claim.

    What is claimed is that many more features pass than are false on average.
    """
    y, q, tau = np.arange(60) % 2, np.arange(1, 21), np.arange(51, 101) / 100
    X, seed = rng.normal(size=(60, p)), as_seed(rng)
    frequencies = center_frequencies(X, y, q, n_pairs=n_pairs, random_state=seed).frequencies
    passed = (frequencies[:, :, None] >= tau - 1e-12).sum(axis=1)
    claims = passed - q[:, None] ** 2 / (p * (2 * tau - 1))
    fixed = passed[9, np.searchsorted(tau, 0.75)]
    return fixed, fixed, max(claims.max(), 0)


def repeat_cubic(rng, p=1000, n_pairs=50):
    """Integrated path stability selection with the cubic function, for one false feature.

    Features pass whose mean of (2 frequency - 1)^3 over the sizes q of a path, where the frequency
    is above 1/2, is at least the mean of the published bound. The path ends where that is 1.
    """
    y = np.arange(60) % 2
    q = np.arange(1, 201)
    b = n_pairs
    bound = (
        q**2 / (b**2 * p)
        + 3 * (b - 1) * q**4 / (b**2 * p**3)
        + (b - 1) * (b - 2) * q**6 / (b**2 * p**5)
    )
    frequencies = center_frequencies(
        rng.normal(size=(60, p)), y, q, n_pairs=b, random_state=as_seed(rng)
    ).frequencies
    integrals = np.maximum(2 * frequencies - 1, 0) ** 3
    return [(integrals.mean(axis=0) >= bound.mean()).sum()]


BOUND = Measure("`true_features`, any set, permutations", ALPHA)
MAX_T = Measure("`true_features`, max-T", ALPHA)
STABLE = Measure("`StableSelector`, false features that pass", 1.0, is_mean=True)
MIXED = "unequal variances, sparse columns, heavy tails, four categories"

SIMULATIONS = (
    Simulation(
        "true features, mixed",
        f"classes of 5, 10, 20; noise: {MIXED}; 4 signals",
        (BOUND, MAX_T),
        each(repeat_mixed("l2")),
    ),
    Simulation(
        "true features, mixed, medians",
        f"medians; classes of 5, 10, 20; noise: {MIXED}; 4 signals",
        (BOUND, MAX_T),
        each(repeat_mixed("l1")),
    ),
    Simulation(
        "true features, proxies",
        "4 signals and their proxies; noise that goes with the noise of signals, or together",
        (BOUND, MAX_T, Measure("`true_features`, any set, Simes", ALPHA)),
        each(repeat_proxies),
    ),
    Simulation(
        "true features, groups",
        "20 patients with 1 to 9 rows; 2 signals",
        (
            BOUND,
            MAX_T,
            replace(BOUND, procedure="`true_features`, groups withheld", is_control=True),
        ),
        each(repeat_groups),
    ),
    Simulation(
        "true features, batches",
        "3 batches of 8, 12, 20 rows with other levels and class shares; 2 signals",
        (BOUND, MAX_T),
        each(repeat_batches),
    ),
    Simulation(
        "stable, mixed",
        f"15 and 25 rows; 160 noise features: {MIXED}; 3 signals",
        (STABLE,),
        each(repeat_stable("l2")),
        2000,
        50,
    ),
    Simulation(
        "stable, mixed, medians",
        f"medians; 15 and 25 rows; 160 noise features: {MIXED}; 3 signals",
        (STABLE,),
        each(repeat_stable("l1")),
        2000,
        50,
    ),
    Simulation(
        "stable, scales",
        "200 noise features, 20 of them ten times wider",
        (
            STABLE,
            replace(STABLE, procedure="`StableSelector`, raw gains (refused)", is_control=True),
        ),
        each(repeat_stable_scales),
        1000,
        50,
    ),
    Simulation(
        "stable, groups",
        "20 patients with 1 to 9 rows; 200 noise features",
        (STABLE, replace(STABLE, procedure="`StableSelector`, groups withheld", is_control=True)),
        each(repeat_stable_groups),
        2000,
        50,
    ),
    Simulation(
        "stable, equal",
        "200 equal noise features, tau 0.75, q 10",
        (
            STABLE,
            replace(
                STABLE,
                procedure="`StableSelector`, r-concave bound",
                nominal=round(r_concave_bound(200, 10, 0.75, 50), 4),
            ),
            replace(
                STABLE,
                procedure="`StableSelector`, tau and q after looking, false features - bound",
                nominal=0.0,
                is_control=True,
            ),
        ),
        each(repeat_after_looking),
        30_000,  # (2 z sd / slack)^2, as the number of false features has sd 0.37
        250,
    ),
    Simulation(
        "cubic IPSS",
        "60 rows, 1,000 equal noise features",
        (
            Measure(
                "cubic IPSS, false features that pass (not offered)",
                1.0,
                is_control=True,
                is_mean=True,
            ),
        ),
        each(repeat_cubic),
        500,
        50,
    ),
)
