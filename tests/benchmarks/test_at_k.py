"""The comparison at equal numbers of features: from end to end on tiny data, and its tables."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accuracy"
MODULES = ("at_k", "at_k_data", "at_k_rivals", "at_k_tables", "at_k_picture")


@pytest.fixture
def at_k(monkeypatch):
    """The modules of the benchmark, by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def tiny_data(tmp_path):
    rng = np.random.default_rng(0)
    home = tmp_path / "data"
    for name, n_classes in (("genes/chin", 2), ("raetsch/heart", 2), ("uci/iris", 3)):
        y = np.arange(90) % n_classes
        X = rng.normal(size=(90, 6))
        X[:, :2] += 2 * y[:, None]
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(home / f"{name}.npz", X=X, y=y)
    return home


def test_tiny_data_give_tables_and_a_second_run_measures_nothing_again(
    at_k, tiny_data, tmp_path, capsys
):
    arguments = ["--data", str(tiny_data), "--output", str(tmp_path), "--splits", "2", "--sets"]
    arguments += ["genes/chin", "raetsch/heart", "uci/iris", "--methods", "panel", "ANOVA"]
    arguments += ["relaxed l1", "Logistic-RFE", "sparse centers"]
    at_k["at_k"].main(arguments)
    assert "6 of 6: " in capsys.readouterr().err
    records = json.loads((tmp_path / "at_k.json").read_text())
    assert len(records) == 6
    assert records["uci/iris 1"]["shape"] == {"rows": 67, "test": 23, "columns": 6, "classes": 3}
    for record in records.values():
        assert set(record["ANOVA"]["scores"]) == {"logistic", "auto"}
        assert set(record["panel"]["scores"]["own"]) == {"1", "2", "3", "5"}
        assert record["panel"]["scores"]["own"]["2"] > 0.6
    report = (tmp_path / "at_k.md").read_text()
    assert report.count("\n| Logistic-RFE | 3 |") == 3  # twice compared, and its seconds
    assert "| *number of sets* | 3 | 3 | 3 | 3 | 3 |" in report
    assert "Only the 2 sets on which no setting was tuned." in report
    assert (tmp_path / "at_k.png").stat().st_size > 10_000
    at_k["at_k"].main(arguments)
    assert capsys.readouterr().err == ""
    assert (tmp_path / "at_k.md").read_text() == report


def make_records(gaps, n_splits=4):
    """Records in which the panel is ahead of "rival" by given points, other ones in every split.

    gaps : {set name: mean gap}
    """
    shape = {"rows": 75, "test": 25, "columns": 50, "classes": 2}
    records = {}
    for name, gap in gaps.items():
        for s in range(n_splits):
            noise = 0.01 * (-1) ** s
            own = dict.fromkeys(("2", "3", "5", "8", "12"), 0.8 + gap + noise)
            theirs = dict.fromkeys(own, 0.8)
            records[f"{name} {s}"] = {
                "shape": shape,
                "panel": {"scores": {"own": own}, "seconds": {"all": 3.0}},
                "rival": {
                    "scores": {"logistic": theirs, "auto": own},
                    "seconds": {"selection": 1.0, "logistic": 0.5, "auto": 0.7},
                },
            }
    return records


GAPS = {"genes/chin": 0.05, "raetsch/heart": 0.002, "uci/cmc": -0.03, "uci/bank": 0.04}


def test_differences_are_those_of_sets_and_cells_win_beyond_one_standard_error(at_k):
    tables = at_k["at_k_tables"]
    found = tables.Differences(
        tables.Scores(make_records(GAPS)), ("panel", "own"), ("rival", "logistic")
    )
    gaps = 100 * np.array(list(GAPS.values()))
    np.testing.assert_allclose(sorted(100 * found.of_sets()), sorted(gaps))
    # By Nadeau and Bengio: variance of +-0.01 in four splits, times 1/4 + 25/75.
    expected = np.sqrt(np.var([0.01, -0.01, 0.01, -0.01], ddof=1) * (1 / 4 + 25 / 75))
    assert found.cells["uci/cmc", 5][1] == pytest.approx(expected)
    assert found.wins_and_losses() == "10 : 5"
    error = gaps.std(ddof=1) / 2
    n_sets, mean, shown, low, _, cells, p, n_lost = found.summary()
    assert (n_sets, mean, shown, cells) == (4, f"{gaps.mean():+.2f}", f"{error:.2f}", "10 : 5")
    assert float(low) == pytest.approx(gaps.mean() - stats.t.ppf(0.9, 3) * error, abs=0.005)
    assert float(p) == pytest.approx(stats.wilcoxon(gaps).pvalue, abs=1e-4)
    assert found.only(lambda name, k: k == 3).wins_and_losses() == "2 : 1"
    # Behind by 3 points: the upper limit is -3 + 2.35 x the error of 0.88.
    assert n_lost == 0


def test_a_set_is_lost_if_even_the_upper_limit_is_more_than_two_points_behind(at_k):
    tables = at_k["at_k_tables"]
    scores = tables.Scores(make_records({"uci/cmc": -0.03, "uci/bank": -0.05}))
    assert tables.Differences(scores, ("panel", "own"), ("rival", "logistic")).n_lost() == 1


def test_equal_scores_are_no_difference_and_one_split_has_no_error(at_k):
    tables = at_k["at_k_tables"]
    scores = tables.Scores(make_records(GAPS))
    assert tables.Differences(scores, ("panel", "own"), ("rival", "auto")).summary()[1] == "+0.00"
    single = tables.Scores(make_records(GAPS, n_splits=1))
    found = tables.Differences(single, ("panel", "own"), ("rival", "logistic"))
    assert found.wins_and_losses() == "-"


def test_tables_of_unfinished_records(at_k, tmp_path):
    tables = at_k["at_k_tables"]
    tables.write_tables({}, tmp_path)
    assert "No records yet." in (tmp_path / "at_k.md").read_text()
    records = make_records(GAPS)
    del records["genes/chin 2"]
    del records["raetsch/heart 0"]["rival"]
    del records["uci/cmc 1"]["panel"]
    for key in [key for key in records if key.startswith("uci/bank")]:
        del records[key]["rival"]  # all splits: the set is not compared
    tables.write_tables(records, tmp_path)
    report = (tmp_path / "at_k.md").read_text()
    assert "\n| rival | 3 |" in report
    assert "nan" not in report
    for only in ("panel", "rival"):
        part = {
            k: {m: v for m, v in r.items() if m in ("shape", only)} for k, r in records.items()
        }
        tables.write_tables(part, tmp_path)
        assert "nan" not in (tmp_path / "at_k.md").read_text()


def test_cells_need_fewer_features_than_the_set_has(at_k):
    records = make_records({"uci/cmc": 0.01})
    for record in records.values():
        record["shape"] = {**record["shape"], "columns": 8}
    scores = at_k["at_k_tables"].Scores(records)
    assert {k for _, k in scores.found["panel", "own"]} == {2, 3, 5}


def test_locked_sets_are_refused_before_the_release(at_k, monkeypatch):
    data = at_k["at_k_data"]
    assert len(data.LOCKED) >= 6
    assert not set(data.LOCKED) & set(data.SETS)
    for version in ("0.0.9", "0.1.0.dev0", "0.1.0rc1"):
        monkeypatch.setattr(data.tamis, "__version__", version)
        for name in data.LOCKED:
            with pytest.raises(SystemExit, match="locked until version"):
                data.load_locked(name, "nowhere")


@pytest.mark.parametrize("version", ["0.1.0", "0.1.1.dev0", "0.2.0.dev0"])
def test_locked_sets_open_with_the_release(at_k, tmp_path, monkeypatch, version):
    data = at_k["at_k_data"]
    monkeypatch.setattr(data.tamis, "__version__", version)
    monkeypatch.setattr(data, "MAX_ROWS", 40)
    (tmp_path / "uci").mkdir()
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.arange(100.0), rng.normal(size=100)]), np.arange(100) % 2
    Y_all = np.tile(np.repeat([[3], [5]], 50, axis=0), (1, 19))
    np.savez(tmp_path / "uci" / "bank.npz", X=X, y=y)
    np.savez(tmp_path / "uci" / "drugconsumption.npz", X=X, y=y, Y_all=Y_all)
    seen = data.load("uci/bank", tmp_path)[0][:, 0]
    rest, labels, groups = data.load_locked("uci/bank, other rows", tmp_path)
    assert rest.shape == (40, 2)
    assert not np.isin(rest[:, 0], seen).any()
    np.testing.assert_array_equal(labels, rest[:, 0] % 2)
    assert groups is None
    X_other, other, _ = data.load_locked("uci/drugconsumption, nicotine", tmp_path)
    np.testing.assert_array_equal(other, X_other[:, 0] >= 50)


def test_locked_sets_have_results_of_their_own(at_k, tiny_data, tmp_path, monkeypatch):
    at_k_data, benchmark = at_k["at_k_data"], at_k["at_k"]
    locked = {"again": at_k_data.Locked("uci/iris")}
    for module in (at_k_data, benchmark):
        monkeypatch.setattr(module, "LOCKED", locked)
    monkeypatch.setattr(at_k_data.tamis, "__version__", "0.1.0")
    words = ["--data", tiny_data, "--output", tmp_path, "--splits", 1, "--methods", "ANOVA"]
    benchmark.main(["--locked", *map(str, words)])
    records = json.loads((tmp_path / "locked" / "at_k.json").read_text())
    assert list(records) == ["again 0"] and "ANOVA" in records["again 0"]
    assert not (tmp_path / "at_k.json").exists()
