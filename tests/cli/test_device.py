"""`tamis fit --device`: refused where there is none, and not needed to describe a run."""

import pytest

from tamis.tables.errors import InputError

WORDS = ("--target", "y", "--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1")


def test_a_device_that_is_not_there_is_named_before_data_are_read(tmp_path, refuses):
    told = "error: --device cuda:99 "
    refuses("fit", tmp_path / "absent.csv", "--device", "cuda:99", match=told)


def test_a_run_is_described_where_its_device_is_not(small, tmp_path, tamis):
    def find(device):
        return device

    def lack(device):
        if device is not None:
            raise InputError("no such device")

    places = ("tamis.cli.fit_command.find_device", "tamis.comparison.comparing.find_device")
    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.setattr(place, find)
        code, _, err = tamis("fit", small, *WORDS, "--device", "card", "--no-report", "-o", run)
    assert code == 0, err
    assert "none of the methods can train on card: all run on the processor" in err
    with pytest.MonkeyPatch.context() as patch:
        for place in places:
            patch.setattr(place, lack)
        code, _, err = tamis("report", run)
        assert code == 0, err
        assert tamis("pick", run, "--n-features", "1", "-o", tmp_path / "one")[0] == 0
