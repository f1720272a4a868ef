"""Scalings of the input (Table 5 of the paper), as records of arrays.

"standard": zero mean, unit variance. "minmax": from 0 to 1. "quantile": share of training values
below. "yeo-johnson": the power transformation nearest to normal, then standard. Sparse data are
divided by their standard deviations and not shifted, so that zeros stay zeros; the other scalings
raise an error for them. Constant columns are shifted, but not scaled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse

_N_QUANTILES = 256
_FARTHEST = 1e150


def fit_scaling(scaling: str | None, X: Matrix) -> dict:
    """Learn a scaling from training rows, as a dict.

    `X` (n_samples, n_features).
    """
    if scaling is None:
        return {"scaling": None}
    if is_sparse(X):
        from sklearn.preprocessing import StandardScaler  # slow to import

        return {"scaling": "standard", "scale": StandardScaler(with_mean=False).fit(X).scale_}
    if scaling == "standard":
        return {"scaling": scaling, **_moments(X)}
    if scaling == "minmax":
        low = X.min(axis=0)
        return {"scaling": scaling, "shift": low, "scale": _nonzero(X.max(axis=0) - low)}
    if scaling == "quantile":
        at = np.linspace(0.0, 1.0, min(_N_QUANTILES, X.shape[0]))
        return {"scaling": scaling, "at": at, "quantiles": np.quantile(X, at, axis=0)}
    powers = _fit_powers(X)
    return {"scaling": scaling, "powers": powers, **_moments(_yeo_johnson(X, powers))}


def _moments(X):
    """Means and standard deviations, computed for each column independently."""
    columns = np.ascontiguousarray(X.T)
    return {"shift": columns.mean(axis=1), "scale": _nonzero(columns.std(axis=1))}


def take_scaling(record: dict, columns: NDArray) -> dict:
    """Restrict a scaling to some of its columns."""
    taken = {"shift", "scale", "powers", "quantiles"}
    return {
        name: value[..., columns] if name in taken else value for name, value in record.items()
    }


def apply_scaling(record: dict, X):
    """Scale rows by a record of `fit_scaling`."""
    scaling = record["scaling"]
    if scaling is None:
        return X
    if is_sparse(X):
        if set(record) != {"scaling", "scale"}:
            raise ValueError(
                f"scaling={scaling!r} was learned from dense rows and would make sparse ones "
                "dense. Pass X.toarray()."
            )
        with np.errstate(over="ignore"):
            scaled = _within_reach(X.data / record["scale"][X.indices])
        return sparse.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
    if scaling == "quantile":
        at, quantiles = record["at"], record["quantiles"]
        scaled = np.empty(X.shape)
        for j in range(X.shape[1]):
            # From both sides: a value that spans several quantiles goes to their middle.
            below = np.interp(X[:, j], quantiles[:, j], at)
            above = np.interp(-X[:, j], -quantiles[::-1, j], -at[::-1])
            scaled[:, j] = 0.5 * (below - above)
        return scaled
    if scaling == "yeo-johnson":
        X = _yeo_johnson(X, record["powers"])
    if "shift" in record:
        X = X - record["shift"]
    with np.errstate(over="ignore"):
        return _within_reach(X / record["scale"])


def _within_reach(scaled):
    """Clip values so that their squares can be summed: new rows may be arbitrarily far away."""
    return np.clip(scaled, -_FARTHEST, _FARTHEST)


def _nonzero(scale):
    """`scale`, with 1 where it is 0 or only rounding."""
    return np.where(scale > 1e-300, scale, 1.0)


def _fit_powers(X):
    varied = np.ptp(X, axis=0) > 0
    powers = np.ones(X.shape[1])
    if varied.any():
        from sklearn.preprocessing import PowerTransformer

        with np.errstate(all="ignore"):
            lambdas = PowerTransformer(standardize=False).fit(X[:, varied]).lambdas_
        powers[varied] = np.where(np.isfinite(lambdas), np.clip(lambdas, -5.0, 5.0), 1.0)
    with np.errstate(all="ignore"):
        usable = np.isfinite(_yeo_johnson(X, powers)).all(axis=0)
    return np.where(usable, powers, 1.0)


def _yeo_johnson(X, powers):
    """Yeo and Johnson's transformation of each column by its power."""
    size = np.log1p(np.abs(X))
    power = np.where(X >= 0, powers, 2.0 - powers)
    near_zero = np.abs(power) < 1e-12
    with np.errstate(over="ignore"):
        shaped = np.expm1(size * power) / np.where(near_zero, 1.0, power)
    return np.where(X >= 0, 1.0, -1.0) * np.where(near_zero, size, shaped)
