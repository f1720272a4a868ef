r"""Gain in likelihood of letting a feature differ between classes.

Naive Bayes gives each class c its own parameters :math:`\theta_c`. A feature outside the support
has one parameter for all classes, so the gain of a support S is what its own parameters add to the
log-likelihood of the model with common ones.

*Bernoulli.* The likelihood is a product over features, so each adds its own gain, whatever the
others do: the number of samples times the mutual information of presence and class.

*Multinomial.* Each :math:`\theta_c` sums to one, which couples the features. Let :math:`f_{ci}` be
the sum of feature i in class c, :math:`f_i = \sum_c f_{ci}`, and let the common parameters take
the share t of every :math:`\theta_c`. The rest, 1 - t, is the same for all classes, so inside
the support :math:`\theta_{ci} = (1 - t) f_{ci} / \sum_{j \in S} f_{cj}`; outside,
:math:`\theta_i = t f_i / \sum_{j \notin S} f_j`; and the best t is the share of all counts that
lie outside. Inserting these, everything that depends on S is

.. math:: g(S) = \sum_{i \in S} e_i + H\Big(\sum_{i \in S} f_{\cdot i}\Big), \qquad
          e_i = \sum_c f_{ci} \log \frac{f_{ci}}{f_i} \le 0, \qquad
          H(v) = -\sum_c v_c \log \frac{v_c}{\sum_d v_d}.

`purity` is e, and H is `entropy`. Shapes: counts (C, m), purity (m,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, xlogy


def bernoulli_gains(presence: NDArray, totals: NDArray) -> NDArray:
    r"""Gain of each feature under the Bernoulli likelihood.

    .. math:: \sum_c n_c \Big(p_{ci} \log \frac{p_{ci}}{p_i}
              + (1 - p_{ci}) \log \frac{1 - p_{ci}}{1 - p_i}\Big)

    `presence` (n_classes, n_features): :math:`n_c p_{ci}`, the weight of the samples of class c
    where feature i is present; `totals` (n_classes,): :math:`n_c`, positive. Returns `gains`
    (n_features,): not negative; exactly 0 where all classes have the same rate.
    """
    rates = np.minimum(presence / totals[:, None], 1.0)
    common = np.clip((totals[:, None] * rates).sum(axis=0) / totals.sum(), 0.0, 1.0)
    present = (totals[:, None] * rel_entr(rates, common)).sum(axis=0)
    absent = (totals[:, None] * rel_entr(1 - rates, 1 - common)).sum(axis=0)
    same = rates.max(axis=0) == rates.min(axis=0)  # otherwise rounding of `common` would rank them
    return np.where(same, 0.0, np.maximum(present + absent, 0.0))


def bernoulli_likelihood(presence: NDArray, totals: NDArray) -> float:
    """Log-likelihood of the Bernoulli model whose parameters are common to all classes."""
    total = totals.sum()
    present = np.minimum(presence.sum(axis=0), total)
    absent = total - present
    return float((xlogy(present, present / total) + xlogy(absent, absent / total)).sum())


def multinomial_likelihood(counts: NDArray) -> float:
    """Log-likelihood of the multinomial model whose parameters are common to all classes."""
    return -entropy(counts.sum(axis=0))


def purity_of(counts: NDArray) -> NDArray:
    """Log-likelihood of the classes of a feature's counts, e above; 0 for one class."""
    total = counts.sum(axis=0)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    return xlogy(counts, share).sum(axis=0)


def entropy(counts: NDArray) -> float:
    """H above, for a vector of counts; 0 without counts."""
    total = counts.sum()
    if total == 0:
        return 0.0
    return -float(xlogy(counts, counts / total).sum())
