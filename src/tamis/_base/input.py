"""Input validation, and labels: catches arrays that scikit-learn would silently misread."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from tamis._array import Matrix, choose_columns, is_on_device, is_sparse, to_host
from tamis._base.devices import bring_to_numpy, is_dispatching, validate_on_device

__all__ = [
    "LARGEST_INTEGER",
    "FeatureSelectorMixin",
    "count_classes",
    "decode_labels",
    "encode_labels",
    "large_columns",
    "refuse_collections",
    "require_class_weights",
    "require_two_classes",
    "require_unmasked",
    "validate",
]

#: The largest integer up to which floating-point numbers are exact.
LARGEST_INTEGER = 2**53
# Labels that are counted one after the other, with vector instructions.
_FEW_LABELS = 8


def large_columns(values: NDArray) -> NDArray[np.intp]:
    """Indices of the columns of an integer array that hold an integer beyond 2**53."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or values.size == 0:
        return np.zeros(0, dtype=np.intp)
    if max(-int(values.min()), int(values.max())) <= LARGEST_INTEGER:
        return np.zeros(0, dtype=np.intp)
    values = values.reshape(len(values), -1)
    low, high = values.min(axis=0).tolist(), values.max(axis=0).tolist()
    return np.flatnonzero([max(-a, b) > LARGEST_INTEGER for a, b in zip(low, high, strict=True)])


def validate(estimator, X, y="no_validation", *, on_device=False, **options):
    """`validate_data` of scikit-learn, after checks for masks and large integers.

    Masked entries are missing: NaN where that is accepted, otherwise an error. Integers beyond
    2**53 are not exact as floating-point numbers, so they are an error too.

    `X`, `y`: as for `validate_data`; `on_device`: whether X may stay an array of another library
    (`tamis._base.devices`); `options`: as for `validate_data`.
    """
    family = "PrimalDual" if "PrimalDual" in type(estimator).__name__ else "SparseCenter"
    refuse_collections(X, f"{family}Classifier")
    if all(hasattr(X, name) for name in ("X", "obs", "var_names")):
        raise TypeError(
            f"X is an AnnData object. Use TableClassifier({type(estimator).__name__}(...)).fit("
            "adata, y), which keeps the names of the features, or pass a matrix: adata.X, or "
            'adata.layers["counts"].'
        )
    if is_on_device(X):
        if on_device and is_dispatching():
            return validate_on_device(estimator, X, y, options)
        X = bring_to_numpy(estimator, X, on_device)
    if not isinstance(y, str) and is_on_device(y):
        y = to_host(y)
    if isinstance(X, list | tuple):
        X = _integers_of_list(X)
    _require_exact_integers(X)
    if options.get("ensure_all_finite") == "allow-nan" and isinstance(X, np.ma.MaskedArray):
        X = X.astype(np.float64).filled(np.nan)
    X = require_unmasked(X, "X")
    if not isinstance(y, str):
        y = require_unmasked(y, "y")
    return validate_data(estimator, X, y, **options)


def refuse_collections(X, classifier="SparseCenterClassifier", also=""):
    """Raise for data on a cluster, which would be loaded into memory without a word.

    `classifier`: classifier whose twin trains on the cluster; `also`: what else can be done, with
    a comma before it.
    """
    package = type(X).__module__.partition(".")[0]
    if package in ("dask", "dask_expr") and hasattr(X, "to_delayed"):
        raise TypeError(
            "X is a Dask collection, which would be loaded into memory. Use "
            f"tamis.dask.Dask{classifier}{also}, or pass X.compute() if it fits."
        )
    if package == "pyspark":
        raise TypeError(
            "X is a Spark frame, which would be loaded into memory. Use "
            f"tamis.spark.Spark{classifier}{also}, or pass X.toPandas() if it fits."
        )


def require_unmasked(values, name):
    """`values`, as a plain array if it was masked; masked entries raise an error."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    masked = np.argwhere(np.ma.getmaskarray(values))
    if masked.size:
        where = f"row {masked[0, 0]}" + (f", column {masked[0, 1]}" if values.ndim == 2 else "")
        raise ValueError(
            f"{name} has {len(masked)} masked entries, the first in {where}; it must be "
            f"complete. Fill them with {name}.filled(...), or drop these rows."
        )
    return values.data


def decode_labels(y):
    """Labels, with bytes decoded to strings; bytes that are not UTF-8 raise an error."""
    labels = np.asarray(y)
    is_bytes = labels.dtype.kind == "S"
    if labels.dtype.kind == "O" and labels.size:
        is_bytes = all(isinstance(label, bytes) for label in labels.ravel())
    if not is_bytes:
        return y
    try:
        decoded = [label.decode("utf-8") for label in labels.ravel().tolist()]
    except UnicodeDecodeError as error:
        raise ValueError(
            f"y has labels of bytes, and {error.object!r} is not UTF-8. Decode the labels, for "
            "instance with np.char.decode(y, 'latin-1')."
        ) from error
    return np.array(decoded).reshape(labels.shape)


class FeatureSelectorMixin(TransformerMixin):
    """scikit-learn's `SelectorMixin`, but masked entries raise an error.

    Its methods are taken when they are called: importing `sklearn.feature_selection` loads a
    quarter of scikit-learn, which predictions do not need.
    """

    def get_support(self, indices: bool = False) -> NDArray:
        """Mask of the selected features, or their indices.

        Parameters
        ----------
        indices : bool
            Whether indices are returned, not a mask.

        Returns
        -------
        support : ndarray of bool of shape (n_features,), or ndarray of int
        """
        mask = self._get_support_mask()
        return np.flatnonzero(mask) if indices else mask

    def _get_support_mask(self):
        raise NotImplementedError

    def transform(self, X: ArrayLike) -> Matrix:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        X_r : array of shape (n_samples, n_selected_features)
        """
        if is_on_device(X) and is_dispatching():
            X = validate_on_device(self, X, "no_validation", {"reset": False})
            return choose_columns(X, np.flatnonzero(self.get_support()))
        return _selector_mixin().transform(self, require_unmasked(X, "X"))

    def _transform(self, X):
        return _selector_mixin()._transform(self, X)

    def inverse_transform(self, X: ArrayLike) -> Matrix:
        """Put the selected features back into their columns; the others are 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected_features)
            Samples.

        Returns
        -------
        X_original : array of shape (n_samples, n_features)
        """
        return _selector_mixin().inverse_transform(self, X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Names of the selected features.

        Parameters
        ----------
        input_features : array-like of str or None
            Names of all features; None: those seen in `fit`, or x0, x1, ...

        Returns
        -------
        names : ndarray of str
        """
        return _selector_mixin().get_feature_names_out(self, input_features)


def _selector_mixin():
    from sklearn.feature_selection import SelectorMixin

    SelectorMixin.register(FeatureSelectorMixin)
    return SelectorMixin


def _integers_of_list(values):
    """A list of lists of integers as an array; anything else unchanged."""
    try:
        array = np.asarray(values)
    except ValueError:  # of different lengths: scikit-learn reports it
        return values
    return array if array.dtype.kind in "iu" else values


def _require_exact_integers(X):
    """Raise if X has 64-bit integers beyond 2**53, and name the column."""
    for column, low, high in _integer_ranges(X):
        for value in (low, high):
            try:
                value = int(value)
            except (TypeError, ValueError):  # a column without a value
                continue
            if abs(value) > LARGEST_INTEGER:
                raise ValueError(
                    f"Column {column!r} of X has the integer {value}, and integers beyond 2**53 = "
                    f"{LARGEST_INTEGER} are not exact as floating-point numbers. Drop the "
                    "column if it holds identifiers, or convert it with astype(float)."
                )


def _integer_ranges(X):
    """Column, smallest and largest value of each 64-bit integer column."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        yield from _ranges_of_frame(X)
        return
    is_array = isinstance(X, np.ndarray) or is_sparse(X)
    if not is_array or X.ndim != 2 or X.dtype.kind not in "iu" or X.dtype.itemsize < 8:
        return
    coo = X.tocoo() if is_sparse(X) else None
    values = X if coo is None else coo.data
    if values.size == 0 or max(-int(values.min()), int(values.max())) <= LARGEST_INTEGER:
        return
    if coo is None:
        yield from zip(range(X.shape[1]), X.min(axis=0), X.max(axis=0), strict=True)
    else:
        place = int(np.argmax(np.abs(coo.data.astype(np.float64))))
        yield int(coo.col[place]), coo.data[place], coo.data[place]


def _ranges_of_frame(X):
    names, of_type = list(X.columns), {}
    for j, dtype in enumerate(X.dtypes):
        if str(dtype).lower().startswith(("int64", "uint64")):
            of_type.setdefault(str(dtype), []).append(j)
    for places in of_type.values():
        if hasattr(X, "iloc"):  # pandas
            part = X.iloc[:, places]
            lows, highs = part.min(), part.max()
            yield from zip((names[j] for j in places), lows, highs, strict=True)
        else:  # polars
            part = X[:, places]
            lows, highs = part.min().row(0), part.max().row(0)
            yield from zip((names[j] for j in places), lows, highs, strict=True)


def encode_labels(y, classes=None, advice=""):
    """Classes in order, and the index of each label in them.

    `y` (n_samples,): labels of any type; bytes are decoded as UTF-8. `classes`: the classes if
    they are known already; any other label raises an error. `advice`: what to do about such a
    label, with a space before it. Returns `classes` (n_classes,); `codes` (n_samples,): integers;
    `y` itself if it is 0, 1, ... already.
    """
    y = column_or_1d(decode_labels(y), warn=True)
    if classes is None and y.dtype.kind in "iub" and y.dtype.isnative and y.size:
        # Integers in a small range need no sorting.
        low, high = int(y.min()), int(y.max())
        if high - low < max(1024, y.size // 16) and -(2**62) < low <= high < 2**62:
            count = _count(y, low, high - low + 1)
            present = np.flatnonzero(count)
            if low == 0 and present.size == count.size and y.dtype == np.int64:
                return np.arange(high + 1), y
            if y.dtype.kind == "b":
                return np.array([False, True])[low:][: present.size], y.astype(np.int64) - low
            position = np.cumsum(count > 0) - 1
            codes = position[y.astype(np.int64) - low]
            return (present + low).astype(y.dtype), codes
    try:
        check_classification_targets(y)
        if classes is None:
            classes, codes = np.unique(y, return_inverse=True)
            return classes, codes.astype(np.int64)
        unknown = np.setdiff1d(y, classes)
    except TypeError as error:
        raise ValueError(
            "Labels must be of one type, so that they have an order; got a mixture "
            f"({error}). Convert them, for instance with y.astype(str)."
        ) from error
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()}.{advice}"
        )
    return classes, np.searchsorted(classes, y).astype(np.int64)


def _count(y, low, size):
    """How often each of the integers low, low + 1, ... occurs in y."""
    y = y.astype(np.int64, copy=False)
    if size <= min(_FEW_LABELS, y.size >> 10):
        return np.array([np.count_nonzero(y == low + k) for k in range(size)])
    return np.bincount(y - low if low else y, minlength=size)


def count_classes(codes, n_classes):
    """Number of rows per class."""
    return _count(codes, 0, n_classes)


def require_two_classes(estimator):
    """Raise unless an estimator has seen at least two classes."""
    if len(estimator.classes_) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes, got 1 class: "
            f"{estimator.classes_.tolist()[0]!r}."
        )


def require_class_weights(classes, codes, weights):
    """Raise if all samples of a class have zero weight."""
    sums = np.bincount(codes, weights=weights, minlength=len(classes))
    empty = np.flatnonzero(sums <= 0)
    if empty.size:
        raise ValueError(
            f"All samples of the class {classes.tolist()[empty[0]]!r} have zero weight. Give them "
            "weight, or drop them."
        )
