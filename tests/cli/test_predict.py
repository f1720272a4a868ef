import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tamis.models.saving import read_model
from tamis.tables import read_rows
from tests.cli.conftest import HEADER, make_rows, write_csv


def test_the_command_prints_what_the_model_says(run_folder, new, table):
    rows = table("predict", run_folder, new, "--id", "name")
    model = read_model(os.path.join(run_folder, "model.json"))
    chunk, _ = next(read_rows(new, model.preparation.required, model.preparation.kinds))
    assert list(rows[0]) == ["name", "prediction", "p_ill", "p_well"]
    assert [row["name"] for row in rows] == [f"s{i}" for i in range(41)]
    assert [row["prediction"] for row in rows] == model.predict(chunk).tolist()
    found = [[float(row["p_ill"]), float(row["p_well"])] for row in rows]
    np.testing.assert_allclose(found, model.predict_proba(chunk), atol=1e-9)


def test_the_column_of_names_is_the_only_one_with_its_name(run_folder, new, table, tmp_path):
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(Path(new).read_text().replace("name", "prediction", 1))
    rows = table("predict", run_folder, renamed, "--id", "prediction")
    assert list(rows[0]) == ["prediction", "tamis_prediction", "p_ill", "p_well"]
    assert rows[0]["prediction"] == "s0"
    rows = table("explain", run_folder, renamed, "--id", "prediction")
    assert list(rows[0])[:2] == ["prediction", "tamis_prediction"]


@pytest.mark.slow
def test_a_process_writes_the_same_as_a_file_and_on_standard_output(run_folder, new, tmp_path):
    words = [sys.executable, "-m", "tamis", "predict", run_folder, new]
    printed = subprocess.run(words, capture_output=True, text=True, check=True)
    path = tmp_path / "out.csv"
    written = subprocess.run([*words, "-o", path], capture_output=True, text=True, check=True)
    assert written.stdout == "" and written.stderr.startswith("tamis: probabilities are for ")
    assert path.read_text() == printed.stdout
    assert printed.stdout.startswith("row,prediction,p_ill,p_well\n1,")
    assert os.listdir(tmp_path) == ["out.csv"]


def test_columns_go_by_name_and_others_are_ignored(run_folder, new, table, tmp_path):
    with open(new, newline="") as file:
        rows = [[*row[::-1], "x"] for row in csv.reader(file)]
    turned = write_csv(tmp_path / "turned.csv", rows[0], rows[1:])
    assert table("predict", run_folder, turned) == table("predict", run_folder, new)


@pytest.mark.parametrize("method", ["centers", "landmarks", "datum-wise"])
def test_rows_come_in_order_over_many_chunks(models, method, tmp_path, table, monkeypatch):
    monkeypatch.setattr("tamis.cli.predict_command._MOST_ROWS", 50)
    many = write_csv(tmp_path / "many.csv", HEADER, make_rows(163, 3))
    in_chunks = table("predict", models[method], many)
    monkeypatch.setattr("tamis.cli.predict_command._MOST_ROWS", 1000)
    assert [row["row"] for row in in_chunks] == [str(i) for i in range(1, 164)]
    assert in_chunks == table("predict", models[method], many)


def test_a_chunk_is_never_larger_than_told(models, tmp_path, table, monkeypatch):
    from tamis.tables import TableModel

    sizes, predict = [], TableModel.predict_rows
    monkeypatch.setattr("tamis.cli.predict_command._MOST_ROWS", 60)
    monkeypatch.setattr(
        TableModel,
        "predict_rows",
        lambda self, table, *more: (sizes.append(table.n_rows), predict(self, table, *more))[1],
    )
    many = write_csv(tmp_path / "many.csv", HEADER, make_rows(130, 3))
    table("predict", models["centers"], many)
    assert sizes == [60, 60, 10]


def test_priors_move_probabilities_by_their_ratio(run_folder, new, table):
    before = table("predict", run_folder, new)
    after = table("predict", run_folder, new, "--priors", "well=0.9,ill=0.1")
    for old, now in zip(before, after, strict=True):
        odds = float(old["p_ill"]) / float(old["p_well"])
        assert float(now["p_ill"]) / float(now["p_well"]) == pytest.approx(odds / 9, rel=1e-6)


def test_a_threshold_finds_the_same_rows_whatever_the_priors(models, new, table, tmp_path):
    from tamis.models import save_model

    model = read_model(models["centers"])
    model.positive, model.threshold = "ill", 0.3
    save_model(model, tmp_path / "careful.json")
    rows = table("predict", tmp_path / "careful.json", new)
    assert all((row["prediction"] == "ill") == (float(row["p_ill"]) >= 0.3) for row in rows)
    other = table("predict", tmp_path / "careful.json", new, "--priors", "ill=0.02,well=0.98")
    assert [row["prediction"] for row in other] == [row["prediction"] for row in rows]
    assert any(row["p_ill"] != changed["p_ill"] for row, changed in zip(rows, other, strict=True))


def test_rows_of_small_probability_are_referred(run_folder, new, table, tamis):
    rows = table("predict", run_folder, new, "--refer", "0.9")
    best = [max(float(row["p_ill"]), float(row["p_well"])) for row in rows]
    assert [row["refer"] for row in rows] == ["yes" if p < 0.9 else "no" for p in best]
    assert {row["refer"] for row in rows} == {"yes", "no"}


def test_datum_wise_models_say_what_they_asked_for(models, new, table):
    rows = table("predict", models["datum-wise"], new)
    assert list(rows[0])[-2:] == ["n_asked", "asked"]
    for row in rows:
        asked = row["asked"].split(";") if row["asked"] else []
        assert len(asked) == int(row["n_asked"])
        assert set(asked) <= {"age", "dose", "color", "noise"}


def test_datum_wise_models_do_without_a_column(models, new, tmp_path, tamis):
    with open(new, newline="") as file:
        rows = [row[2:4] for row in csv.reader(file)]
    less = write_csv(tmp_path / "less.csv", rows[0], rows[1:])
    code, out, err = tamis("predict", models["datum-wise"], less)
    assert code == 0 and out.count("\n") == 42
    assert err.startswith("tamis: columns not in the file, treated as missing: age, noise\n")
    assert "age" not in out


def test_datum_wise_models_need_one_column(models, tmp_path, refuses):
    other = write_csv(tmp_path / "other.csv", ["a", "b"], [[1, 2], [3, 4]])
    refuses("predict", models["datum-wise"], other, match="lacks 4 of the 4 columns")


def test_words_among_numbers_are_counted(run_folder, tmp_path, tamis):
    rows = make_rows(40, 4)
    rows[3][2] = rows[7][2] = "high"
    odd = write_csv(tmp_path / "odd.csv", HEADER, rows)
    code, out, err = tamis("predict", run_folder, odd)
    assert code == 0 and out.count("\n") == 41
    assert "dose (2)" in err


def test_a_table_without_rows_gives_a_header(run_folder, tmp_path, tamis):
    empty = write_csv(tmp_path / "empty.csv", HEADER, [])
    code, out, err = tamis("predict", run_folder, empty)
    assert (code, out) == (0, "row,prediction,p_ill,p_well\n")
    assert err.startswith("tamis: empty.csv has no rows: nothing to predict\n")


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        ("ill=0.1", "missing: well"),
        ("ill=0.1,well=0.8", "sum to 0.9"),
        ("ill=0.1,well=0.9,dead=0.1", "no class 'dead'"),
        ("ill=0,well=1", "above 0"),
        ("ill=x,well=1", "above 0"),
        ("ill=nan,well=1", "above 0"),
        ("ill=0.5,ill=0.5", "twice"),
        ("ill", "CLASS=FREQUENCY"),
        ("", "CLASS=FREQUENCY"),
    ],
)
def test_wrong_priors_are_refused(run_folder, new, refuses, priors, match):
    refuses("predict", run_folder, new, "--priors", priors, match=match)


def test_missing_columns_are_named(run_folder, tmp_path, refuses):
    less = write_csv(tmp_path / "less.csv", ["age", "dosis"], [[50, 1], [60, 2]])
    err = refuses("predict", run_folder, less, "-o", tmp_path / "out.csv", match="dose")
    assert "dosis" in err
    assert not (tmp_path / "out.csv").exists()


def test_nonsense_is_one_line(run_folder, new, small, tmp_path, refuses):
    refuses("predict", tmp_path / "nowhere", new, match="nowhere")
    refuses("predict", tmp_path, new, match="no model.json")
    refuses("predict", small, new, match="is not a model file; name the folder")
    refuses("predict", run_folder, tmp_path / "nowhere.csv", match="no file")
    refuses("predict", run_folder, new, "-o", tmp_path / "no" / "x.csv", match="no folder")
    refuses("predict", run_folder, new, "-o", tmp_path, match="is a folder")
    refuses("predict", run_folder, new, "--id", "nam", match="--id nam")
    refuses("predict", run_folder, new, "--format", "spss", match="format")


def test_the_data_are_never_replaced(run_folder, new, refuses):
    before = Path(new).read_text()
    refuses("predict", run_folder, new, "-o", new, match="would replace")
    assert Path(new).read_text() == before


def test_wrong_words_are_a_wrong_call(run_folder, new, tamis):
    assert tamis("predict", run_folder)[0] == 2
    assert tamis("predict", run_folder, new, "--refer", "2")[0] == 2


def test_a_failure_on_the_way_leaves_the_old_file(run_folder, tmp_path, tamis, monkeypatch):
    monkeypatch.setattr("tamis.cli.predict_command._MOST_ROWS", 50)
    rows = make_rows(120, 5)
    rows[110].append("one too many")
    bad, out = write_csv(tmp_path / "bad.csv", HEADER, rows), tmp_path / "out.csv"
    out.write_text("old\n")
    code, _, err = tamis("predict", run_folder, bad, "-o", out)
    assert code == 2 and err.count("\n") == 1
    assert out.read_text() == "old\n"
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "out.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_devices_are_written_to_and_not_replaced(run_folder, new, tamis):
    assert tamis("predict", run_folder, new, "-o", "/dev/null")[0] == 0
    assert not os.path.isfile("/dev/null")
    code, _, err = tamis("predict", run_folder, new, "-o", "/dev/full")
    assert code == 1 and err.startswith("tamis: error: no space left") and err.count("\n") == 1


def test_a_link_stays_a_link(run_folder, new, tmp_path, tamis):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "there" / "real.csv")
    assert tamis("predict", run_folder, new, "-o", tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there" / "real.csv").read_text().startswith("row,prediction")
