"""The paper benchmark of datum-wise classification runs on tiny data, and goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "datumwise"
SIZES = {"wine": 13, "breast-cancer": 10}


def run(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "TAMIS_DATA"}
    command = [sys.executable, str(FOLDER / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def ask(code):
    """What a piece of code prints that imports the benchmark's modules."""
    environment = {**os.environ, "PYTHONPATH": f"{FOLDER}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", f"import json\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def tiny_data(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "libsvm").mkdir()
    for name, n_features in SIZES.items():
        n_classes = 3 if name == "wine" else 2
        y = np.arange(80) % n_classes
        X = rng.normal(size=(80, n_features)) + y[:, None]
        names = np.arange(n_classes).astype(str)
        np.savez(tmp_path / "libsvm" / f"{name}.npz", X=X, y=y, class_names=names)
    return tmp_path


def test_tiny_data_give_a_report_and_a_second_run_goes_on(tiny_data, tmp_path):
    output = tmp_path / "results"
    options = ("--data", tiny_data, "--output", output, "--sets", ",".join(SIZES))
    methods = "majority,L1-SVM,LARS"
    first = run(*options, "--methods", methods, "--splits", 1)
    assert first.returncode == 0, first.stderr
    assert "## Table 2: two classes" in first.stdout and "| wine | 0.75 | 1 |" in first.stdout
    records = json.loads((output / "datumwise.json").read_text())["records"]
    assert set(records["wine"]) == {"0.1", "0.2", "0.5", "0.75"}
    assert set(records["breast-cancer"]["0.05"]) == set(methods.split(","))
    assert sorted(records["breast-cancer"]["0.5"]["LARS"]) == ["0", "1", "2"]
    points = records["breast-cancer"]["0.5"]["L1-SVM"]["0"]["points"]
    assert points == sorted(points) and points[-1][0] == 10
    assert (output / "datumwise_figure3.png").is_file()
    assert (output / "datumwise_figure4.png").is_file()
    second = run(*options, "--methods", methods, "--splits", 2)
    assert second.returncode == 0, second.stderr
    assert "0.1, split 0" not in second.stderr and "0.1, split 1" in second.stderr


def test_missing_data_and_unknown_methods_are_told(tmp_path):
    missing = run("--data", tmp_path)
    assert missing.returncode == 2
    assert "libsvm/australian.npz is missing" in missing.stderr
    unknown = run("--methods", "magic")
    assert unknown.returncode == 2
    assert "--methods has 'magic'" in unknown.stderr


def test_accuracy_is_read_off_the_curve_and_ends_are_as_said():
    code = """
from curves import accuracy_at
points = [[2, 0.6], [4, 0.9], [4, 0.7], [6, 0.5]]
print(json.dumps([accuracy_at(points, 0.4, 10, s) for s in (0.9, 0.8, 0.7, 0.6, 0.4, 0.0, 1.0)]))
"""
    # Half way to the empty model; a point; between points; the mean of two; the fullest; also
    # where more is allowed; the empty model.
    assert_allclose(ask(code), [0.5, 0.6, 0.7, 0.8, 0.5, 0.5, 0.4])


def test_splits_are_shared_whole_and_stratified():
    code = """
import numpy as np
from datasets import split_rows
y = np.repeat([0, 1], [60, 20])
print(json.dumps([[part.tolist() for part in split_rows(y, 0.5, s)] for s in (0, 0, 1)]))
"""
    first, again, other = ask(code)
    assert first == again and first != other
    assert sorted(first[0] + first[1]) == list(range(80))
    assert sum(row >= 60 for row in first[0]) == 10


def test_the_lasso_path_is_linear_between_its_knots():
    code = """
import numpy as np
from sklearn.linear_model import Lasso, lars_path
from methods import coefficients_at
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 6))
y = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=50)
knots, coefficients = lars_path(X, y, method="lasso")[::2]
alphas = [2 * knots[0], 0.7 * knots[0], 0.1 * knots[0]]
ours = [coefficients_at(a, knots, coefficients).tolist() for a in alphas]
lasso = [Lasso(a, fit_intercept=False, tol=1e-12).fit(X, y).coef_.tolist() for a in alphas]
print(json.dumps([ours, lasso]))
"""
    ours, lasso = ask(code)
    assert_allclose(ours, lasso, atol=1e-6)


def test_the_published_tables_are_whole():
    published = json.loads((FOLDER / "published.json").read_text())
    tables = {**published["table2"], **published["table3"]}
    assert len(published["table2"]) == 10 and len(published["table3"]) == 4
    assert all(len(rows) == 4 for rows in tables.values())
    values = [
        v for rows in tables.values() for row in rows.values() for m in row.values() for v in m
    ]
    assert len(values) == 14 * 4 * 9
    # The paper prints 0.00 fourteen times, for what is missing.
    assert sum(v is None for v in values) == 14
    assert min(v for v in values if v is not None) == 9.57
    assert_array_equal(published["targets"]["heart"], [75, 80, 79])
