"""A points card as one HTML file to be printed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tamis
from tamis.paths.folds import tell_folds
from tamis.report.card.card import Card
from tamis.report.card.run import CardScores
from tamis.report.questionnaire.page import asset, fill, security_policy, with_its_number
from tamis.tables.classifying.decision_limit import limit_at
from tamis.tables.classifying.prevalence import percent, why_not_likeliest

# Most steps of the line from points to risks.
_MOST_STEPS = 24
_LOWEST, _HIGHEST = "< 0.5 %", "> 99.5 %"


def make_card_page(
    card: Card, scores: CardScores | None = None, *, digest: str = "", about: str | None = None
) -> str:
    """The card as a page, with its style inside."""
    style, pairs = asset("card.css"), list(zip(card.levels, card.points, strict=True))
    page = fill(
        "card.html",
        card=card,
        pairs=pairs,
        policy=security_policy("", style),
        style=style,
        about=about,
        idle=[levels.field.name for levels, points in pairs if not points.any()],
        steps=_steps(card),
        decides=_decides(card),
        scores=scores,
        folds=scores and tell_folds(scores.n_folds, scores.n_repeats),
        digest=digest or "without a digest",
        version=tamis.__version__,
    )
    return with_its_number(page)


def _steps(card):
    """The risk of each sum of points; several sums are one step where they must or may be."""
    step = math.ceil((card.largest + 1) / _MOST_STEPS)
    steps: list[list[Any]] = []
    for low in range(0, card.largest + 1, step):
        high = min(low + step - 1, card.largest)
        first, last = _percent(card.risk(low)), _percent(card.risk(high))
        if steps and first == last == steps[-1][2] == steps[-1][3]:
            steps[-1][1] = high
        else:
            steps.append([low, high, first, last])
    for low, high, first, last in steps:
        points = str(low) if low == high else f"{low} to {high}"
        yield points, first if first == last else _range(first, last)


def _range(first, last):
    """Risks of one step, which may begin or end beyond what the card shows."""
    if first == _LOWEST:
        return "any" if last == _HIGHEST else f"up to {last}"
    return f"{first} or more" if last == _HIGHEST else f"{first.removesuffix(' %')} to {last}"


def _percent(share):
    share = float(share)
    if share < 0.005:
        return _LOWEST
    if share > 0.995:
        return _HIGHEST
    return f"{100 * share:.0f} %"


def _decides(card):
    """From how many points on a case counts as one of the class, and why there."""
    model = card.model
    at = int(np.flatnonzero(model.classes_ == card.positive)[0])
    limit = limit_at(model, at, card.prevalence)
    if limit is None:
        return (
            f"The model decides between {model.classes_.size} classes; a card does not. The "
            f"balanced accuracy given here is for deciding for {card.positive} when its risk is "
            "at least its proportion in training."
        )
    risks = card.risk(np.arange(card.largest + 1))
    reached = np.flatnonzero(risks >= limit)
    told = f"Not counted as {card.positive} at any sum of points"
    if reached.size:
        points = f"{reached[0]} points or more" if reached[0] else "Any sum of points"
        told = f"{points}: counted as {card.positive}"
    if np.ptp(model.priors) < 1e-9 and math.isclose(limit, card.prevalence):
        return f"{told} (risk above the average of {percent(limit)})."
    why = why_not_likeliest(model, at, 1 - at if model.classes_.size == 2 else at)
    return f"{told} (risk of {percent(limit)} or more: {why})."
