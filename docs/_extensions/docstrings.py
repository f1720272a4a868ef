"""Small repairs of docstrings between autodoc and numpydoc."""

from __future__ import annotations

import re

# In "of shape (n_features_in_,)" the last underscore would be a link to nowhere.
_SHAPE = re.compile(r"\b(shape|or) \(([^()]*)\)")
_LAST_UNDERSCORE, _ESCAPED = re.compile(r"_(?!\w)"), r"\\_"
# scikit-learn's methods refer to sections of its own user guide.
_SECTION = re.compile(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`]*>)?`")


def repair(line: str) -> str:
    """A line of a docstring, as reStructuredText takes it."""
    line = _SHAPE.sub(lambda m: f"{m[1]} ({_LAST_UNDERSCORE.sub(_ESCAPED, m[2])})", line)
    return _SECTION.sub(r"\1", line)


def _repair(app, what, name, obj, options, lines):
    lines[:] = map(repair, lines)


def setup(app):
    """Repair before numpydoc (priority 500) reads."""
    app.connect("autodoc-process-docstring", _repair, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
