"""Fits on a Dask cluster whose workers are killed at random moments.

    python benchmarks/faults.py --kills 20

A cluster of two worker processes on this machine trains on blocks that are made on the workers, so
a lost block must be made again. In each fit one worker is killed (SIGKILL) at a random moment of
the time that the fit takes without a kill. Sparse centers must have the bits of a fit on one
machine, primal-dual classifiers must reach their certificate, panels must have the features of a
fit on one machine and its decisions to 1e-8. A kill counts only if it landed before the fit had
ended; otherwise it is reported and repeated.
"""

import argparse
import os
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from tamis import PanelClassifier, PrimalDualClassifier, SparseCenterClassifier
from tamis.dask import (
    DaskPanelClassifier,
    DaskPrimalDualClassifier,
    DaskSparseCenterClassifier,
)

RESULT = Path(__file__).parent / "results" / "faults.md"
N_BLOCKS, SIZE, N_FEATURES = 6, 1_000, 20
# With this little memory the columns stay on the workers: one pass per iteration.
LITTLE = 1e5
FITS = (
    *("means", "medians", "primal-dual, gathered", "primal-dual, passes"),
    *("panel, gathered", "panel, passes"),
)


def make_block(number):
    """Rows of one block; as slow as reading them from a disk."""
    rng = np.random.default_rng(number)
    time.sleep(0.05)
    y = np.arange(SIZE) % 2
    X = rng.normal(size=(SIZE, N_FEATURES))
    X[:, :5] += 0.4 * y[:, None]
    return X, y


def blocks():
    # New names for each fit: Dask gives a task up that four workers died with, in whatever fits.
    pairs = [dask.delayed(make_block, pure=False)(number) for number in range(N_BLOCKS)]
    X = [da.from_delayed(pair[0], (SIZE, N_FEATURES), np.float64) for pair in pairs]
    y = [da.from_delayed(pair[1], (SIZE,), np.int64) for pair in pairs]
    return da.concatenate(X), da.concatenate(y)


def make_model(name, client):
    if name in ("means", "medians"):
        metric = "l2" if name == "means" else "l1"
        return DaskSparseCenterClassifier(3, metric=metric, client=client)
    if name.startswith("panel"):
        return DaskPanelClassifier(3, head="logistic", client=client, **memory_of(name))
    # Without memory for columns there is no memory for another head.
    few = memory_of(name)
    if few:
        few["head"] = "projection"
    return DaskPrimalDualClassifier(0.5, tol=1e-6, client=client, **few)


def memory_of(name):
    return {"max_bytes": LITTLE} if name.endswith("passes") else {}


def expected_of(name):
    """The fit on one machine."""
    chunks = [make_block(number) for number in range(N_BLOCKS)]
    if name in ("means", "medians"):
        metric = "l2" if name == "means" else "l1"
        return SparseCenterClassifier(3, metric=metric).fit_chunks(chunks)
    if name.startswith("panel"):
        return PanelClassifier(3, head="logistic").fit_chunks(chunks, **memory_of(name))
    X, y = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return PrimalDualClassifier(0.5, tol=1e-6).fit(X, y)


def is_right(model, expected):
    """Whether a fit has the bits, or the certificate and the features, of that on one machine."""
    local = model.to_local()
    if isinstance(local, SparseCenterClassifier):
        return np.array_equal(local.class_centers_, expected.class_centers_) and np.array_equal(
            local.gains_, expected.gains_
        )
    if isinstance(local, PanelClassifier):
        X, _ = make_block(0)
        decisions = local.decision_function(X), expected.decision_function(X)
        same = np.array_equal(local.get_support(), expected.get_support())
        return same and np.allclose(*decisions, rtol=1e-8, atol=1e-8)
    low, high = (m.objective_ - m.gap_ for m in (local, expected)), expected.objective_
    return bool(
        local.relative_gap_ <= local.tol
        and max(low) <= min(local.objective_, high) * (1 + 1e-12)
        and np.array_equal(local.support_, expected.support_)
    )


def pids_of(client):
    """Process ids of two workers that answer; one that was killed may not be missed at once."""
    while True:
        if len(client.nthreads()) < 2:
            client.cluster.scale(2)  # if starting a worker again took too long
        pids = client.run(os.getpid, on_error="ignore").values()
        if len(pids) == 2:
            return sorted(pids)
        time.sleep(1.0)


def fit_with_a_kill(model, client, rng, seconds):
    """Fit, and kill a worker after some seconds; returns whether it landed before the end."""
    victim = int(rng.choice(pids_of(client)))
    ended, landed = threading.Event(), []

    def kill():
        if not ended.wait(seconds):
            os.kill(victim, signal.SIGKILL)
            landed.append(not ended.is_set())

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        model.fit(*blocks())
    finally:
        ended.set()
        killer.join()
    return landed == [True]


def time_of(name, client):
    """Seconds of a fit without a kill, the second of two."""
    for _ in range(2):
        start = time.perf_counter()
        make_model(name, client).fit(*blocks())
    return time.perf_counter() - start


def cluster():
    """Two workers, each in a process of its own; a busy machine may start them slowly."""
    limits = ("comm.timeouts.connect", "comm.timeouts.tcp")
    dask.config.set({f"distributed.{limit}": "300s" for limit in limits})
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    lines = ["| kill | fit | after (s) | of (s) | landed mid-fit | result |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    print(*lines, sep="\n")
    n_landed, n_right, n_tried = 0, 0, 0
    with cluster() as workers, Client(workers) as client:
        times = {name: time_of(name, client) for name in FITS}
        expected = {name: expected_of(name) for name in FITS}
        while n_landed < arguments.kills and n_tried < 3 * arguments.kills:
            name = FITS[n_landed % len(FITS)]
            n_tried += 1
            seconds = rng.uniform(0.02, 0.98) * times[name]
            model = make_model(name, client)
            landed = fit_with_a_kill(model, client, rng, seconds)
            right = is_right(model, expected[name])
            n_landed += landed
            n_right += landed and right
            row = f"{seconds:.2f} | {times[name]:.2f} | {'yes' if landed else 'no'}"
            lines.append(f"| {n_tried} | {name} | {row} | {'right' if right else 'WRONG'} |")
            print(lines[-1], flush=True)
            save(lines, f"{n_landed} kills landed mid-fit; {n_right} of these fits ended right.")
    return 0 if n_right == n_landed == arguments.kills else 1


def save(lines, summary):
    """Write what is known so far, so that an interrupted run is not lost."""
    head = ["# Workers killed in the middle of a fit", "", "`python benchmarks/faults.py`:"]
    about = " ".join(__doc__.split("\n\n")[2].split())
    RESULT.write_text("\n".join([*head, about, "", *lines, "", summary]) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
