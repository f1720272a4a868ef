"""Warnings of other libraries do not reach the terminal."""

import logging
import os
import sys
import threading
import warnings

import pytest

from tamis.cli import app
from tests.cli.processes import call, environment

STOPPED = "A worker stopped while some jobs were given to the executor."
WORKERS = """
import sys, warnings
from joblib import Parallel, delayed
from tamis.cli.app import _quiet_libraries

def warn(number):
    warnings.warn("not converged", RuntimeWarning)
    return number

with _quiet_libraries():
    assert Parallel(n_jobs=2, backend="loky")(delayed(warn)(i) for i in range(4)) == [0, 1, 2, 3]
"""
# Workers whose memory grows by more than 300 MB, as it does when kernels are compiled: joblib
# replaces them, and warns about it from a thread of its own.
GROWING = """
import sys, time
from contextlib import nullcontext
from joblib import Parallel, delayed
from tamis.cli.app import _quiet_libraries

def grow(number):
    sys.kept = [*getattr(sys, "kept", []), b"x" * 200_000_000]
    time.sleep(1.1)
    return number

with _quiet_libraries() if sys.argv[1] == "quiet" else nullcontext():
    Parallel(n_jobs=2, backend="loky")(delayed(grow)(i) for i in range(8))
"""


@pytest.fixture(autouse=True)
def _not_debugging(monkeypatch):
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)


def complain(*words):
    """As joblib does from a thread, matplotlib by its log, and scikit-learn."""
    thread = threading.Thread(target=lambda: warnings.warn(STOPPED, UserWarning, stacklevel=1))
    thread.start()
    thread.join()
    logging.getLogger("matplotlib.font_manager").warning("findfont: no such family")
    warnings.warn("lbfgs failed to converge", FutureWarning, stacklevel=1)
    return []


def test_warnings_in_the_middle_of_a_run_are_not_shown(small, tamis, monkeypatch):
    monkeypatch.setattr("tamis.comparison.comparing.check_result", complain)
    monkeypatch.setattr(warnings, "showwarning", lambda m, *about: print(m, file=sys.stderr))
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    words = (
        "--methods",
        "centers,most-frequent",
        "--folds",
        "2",
        "--repeats",
        "1",
        "--n-jobs",
        "1",
    )
    code, out, err = tamis("fit", small, "--target", "y", *words)
    assert code == 0, err
    assert "RECOMMENDED" in out
    assert not [w for w in ("worker stopped", "findfont", "converge", ".py") if w in out + err]


def test_a_debugger_sees_them(monkeypatch, recwarn):
    monkeypatch.setenv("TAMIS_DEBUG", "1")
    with app._quiet_libraries():
        complain()
    assert [str(one.message) for one in recwarn] == [STOPPED, "lbfgs failed to converge"]


def test_what_was_set_before_is_set_again(monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    handlers, shown = list(logging.getLogger().handlers), warnings.showwarning
    with app._quiet_libraries():
        assert os.environ["PYTHONWARNINGS"] == "ignore"
    assert os.environ["PYTHONWARNINGS"] == "error"
    assert logging.getLogger().handlers == handlers and warnings.showwarning is shown


@pytest.mark.slow
def test_workers_show_no_warnings(tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    command = [sys.executable, str(script)]
    assert call(command=command, env=environment(PYTHONWARNINGS="default")) == (0, "", "")


@pytest.mark.slow
def test_workers_that_joblib_replaces_are_not_told_of(tmp_path):
    pytest.importorskip("psutil")  # without it, joblib replaces none
    script = tmp_path / "growing.py"
    script.write_text(GROWING)
    assert call(command=[sys.executable, str(script), "quiet"]) == (0, "", "")
    assert STOPPED in call(command=[sys.executable, str(script), "loud"])[2]
