"""Genes of each group of cells: CPU seconds of tamis, scanpy and illico, in one run.

One command, one thread: ``make bench-cells``, which installs scanpy and illico in an environment
of its own; ``--quick`` for a small matrix. The cells are generated: every gene has its own
frequency, every cell its own depth, and every group some genes that it expresses more often;
values are log1p of counts per 10,000. Every number is the best of several repetitions, after
one that is not counted; scanpy runs once. illico computes another statistic, Wilcoxon's.
"""

import argparse
import os
import time
import warnings

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["TQDM_DISABLE"] = "1"

from importlib.metadata import version

import anndata
import illico
import numpy as np
import pandas as pd
import scanpy
from loguru import logger
from scipy import sparse
from threadpoolctl import threadpool_limits

from tamis import SparseCenterClassifier, rank_features_by_class

MARKERS_PER_GROUP = 30
FIT = "SparseCenterClassifier.fit (l2)"
TABLE = "rank_features_by_class"
SCANPY = "scanpy rank_genes_groups (t-test)"
ILLICO = "illico asymptotic_wilcoxon"


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
    products = rate[:, None] * depth[:100]
    for _ in range(30):
        middle = np.sqrt(low * high)
        share = np.mean(-np.expm1(-middle * products))
        low, high = (middle, high) if share < stored else (low, middle)
    return middle


def as_anndata(X, group):
    names = [f"gene {j}" for j in range(X.shape[1])]
    obs = pd.DataFrame({"group": pd.Categorical(group.astype(str))})
    obs.index = obs.index.astype(str)
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=names))


def best_of(repeats, tasks):
    """Fewest CPU seconds of each task; tasks take turns."""
    seconds = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def rank_by_scanpy(cells, pts=False):
    scanpy.tl.rank_genes_groups(cells, "group", method="t-test", pts=pts)


def measure(cells, repeats):
    """CPU seconds of each task, in the order of the table."""
    X, y = cells.X, cells.obs["group"].to_numpy()
    ours = {
        FIT: lambda: SparseCenterClassifier(10).fit(X, y),
        TABLE: lambda: rank_features_by_class(cells, "group"),
        "the same, the best 100 genes": lambda: rank_features_by_class(
            cells, "group", n_features=100, min_fraction=0.25
        ),
    }
    others = {
        SCANPY: lambda: rank_by_scanpy(cells),
        "the same with fractions (pts=True)": lambda: rank_by_scanpy(cells, pts=True),
    }
    wilcoxon = {
        ILLICO: lambda: illico.asymptotic_wilcoxon(
            cells, is_log1p=True, group_keys="group", reference=None, n_threads=1
        )
    }
    for task in (*ours.values(), *wilcoxon.values()):  # compiles
        task()
    rank_by_scanpy(cells[:, :100].copy(), pts=True)
    return best_of(repeats, ours) | best_of(1, others) | best_of(2, wilcoxon)


def print_agreement(cells):
    """Compare the tables of scanpy and tamis, gene by gene."""
    rank_by_scanpy(cells, pts=True)
    tables = rank_features_by_class(cells, "group"), scanpy.get.rank_genes_groups_df(cells, None)
    ours, theirs = (table.astype({"group": str, "names": str}) for table in tables)
    pairs = ours.merge(theirs, on=["group", "names"], suffixes=("", "_"), validate="one_to_one")
    assert len(pairs) == len(ours) == len(theirs)
    differences = []
    for name in ("scores", "logfoldchanges", "pvals", "pvals_adj", "pct_nz_group"):
        difference = np.abs(pairs[name].to_numpy() - pairs[f"{name}_"].to_numpy(np.float64)).max()
        differences.append(f"{name} {difference:.1e}")
    descents = pairs.groupby("group")["scores_"].agg(lambda scores: np.sum(np.diff(scores) > 0))
    print(f"    {len(pairs)} rows; largest differences: {', '.join(differences)}")
    print(
        f"    neighbours in our order that are the other way round in scanpy's: {descents.sum()}"
    )


def print_table(seconds):
    few, many = seconds
    print(f"{'CPU seconds':<36} {few} groups {many:>5} groups   ratio   {many} groups, / {TABLE}")
    for name in seconds[few]:
        one, other = seconds[few][name], seconds[many][name]
        relative = other / seconds[many][TABLE]
        print(f"{name:<36} {one:8.3f} {other:12.3f} {other / one:7.1f}   {relative:8.2f}")
    ratio = seconds[many][FIT] / seconds[few][FIT]
    verdict = "met" if ratio <= 2 else "NOT MET"
    print(f"target: {FIT} for {many} groups / for {few} groups <= 2: {ratio:.2f}, {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no verdict")
    quick = parser.parse_args().quick
    shape, repeats = ((3_000, 2_000), 2) if quick else ((30_000, 10_000), 7)
    warnings.filterwarnings("ignore")
    logger.disable("illico")
    versions = (f"{name} {version(name)}" for name in ("scanpy", "illico", "anndata", "numpy"))
    print("One thread;", ", ".join(versions))
    seconds = {}
    with threadpool_limits(1):
        for n_groups in (2, 200):
            X, group = make_cells(*shape, n_groups, 0.08)
            cells = as_anndata(X, group)
            stored = f"{X.nnz / (shape[0] * shape[1]):.1%} stored"
            print(
                f"CSR {shape[0]} x {shape[1]}, {stored}, {n_groups} groups; agreement with scanpy:"
            )
            seconds[n_groups] = measure(cells, repeats)
            print_agreement(cells)
    print_table(seconds)


if __name__ == "__main__":
    main()
