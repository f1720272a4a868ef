"""What is told while work is going on."""

import time

from tamis.cli import progress


def test_a_large_file_tells_that_it_is_being_read(tmp_path, monkeypatch, capsys):
    data = tmp_path / "large.csv"
    data.write_bytes(b"x" * 2_000_000)
    monkeypatch.setattr(progress, "_SMALL_FILE", 1e6)
    monkeypatch.setattr(progress, "_PATIENT", 0.01)
    with progress.reading(data):
        time.sleep(0.3)
    assert f"tamis: reading {data} (2 MB): 1 s so far" in capsys.readouterr().err
    with progress.reading(None):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
