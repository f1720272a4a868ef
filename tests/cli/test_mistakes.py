"""Common mistakes: a wrong folder, file or name is called by its name, with what to do."""

import os
import shutil

import pytest

from tamis.report.questionnaire.fields import Field

SMALL = ("--target", "y", "--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1")


def test_a_folder_that_is_none_is_told_apart_from_one_that_is_absent(small, tmp_path, refuses):
    rest = ["--n-features", "2", "-o", tmp_path / "x"]
    refuses("pick", tmp_path / "nothere", *rest, match="nothere does not exist; name the folder")
    refuses("pick", small, *rest, match="is a file, not a run folder; name the folder")
    refuses("report", small, match="is a file, not a run folder")


def test_a_table_in_the_place_of_a_model_is_named_first(small, new, refuses):
    refuses("predict", small, new, match="small.csv is not a model file; name")


def test_data_at_a_relative_path_are_looked_for_where_fit_ran(
    small, tmp_path, tamis, refuses, monkeypatch
):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    shutil.copy(small, here / "data.csv")
    monkeypatch.chdir(here)
    code, _, err = tamis("fit", "data.csv", *SMALL, "--no-report", "-o", "run")
    assert code == 0, err
    monkeypatch.chdir(there)
    words = ["pick", os.path.join("..", "here", "run"), "--n-features", "1", "-o", "one"]
    told = "not at data.csv, a path relative to the folder where tamis fit ran; give their path"
    refuses(*words, match=told)
    assert tamis(*words, "--data", here / "data.csv")[0] == 0


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("lasso", "is called l1-logistic here: tamis pick RUN --method l1-logistic"),
        (
            "l1-logistic",
            "is only compared in this run. To use its models, repeat tamis fit without --no-b",
        ),
        ("random forest", "is a baseline, whose models cannot be picked"),
    ],
)
def test_a_baseline_that_cannot_be_picked_is_called_one(
    run_folder, tmp_path, refuses, method, told
):
    words = ["pick", run_folder, "--method", method, "--n-features", "2", "-o", tmp_path / "x"]
    refuses(*words, match=told)


def test_a_recommended_model_that_can_be_read_is_said_to_be(run_folder, tmp_path, tamis):
    code, out, err = tamis("pick", run_folder, "--readable", "-o", tmp_path / "readable")
    assert code == 0 and "\nRECOMMENDED: " in out
    assert "the recommended model can be read already; this is the same model" in err


def test_more_features_than_any_model_has_are_no_surprise(run_folder, tmp_path, tamis):
    words = ["pick", run_folder, "--no-report", "-o", tmp_path / "x", "--n-features"]
    assert "the largest model of centers has 4 features" in tamis(*words, "99999999")[2]
    assert "the largest model" not in tamis(*words, "4")[2]


def test_a_fit_without_a_folder_says_at_the_start_that_nothing_is_saved(small, tamis):
    code, _, err = tamis("fit", small, *SMALL)
    assert code == 0 and "nothing will be saved, because -o RUN is not given" in err
    assert err.index("nothing will be saved") < err.index("sparse centers, means: done")


def test_a_decimal_comma_in_an_answer_gets_a_hint():
    field = Field("dose", "number", [0], [0.0])
    with pytest.raises(ValueError, match=r"got '5,2'; write 5.2, with a point"):
        field.read("5,2")
    with pytest.raises(ValueError, match=r"got 'a,2'.$"):
        field.read("a,2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("fit", "--maxfeatures", "3"), "did you mean --max-features? (see tamis fit --help)"),
        (("fit", "x.csv", "--method", "panel"), "did you mean --methods? (see tamis fit --help)"),
        (("fit", "--methods", "pannel"), "Did you mean panel?"),
        (("fitt",), "did you mean fit? (see tamis --help)"),
        (("export", "run", "--to", "cards", "-o", "x"), "did you mean card? (see tamis export"),
        (("fit", "--zzz"), "unrecognized arguments: --zzz (see tamis fit --help)"),
    ],
)
def test_the_nearest_name_is_suggested(refuses, words, told):
    assert told in refuses(*words)


def test_a_run_that_does_not_exist_is_answered_with_those_that_do(run_folder, new, refuses):
    told = refuses("predict", f"{run_folder}n", new)
    assert "does not exist; name the folder of a `tamis fit`" in told
    assert f"(here: {run_folder}" in told


def test_an_export_over_a_file_says_so(run_folder, tmp_path, tamis):
    words = ["export", run_folder, "--to", "sql", "-o", tmp_path / "model.sql"]
    assert tamis(*words)[1].startswith("written: ")
    assert tamis(*words)[1].startswith("replaced: ")
