"""Small repairs of docstrings between autodoc and numpydoc."""

from __future__ import annotations

import re

# In "ndarray of shape (n_features_in_,)" the underscore would be a link to nowhere.
_SHAPE = re.compile(r"^(.* : .*\()(.*)(\).*)$")
# scikit-learn's methods refer to sections of its own user guide.
_SECTION = re.compile(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`]*>)?`")


def repair(lines: list[str]) -> list[str]:
    """Lines of a docstring, as reStructuredText takes them."""
    escaped = (
        _SHAPE.sub(lambda m: m[1] + re.sub(r"_\b(?!\w)", r"\\_", m[2]) + m[3], line)
        for line in lines
    )
    return [_SECTION.sub(r"\1", line) for line in escaped]


def _repair(app, what, name, obj, options, lines):
    lines[:] = repair(lines)


def setup(app):
    """Repair before numpydoc (priority 500) reads."""
    app.connect("autodoc-process-docstring", _repair, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
