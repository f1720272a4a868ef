"""A points card as one HTML file to be printed."""

from __future__ import annotations

import math
from html import escape
from string import Template
from typing import Any

import numpy as np

import tamis
from tamis.report.card.card import Card
from tamis.report.card.run import CardScores
from tamis.report.questionnaire.page import asset, security_policy
from tamis.tables.classifying.decision_limit import limit_at
from tamis.tables.classifying.prevalence import percent, why_not_likeliest

__all__ = ["make_card_page"]

# Most steps of the line from points to risks.
_MOST_STEPS = 24
_LOWEST, _HIGHEST = "< 0.5 %", "> 99.5 %"


def make_card_page(
    card: Card,
    scores: CardScores | None = None,
    *,
    digest: str = "",
    about: str | None = None,
) -> str:
    """The card as a page, with its style inside.

    `scores`: its cross-validated scores, to be shown beside the model's; `digest`: digest of the
    model; `about`: intended use.
    """
    style, positive = asset("card.css"), escape(str(card.positive))
    pairs = list(zip(card.levels, card.points, strict=True))
    idle = [levels.field.name for levels, points in pairs if not points.any()]
    told = f'<p class="faint">Without points: {escape(", ".join(idle))}.</p>' if idle else ""
    return Template(asset("card.html")).substitute(
        title=f"Points card: {escape(card.target)}, risk of {positive}",
        policy=security_policy("", style),
        style=style,
        about=f'<p class="about">{escape(about)}</p>' if about else "",
        features="\n".join(_feature(levels, p) for levels, p in pairs if p.any()),
        idle=told,
        largest=card.largest,
        line=_line(card),
        told=escape(card.told),
        decides=escape(_decides(card)),
        n_rows=f"{card.n_rows:,}",
        scores="" if scores is None else _scores(scores),
        digest=escape(digest or "without a digest"),
        version=escape(tamis.__version__),
    )


def _feature(levels, points):
    field = levels.field
    rows = [
        f'<tr><th scope="row">{escape(text)}</th><td>{value}</td></tr>'
        for text, value in levels.merged(points)
    ]
    unknown = int(points[levels.unknown])
    rows.append(f'<tr class="unknown"><th scope="row">not known</th><td>{unknown}</td></tr>')
    caption = f"<caption>{escape(field.question or field.name)}</caption>"
    return f'<table class="feature">{caption}<tbody>{"".join(rows)}</tbody></table>'


def _line(card):
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
    items = []
    for low, high, first, last in steps:
        points = str(low) if low == high else f"{low} to {high}"
        risk = first if first == last else _range(first, last)
        items.append(f"<li><b>{points}</b> <span>{escape(risk)}</span></li>")
    return "\n".join(items)


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
    """From how many points on the model's decision is for the class, and why there."""
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
    points = "more than any sum of points"
    if reached.size:
        points = f"from {reached[0]} points on" if reached[0] else "whatever the points"
    other = 1 - at if model.classes_.size == 2 else at
    return (
        f"The model decides for {card.positive} at a risk of {percent(limit)} or more, which is "
        f"{points}: {why_not_likeliest(model, at, other)}."
    )


def _scores(scores):
    def area(value, interval):
        return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"

    lines = [
        ("This card", area(scores.card_area, scores.card_interval), scores.card_accuracy),
        ("Its model", area(scores.model_area, scores.model_interval), scores.model_accuracy),
    ]
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{told}</td><td>{accuracy:.3f}</td></tr>'
        for name, told, accuracy in lines
    )
    return (
        '<h2>How well it works</h2><table class="scores"><thead><tr><th></th>'
        '<th scope="col">AUROC (95 % interval)</th>'
        '<th scope="col">Balanced accuracy</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        '<p class="faint">AUROC is the area under the ROC curve; balanced accuracy is that of the '
        "decisions described above. Cross-validated on the same "
        f"{scores.n_folds} folds: features, ranges, "
        "points and rounding were found again in each. The method and the number of features "
        "were chosen on all rows, so both scores are slightly optimistic.</p>"
    )
