"""The package as a whole: what an import loads, what the metadata say."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import tamis

ROOT = Path(__file__).parents[1]
HEAVY = ["numba", "pandas", "matplotlib", "sklearn", "dask", "torch", "scipy"]


def modules_after(statement):
    """Names of the modules that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(out.stdout.splitlines()[-1]))


def test_importing_tamis_loads_nothing_heavy():
    assert not modules_after("import tamis").intersection(HEAVY)


def test_estimators_load_no_extras():
    loaded = modules_after("from tamis import SparseCenterClassifier")
    assert not loaded.intersection(["matplotlib", "dask", "torch"])


def test_the_version_is_that_of_the_package():
    assert metadata.version("tamis") == tamis.__version__


def test_make_runs_the_tests_on_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    tested = re.search(r"^PYTHONS \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert tested.group(1).split() == promised


@pytest.mark.parametrize("extra", ["plot", "cli", "dask", "torch", "onnx", "all", "dev"])
def test_extras_are_there(extra):
    assert extra in metadata.metadata("tamis").get_all("Provides-Extra")
