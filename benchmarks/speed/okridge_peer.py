"""One problem for OKRidge, in a process and an environment of its own.

    PYTHON okridge_peer.py INPUT.npz OUTPUT.npz

OKRidge collects garbage at every node, which takes longer the more modules there are, so those
that are imported are frozen, and tamis is not among them. Its clock is the CPU's.
"""

import contextlib
import gc
import os
import sys
from time import process_time
from types import SimpleNamespace

import numpy as np
import okridge.tree


def main(source, target):
    given = np.load(source)
    okridge.tree.time = SimpleNamespace(time=process_time)
    gc.collect()
    gc.freeze()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        start = process_time()
        tree = okridge.tree.BNBTree(given["X"], given["y"], lambda2=float(given["ridge"]))
        loss, coef, gap, bound, _ = tree.solve(
            int(given["k"]), gap_tol=float(given["gap"]), time_limit=float(given["seconds"])
        )
        used = process_time() - start
    np.savez(
        target,
        loss=loss,
        coef=coef,
        gap=gap,
        bound=bound,
        seconds=used,
        nodes=tree.number_of_nodes,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
