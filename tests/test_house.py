"""The package as a whole: what an import loads, what the metadata say."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml

import tamis

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What users can add; "all" is their sum, "dev" and "docs" are for developers.
FOR_DEVELOPERS = ("all", "dev", "docs")
EXTRAS = {k: v for k, v in PROJECT["optional-dependencies"].items() if k not in FOR_DEVELOPERS}
# Large, and useless without Java, so users ask for it by name.
APART = {"spark"}
HEAVY = ["numba", "pandas", "matplotlib", "sklearn", "dask", "pyspark", "torch", "scipy"]


def modules_after(statement):
    """Names of the modules that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


def test_importing_tamis_loads_nothing_heavy():
    assert not modules_after("import tamis").intersection(HEAVY)


def test_estimators_load_no_extras_and_no_numba_before_a_kernel_is_called():
    loaded = modules_after(
        "from tamis import SparseCenterClassifier\n"
        "import tamis.centers, tamis.primal_dual, tamis.panel, tamis.landmarks, tamis.datumwise"
    )
    assert not loaded.intersection(["matplotlib", "dask", "torch", "numba"])


FAMILIES = ["centers", "datumwise", "landmarks", "panel", "primal_dual", "selectors"]
# Slow to import, and of no use for a prediction.
NOT_FOR_PREDICTIONS = [
    "jinja2",
    "matplotlib",
    "numba",
    "sklearn.feature_extraction",
    "sklearn.feature_selection",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
]


@pytest.mark.parametrize(
    ("family", "name", "options"),
    [
        ("centers", "SparseCenterClassifier", {}),
        pytest.param("panel", "PanelClassifier", {"head": "logistic"}, marks=pytest.mark.slow),
    ],
)
def test_a_saved_model_predicts_without_what_only_training_needs(family, name, options, tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[np.arange(40) % 2]
    X = rng.normal(size=(40, 3)) + (y == "yes")[:, None]
    columns = dict(zip("abc", X.T, strict=True))
    classifier = getattr(tamis, name)(2, **options)
    model = tamis.TableClassifier(classifier).fit(pa.table(columns), y)
    tamis.save_model(model, tmp_path / "model.json")
    rows = [",".join(columns), *(",".join(map(str, row)) for row in X[:5])]
    (tmp_path / "new.csv").write_text("\n".join(rows) + "\n")
    names = [str(tmp_path / file) for file in ("model.json", "new.csv", "labels.csv")]
    loaded = modules_after(
        "from tamis.cli import main\n"
        f"assert main(['predict', {names[0]!r}, {names[1]!r}, '-o', {names[2]!r}]) == 0"
    )
    written = (tmp_path / "labels.csv").read_text().splitlines()
    assert len(written) == 6
    assert not loaded.intersection(NOT_FOR_PREDICTIONS)
    others = {f"tamis.{other}.classifier" for other in FAMILIES if other != family}
    assert not loaded.intersection(others)


def test_help_loads_nothing_heavy():
    loaded = modules_after("from tamis.cli import main\nmain(['--help'])")
    assert not loaded.intersection([*HEAVY, "numpy", "pyarrow"])


def test_the_version_stands_in_one_place():
    assert metadata.version("tamis") == tamis.__version__
    assert "version" in PROJECT["dynamic"]
    cited = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited == [tamis.__version__]


def test_make_runs_the_tests_on_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    tested = re.search(r"^PYTHONS \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert tested.group(1).split() == promised


def test_the_workflow_runs_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    assert re.search(r"python: \[(.+)\]", workflow).group(1) == ", ".join(
        f'"{version}"' for version in promised
    )


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_complete_and_grants_little(path):
    workflow = read_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert True in workflow, "YAML reads the key `on` as true"
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["steps"]
        assert set(job.get("permissions", {})) <= {"id-token", "pages"}
        assert {job["needs"]} <= set(workflow["jobs"]) if "needs" in job else True
    assert all(("uses" in step) != ("run" in step) for step in steps(workflow))
    assert "secrets." not in path.read_text(encoding="utf-8")


def test_workflows_use_the_same_version_of_an_action():
    used = {
        step["uses"] for path in WORKFLOWS for step in steps(read_yaml(path)) if "uses" in step
    }
    assert all(re.fullmatch(r"[\w.-]+(/[\w.-]+)+@(v\d+|release/v\d+)", one) for one in used)
    assert len({one.partition("@")[0] for one in used}) == len(used)


def test_workflows_make_what_the_makefile_has():
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WORKFLOWS:
        for step in steps(read_yaml(path)):
            assert set(re.findall(r"\bmake ([\w-]+)", step.get("run", ""))) <= made


def test_a_tag_is_published_after_every_check_on_every_python():
    workflow = read_yaml(ROOT / ".github" / "workflows" / "publish.yml")
    packages, publish = workflow["jobs"]["packages"], workflow["jobs"]["publish"]
    assert "make release" in [step.get("run") for step in packages["steps"]]
    assert publish["needs"] == "packages" and publish["permissions"] == {"id-token": "write"}
    (pythons,) = (
        step["with"]["python-version"].split("#")[0]
        for step in packages["steps"]
        if "setup-python" in step.get("uses", "")
    )
    assert set(pythons.split()) == set(promised_pythons())


def promised_pythons():
    return re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))


def test_the_conda_recipe_needs_what_the_project_needs():
    recipe = read_yaml(ROOT / "recipe" / "recipe.yaml")
    assert recipe["context"]["version"] == tamis.__version__
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    needed = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cli"]
    python, *run = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert run == sorted(one.replace(">=", " >=") for one in needed)
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    host = recipe["requirements"]["host"]
    assert host[2:] == [one.replace(">=", " >=") for one in built]
    (command,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(command)]
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert (ROOT / about["license_file"]).exists()


def test_the_oldest_versions_are_those_that_are_promised():
    requirements = PROJECT["dependencies"] + [r for extra in EXTRAS.values() for r in extra]
    oldest = dict(
        line.split("==")
        for line in (ROOT / "constraints-oldest.txt").read_text().splitlines()
        if "==" in line
    )
    promised = dict(requirement.split(">=") for requirement in requirements)
    assert oldest.keys() == promised.keys()
    for package, version in promised.items():
        assert re.fullmatch(rf"{re.escape(version)}(\.0)*", oldest[package]), package


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_installs_only_what_the_code_uses(extra):
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for requirement in EXTRAS[extra]:
        package = re.match(r"\w+", requirement).group()
        assert re.search(rf"\b(import|from) {package}\b|\"{package}\"", code), requirement


def test_all_extras_come_together():
    together = re.fullmatch(r"tamis\[(.+)\]", PROJECT["optional-dependencies"]["all"][0])
    assert set(together.group(1).split(",")) == set(EXTRAS) - APART


def test_the_source_archive_has_what_the_pages_link_to():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packed = {*build["targets"]["sdist"]["include"], "README.md", "LICENSE", "pyproject.toml"}
    text = "".join((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))
    linked = set(re.findall(r"\]\((?!https?:)([^)#]+)", text))
    assert "CONTRIBUTING.md" in linked
    assert {Path(link).parts[0] for link in linked} <= packed
    assert all((ROOT / name).exists() for name in packed)


def test_a_class_has_a_name_of_its_own():
    names = Counter(
        node.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []
