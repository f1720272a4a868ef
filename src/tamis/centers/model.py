r"""From statistics to decisions, for one metric, scaling and covariance.

`CenterModel` holds the results of training for all features; k only says how many of the ranked
features enter. With :math:`\omega_c = (\theta_c - \tilde\theta) / s` the decisions are log
likelihoods up to a constant that all classes share,

.. math:: D_c(x) = -\frac{1}{2 \sigma^2} \sum_{i \in D} (z_i - \omega_{ci})^2 + \log \pi_c \ (l_2),
   \qquad  D_c(x) = -\frac1b \sum_{i \in D} |z_i - \omega_{ci}| + \log \pi_c \ (l_1),

Gaussian or Laplace with one scale: the mean over classes and over D of the within-class
dispersion. With a covariance the same holds for the whitened features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis._base import order_by_score
from tamis.centers.covariance import Whitening
from tamis.centers.groups import FeatureGroups
from tamis.centers.ranking import NOTHING, CenterStatistics, scaled_by, select_largest
from tamis.centers.terms import PathTerms, bounds_of, path_decisions, require_finite_decisions
from tamis.centers.units import divide

# Number of values that are made dense at a time.
_DENSE_VALUES = 1 << 22
# Decisions that differ by less, relative to their terms, count as equal: sums in another order
# differ by as much.
_TIE = 1e-12


@dataclass
class CenterModel:
    """Centers, gains and scales of all features; see the module."""

    metric: str  # "l2", "l1"
    statistics: CenterStatistics  # in the units of X, or in other units: see `tamis.centers.units`
    scale: NDArray  # (n_features,): divisors of the features in these units
    gains: NDArray  # (n_features,): gains on the scaled (and whitened) data
    log_prior: NDArray  # (n_classes,)
    whitening: Whitening | None = None
    # whitened_centers, whitened_dispersion: (n_classes, n_features) or None: centers and variances
    # of the whitened features.
    whitened_centers: NDArray | None = None
    whitened_dispersion: NDArray | None = None
    temperature: float = 1.0  # divisor of the decisions
    # Features that are selected together, or always; k then counts groups.
    groups: FeatureGroups | None = None
    reference: float = 1.0  # factor that brings scaled features to the units of X

    @property
    def power(self) -> int:
        """Exponent of the distances: 1 for l1, 2 for l2."""
        return 1 if self.metric == "l1" else 2

    def in_units_of_X(self, support: NDArray) -> tuple[NDArray, NDArray, float, float]:
        """Scales and gains of all features, dispersion and objective, for X in its own units."""
        scale, unit = self.scale, self.statistics.unit
        if unit is not None:  # 1 for constant columns
            varies = (self.statistics.spread > 0) & (scale < NOTHING)
            scale = np.where(varies, scale * np.where(varies, unit / self.reference, 1.0), 1.0)
        gains, dispersion = self.gains, self.dispersion(support)
        objective = self.objective(support)
        if self.reference != 1.0:
            with np.errstate(under="ignore"):
                for _ in range(self.power):
                    gains = gains * self.reference
                    dispersion *= self.reference
                    objective *= self.reference
        return scale, gains, float(dispersion), float(objective)

    def _dispersion_of(self, columns):
        """Within-class dispersion of some features, as in the distances; mean over classes."""
        if self.whitening is not None:
            values = self.whitened_dispersion[:, columns]
        else:
            values = self.statistics.dispersion[:, columns]
            values = scaled_by(values, self.scale[columns], self.power)
        return values[np.isfinite(self.log_prior)].mean(axis=0)

    def dispersion(self, support: NDArray) -> float:
        """The one scale of the likelihood: mean over classes and features, floored."""
        if support.size == 0:
            return 1.0
        return _floored(self._dispersion_of(support).mean(), self.gains[support].mean())

    def objective(self, support: NDArray) -> float:
        """J on the scaled data: within-class dispersions plus the gains of dropped features."""
        left_out = self.gains.sum() - self.gains[support].sum()
        if self.whitening is not None:
            assert self.whitened_dispersion is not None
            within = self.whitened_dispersion.sum()
        else:
            within = scaled_by(
                self.statistics.dispersion.sum(axis=0), self.scale, self.power
            ).sum()
        return float(within + max(left_out, 0.0))

    def centers(self, support: NDArray) -> NDArray:
        """Class centers in the units of X that differ only in `support`, (C, m)."""
        statistics = self.statistics
        if self.whitening is None:
            centers = np.tile(statistics.common, (statistics.weight.size, 1))
            centers[:, support] = statistics.centers[:, support]
        else:
            assert self.whitened_centers is not None
            kept = np.zeros_like(self.whitened_centers)
            kept[:, support] = self.whitened_centers[:, support]
            centers = self.whitening.undo(kept) * self.scale + statistics.common
        return statistics.in_units_of_X(centers)

    def transform(self, X: Matrix) -> Matrix:
        """Whitened rows of X (dense), or X itself without a covariance, in the model's units."""
        X = divide(X, self.statistics.unit)
        if self.whitening is None:
            return X
        dense = X.toarray() if is_sparse(X) else X
        centered = (dense - self.statistics.offset - self.statistics.common) / self.scale
        return self.whitening.apply(centered)

    def row_chunks(self, X: Matrix) -> list[slice]:
        """Slices of the rows that `transform` may process at once: all, or few if whitened."""
        n_rows, n_features = X.shape
        return [slice(0, n_rows)] if self.whitening is None else _chunks(n_rows, n_features)

    def terms(self, columns: NDArray) -> PathTerms:
        """Summands of the decisions for features in rank order."""
        n_classes = self.log_prior.size
        counts = np.arange(1, columns.size + 1)
        means = np.cumsum(self._dispersion_of(columns)) / counts
        gains = np.cumsum(self.gains[columns]) / counts
        sharpness = np.ones(columns.size + 1)
        sharpness[1:] = 1.0 / _floored(means, gains)
        if self.metric == "l1":
            slope = np.repeat(1.0 / self.scale[columns][:, None], n_classes, axis=1)
            shift = np.ascontiguousarray(self.statistics.centers[:, columns].T)
            origin = np.zeros(columns.size)
        else:
            omega, factor, origin, common = self._differences(columns)
            slope = np.ascontiguousarray((omega * factor).T)
            shift = np.ascontiguousarray((0.5 * omega**2 + omega * factor * common).T)
        if self.metric == "l1":
            size = (np.abs(shift) * slope).max(axis=1, initial=0.0)
        else:
            size = np.abs(origin[:, None] * slope) + np.abs(shift)
            size = size.max(axis=1, initial=0.0)
        total = np.concatenate([[0.0], np.cumsum(size)]) * sharpness
        tolerance = _TIE * np.maximum(1.0 + total, self.temperature)
        is_l1 = self.metric == "l1"
        bounds = np.stack(bounds_of(shift.T), axis=1)
        return PathTerms(
            columns, origin, slope, shift, bounds, is_l1, sharpness, self.log_prior, tolerance
        )

    def _differences(self, support):
        """omega, the factor that converts a value to its units, origin and common center.

        The common center is relative to the origin; the origin is subtracted from a value first,
        so that large offsets cost no digits.
        """
        if self.whitening is not None:
            zeros = np.zeros(support.size)
            return self.whitened_centers[:, support], zeros + 1.0, zeros, zeros
        statistics = self.statistics
        scale, common = self.scale[support], statistics.common[support]
        omega = (statistics.centers[:, support] - common) / scale
        return omega, 1.0 / scale, statistics.offset[support], common

    def linear(self, support: NDArray) -> tuple[NDArray, ...]:
        """l2: weights (C, m'), columns, origin (m',) and bias (C,) of the linear decisions.

        The decisions are ``(x - origin - common) @ weights + bias``; `common` comes after `origin`
        in the result.
        """
        sharp = 1.0 / self.dispersion(support)
        omega, factor, origin, common = self._differences(support)
        bias = self.log_prior - 0.5 * (omega**2).sum(axis=1) * sharp
        if self.whitening is None:
            return omega * factor * sharp, support, origin, common, bias
        kept = np.zeros_like(self.whitened_centers)
        kept[:, support] = omega
        statistics = self.statistics
        weights = self.whitening.apply(kept) / self.scale * sharp
        return weights, np.arange(self.scale.size), statistics.offset, statistics.common, bias

    def coefficients(self, support: NDArray) -> tuple[NDArray, NDArray]:
        """l2: factors (C, m) of the columns of X, and intercepts (C,), over the temperature."""
        weights, columns, origin, common, bias = self.linear(support)
        factors = np.zeros((bias.size, self.scale.size))
        factors[:, columns] = weights
        if self.statistics.unit is not None:
            with np.errstate(over="ignore", under="ignore"):
                factors /= self.statistics.unit
        intercepts = bias - weights @ (origin + common)
        return factors / self.temperature, intercepts / self.temperature

    def decisions(self, X: Matrix, support: NDArray) -> NDArray:
        """D of each row and class over the temperature, of shape (n_samples, n_classes).

        Decisions within rounding of the largest are made equal to it, so that a tie is a tie for
        decisions, probabilities and labels alike.
        """
        terms = self.terms(support)
        X = divide(X, self.statistics.unit)
        if self.metric == "l1":
            decisions = path_decisions(X, terms, [support.size])[:, 0]
        else:
            decisions = self._linear_decisions(X, support)
            require_finite_decisions(decisions[:, np.isfinite(self.log_prior)], X)
        largest = decisions.max(axis=1, keepdims=True)
        near = largest - decisions < terms.tolerance[-1]
        return np.where(near, largest, decisions) / self.temperature

    def _linear_decisions(self, X, support):
        weights, columns, origin, common, bias = self.linear(support)
        bias = bias - weights @ common
        if is_sparse(X):
            # Columns with an origin have hardly any zeros, so their rows may as well be dense.
            far = origin != 0
            full = np.zeros((X.shape[1], bias.size))
            full[columns[~far]] = weights.T[~far]
            decisions = X @ full + bias
            for rows in _chunks(X.shape[0], np.count_nonzero(far)):
                part = X[rows][:, columns[far]].toarray() - origin[far]
                decisions[rows] += part @ weights.T[far]
            return decisions
        part = X if columns.size == X.shape[1] else X[:, columns]
        if np.any(origin):
            part = part - origin
        return part @ weights.T + bias

    def contributions(self, X: Matrix, support: NDArray) -> tuple[list, NDArray]:
        """Terms of the decisions: a list with one (n, m) array per class, and the base (C,).

        Dense rows are relative to the common center, sparse ones to zero, so that only
        stored values contribute.
        """
        n_classes = self.log_prior.size
        X = divide(X, self.statistics.unit)
        if self.metric == "l2":
            weights, columns, origin, common, bias = self.linear(support)
            if is_sparse(X):
                full = np.zeros((n_classes, X.shape[1]))
                full[:, columns] = weights
                base = bias - weights @ (origin + common)
                return [X @ sparse.diags_array(row) for row in full], base
            values = [np.zeros(X.shape) for _ in range(n_classes)]
            for c in range(n_classes):
                values[c][:, columns] = (X[:, columns] - origin - common) * weights[c]
            return values, bias
        sharp = 1.0 / self.dispersion(support) / self.scale[support]
        centers = self.statistics.centers[:, support]
        low, high = bounds_of(centers)
        if is_sparse(X):
            stored = sparse.csr_array(X)
            zero = np.clip(np.zeros(support.size), low, high)
            full = np.zeros((n_classes + 4, X.shape[1]))  # 0 outside the support
            full[:, support] = np.vstack([centers, zero, low, high, sharp])
            *center_of, zero_of, low, high, factor = full[:, stored.indices]
            new = np.clip(stored.data, low, high)
            changes = [(np.abs(zero_of - c) - np.abs(new - c)) * factor for c in center_of]
            values = [
                sparse.csr_array((change, stored.indices, stored.indptr), X.shape)
                for change in changes
            ]
            return values, self.log_prior - (np.abs(zero - centers) * sharp).sum(axis=1)
        common = self.statistics.common[support]
        base = self.log_prior - (np.abs(common - centers) * sharp).sum(axis=1)
        new = np.clip(X[:, support], low, high)
        values = [np.zeros(X.shape) for _ in range(n_classes)]
        for c in range(n_classes):
            values[c][:, support] = (
                np.abs(common - centers[c]) - np.abs(new - centers[c])
            ) * sharp
        return values, base

    def order(self) -> NDArray[np.intp]:
        """All features, best first; equal gains: lower index first."""
        if self.groups is not None:
            return self.groups.order_features(self.gains)
        return order_by_score(self.gains)

    def ranked(self) -> NDArray[np.intp]:
        """The features of positive gain, best first."""
        if self.groups is not None:
            order = self.order()
            return order[self.gains[order] > 0]
        return self.order()[: np.count_nonzero(self.gains > 0)]

    def along(self, ks: NDArray) -> tuple[PathTerms, NDArray, NDArray]:
        """Terms of the ranked features, and what the k best features or groups are, for all ks.

        `ks` (n_levels,). Returns `stops` (n_levels,), `n_selected` (n_levels,).
        """
        ranked = self.ranked()
        if self.groups is None:
            return self.terms(ranked), ks, np.minimum(ks, ranked.size)
        stops = self.groups.count_features(self.gains, ks)
        return self.terms(ranked), stops, self.groups.count_choices(self.gains, ks)

    def select(self, k: int) -> NDArray[np.intp]:
        """The features of the k best features or groups, ascending; never one without gain."""
        if self.groups is not None:
            return self.groups.select(self.gains, k)
        return select_largest(self.gains, k)


def _floored(dispersion, gain):
    """Dispersion, at least a small fraction of the gain."""
    return np.maximum(np.maximum(dispersion, 1e-9 * gain), np.finfo(np.float64).tiny)


def _chunks(n_rows, n_columns):
    """Slices of the rows, each with few enough values to be made dense; none without columns."""
    size = max(1, _DENSE_VALUES // max(1, n_columns))
    return [slice(start, start + size) for start in range(0, n_rows if n_columns else 0, size)]
