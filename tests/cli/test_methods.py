import json
import subprocess
import sys

import pytest

from tamis.comparison.methods.baselines import BASELINES
from tamis.comparison.methods.families import METHODS


def test_every_method_is_described(tamis):
    code, out, err = tamis("methods", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [m["name"] for m in told["methods"]] == [m.name for m in (*METHODS, *BASELINES)]
    assert told["patience_seconds"] == 600
    for method in told["methods"]:
        assert method["title"] and method["level_is"] and method["paper"] and method["effort"]
        assert all(size["seconds"] > 0 for size in method["seconds"])


def test_the_table_has_lines_of_text_width(tamis):
    code, out, err = tamis("methods")
    assert (code, err) == (0, "") and "lasso" in out and "600 s" in out
    assert max(map(len, out.splitlines())) <= 99


@pytest.mark.slow
def test_a_process_prints_a_table():
    words = [sys.executable, "-m", "tamis", "methods"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "primal-dual" in done.stdout and "600 s" in done.stdout and done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 99
