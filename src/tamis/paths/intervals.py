"""Intervals of ratios, and bootstrap draws of rows.

References
----------
.. [1] Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
   the American Statistical Association 22, 1927.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["NORMAL_95", "draw_rows", "n_draws_for", "wilson"]

#: Standard errors from the center of a normal distribution to the ends of a 95 % interval.
NORMAL_95 = float(ndtri(0.975))
# Values per chunk of a bootstrap.
_CHUNK = 2_000_000


def wilson(part, whole):
    """Wilson's 95 % intervals of ratios [1]_: low and high; None if the whole is 0."""
    if np.ndim(whole) == 0 and whole == 0:
        return None
    z2, share = NORMAL_95**2, part / whole
    center = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    spread = np.sqrt(share * (1 - share) / whole + z2 / (4 * whole**2))
    half = NORMAL_95 * spread / (1 + z2 / whole)
    # At 0 and 1 the limit is exact, without rounding.
    low = np.where(part == 0, 0.0, np.maximum(0.0, center - half))
    return [low.tolist(), np.where(part == whole, 1.0, np.minimum(1.0, center + half)).tolist()]


def n_draws_for(n_rows: int) -> int:
    """Number of draws: fewer for more rows, whose scores hardly vary."""
    return 1000 if n_rows <= 5000 else 400 if n_rows <= 50_000 else 50


def draw_rows(
    generator: np.random.Generator, n_draws: int, n_rows: int, groups: NDArray | None = None
) -> Iterator[NDArray[np.float64]]:
    """Yield how often rows are drawn with replacement, in chunks of shape (n, n_rows).

    `groups` (n_rows,) or None: rows that are drawn together.
    """
    units = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    size = max(1, min(n_draws, _CHUNK // n_rows))
    for start in range(0, n_draws, size):
        n = min(size, n_draws - start)
        cells = generator.integers(n_units, size=(n, n_units)) + n_units * np.arange(n)[:, None]
        times = np.bincount(cells.ravel(), minlength=n * n_units).reshape(n, n_units)
        yield times[:, units].astype(np.float64)
