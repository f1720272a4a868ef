r"""How many of any chosen features differ between the classes: a bound that survives choosing.

The statistic of feature i is the share :math:`R_i` of its spread that the classes explain, per
degree of freedom as in an analysis of variance,

.. math:: Z_i = \frac{1}{s_i} \cdot \frac{R_i / (C - 1)}{(1 - R_i) / (n - C)},

where :math:`s_i` makes the 90 % quantile of :math:`Z_i` over the permutations that of the F law
with C - 1 and n - C degrees of freedom, so that features of any distribution compare. A feature of
several columns has the mean share of its columns that vary. Shapes: X (n, m), Z (features,).

A class of few rows has little say, so that it does not dominate the largest statistics
(`tamis.guarantees.shares`).

The idea that makes it fast: nothing of the w x m statistics of the permutations is kept but the
largest 500 of each permutation. They settle the family-wise p-values of the first 500 features and
the critical values of every set, because a set of k features needs the first k critical values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import check_array, check_consistent_length, check_random_state

from tamis._base import encode_labels, is_real, name_some, read_groups
from tamis.guarantees._indices import feature_indices
from tamis.guarantees.closed_testing import (
    calibrate,
    count_true_along,
    max_t_p_values,
    simes_critical,
)
from tamis.guarantees.permutations import make_units, permuted_labels
from tamis.guarantees.shares import column_blocks, shares_of_labellings

_DEPTH = 500
# Statistics of so many features are collected before the largest are kept.
_COLLECTED = 4096
_QUANTILE = 0.9
# Share of the time that is spent before it is judged.
_MEASURED = 0.05


@dataclass(frozen=True)
class TrueFeatures:
    """Which features differ between the classes, and how many of any chosen ones do.

    A feature is true if its distribution is not the same in all classes. That includes features
    that only follow a causal one, or that mark a batch which is unequally represented. The false
    features may depend on each other in any way, but in the same way in all classes: the bounds
    need a joint distribution of theirs that is the same in all classes.

    Attributes
    ----------
    statistic : ndarray of shape (n_features,)
        How well the classes explain the feature, comparable between features.
    p_values : ndarray of shape (n_features,)
        Permutation p-values of single features; never below 1 / (n_permutations + 1).
    max_t_p_values : ndarray of shape (n_features,)
        Adjusted p-values (Westfall-Young), for all features together: with probability
        1 - alpha, none of the features with a value of at most alpha is false.
    alpha : float
        One minus the confidence of the bounds.
    method : {"permutation", "simes"}
        Where the critical values come from.
    critical : ndarray
        Critical values of the bounds.
    feature_names : list of str
    """

    statistic: NDArray[np.float64]
    p_values: NDArray[np.float64]
    max_t_p_values: NDArray[np.float64]
    alpha: float
    method: str
    critical: NDArray[np.float64]
    feature_names: list[str]
    _values: NDArray[np.float64]

    def at_least(self, features: ArrayLike) -> int:
        """Lower bound on the number of true features in a set, however it was chosen.

        With probability 1 - alpha all such bounds, for all sets, hold at once.

        Parameters
        ----------
        features : array-like of int
            Indices of features, each of them once.

        Returns
        -------
        n_true : int
        """
        bounds = self.at_least_along(features)
        return int(bounds[-1]) if bounds.size else 0

    def at_least_along(self, order: ArrayLike) -> NDArray[np.int64]:
        """Lower bounds for the first k features of an order, for every k.

        Parameters
        ----------
        order : array-like of int
            Indices of features, each of them at most once.

        Returns
        -------
        n_true : ndarray of int of the same length
        """
        order = feature_indices(order, self.statistic.size)
        strict = self.method == "permutation"
        return count_true_along(self._values[order], self.critical, strict=strict)

    def statement(self, features: ArrayLike) -> str:
        """The bound for a set in words.

        Parameters
        ----------
        features : array-like of int

        Returns
        -------
        sentence : str
        """
        size, n_true = np.size(features), self.at_least(features)
        told = f"At least {n_true} of these {size} differ{'s' if n_true == 1 else ''}"
        if not n_true:
            told = f"None of these {size} is shown to differ"
        if size == 1:
            told = "This feature differs" if n_true else "This feature is not shown to differ"
        return (
            f"{told} between the classes, confidence {100 * (1 - self.alpha):g} %, whatever "
            "number of features you pick. A feature that only follows a causal one, marks a "
            "batch, or depends on others differently in the classes, counts as differing."
        )


def true_features(
    X: ArrayLike,
    y: ArrayLike,
    *,
    metric: str = "l2",
    groups: ArrayLike | None = None,
    batches: ArrayLike | None = None,
    feature_groups: object = None,
    feature_names: Sequence[str] | None = None,
    alpha: float = 0.05,
    method: str = "permutation",
    n_permutations: int = 1000,
    random_state: int | np.random.RandomState | None = None,
    max_seconds: float | None = None,
) -> TrueFeatures:
    """Test which features differ between the classes, by permutations.

    The bounds suit panels that rank features one by one, such as sparse centers; they hold for any
    set, but say nothing about how features work together.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_columns)
        Samples, without missing values.
    y : array-like of shape (n_samples,)
        Labels of two classes or more.
    metric : {"l2", "l1"}, default="l2"
        Whether means or medians are compared.
    groups : array-like of shape (n_samples,), default=None
        Sample groups, such as patients. A group whose rows are of one class counts as one sample,
        the mean of as many of its rows, drawn at random, as the smallest group of its batch has,
        so that group sizes may depend on the class. A group with rows of several classes permutes
        its labels within.
    batches : array-like of shape (n_samples,), default=None
        Labels are exchanged within batches only.
    feature_groups : dict, list of lists, array-like or None, default=None
        Columns that make up one feature, as in `SparseCenterClassifier`.
    feature_names : sequence of str, default=None
        Names of the columns; those of a frame by default.
    alpha : float, default=0.05
        One minus the confidence.
    method : {"permutation", "simes"}, default="permutation"
        Critical values from the permutations, which hold for any dependence between features that
        is the same in all classes; or
        those of Simes' test on the permutation p-values, which need Simes' inequality, and more
        than n_features / alpha permutations to say something about single features. Choose before
        looking at either.
    n_permutations : int, default=1000
    random_state : int, RandomState instance or None, default=None
    max_seconds : float or None, default=None
        The test is abandoned with a `TimeoutError` as soon as it turns out to take more processor
        time, judged by the first columns. The result does not depend on it.

    Returns
    -------
    result : TrueFeatures

    References
    ----------
    .. [1] Goeman, Meijer, Krebs and Solari, "Simultaneous control of all false discovery
       proportions in large-scale multiple hypothesis testing", Biometrika 106, 2019.
    .. [2] Hemerik, Solari and Goeman, "Permutation-based simultaneous confidence bounds for the
       false discovery proportion", Biometrika 106, 2019.
    .. [3] Westfall and Young, "Resampling-Based Multiple Testing", Wiley, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.guarantees import true_features
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 200)), np.repeat(["ill", "well"], 20)
    >>> X[y == "ill", :3] += 2.0
    >>> found = true_features(X, y, random_state=0)
    >>> found.at_least([0, 1, 2, 3, 4])
    3
    """
    _check(metric, alpha, method, n_permutations)
    names = getattr(X, "columns", None) if feature_names is None else feature_names
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32])
    classes, codes = encode_labels(y)
    check_consistent_length(X, codes)
    if classes.size < 2:
        raise ValueError(f"true_features needs at least two classes, got {classes.tolist()}.")
    for name, rows in (("groups", groups), ("batches", batches)):
        if rows is not None and len(np.asarray(rows)) != codes.size:
            raise ValueError(f"{name} must have one entry per row of X, {codes.size} in all.")
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else [str(n) for n in names]
    feature_of, names = read_groups(feature_groups, names)
    random_state = check_random_state(random_state)
    start = process_time()
    X, codes, blocks = make_units(
        X,
        codes,
        None if groups is None else np.asarray(groups),
        None if batches is None else np.asarray(batches),
        random_state,
    )
    labels = permuted_labels(codes, blocks, n_permutations, random_state)
    statistic, p_values, largest, features = _scan(
        X, labels, feature_of, classes.size, metric, max_seconds, start
    )
    law = classes.size - 1, max(codes.size - classes.size, 1)
    if method == "permutation":
        values = special.fdtrc(*law, statistic)
        critical = calibrate(special.fdtrc(*law, largest), statistic.size, alpha)
    else:
        values, critical = p_values, simes_critical(p_values, alpha)
    family_wise = max_t_p_values(largest, features, statistic)
    return TrueFeatures(
        statistic, p_values, family_wise, alpha, method, critical, list(names), values
    )


def _check(metric, alpha, method, n_permutations):
    for name, value, known in (
        ("metric", metric, ("l2", "l1")),
        ("method", method, ("permutation", "simes")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {name_some(list(known))}, got {value!r}.")
    if not is_real(alpha) or not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
    if not isinstance(n_permutations, int | np.integer) or n_permutations < 1 / alpha - 1:
        raise ValueError(
            f"n_permutations must be an integer >= 1 / alpha - 1 = {1 / alpha - 1:g}, got "
            f"{n_permutations!r}: with fewer, nothing can be said at this confidence."
        )


def _scan(X, labels, feature_of, n_classes, metric, max_seconds, start):
    """Statistics and p-values of all features; the largest statistics of each permutation."""
    columns = np.argsort(feature_of, kind="stable")
    bounds = np.searchsorted(feature_of[columns], np.arange(feature_of.max() + 2))
    n_features, n_rows = bounds.size - 1, labels.shape[1]
    degrees = n_classes - 1, max(n_rows - n_classes, 1)
    depth = min(_DEPTH, n_features)
    statistic, p_values = np.empty(n_features), np.empty(n_features)
    largest, features, collected = np.empty((labels.shape[0], 0)), [], []
    before = process_time() - start
    shares_of_labellings(X[:, columns[:1]], labels[:1], n_classes, metric)  # compiled, not timed
    start = process_time()
    for block in column_blocks(n_features, labels.shape[0]):
        some = np.arange(n_features)[block]
        starts, end = bounds[some], bounds[some[-1] + 1]
        part = X[:, columns[starts[0] : end]]
        shares = shares_of_labellings(part, labels, n_classes, metric)
        if end - starts[0] > some.size:
            varies = (shares > 0).any(axis=1)
            counts = np.add.reduceat(varies, starts - starts[0], dtype=np.int64)
            shares = np.add.reduceat(shares, starts - starts[0], axis=0)
            shares /= np.maximum(counts, 1)[:, None]
        p_values[block] = (shares >= shares[:, :1]).mean(axis=1)
        values = _standardized(shares, *degrees)
        statistic[block] = values[:, 0]
        collected.append(values)
        if len(collected) * some.size >= _COLLECTED or block.stop >= n_features:
            first = some[-1] + 1 - sum(map(len, collected))
            fresh = np.arange(first, some[-1] + 1)
            largest, features = _merge(largest, features, np.concatenate(collected), fresh, depth)
            collected = []
        spent = process_time() - start
        if max_seconds is not None and spent > _MEASURED * max_seconds:
            expected = before + spent * n_features / (some[-1] + 1)
            if expected > max_seconds:
                raise TimeoutError(
                    f"{labels.shape[0] - 1} permutations would take about {expected:.3g} seconds, "
                    f"more than {max_seconds:g}."
                )
    order = np.argsort(-largest, axis=1, kind="stable")
    return (
        statistic,
        p_values,
        np.take_along_axis(largest, order, axis=1),
        np.take_along_axis(features, order, axis=1),
    )


def _merge(largest, features, values, fresh, depth):
    """The `depth` largest statistics of each permutation, and their features, with more values."""
    known = largest.shape[1]
    largest = np.hstack([largest, values.T])
    keep = _largest_places(largest, depth)
    ids = fresh[np.maximum(keep - known, 0)]
    if known:
        ids = np.where(
            keep < known, np.take_along_axis(features, np.minimum(keep, known - 1), axis=1), ids
        )
    return np.take_along_axis(largest, keep, axis=1), ids


def _largest_places(values, depth):
    """Places of the `depth` largest values of each row; all if there are no more."""
    n_values = values.shape[1]
    if n_values <= depth:
        return np.arange(n_values)[None].repeat(len(values), axis=0)
    # Partitioning values is several times faster than partitioning their places.
    least = np.partition(values, n_values - depth, axis=1)[:, n_values - depth, None]
    reached = values >= least
    tied = np.flatnonzero(np.count_nonzero(reached, axis=1) > depth)
    if tied.size:
        places = np.argpartition(-values[tied], depth - 1, axis=1)[:, :depth]
        reached[tied] = False
        reached[tied[:, None], places] = True
    return np.nonzero(reached)[1].reshape(-1, depth)


def _standardized(shares, numerator, denominator):
    """Z of the module's docstring; features whose quantile is 0 are not rescaled."""
    shares = np.minimum(shares, 1 - 1e-10)
    ratios = np.divide(shares, 1 - shares, out=shares)
    ratios *= denominator / numerator
    place = min(int(_QUANTILE * ratios.shape[1]), ratios.shape[1] - 1)
    high = np.partition(ratios, place, axis=1)[:, place]
    usual = special.fdtri(numerator, denominator, _QUANTILE)
    return ratios / np.where(high > 0, high / usual, 1.0)[:, None]
