"""Pick a point of the curve: a method, and at most so many features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.choosing.readable import find_readable
from tamis.comparison.choosing.results import whole
from tamis.comparison.methods.baselines import find_method
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison

__all__ = ["complete", "find_choice", "pick_choice"]


def complete(
    method: str | None, n_features: float | None, own: tuple[str, float]
) -> tuple[str, float]:
    """A method and a number of features; what is not named is that of the comparison's own model.

    `own`: method and number of features (per sample, if it asks) of the comparison's own model.
    """
    if n_features is None and method not in (None, own[0]):
        is_asked = find_method(method).asks
        raise InputError(
            f"--method {method}: name the number of features{' per sample' * is_asked}, too "
            f"(--n-features); {own[1]:.3g} is that of {own[0]}."
        )
    return own[0] if method is None else method, own[1] if n_features is None else n_features


def pick_choice(
    comparison: Comparison,
    method: str | None,
    n_features: float | None,
    without: Sequence[str] = (),
    readable: bool = False,
    own: tuple[str, float] | None = None,
) -> tuple[Comparison, Choice]:
    """Find the method and level that a user picks.

    `method`, `n_features`, `without`, `readable`: as in `Comparison.pick`. `own`: as in
    `complete`; None: of the recommended model. Returns `comparison`: another one if features are
    left out; `choice`: of that comparison.
    """
    if readable:
        choice = find_readable(comparison, method, n_features)
        if not without:
            return comparison, choice
        method, n_features = choice.method, choice.n_features
    if method is None or n_features is None:
        if own is None:
            result = comparison.result(comparison.final_choice.method)
            assert result is not None
            sizes = result.per_sample if result.method.asks else result.overall
            own = result.method.name, float(sizes[comparison.final_choice.place])
        method, n_features = complete(method, n_features, own)
    found = comparison.excluding(method, without) if without else comparison
    return found, found.find(method, n_features)


def find_choice(comparison: Comparison, method: str, n_features: float) -> Choice:
    """The fullest level of a method with at most `n_features` features."""
    result = comparison.result(method)
    if result is None or result.method.is_baseline:
        finished = [r.method.name for r in comparison.results if not r.method.is_baseline]
        raise InputError(
            f"{method} was not finished; finished methods: {', '.join(finished) or 'none'}."
        )
    sizes = result.per_sample if result.method.asks else result.overall
    # Numbers per sample are means, which are printed with one digit after the point.
    most = n_features + (0.05 if result.method.asks else 0.0)
    few = [place for place, size in enumerate(sizes) if size <= most]
    if not few:
        what = "features per sample" if result.method.asks else "features"
        raise InputError(
            f"{method} has no model with {n_features:.3g} {what}; its smallest has "
            f"{sizes.min():.3g}."
        )
    place = max(few, key=lambda place: (sizes[place], -place))
    return Choice(method, place, float(result.levels[place]), whole(result.overall[place]))
