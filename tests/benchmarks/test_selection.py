"""The comparison of ways to select: the library's steps by definition, and the table."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accuracy"
MODULES = ("selection", "selection_steps", "at_k_data", "at_k_rivals")


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_steps_of_the_library_are_those_by_definition(modules, n_classes):
    steps = modules["selection_steps"]
    rng = np.random.default_rng(n_classes)
    y = np.arange(90) % n_classes
    X = rng.normal(size=(90, 30))
    X[:, :6] += 0.8 * y[:, None]
    X[:, 6:9] = X[:, :3] + 0.2 * rng.normal(size=(90, 3))
    data = steps.Data((X - X.mean(axis=0)) / X.std(axis=0), y)
    by_definition = steps.Steps(most_explained=0.9, power=2.0)(data)
    assert steps.STEPS(data).tolist() == by_definition.tolist()
    assert steps.OLD(data).tolist() != by_definition.tolist()


def test_two_tasks_give_a_table(modules, tmp_path, monkeypatch, capsys):
    selection = modules["selection"]
    monkeypatch.setattr(selection, "SIMULATED", ("few values",))
    monkeypatch.setattr(selection, "N_SMALL", 2)
    ways = ["ANOVA", selection.REFERENCE, "ridge 30", "l1 path of 100"]
    arguments = ["--output", str(tmp_path), "--only", "simulated: few", "--ways", *ways]
    selection.main(arguments)
    records = json.loads((tmp_path / "selection.json").read_text())
    assert list(records) == ["simulated: few values 0", "simulated: few values 1"]
    assert all(set(record) == set(ways) for record in records.values())
    assert (tmp_path / "selection.md").read_text().count("\n| ") == 6  # two lines of heading
    assert "1 sets or designs, 2 tasks." in capsys.readouterr().out
