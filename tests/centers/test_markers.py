"""Features that distinguish each class: Welch's test, fractions, filters, scanpy's layout."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from tamis import SparseCenterClassifier, rank_features_by_class
from tamis.centers.welch import adjust_pvalues
from tests.oracles import markers as oracle

COLUMNS = ["group", "names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
FRACTIONS = ["pct_nz_group", "pct_nz_reference"]
NUMBERS = [*COLUMNS[2:], *FRACTIONS]


def make_cells(seed=0, n_rows=120, n_features=12, n_classes=4, dtype=np.float64):
    """Logarithms of counts, most of them zero, and labels."""
    rng = np.random.default_rng(seed)
    y = np.array(["B", "NK", "T", "Mono", "DC"])[rng.integers(n_classes, size=n_rows)]
    rate = rng.gamma(0.5, size=n_features) * np.where(y == "T", 2.0, 1.0)[:, None]
    X = np.log1p(rng.poisson(rate)).astype(dtype)
    X[:, 3] = 0.0  # a gene without counts
    X[:, 5] = np.where(y == "NK", 1.5, 0.0)  # constant inside and outside
    return X, y


def by_feature(table, group):
    """The rows of one class, features in the order of the data."""
    part = table[table["group"] == group].set_index("names")
    return part.loc[[f"x{j}" for j in range(len(part))]]


def assert_same_tables(one, other, rtol=1e-12):
    assert list(one.columns) == list(other.columns)
    assert one["group"].astype(str).tolist() == other["group"].astype(str).tolist()
    keys = ["group", "names"]
    one, other = (t.astype({"group": str}).sort_values(keys) for t in (one, other))
    assert one["names"].tolist() == other["names"].tolist()
    for name in one.columns[2:]:
        np.testing.assert_allclose(one[name], other[name], rtol=rtol, atol=1e-300, err_msg=name)


KINDS = {
    "dense": np.asarray,
    "columns": np.asfortranarray,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_number_is_that_of_the_definition(kind, dtype):
    X, y = make_cells(dtype=dtype)
    table = rank_features_by_class(KINDS[kind](X), y)
    assert list(table.columns) == COLUMNS + FRACTIONS
    assert table["group"].cat.categories.tolist() == sorted(set(y))
    for label in sorted(set(y)):
        part = by_feature(table, label)
        inside, outside = X[y == label], X[y != label]
        tests = [oracle.welch(a, b) for a, b in zip(inside.T, outside.T, strict=True)]
        np.testing.assert_allclose(part["scores"], [t for t, _ in tests], rtol=1e-11)
        pvals = [2 * stats.t.sf(abs(t), freedom) for t, freedom in tests]
        np.testing.assert_allclose(part["pvals"], pvals, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(part["pvals_adj"], oracle.adjust(pvals), rtol=1e-9, atol=1e-300)
        for name, values in zip(FRACTIONS, (inside, outside), strict=True):
            expected = [oracle.fraction_of_nonzeros(column) for column in values.T]
            np.testing.assert_array_equal(part[name], expected)
        changes = [oracle.log_fold_change(a, b) for a, b in zip(inside.T, outside.T, strict=True)]
        np.testing.assert_allclose(part["logfoldchanges"], changes, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_scipy(seed):
    X, y = make_cells(seed)
    X += np.random.default_rng(seed).normal(size=X.shape)
    table = rank_features_by_class(X, y, log_base=None)
    for label in set(y):
        expected = stats.ttest_ind(X[y == label], X[y != label], equal_var=False)
        part = by_feature(table, label)
        np.testing.assert_allclose(part["scores"], expected.statistic, rtol=1e-11)
        np.testing.assert_allclose(part["pvals"], expected.pvalue, rtol=1e-9)


def test_scores_of_a_reference_class():
    X, y = make_cells()
    table = rank_features_by_class(X, y, reference="B", classes=["T", "NK"])
    assert table["group"].unique().tolist() == ["T", "NK"]
    varying = np.flatnonzero(X[y == "B"].any(axis=0))
    for label in ("T", "NK"):
        parts = (X[np.ix_(y == name, varying)] for name in (label, "B"))
        expected = stats.ttest_ind(*parts, equal_var=False)
        part = by_feature(table, label)
        np.testing.assert_allclose(part["scores"].iloc[varying], expected.statistic, rtol=1e-11)
        np.testing.assert_array_equal(part["pct_nz_reference"], (X[y == "B"] != 0).mean(axis=0))
    whole = rank_features_by_class(X, y, reference="B")
    assert whole["group"].unique().tolist() == sorted(set(y) - {"B"})


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_large_mean_costs_no_digits(make):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [5, 40, 40])
    X = np.round(rng.normal(size=(y.size, 4)), 3) + 0.5 * (y == 1)[:, None] + 2.0**30
    table = rank_features_by_class(make(X), y, log_base=None)
    for label in range(3):
        inside, outside = X[y == label], X[y != label]
        expected = [oracle.welch(a, b)[0] for a, b in zip(inside.T, outside.T, strict=True)]
        np.testing.assert_allclose(by_feature(table, label)["scores"], expected, rtol=1e-9)


def test_the_rest_is_exact_if_one_class_has_nearly_all_the_variance():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = np.where(y == 1, 1e6, np.round(rng.normal(size=y.size), 3))
    table = rank_features_by_class(X[:, None], y, classes=[1], log_base=None)
    expected = oracle.welch(X[y == 1], X[y != 1])[0]
    # The total minus the class would have four correct digits.
    assert table["scores"].item() == pytest.approx(expected, rel=1e-12)


def test_features_that_vary_only_between_classes_or_not_at_all():
    y = np.repeat([0, 1, 2], 30)
    X = np.column_stack([np.where(y == 1, 3.0, 0.0), np.zeros(y.size), np.full(y.size, 0.1)])
    part = by_feature(rank_features_by_class(X, y), 1)
    assert part["scores"].tolist() == [np.inf, 0.0, 0.0]
    assert part["pvals"].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("exponent", [-700, 700])
def test_scores_do_not_depend_on_units(exponent):
    X, y = make_cells()
    one = rank_features_by_class(X, y, log_base=None)
    other = rank_features_by_class(np.ldexp(X, exponent), y, log_base=None)
    assert one["names"].tolist() == other["names"].tolist()
    for name in ("scores", "pvals", *FRACTIONS):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-12)


def test_rows_of_a_class_are_in_the_order_of_scores_and_of_features():
    X, y = make_cells()
    table = rank_features_by_class(X, y)
    for label in set(y):
        part = table[table["group"] == label]
        keys = list(zip(-part["scores"], part["names"].str[1:].astype(int), strict=True))
        assert keys == sorted(keys)


def test_stored_zeros_and_duplicates_of_sparse_data():
    X, y = make_cells()
    coo = sparse.coo_array(X)
    rows, columns = np.concatenate([coo.coords[0]] * 2), np.concatenate([coo.coords[1]] * 2)
    order = np.argsort(rows, kind="stable")
    halves = np.concatenate([coo.data / 4, coo.data * 3 / 4])[order]
    indptr = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    parts = sparse.csr_array((halves, columns[order], indptr), shape=X.shape)
    explicit = sparse.csr_array(X + 1.0)
    explicit.data -= 1.0
    assert not parts.has_canonical_format and explicit.nnz == X.size
    for form in (parts, explicit, explicit.tocsc()):
        assert_same_tables(rank_features_by_class(form, y), rank_features_by_class(X, y), 1e-10)
    assert parts.nnz == 2 * coo.nnz  # as it was


def test_sparse_data_stay_sparse(monkeypatch):
    X, y = make_cells()
    owner = next(kind for kind in sparse.csr_array.__mro__ if "toarray" in vars(kind))
    assert owner in sparse.csc_array.__mro__
    monkeypatch.delattr(owner, "toarray")
    for make in (sparse.csr_array, sparse.csc_array):
        rank_features_by_class(make(X), y)


# Filters.


def test_filters_keep_what_meets_all_conditions():
    X, y = make_cells()
    whole = rank_features_by_class(X, y)
    wanted = (whole["pct_nz_group"] > 0.25) & (whole["pct_nz_reference"] < 0.6)
    wanted &= whole["logfoldchanges"] > 0.1
    assert 0 < wanted.sum() < len(whole)
    limits = {"min_fraction": 0.25, "max_reference_fraction": 0.6, "min_log_fold_change": 0.1}
    table = rank_features_by_class(X, y, **limits)
    pd.testing.assert_frame_equal(table, whole[wanted].reset_index(drop=True))
    best = rank_features_by_class(X, y, n_features=2, **limits)
    expected = whole[wanted].groupby("group", observed=True).head(2).reset_index(drop=True)
    pd.testing.assert_frame_equal(best, expected)


def test_each_filter_alone_and_with_the_limit_itself():
    X, y = make_cells()
    whole = rank_features_by_class(X, y)
    for name, column, sign in (
        ("min_fraction", "pct_nz_group", 1),
        ("max_reference_fraction", "pct_nz_reference", -1),
        ("min_log_fold_change", "logfoldchanges", 1),
    ):
        limit = float(whole[column].sort_values().iloc[len(whole) // 2])
        kept = whole[sign * whole[column] > sign * limit]
        assert len(rank_features_by_class(X, y, **{name: limit})) == len(kept) < len(whole)


def test_classes_come_in_the_wanted_order():
    X, y = make_cells()
    whole = rank_features_by_class(X, y)
    table = rank_features_by_class(X, y, classes=["T", "B"], n_features=3)
    parts = [whole[whole["group"] == label].head(3) for label in ("T", "B")]
    assert table["group"].tolist() == ["T"] * 3 + ["B"] * 3
    expected = pd.concat(parts)["scores"].to_numpy()
    np.testing.assert_array_equal(table["scores"], expected)


@pytest.mark.parametrize("base", [2, 10.0])
def test_fold_changes_invert_the_logarithm(base):
    X, y = make_cells()
    natural = rank_features_by_class(X, y)
    other = rank_features_by_class(X / np.log(base), y, log_base=base)
    assert_same_tables(other, natural, 1e-9)
    positive = np.random.default_rng(0).uniform(1, 2, X.shape)
    plain = rank_features_by_class(positive, y, log_base=None, classes=["T"])
    ratio = positive[y == "T"].mean(axis=0) / positive[y != "T"].mean(axis=0)
    np.testing.assert_allclose(by_feature(plain, "T")["logfoldchanges"], np.log2(ratio), atol=1e-8)


def test_fold_change_of_a_negative_mean_is_unknown():
    X, y = make_cells()
    X[:, 0] = -1.0 - np.random.default_rng(0).random(len(y)) + 5 * (y == "T")
    part = by_feature(rank_features_by_class(X, y), "T")
    assert np.isnan(part["logfoldchanges"].iloc[0]) and part["scores"].iloc[0] > 0


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_pvalues(seed):
    rng = np.random.default_rng(seed)
    pvals = rng.choice(rng.random(8) ** 3, size=20)  # ties
    pvals[:2] = 0.0, 1.0
    expected = stats.false_discovery_control(pvals)
    np.testing.assert_allclose(adjust_pvalues(pvals), expected, rtol=1e-14)
    np.testing.assert_allclose(adjust_pvalues(pvals), oracle.adjust(pvals.tolist()), rtol=1e-14)


# Input and output.


def test_anndata():
    X, y = make_cells()
    names = [f"gene {j}" for j in range(X.shape[1])]
    obs = pd.DataFrame({"cell type": pd.Categorical(y)})
    cells = SimpleNamespace(X=sparse.csr_matrix(X), obs=obs, var_names=pd.Index(names))
    table = rank_features_by_class(cells, "cell type")
    assert_same_tables(table, rank_features_by_class(X, y, feature_names=names))


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_without_pandas(monkeypatch, backend):
    X, y = make_cells()
    expected = rank_features_by_class(X, y, n_features=3)
    for missing in ["pandas"] + ["polars"] * (backend == "pyarrow"):
        monkeypatch.setitem(sys.modules, missing, None)
    table = rank_features_by_class(X, y, n_features=3)
    assert type(table).__module__.startswith(backend)
    columns = table.to_dict(as_series=False) if backend == "polars" else table.to_pydict()
    assert columns["group"] == expected["group"].tolist()
    assert columns["names"] == expected["names"].tolist()
    assert columns["scores"] == expected["scores"].tolist()


def test_labels_of_any_type():
    X, y = make_cells()
    codes = np.unique(y, return_inverse=True)[1] * 10
    table = rank_features_by_class(X, codes, reference=20, classes=[30, 0])
    assert table["group"].cat.categories.tolist() == [30, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "X"}, "reference 'X' is not one of the classes"),
        ({"classes": ["T", "X"]}, "class 'X' is not one of the classes"),
        ({"classes": ["T", "T"]}, "repeated"),
        ({"classes": ["T"], "reference": "T"}, "no class to compare"),
        ({"feature_names": ["a"]}, "feature_names has 1 names"),
        ({"n_features": 0}, "n_features must be"),
        ({"model": object()}, "get_support"),
        ({"log_base": 1.0}, "log_base must be greater than 1"),
    ],
)
def test_options_that_cannot_be_used(options, message):
    X, y = make_cells()
    with pytest.raises(ValueError, match=message):
        rank_features_by_class(X, y, **options)


def test_data_without_labels_and_labels_without_data():
    X, y = make_cells()
    with pytest.raises(ValueError, match="y is missing"):
        rank_features_by_class(X)
    with pytest.raises(ValueError, match="y was given without X"):
        rank_features_by_class(None, y)


def test_a_model_of_other_features_is_refused():
    X, y = make_cells()
    model = SparseCenterClassifier(2).fit(X[:, :5], y)
    with pytest.raises(ValueError, match="trained on 5 features, but the data have 12"):
        rank_features_by_class(X, y, model=model)


def test_classes_of_one_row():
    X, y = make_cells()
    y[0] = "rare"
    with pytest.raises(ValueError, match=r"\['rare'\] have fewer than two rows"):
        rank_features_by_class(X, y)
    with pytest.raises(ValueError, match=r"\['rare'\] have fewer than two rows"):
        rank_features_by_class(X, y, reference="rare")
    table = rank_features_by_class(X, y, classes=["B"])  # its row still belongs to the rest
    expected = stats.ttest_ind(X[y == "B"], X[y != "B"], equal_var=False).statistic
    assert by_feature(table, "B")["scores"].iloc[0] == pytest.approx(expected[0], rel=1e-12)
    with pytest.raises(ValueError, match="rest of a class"):
        rank_features_by_class(X[:3], ["a", "a", "b"], classes=["a"])
