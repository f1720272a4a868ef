"""The odds ratio of Mladenic and Grobelnik: is a feature's presence evidence for a class?"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import check_finite, order_by_score
from tamis.selectors.counts import class_presence, class_totals, thresholds_of
from tamis.selectors.selector import ClassSelector, check_smoothing


class OddsRatioSelector(ClassSelector):
    r"""Select the features with the largest odds ratios.

    With :math:`p_{ci}` the proportion of the samples of class c that have feature i, and
    :math:`\bar p_{ci}` its proportion in all other classes, the score of [1]_ is

    .. math:: r_{ci} = \log \frac{p_{ci} (1 - \bar p_{ci})}{(1 - p_{ci}) \bar p_{ci}},

    positive when presence is evidence for class c, negative when it is evidence against it.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=10
        Number of features to select, or a fraction of them in (0, 1]. None, or a larger number,
        selects all.
    smoothing : float, default=1.0
        Pseudo-samples, larger than 0, that keep the odds finite: see Notes.
    threshold : float, "mean" or "median", default=0.0
        A feature is present in a sample where its value exceeds the threshold. 0 suits words;
        for real-valued data such as gene expression "mean" or "median" compare each feature with
        its own mean or median over all samples.
    pos_label : label, default=None
        With a label the score is the signed :math:`r_{ci}` of that class, as in [1]_: features
        that indicate it come first, those that indicate the others last. With None no class is
        preferred: the score is :math:`\max_c |r_{ci}|`, for two classes
        :math:`|r_{0i}| = |r_{1i}|`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    log_odds_ratios_ : ndarray of shape (n_classes, n_features)
        :math:`r_{ci}`, each class against the rest.
    scores_ : ndarray of shape (n_features,)
        Scores by which the features are ordered.
    feature_order_ : ndarray of shape (n_features,)
        Feature indices, best first; equal scores: lower index first.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features.
    n_features_ : int
        Number of selected features.
    feature_importances_ : ndarray of shape (n_features,)
        Scores of the selected features, 0 for the others and for negative scores.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    See Also
    --------
    SparseNaiveBayesSelector : Features by their gain in likelihood, which counts rare ones less.

    Notes
    -----
    Probabilities are smoothed by `smoothing` present and `smoothing` absent pseudo-samples for
    each side of a comparison, shared out in proportion to the sizes of the two sides:
    :math:`p / (1 - p)` becomes :math:`(p + q) / (1 - p + q)` with q = 2 `smoothing` / n. Adding
    the same number to both sides instead would make a feature that is never present look typical
    of the smaller side; here its log odds ratio is 0.

    References
    ----------
    .. [1] Mladenic and Grobelnik, "Feature selection for unbalanced class distribution and naive
       Bayes", ICML 1999.

    Examples
    --------
    >>> from tamis.selectors import OddsRatioSelector
    >>> X = [[1, 0, 1], [1, 0, 0], [0, 1, 1], [1, 1, 0]]
    >>> y = ["ham", "ham", "spam", "spam"]
    >>> OddsRatioSelector(1).fit(X, y).feature_order_.tolist()
    [1, 0, 2]
    >>> OddsRatioSelector(1, pos_label="ham").fit(X, y).get_support(indices=True).tolist()
    [0]
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 10,
        smoothing: float = 1.0,
        threshold: float | str = 0.0,
        pos_label: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.smoothing = smoothing
        self.threshold = threshold
        self.pos_label = pos_label

    def _check_parameters(self):
        check_smoothing(self.smoothing, zero_allowed=False)
        if isinstance(self.threshold, str):
            valid = self.threshold in ("mean", "median")
        else:
            number = isinstance(self.threshold, Real)
            valid = number and not isinstance(self.threshold, bool | np.bool_)
            valid = valid and math.isfinite(self.threshold)
        if not valid:
            raise ValueError(
                f'threshold must be a finite number, "mean" or "median", got {self.threshold!r}.'
            )

    def _select(self, X, codes, weight, n_selected):
        n_classes = self.classes_.size
        threshold = self.threshold
        if isinstance(threshold, str):
            threshold = thresholds_of(X, threshold, weight)
            check_finite([threshold], X)
        presence = class_presence(X, codes, n_classes, weight, threshold)
        totals = class_totals(codes, n_classes, weight)
        self.log_odds_ratios_ = log_odds_ratios(presence, totals, self.smoothing)
        self.scores_ = self._combine(self.log_odds_ratios_)
        self.feature_order_ = order_by_score(self.scores_)
        self.support_ = self._mask(self.feature_order_[:n_selected])

    def _combine(self, ratios):
        if self.pos_label is None:
            return np.abs(ratios).max(axis=0)
        chosen = np.flatnonzero(self.classes_ == self.pos_label)
        if chosen.size != 1:
            raise ValueError(
                f"pos_label must be one of the classes {self.classes_.tolist()} or None, "
                f"got {self.pos_label!r}."
            )
        return ratios[chosen[0]]


def log_odds_ratios(presence: NDArray, totals: NDArray, smoothing: float) -> NDArray[np.float64]:
    r"""Smoothed log odds ratio of each feature, each class against the rest.

    .. math:: \log \frac{p + q}{1 - p + q} - \log \frac{\bar p + q}{1 - \bar p + q},
              \qquad q = 2 s / n

    `presence` (n_classes, n_features): weight of the samples of a class where the feature is
    present; `totals` (n_classes,): weight of the samples of a class, positive; `smoothing`: s > 0.
    Returns `ratios` (n_classes, n_features).
    """
    pseudo = 2 * smoothing / totals.sum()
    table = np.column_stack([presence, totals])  # the last column divides the others
    # Sums before and after a class, instead of the total minus the class, avoid cancellation.
    after = np.zeros((totals.size + 1, table.shape[1]))
    after[:-1] = np.cumsum(table[::-1], axis=0)[::-1]
    before = np.zeros(table.shape[1])
    ratios = np.empty_like(presence)
    for c, inside in enumerate(table):
        outside = before + after[c + 1]
        ratios[c] = _log_odds(inside, pseudo) - _log_odds(outside, pseudo)
        before = before + inside
    return ratios


def _log_odds(side, pseudo):
    present = side[:-1] / side[-1]
    # Sums of fractional weights may exceed their total in the last digit.
    absent = np.maximum(1 - present, 0.0)
    return np.log(present + pseudo) - np.log(absent + pseudo)
