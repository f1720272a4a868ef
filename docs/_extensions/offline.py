"""Pages are readable without a network: a warning names those that load something."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.util import logging

# What a browser fetches by itself: scripts, styles, fonts and pictures. Plain links may stay.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc(?:set)?=["'](?:https?:)?//[^"']+"""
    r"""|<link\b(?=[^>]*\brel=["'](?:stylesheet|preload|preconnect|icon))[^>]*\bhref=["'](?:https?:)?//[^"']+"""
    r"""|url\(["']?(?:https?:)?//[^)]+|@import\s+["'](?:https?:)?//[^"']+""",
)
_logger = logging.getLogger(__name__)


def fetched(text: str) -> list[str]:
    """What the page would load from another machine."""
    return _FETCHED.findall(text)


def _check(app, exception):
    if exception is not None:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            for found in fetched(path.read_text(encoding="utf-8")):
                _logger.warning("%s loads %s", path.name, found, type="offline")


def setup(app):
    """Check when all pages are written."""
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
