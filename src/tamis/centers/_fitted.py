"""What a fitted sparse center classifier can do, whoever chose its number of features."""

import copy

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tamis._base import (
    DecisionMixin,
    FeatureSelectorMixin,
    check_weights,
    encode_labels,
    resolve_n_features,
    validate,
)
from tamis.centers._training import CenterTraining
from tamis.centers.path import path_labels, require_finite_decisions
from tamis.centers.scoring import score_path
from tamis.paths.scoring import check_scoring

__all__ = ["FittedCenters"]


class FittedCenters(FeatureSelectorMixin, DecisionMixin, ClassifierMixin, CenterTraining):
    """Base of the sparse center classifiers: predictions, explanations and the path.

    A fitted classifier keeps arrays, numbers and strings only. The arrays describe all features;
    `support_` says which of them the decisions use.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # What training left.

    def _fitted_model(self):
        check_is_fitted(self, "support_")
        return self._model

    @property
    def centers_(self):
        """Class centers in the units of X, equal outside the support: (n_classes, n_features)."""
        return self._attribute("centers_", lambda: self._model.centers(self.support_))

    @property
    def class_centers_(self):
        """Class means or medians of all features, in the units of X."""
        return self._attribute(
            "class_centers_", lambda: self._statistics.in_units_of_X(self._class_centers)
        )

    @property
    def common_center_(self):
        """The center that all classes share where a feature is left out."""
        return self._attribute(
            "common_center_", lambda: self._statistics.in_units_of_X(self._common)
        )

    @property
    def ranking_(self):
        """Features from the largest gain to the smallest; equal gains: lower index first.

        With groups: the features of the best group first.
        """
        return self._attribute("ranking_", lambda: self._model.order())

    @property
    def group_of_(self):
        """Index of the group of every feature; every feature is its own where there are none."""
        return self._attribute(
            "group_of_",
            lambda: np.arange(self.n_features_in_) if self._group_of is None else self._group_of,
        )

    @property
    def group_gains_(self):
        """Sum of the gains of every group."""
        return self._attribute(
            "group_gains_",
            lambda: self.gains_ if self._group_of is None else self._groups.sums(self.gains_),
        )

    def _attribute(self, name, compute):
        if "support_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: no {name}.")
        return compute()

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        mask = np.ones(self.n_features_in_, dtype=bool)
        if self._whitening is None:
            mask[:] = False
            mask[self.support_] = True
        return mask

    # Decisions.

    def _check_X(self, X):
        with np.errstate(over="ignore", invalid="ignore"):  # in sums of finite values
            X = validate(
                self,
                X,
                reset=False,
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                accept_large_sparse=True,
            )
        if self._metric == "l1" and sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # |a + b| is not |a| + |b|
        return X

    def _decisions(self, X):
        """Decisions of all classes, (n_samples, n_classes)."""
        model = self._fitted_model()
        with np.errstate(over="ignore", invalid="ignore"):  # told in an error
            return model.decisions(self._check_X(X), self.support_)

    def explain(self, X):
        """Contribution of every feature to the decision of every sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanation : Explanation
            `values` and `base` sum to `decision_function`. Contributions are relative to the
            common center for dense samples, and relative to 0 for sparse ones, so that they are
            as sparse as the sample.
        """
        model = self._fitted_model()
        X = self._check_X(X)
        with np.errstate(over="ignore", invalid="ignore"):  # told in an error
            values, base = model.contributions(X, self.support_)
        for change in values:
            require_finite_decisions(change.data if sparse.issparse(change) else change, X)
        values, base = [v / self.temperature_ for v in values], base / self.temperature_
        return self._explanation(values, base, X)

    # The sparsity path.

    def with_n_features(self, k):
        """The same classifier with the k best features, without training again.

        Parameters
        ----------
        k : int, float or None
            As `n_features_to_select`: a number of groups where there are groups, without what is
            kept in any case.

        Returns
        -------
        classifier : estimator
            Fitted; shares its arrays with this one.
        """
        check_is_fitted(self, "support_")
        other = copy.copy(self)
        other._select(resolve_n_features(k, self._n_choices, "k"))
        if hasattr(other, "n_features_to_select"):
            other.n_features_to_select = k
        return other

    def path_predict(self, X, ks):
        """Predictions with each of several numbers of features, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        ks : sequence of int, or None
            Numbers of features, or groups; None is 1, 2, ... up to all.

        Returns
        -------
        labels : ndarray of shape (len(ks), n_samples)
        """
        model, X, ks = self._path(X, ks)
        terms = model.terms(model.ranked())
        ks = model.count_features(ks)
        labels = [path_labels(model.transform(X[rows]), terms, ks) for rows in model.row_chunks(X)]
        return self.classes_[np.concatenate(labels).T]

    def path_score(self, X, y, ks, *, scoring=None, sample_weight=None):
        """Scores with each of several numbers of features, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        ks : sequence of int, or None
            Numbers of features, or groups; None is 1, 2, ... up to all.
        scoring : str, callable or None
            None is the accuracy, as in `score`; otherwise as in scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        scores : ndarray of shape (len(ks),)
        """
        model, X, ks = self._path(X, ks)
        check_consistent_length(X, y)
        everything, codes = encode_labels(y)
        if not np.array_equal(everything, self.classes_):
            labels, everything = everything, np.union1d(self.classes_, everything)
            codes = np.searchsorted(everything, labels)[codes]
        known = np.searchsorted(everything, self.classes_)
        weights = check_weights(sample_weight, X)
        check_scoring(scoring)
        return score_path(model, X, codes, everything, known, ks, scoring, weights)

    def _path(self, X, ks):
        model = self._fitted_model()
        X = self._check_X(X)
        if ks is None:
            ks = np.arange(1, self._n_choices + 1)
        if not np.iterable(ks):
            raise ValueError(f"ks must be a sequence of numbers of features, or None, got {ks!r}.")
        ks = [resolve_n_features(k, self._n_choices, "Each of ks") for k in ks]
        return model, X, np.array(ks, dtype=np.int64)
