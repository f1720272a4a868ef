"""Runs that are killed, stopped or out of time, and go on: as if nothing had happened."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import write_csv
from tests.cli.processes import call, outcome, start, units_in, wait_for

pytestmark = pytest.mark.slow
N_UNITS = 32
# Processes of every run, and how often it is killed.
RUNS = {"a": (1, 6), "b": (1, 5), "c": (1, 5), "d": (2, 4)}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A call of 32 units; those of the random forest take a quarter of a second."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    X = rng.normal(size=(300, 30))
    X[:, :5] += 0.8 * labels[:, None]
    rows = [[*(f"{v:.4f}" for v in row), "ab"[c]] for row, c in zip(X, labels, strict=True)]
    header = [*(f"g{j}" for j in range(30)), "y"]
    data = write_csv(tmp_path_factory.mktemp("killed") / "data.csv", header, rows)
    found = ["fit", data, "--target", "y", "--methods", "centers,random-forest"]
    return [*found, "--folds", "2", "--repeats", "4", "--permutations", "1"]


@pytest.fixture(scope="module")
def undisturbed(words, tmp_path_factory):
    """What a run finds that nobody stops."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    code, _, err = call(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert units_in(run) == N_UNITS
    return outcome(run)


def kill(process):
    """Kill, and do not wait for workers, which may have the pipes still open."""
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def kill_once(words, run, at_least, delay, mark):
    """Kill the command once there are new units: seconds it ran, units done, whether it ran."""
    begin, before = time.monotonic(), units_in(run)
    process = start(*words, TAMIS_TEST_MARK=mark)
    assert wait_for(lambda: units_in(run) >= max(at_least, before + 1))
    time.sleep(delay)
    was_running = process.poll() is None
    kill(process)
    seconds = round(time.monotonic() - begin, 2)
    return run.name, seconds, units_in(run), was_running and process.returncode == -signal.SIGKILL


def kill_and_finish(words, run, n_jobs, n_kills, seed):
    """Kill a run some times at random moments, then let it end: records and outcome."""
    rng = np.random.default_rng(seed)
    words = [*words, "--n-jobs", n_jobs, "-o", run]
    targets = np.sort(rng.choice(np.arange(1, N_UNITS - 8), n_kills, replace=False))
    delays = rng.uniform(0.0, 0.3, size=n_kills)
    mark = f"{run}"
    kills = [
        kill_once(words, run, target, delay, mark)
        for target, delay in zip(targets, delays, strict=True)
    ]
    assert wait_for(lambda: not processes_with(mark), seconds=10), processes_with(mark)
    code, out, err = call(*words)
    assert code == 0, err
    assert "RECOMMENDED" in out
    return kills, outcome(run)


def processes_with(mark):
    """Command lines of the processes that have a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TAMIS_TEST_MARK={mark}\0".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has just ended, or is not ours
    return found


needs_signals = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@needs_signals
def test_twenty_kills_at_random_moments_change_no_number(words, undisturbed, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        ended = [
            pool.submit(kill_and_finish, words, tmp_path / name, n_jobs, n_kills, seed)
            for seed, (name, (n_jobs, n_kills)) in enumerate(RUNS.items())
        ]
        ended = [run.result() for run in ended]
    kills = [kill for killed, _ in ended for kill in killed]
    record = "\n".join(map(str, [("run", "seconds", "units done", "alive"), *kills]))
    assert len(kills) == 20, record
    assert all(0 < units < N_UNITS and alive for *_, units, alive in kills), record
    for _, found in ended:
        assert found == undisturbed, record


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
def test_no_worker_outlives_a_killed_command(words, tmp_path):
    run, mark = tmp_path / "run", f"workers {tmp_path}"
    process = start(*words, "--n-jobs", 2, "-o", run, TAMIS_TEST_MARK=mark)
    assert wait_for(lambda: units_in(run) >= 1)
    assert len(processes_with(mark)) >= 3  # the command and its two workers
    kill(process)
    assert wait_for(lambda: not processes_with(mark), seconds=5), processes_with(mark)
    assert 0 < units_in(run) < N_UNITS


# Streamed runs.


@pytest.fixture(scope="module")
def streaming_words(tmp_path_factory):
    """A call whose passes over the file take a good tenth of a second each."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("killed-stream") / "t.parquet"
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300_000)
    X = {f"x{j}": rng.normal(size=y.size) + 0.5 * y * (j < 5) for j in range(20)}
    X["x0"][rng.random(y.size) < 0.1] = np.nan
    parquet.write_table(pa.table({**X, "y": y}), path, row_group_size=50_000)
    words = ["fit", path, "--target", "y", "--stream", "on", "--max-size", "100KB"]
    return [*words, "--folds", "2", "--repeats", "1", "--n-jobs", "1", "--no-report"]


PASS = ("reading", "finding", "training", "scoring")


def passes_of(lines):
    """Messages about passes over a file, each at its beginning."""
    lines = [line.strip().removeprefix("tamis: ") for line in lines]
    return [line for line in lines if line.startswith(PASS) and "so far" not in line]


def run_for_some_passes(words, begun, n_new, delay):
    """Kill the command a moment after it begins its n-th new pass: its passes and exit code."""
    process, lines = start(*words), []
    for line in process.stderr:
        lines.append(line)
        new = set(passes_of(lines)) - set(begun)
        if len(new) == n_new and passes_of([line]):
            time.sleep(delay)
            process.kill()
    process.stdout.read()
    kill(process)
    return passes_of(lines), process.returncode


@needs_signals
@pytest.mark.parametrize("method", ["medians", "panel"])
def test_a_killed_stream_loses_at_most_the_pass_that_it_was_in(streaming_words, method, tmp_path):
    words = [*streaming_words, "--methods", f"{method},most-frequent", "-o"]
    code, out, err = call(*words, tmp_path / "whole")
    assert code == 0 and "final model: streamed: all 300,000 rows" in out, err
    rng, last, begun, codes = np.random.default_rng(0), [], [], []
    while 0 not in codes:
        when = int(rng.integers(2, 5)), rng.uniform(0, 0.15)
        passes, code = run_for_some_passes([*words, tmp_path / "killed"], begun, *when)
        # Of all that was begun before, only the pass that was killed is begun again.
        assert set(passes) & set(begun) <= set(last), (passes, begun)
        begun, last, codes = [*begun, *passes], passes[-1:], [*codes, code]
        assert len(codes) < 30
    assert set(codes) == {0, -signal.SIGKILL} and len(codes) > 2
    assert set(begun) == set(passes_of(err.splitlines()))
    ended = [outcome(tmp_path / name) for name in ("killed", "whole")]
    for found in ended:  # memory that was free
        del found["metrics"]["streaming"]["available_bytes"]
    assert ended[0] == ended[1]
