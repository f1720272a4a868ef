r"""The convex bound on the gain of k features under the multinomial likelihood.

The gain of a support, :math:`g(S) = \sum_S e_i + H(\sum_S f_{\cdot i})` (see `likelihoods`), is a
concave function of the indicator z of S, because H is concave. Letting z be any point of
:math:`\{0 \le z \le 1, \sum z = k\}` gives an upper bound. H is also positively homogeneous,
:math:`H(v) = \min_\alpha -\sum_c v_c \log \alpha_c` over the simplex, so by exchanging min and max

.. math:: \max_z g(z) = \min_{\alpha \in \Delta} \; \text{sum of the } k \text{ largest }
          h_i(\alpha), \qquad h_i(\alpha) = e_i - \sum_c f_{ci} \log \alpha_c
          = f_i \, \mathrm{KL}(f_{\cdot i} / f_i \,\|\, \alpha) \ge 0.

For two classes :math:`\alpha = (1 - a, a)` and this is the one-dimensional dual of Askari,
d'Aspremont and El Ghaoui (2019), Theorem 2; for C classes the simplex has C - 1 dimensions.
*Any* :math:`\alpha` gives a valid bound, so inexact arithmetic can only loosen it.

The minimum is found by simplicial decomposition. The best z is a mixture of few supports: mix
those known so far as well as possible (`_mix`, a problem with one variable per support, for any
number of features), see which k features are best at the :math:`\alpha` of the mixture, add them,
and stop when they bring no gain. This takes a handful of rounds of O(C m) each; bisection, which
works only for two classes, takes fifty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import largest
from tamis.selectors.likelihoods import entropy

_MAX_ROUNDS = 200
_RELATIVE = 1e-13


@dataclass
class Relaxation:
    r"""Solution of the relaxed problem."""

    bound: float  # no support has a larger gain
    scores: NDArray  # (n_features,): :math:`h_i` at the best :math:`\alpha`
    fractions: NDArray  # (n_features,): the relaxed indicator z
    supports: list  # (k,): the supports found so far, ascending indices, the latest last


def relax(
    counts: NDArray, purity: NDArray, k: int, fixed_counts: NDArray, fixed_purity: float
) -> Relaxation:
    r"""Bound the gain of k features joined to some that are fixed.

    `counts` (n_classes, n_features), `purity` (n_features,), `fixed_counts` (n_classes,).
    """
    n_features = purity.size
    # A class without counts has no influence, and its logarithm is undefined.
    seen = fixed_counts + counts.sum(axis=1) > 0
    counts, fixed_counts = counts[seen], fixed_counts[seen]

    # The first point is the uniform z = k / m, where every class has weight.
    even = k / n_features
    columns = (fixed_counts + even * counts.sum(axis=1))[:, None]
    purities = np.array([fixed_purity + even * purity.sum()])
    weights, mixed = np.ones(1), columns[:, 0]
    value = purities[0] + entropy(mixed)

    bound, supports = np.inf, []
    scores: Any = None
    for _ in range(_MAX_ROUNDS):
        log_share = np.log(mixed / mixed.sum())
        trial = purity.copy()
        for c in range(counts.shape[0]):
            trial -= counts[c] * log_share[c]
        support = largest(trial, k)
        trial_bound = trial[support].sum() + fixed_purity - fixed_counts @ log_share
        if trial_bound < bound:
            bound, scores = trial_bound, trial
        column = fixed_counts + counts[:, support].sum(axis=1)
        support_purity = fixed_purity + purity[support].sum()
        known = (columns == column[:, None]).all(axis=0) & (purities == support_purity)
        supports.append(support)
        if known.any() or bound - value <= _RELATIVE * (entropy(column) - support_purity):
            break
        columns = np.column_stack([columns, column])
        purities = np.append(purities, support_purity)
        weights = _mix(columns, purities, np.append(weights, 0.0))
        mixed = columns @ weights
        value = purities @ weights + entropy(mixed)

    fractions = np.full(n_features, even * weights[0])
    for support, weight in zip(supports, weights[1:], strict=False):
        fractions[support] += weight
    return Relaxation(float(bound), scores, fractions, supports)


def _mix(columns, purities, weights, max_iter=60):
    r"""Maximise :math:`e^T w + H(V w)` over w in the simplex.

    Primal-dual interior point: Newton steps on :math:`\nabla + s = \nu 1`, :math:`w_i s_i = \mu`,
    :math:`\sum w = 1` for decreasing :math:`\mu`.

    `columns` (n_classes, n_columns), `purities` (n_columns,), `weights` (n_columns,). Returns
    `weights` (n_columns,).
    """
    n = weights.size
    scale = columns.sum(axis=0).max()
    columns, purities = columns / scale, purities / scale
    sizes = columns.sum(axis=0)
    w = 0.9 * weights + 0.1 / n
    nu, slack = None, None
    for _ in range(max_iter):
        v = columns @ w
        gradient = purities - np.log(v / v.sum()) @ columns
        if nu is None:
            nu = gradient.max() + 1e-3
            slack = nu - gradient
        residual = nu - slack - gradient
        mu = w @ slack / n
        if mu < 1e-16:  # beyond this, equal columns would make the system singular
            break
        curvature = (columns.T / v) @ columns - np.outer(sizes, sizes) / v.sum()
        newton = np.ones((n + 1, n + 1))
        newton[:n, :n] = curvature + np.diag(slack / w)
        newton[n, n] = 0.0
        target = 0.1 * mu / w
        step = np.linalg.solve(newton, np.append(target - slack - residual, 1 - w.sum()))
        w_step = step[:n]
        slack_step = target - slack - slack / w * w_step
        length = min(_reach(w, w_step), _reach(slack, slack_step))
        w = w + length * w_step
        slack = slack + length * slack_step
        nu += length * step[n]
    return w / w.sum()


def _reach(x, step):
    """How far along the step x stays positive, at most the whole step."""
    shrinking = step < 0
    if not shrinking.any():
        return 1.0
    return min(1.0, 0.99 * float((-x[shrinking] / step[shrinking]).min()))
