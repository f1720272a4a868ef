"""The report as one HTML page that needs no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from tamis.comparison.attempts import attempt
from tamis.models.files import write_atomically
from tamis.report.page.content import clean, make_content
from tamis.report.page.pictures import NONE, draw_pictures
from tamis.report.page.words import short
from tamis.report.questionnaire.page import security_policy, with_its_number
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison


_TEMPLATES = Path(__file__).parents[1] / "templates"


def write_report(
    comparison: Comparison,
    path: str | PathLike | None = None,
    *,
    choice: Choice | None = None,
    run: str | None = None,
    command: str | None = None,
    about: str | None = None,
    evaluations: Sequence[str | PathLike] = (),
    include_rows: bool = False,
    prevalence: Any = None,
    failed: dict[str, str] | None = None,
) -> str:
    """Make the report of one level of a method, and write it.

    `path`: file to write; None: none. `choice`: method and level; None: the recommended ones.
    `prevalence`: class frequencies that probabilities are shown for: the share of the positive
    class of two, or of the classes that are named; None: those of the training rows.
    `failed`: receives the parts that fail, with the reason.
    """
    choice = comparison.final_choice if choice is None else choice
    content = make_content(
        comparison,
        choice,
        run=run,
        command=command,
        about=about,
        evaluations=[read_evaluation(one) for one in evaluations],
        include_rows=include_rows,
        prevalence=prevalence,
    )
    failed = {} if failed is None else failed
    shown = {one["code"]: one["shown"] for one in content["clinical"]["classes"]}
    draw = partial(
        draw_pictures, comparison, choice, shown, content["evaluations"], include_rows=include_rows
    )
    pictures = attempt(failed, "pictures", draw)
    if pictures is None:
        pictures = NONE | {"failed": failed["pictures"]}
    page = render(content, pictures)
    if path is not None:
        with write_atomically(path) as file:
            # Names from damaged files may have characters that no file can hold.
            file.write(page.encode("utf-8", errors="backslashreplace"))
    return page


def render(content: dict[str, Any], pictures: dict[str, Any]) -> str:
    """HTML of a content and its pictures."""
    style, script = _own("report.css"), _own("report.js")  # no number with a percent sign in them
    policy = security_policy(script, style)
    own = {"pictures": pictures, "policy": policy, "style": style, "script": script}
    # Pictures hold names and labels, too.
    page = _environment().get_template("report.html").render(**content, **own)
    return with_its_number(clean(page))


def read_evaluation(path: str | PathLike) -> dict[str, Any]:
    """Read a file of `tamis evaluate -o FILE`."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if not isinstance(report, dict) or report.get("format") != "tamis-evaluation":
        raise InputError(f"{path} is not a file that tamis evaluate -o FILE wrote.")
    return report


def _own(name):
    """A file of the page that goes into it as it is."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def _environment():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "percent": _percent,
        "short": short,
        "score": lambda value: "-" if value is None else f"{value:.3f}",
        "range": lambda pair: "" if pair is None else f"{pair[0]:.3f} to {pair[1]:.3f}",
        "steps": _steps,
        "across": _across,
    }
    return environment


def _percent(share):
    """A share as a percentage, with as many digits as it needs."""
    if share is None:
        return "-"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def _steps(heights, width, height):
    """The outline of a histogram as an SVG path; each bar has the same width."""
    step = width / len(heights)
    tops = "".join(f"V{height * (1 - h):.1f}h{step:.2f}" for h in heights)
    return f"M0 {height}{tops}V{height}z"


def _across(value, low, high, width):
    """Where a value lies on an axis, kept within it."""
    return round(width * min(max((value - low) / (high - low), 0.0), 1.0), 1)
