"""Genes of single cells: seconds per class statistic, against scanpy and illico, in one run.

One command, one thread: ``make bench-cells``, which installs scanpy and illico in an environment
of its own (``--quick`` for a small matrix). The cells are generated: every gene has its own
frequency, every cell its own depth, and every group some genes that it expresses more often.
Values are log1p of counts per 10,000. Every number is the best of several repetitions in which
tasks take turns; scanpy with many groups runs once.
"""

import argparse
import os
import time
import warnings

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import anndata
import illico
import numpy as np
import pandas as pd
import scanpy
from scipy import sparse
from threadpoolctl import threadpool_limits
from timing import best_times

from tamis import SparseCenterClassifier, rank_features_by_class

MARKERS_PER_GROUP = 30


def make_cells(n_cells, n_genes, n_groups, stored, seed=0):
    """A CSR matrix of log1p values with a share of about `stored` non-zeros, and groups."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.4, size=n_genes)
    depth = rng.lognormal(0.0, 0.4, n_cells)
    group = rng.integers(n_groups, size=n_cells)
    markers = rng.integers(n_genes, size=(n_groups, MARKERS_PER_GROUP))
    factor = _factor_for(stored, rate, depth)
    blocks = []
    for start in range(0, n_cells, 1000):
        rows = slice(start, start + 1000)
        mean = factor * depth[rows, None] * rate
        mean[np.arange(len(mean))[:, None], markers[group[rows]]] += 0.5
        counts = sparse.csr_matrix(rng.poisson(mean).astype(np.float32))
        total = np.asarray(counts.sum(axis=1)).ravel()
        counts.data *= np.repeat(1e4 / np.maximum(total, 1), np.diff(counts.indptr))
        blocks.append(counts.log1p())
    return sparse.vstack(blocks, format="csr"), group


def _factor_for(stored, rate, depth):
    """Factor of the means at which the expected share of non-zeros is `stored`."""
    low, high = 1e-6, 1e3
    some = rate[:1000, None] * depth[:500]
    for _ in range(60):
        middle = np.sqrt(low * high)
        share = np.mean(-np.expm1(-middle * some))
        low, high = (middle, high) if share < stored else (low, middle)
    return middle


def as_anndata(X, group):
    names = [f"gene {j}" for j in range(X.shape[1])]
    obs = pd.DataFrame({"group": pd.Categorical(group.astype(str))})
    obs.index = obs.index.astype(str)
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=names))


def measure(cells, repeats):
    """Seconds of each task; and the tables of scanpy and tamis."""
    X, y = cells.X, cells.obs["group"].to_numpy()

    def by_scanpy(pts):
        scanpy.tl.rank_genes_groups(cells, "group", method="t-test", pts=pts)

    def once(task):
        start = time.perf_counter()
        task()
        return time.perf_counter() - start

    tasks = {
        "l2 fit": lambda: SparseCenterClassifier(10).fit(X, y),
        "table": lambda: rank_features_by_class(cells, "group"),
        "table, 100 genes a group": lambda: rank_features_by_class(
            cells, "group", n_features=100, min_fraction=0.25
        ),
    }
    seconds = best_times(tasks, repeats)
    # scanpy compiles its kernels in the first call.
    few = cells[:2000].copy()
    scanpy.tl.rank_genes_groups(
        few, "group", method="t-test", groups=few.obs["group"][:1].tolist()
    )
    seconds["scanpy t-test"] = once(lambda: by_scanpy(False))
    seconds["scanpy t-test, pts"] = once(lambda: by_scanpy(True))
    theirs = scanpy.get.rank_genes_groups_df(cells, None)
    wilcoxon = lambda: illico.asymptotic_wilcoxon(  # noqa: E731
        cells, is_log1p=True, group_keys="group", reference=None, n_threads=1
    )
    seconds["illico Wilcoxon"] = best_times({"illico": wilcoxon}, 2)["illico"]
    return seconds, theirs, rank_features_by_class(cells, "group")


def compare_tables(theirs, ours):
    """Agreement of two tables, gene by gene."""
    keys = ["group", "names"]
    both = [table.astype({"group": str, "names": str}) for table in (ours, theirs)]
    pairs = both[0].merge(both[1], on=keys, suffixes=("", " of scanpy"), validate="one_to_one")
    print(f"agreement with scanpy: {len(pairs)} of {len(theirs)} genes of groups in both tables")
    for name in ("scores", "logfoldchanges", "pvals", "pvals_adj", "pct_nz_group"):
        one, two = pairs[name].to_numpy(), pairs[f"{name} of scanpy"].to_numpy(np.float64)
        print(f"    {name:<16} largest difference {np.abs(one - two).max():.1e}")
    # scanpy stores scores in single precision, so only clear differences have an order there.
    disordered = 0
    for _, part in pairs.groupby("group", sort=False):
        scores = part["scores of scanpy"].to_numpy()
        disordered += int(np.count_nonzero(np.diff(scores) > 0))
    print(
        f"    pairs of neighbours in our order that scanpy has the other way round: {disordered}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no verdict")
    quick = parser.parse_args().quick
    shape, repeats = ((3_000, 2_000), 2) if quick else ((30_000, 10_000), 5)
    warnings.filterwarnings("ignore")
    versions = f"scanpy {scanpy.__version__}, anndata {anndata.__version__}"
    print(f"generated cells, one thread, seconds; {versions}")
    seconds, tables = {}, {}
    with threadpool_limits(1):
        for n_groups in (2, 200):
            X, group = make_cells(*shape, n_groups, 0.08)
            cells = as_anndata(X, group)
            print(f"    {n_groups} groups: CSR {shape[0]} x {shape[1]}, {X.nnz / X.size:.1%}")
            seconds[n_groups], *tables[n_groups] = measure(cells, repeats)
            compare_tables(*tables[n_groups])
    print(seconds)


if __name__ == "__main__":
    main()
