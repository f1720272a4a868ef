"""Checks of the result: folds that disagree, and scores that chance explains."""

import numpy as np

from tamis.comparison.checks.check import Check
from tamis.comparison.checks.events import check_events
from tamis.comparison.choosing.decisions import decides_by
from tamis.comparison.choosing.results import score_rows
from tamis.comparison.choosing.spread import ScoredRows
from tamis.paths.seeds import make_generator

__all__ = ["chance_level", "check_result"]

_N_SHUFFLES = 2000
_SURPRISE = 0.005


def check_result(comparison):
    """Whether folds disagree, and whether the model is better than chance, or a constant.

    `comparison`: with a choice.
    """
    return [
        *_disagreement(comparison),
        *_chance(comparison),
        *_costs(comparison),
        *check_events(comparison),
    ]


def chance_level(codes, scoring, weights=None):
    """Score of the best constant prediction.

    `codes` (n_rows,); `weights` (n_rows,) or None.
    """
    n_classes = int(codes.max()) + 1
    if scoring == "roc_auc":
        return 0.5
    probabilities = np.zeros((codes.size, n_classes))
    constants = [np.full(codes.size, c) for c in range(n_classes)]
    return max(score_rows(codes, c, probabilities, scoring, weights) for c in constants)


def _chance(comparison):
    """Whether the data show that a model works, and whether its decisions are worth more than one.

    A threshold, or a rare class that accuracy lets a model ignore, moves the decisions of a good
    model to those of a constant. So where one of them is at work, the ranking of the rows by their
    probabilities is tested, which no threshold changes.
    """
    problem, settings, honest = comparison.problem, comparison.settings, comparison.honest
    if honest is None:
        return
    level = chance_level(problem.codes, settings.scoring, problem.weights)
    is_constant = honest.low <= level
    moved = decides_by(settings) != "probability" or settings.scoring == "accuracy"
    if not moved or settings.scoring == "roc_auc" or honest.predictions is None:
        if is_constant:
            yield _tell_chance("honest score", honest.low, honest.high, level)
        return
    made = honest.predictions
    rows = ScoredRows.of(problem, "roc_auc", settings.seed)
    low, high = rows.interval(made.labels, made.probabilities)
    if low <= 0.5:
        yield _tell_chance("area under the ROC curve (honest)", low, high, 0.5)
    elif is_constant and settings.misclassification is None:
        area = rows.score(made.labels, made.probabilities)
        yield Check(
            "constant",
            "warning",
            f"The probabilities rank the rows better than chance (area under the ROC curve "
            f"{area:.3f}, {low:.3f} to {high:.3f}), but the decisions are not shown to be better "
            f"than always giving the same answer: the interval of the honest score, "
            f"{honest.low:.3f} to {honest.high:.3f}, includes {level:.3f}.",
            "Use the probabilities, or move the threshold: ask for a lower sensitivity, or use a "
            "score that gives each class equal weight.",
            about="model",
        )


def _costs(comparison):
    """Whether decisions by cost are cheaper than the best constant one."""
    if comparison.settings.misclassification is None:
        return
    found = comparison.clinical.get("misclassification")
    if found is None or found["constant"]["saved_interval_95"][0] > 0:
        return
    constant = found["constant"]
    low, high = constant["saved_interval_95"]
    yield Check(
        "no-cheaper",
        "warning",
        f"The errors of the model, {found['mean_cost']:.3f} per row, are not shown to cost less "
        f"than always deciding {constant['class']}, {constant['mean_cost']:.3f}: it saves "
        f"{constant['saved']:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}.",
        "At these costs the model is not shown to be useful: check the costs and the class "
        "frequencies, or collect more rows.",
        about="model",
    )


def _tell_chance(name, low, high, level):
    return Check(
        "chance",
        "warning",
        f"The interval of the {name}, {low:.3f} to {high:.3f}, includes {level:.3f}, the score of "
        "always predicting the same class.",
        "These data do not show that any model works; do not report the features as findings.",
    )


def _disagreement(comparison):
    """Whether the folds' scores differ more than if correct and wrong rows were dealt at random.

    A sample group is in one fold: it counts as one row, correct if most of its rows are.
    """
    problem, choice = comparison.problem, comparison.recommended
    result = next(r for r in comparison.results if r.method.name == choice.method)
    folds = [fold for fold in comparison.folds if fold.repeat == 0]
    right = result.labels[choice.place, 0] == problem.codes
    codes = problem.codes
    fold_of = np.empty(problem.n_rows, dtype=np.intp)
    for fold in folds:
        fold_of[fold.test] = fold.number
    if problem.groups is not None:
        right = np.bincount(problem.groups, weights=right) > 0.5 * np.bincount(problem.groups)
        first = np.unique(problem.groups, return_index=True)[1]
        fold_of, codes = fold_of[first], codes[first]
    shape = (len(folds), problem.classes.size)
    cell = fold_of * shape[1] + codes
    sizes = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    hits = np.bincount(cell, weights=right, minlength=shape[0] * shape[1]).reshape(shape)
    generator = make_generator(comparison.settings.seed, "folds that disagree")
    dealt = [
        generator.multivariate_hypergeometric(
            sizes[:, c], int(hits[:, c].sum()), _N_SHUFFLES, method="marginals"
        )
        for c in range(shape[1])
    ]
    scores = _fold_scores(hits, sizes)
    spread = _fold_scores(np.stack(dealt, axis=2), sizes).var(axis=1)
    p_value = (1 + np.count_nonzero(spread >= scores.var() - 1e-12)) / (1 + _N_SHUFFLES)
    if p_value < _SURPRISE:
        yield Check(
            "folds-disagree",
            "warning",
            f"The folds disagree more than chance explains: between {100 * scores.min():.0f} % "
            f"and {100 * scores.max():.0f} % are correct (mean over classes).",
            "Rows may belong together (--groups COL), or come from different sites or batches "
            "(--batch COL).",
        )


def _fold_scores(hits, sizes):
    """Mean over classes of the share of correct rows, for each fold."""
    shares = np.divide(hits, sizes, out=np.zeros(hits.shape), where=sizes > 0)
    return shares.sum(axis=-1) / (sizes > 0).sum(axis=-1)
