r"""How many unstable features stability selection lets through on average (Shah and Samworth).

Halves choose q of p features on average, and :math:`\theta = q / p`. B complementary pairs give
each feature the share :math:`\hat\Pi` of the 2 B halves that choose it, and features with
:math:`\hat\Pi \ge \tau` pass. Of those that a random half chooses with a probability of at most
:math:`\theta`, no more often than blind choice, the expected number that passes is at most

- :math:`q^2 / (p (2 \tau - 1))`, without any assumption (Theorem 1);
- :math:`C q^2 / p` if the simultaneous selection of a feature by the halves of a pair has a
  unimodal distribution (Theorem 2), with :math:`C = 1 / (2 (2 \tau - 1 - 1/(2B)))` for
  :math:`\tau \le 3/4` and :math:`4 (1 - \tau + 1/(2B)) / (1 + 1/B)` above, for
  :math:`\theta \le 1/\sqrt 3` and
  :math:`\tau > \min(1/2 + \theta^2, 1/2 + 1/(2B) + 3 \theta^2/4)`;
- :math:`p \min\{D(\theta^2, 2\tau - 1, B, -1/2), D(\theta, \tau, 2B, -1/4)\}` if the distributions
  of the simultaneous selection and of :math:`\hat\Pi` are -1/2- and -1/4-concave.

:math:`D(\eta, t, B, r)` is the largest :math:`P(X \ge t)` over random variables on
{0, 1/B, ..., 1} with mean at most :math:`\eta` whose mass function f has a convex :math:`f^r`. The
idea that makes it computable: the largest is attained where :math:`f^r` is linear up to some
k / B, with what is left in the next point, so two numbers remain, one of them whole.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar


def assumption_free_bound(n_features: int, n_chosen: float, threshold: float) -> float:
    """Expected number of unstable features that pass; no assumption (Theorem 1)."""
    return n_chosen**2 / (n_features * (2 * threshold - 1))


def unimodal_bound(
    n_features: int, n_chosen: float, threshold: float, n_pairs: int
) -> float | None:
    """Expected number of unstable features that pass, if selection is unimodal (Theorem 2).

    Returns `bound`: None where the theorem does not apply.
    """
    share = n_chosen / n_features
    lowest = min(0.5 + share**2, 0.5 + 1 / (2 * n_pairs) + 0.75 * share**2)
    if share > 1 / np.sqrt(3) or threshold <= lowest or not _on_grid(threshold, n_pairs):
        return None
    if threshold <= 0.75:
        room = 2 * threshold - 1 - 1 / (2 * n_pairs)
        if room <= 0:
            return None
        factor = 1 / (2 * room)
    else:
        factor = 4 * (1 - threshold + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)
    return factor * n_chosen**2 / n_features


def r_concave_bound(
    n_features: int, n_chosen: float, threshold: float, n_pairs: int
) -> float | None:
    """Expected number of unstable features that pass, if selection is r-concave.

    Returns `bound`: None if the threshold is not a multiple of 1 / (2 B).
    """
    if not _on_grid(threshold, n_pairs):
        return None
    share = n_chosen / n_features
    place = round(2 * n_pairs * threshold)
    both = r_concave_tail(share**2, place - n_pairs, n_pairs, -0.5)
    either = r_concave_tail(share, place, 2 * n_pairs, -0.25)
    return n_features * min(both, either)


def _on_grid(threshold, n_pairs):
    place = 2 * n_pairs * threshold
    return abs(place - round(place)) < 1e-9


@lru_cache(maxsize=256)
def r_concave_tail(mean: float, place: int, n_steps: int, r: float) -> float:
    """D: largest probability of reaching `place` / `n_steps` with a given mean and r-concavity."""
    target = mean * n_steps
    if mean <= 0 or place < 1:
        return 0.0 if place >= 1 else 1.0
    if place <= 2 * target:
        return 1.0
    best = 0.0
    # Up to `last` the r-th power of f is linear with root -a; the next point has what is left.
    # Between a[last] and a[last + 1] that is from nothing to the continuation of the line.
    outer = _root_of_mean(place - 1, target, r)
    for last in range(place - 1, n_steps):
        inner = _root_of_mean(last + 1, target, r)
        best = max(best, _largest_tail(last, place, target, r, inner, outer))
        outer = inner
    return best


def _root_of_mean(last, target, r):
    """The logarithm of a for which f on 0..last, proportional to (a + i)**(1/r), has the mean."""
    if last <= 2 * target:
        return 25.0  # nearly uniform, and the mean is still too small
    points = np.arange(last + 1)

    def excess(log_a):
        # Divided by its largest value, f does not overflow.
        mass = (1 + points / np.exp(log_a)) ** (1 / r)
        return points @ mass / mass.sum() - target

    return brentq(excess, -60.0, 25.0, xtol=1e-13) if excess(25.0) > 0 else 25.0


def _largest_tail(last, place, target, r, inner, outer):
    points = np.arange(last + 1)

    def below(log_a):
        mass = (1 + points / np.exp(log_a)) ** (1 / r)
        return (last + 1 - target) * mass[:place].sum() / ((last + 1 - points) @ mass)

    ends = [1 - below(inner), 1 - below(outer)]
    if outer - inner > 1e-12:
        found = minimize_scalar(below, bounds=(inner, outer), method="bounded")
        ends.append(1 - found.fun)
    return max(*ends, 0.0)
