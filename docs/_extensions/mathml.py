"""Formulas become MathML while the pages are built: they need no script, no font, no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import latex2mathml

# Commands of LaTeX that the converter of docutils knows by another name.
_OTHER_NAMES = {r"\dots": r"\ldots"}
# Sizes of brackets, which MathML finds by itself; the longer names first.
_OTHER_NAMES |= dict.fromkeys((r"\bigl", r"\bigr", r"\big", r"\Bigl", r"\Bigr", r"\Big"), "")
# Bars that a browser would stretch to the height of their index.
_BARS = {f"<mo>{bar}</mo>": f'<mo stretchy="false">{bar}</mo>' for bar in ("‖", "|")}


def to_mathml(tex: str, *, is_block: bool = False) -> str:
    """MathML of a formula; raises MathError where a command is not known."""
    for name, other in _OTHER_NAMES.items():
        tex = tex.replace(name, other)
    found = latex2mathml.tex2mathml(tex, as_block=is_block)
    for bar, fixed in _BARS.items():
        found = found.replace(bar, fixed)
    return found


def _visit_inline(translator, node):
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _visit_block(translator, node):
    translator.body.append(f'<div class="formula">{to_mathml(node.astext(), is_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; conf.py selects it."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
