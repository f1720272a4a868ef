"""One configuration, trained: scaling, landmarks with their radii, and a classifier on the map.

A model is a plain record (a dict of arrays, numbers, strings and such records), so that it can be
written as JSON. `train_map` and `apply_map` are Alg. 2 of the paper; `train_model`,
`model_decisions` and `model_shares` add the classifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.landmarks.choose import ClassSampler, Sampler
from tamis.landmarks.distances import distances, prepare, region_means, take_rows
from tamis.landmarks.heads import class_weights, decide, shares, train_head
from tamis.landmarks.kernels import apply_kernel, region_radii
from tamis.landmarks.scaling import apply_scaling, fit_scaling


def make_sampler(choice, X, codes, seed, largest):
    """Make the sampler of a configuration or a branch."""
    if choice.per_class:
        return ClassSampler(choice.landmarks, X, choice.distance, seed, largest, codes)
    return Sampler(choice.landmarks, X, choice.distance, seed, largest)


def train_maps(
    configuration,
    sizes: Sequence[int],
    X: Matrix,
    codes: NDArray | None,
    seed: int,
    given: NDArray | None = None,
    scaling: dict | None = None,
) -> Iterator[tuple[dict, NDArray]]:
    """Learn landmark maps that differ only in the number of landmarks.

    The maps share the scaled rows, the order of the landmarks and, if one set of landmarks starts
    with another, their distances.

    `X` (n_samples, n_features). `codes` (n_samples,), or None: classes; needed for landmarks per
    class. `given`: given landmarks: rows (n_landmarks, n_features) in the units of X, or indices
    of rows of X. None: drawn by the sampler. `scaling`: the scaling, learned from X; None: it is
    learned here. Yields `Z` (n_samples, n_landmarks).
    """
    c = configuration
    scaling = fit_scaling(c.scaling, X) if scaling is None else scaling
    X = apply_scaling(scaling, X)
    P = prepare(X, c.distance)
    sampler: Any = None
    if given is None:
        sampler = make_sampler(c, X, codes, seed, max(sizes))
    elif given.ndim == 2:
        given = apply_scaling(scaling, given)
    for size in sizes:
        if given is None:
            points, rows, D = sampler.draw(size, c.kind)
        else:
            points, rows, D = _take_given(given[:size], X, P, c)
        if D is None:
            D = distances(P, points, c.distance)
        sigma, _ = region_radii(D)
        record = {
            "scaling": scaling,
            "points": points,
            "rows": D.argmin(axis=0) if rows is None else rows,
            "sigma": sigma,
            "distance": c.distance,
            "kernel": c.kernel,
        }
        yield record, apply_kernel(c.kernel, D, sigma)


def _take_given(given, X, P, c):
    """Given landmarks, in the form that `Sampler.draw` returns."""
    points, rows = (take_rows(X, given), given) if given.ndim == 1 else (given, None)
    if c.kind == "centroids":
        nearest = distances(P, points, c.distance).argmin(axis=1)
        points, rows = region_means(P, nearest, points), None
    return points, rows, None


def train_map(configuration, X, codes, seed, given=None, scaling=None):
    """Learn one landmark map: a record and the map of the training rows; see `train_maps`."""
    sizes = [configuration.n_landmarks]
    return next(train_maps(configuration, sizes, X, codes, seed, given, scaling))


def landmark_distances(
    record: dict, X: Matrix, prepared: PreparedRows | None = None
) -> NDArray[np.float64]:
    """Distances of rows to the landmarks of a map; `prepared` holds the prepared rows."""
    P = PreparedRows(X).get(record) if prepared is None else prepared.get(record)
    return distances(P, record["points"], record["distance"])


def apply_map(
    record: dict, X: Matrix, prepared: PreparedRows | None = None
) -> NDArray[np.float64]:
    """Map of rows, (n_samples, n_landmarks)."""
    return apply_kernel(record["kernel"], landmark_distances(record, X, prepared), record["sigma"])


def train_model(configuration, X, codes, n_classes, seed, class_weight, given=None, scaling=None):
    """Learn a landmark map and its classifier; see `train_map` and `train_head`.

    Returns `model`: with "map" and "head".
    """
    record, Z = train_map(configuration, X, codes, seed, given, scaling)
    weights = class_weights(class_weight, codes, n_classes)
    return {"map": record, "head": train_head(configuration, Z, codes, weights)}


def train_models(configuration, sizes, X, codes, n_classes, seed, class_weight, given=None):
    """Train models that differ only in the number of landmarks, one after the other."""
    weights = class_weights(class_weight, codes, n_classes)
    for record, Z in train_maps(configuration, sizes, X, codes, seed, given):
        yield {"map": record, "head": train_head(configuration, Z, codes, weights)}


def model_decisions(
    model: dict, X: Matrix, prepared: PreparedRows | None = None
) -> NDArray[np.float64]:
    """Decisions of all classes, (n_samples, n_classes)."""
    return decide(model["head"], apply_map(model["map"], X, prepared))


def model_shares(
    model: dict, X: Matrix, prepared: PreparedRows | None = None
) -> NDArray[np.float64]:
    """Probabilities of all classes, (n_samples, n_classes)."""
    return shares(model["head"], model_decisions(model, X, prepared))


class PreparedRows:
    """New rows, scaled and prepared once for all models of one ensemble or path.

    `X` (n_samples, n_features).
    """

    def __init__(self, X: Matrix) -> None:
        self.X = X
        self._known: dict[tuple, Matrix] = {}

    def get(self, record: dict) -> Matrix:
        """Prepared rows for a map."""
        learned = record["scaling"].values()
        key = (record["distance"], *(np.asarray(value).tobytes() for value in learned))
        if key not in self._known:
            scaled = apply_scaling(record["scaling"], self.X)
            self._known[key] = prepare(scaled, record["distance"])
        return self._known[key]
