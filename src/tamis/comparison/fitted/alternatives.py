"""Other panels that are nearly as good as that of a model.

For features that are ranked one by one (by the centers, and in panels that do so), all panels
within one standard error of the training gain; for forward panels, those that differ in one
feature and are within one standard error of the loss of the steps.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from tamis._base import decided
from tamis.centers import SparseCenterClassifier
from tamis.comparison.methods.method import Method, Trained
from tamis.guarantees import NearOptimalPanels, swap_panels
from tamis.guarantees.gain_errors import gain_standard_error
from tamis.panel.selection import is_rare

__all__ = ["find_alternatives"]

_COUNTED_PANELS, _LISTED_PANELS = 1000, 10
# Rough seconds of a value in a swap, candidates, and how long all swaps may take.
_SWAP, _SCREENED, _SWAP_TIME = 1.5e-7, 100, 1.2


def find_alternatives(method: Method, trained: Trained, place: int, k: int) -> dict[str, Any]:
    """Find the panels that are nearly as good, and what they share.

    `trained`: the path on all rows; `place`: place of the level; `k`: number of features. Returns
    `told`: plain values, or the "reason" why there are none.
    """
    if method.ranks == "one by one":
        return _near_optimal(trained, method.metric, k)
    if method.ranks == "forward" and trained.model(place).selection_ == "centers":
        return _near_optimal(trained, "l2", k)
    if method.ranks == "forward":
        return _swapped(trained, place)
    return {"reason": "alternatives are known only for sparse centers and panels"}


def _near_optimal(trained, metric, k):
    part, problem = trained.part, trained.part.problem
    if part.weights is not None:
        return {"reason": "the rows have weights"}
    model = SparseCenterClassifier(None, metric=metric).fit(part.X, part.codes)
    gains = np.bincount(part.feature_of, weights=model.gains_, minlength=len(problem.names))
    gains[problem.kept] = 0.0
    best = NearOptimalPanels(gains, k, 0.0).best.features
    columns = part.columns_of(best)
    columns = columns[model.gains_[columns] > 0]
    eps = gain_standard_error(model, part.X, part.codes, columns, part.groups)
    panels = NearOptimalPanels(gains, k, eps)
    first = [panel.features for panel in islice(panels, 1, _COUNTED_PANELS + 2)]
    return {
        **_tell(problem.names, first, panels.n_features, np.arange(gains.size), panels.status()),
        "within": eps,
        "is_exhaustive": True,
        "is": "within one standard error of the best on the training rows; new rows may tell them "
        "apart",
    }


def _swapped(trained, place):
    part, problem = trained.part, trained.part.problem
    if part.present.size < part.columns.size:
        return {"reason": "a feature has several columns"}
    if is_rare(part.X):
        return {"reason": "rare words are selected along a path, so there are no steps to swap"}
    features = trained.features(place)
    features = features[~problem.kept[features]]
    n_problems = 1 if part.known.size == 2 else part.known.size
    n_swaps = features.size * min(part.columns.size, _SCREENED)
    n_values = n_swaps * part.codes.size * (features.size + 2) * n_problems
    if _SWAP * n_values > _SWAP_TIME:
        return {"reason": "all swaps of features would take too long"}
    weights = decided(part.weights)  # of some rows of a table
    panels = swap_panels(
        trained.model(place), part.X, part.codes, sample_weight=weights, groups=part.groups
    )
    first = [part.feature_of[swap.features] for swap in panels.near]
    return {
        **_tell(problem.names, first, features.size, part.feature_of, panels.status()),
        "is_exhaustive": False,
        "is": "one feature swapped, within one paired standard error of the loss of the forward "
        "steps; panels that differ in several features were not tried",
    }


def _tell(names, panels, size, features, status):
    """The first panels and what they share; `status` is that of `features`."""
    in_all = features[status == "all"]
    return {
        "panels": min(len(panels), _COUNTED_PANELS),
        "are_more": len(panels) > _COUNTED_PANELS,
        "of": int(size),
        "in_all": [names[f] for f in in_all],
        "in_some": int(np.count_nonzero(status == "some")),
        "first": [[names[f] for f in panel] for panel in panels[:_LISTED_PANELS]],
    }
