r"""Whether a feature of a model can be replaced by the one that is most correlated with it.

In each fold the substitute is the most correlated feature of the training rows, without labels.
The model is trained on these rows twice, with the feature and with its substitute, and predicts
the rows of the fold. How much score the replacement loses, and its standard error, come from the
paired predictions as in `tamis.paths.rule`. A substitute is *interchangeable* if it is the same in
all folds and the upper 95 % limit of the loss is within the tolerance.

The features were chosen with the labels of all rows, the substitutes without any. So the loss is
rather too large, which errs on the safe side. Shapes: r replaced features, n rows; right
(1 + r, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.choice import Behind
from tamis.comparison.methods.method import Method, RankingMethod, Trained
from tamis.comparison.problem.problem import Problem
from tamis.comparison.problem.redundancy import correlations
from tamis.paths.folds import Fold
from tamis.paths.rule import Counted

__all__ = ["Replacement", "replace_features"]

_MOST_FEATURES = 12
# Values of a table, and rows that correlations are computed from.
_MOST_VALUES, _MOST_ROWS = 20_000_000, 20_000


@dataclass(frozen=True)
class Replacement:
    """What the replacement of a feature by its substitute costs."""

    substitutes: tuple[int, ...]  # counted features that replaced it, in some fold or other
    limit: float  # upper 95 % limit of the score that is lost
    is_interchangeable: bool


def replace_features(
    problem: Problem,
    method: Method,
    trained: Trained,
    place: int,
    folds: Sequence[Fold],
    *,
    balanced: bool,
    tolerance: float,
    correlation: float,
) -> dict[int, Replacement]:
    """Replace each feature of a model by its substitute, and predict the folds.

    `trained`: the path on all rows; `place`: place of the level; `folds`: only those of the first
    repeat are used; `balanced`: whether the score is balanced accuracy, or accuracy; `tolerance`:
    loss that does not matter; `correlation`: smallest absolute correlation of a substitute.
    Returns `replacements`: by counted feature; without features that have no substitute in some
    fold. Empty for methods that cannot be trained on given features, for more than 12 features and
    for large data.
    """
    folds = [fold for fold in folds if fold.repeat == 0]
    features = trained.features(place)
    sizes = np.bincount(problem.feature_of, minlength=len(problem.names))
    asked = features[~problem.kept[features] & (sizes[features] == 1)]
    n_values = problem.n_rows * problem.feature_of.size
    too_many = np.count_nonzero(~problem.kept[features]) > _MOST_FEATURES
    is_large = too_many or n_values > _MOST_VALUES
    if not isinstance(method, RankingMethod) or is_large or not asked.size:
        return {}
    # Redundant features are substitutes too.
    problem = replace(problem, redundancy=None)
    right = np.zeros((1 + asked.size, problem.n_rows), dtype=np.int8)
    found = np.full((len(folds), asked.size), -1)
    for of_fold, fold in zip(found, folds, strict=True):
        part = problem.train_part(fold.train, problem.codes, fold.seed)
        X, codes = part.test_rows(fold.test)[0], problem.codes[fold.test]
        of_fold[:] = _most_correlated(part, features, asked, sizes, correlation)
        if (of_fold < 0).all():
            return {}
        columns = part.columns_of(features)
        for row, feature, substitute in zip(right, (-1, *asked), (-1, *of_fold), strict=True):
            if feature >= 0 and substitute < 0:
                continue
            others = columns[part.feature_of[columns] != feature]
            added = part.columns_of(np.array([substitute])) if feature >= 0 else columns[:0]
            decide = method.refit(trained, place, part, np.sort(np.append(others, added)))
            row[fold.test] = part.known[decide(X).argmax(axis=1)] == codes
    errors = Counted.of(
        right, problem.codes, balanced=balanced, groups=problem.groups, weight=problem.weights
    )
    lost, error = errors.scores()[0] - errors.scores(), errors.against(0)
    replacements = {}
    for i, feature in enumerate(asked):
        if (found[:, i] < 0).any():
            continue
        limit = Behind(float(lost[i + 1]), float(error[i + 1])).upper
        names = tuple(dict.fromkeys(found[:, i].tolist()))
        fits = len(names) == 1 and limit <= tolerance
        replacements[int(feature)] = Replacement(names, limit, fits)
    return replacements


def _most_correlated(part, features, asked, sizes, correlation) -> NDArray[np.int64]:
    """The other feature of one column most correlated with each; -1 if none is enough."""
    feature_of = part.feature_of
    X = part.X[:: -(-part.X.shape[0] // _MOST_ROWS)]
    place = np.zeros(len(part.problem.names), dtype=np.intp)
    place[feature_of] = np.arange(feature_of.size)
    r = np.abs(correlations(X, place[asked]))
    r[:, np.isin(feature_of, features) | (sizes[feature_of] > 1)] = 0.0
    r[:, part.problem.kept[feature_of]] = 0.0
    best = r.argmax(axis=1)
    enough = r[np.arange(asked.size), best] >= correlation
    return np.where(enough, feature_of[best], -1)
