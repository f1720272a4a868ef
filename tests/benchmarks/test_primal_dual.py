"""The paper benchmark runs from end to end on tiny data, goes on, and its parts are right."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "primal_dual"
NAMES = (
    *("datasets", "norm_loss", "rivals", "stopping"),
    *("methods", "records", "report", "plot", "run"),
)


@pytest.fixture
def modules(monkeypatch):
    """The benchmark's modules, which import one another by their bare names."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def tiny_data(tmp_path):
    rng = np.random.default_rng(0)
    home = tmp_path / "data"
    (home / "genes").mkdir(parents=True)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 20)).astype(np.float32)
    X[:, :3] += 3 * y[:, None]
    labels = np.array(["ER-negative", "ER-positive"])[y]
    np.savez(home / "genes" / "breast_metabolomics.npz", X=X, y=labels)
    return home


@pytest.fixture
def run(modules, monkeypatch, capsys):
    """The command: its exit code, and what it wrote."""
    monkeypatch.delenv("TAMIS_DATA", raising=False)

    def call(*arguments):
        code = modules("run").main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def test_tiny_data_give_all_results_and_a_second_run_goes_on_from_them(
    run, modules, monkeypatch, tiny_data, tmp_path
):
    known = modules("datasets").DATASETS
    quick = replace(known["breast_metabolomics"], radii=(0.3, 1.0), inner_folds=1)
    monkeypatch.setitem(known, "breast_metabolomics", quick)
    output = tmp_path / "results"
    options = ("--data", tiny_data, "--only", "breast_metabolomics", "--output", output)
    options = (*options, "--repeats", 1)
    assert run(*options, "--parts", "accuracy")[0] == 0
    document = json.loads((output / "primal_dual.json").read_text())
    assert set(document["settings"]["versions"]) > {"tamis", "numpy"}
    assert len(document["records"]) == 4 * (5 + 4 + 4)
    # Three features tell the classes apart.
    huber = [r for k, r in document["records"].items() if "/tamis/Huber/" in k]
    assert np.mean([r["accuracy"] for r in huber]) > 0.9
    assert max(r["gap"] for r in huber) <= 1e-3

    code, report, progress = run(*options, "--parts", "stop,accuracy")
    assert code == 0
    assert "stop/" in progress and "accuracy/" not in progress
    assert (output / "primal_dual.md").read_text().strip() == report.strip()
    assert (output / "primal_dual.png").stat().st_size > 10_000


def test_missing_data_end_the_run_with_a_message_and_code_2(run, tmp_path):
    code, _, errors = run("--data", tmp_path, "--only", "ovarian", "--output", tmp_path)
    assert code == 2
    assert "genes/ovarian.npz is missing" in errors
    assert "--data DIR" in errors
    assert not list(tmp_path.iterdir())


def test_unknown_data_sets_are_named(run, capsys):
    with pytest.raises(SystemExit):
        run("--only", "nonsense")
    assert "'nonsense'" in capsys.readouterr().err


def test_small_problems_are_timed_and_stand_in_the_report(modules, tmp_path, monkeypatch):
    command, records = modules("run"), modules("records")
    monkeypatch.setattr(command, "FEATURES", (40, 80))
    monkeypatch.setattr(command, "SAMPLES", (60,))
    monkeypatch.setattr(command, "FIXED", {"d": 60, "m": 40})
    results = records.Results(tmp_path / "primal_dual.json", records.make_settings(0))
    results.environment["cap"] = 5.0
    for key, measure in command.timing_tasks(command.parse([])):
        results.add(key, measure())
    assert all(record["reached"] for record in results.records.values())
    published = json.loads((FOLDER / "published.json").read_text())
    report = modules("report").write_report(results, published)
    assert "| Algorithm 1 / tamis |" in report
    assert "d = 80" in report


@pytest.mark.parametrize("solver", ["Algorithm 1", "tamis", "FISTA", "ADMM"])
def test_every_solver_of_the_timing_table_reaches_the_same_objective(modules, solver):
    rivals, stopping = modules("rivals"), modules("stopping")
    X, y = modules("datasets").generate(60, 40, correlation=0.5, n_informative=10)
    problem = stopping.make(X, y, "huber", 0.25, 2.0)
    *_, exact = stopping.solve(problem, tol=1e-9)
    pair = None
    for new in rivals.SOLVERS[solver](problem):
        pair = new if pair is None else pair.better(new.primal, new.dual)
        if pair.gap <= 1e-5 * exact.unit:
            break
    assert pair.primal.value == pytest.approx(exact.pair.primal.value, rel=2e-5)
    assert problem.ball.norm(pair.primal.W) <= 1 + 1e-9
    record = rivals.time_to_gap(solver, problem, tol=1e-3, cap=30.0)
    assert record["reached"] and record["gap"] <= 1e-3


def test_a_time_that_was_stopped_says_so(modules):
    X, y = modules("datasets").generate(60, 40)
    problem = modules("stopping").make(X, y, "huber", 0.25, 2.0)
    record = modules("rivals").time_to_gap("FISTA", problem, tol=1e-9, cap=0.0)
    assert not record["reached"]
    assert modules("report")._time(record).startswith("(")


def test_algorithm_1_with_the_unsquared_norm_closes_its_own_gap(modules):
    X, y = modules("datasets").generate(60, 10)
    problem = modules("stopping").make(X, y, "norm", 0.0, None)
    *_, last = modules("stopping").algorithm_1(problem, max_iter=3000)
    assert -1e-12 * last.unit <= last.pair.gap <= 1e-3 * last.unit
    rng = np.random.default_rng(0)
    for _ in range(20):
        W = problem.ball.project(rng.normal(size=last.pair.primal.W.shape))
        mu = np.eye(2) + 0.3 * rng.normal(size=(2, 2))
        assert problem.primal(W, mu).value >= last.pair.dual.value


def test_the_published_table_has_a_number_for_every_method_and_size(modules):
    published = json.loads((FOLDER / "published.json").read_text())
    report = modules("report")
    columns = published["accuracy"]["columns"]
    assert set(report.COLUMNS.values()) == set(columns)
    assert all(len(row["values"]) == 4 for row in published["accuracy"]["rows"].values())
    seconds = published["seconds"]
    assert len(seconds["d"]) == len(seconds["primal_dual"]) == len(seconds["fista"])


def test_the_grid_of_radii_grows_until_the_score_falls(modules):
    search = modules("methods").search
    tried, best = search((1.0, 3.162), lambda radius: -abs(np.log10(radius / 31.62)))
    assert tried == [1.0, 3.162, 10.0, 31.62, 100.0]
    assert best == 31.62
    tried, best = search((1.0, 3.162), lambda radius: -abs(np.log10(radius / 0.1)))
    assert tried == [1.0, 3.162, 0.3162, 0.1, 0.03162]
    assert best == 0.1


def test_a_grid_of_equal_scores_ends(modules):
    methods = modules("methods")
    tried, best = methods.search((1.0, 3.162), lambda radius: 0.5)
    assert best == min(tried) == methods.LEAST
    tried, best = methods.search((1.0, 3.162), lambda radius: radius)
    assert best == max(tried) == methods.MOST


def test_the_paper_s_algorithm_keeps_its_last_iterate_when_zero_weights_are_better(modules):
    X, y = modules("datasets").generate(60, 40, n_informative=10)
    model = modules("methods").make_model("published", "l1", 30).set_params(radius=1.0).fit(X, y)
    assert model.relative_gap_ > 1  # the objective is above that of W = 0
    assert model.n_features_ > 0


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (70.0, "another radius"),
        (65.0, "between 0.32 and 1"),
        (85.0, "more iterations"),
        (95.0, "until convergence"),
        (80.0, "not explained"),
    ],
)
def test_an_explanation_is_a_measured_one(modules, theirs, said):
    curve = {0.3162: 0.6, 1.0: 0.7}
    entry, converged = {"mean": 0.6, "std": 0.02}, {"mean": 0.95}
    assert said in modules("report")._explain(theirs, entry, curve, converged, 0.85)[-1]
