"""Features that distinguish each class from the others: Welch's t-test in the layout of scanpy.

Everything comes from class moments and counts of non-zeros, so all classes take one summary of
the data, sparse data stay sparse, and chunks of rows are enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tamis._base import decode_labels, make_frame, order_by_score, resolve_n_features
from tamis._passes import NO_ROWS, LocalChunks
from tamis.centers._fitted import FittedCenters
from tamis.centers.class_counts import ClassCounts, count_and_summarise
from tamis.centers.classifier import SparseCenterClassifier
from tamis.centers.statistics import ClassMoments
from tamis.centers.welch import compare_classes

if TYPE_CHECKING:
    import pandas as pd


def rank_features_by_class(
    X: ArrayLike | Iterable[tuple] | Callable[[], Iterable[tuple]] | None = None,
    y: ArrayLike | str | None = None,
    *,
    classes: ArrayLike | None = None,
    reference: Any = "rest",
    n_features: int | None = None,
    min_fraction: float | None = None,
    max_reference_fraction: float | None = None,
    min_log_fold_change: float | None = None,
    log_base: float | None = math.e,
    feature_names: ArrayLike | None = None,
    model: Any = None,
) -> pd.DataFrame:
    r"""For each class, the features whose means differ most from those of the other classes.

    The same table as ``scanpy.tl.rank_genes_groups(method="t-test", pts=True)`` followed by
    ``scanpy.get.rank_genes_groups_df``: Welch's t-test of one class against all other rows, or
    against one other class, with p-values adjusted by Benjamini and Hochberg within each class.
    All classes are computed from one summary of the data.

    Parameters
    ----------
    X : {array-like, sparse matrix, AnnData}, chunks of rows, or None
        One row per sample, and labels in `y`. Sparse data stay sparse. Without `y`: chunks of
        rows as `SparseCenterClassifier.fit_chunks` takes them, for instance from
        `tamis.read_chunks`. None: use the class means and variances that `model` has kept; the
        columns with fractions are then missing.
    y : array-like of shape (n_samples,), or str
        Labels, two classes or more. If X is an AnnData object, the name of a column of
        ``X.obs``.
    classes : array-like of labels, default=None
        Classes in the table, in this order; None: all, sorted. The others still belong to the
        rest. Called `groups` in scanpy.
    reference : label or "rest", default="rest"
        The class that the others are compared with; "rest": all other rows, even if a class has
        this name.
    n_features : int, default=None
        Number of rows per class, after the filters below; None: all features. Called `n_genes`
        in scanpy.
    min_fraction : float, default=None
        Keep features that are not zero in more than this fraction of the class. Called
        `min_in_group_fraction` in ``scanpy.tl.filter_rank_genes_groups``, where it is 0.25.
    max_reference_fraction : float, default=None
        Keep features that are not zero in less than this fraction of the reference. Called
        `max_out_group_fraction` in scanpy, where it is 0.5.
    min_log_fold_change : float, default=None
        Keep features with a larger log fold change. Called `min_fold_change` in scanpy, where
        it is 1 and is compared with the log fold change, too.
    log_base : float or None, default=e
        The base b of the transformation :math:`\log_b(1 + x)` that was applied to X; it is
        inverted for fold changes. None: X was not transformed.
    feature_names : array-like of str, default=None
        Names of the features; None: those of the frame, chunks or model, or x0, x1, ...
    model : estimator, default=None
        A fitted classifier or selector of the same features, or a model of `compare` or of a run
        (`load_model`). The table then says which features it uses, and how the classes differ in
        them if it has sparse centers.

    Returns
    -------
    table : DataFrame
        Of pandas, or else of polars or pyarrow. The rows of a class follow each other, largest
        score first; equal scores: in the order of the features. Columns:

        - `group`, `names`: class and feature.
        - `scores`: Welch's t. Positive if the mean of the class is the larger one.
        - `logfoldchanges`: base-2 logarithm of the ratio of the means, after inverting the
          logarithm of X; it is only an approximation, because it is not the mean of the inverted
          values. NaN if a mean is negative.
        - `pvals`, `pvals_adj`: two-sided p-values, and p-values adjusted over all features of the
          class, before filtering.
        - `pct_nz_group`, `pct_nz_reference`: fractions of the rows, between 0 and 1, in which the
          feature is not zero.
        - `in_panel`: whether `model` uses the feature.
        - `center_shift`: for a `SparseCenterClassifier` without covariance, the center of the
          class minus the common center, divided by the scale of the feature; 0 for features that
          are not selected. With metric="l2", the squares of a feature's shifts sum to its gain.

    Notes
    -----
    The p-values are valid for labels that were known before, and for independent rows. If the
    classes are clusters found in the same data, the features differ between them by construction,
    and p-values are far too small. Cells of one patient are not independent, so even for known
    cell types or treatments a test over cells does not generalise to other patients; sum the
    cells of each patient first. As an order of features the scores are useful all the same.

    Features with the same value in all rows have score 0 and p-value 1, as in scanpy.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from tamis import rank_features_by_class
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(0.3, size=(300, 4))
    >>> cell_type = np.repeat(["B", "NK", "T"], 100)
    >>> counts[cell_type == "T", 2] += rng.poisson(2.0, 100)
    >>> X = sparse.csr_array(np.log1p(counts))
    >>> table = rank_features_by_class(
    ...     X, cell_type, feature_names=["MS4A1", "GNLY", "CD3D", "ACTB"], min_log_fold_change=1
    ... )
    >>> table[["group", "names", "pct_nz_group", "pct_nz_reference"]].round(2).values.tolist()
    [['T', 'CD3D', 0.92, 0.28]]
    """
    if log_base is not None and not log_base > 1:
        raise ValueError(f"log_base must be greater than 1 or None, got {log_base!r}.")
    model, used = _unwrapped(model)
    if X is None and feature_names is None:
        feature_names = used
    support, shift_of = _panel(model)
    counts, names = _read(X, y, feature_names, model)
    names = np.asarray(names, dtype=object)
    if X is not None and used is not None:
        support, shift_of = _placed(support, shift_of, used, names)
    labels, n_known = counts.labels.tolist(), counts.moments.offset.size
    if names.shape != (n_known,):
        raise ValueError(
            f"feature_names has {names.size} names, but the data have {n_known} features."
        )
    if support is not None and support.size != names.size:
        raise ValueError(
            f"model was trained on {support.size} features, but the data have {names.size}."
        )
    if counts.nonzeros is None and (min_fraction, max_reference_fraction) != (None, None):
        raise ValueError(
            "A model does not keep fractions of non-zeros: pass X and y as well, or neither "
            "min_fraction nor max_reference_fraction."
        )
    chosen = _chosen(classes, labels)
    is_rest = isinstance(reference, str) and reference == "rest"
    at = None if is_rest else _place(reference, labels, "reference")
    chosen = [place for place in chosen if place != at]
    _require_rows(counts, chosen, at)
    k = resolve_n_features(n_features, names.size, "n_features")
    limits = [
        ("pct_nz_group", 1, min_fraction),
        ("pct_nz_reference", -1, max_reference_fraction),
        ("logfoldchanges", 1, min_log_fold_change),
    ]

    table = _Rows(len(chosen) * k)
    for place, columns in compare_classes(counts, chosen, at, log_base):
        if support is not None:
            columns["in_panel"] = support
        if shift_of is not None:
            columns["center_shift"] = shift_of(labels[place])
        order = order_by_score(columns["scores"])
        order = order[_keep(columns, limits)[order]][:k]
        table.append(chosen.index(place), order, columns)
    return table.frame([labels[place] for place in chosen], names)


def _keep(columns, limits):
    """Mask of the features to keep; strict comparisons, as in scanpy."""
    mask = np.ones(columns["scores"].size, dtype=bool)
    for name, sign, limit in limits:
        if limit is not None:
            mask &= sign * columns[name] > sign * limit
    return mask


# Reading.


def _read(X, y, feature_names, model):
    """Counts of the classes, and the names of the features."""
    if X is None:
        if y is not None:
            raise ValueError("y was given without X.")
        counts, found = _of_model(model), model._feature_names()
    elif y is None:
        if hasattr(X, "shape"):
            raise ValueError("y is missing: pass the labels, or chunks of rows (X, y).")
        counts, found = _of_chunks(X)
    else:
        if all(hasattr(X, name) for name in ("X", "obs", "var_names")):  # AnnData
            y = X.obs[y] if isinstance(y, str) else y
            feature_names = X.var_names if feature_names is None else feature_names
            X = X.X
        counts, found = _of_rows(X, y)
    return counts, found if feature_names is None else feature_names


def _of_rows(X, y):
    checker = SparseCenterClassifier()
    X, codes, _ = checker._validate(X, y, None)
    return count_and_summarise(X, checker.classes_, codes), checker._feature_names()


def _of_chunks(chunks):
    passes = LocalChunks(chunks, is_read_again=False)
    found = passes.run(_summarise_chunk, _merge_chunks)
    if found is None:
        raise ValueError(NO_ROWS)
    _, counts, names = found
    if counts.labels.size < 2:
        raise ValueError(
            f"Two classes are needed; all rows are of class {counts.labels.item()!r}."
        )
    return counts, names if passes.feature_names is None else passes.feature_names


def _summarise_chunk(number, X, y, sample_weight):
    if sample_weight is not None:
        raise ValueError(
            f"Chunk {number} has sample weights, which a t-test cannot use: pass (X, y)."
        )
    checker = SparseCenterClassifier()
    try:
        X, codes, _ = checker._validate(X, y, None, is_part=True)
        return number, count_and_summarise(X, checker.classes_, codes), checker._feature_names()
    except ValueError as error:
        raise ValueError(f"Chunk {number}: {error}") from error


def _merge_chunks(one, other):
    if not np.array_equal(one[2], other[2]):
        raise ValueError(f"Chunks {one[0]} and {other[0]} have different features.")
    return one[0], one[1].merge(other[1]), one[2]


def _of_model(model):
    """Counts of the classes from a fitted sparse center classifier."""
    if not isinstance(model, FittedCenters):
        raise ValueError(
            "Pass X and y, or a fitted SparseCenterClassifier as model; got neither X nor a "
            f"sparse center classifier, but model={model!r}."
        )
    if model._metric != "l2":
        raise ValueError(
            "A classifier with metric='l1' has kept medians, and a t-test needs means: pass X "
            "and y as well, or a classifier with metric='l2'."
        )
    n_rows = getattr(model, "_n_rows", model.class_count_.sum())
    is_relative = getattr(model, "_weight_unit", 1.0) != 1.0
    is_whole = np.all(model.class_count_ == np.rint(model.class_count_))
    if is_relative or not is_whole or model.class_count_.sum() != n_rows:
        raise ValueError(
            "The classifier was trained with sample weights, which a t-test cannot use: pass X "
            "and y as well."
        )
    statistics = model._statistics
    moments = ClassMoments(
        statistics.weight,
        statistics.offset,
        statistics.centers,
        statistics.dispersion,
        int(n_rows),
        statistics.unit,
    )
    return ClassCounts(model.classes_, moments, None)


def _unwrapped(model):
    """The classifier inside one of tables, with its names; others as they are, with None."""
    table_model = getattr(model, "model_", None)
    if table_model is None or not hasattr(table_model, "preparation"):
        return model, None
    return table_model.estimator, list(table_model.preparation.columns)


def _placed(support, shift_of, used, names):
    """What `_panel` returns, for all features of the data instead of those of the model."""
    place = {str(name): j for j, name in enumerate(names.tolist())}
    absent = [name for name in used if name not in place]
    if absent:
        raise ValueError(f"The data have no feature {absent[0]!r}, which the model uses.")
    at = [place[name] for name in used]

    def spread(values):
        whole = np.zeros(names.size, dtype=values.dtype)
        whole[at] = values
        return whole

    return spread(support), shift_of and (lambda label: spread(shift_of(label)))


def _panel(model):
    """Mask of the features of a model, and a function from a label to its center's shift."""
    if model is None:
        return None, None
    if not hasattr(model, "get_support"):
        raise ValueError(
            f"model must be a fitted classifier or selector with get_support, got {model!r}."
        )
    check_is_fitted(model)
    support = np.asarray(model.get_support(), dtype=bool)
    if not isinstance(model, FittedCenters) or model._whitening is not None:
        return support, None
    shift = (model.centers_ - model.common_center_) / model.scale_
    known = model.classes_.tolist()
    return support, lambda label: shift[_place(label, known, "class of the data")]


# Labels.


def _chosen(classes, labels):
    """Places of the wanted classes among the labels."""
    if classes is None:
        return list(range(len(labels)))
    wanted = column_or_1d(decode_labels(classes)).tolist()
    places = [_place(label, labels, "class") for label in wanted]
    if len(set(places)) < len(places):
        raise ValueError(f"classes has repeated labels: {wanted}.")
    return places


def _place(label, labels, what):
    if label not in labels:
        some = ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")
        raise ValueError(f"{what} {label!r} is not one of the classes {some}.")
    return labels.index(label)


def _require_rows(counts, chosen, at):
    """Raise if a variance cannot be estimated."""
    if not chosen:
        raise ValueError("There is no class to compare: classes has only the reference.")
    weight, labels = counts.moments.weight, counts.labels.tolist()
    compared = chosen if at is None else [*chosen, at]
    small = [labels[place] for place in compared if weight[place] < 2]
    if small:
        raise ValueError(
            f"Classes {small} have fewer than two rows, so their variance is unknown. Name the "
            "other classes with classes=, or merge these with others."
        )
    if at is None and weight.sum() - weight[chosen].max() < 2:
        raise ValueError("The rest of a class has fewer than two rows: its variance is unknown.")


# The table.


class _Rows:
    """Rows of the table, written in place: copies of long columns would take most of the time."""

    def __init__(self, n_most):
        self.n_most, self.size = n_most, 0
        self.group, self.feature = np.empty((2, n_most), dtype=np.intp)
        self.columns = {}

    def append(self, group, order, columns):
        """Add one class: some of its features in their order."""
        rows = slice(self.size, self.size + order.size)
        self.group[rows], self.feature[rows] = group, order
        for name, column in columns.items():
            if name not in self.columns:
                self.columns[name] = np.empty(self.n_most, dtype=column.dtype)
            np.take(column, order, out=self.columns[name][rows])
        self.size += order.size

    def frame(self, labels, names):
        """As a frame, classes in the order of the labels."""
        filled = slice(self.size)
        if np.any(np.diff(self.group[filled]) < 0):
            filled = np.argsort(self.group[filled], kind="stable")
        group, feature = self.group[filled], self.feature[filled]
        columns = {name: column[filled] for name, column in self.columns.items()}
        try:
            import pandas as pd
        except ImportError:
            columns = {"group": np.array(labels)[group], "names": names[feature]} | columns
            return make_frame({name: column.tolist() for name, column in columns.items()})
        group = pd.Categorical.from_codes(group, categories=labels)
        first = {"group": group, "names": pd.Index(names).take(feature)}
        return pd.DataFrame(first | columns, copy=False)
