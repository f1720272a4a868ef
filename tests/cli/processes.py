"""The command as a process of its own, as a user starts it; or, quicker, in this process."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tamis.cli import main

SCRIPT = Path(sys.executable).with_name("tamis")
# Sources that PYTHONPATH names are not those that the script was installed with.
INSTALLED = SCRIPT.exists() and not os.environ.get("PYTHONPATH")
COMMAND = [str(SCRIPT)] if INSTALLED else [sys.executable, "-m", "tamis"]
RESULTS = ("model.json", "model.skops", "features.csv", "metrics.json", "report.html")


def environment(**more):
    return {**os.environ, "OMP_NUM_THREADS": "1", "TAMIS_DEBUG": "", **more}


def call(*words, command=None, **options):
    """Run to the end: exit code, standard output, standard error."""
    words = [*(COMMAND if command is None else command), *map(str, words)]
    options = {"timeout": 120, "env": environment(), **options}
    done = subprocess.run(words, capture_output=True, encoding="utf-8", **options)
    return done.returncode, done.stdout, done.stderr


def call_here(*words):
    """The same without a process, where there is no `capsys`."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def start(*words, **more):
    """Begin, in a group of its own; `more` goes into the environment."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(**more),
        start_new_session=True,
    )


def units_in(run):
    """Number of finished units."""
    return len(list(Path(run, "checkpoints").glob("*.npz")))


def wait_for(condition, seconds=60.0):
    """Look again and again; False when the time is over."""
    end = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(met)


def without_seconds(value):
    """The same values without durations, which no two runs share."""
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k != "seconds"}
    return value


def outcome(run):
    """What a run found: files that must be equal, and the metrics."""
    run = Path(run)
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    files = {name: (run / name).read_bytes() for name in ("features.csv", "model.json")}
    return {**files, "metrics": without_seconds(metrics)}
