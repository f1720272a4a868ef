"""Messages name what the caller can change: options of the command, or parameters."""

import pickle

import numpy as np
import pandas as pd
import pytest

from tamis import compare, read_table
from tamis.cli import main
from tamis.tables.errors import InputError, in_python


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("use --max-size 2GB.", "use max_size=2GB."),
        ("--confidence is about --max-error", "confidence is about max_error"),
        ("or --no-baselines for those", "or baselines=False for those"),
        ("(--calibration-share 0.3)", "(calibration_share=0.3)"),
        ("with --drop a,b.", "with drop=['a', 'b']."),
        ("to use: --text 'heart rate,a\\, b'; see", "to use: text=['heart rate', 'a, b']; see"),
        ("--drop is for columns", "drop is for columns"),
        ("use --missing-values 'NA,-'", "use missing_values=['NA', '-']"),
        ("tamis pick --n-features 5 or --keep a", "tamis pick --n-features 5 or keep=a"),
        ("Use --to python.", "Use export_python."),
        ("specify it with --id", "specify it with id_column"),
    ],
)
def test_options_become_parameters(message, expected):
    assert in_python(message) == expected
    assert in_python(expected) == expected


def test_an_error_has_both_forms_and_survives_pickling():
    error = pickle.loads(pickle.dumps(InputError("too\nlarge: --max-size 2GB")))
    assert str(error) == "too large: max_size=2GB"
    assert error.for_command == "too large: --max-size 2GB"


def test_python_reads_parameters_and_the_command_prints_options(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 3000, encoding="utf-8")
    with pytest.raises(ValueError, match=r"limit.*; max_size=\S+ raises it"):
        read_table(path, "b", max_size=1000)
    assert main(["fit", str(path), "--target", "b", "--max-size", "1kB"]) == 2
    assert "--max-size" in capsys.readouterr().err


def test_compare_names_its_own_parameters_in_errors_and_checks():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.column_stack([rng.normal(size=40), y + 0.01 * rng.normal(size=40)])
    with pytest.raises(ValueError, match=r"^batches: there is only one site or batch"):
        compare(X, y, batches=np.zeros(40))
    comparison = compare(X, y, methods=["centers", "most-frequent"], cv=2, repeats=1)
    advice = " ".join(check.advice for check in comparison.checks)
    assert "drop=['x1']" in advice and "--" not in advice
    assert not any("--" in note for note in comparison.data.notes)


def visits(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    crp = [f"{value:.1f}".replace(".", ",") for value in 30 + 20 * y + 9 * rng.normal(size=n)]
    saturation = [f"{value:.1f}%".replace(".", ",") for value in 97 - 2 * y + rng.normal(size=n)]
    frame = pd.DataFrame(
        {
            "Patient-Nr": [f"P-{100 + 7 * i}" for i in range(n)],
            "the comment": [f"sent by doctor number {i} for some reasons" for i in range(n)],
            "crp": ["<5", "<5", "<5", *crp[3:]],
            "SpO2 %": saturation,
            "result": np.where(y == 1, "ill", "well"),
        }
    )
    return frame.astype(object)


@pytest.mark.parametrize("delimiter", [";", ","])
def test_a_frame_and_its_file_have_the_same_features_and_dropped_columns_are_told(
    delimiter, tmp_path, recwarn
):
    visits().to_csv(tmp_path / "t.csv", sep=delimiter, index=False)
    table = read_table(tmp_path / "t.csv", "result")
    assert sorted(table.columns.names) == ["SpO2 %", "crp"]
    assert any("text=['the comment']" in note for note in table.notes)
    assert not any("--" in note for note in table.notes)
    frame = pd.read_csv(tmp_path / "t.csv", sep=delimiter)
    comparison = compare(frame, "result", methods=["centers"], cv=2, repeats=1)
    assert sorted(comparison.data.columns.names) == sorted(table.columns.names)
    order = [comparison.data.columns.numeric_names.tolist().index(n) for n in ("crp", "SpO2 %")]
    same = [table.columns.numeric_names.tolist().index(name) for name in ("crp", "SpO2 %")]
    numbers = comparison.data.columns.numeric[:, order]
    np.testing.assert_array_equal(numbers, table.columns.numeric[:, same])
    assert comparison.notes == comparison.data.notes
    assert any("decimal commas" in note for note in comparison.notes)
    (told,) = [str(w.message) for w in recwarn if "dropped" in str(w.message)]
    assert "Patient-Nr" in told and "text=['the comment']" in told and "--" not in told
    assert any(note in told for note in comparison.notes)


def test_the_command_as_options_with_names_in_quotes(tmp_path, capsys):
    visits().to_csv(tmp_path / "t.csv", sep=";", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "--target", "result", "--methods", "centers"]
    assert main([*words, "--folds", "2", "--repeats", "1"]) == 0
    assert "--text 'the comment'" in " ".join(capsys.readouterr().err.split())
