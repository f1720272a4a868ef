"""The same table as scanpy's, if it is installed: `make bench-cells` has it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamis import rank_features_by_class
from tests.centers.test_markers import FRACTIONS, make_cells

anndata = pytest.importorskip("anndata")
scanpy = pytest.importorskip("scanpy")


def scanpy_cells(make=sparse.csr_matrix, seed=0):
    X, y = make_cells(seed, n_rows=300, n_features=60)
    names = [f"gene {j}" for j in range(X.shape[1])]
    obs = pd.DataFrame({"group": pd.Categorical(y)}, index=[f"cell {i}" for i in range(len(y))])
    return anndata.AnnData(make(X), obs=obs, var=pd.DataFrame(index=names))


def merged(ours, theirs):
    both = [table.astype({"group": str, "names": str}) for table in (ours, theirs)]
    return both[0].merge(both[1], on=["group", "names"], suffixes=("", "_scanpy"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [sparse.csr_matrix, np.asarray])
@pytest.mark.parametrize("reference", ["rest", "B"])
def test_the_table_is_that_of_scanpy(make, reference):
    cells = scanpy_cells(make)
    scanpy.tl.rank_genes_groups(cells, "group", method="t-test", pts=True, reference=reference)
    theirs = scanpy.get.rank_genes_groups_df(cells, None)
    ours = rank_features_by_class(cells, "group", reference=reference)
    assert set(theirs.columns) <= set(ours.columns)
    assert len(theirs) == len(ours)
    pairs = merged(ours, theirs)
    assert len(pairs) == len(ours)
    # Both constant: rounding decides there between a variance of zero and a tiny one.
    pairs = pairs[pairs["names"] != "gene 5"]
    for name in ("scores", "logfoldchanges"):  # stored in single precision
        np.testing.assert_allclose(pairs[name], pairs[f"{name}_scanpy"], rtol=3e-6, atol=1e-6)
    np.testing.assert_allclose(pairs["pvals"], pairs["pvals_scanpy"], rtol=1e-11)
    for name in FRACTIONS[: 1 + (reference == "rest")]:
        np.testing.assert_array_equal(pairs[name], pairs[f"{name}_scanpy"])
    for _, part in pairs.groupby("group"):
        assert np.all(np.diff(part["scores_scanpy"]) <= 0)  # the same order


@pytest.mark.filterwarnings("ignore")
def test_the_filters_are_those_of_scanpy():
    cells = scanpy_cells()
    scanpy.tl.rank_genes_groups(cells, "group", method="t-test", pts=True)
    scanpy.tl.filter_rank_genes_groups(
        cells, min_in_group_fraction=0.25, max_out_group_fraction=0.7, min_fold_change=0.3
    )
    theirs = pd.DataFrame(cells.uns["rank_genes_groups_filtered"]["names"]).melt().dropna()
    theirs = set(theirs.itertuples(index=False, name=None))
    ours = rank_features_by_class(
        cells, "group", min_fraction=0.25, max_reference_fraction=0.7, min_log_fold_change=0.3
    )
    assert set(zip(ours["group"], ours["names"], strict=True)) == theirs
    assert 5 < len(theirs) < 200
