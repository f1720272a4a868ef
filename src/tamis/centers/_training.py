"""Training that the sparse center classifiers share: checks, priors, the arrays they keep."""

from __future__ import annotations

import warnings

import numpy as np

from tamis._array import is_sparse
from tamis._base import (
    TamisEstimator,
    check_finite,
    check_weights,
    encode_labels,
    require_class_weights,
    require_two_classes,
    validate,
)
from tamis.centers.covariance import Whitening
from tamis.centers.groups import FeatureGroups, make_groups
from tamis.centers.model import CenterModel
from tamis.centers.ranking import CenterStatistics
from tamis.centers.train import train, train_from_moments

__all__ = ["CenterTraining"]

_METRICS = ("l2", "l1")
_SCALINGS = ("spread", None, "std", "variance")
_COVARIANCES = (None, "empirical", "shrunk")


class CenterTraining(TamisEstimator):
    """From parameters and data to a model, and from the kept arrays back to it."""

    def _check_parameters(self):
        for name, known in (
            ("metric", _METRICS),
            ("scaling", _SCALINGS),
            ("covariance", _COVARIANCES),
        ):
            value = getattr(self, name)
            if not any(value is k or (isinstance(value, str) and value == k) for k in known):
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )
        if self.metric == "l1" and self.covariance is not None:
            raise ValueError(
                f"covariance={self.covariance!r} requires metric='l2', got metric='l1'. "
                "Use covariance=None, or metric='l2'."
            )

        for name in ("feature_groups", "keep"):
            if self.covariance is not None and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} requires covariance=None, got covariance={self.covariance!r}: "
                    "with a covariance the selected features are transformed ones."
                )

    def _validate(self, X, y, sample_weight, *, reset=True, classes=None, n_classes_needed=2):
        """Checked data, class indices and weights; sets `classes_`."""
        X, y = validate(
            self,
            X,
            y,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # found in the sums: see check_finite
            accept_large_sparse=True,
        )
        if self.metric == "l1" and not is_sparse(X):
            check_finite((X,), X)  # medians would hide NaN
        sample_weight = check_weights(sample_weight, X)
        self._set_groups()
        self.classes_, codes = encode_labels(y, classes)
        if n_classes_needed > 1:
            require_two_classes(self)
        return X, codes, sample_weight

    def _check_class_weights(self, codes, sample_weight):
        if sample_weight is not None:
            require_class_weights(self.classes_, codes, sample_weight)

    def _set_groups(self):
        """Keep the groups of this fit as arrays, because the parameters may change later."""
        groups = None
        if self.feature_groups is not None or self.keep is not None:
            groups = make_groups(self.feature_groups, self.keep, self._feature_names())
        self._group_of = None if groups is None else groups.group_of
        self._kept = None if groups is None else groups.kept

    @property
    def _groups(self):
        return None if self._group_of is None else FeatureGroups(self._group_of, self._kept)

    @property
    def _n_choices(self):
        """How many features, or groups, may be selected or not."""
        return self.n_features_in_ if self._group_of is None else self._groups.n_choices

    def _train_moments(self, moments):
        model = train_from_moments(moments, scaling=self.scaling, log_prior=self._log_prior)
        model.groups = self._groups
        return model

    def _train(self, X, codes, n_classes, sample_weight):
        model = train(
            X,
            codes,
            n_classes,
            metric=self.metric,
            scaling=self.scaling,
            covariance=self.covariance,
            log_prior=self._log_prior,
            sample_weight=sample_weight,
        )
        model.groups = self._groups
        return model

    def _log_prior(self, weight):
        """Logarithm of the priors; classes that were not seen are left out."""
        seen = weight > 0
        if isinstance(self.priors, str):
            if self.priors not in ("uniform", "empirical"):
                raise ValueError(
                    "priors must be 'uniform', 'empirical' or one probability for each class, "
                    f"got {self.priors!r}."
                )
            prior = seen.astype(np.float64) if self.priors == "uniform" else weight
        else:
            try:
                prior = np.asarray(self.priors, dtype=np.float64)
            except (TypeError, ValueError):
                prior = np.zeros(0)  # raises below
            if (
                prior.shape != weight.shape
                or not np.all(prior > 0)
                or not np.isclose(prior.sum(), 1.0)
            ):
                raise ValueError(
                    f"priors must be {weight.size} positive probabilities that sum to 1, in the "
                    f"order of the classes {self.classes_.tolist()}; got {self.priors!r}."
                )
            prior = np.where(seen, prior, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(prior / prior.sum())

    def _store(self, model):
        """Keep the arrays of `model`; `_model` puts them together again."""
        statistics = model.statistics
        self._metric = model.metric  # the parameter may change after fit
        self.class_count_ = statistics.weight
        self._offset = statistics.offset
        self._class_centers = statistics.centers
        self._common = statistics.common
        self._dispersion = statistics.dispersion
        self._raw_gains = statistics.gain
        self.gains_ = model.in_units_of_X(model.gains)
        self.scale_ = model.scale_in_units_of_X
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
                "vectors": model.whitening.vectors,
                "roots": model.whitening.roots,
                "rest": float(model.whitening.rest),
                "shrinkage": float(model.whitening.shrinkage),
                "centers": model.whitened_centers,
                "dispersion": model.whitened_dispersion,
            }
        self.temperature_ = 1.0

    def _select(self, k):
        """Use the k best features, or groups."""
        model = self._model
        selected = model.select(k)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        if self._whitening is None:
            self.support_[selected] = True
        else:  # a new dict: a copy of this estimator may share the other
            self.support_[:] = True
            self._whitening = {**self._whitening, "selected": selected}
        self.n_features_ = int(selected.size)
        self.n_groups_ = self.n_features_
        if self._group_of is not None:
            self.n_groups_ = int(np.unique(self._group_of[selected]).size)
        self.dispersion_ = float(model.in_units_of_X(model.dispersion(selected)))
        self.objective_ = float(model.in_units_of_X(model.objective(selected)))

    @property
    def _selected(self):
        """Indices of the selected features, with a covariance of the transformed ones."""
        if self._whitening is None:
            return np.flatnonzero(self.support_)
        return self._whitening["selected"]

    def _warn_of_few_features(self, k, requested):
        n_selected, kind = self.n_features_, "features"
        if self._group_of is not None:
            groups = np.unique(self._group_of[self._selected])
            n_selected = int(np.count_nonzero(~self._kept[groups]))
            kind = "features" if self.feature_groups is None else "groups"
            kind += " besides those to keep" if self._kept.any() else ""
        if n_selected >= k or requested is None:
            return
        warnings.warn(
            f"{k} {kind} were requested, but only {n_selected} separate the class "
            f"centers (metric={self.metric!r}); those are selected.",
            UserWarning,
            stacklevel=4,
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
        model.groups = self._groups
        if self._whitening is not None:
            parts = self._whitening
            model.whitening = Whitening(
                parts["vectors"], parts["roots"], parts["rest"], parts["shrinkage"]
            )
            model.whitened_centers = parts["centers"]
            model.whitened_dispersion = parts["dispersion"]
        return model
