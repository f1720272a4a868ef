"""The tree of pages, which only sphinx needs: pages themselves are plain Markdown.

Before a page is read, its toctree is added at the end, and links to examples, which lead to the
programs on GitHub, are changed to the pages that sphinx-gallery makes of them.
"""

from __future__ import annotations

import re

TREES = {
    "docs/index": [
        ":hidden:",
        "",
        "getting_started",
        "guide",
        "Tutorials <auto_examples/index>",
        "command_line",
        "API reference <reference>",
        "how_it_compares",
        "development",
    ],
    "docs/guide": [
        ":hidden:",
        "",
        *("reading_the_output", "which_method", "coming_from", "faq"),
        *("panel", "proof", "sparse_centers", "primal_dual", "landmarks", "datum_wise"),
        *("statistics", "how_sure", "how_sure_predictions", "report", "inspection"),
        *("questionnaire", "data", "python", "cells", "large_data", "gpu", "model_format"),
        *("vocabulary", "stability", "Changes <../CHANGELOG>", "Security <../SECURITY>"),
    ],
    "docs/development": [
        ":hidden:",
        "",
        *("adding_a_method", "adding_an_export", "testing", "Contributing <../CONTRIBUTING>"),
    ],
    "docs/how_it_compares": [":hidden:", ":glob:", "", "../benchmarks/results/*"],
}
_EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/(\w+)/(plot_\w+)\.py\)")


def change(name: str, text: str) -> str:
    """The source of a page as sphinx reads it."""
    text = _EXAMPLE.sub(r"](auto_examples/\1/\2.rst)", text)
    if name in TREES:
        text += "\n```{toctree}\n" + "\n".join(TREES[name]) + "\n```\n"
    return text


def _read(app, name, source):
    source[0] = change(name, source[0])


def setup(app):
    """Change pages as they are read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
