"""Prediction sets, thresholds and fixed sequences, slowly and with exact fractions."""

from fractions import Fraction
from math import comb


def p_value(own_scores, n_folds, score_of_fold):
    """`own_scores`: (fold, score) of the calibration rows of the class."""
    stranger = sum(1 for fold, score in own_scores if score >= score_of_fold[fold])
    return Fraction(n_folds + stranger, n_folds + len(own_scores))


def binomial_at_most(errors, n, rate):
    """P(Bin(n, rate) <= errors)."""
    rate = Fraction(rate)
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(errors + 1))


def last_passed(errors, n, rate, delta):
    """Place of the last model of a fixed sequence that passes; None if the first fails."""
    answer = None
    for place, wrong in enumerate(errors):
        if binomial_at_most(wrong, n, rate) > Fraction(delta):
            break
        answer = place
    return answer


def threshold_rank(n, miss_rate, confidence):
    """The largest r with P(Bin(n, miss_rate) >= r) >= confidence; 0 if there is none."""
    rank = 0
    for r in range(1, n + 1):
        if 1 - binomial_at_most(r - 1, n, miss_rate) >= Fraction(confidence):
            rank = r
    return rank
