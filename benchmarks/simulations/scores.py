"""Scores: what `tamis fit` prints with method and number of features chosen, and its curve.

The true score of a model is its balanced accuracy on 10,000 new rows. `compare` is what `tamis
fit` runs, and its lines of text are read for the numbers, with sparse centers and medians to
choose from, and with the default methods.
"""

import re
from dataclasses import replace

import numpy as np
from scipy.stats import beta

from simulations.engine import Measure, Simulation, each
from simulations.features import as_seed, draw_patients
from tamis import compare
from tamis.cli.show import show_results
from tamis.comparison.choosing.choice import Candidates, Choice
from tamis.comparison.choosing.results import MethodResult, judge
from tamis.comparison.fitted.final import fit_final
from tamis.comparison.methods.baselines import find_method

METHODS = ("centers", "medians", "most-frequent")
N_NEW = 10_000
NORMAL_90 = 1.645
PRINTED = re.compile(r"95 % interval (\S+) to (\S+)\s.*?at most (\S+) worse", re.DOTALL)


def draw_classes(sizes, shift):
    """Draws for `repeat_compare`: 6 columns, 3 of them informative."""

    def draw(rng, times=1):
        y = np.repeat(np.arange(len(sizes)), np.asarray(sizes) * times)
        X = rng.normal(size=(y.size, 6))
        X[:, :3] += shift * y[:, None]
        return X, y, None

    return draw


def draw_grouped(rng, times=1):
    X, y, patients = draw_patients(rng, 24 * times, 6, 5)
    X[:, :3] += 0.7 * y[:, None]
    return X, y, patients


def balanced_accuracy(labels, y):
    return np.mean([(labels[y == c] == c).mean() for c in np.unique(y)])


def repeat_compare(draw, methods=METHODS, with_band=True):
    """Whether the true score is outside of the interval, further behind, below the band.

    The band needs a model of every candidate, so that it is left out for many methods.
    """

    def repeat(rng):
        X, y, groups = draw(rng)
        new, labels, _ = draw(rng, times=-(-N_NEW // y.size))
        seed = as_seed(rng)
        found = compare(X, y, methods=methods, groups=groups, n_jobs=1, random_state=seed)

        def true_score(at):
            result, place = found.candidates.find(at)
            if result.method.name == "most-frequent":
                return 1 / np.unique(y).size
            level = result.levels[place]
            point = Choice(result.method.name, place, level, float(result.overall[place]))
            model, _ = fit_final(found, point)
            return balanced_accuracy(model.predict(as_columns(found, new)), labels)

        chosen, best = found.candidates.choose()
        text = "\n".join(show_results(found.metrics, []))
        low, high, behind = map(float, PRINTED.search(text).groups())
        score = true_score(chosen)
        wrong = (
            not low <= score <= high,
            score < low,
            (true_score(best) - score if best != chosen else 0) > behind,
        )
        if not with_band:
            return wrong
        ours = np.flatnonzero(found.candidates.ours)
        return *wrong, any(true_score(at) < found.lower_band[at] for at in ours)

    return repeat


def as_columns(comparison, X):
    return type(comparison.data.columns)(X, comparison.data.columns.numeric_names)


# The band alone.


def make_candidates(right, codes, seed):
    """Candidates of a comparison that are right on these rows, (n_candidates, n_rows)."""
    labels = np.where(right, codes, 1 - codes)[:, None]
    probabilities = np.stack([labels == 0, labels == 1], axis=-1).astype(np.float32)
    sizes = np.arange(1.0, 1 + len(right))
    result = MethodResult(
        find_method("centers"), tuple(sizes), probabilities, sizes, sizes, sizes, sizes, sizes, 0
    )
    judge(result, codes, "balanced_accuracy", None, None)
    return Candidates([result], codes, 2, scoring="balanced_accuracy", seed=seed)


def repeat_band(n, n_candidates, accuracy, shared):
    """Candidates with the same true accuracy; a share of their rows is right or wrong together."""

    def repeat(rng):
        codes = np.arange(n) % 2
        own = rng.random((n_candidates, n)) < accuracy
        together = rng.random(n) < accuracy
        right = np.where(rng.random((n_candidates, n)) < shared, together, own)
        candidates = make_candidates(right, codes, as_seed(rng))
        alone = candidates.scores - NORMAL_90 * candidates.errors.alone()
        best = np.argmax(candidates.scores)
        return (candidates.lower_band() > accuracy).any(), alone[best] > accuracy

    return repeat


# Numbers of features by the inner loss.


def repeat_inner(rng, n=60, p=500, n_screened=50, most=8):
    """Pure noise: screening, forward steps and k by out-of-fold accuracy; does its interval hold?

    The decision of a set is the sum of the decisions of its features: which center is nearer.
    """
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    gaps = np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    X = X[:, np.argsort(-gaps)[:n_screened]]
    decisions, fold_of = np.empty(X.shape), np.arange(n) // 2 % 5
    for fold in range(5):
        train, test = fold_of != fold, fold_of == fold
        centers = np.array([X[train & (y == c)].mean(axis=0) for c in (0, 1)])
        decisions[test] = (X[test] - centers[0]) ** 2 - (X[test] - centers[1]) ** 2
    decisions *= np.where(y == 1, 1, -1)[:, None]  # positive: right
    so_far, n_right = np.zeros(n), 0
    for _ in range(most):
        counts = (so_far[:, None] + decisions > 0).sum(axis=0)
        step = int(np.argmax(counts))
        so_far, n_right = so_far + decisions[:, step], max(n_right, counts[step])
    return [beta.ppf(0.025, n_right, n - n_right + 1) > 0.5]


PRINTED_MEASURES = (
    Measure("`tamis fit`, honest score: 95 % interval", 0.05, slack=0.02),
    Measure("`tamis fit`, honest score: lower end of the interval", 0.025, slack=0.02),
    Measure("`tamis fit`, at most x behind the best", 0.05, slack=0.02),
    Measure("`Comparison.lower_band`, all points together", 0.05, slack=0.02),
)
DEFAULT_MEASURES = tuple(
    replace(
        measure, procedure=measure.procedure.replace("fit`", "fit`, default methods"), slack=0.04
    )
    for measure in PRINTED_MEASURES[:3]
)
BAND = (
    Measure("`Comparison.lower_band`, all points together", 0.05),
    Measure("lower limit of the best point alone, chosen after looking", 0.05, is_control=True),
)

DESIGNS = {
    "signal": (
        "two classes of 30, 6 features, 3 of them informative",
        draw_classes((30, 30), 0.5),
    ),
    "small classes": (
        "classes of 5, 10, 20; 6 features, 3 of them informative",
        draw_classes((5, 10, 20), 0.8),
    ),
    "groups": ("24 patients with 1 to 5 rows; 6 features, 3 of them informative", draw_grouped),
}

SIMULATIONS = (
    Simulation(
        "lower band, 200 equal",
        "200 equal candidates with accuracy 0.8 on 60 rows",
        BAND,
        each(repeat_band(60, 200, 0.8, 0.0)),
        block=50,
    ),
    Simulation(
        "lower band, alike",
        "20 candidates with accuracy 0.7 on 40 rows, alike on half of them",
        BAND,
        each(repeat_band(40, 20, 0.7, 0.5)),
    ),
    Simulation(
        "lower band, nearly perfect",
        "5 candidates with accuracy 0.98 on 40 rows, alike on most of them",
        BAND[:1],
        lambda rng, n: np.array(each(repeat_band(40, 5, 0.98, 0.9))(rng, n))[:, :1],
    ),
    Simulation(
        "inner loss",
        "60 rows, 500 noise features; 50 screened, 8 forward steps",
        (
            Measure(
                "95 % interval of the inner accuracy that chose features and k",
                0.025,
                is_control=True,
            ),
        ),
        each(repeat_inner),
        500,
    ),
    *(
        Simulation(
            f"printed, {name}", design, PRINTED_MEASURES, each(repeat_compare(draw)), 2600, 10
        )
        for name, (design, draw) in DESIGNS.items()
    ),
    *(
        Simulation(
            f"default methods, {name}",
            design,
            DEFAULT_MEASURES,
            each(repeat_compare(draw, "auto", with_band=False)),
            400,
            2,
        )
        for name, (design, draw) in DESIGNS.items()
    ),
)
