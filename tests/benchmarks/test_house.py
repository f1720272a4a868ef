"""The measuring scripts count and report what they say they do."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    for folder in ("house", "speed"):
        monkeypatch.syspath_prepend(str(BENCHMARKS / folder))
    yield
    for name in ("boundaries", "commits", "size", "comparison", "comparison_tables", "loaders"):
        sys.modules.pop(name, None)


def function(module, name, kind="function"):
    return [module, name, 1, kind]


def test_a_function_with_two_foreign_callers_is_one_hand_over_and_two_pairs(scripts):
    import boundaries

    run, load, read = (
        function("cli/app.py", "run"),
        function("cli/data.py", "load"),
        function("io/rows.py", "read"),
    )
    pairs = [
        (None, run),
        (run, load),
        (run, read),
        (load, read),
        (read, function("io/rows.py", "close")),
        (read, function("io/rows.py", "read.<locals>.<lambda>", "inner")),
        (function("io/rows.py", "<module>", "body"), function("_compile.py", "compiled")),
    ]
    assert list(boundaries.count(pairs).values()) == [4, 3, 2, 2, 1, 3, 2]


SOURCE = """\
\'\'\'Two
lines.\'\'\'

# why
from a import compiled


@compiled
def f():
    \'\'\'One.\'\'\'
    return \'\'\'a
b\'\'\'
"""


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings(scripts):
    import size

    counts = size.count(SOURCE)
    assert counts == {"files": 1, "lines": 12, "code": 5, "docstrings": 3, "kernels": 1}


def test_the_report_shows_the_ratio_and_marks_reused_times(scripts):
    import comparison

    old = {"cpu_seconds": 30.0, "score": 0.95, "interval": [0.9, 0.97], "choice": "centers, 3"}
    record = {"commit": "37a6c1c", "machine": "a machine", "tables": {"cancer": "569 x 30"}}
    case = {"before": old, "now": old | {"cpu_seconds": 12.0}}
    lines = {}
    for same_run in (True, False):
        record["cases"] = {"cancer-fast": case | {"same_run": same_run}}
        report = comparison.make_report(record)
        lines[same_run] = next(s for s in report.splitlines() if s.startswith("cancer-fast"))
    assert lines[True].split()[1:5] == ["30.00", "12.00", "2.50", "3.0"]
    assert "earlier run" in lines[False] and "earlier run" not in lines[True]


def test_generated_tables_have_the_promised_size(scripts, tmp_path):
    from comparison_tables import write_table

    assert write_table("genes", tmp_path / "g.csv").endswith("118 x 16,384")
    assert write_table("mixed", tmp_path / "m.csv").endswith("50,000 x 40")
    assert write_table("mixed", tmp_path / "s.csv", small=True).endswith("100 x 40")
    head, *rows = (tmp_path / "m.csv").read_text().splitlines()
    assert head.split(",")[-1] == "class" and len(rows) == 50_000
    assert any(",," in row for row in rows[:20])
