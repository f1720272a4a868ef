"""Sample weights, class weights, and sums that must be finite."""

from dataclasses import dataclass
from numbers import Number, Real

import numpy as np
from sklearn.utils.validation import assert_all_finite, check_array

from tamis._array import is_on_device, is_sparse, to_host
from tamis._base.input import require_unmasked

__all__ = [
    "LARGEST_RATIO",
    "MOST_COUNTED",
    "WeightSummary",
    "check_class_weight",
    "check_finite",
    "check_part_weights",
    "check_weights",
    "decided",
    "is_real",
    "read_weights",
    "weighted_median",
]

#: Whole weights are counts up to this total: every larger number of double precision is whole.
MOST_COUNTED = 2.0**53
#: The largest weight is at most this many times the smallest positive one.
LARGEST_RATIO = 2.0**52


def is_real(value):
    """Whether `value` is a number other than a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_class_weight(class_weight, classes, largest=np.inf):
    """None, "balanced", or one positive weight per class in order.

    `class_weight`: as given by the user; classes that are not in a dict have weight 1. `classes`
    (n_classes,). `largest`: the largest weight that is allowed; the smallest is its inverse.
    Returns `weights` (n_classes,).
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, dict):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict from labels to weights, got "
            f"{class_weight!r}."
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight has the label {unknown[0]!r}, which is not among the classes {labels}."
        )
    for label, weight in class_weight.items():
        if not is_real(weight) or not 0 < weight < np.inf or not 1 / largest <= weight <= largest:
            limits = "" if largest == np.inf else f" between {1 / largest:g} and {largest:g}"
            raise ValueError(
                f"class_weight must be positive numbers{limits}, got {weight!r} for {label!r}."
            )
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


class DecidedWeights(np.ndarray):
    """Weights that were read with their whole table, or those of some of its rows."""


@dataclass(frozen=True)
class WeightSummary:
    """What decides how sample weights are read: as counts, or as relative to each other.

    Whole numbers are counts: a weight of 2 is the row twice. All others are relative: only their
    ratios matter, and they are scaled to sum to the number of rows with positive weight. A weight
    of 0 is an absent row in both. This is decided once, for a whole table.
    """

    n_rows: int = 0  # rows with positive weight
    total: float = 0.0  # sum of the weights
    # smallest, largest: of the positive weights.
    smallest: float = np.inf
    largest: float = 0.0
    is_whole: bool = True  # whether all are whole numbers

    @classmethod
    def of(cls, weights):
        """Of some rows: an array of weights, or the number of rows if they have none."""
        if isinstance(weights, Number):
            return cls(weights, float(weights), 1.0, 1.0) if weights else cls()
        used = weights[weights > 0]
        if not used.size:
            return cls()
        is_whole = bool((used == np.floor(used)).all())
        return cls(used.size, float(used.sum()), float(used.min()), float(used.max()), is_whole)

    def merge(self, other):
        """Of the rows of both."""
        return WeightSummary(
            self.n_rows + other.n_rows,
            self.total + other.total,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            self.is_whole and other.is_whole,
        )

    @property
    def are_counts(self):
        """Whether the weights are counts."""
        return self.is_whole and self.total <= MOST_COUNTED

    @property
    def unit(self):
        """The weight that counts as one row: 1 for counts, the mean for relative weights."""
        if self.are_counts:
            return 1.0
        # A mean is rounded, and equal weights must become exactly 1.
        return self.largest if self.smallest == self.largest else self.total / self.n_rows

    def require_precise(self):
        """Raise if weights differ by more than double precision can hold."""
        if self.largest > LARGEST_RATIO * self.smallest:
            raise ValueError(
                f"sample_weight goes from {self.smallest:.3g} to {self.largest:.3g}, a ratio "
                f"above the limit of {LARGEST_RATIO:.2g}: in sums of double precision the small "
                "weights would be lost. Set them to 0, or reduce the large ones."
            )
        return self

    def words(self):
        """How the weights are read, in words."""
        if self.are_counts:
            return "read as counts: a weight of 2 is the row twice"
        return (
            "read as relative, because not all are whole numbers: only their ratios matter, and "
            f"they are scaled to sum to {self.n_rows:,}, the number of rows with positive weight"
        )


def read_weights(sample_weight, X):
    """Sample weights of a whole table, and the weight that counts as one row.

    `sample_weight` (n_samples,), number or None: weights that were decided before (`decided`) stay
    as they are; `X` (n_samples, n_features). Returns `weights` (n_samples,) or None: counts, or
    relative weights that sum to the number of those that are positive; `unit`.
    """
    weights = check_part_weights(sample_weight, X)
    if weights is None or isinstance(sample_weight, DecidedWeights):
        return weights, 1.0
    unit = WeightSummary.of(weights).require_precise().unit
    return (weights if unit == 1 else weights / unit), unit


def check_weights(sample_weight, X):
    """Sample weights of a whole table as they count (see `WeightSummary`); None for none."""
    return read_weights(sample_weight, X)[0]


def decided(weights):
    """Mark weights that were read with their whole table, so that a part is not read again."""
    return None if weights is None else np.asarray(weights).view(DecidedWeights)


def check_part_weights(sample_weight, X):
    """Sample weights of part of a table as given, in float64; negative weights are an error."""
    if sample_weight is None:
        return None
    sample_weight = require_unmasked(sample_weight, "sample_weight")
    if is_on_device(sample_weight):
        sample_weight = to_host(sample_weight)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(X.shape[0], sample_weight, dtype=np.float64)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", order="C"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one number for each of the {X.shape[0]} samples, got shape "
            f"{weight.shape}."
        )
    if weight.min(initial=0.0) < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    largest = weight.max(initial=0.0)
    if largest > 1e100 or 0 < largest < 1e-100:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, and sums over such weights are not exact. "
            "Divide all weights by their largest."
        )
    return weight


def check_finite(statistics, X):
    """Look for NaN and infinity in sums over X; scan X itself only if a sum is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(array.sum()) or np.isfinite(array).all() for array in statistics):
            return
    values = X.data if is_sparse(X) else to_host(X)
    if not np.isfinite(values).all():
        assert_all_finite(values, input_name="X")
    raise ValueError(
        f"X has values up to {np.abs(values).max():.3g}: sums over them overflow. Divide X, or "
        "its largest columns, by a constant; large sample weights count too."
    )


def weighted_median(values, weights):
    """Weighted median: each value counts as often as its weight says.

    `values`, `weights` (n,): weights are positive. Returns `median`: the mean of the two middle
    values if the weights below and above are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis._base import weighted_median
    >>> weighted_median(np.array([1.0, 5.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    7.0
    """
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = below[-1] / 2
    i = int(np.searchsorted(below, half * (1 - 1e-12)))
    if abs(below[i] - half) <= 1e-12 * half and i + 1 < values.size:
        return float((values[i] + values[i + 1]) / 2)
    return float(values[i])
