"""The paper benchmark runs from end to end on tiny data, goes on, and says what is missing."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "sparse_centers"


def run(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "TAMIS_DATA"}
    command = [sys.executable, str(FOLDER / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def load_module(name):
    spec = importlib.util.spec_from_file_location(f"sparse_centers_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tiny_data(tmp_path):
    """Texts where w0, w1, ... go with the class, and genes where the first ones do."""
    rng = np.random.default_rng(0)
    home = tmp_path / "data"
    (home / "text").mkdir(parents=True)
    (home / "genes").mkdir()
    y = np.arange(120) % 2
    with gzip.open(home / "text" / "mpqa.tsv.gz", "wt", encoding="utf-8") as file:
        for label in y:
            words = [
                f"w{rng.integers(5) * 2 + label}",
                *(f"n{j}" for j in rng.integers(40, size=6)),
            ]
            file.write(f"{label}\t{' '.join(words)}\n")
    X = rng.normal(size=(60, 30)).astype(np.float32)
    X[:, :4] += 3 * y[:60, None]
    np.savez(home / "genes" / "chin.npz", X=X, y=np.array(["negative", "positive"])[y[:60]])
    return home


def test_tiny_data_give_all_results_and_a_second_run_goes_on_from_them(tiny_data, tmp_path):
    output = tmp_path / "results"
    options = ("--data", tiny_data, "--only", "mpqa,chin", "--output", output)
    first = run(*options, "--splits", 1)
    assert first.returncode == 0, first.stderr
    document = json.loads((output / "sparse_centers.json").read_text())
    text, genes = document["summary"]["mpqa"], document["summary"]["chin"]
    assert {"l2-SC", "l1-SC", "SNB", "Odds Ratio", "Lasso", "Logistic-l1"} < set(text["std"])
    assert "SNB" not in genes["std"]
    # Ten words and four genes tell the classes apart.
    assert text["std"]["l2-SC"]["mean"][0] == 1.0
    assert genes["std"]["l1-SC"]["mean"][0] > 0.9
    assert genes["none"]["l1-SC alone, spread"]["mean"][0] > 0.9
    assert {v["claim"] for v in document["claims"]} >= {"text-accuracy", "genes-time"}
    assert "does not hold" in first.stdout or "holds" in first.stdout
    assert (output / "sparse_centers.md").read_text().strip() == first.stdout.strip()
    assert (output / "sparse_centers.png").stat().st_size > 10_000

    second = run(*options, "--splits", 2)
    assert second.returncode == 0, second.stderr
    assert "split 1" in second.stderr and "split 0" not in second.stderr
    again = json.loads((output / "sparse_centers.json").read_text())
    old, new = (d["splits"]["chin"]["std"]["l1-SC"] for d in (document, again))
    assert old["0"] == new["0"] and list(new) == ["0", "1"]


def test_missing_data_end_the_run_with_a_message_and_code_2(tmp_path):
    result = run("--data", tmp_path, "--only", "chin", "--output", tmp_path)
    assert result.returncode == 2
    assert "genes/chin.npz is missing" in result.stderr
    assert str(tmp_path) in result.stderr
    assert "--data DIR" in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_unknown_data_sets_are_named():
    result = run("--only", "nonsense")
    assert result.returncode == 2
    assert "'nonsense'" in result.stderr


def record(scores, seconds):
    return {"scores": scores, "selected": [1, 2], "seconds": seconds}


def claim(kind, rivals=("B",)):
    entry = {"id": kind, "kind": kind, "statement": "", "method": "A", "rivals": list(rivals)}
    return {"claims": [{**entry, "datasets": ["d"]}]}


@pytest.mark.parametrize(
    ("kind", "scores", "seconds", "holds"),
    [
        ("accuracy", [0.81, 0.81], 1.0, True),
        ("accuracy", [0.85, 0.85], 1.0, False),
        ("poorer", [0.7, 0.7], 1.0, True),
        ("poorer", [0.79, 0.79], 1.0, False),
        ("poorer", [None, None], 1.0, None),
        ("faster", [0.8, 0.8], 2.5, True),
        ("faster", [0.8, 0.8], 1.5, False),
        ("same-time", [0.8, 0.8], 0.5, True),
        ("same-time", [0.8, 0.8], 4.0, False),
    ],
)
def test_claims_are_judged_by_their_kind(kind, scores, seconds, holds):
    check_claims = load_module("claims").check_claims
    methods = {"A": {"0": record([0.8, 0.8], 1.0)}, "B": {"0": record(scores, seconds)}}
    (verdict,) = check_claims(claim(kind), {"d": {"std": methods}})
    assert verdict["holds"] is holds


def test_claims_compare_common_splits_only():
    check_claims = load_module("claims").check_claims
    ours = {"0": record([0.8, 0.8], 1.0), "1": record([0.2, 0.2], 1.0)}
    methods = {"A": ours, "B": {"0": record([0.8, None], 1.0)}}
    (verdict,) = check_claims(claim("accuracy"), {"d": {"std": methods}})
    assert verdict["holds"] is True


def test_time_of_a_selection_for_every_k_counts_for_one():
    check_claims = load_module("claims").check_claims
    methods = {"A": {"0": record([0.8, 0.8], 1.0)}, "B": {"0": record([0.8, 0.8], 3.0)}}
    (verdict,) = check_claims(claim("faster"), {"d": {"std": methods}}, per_k=["B"])
    assert verdict["holds"] is False  # 1.5 times as long for one k


def test_l1_paths_take_the_largest_coefficients_of_the_first_penalty_that_lets_k_in():
    methods = load_module("methods")
    path = iter([[0, 0, 3, 0, 0], [0, 1, 2, 0, 0], [4, 3, 2, 0, 0], [4, 3, 2, 0, 1]])
    last = np.array([4, 3, 2, 0, 1])
    supports = methods.largest_along_path(
        lambda step: np.array(next(path, last)), ks=[1, 2, 5], deadline=np.inf
    )
    assert {k: s.tolist() for k, s in supports.items()} == {1: [2], 2: [2, 1], 5: [0, 1, 2, 4]}


def test_rescaling_uses_the_training_part_and_keeps_sparse_data_sparse():
    datasets = load_module("datasets")
    rng = np.random.default_rng(0)
    train, test = rng.poisson(0.5, size=(50, 6)).astype(float), np.ones((2, 6))
    train[:, 0] = 0.0
    variance = np.where(train.var(axis=0) > 0, train.var(axis=0), 1.0)
    sparse = datasets.sparse
    a, b = datasets.rescale(sparse.csr_array(train), sparse.csr_array(test), "variance")
    assert sparse.issparse(a)
    np.testing.assert_allclose(a.toarray(), train / variance)
    np.testing.assert_allclose(b.toarray(), test / variance)
    dense = datasets.rescale(train, test, "std")[0]
    np.testing.assert_allclose(dense, (train - train.mean(axis=0)) / np.sqrt(variance))
