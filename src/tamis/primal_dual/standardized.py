"""The standardized data matrix, (X - mean) / scale, which is never formed for sparse data."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from tamis._array import (
    Arithmetic,
    from_host,
    is_on_device,
    is_single,
    is_sparse,
    multiply,
    multiply_transposed,
    namespace,
    take_columns,
    take_rows,
    to_host,
    weighted_gram,
)

# If the shorter side is at most this, the norm comes from a dense decomposition.
_SMALL_SIDE = 200
_ROUGH_STEPS = 5
_ROUNDING = {"float64": 1e-12, "float32": 1e-6, "tf32": 3e-5}


@dataclass(frozen=True)
class Standardized:
    """Matrix with the columns ``(X - mean) * inverse_scale``, of shape (n_samples, n_features)."""

    X: np.ndarray  # the data
    # (n_features,) or None: subtracted from each column; None for nothing.
    mean: np.ndarray | None = None
    # (n_features,) or None: factor of each column, 0 for a column that must have no influence;
    # None for 1.
    inverse_scale: np.ndarray | None = None
    # How products with 32-bit data on a device are computed; all others are in 64 bits.
    arithmetic: Arithmetic = "float64"

    @property
    def shape(self):
        """Samples and features."""
        return self.X.shape

    @property
    def is_sparse(self):
        """Whether only the non-zero entries of the data are stored."""
        return is_sparse(self.X)

    @property
    def is_on_device(self):
        """Whether the data are an array of another library than numpy and scipy."""
        return is_on_device(self.X)

    @property
    def is_single(self):
        """Whether the data are on a device and of 32 bits."""
        return is_single(self.X)

    @property
    def arithmetics(self) -> tuple[Arithmetic, ...]:
        """What products can be computed in, the fastest first, the exact one last."""
        return ("tf32", "float32", "float64") if self.is_single else ("float64",)

    @property
    def rounding(self):
        """Relative error of sums of products, roughly."""
        return _ROUNDING[self.arithmetic]

    @cached_property
    def transposed(self):
        """The explicit matrix of dense data, with its columns as contiguous rows."""
        whole = self if self.mean is None and self.inverse_scale is None else None
        return np.ascontiguousarray((whole or self.columns(slice(None))).X.T)

    def forget(self):
        """Give back the memory of `transposed`, which is computed again when it is needed."""
        self.__dict__.pop("transposed", None)

    def apply(self, W):
        """The matrix times W; the product is where X is."""
        W = W if is_on_device(W) else from_host(W, self.X)
        mean, inverse = self._units
        if inverse is not None:
            W = W * inverse[:, None]
        product = multiply(self.X, W, self.arithmetic)
        return product if mean is None else product - mean @ W

    def adjoint(self, Z):
        """The transposed matrix times Z, as an array of numpy."""
        return to_host(self.adjoint_there(Z))

    def adjoint_there(self, Z):
        """The transposed matrix times Z, where X is."""
        product = multiply_transposed(self.X, Z, self.arithmetic)
        mean, inverse = self._units
        if mean is not None:
            product = product - mean[:, None] * namespace(Z).sum(Z, axis=0)
        if inverse is not None:
            product = product * inverse[:, None]
        return product

    @cached_property
    def _units(self):
        """Mean and inverse scale where the data are."""
        units = self.mean, self.inverse_scale
        return [None if unit is None else from_host(unit, self.X) for unit in units]

    def columns(self, chosen):
        """The matrix with some of its columns; dense ones are then standardized explicitly.

        `chosen` ascends; the result may share its data with `transposed`.
        """
        if "transposed" in self.__dict__:
            rows = self.transposed
            return Standardized((rows if np.size(chosen) == len(rows) else rows[chosen]).T)
        X = take_columns(self.X, chosen)
        mean = None if self.mean is None else self.mean[chosen]
        inverse = None if self.inverse_scale is None else self.inverse_scale[chosen]
        if is_sparse(X):
            return Standardized(X, mean, inverse)
        if mean is not None:
            X -= from_host(mean, X)
        if inverse is not None:
            X *= from_host(inverse, X)
        return Standardized(X)

    def take_rows(self, mask):
        """Some rows as a dense array."""
        rows = take_rows(self.X, mask)
        if self.mean is not None:
            rows = rows - self.mean
        return rows if self.inverse_scale is None else rows * self.inverse_scale

    def gram(self, weights):
        """``A.T @ diag(weights) @ A`` for the matrix A."""
        gram = weighted_gram(self.X, weights)
        if self.mean is not None:
            sums = to_host(multiply_transposed(self.X, weights[:, None])[:, 0])
            crossed = np.multiply.outer(sums, self.mean)
            square = float(weights.sum()) * np.multiply.outer(self.mean, self.mean)
            gram = gram - crossed - crossed.T + square
        if self.inverse_scale is not None:
            gram = (gram * self.inverse_scale[:, None]) * self.inverse_scale
        return gram

    def squared_norm(self, weights):
        """Upper bound, to 1e-3, of the largest eigenvalue of ``A.T @ diag(weights) @ A``."""
        n_samples, n_features = self.shape
        if n_features <= min(_SMALL_SIDE, n_samples):
            part = self.columns(slice(None)) if self.is_on_device else self
            return float(np.linalg.eigvalsh(part.gram(from_host(weights, part.X)))[-1])
        if n_samples <= _SMALL_SIDE and not (self.is_sparse or self.is_on_device):
            rows = np.sqrt(weights)[:, None] * self.columns(slice(None)).X
            return float(np.linalg.eigvalsh(rows @ rows.T)[-1])
        quick = replace(self, arithmetic=self.arithmetics[0])
        twice, start = quick._square(weights)
        if not twice(start).any():
            return 0.0
        operator = LinearOperator((n_features, n_features), matvec=twice, dtype=np.float64)
        eigenvalues = eigsh(operator, 1, v0=start, tol=1e-4, return_eigenvectors=False)
        return (1.001 + 100 * quick.rounding) * float(eigenvalues[0])

    def rough_squared_norm(self, weights):
        """A lower estimate of the largest eigenvalue of ``A.T @ diag(weights) @ A``."""
        twice, v = replace(self, arithmetic=self.arithmetics[0])._square(weights)
        value = 0.0
        for _ in range(_ROUGH_STEPS):
            v = twice(v)
            value = float(np.linalg.norm(v))
            if value == 0:
                break
            v = v / value
        return value

    def _square(self, weights):
        """Product with the weighted A'A, and a vector to start from.

        In feature space, where a row of weight 2 is equivalent to two copies.
        """
        weights = from_host(weights, self.X)

        def twice(v):
            return self.adjoint(weights[:, None] * self.apply(v.reshape(-1, 1))).ravel()

        # Fixed, so that equal input gives equal output.
        return twice, np.ones(self.shape[1]) + np.arange(self.shape[1]) % 3
