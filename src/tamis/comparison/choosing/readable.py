"""Models that can be read: explained, asked, turned into a points card, exported to SQL.

Which they are is known of each method (`Method.is_readable`). Here is the best of them, by the
rule of the recommendation, for users whose recommended model cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.methods.naming import name_method
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison

__all__ = ["CARD_FEATURES", "describe_readable", "find_readable", "tell_standard"]

#: Most features of a points card.
CARD_FEATURES = 12


def find_readable(
    comparison: Comparison, method: str | None = None, n_features: float | None = None
) -> Choice:
    """The model that the rule recommends among those that can be read.

    `method`: only of this method; `n_features`: only with at most so many features. Returns
    `choice`: InputError is raised if there is none.
    """
    candidates = comparison.candidates
    allowed = np.zeros(0, dtype=bool)
    if candidates is not None:
        allowed = candidates.ours & candidates.readable
        if method is not None:
            allowed &= np.repeat(
                [r.method.name == method for r in candidates.results],
                [len(r.levels) for r in candidates.results],
            )
        if n_features is not None:
            allowed &= np.concatenate([r.overall for r in candidates.results]) <= n_features
    if not allowed.any():
        able = [r.method.name for r in comparison.results if _can_be_taken(r.method)]
        told = "no model" if method is None else f"no model of {method}"
        told += "" if n_features is None else f" with at most {n_features:.3g} features"
        raise InputError(
            f"--readable: {told} in this run can be read; finished methods whose models can: "
            f"{', '.join(able) or 'none'}."
        )
    assert candidates is not None
    return candidates.choice(allowed)


def tell_standard(comparison: Comparison, choice: Choice) -> str:
    """What a choice of `find_readable` was compared with, for people who see the table."""
    candidates = comparison.candidates
    assert candidates is not None
    best = candidates.choose()[1]
    result, place = candidates.find(best)
    alone = np.zeros(candidates.scores.size, dtype=bool)
    alone[candidates.place(choice.method, choice.place)] = True
    described = {"title": result.method.title, "is_baseline": result.method.is_baseline}
    name = name_method(result.method.name, described)
    of_all = f"the best of all ({name}, {result.overall[place]:.3g} features"
    of_all += f", {result.scores[place]:.3f})"
    if candidates.choose(alone)[1] == best:  # good enough: no other had to set the standard
        told = f"the smallest readable model that is good enough compared with {of_all}"
    else:
        told = f"no readable model is good enough compared with {of_all}; this is the smallest "
        told += "that is good enough compared with the best of them"
    return f"{told}; the table compares the sizes of each method with each other"


def _can_be_taken(method):
    return method.is_readable and not method.is_baseline


def describe_readable(comparison: Comparison) -> dict[str, Any]:
    """The best model that can be read, and the best that fits on a card; None where none is.

    `comparison`: with candidates. Returns `told`: "best" and "card", each with the method, its
    title and head, the number of features and the score with its standard error.
    """
    n_kept = int(np.count_nonzero(comparison.problem.kept))
    limits = {"best": None, "card": CARD_FEATURES - n_kept}
    return {name: _describe(comparison, limit) for name, limit in limits.items()}


def _describe(comparison, limit):
    try:
        choice = find_readable(comparison, n_features=limit)
    except InputError:
        return None
    result = comparison.result(choice.method)
    return {
        "method": choice.method,
        "title": result.method.title,
        "head": result.method.head_name,
        "level": choice.level,
        "features_overall": choice.n_features,
        "score": float(result.scores[choice.place]),
        "standard_error": float(result.errors[choice.place]),
        "is_recommended": choice == comparison.recommended,
    }
