"""Ctrl-C, the time limit and a full disk: what is said, what is kept, and how it goes on."""

import errno
import itertools
import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tamis.comparison import comparing
from tamis.comparison import run as running
from tamis.comparison.running.store import Store
from tests.cli.conftest import few, unwrapped, write_csv
from tests.cli.processes import (
    RESULTS,
    call,
    call_here,
    environment,
    outcome,
    start,
    units_in,
    wait_for,
)

N_UNITS = 8
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits are those of POSIX")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A call of eight tasks: four of the centers, then four of the random forest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12)) + (np.arange(200) % 2)[:, None] * ([0.9] * 3 + [0.0] * 9)
    rows = [[*(f"{v:.4f}" for v in row), "ab"[i % 2]] for i, row in enumerate(X)]
    header = [*(f"g{j}" for j in range(12)), "y"]
    data = write_csv(tmp_path_factory.mktemp("stopped") / "data.csv", header, rows)
    found = ["fit", data, "--target", "y", "--methods", "centers,random-forest"]
    return [*found, "--folds", "2", "--repeats", "2"]


@pytest.fixture(scope="module")
def undisturbed(words, tmp_path_factory):
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    code, _, err = call_here(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert units_in(run) == N_UNITS
    return outcome(run)


@pytest.fixture(scope="module")
def warm_workers(words):
    """What Python and numba cache is written, so that only tamis itself is stopped or limited."""
    assert call(*words, "--permutations", 1, "--n-jobs", 2)[0] == 0


def kept(run):
    """Checkpoints by name, as bytes."""
    return {path.name: path.read_bytes() for path in (run / "checkpoints").iterdir()}


def goes_on(tamis, words, run, undisturbed):
    """The same command ends with equal numbers, and takes over what was kept."""
    before = kept(run)
    assert 0 < units_in(run) < N_UNITS
    code, _, err = tamis(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert before.items() <= kept(run).items()
    assert outcome(run) == undisturbed


@posix
@pytest.mark.slow
def test_ctrl_c_keeps_the_work_and_reports_what_is_finished(words, undisturbed, tmp_path, tamis):
    run = tmp_path / "run"
    process = start(*words, "--n-jobs", 1, "-o", run)
    assert wait_for(lambda: units_in(run) >= 5)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopped; not finished: random-forest" in err
    assert "repeat the command to resume" in err and "Traceback" not in err
    assert "(sparse centers, means)" in out and "not finished: random-forest" in out
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["complete"] is False and metrics["unfinished"] == ["random-forest"]
    goes_on(tamis, words, run, undisturbed)


@posix
@pytest.mark.slow
def test_ctrl_c_with_workers_ends_all_of_them_quietly(words, warm_workers, tmp_path):
    run = tmp_path / "run"
    process = start(*words, "--permutations", 1, "--n-jobs", 2, "-o", run)
    assert wait_for(lambda: units_in(run) >= 1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "tamis: stopped; not finished: " in err and "Traceback" not in err
    assert "repeat the command to resume" in err
    assert 0 < units_in(run) < 2 * N_UNITS


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.slow
def test_sigterm_ends_as_ctrl_c_does(words, warm_workers, tmp_path, n_jobs):
    run = tmp_path / "run"
    process = start(*words, "--permutations", 1, "--n-jobs", n_jobs, "-o", run)
    assert wait_for(lambda: units_in(run) >= 1)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.splitlines()[-1].endswith("repeat the command to resume.")
    assert "Warning" not in err and "Traceback" not in err


@posix
@pytest.mark.slow
def test_a_killed_worker_is_told_and_the_work_is_kept(words, tmp_path, tamis):
    run = tmp_path / "run"
    process = start(*words, "--permutations", 2, "--n-jobs", 2, "-o", run)
    assert wait_for(lambda: units_in(run) >= 1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    workers = [
        int(pid) for pid in children if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    os.kill(workers[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    *_, why, last = err.splitlines()
    assert why.startswith("tamis: a worker process was killed")
    assert last.endswith("repeat the command to resume.")
    assert "Warning" not in err and "Traceback" not in err
    assert units_in(run) > 0


@posix
@pytest.mark.slow
def test_ctrl_c_while_starting_is_one_line(words, tmp_path):
    code = (
        "import signal, sys, time\n"
        "import tamis.cli.app as app\n"
        "def press(name):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "app.import_module = press\n"
        "sys.exit(app.main(sys.argv[1:]))"
    )
    found = call(*words, "-o", tmp_path / "run", command=[sys.executable, "-c", code])
    assert found == (1, "", "tamis: stopped.\n")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a second whenever it is read: so many tasks in so many seconds."""
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    for module in (comparing, running):
        monkeypatch.setattr(module, "time", clock)


def test_out_of_time_ends_with_what_is_known(words, undisturbed, tmp_path, tamis, ticking):
    run = tmp_path / "run"
    code, out, err = tamis(*words, "--n-jobs", 1, "-o", run, "--max-seconds", 2.5)
    assert code == 0 and units_in(run) == 6
    assert "--max-seconds was reached; not finished: random-forest" in err
    assert "repeat the command to resume" in err
    assert "(sparse centers, means)" in out and "not finished: random-forest" in out
    answer = out[out.index("WARNING: unfinished: only 1 of 2 methods was compared (not ") :]
    said = "before you report anything. RECOMMENDED: "
    assert said in unwrapped(answer) and "report this one" not in out
    page = (run / "report.html").read_text(encoding="utf-8")
    warning = page.index("Unfinished: only 1 of 2 methods was compared (not finished: random-")
    assert warning < page.index('<p class="answer">') and "Report this one" not in page
    assert set(RESULTS) <= {path.name for path in run.iterdir()}
    goes_on(tamis, words, run, undisturbed)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Unfinished" not in page and "Report this one" in page


def test_a_method_that_failed_is_not_unfinished(words, tmp_path, tamis, ticking):
    run, metrics = tmp_path / "run", tmp_path / "run" / "metrics.json"
    assert tamis(*words, "--n-jobs", 1, "-o", run, "--max-seconds", 1e-9)[0] == 0
    for failed in ({}, {"random-forest": "too few trees"}):
        known = json.loads(metrics.read_text(encoding="utf-8")) | {"failed": failed}
        metrics.write_text(json.dumps(known), encoding="utf-8")
        code, _, err = tamis("report", run)
        assert code == 0, err
        page = (run / "report.html").read_text(encoding="utf-8")
        assert ("Unfinished" in page) == (not failed)
        assert ("too few trees" in page) == bool(failed)


@pytest.mark.parametrize("seconds", few([1e-9, 0.5], 1))
def test_out_of_time_before_the_first_method_still_gives_a_model(
    seconds, words, undisturbed, tmp_path, tamis, ticking
):
    """The cheapest method is finished in any case, however short the time."""
    run = tmp_path / "run"
    code, out, err = tamis(*words, "--n-jobs", 1, "-o", run, "--max-seconds", seconds)
    assert code == 0 and units_in(run) == 4
    assert "(sparse centers, means)" in out
    assert "--max-seconds was reached; not finished: random-forest" in err
    assert set(RESULTS) <= {path.name for path in run.iterdir()}
    goes_on(tamis, words, run, undisturbed)


def test_out_of_time_among_the_permutations_is_told(words, tmp_path, tamis, ticking):
    run = tmp_path / "run"
    more = ["--permutations", 1, "--n-jobs", 1, "-o", run]
    code, _, err = tamis(*words, *more, "--max-seconds", 6.5)
    assert code == 0 and units_in(run) == N_UNITS + 2
    assert "--max-seconds was reached; not finished: the rest" in err
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["complete"] is False and metrics["unfinished"] == []
    assert "permutations" not in metrics["model"]


def test_without_a_folder_nothing_is_kept(words, tamis, ticking):
    code, _, err = tamis(*words, "--n-jobs", 1, "--max-seconds", 2.5)
    assert code == 0 and "Nothing was saved" not in err  # it was said at the start


def disk_with_room_for(n_files):
    """A replacement of `os.fsync` for a disk that is full then."""
    n_written, fsync = itertools.count(), os.fsync

    def write_out(file):
        fsync(file)
        if next(n_written) >= n_files:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return write_out


@pytest.mark.parametrize("n_whole", few([7, 3, 11], 1))
def test_a_full_disk_is_one_line_and_keeps_the_work(
    words, undisturbed, tmp_path, tamis, monkeypatch, n_whole
):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", disk_with_room_for(n_whole))
        code, out, err = tamis(*words, "--n-jobs", 1, "-o", run)
    assert (code, out) == (1, "")
    *said, last = err.splitlines()
    assert last.startswith("tamis: error: no space left on the disk (")
    assert "run the same command again" in last
    assert not any("error" in line for line in said)
    # The manifest, run.json and the decision to stream come first; what is not whole is not there.
    assert units_in(run) == min(n_whole - 3, N_UNITS)
    assert not list(run.rglob("*.part"))
    code, _, err = tamis(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert outcome(run) == undisturbed


@posix
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.slow
def test_files_that_may_not_grow_are_one_line(
    words, warm_workers, undisturbed, tmp_path, tamis, n_jobs
):
    import resource

    run = tmp_path / "run"
    most = 6_000  # the manifest is smaller, a checkpoint of the centers larger
    code, out, err = call(
        *words,
        "--n-jobs",
        n_jobs,
        "-o",
        run,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("tamis: error: File too large (")
    assert "Traceback" not in err
    assert units_in(run) == 0 and not list(run.rglob("*.part"))
    code, _, err = tamis(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert outcome(run) == undisturbed


def test_a_checkpoint_that_was_cut_is_done_again(words, undisturbed, tmp_path, tamis):
    run = tmp_path / "run"
    assert tamis(*words, "--n-jobs", 1, "-o", run)[0] == 0
    cut, emptied, foreign, *_ = sorted((run / "checkpoints").glob("*.npz"))
    cut.write_bytes(cut.read_bytes()[:500])
    emptied.write_bytes(b"")
    np.savez(foreign, something=np.arange(3))
    code, _, err = tamis(*words, "--n-jobs", 1, "-o", run)
    assert code == 0, err
    assert outcome(run) == undisturbed


def test_a_disk_without_room_for_a_name_is_a_failure_and_no_wrong_call(
    words, tmp_path, tamis, monkeypatch
):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        code, out, err = tamis(*words, "--n-jobs", 1, "-o", tmp_path / "run")
    assert (code, out) == (1, "")
    assert err.startswith("tamis: error: no space left on the disk (") and err.count("\n") == 1


def test_what_a_killed_process_had_begun_to_write_is_swept_away(tmp_path):
    old, young = tmp_path / ".a.npz.1.part", tmp_path / ".b.npz.2.part"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    Store(tmp_path, {})
    assert not old.exists() and young.exists()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are given by Linux")
@pytest.mark.slow
def test_by_default_the_command_takes_the_cores_that_it_is_given(words):
    core = {min(os.sched_getaffinity(0))}
    code, _, err = call(*words, preexec_fn=lambda: os.sched_setaffinity(0, core))
    assert code == 0, err
    assert "s on 1 core\n" in err
