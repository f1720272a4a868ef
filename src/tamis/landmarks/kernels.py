r"""The kernels of the paper, eqs. (1) to (4), as functions of a distance.

.. math::
   \text{linear: } d \qquad
   \text{gaussian: } e^{-d / \sigma_c} \qquad
   \text{sigmoid: } \frac1{1 + e^{\sigma_c - d}} \qquad
   \text{cauchy: } \frac1{1 + d / \sigma_c}

:math:`\sigma_c` is the largest distance from the landmark to a training row of its region
(`region_radii`). A region of zero size, :math:`\sigma_c = 0`, gives the limit: 1 at distance 0 and
0 elsewhere for gaussian and cauchy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KERNELS = ("linear", "gaussian", "sigmoid", "cauchy")


def region_radii(D: NDArray) -> tuple[NDArray, NDArray]:
    """Radius sigma of each landmark's region, and the region of each row.

    `D` (n_samples, n_landmarks): distances of the training rows to the landmarks. Returns `sigma`
    (n_landmarks,): largest distance from the landmark to a row in its region; 0 for an empty
    region; `region` (n_samples,): nearest landmark of each row; ties go to the first.
    """
    region = D.argmin(axis=1)
    sigma = np.zeros(D.shape[1])
    np.maximum.at(sigma, region, D[np.arange(region.size), region])
    return sigma, region


def apply_kernel(kernel: str, D: NDArray, sigma: NDArray) -> NDArray[np.float64]:
    """Map of distances `D` (n_samples, n_landmarks) by a kernel with radii `sigma`."""
    if kernel == "linear":
        return D
    if kernel == "sigmoid":
        with np.errstate(over="ignore", under="ignore"):
            return 1.0 / (1.0 + np.exp(sigma - D))
    # 1 / 0 gives the limit: inf at d > 0; at d = 0 the quotient is set to 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = D / sigma
        if not sigma.all():
            ratio[D == 0] = 0.0
        return np.exp(-ratio) if kernel == "gaussian" else 1.0 / (1.0 + ratio)
