"""Predictions, explanations and paths of the fitted sparse center classifiers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tamis._array import is_sparse, only_columns
from tamis._base import (
    DecisionMixin,
    Explanation,
    FeatureSelectorMixin,
    RecordMixin,
    check_weights,
    encode_labels,
    order_by_score,
    resolve_n_features,
    validate,
)
from tamis.centers._training import CenterTraining
from tamis.centers.covariance import Whitening
from tamis.centers.groups import FeatureGroups
from tamis.centers.model import CenterModel
from tamis.centers.path import CentersPath
from tamis.centers.ranking import CenterStatistics
from tamis.centers.record import read_record, write_record
from tamis.centers.terms import require_finite_decisions
from tamis.paths.scoring import check_scoring


class FittedCenters(
    RecordMixin, FeatureSelectorMixin, DecisionMixin, ClassifierMixin, CenterTraining
):
    """Base of the sparse center classifiers: predictions, explanations and the path.

    A fitted classifier keeps arrays, numbers and strings only. The arrays describe all features;
    `support_` says which of them the decisions use.
    """

    _write_record, _read_record = write_record, read_record

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # The arrays of a model.

    def _keep(self, model, k, requested=None):
        """Keep the arrays of `model`, from which `_model` rebuilds it; use the k best features.

        With groups, k counts groups. Warns if `requested` is not None and fewer are selected.
        """
        statistics, selected = model.statistics, model.select(k)
        scale, gains, dispersion, objective = model.in_units_of_X(selected)
        self._metric = model.metric  # the parameter may change after fit
        self.class_count_ = statistics.weight
        self._offset = statistics.offset
        self._class_centers = statistics.centers
        self._common = statistics.common
        self._dispersion = statistics.dispersion
        self._raw_gains = statistics.gain
        self.gains_, self.scale_ = gains, scale
        self._units = None
        if statistics.unit is not None:
            self._units = {
                "unit": statistics.unit,
                "scale": model.scale,
                "gains": model.gains,
                "reference": model.reference,
            }
        self.class_prior_ = np.exp(model.log_prior)
        self._log_priors = model.log_prior
        self._whitening = None
        if model.whitening is not None:
            self._whitening = {
                # In C order, as after reading a file, so that the decisions have the same bits.
                "vectors": np.ascontiguousarray(model.whitening.vectors),
                "roots": model.whitening.roots,
                "rest": float(model.whitening.rest),
                "shrinkage": float(model.whitening.shrinkage),
                "centers": model.whitened_centers,
                "dispersion": model.whitened_dispersion,
                "selected": selected,
            }
        self.temperature_ = model.temperature
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[selected if model.whitening is None else slice(None)] = True
        self.n_features_ = int(selected.size)
        self.n_groups_ = self.n_features_
        if self._group_of is not None:
            self.n_groups_ = int(np.unique(self._group_of[selected]).size)
        self.dispersion_, self.objective_ = dispersion, objective
        if requested is not None:
            self._warn_of_few_features(k)

    @property
    def _selected(self):
        """Indices of the selected features; with a covariance, of the transformed ones."""
        if self._whitening is None:
            return np.flatnonzero(self.support_)
        return self._whitening["selected"]

    def _warn_of_few_features(self, k):
        n_selected, kind = self.n_features_, "features"
        if self._group_of is not None:
            groups = np.unique(self._group_of[self._selected])
            n_selected = int(np.count_nonzero(~self._kept[groups]))
            kind = "features" if self.feature_groups is None else "groups"
            kind += " besides those to keep" if self._kept.any() else ""
        if n_selected >= k:
            return
        warnings.warn(
            f"{k} {kind} were requested, but only {n_selected} separate the class "
            f"centers (metric={self.metric!r}); those are selected.",
            UserWarning,
            stacklevel=5,
        )

    @property
    def _statistics(self):
        return CenterStatistics(
            self.class_count_,
            self._offset,
            self._class_centers,
            self._common,
            self._dispersion,
            self._raw_gains,
            None if self._units is None else self._units["unit"],
        )

    @property
    def _model(self):
        scale, gains, reference = self.scale_, self.gains_, 1.0
        if self._units is not None:
            scale, gains, reference = (self._units[n] for n in ("scale", "gains", "reference"))
        model = CenterModel(self._metric, self._statistics, scale, gains, self._log_priors)
        model.reference = reference
        model.temperature = self.temperature_
        if self._group_of is not None:
            model.groups = FeatureGroups(self._group_of, self._kept)
        if self._whitening is not None:
            parts = self._whitening
            model.whitening = Whitening(
                parts["vectors"], parts["roots"], parts["rest"], parts["shrinkage"]
            )
            model.whitened_centers = parts["centers"]
            model.whitened_dispersion = parts["dispersion"]
        return model

    # Fitted attributes, derived from the arrays that training kept.

    def _fitted_model(self):
        check_is_fitted(self, "support_")
        return self._model

    @property
    def centers_(self) -> NDArray[np.float64]:
        """Class centers in the units of X, equal outside the support: (n_classes, n_features)."""
        return self._attribute("centers_", lambda: self._model.centers(self._selected))

    @property
    def class_centers_(self) -> NDArray[np.float64]:
        """Class means or medians of all features, in the units of X."""
        return self._attribute(
            "class_centers_", lambda: self._statistics.in_units_of_X(self._class_centers)
        )

    @property
    def common_center_(self) -> NDArray[np.float64]:
        """The center that all classes share where a feature is not selected."""
        return self._attribute(
            "common_center_", lambda: self._statistics.in_units_of_X(self._common)
        )

    @property
    def feature_order_(self) -> NDArray[np.intp]:
        """Feature indices, best first; equal gains: lower index first.

        With groups, the features of the best group come first, after the kept ones. With a
        covariance, features are ordered by `feature_importances_`.
        """
        return self._attribute("feature_order_", self._order)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Gains of the selected features, 0 for the others: (n_features,).

        With a covariance, all features enter the decisions, and its importance is the mean
        absolute coefficient, over classes, of the scaled feature.
        """
        return self._attribute("feature_importances_", self._importances)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the decisions in the units of X; metric="l2" only.

        Two classes: of shape (1, n_features). More: (n_classes, n_features).
        """
        return self._attribute("coef_", lambda: self._linear("coef_")[0])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the decisions; metric="l2" only: (1,) for two classes, or (n_classes,)."""
        return self._attribute("intercept_", lambda: self._linear("intercept_")[1])

    @property
    def group_of_(self) -> NDArray[np.int64]:
        """Index of each feature's group; without groups, each feature is its own group."""
        return self._attribute(
            "group_of_",
            lambda: np.arange(self.n_features_in_) if self._group_of is None else self._group_of,
        )

    @property
    def group_gains_(self) -> NDArray[np.float64]:
        """Sum of the gains of each group."""
        return self._attribute(
            "group_gains_",
            lambda: self.gains_ if self._group_of is None else self._groups.sums(self.gains_),
        )

    def _attribute(self, name, compute):
        if "support_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: no {name}.")
        return compute()

    def _order(self):
        if self._whitening is not None:
            return order_by_score(self._importances())
        return self._model.order()

    def _importances(self):
        if self._whitening is not None:
            return np.abs(self._linear("coef_")[0] * self.scale_).mean(axis=0)
        return np.where(self.support_, self.gains_, 0.0)

    def _linear(self, name):
        if self._metric != "l2":
            raise AttributeError(
                f"{type(self).__name__} has no {name} with metric='l1': its decisions are not "
                "linear in X. Use explain, or metric='l2'."
            )
        factors, intercepts = self._model.coefficients(self._selected)
        if len(factors) == 2:
            return factors[1:] - factors[:1], intercepts[1:] - intercepts[:1]
        return factors, intercepts

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        return self.support_

    # Decisions.

    def _check_X(self, X, on_device=False):
        with np.errstate(over="ignore", invalid="ignore"):  # in sums of finite values
            X = validate(
                self,
                X,
                reset=False,
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                accept_large_sparse=True,
                on_device=on_device,
            )
        if self._metric == "l1" and is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # |a + b| is not |a| + |b|
        return X

    def _decisions(self, X):
        """Decisions of all classes, (n_samples, n_classes)."""
        model = self._fitted_model()
        with np.errstate(over="ignore", invalid="ignore"):  # raises an error below
            X = only_columns(self._check_X(X, on_device=True), self._selected)
            return model.decisions(X, self._selected)

    def explain(self, X: ArrayLike) -> Explanation:
        """Contribution of each feature to the decision of each sample.

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
        with np.errstate(over="ignore", invalid="ignore"):  # raises an error below
            values, base = model.contributions(X, self._selected)
        for change in values:
            require_finite_decisions(change.data if is_sparse(change) else change, X)
        values, base = [v / self.temperature_ for v in values], base / self.temperature_
        return self._explanation(values, base, X)

    # The path.

    def with_n_features(self, k: int | float | None) -> FittedCenters:
        """The same classifier with the k best features, without training again.

        Parameters
        ----------
        k : int, float or None
            As `n_features_to_select`: a number of groups if there are groups; kept features are
            not counted.

        Returns
        -------
        classifier : estimator
            Fitted; shares its arrays with this one.
        """
        check_is_fitted(self, "support_")
        other = copy.copy(self)
        other._keep(self._model, resolve_n_features(k, self._n_choices, "k"))
        if hasattr(other, "n_features_to_select"):
            other.n_features_to_select = k
        return other

    def path_predict(self, X: ArrayLike, ks: Sequence[int] | None) -> NDArray:
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
        path, X = self._path(X, ks)
        return self.classes_[path.labels(X)]

    def path_score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        ks: Sequence[int] | None,
        *,
        scoring: str | Callable | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
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
        path, X = self._path(X, ks)
        check_consistent_length(X, y)
        every, codes = encode_labels(y)
        if not np.array_equal(every, self.classes_):
            labels, every = every, np.union1d(self.classes_, every)
            codes = np.searchsorted(every, labels)[codes]
        known = np.searchsorted(every, self.classes_)
        weights = check_weights(sample_weight, X)
        check_scoring(scoring)
        scoring = "accuracy" if scoring is None else scoring
        return path.score(X, codes, every, known, scoring, weights)

    def _path(self, X, ks):
        model = self._fitted_model()
        X = self._check_X(X)
        if ks is None:
            ks = np.arange(1, self._n_choices + 1)
        if not np.iterable(ks):
            raise ValueError(f"ks must be a sequence of numbers of features, or None, got {ks!r}.")
        ks = [resolve_n_features(k, self._n_choices, "Each of ks") for k in ks]
        levels = np.array(ks, dtype=np.int64)
        return CentersPath(model, levels, self.classes_, self), X
