"""Sparse naive Bayes of Askari, d'Aspremont and El Ghaoui: few features differ between classes."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from tamis._array import is_sparse
from tamis._base import check_finite, order_by_score
from tamis.selectors.branching import best_support
from tamis.selectors.counts import class_presence, class_sums, class_totals
from tamis.selectors.likelihoods import (
    bernoulli_gains,
    bernoulli_likelihood,
    multinomial_likelihood,
)
from tamis.selectors.selector import ClassSelector, check_smoothing

_LIKELIHOODS = ("multinomial", "bernoulli")


class SparseNaiveBayesSelector(ClassSelector):
    r"""Select the features on which the best sparse naive Bayes model separates the classes.

    Of all naive Bayes models whose parameters :math:`\theta_c` differ between classes on at most
    k features, take the one with the largest log-likelihood, and select those features [1]_:

    .. math:: \max_{\theta} \sum_j \log p(x_j \mid \theta_{y_j}) \quad \text{such that} \quad
              |\{i : \theta_{ci} \ne \theta_{di} \text{ for some } c, d\}| \le k.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=10
        Number k of features to select, or a fraction of them in (0, 1]. None, or a larger number,
        selects all.
    likelihood : {"multinomial", "bernoulli"}, default="multinomial"
        "multinomial" models counts, or any values that are not negative, such as tf-idf; binary
        data are counts too. "bernoulli" models presence and absence: a feature is present in a
        sample where its value is larger than 0.
    smoothing : float, default=0.0
        Pseudo-counts added for each class and feature (Bernoulli: pseudo-samples with and
        without the feature), shared out in proportion to the sizes of the classes. 0 is plain
        maximum likelihood, as in [1]_.
    max_nodes : int, default=100
        Multinomial: largest number of additional bounds to close the gap between the likelihood
        reached and the dual bound. 0 computes none, as in [1]_. Data in which features and classes
        are related need few; noise may need all of them, at a few milliseconds each, more with
        tens of classes.

    Attributes
    ----------
    log_likelihood_ : float
        Log-likelihood of the features given the classes, for the selected features; multinomial
        coefficients and class priors, which are the same for all supports, are omitted.
    upper_bound_ : float
        No support of k features has a larger log-likelihood.
    gap_ : float
        `upper_bound_` minus `log_likelihood_`. 0: the support is optimal up to rounding, as it
        always is under the Bernoulli likelihood.
    scores_ : ndarray of shape (n_features,)
        Bernoulli: gain in log-likelihood of separate probabilities over a common one.
        Multinomial: the same at the optimum of the dual, :math:`f_i \, \mathrm{KL}(f_{\cdot i} /
        f_i \,\|\, \alpha)`, with :math:`f_{ci}` the sum of feature i in class c.
    feature_order_ : ndarray of shape (n_features,)
        Feature indices, best first: the selected ones, then the others, each by score; equal
        scores: lower index first.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features.
    n_features_ : int
        Number of selected features.
    feature_importances_ : ndarray of shape (n_features,)
        Scores of the selected features, 0 for the others.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    See Also
    --------
    OddsRatioSelector : Features by the odds ratio of presence, however rare.

    Notes
    -----
    *Bernoulli*: the likelihood is a product over features, so the k largest gains are the
    optimum. A gain is the number of samples times the mutual information of presence and class.

    *Multinomial*: the parameters of a class sum to one, which couples the features. The dual has
    one variable for two classes, C - 1 for C; the k features that are largest at its optimum are
    usually the best support, with a gap of 0. When they are not, branch and bound continues,
    unlike in [1]_. Its cost hardly depends on the number of samples or features. One feature
    alone cannot differ when parameters sum to one: for k = 1 all supports are equally likely, and
    the selected feature is the one whose counts depart most from the classes' proportions
    :math:`\alpha` of all counts.

    References
    ----------
    .. [1] Askari, d'Aspremont and El Ghaoui, "Naive feature selection: sparsity in naive Bayes",
       AISTATS 2020, arXiv:1905.09884.

    Examples
    --------
    >>> from tamis.selectors import SparseNaiveBayesSelector
    >>> X = [[3, 0, 2, 1], [2, 1, 2, 0], [0, 4, 2, 1], [1, 3, 2, 0]]
    >>> y = ["ham", "ham", "spam", "spam"]
    >>> selector = SparseNaiveBayesSelector(2).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1]
    >>> selector.gap_
    0.0
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 10,
        likelihood: str = "multinomial",
        smoothing: float = 0.0,
        max_nodes: int = 100,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.likelihood = likelihood
        self.smoothing = smoothing
        self.max_nodes = max_nodes

    def _check_parameters(self):
        check_smoothing(self.smoothing, zero_allowed=True)
        if self.likelihood not in _LIKELIHOODS:
            raise ValueError(
                f'likelihood must be "multinomial" or "bernoulli", got {self.likelihood!r}.'
            )
        number = isinstance(self.max_nodes, Integral)
        if not number or isinstance(self.max_nodes, bool | np.bool_) or self.max_nodes < 0:
            raise ValueError(f"max_nodes must be an integer >= 0, got {self.max_nodes!r}.")

    def _select(self, X, codes, weight, n_selected):
        totals = class_totals(codes, self.classes_.size, weight)
        if self.likelihood == "bernoulli":
            self._select_bernoulli(X, codes, weight, totals, n_selected)
        else:
            self._select_multinomial(X, codes, weight, n_selected)

    def _select_bernoulli(self, X, codes, weight, totals, n_selected):
        presence = class_presence(X, codes, totals.size, weight)
        pseudo = self.smoothing * _shares(totals)
        presence, totals = presence + pseudo[:, None], totals + 2 * pseudo

        # The gains add up, so the largest ones are the optimum: Theorem 1.
        self.scores_ = bernoulli_gains(presence, totals)
        self.feature_order_ = order_by_score(self.scores_)
        self.support_ = self._mask(self.feature_order_[:n_selected])
        gain = float(self.scores_[self.support_].sum())
        self.log_likelihood_ = bernoulli_likelihood(presence, totals) + gain
        self.upper_bound_, self.gap_ = self.log_likelihood_, 0.0

    def _select_multinomial(self, X, codes, weight, n_selected):
        self._check_not_negative(X)
        counts = class_sums(X, codes, self.classes_.size, weight)
        check_finite([counts], X)
        counts += self.smoothing * _shares(counts.sum(axis=1))[:, None]

        # The gains depend on each other: bound by the dual, then close the gap.
        best = best_support(counts, n_selected, self.max_nodes)
        self.scores_ = np.maximum(best.scores, 0.0)  # negative only by rounding
        self.support_ = self._mask(best.features)
        order = order_by_score(self.scores_)
        selected = self.support_[order]
        self.feature_order_ = np.concatenate([order[selected], order[~selected]])
        self.log_likelihood_ = multinomial_likelihood(counts) + best.gain
        # Computed before it is lost in the difference of two large numbers.
        self.gap_ = best.bound - best.gain
        self.upper_bound_ = self.log_likelihood_ + self.gap_

    def _check_not_negative(self, X):
        values = X.data if is_sparse(X) else X
        smallest = values.min(initial=0.0)
        if smallest < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: the multinomial "
                f"likelihood needs values >= 0, got {smallest:.6g}. Shift the features, or use "
                'likelihood="bernoulli", for which a feature is present where it is > 0.'
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.likelihood == "multinomial"
        return tags


def _shares(sizes):
    """Sizes of the classes relative to their mean; 1 when all are 0."""
    mean = sizes.mean()
    return sizes / mean if mean > 0 else np.ones_like(sizes)
