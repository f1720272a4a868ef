"""What a head is: a small classifier of few features, fitted, with decisions for all classes.

Decisions are log-probabilities up to a constant per row, before calibration. Shapes: X (n, k) are
the selected features in their own units, decisions (n, C).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamis._array import Matrix, to_dense

__all__ = [
    "Head",
    "KernelHead",
    "LinearHead",
    "Standardization",
    "head_of",
    "row_blocks",
    "standardize",
]

# Values of a block of rows.
_BLOCK_VALUES = 1_000_000
# Rows whose distances to the landmarks are in memory at a time.
_KERNEL_ROWS = 20_000


@dataclass(frozen=True)
class Standardization:
    """Center and scale of each feature."""

    # center, scale: (n_features,): mean, and standard deviation (for constant features their size,
    # or 1 if that is larger).
    center: NDArray
    scale: NDArray

    def __call__(self, X: NDArray) -> NDArray:
        """Standardised samples."""
        return (X - self.center) / self.scale


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Blocks of rows, so that what is computed of them takes little memory."""
    height = max(1, _BLOCK_VALUES // max(1, n_columns))
    return [slice(start, start + height) for start in range(0, max(1, n_rows), height)]


def standardize(X: NDArray, weights: NDArray) -> Standardization:
    """Weighted mean and standard deviation of each feature."""
    total = weights.sum()
    center = weights @ X / total
    variance = sum(weights[b] @ (X[b] - center) ** 2 for b in row_blocks(*X.shape)) / total
    constant = variance <= (1e-12 * np.abs(center)) ** 2
    # The mean of equal values is rounded, so the size of a constant matters.
    size = np.maximum(np.abs(center), 1.0)
    return Standardization(center, np.where(constant, size, np.sqrt(variance)))


class Head(ABC):
    """Base of the heads."""

    @abstractmethod
    def decisions(self, X: Matrix) -> NDArray[np.float64]:
        """Decisions, of shape (n_rows, n_classes)."""


@dataclass(frozen=True)
class LinearHead(Head):
    """Decisions that are linear in the features."""

    coef: NDArray  # (n_classes, n_features)
    intercept: NDArray  # (n_classes,)

    def decisions(self, X: Matrix) -> NDArray[np.float64]:
        """Decisions, of shape (n_rows, n_classes); X may be sparse."""
        return np.asarray(X @ self.coef.T) + self.intercept


@dataclass(frozen=True)
class KernelHead(Head):
    """Decisions that are sums of Gaussian bumps around landmarks."""

    # center, scale: (n_features,): standardisation of the features.
    center: NDArray
    scale: NDArray
    landmarks: NDArray  # (n_landmarks, n_features): in standardised units
    width: float  # the kernel is ``exp(-width * squared distance)``
    coef: NDArray  # (n_landmarks, n_classes)

    def decisions(self, X: Matrix) -> NDArray[np.float64]:
        """Decisions, of shape (n_rows, n_classes)."""
        if X.shape[0] > _KERNEL_ROWS:
            starts = range(0, X.shape[0], _KERNEL_ROWS)
            return np.vstack([self.decisions(X[start : start + _KERNEL_ROWS]) for start in starts])
        return np.exp(-self.width * self.distances(X)) @ self.coef

    def distances(self, X: Matrix) -> NDArray[np.float64]:
        """Squared distances to the landmarks, of shape (n_rows, n_landmarks)."""
        return cdist((to_dense(X) - self.center) / self.scale, self.landmarks, "sqeuclidean")


def head_of(arrays: Mapping[str, NDArray]) -> Head:
    """The head with these fields."""
    if "landmarks" in arrays:
        return KernelHead(
            **{name: arrays[name] for name in arrays if name != "width"},
            width=float(arrays["width"]),
        )
    return LinearHead(**arrays)
