"""Settings of sphinx: `make docs` builds the pages, offline and without warnings.

Sources are the Markdown pages as they are read on GitHub, so their root is the repository, and
links between docs/, benchmarks/results/ and CONTRIBUTING.md work in both places.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for _extensions

import tamis

project = "tamis"
author = "The tamis developers"
copyright = author
version = release = tamis.__version__

root_doc = "docs/index"
include_patterns = ["docs/**", "benchmarks/results/*.md", "CITATION.cff"]
include_patterns += ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "**/.*", "build", "src", "tests", "examples", "docs/_*", "docs/data"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "_extensions.api_pages",
    "_extensions.contents",
    "_extensions.docstrings",
    "_extensions.mathml",
    "_extensions.offline",
]

# Markdown: mathematics between dollars, anchors of headings as on GitHub.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# The reference: one page per public name, with the methods that tamis defines or inherits.
templates_path = [str(HERE / "_templates")]  # autosummary looks from the root
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc says the types, with their shapes
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False

toc_object_entries_show_parents = "hide"

# Mathematics is MathML, which browsers render without a script.
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = f"tamis {release}"
html_static_path = ["_static"]
html_css_files = ["tamis.css"]
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"docs/index": []}

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["docs/auto_examples"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "reference_url": {},
    "ignore_repr_types": r"matplotlib|tamis\.inspection",
}
