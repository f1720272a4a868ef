"""Train a `CenterModel` for one metric, scaling and covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.centers.covariance import pooled_whitening
from tamis.centers.medians import class_medians
from tamis.centers.model import CenterModel
from tamis.centers.ranking import from_medians, from_moments, scale_of, scaled_by
from tamis.centers.statistics import ClassMoments, summarise
from tamis.centers.units import divide, in_common_units

__all__ = ["train", "train_from_moments"]


def train(
    X: Matrix,
    codes: NDArray,
    n_classes: int,
    *,
    metric: str,
    scaling: str | None,
    covariance: str | None,
    log_prior: Callable[[NDArray], NDArray],
    sample_weight: NDArray | None = None,
) -> CenterModel:
    """Statistics, scales and gains of the data: everything except the choice of k.

    `log_prior` is a function of the class weights. Classes without weight are ignored.
    """
    if metric == "l2" and covariance is None:
        moments = summarise(X, codes, n_classes, sample_weight)
        return train_from_moments(moments, scaling=scaling, log_prior=log_prior)
    weight = np.bincount(codes, weights=sample_weight, minlength=n_classes).astype(np.float64)
    seen = np.flatnonzero(weight > 0)
    if seen.size < n_classes:
        rows = np.flatnonzero(weight[codes] > 0)
        X, codes = X[rows], np.searchsorted(seen, codes[rows])
        sample_weight = None if sample_weight is None else sample_weight[rows]
    moments = None
    if metric == "l2" or scaling in ("std", "variance"):
        moments = summarise(X, codes, seen.size, sample_weight)
    if metric == "l1":
        unit = None if moments is None else moments.unit
        medians = class_medians(divide(X, unit), codes, seen.size, sample_weight)
        statistics = from_medians(medians)
        statistics.unit = medians.unit if unit is None else unit
    else:
        assert moments is not None
        statistics = from_moments(moments)
    model = _scaled_model(metric, statistics, scaling, moments, log_prior(weight)[seen])
    if covariance is not None:
        _whiten(model, X, codes, covariance, sample_weight)
    return model if seen.size == n_classes else _spread_over(model, seen, log_prior(weight))


def train_from_moments(
    moments: ClassMoments, *, scaling: str | None, log_prior: Callable[[NDArray], NDArray]
) -> CenterModel:
    """Train the l2 model from class moments; classes without weight are ignored."""
    seen = np.flatnonzero(moments.weight > 0)
    present = moments if seen.size == moments.weight.size else moments.take(seen)
    log_priors = log_prior(moments.weight)
    model = _scaled_model("l2", from_moments(present), scaling, present, log_priors[seen])
    if seen.size == moments.weight.size:
        return model
    return _spread_over(model, seen, log_priors)


def _scaled_model(metric, statistics, scaling, moments, log_prior):
    power = 1 if metric == "l1" else 2
    scale = scale_of(statistics, scaling, power, moments)
    scale, reference = in_common_units(scale, scaling, power, statistics)
    gains = scaled_by(statistics.gain, scale, power)
    return CenterModel(metric, statistics, scale, gains, log_prior, reference=reference)


def _spread_over(model, seen, log_prior):
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
