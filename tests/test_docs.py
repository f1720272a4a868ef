"""The documentation: figures, links, the list of public names, examples."""

import re
import runpy
import sys
from importlib import import_module, util
from pathlib import Path

import pytest
from sklearn.utils import estimator_html_repr

import tamis

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "benchmarks" / "results").glob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))


def load(path):
    """A module that is in no package."""
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load(ROOT / "docs" / "figures.py")
api_pages = load(ROOT / "docs" / "_extensions" / "api_pages.py")


@pytest.mark.parametrize("path", figures.pages(), ids=lambda path: path.name)
def test_figures_of_a_page_are_those_of_the_results(path):
    page = path.read_text(encoding="utf-8")
    assert figures.refresh(page) == page, "python docs/figures.py rewrites the page"


def test_a_figure_typed_by_hand_is_noticed():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    value = re.search(r"\| (\S+ ± \S+) \|", page).group(1)
    assert figures.refresh(page.replace(value, "+9.99 ± 0.01")) == page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings_that_exist(path):
    page = re.sub(r"```.*?```|`[^`\n]+`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        # The reference is written by `make docs`.
        assert file.exists() or file.name == "reference.rst", f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{path.name} links to {target}"


def anchors(file):
    """Headings as links name them, on GitHub and in the built pages."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_reference_lists_every_public_name():
    listed = {name for names in api_pages.public_names().values() for name in names}
    for room in ("guarantees", "projections", "selectors", "stability", "metrics", "datumwise"):
        assert listed.issuperset(import_module(f"tamis.{room}").__all__), room
    assert listed.issuperset(set(tamis.__all__) - {"__version__"})
    page = api_pages.make_reference()
    assert all(f"   {name}\n" in page + "\n" for name in listed)


def estimators():
    """One of each public estimator, with its defaults."""
    for module, names in api_pages.public_names().items():
        for name in names:
            found = getattr(import_module(module), name)
            if isinstance(found, type) and hasattr(found, "get_params"):
                yield pytest.param(found, id=name)


@pytest.mark.parametrize("estimator", list(estimators()))
def test_html_views_link_to_no_page_that_does_not_exist(estimator):
    required = {"estimator": tamis.SparseCenterClassifier()} if wraps(estimator) else {}
    view = estimator_html_repr(estimator(**required))
    links = re.findall(r'href="([^"]*)"', view)
    assert not [link for link in links if "tamis" in link or not link.startswith("https://scikit")]


def wraps(estimator):
    """Whether it needs another estimator."""
    return "estimator" in estimator._get_param_names()


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path))
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"""' and re.fullmatch("=+", lines[2]) and len(lines[2]) == len(lines[1])
