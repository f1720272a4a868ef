"""The documentation: figures, links, commands, the map of the code, public names, examples."""

import contextlib
import io
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module, util
from pathlib import Path

import pytest
import sklearn
from sklearn.utils import estimator_html_repr

import tamis
from tamis.cli.parser import make_parser
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.methods.method import Method, StreamingMethod

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "benchmarks" / "results").glob("*.md")),
]
GUIDES = PAGES[: -len(list((ROOT / "benchmarks" / "results").glob("*.md")))]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))


def load(path):
    """A module that is in no package."""
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load(ROOT / "docs" / "figures.py")
outputs = load(ROOT / "docs" / "outputs.py")
count_tests = load(ROOT / "docs" / "count_tests.py")
visits = load(ROOT / "docs" / "data" / "make_visits.py")
contents = load(ROOT / "docs" / "_extensions" / "contents.py")
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
        assert file.exists(), f"{path.name} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{path.name} links to {target}"


def anchors(file):
    """Headings as links name them, on GitHub and in the built pages."""
    page = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_a_page_has_no_directives_that_github_would_show(path):
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"^```\{|\{\w+\}`|^:::", page, re.MULTILINE)


def test_every_page_is_in_the_tree_of_the_built_documentation():
    listed = {entry for tree in contents.TREES.values() for entry in tree}
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert names <= listed, "docs/_extensions/contents.py lists the pages"
    changed = contents.change("docs/x", "[Genes](../examples/tutorials/plot_1_genes.py)")
    assert changed == "[Genes](auto_examples/tutorials/plot_1_genes.rst)"


def commands(page):
    """Commands of a page, in blocks for a shell and after a prompt."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        start = {"sh": "tamis", "text": "$ tamis"}.get(kind)
        for line in block.splitlines() if start else ():
            if re.match(re.escape(start) + r"( |$)", line):
                yield line.removeprefix("$ ")


def mentions(page):
    """Options of a command that a sentence names: `tamis ask --web`."""
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    for command, rest in re.findall(r"`tamis (\w+)(\s[^`]+)`", page):
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest):
            yield command, option


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_commands_that_a_page_shows_are_understood(path):
    parser, page = make_parser(), path.read_text(encoding="utf-8")
    for command in commands(page):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                parser.parse_args(shlex.split(command, comments=True)[1:])
            except SystemExit:
                pytest.fail(f"{path.name}: {command}: {said.getvalue()}")
    known = parser._subparsers._group_actions[0].choices
    for command, option in mentions(page):
        assert option in known[command]._option_string_actions, f"{path.name}: {command} {option}"


def test_commands_are_found_in_blocks_and_sentences():
    page = "```sh\ntamis fit a.csv  # all\n```\n```text\n$ tamis fit -o demo\ntamis\n```\n"
    page += (
        "Use `tamis pick RUN\n--without A -o B`, not `tamis fit ... --x-y=3`; see `tamis ask`.\n"
    )
    assert list(commands(page)) == ["tamis fit a.csv  # all", "tamis fit -o demo"]
    assert list(mentions(page)) == [("pick", "--without"), ("pick", "-o"), ("fit", "--x-y")]


@pytest.mark.parametrize("name", outputs.PAGES)
def test_output_is_shown_with_the_command_that_printed_it(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    for command in outputs.commands(page):
        assert f"\n```text\n$ {command}\n" in page, "python docs/outputs.py runs the commands"
    for block in re.findall(r"<!-- output python -->\n(.*?)<!-- end -->", page, re.DOTALL):
        assert block.strip(), "python docs/outputs.py runs the program"


@pytest.mark.slow
def test_getting_started_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "FOLDER", tmp_path / "outputs")
    page = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    fresh = outputs.refresh(page, outputs.Session())
    # Last digits depend on the machine.
    shown, printed = (re.sub(r"[-\d.,e]+|\s+", " ", text).split() for text in (page, fresh))
    assert shown == printed, "python docs/outputs.py runs the commands"


def test_the_table_of_tests_has_every_room():
    rows = count_tests.read((ROOT / "docs" / "testing.md").read_text(encoding="utf-8"))
    rooms = {f"`{path.parent.name}`" for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms - {"`spark`", "`oracles`"} <= rows.keys()
    sums = [
        sum(column) for column in zip(*(rows[name] for name in rows if name != "all"), strict=True)
    ]
    assert rows["all"] == sums


def test_numbers_of_tests_that_are_out_of_date_are_noticed():
    page = "<!-- tests -->\n| room | tests |\n| --- | ---: |\n| a | {} |\n<!-- end -->"
    table = "| room | tests |\n| --- | ---: |\n| a | 1,000 |\n"
    assert count_tests.out_of_date(page.format(900), table) == []
    assert count_tests.out_of_date(page.format(700), table) == ["a"]
    assert set(count_tests.out_of_date(page.replace("| a |", "| b |").format(1), table)) == {
        "a",
        "b",
    }


@pytest.mark.slow
def test_the_table_of_tests_is_up_to_date():
    words = [sys.executable, str(ROOT / "docs" / "count_tests.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"python docs/count_tests.py rewrites it: {done.stdout}"


def test_the_supported_versions_are_those_of_the_project():
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", page, re.MULTILINE))
    assert rows["Python"] == ", ".join(
        re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    )
    extras = project["optional-dependencies"]
    named = {name: extras[name] for name in extras if name not in ("all", "dev", "docs")}
    shown = {"always needed": project["dependencies"]}
    shown |= {f"`tamis[{name}]`": needed for name, needed in named.items()}
    for what, needed in shown.items():
        assert rows[what] == ", ".join(one.replace(">=", " >= ") for one in needed)


def test_the_version_that_is_cited_is_this_one():
    for name in ("CITATION.cff", "docs/faq.md"):
        page = (ROOT / name).read_text(encoding="utf-8")
        (version,) = re.findall(r"^\s*version\s*[:=]\s*\{?([\w.]+)", page, re.MULTILINE)
        assert version == tamis.__version__, name


def test_the_table_of_getting_started_is_what_its_program_makes(tmp_path, monkeypatch):
    monkeypatch.setattr(visits, "FOLDER", tmp_path)
    visits.main()
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (ROOT / "docs" / "data" / file.name).read_bytes()


ON_LARGE_DATA = {
    "sparse centers, means": ("centers", tamis.SparseCenterClassifier()),
    "sparse centers, medians": ("medians", tamis.SparseCenterClassifier(metric="l1")),
    "primal-dual": ("primal-dual", tamis.PrimalDualClassifier()),
    "panel": ("panel", tamis.PanelClassifier()),
    "landmarks": ("landmarks", tamis.LandmarkSearchCV()),
    "datum-wise": ("datum-wise", tamis.DatumWiseClassifier()),
}


class Tensor:
    """Looks like a tensor in the memory of a GPU."""

    device, ndim, shape = "cuda:0", 2, (4, 2)

    def __array_namespace__(self):
        return self


def computes_on_tensors(estimator):
    """Whether it does anything with a tensor but refuse it."""
    refused = pytest.raises((AttributeError, TypeError))
    with sklearn.config_context(array_api_dispatch=True), refused as caught:
        sklearn.clone(estimator).fit(Tensor(), [0, 1, 0, 1])
    return "computes in numpy" not in str(caught.value)


def large_data_rows():
    page = (ROOT / "docs" / "large_data.md").read_text(encoding="utf-8")
    head, _, *rows = page.split("\n\n")[1].splitlines()
    assert head == "| method | `fit_chunks` | `tamis fit --stream` | Dask | Spark | GPU |"
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def test_the_table_of_large_data_is_what_the_code_does(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    rows = large_data_rows()
    assert [row[0] for row in rows] == list(ON_LARGE_DATA)
    for label, chunks, stream, dask, spark, gpu in rows:
        name, estimator = ON_LARGE_DATA[label]
        method, kind = find_method(name), type(estimator).__name__
        assert (chunks != "no") is hasattr(estimator, "fit_chunks"), label
        all_rows = isinstance(method, StreamingMethod)
        of_sample = not all_rows or method.keeps_features
        assert ("all rows" in stream, "sample" in stream) == (all_rows, of_sample), label
        for engine, cell in (("dask", dask), ("spark", spark)):
            there = {engine.title() + kind} & set(import_module(f"tamis.{engine}").__all__)
            assert set(re.findall(r"`(\w+)`", cell)) == there, label
        assert ("tensors" in gpu) is computes_on_tensors(estimator), label
        assert ("`device=`" in gpu) is ("device" in estimator.get_params()), label
        on_device = type(method).uses_device is not Method.uses_device
        assert ("`tamis fit --device`" in gpu) is on_device, label


@pytest.mark.parametrize("name", ["adding_a_method.md", "adding_an_export.md"])
def test_the_map_of_the_code_is_true(name):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for path in re.findall(r"`([\w/]+/[\w/]*(?:\.py)?)`", page):
        assert find(path).exists(), f"{name} names {path}"
    pairs = re.findall(r"`(\w+)`(?: \([^)]*\))?,?\s+(?:in|of)\s+`([\w/]+\.py)`", page)
    assert len(pairs) > 5
    for word, path in pairs:
        assert re.search(rf"\b{word}\b", find(path).read_text()), f"{word} is not in {path}"


def find(path):
    """A file or folder of the repository, or of the package."""
    return ROOT / path if (ROOT / path).exists() else ROOT / "src" / "tamis" / path


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
