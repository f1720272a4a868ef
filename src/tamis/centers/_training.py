"""Training shared by the sparse center classifiers: checks, priors and the arrays they keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis._array import is_sparse
from tamis._base import (
    TamisEstimator,
    check_finite,
    check_part_weights,
    encode_labels,
    read_weights,
    require_class_weights,
    require_two_classes,
    validate,
)
from tamis.centers.covariance import pooled_whitening
from tamis.centers.groups import FeatureGroups, make_groups
from tamis.centers.medians import class_medians
from tamis.centers.model import CenterModel
from tamis.centers.ranking import from_medians, from_moments, scale_of, scaled_by
from tamis.centers.statistics import summarise
from tamis.centers.units import divide

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

    def _validate(
        self, X, y, sample_weight, *, reset=True, classes=None, is_part=False, advice=""
    ):
        """Check the parameters, data, labels and weights; sets `classes_`.

        Weights of a part of the rows stay as given: how to read them is decided for all rows.
        `advice` is for labels that are not among `classes`.
        """
        self._check_parameters()
        X, y = validate(
            self,
            X,
            y,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # detected in the sums: see check_finite
            accept_large_sparse=True,
            on_device=self.metric == "l2" and self.covariance is None,
        )
        if self.metric == "l1" and not is_sparse(X):
            check_finite((X,), X)  # medians would hide NaN
        if is_part:
            sample_weight = check_part_weights(sample_weight, X)
        else:
            sample_weight, self._weight_unit = read_weights(sample_weight, X)
        self._set_groups()
        self.classes_, codes = encode_labels(y, classes, advice)
        if not is_part:
            require_two_classes(self)
            if sample_weight is not None:
                require_class_weights(self.classes_, codes, sample_weight)
        return X, codes, sample_weight

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
        """Number of features, or groups, to choose from."""
        return self.n_features_in_ if self._group_of is None else self._groups.n_choices

    def _train_moments(self, moments):
        """The l2 model from class moments; classes without weight are ignored."""
        seen = np.flatnonzero(moments.weight > 0)
        present = moments if seen.size == moments.weight.size else moments.take(seen)
        log_prior = self._log_prior(moments.weight)
        model = scaled_model("l2", from_moments(present), self.scaling, present, log_prior[seen])
        model.groups = self._groups
        return model if seen.size == log_prior.size else spread_over(model, seen, log_prior)

    def _train(self, X, codes, sample_weight):
        """Statistics, scales and gains of the data: everything except the choice of k."""
        n_classes = len(self.classes_)
        if self.metric == "l2" and self.covariance is None:
            return self._train_moments(summarise(X, codes, n_classes, sample_weight))
        weight = np.bincount(codes, weights=sample_weight, minlength=n_classes).astype(np.float64)
        log_prior = self._log_prior(weight)
        seen = np.flatnonzero(weight > 0)
        if seen.size < n_classes:
            rows = np.flatnonzero(weight[codes] > 0)
            X, codes = X[rows], np.searchsorted(seen, codes[rows])
            sample_weight = None if sample_weight is None else sample_weight[rows]
        moments = None
        if self.metric == "l2" or self.scaling in ("std", "variance"):
            moments = summarise(X, codes, seen.size, sample_weight)
        if self.metric == "l1":
            unit = None if moments is None else moments.unit
            medians = class_medians(divide(X, unit), codes, seen.size, sample_weight)
            statistics = from_medians(medians)
            statistics.unit = medians.unit if unit is None else unit
        else:
            assert moments is not None
            statistics = from_moments(moments)
        model = scaled_model(self.metric, statistics, self.scaling, moments, log_prior[seen])
        model.groups = self._groups
        if self.covariance is not None:
            _whiten(model, X, codes, self.covariance, sample_weight)
        return model if seen.size == n_classes else spread_over(model, seen, log_prior)

    def _log_prior(self, weight):
        """Logarithms of the priors; classes that were not seen are ignored."""
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


def scaled_model(metric, statistics, scaling, moments, log_prior):
    """The model of some statistics; `moments` are needed for the scales "std" and "variance"."""
    power = 1 if metric == "l1" else 2
    scale, reference = scale_of(statistics, scaling, power, moments)
    gains = scaled_by(statistics.gain, scale, power)
    return CenterModel(metric, statistics, scale, gains, log_prior, reference=reference)


def spread_over(model, seen, log_prior):
    """Extend the model to all classes: those that were not seen are never predicted."""
    statistics = model.statistics
    weight = np.zeros(log_prior.size)
    weight[seen] = statistics.weight
    centers = np.tile(statistics.common, (log_prior.size, 1))
    centers[seen] = statistics.centers
    dispersion = np.zeros_like(centers)
    dispersion[seen] = statistics.dispersion
    model.statistics = replace(statistics, weight=weight, centers=centers, dispersion=dispersion)
    model.log_prior = log_prior
    if model.whitening is not None:
        for name in ("whitened_centers", "whitened_dispersion"):
            full = np.zeros_like(centers)
            full[seen] = getattr(model, name)
            setattr(model, name, full)
    return model


def _whiten(model, X, codes, kind, sample_weight):
    statistics = model.statistics
    whitening = pooled_whitening(
        divide(X, statistics.unit),
        codes,
        statistics.offset,
        statistics.centers,
        model.scale,
        kind,
        sample_weight,
    )
    centers = whitening.apply((statistics.centers - statistics.common) / model.scale)
    model.whitening = whitening
    model.whitened_centers = centers
    model.whitened_dispersion = np.zeros_like(centers)
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    for rows in model.row_chunks(X):
        deviations = model.transform(X[rows]) - centers[codes[rows]]
        squares = deviations**2 * weights[rows, None]
        np.add.at(model.whitened_dispersion, codes[rows], squares)
    model.whitened_dispersion /= statistics.weight[:, None]
    model.gains = (centers**2).sum(axis=0)
