"""The questionnaire as one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

import jinja2

_SCRIPTS = ("questionnaire.js", "questionnaire_policy.js", "questionnaire_page.js")
_ALONE = "This page works offline: answers stay on this device."
_LOGGED = "Answers are written to the log file of the person who started this page."


def make_page(form: dict[str, Any], *, log: str | None = None) -> str:
    """The page of a form, with its script and style inside.

    `log`: address on the same server that receives the answers; None: nothing is ever sent.
    """
    style = asset("questionnaire.css")
    script = "\n".join(asset(name) for name in _SCRIPTS)
    return fill(
        "questionnaire.html",
        title=f"Questions about {form['target']}",
        about=form["about"],
        policy=security_policy(script, style, sends=log is not None),
        style=style,
        script=script,
        form=embed(form | {"log": log}),
        privacy=_ALONE if log is None else _LOGGED,
        digest=form["digest"] or "without a digest",
        version=form["version"],
    )


def fill(name: str, **values: Any) -> str:
    """A page of this package with its values; the filter `text` escapes what is no HTML."""
    page = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    page.filters["text"] = lambda value: escape(str(value))
    return page.from_string(asset(name)).render(values)


def with_its_number(page: str) -> str:
    """A page whose percent signs stay on the line of their number."""
    return re.sub(r"(?<=\d) %", "\u00a0%", page)


def asset(name: str) -> str:
    """The text of a file of this package."""
    return (files("tamis.report") / "assets" / name).read_text(encoding="utf-8")


def embed(value: Any) -> str:
    """JSON that can stand in a script element, whatever names it has."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def security_policy(script: str, style: str, *, sends: bool = False) -> str:
    """What the page may load: its own script and style, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        f"img-src data:; base-uri 'none'; form-action 'none'; "
        f"connect-src {chr(39)}{'self' if sends else 'none'}{chr(39)}"
    )


def _hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
