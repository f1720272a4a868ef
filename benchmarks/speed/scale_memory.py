"""Peak memory of a process and its children, without the pages of files that they map or read."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

INTERVAL = 0.02  # seconds between two looks


def run_watched(command: list[str], timeout: float) -> tuple[int | None, str, str, float]:
    """Run a command: exit code (None: over time), output, errors, and peak bytes.

    The peak is the largest sum of `RssAnon` over the process and its children: memory that they
    allocated and touched. Linux keeps a peak of its own (`VmHWM`), which counts the mapped pages
    of files too.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    peak = 0.0

    def watch():
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(map(anonymous, family(process.pid))))
            time.sleep(INTERVAL)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        output, errors = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end(process)
        output, errors = process.communicate()
        code = None
    finally:
        end(process)
        watcher.join()
    return code, output, errors, peak


def end(process: subprocess.Popen) -> None:
    """Kill the process, if it still runs, and its children."""
    if process.poll() is None:
        for pid in reversed(family(process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for one in found:
        for thread in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += [int(child) for child in thread.read_text().split()]
            except OSError:  # the thread has ended
                continue
    return found


def anonymous(pid: int) -> float:
    """Bytes of anonymous memory of a process; 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return 0.0
