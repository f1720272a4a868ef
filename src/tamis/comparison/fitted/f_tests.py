r"""F tests of columns and features, from class moments.

With N rows in C classes of sizes :math:`n_c`, means :math:`\bar x_c` and variances :math:`v_c`,

.. math:: F = \frac{\sum_c n_c (\bar x_c - \bar x)^2 / (C - 1)}{\sum_c n_c v_c / (N - C)}.

Moments are exact where a class is constant, so a column that separates the classes perfectly has
p-value 0, and one that is constant has 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import fdtrc

from tamis._array import Matrix
from tamis.centers.statistics import ClassMoments, summarise

__all__ = ["f_test", "feature_p_values", "p_values_of_features"]


def f_test(moments: ClassMoments) -> NDArray[np.float64]:
    """P-values of F tests of all columns; 1 for a column that does not vary."""
    seen = np.flatnonzero(moments.weight > 0)
    moments = moments.take(seen)
    n, n_classes = moments.weight, seen.size
    mean = n @ moments.mean / n.sum()
    between = n @ (moments.mean - mean) ** 2 / (n_classes - 1)
    within = n @ moments.variance / (n.sum() - n_classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = fdtrc(n_classes - 1, n.sum() - n_classes, between / within)
    return np.where(np.isnan(p), 1.0, p)


def feature_p_values(
    X: Matrix, codes: NDArray, feature_of: NDArray, n_features: int
) -> tuple[NDArray, NDArray]:
    """P-values of an F test for each counted feature, and Benjamini-Hochberg q-values.

    A feature of several columns has the smallest of their p-values, times their number.
    """
    p = f_test(summarise(X, codes, int(codes.max()) + 1))
    return p_values_of_features(p, feature_of, n_features)


def p_values_of_features(
    p: NDArray, feature_of: NDArray, n_features: int
) -> tuple[NDArray, NDArray]:
    """P-values and q-values of features from the p-values (n_columns,) of their columns."""
    smallest = np.ones(n_features)
    np.minimum.at(smallest, feature_of, p)
    sizes = np.bincount(feature_of, minlength=n_features)
    p_values = np.minimum(smallest * np.maximum(sizes, 1), 1.0)
    return p_values, stats.false_discovery_control(p_values)
