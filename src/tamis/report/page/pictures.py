"""The pictures of the report: the Displays of `tamis.inspection` as SVG for light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tamis.report.page.clinical import predicted_rows
from tamis.report.page.external_pictures import draw_measured

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison


NONE: dict[str, Any] = {
    "missing": None,
    "failed": None,
    "curve": None,
    "points": [],
    "classes": {},
    "learning": None,
    "questions": None,
    "external": [],
}

# Classes that have pictures of their own.
_MOST_CLASSES = 10
_N_DRAWS, _THRESHOLDS = 500, np.arange(2, 100, 2) / 100
_MARGINS = {"left": 0.15, "right": 0.97, "bottom": 0.18, "top": 0.92}
# Whatever the user's settings: text as text, the same names in every run, black on nothing.
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "tamis", "font.size": 9.0}
_SETTINGS |= dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), "black"
)


def draw_pictures(
    comparison: Comparison,
    choice: Choice,
    prevalences: dict[int, float] | None = None,
    evaluations: Sequence[dict[str, Any]] = (),
    *,
    include_rows: bool = False,
) -> dict[str, Any]:
    """All pictures of the report.

    `prevalences`: of each class that may be drawn, where probabilities are shown for it; None: of
    the rows. Returns `pictures`: "missing" (how to get them, if matplotlib is missing), "failed"
    (why they could not be drawn), "curve" and its "points" (places of the levels of each method in
    the picture), "classes" (by class, its pictures), "learning" (the learning curve), "questions"
    (which row is asked for what), "external" (for each evaluation and class, rows of pictures).
    """
    try:
        import matplotlib
    except ImportError:
        return NONE | {"missing": "pip install 'tamis[plot]'"}
    with matplotlib.rc_context(_SETTINGS):
        curve, points = _draw_curve(comparison)
        return NONE | {
            "curve": curve,
            "points": points,
            "classes": _draw_classes(comparison, choice, prevalences),
            "learning": _draw_learning(comparison.fitted(choice)[2]["model"]),
            "questions": _draw_questions(comparison, choice) if include_rows else None,
            "external": [_draw_external(at, one) for at, one in enumerate(evaluations)],
        }


def _draw_curve(comparison):
    from tamis.inspection import SparsityPathDisplay

    figure, axes = _new_figure(4.8, 4.8)  # narrow enough for a phone: the legend is below
    SparsityPathDisplay.from_comparison(comparison, ax=axes)
    text = "Score against the number of features, one curve per method, with standard errors."
    picture = _as_svg(figure, "curve", text)
    sizes = comparison.settings.minimize
    points = []
    for result in comparison.results:
        if not result.method.is_baseline:
            data = np.column_stack([result.sparsity(sizes), result.scores])
            places = axes.transData.transform(data) / figure.dpi * 72
            places[:, 1] = figure.get_figheight() * 72 - places[:, 1]
            points.append(places.round(1).tolist())
    return picture, points


def _draw_classes(comparison, choice, prevalences):
    """Calibration, net benefit and probabilities of each class, by its index."""
    from tamis.inspection import CalibrationDisplay, DecisionCurveDisplay, ProbabilityDisplay

    problem, rows = comparison.problem, predicted_rows(comparison, choice)
    positive = comparison.settings.positive
    classes = range(min(problem.classes.size, _MOST_CLASSES)) if positive is None else [positive]
    labels, pictures = problem.classes[problem.codes], {}
    # Copies of a row count once together.
    weights = rows.weights if problem.times is None else rows.weights / problem.times
    for c in map(int, classes):
        label, risk = problem.classes[c], rows.risks[:, c]
        about = {"pos_label": label, "sample_weight": weights}
        about["prevalence"] = None if prevalences is None else prevalences[c]
        roc, calibrated, benefit, chances = (_new_figure(4.4, 3.6, _MARGINS) for _ in range(4))
        _draw_roc(labels == label, risk, rows.weights, roc[1])
        shown = CalibrationDisplay.from_predictions(
            labels, risk, groups=problem.groups, ax=calibrated[1], **about
        )
        DecisionCurveDisplay.from_predictions(
            labels,
            risk,
            groups=problem.groups,
            thresholds=_THRESHOLDS,
            n_draws=_N_DRAWS,
            ax=benefit[1],
            **about,
        )
        ProbabilityDisplay.from_predictions(labels, risk, ax=chances[1], **about)
        pictures[c] = {
            "slope": str(shown.slope),
            "intercept": str(shown.intercept),
            "drawn": [
                (title, _as_svg(figure, f"c{c}{title[0]}", f"{title}: {label}."))
                for title, (figure, _) in (
                    ("ROC curve", roc),
                    ("Calibration", calibrated),
                    ("Net benefit", benefit),
                    ("Predicted probabilities", chances),
                )
            ],
        }
    return pictures


def _draw_roc(is_positive, risk, weights, axes):
    """Sensitivity against the share of false alarms, at every threshold."""
    from sklearn.metrics import roc_curve

    from tamis.inspection._style import COLORS, GREY

    alarms, hits, _ = roc_curve(is_positive, risk, sample_weight=weights)
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1)
    axes.plot(alarms, hits, color=COLORS[0], linewidth=1.8)
    axes.set(
        xlabel="1 - specificity", ylabel="sensitivity", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02)
    )


def _draw_learning(model):
    """The score against the number of training rows, and the law it is extrapolated by."""
    from tamis.comparison.further.learning_curve import extrapolate
    from tamis.inspection._style import COLORS, GREY

    found = model.get("learning_curve")
    if not found:
        return None
    sizes = np.array([point["training_rows"] for point in found["points"]])
    scores = np.array([point["score"] for point in found["points"]])
    limits = np.array([point["interval_95"] for point in found["points"]]).T
    grid = np.geomspace(sizes[0], found["twice_the_rows"], 60)
    grid = np.sort(np.append(grid, found["rows"]))
    law = np.array([extrapolate(sizes, scores[None], size)[0] for size in grid])
    figure, axes = _new_figure(6.4, 3.6)
    for part, line in ((grid <= found["rows"], "-"), (grid >= found["rows"], "--")):
        axes.plot(grid[part], law[part], color=COLORS[0], linewidth=1.8, linestyle=line)
    bars = np.abs(limits - scores)
    axes.errorbar(sizes, scores, bars, fmt="o", color=COLORS[0], capsize=3, linewidth=1)
    axes.axvline(found["rows"], color=GREY, linestyle=":", linewidth=1)
    axes.set(xlabel="training rows", ylabel=found["scoring"].replace("_", " "))
    return _as_svg(figure, "learning", "Score against the number of training rows.")


def _draw_external(at, evaluation):
    """For each class of an evaluation: the internal pictures, then those of the other data."""
    found = []
    for place, one in enumerate(evaluation["measured"]):
        rows = []
        for kind in ("internal", "external"):
            if one[kind] is None:
                continue
            drawn = draw_measured(one[kind], lambda: _new_figure(4.4, 3.6, _MARGINS))
            name = f"e{at}{place}{kind[0]}"
            title = "Internal" if kind == "internal" else evaluation["data"]
            rows.append(
                [
                    (
                        f"{title}: {what}",
                        _as_svg(figure, f"{name}{what[0]}", f"{title}, {what}: {one['label']}."),
                    )
                    for what, figure in drawn
                ]
            )
        found.append(rows)
    return found


def _draw_questions(comparison, choice):
    """Each row with what it is asked; None for models that ask every row for the same."""
    from tamis.inspection import AcquisitionDisplay

    model = comparison.table_model(choice)
    if not model.asks:
        return None
    X = model.prepare(comparison.data.columns.select(model.preparation.required))
    figure, axes = _new_figure(6.4, 4.4)
    AcquisitionDisplay.from_estimator(model.estimator, X, ax=axes)
    return _as_svg(figure, "questions", "Which row is asked for which feature, in which order.")


def _new_figure(width, height, margins=None):
    """A figure that pyplot does not keep; fixed margins take half the time of a layout."""
    from matplotlib.figure import Figure

    if margins is None:
        figure = Figure(figsize=(width, height), layout="constrained")
    else:
        figure = Figure(figsize=(width, height))
        figure.subplots_adjust(**margins)
    return figure, figure.subplots()


def _as_svg(figure, name, text):
    """A picture for inline use: text as text, black as the colour of the page's text."""
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<[^>]+>", lambda tag: _shrink(tag[0], name), svg)
    svg = re.sub(r">\s*\n\s*<", "><", svg)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{Markup.escape(text)}" ', 1))


def _shrink(tag, name):
    """A tag with fewer digits, ids of its own and colours of the page."""
    tag = re.sub(r"(\d\.\d{2})\d+", r"\1", tag)
    tag = re.sub(r'\bd="[^"]+"', lambda path: re.sub(r"(\d\.\d)\d", r"\1", path[0]), tag)
    tag = tag.replace("#000000", "currentColor").replace("xlink:href", "href")
    tag = re.sub(r'\b(id="|href="#|url\(#)', rf"\1{name}-", tag)
    # The page allows no styles but its own.
    tag = re.sub(r'\bstyle="([^"]*)"', lambda found: _as_attributes(found[1]), tag)
    if tag.startswith("<svg"):
        tag = re.sub(r' (width|height|version|xmlns:xlink)="[^"]*"', "", tag)
        tag = tag.replace("<svg ", '<svg stroke-linejoin="round" ', 1)
    return re.sub(r"\s+", " ", tag)


def _as_attributes(style):
    """Declarations of a style as attributes of SVG."""
    pairs = [part.split(":", 1) for part in style.split(";") if ":" in part]
    found = {name.strip(): value.strip() for name, value in pairs}
    # matplotlib before 3.11 writes size and family in one, which is no attribute.
    weight, size, family = re.fullmatch(
        r"(\S*?)\s*([\d.]+px)\s+(.+)|", found.pop("font", "")
    ).groups()
    font = {"font-weight": weight, "font-size": size, "font-family": family}
    found |= {name: value for name, value in font.items() if value}
    return " ".join(f'{name}="{value}"' for name, value in found.items())
