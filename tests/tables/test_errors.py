"""Messages name what the caller can change: options of the command, or parameters."""

import pickle

import numpy as np
import pytest

from tamis import compare, read_table
from tamis.cli import main
from tamis.tables.errors import InputError, in_python


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("use --max-size 2GB.", "use max_size=2GB."),
        ("--confidence is about --max-error", "confidence is about max_error"),
        ("or --allow-baselines for those", "or allow_baselines=True for those"),
        ("(--calibration-share 0.3)", "(calibration_share=0.3)"),
        ("with --drop a,b.", "with drop=a,b."),
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
    assert "drop=x1" in advice and "--" not in advice
    assert not any("--" in note for note in comparison.data.notes)
