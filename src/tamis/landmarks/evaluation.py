"""Out-of-fold predictions of many configurations, as a tree of shared work.

::

    branch (scaling, landmarks, per_class, distance) and fold: one task
      order of the rows, distances of the largest size       shared by all sizes (fft, random)
        kind, n_landmarks: landmarks, regions, radii
          distances to the landmarks                         shared by the kernels
            kernel: map                                       shared by the classifiers
              naive Bayes: closed form
              neighbours, metric: the longest list            shared by all k and both weightings

Each task depends on its arguments alone, so that results do not depend on how many run at a time.
The result equals the evaluation of one configuration at a time (`tests/oracles/landmarks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.distances import distances, prepare
from tamis.landmarks.heads import class_weights, decide, shares, train_head
from tamis.landmarks.kernels import apply_kernel, region_radii
from tamis.landmarks.model import make_sampler
from tamis.landmarks.neighbors import nearest_rows
from tamis.landmarks.scaling import apply_scaling, fit_scaling
from tamis.landmarks.votes import vote_shares


@dataclass(frozen=True)
class Branch:
    """Configurations that share scaling, sampler and distance, and their places in the list."""

    scaling: str | None
    landmarks: str
    per_class: bool
    distance: str
    configurations: tuple
    places: tuple

    def __str__(self):
        parts = [self.landmarks, self.distance]
        parts += ["per class"] if self.per_class else []
        parts += [self.scaling] if self.scaling else []
        return ", ".join(parts)


def list_branches(configurations: list) -> list[Branch]:
    """The branches of a list of configurations."""
    groups: dict[tuple[str | None, str, bool, str], list[int]] = {}
    for place, c in enumerate(configurations):
        key = (c.scaling, c.landmarks, c.per_class, c.distance)
        groups.setdefault(key, []).append(place)
    return [
        Branch(*key, tuple(configurations[p] for p in places), tuple(places))
        for key, places in groups.items()
    ]


class FoldData(NamedTuple):
    """The data of one fold of a search, for all branches."""

    X: Any  # (n_samples, n_features): all rows
    codes: NDArray  # (n_samples,)
    n_classes: int
    # train, test: rows of the fold.
    train: NDArray
    test: NDArray
    seeds: NDArray  # (4,): seed of each sampler, in the order of `SAMPLERS`
    class_weight: Any  # (n_classes,)
    device: str | None = None  # where neighbours are searched, by a name of torch


def evaluate_branch(
    branch: Branch, fold: FoldData, soft: bool = False, scaling: dict | None = None
) -> tuple[NDArray, NDArray | None]:
    """Predict the test rows with each configuration of a branch, trained on the other rows.

    `soft`: whether probabilities are returned as well. `scaling`: the branch's scaling, learned
    from the training rows; None: it is learned here. Returns `labels` (n_configurations, n_test);
    `probabilities` (n_configurations, n_test, n_classes), or None.
    """
    X, codes, n_classes, train, test, seeds, class_weight, device = fold
    X_train, X_test, y = X[train], X[test], codes[train]
    if scaling is None:
        scaling = fit_scaling(branch.scaling, X_train)
    X_train, X_test = apply_scaling(scaling, X_train), apply_scaling(scaling, X_test)
    weights = class_weights(class_weight, y, n_classes)
    n_configurations = len(branch.configurations)
    labels = np.empty((n_configurations, test.size), dtype=np.int16)
    probabilities = None
    if soft:
        probabilities = np.empty((n_configurations, test.size, n_classes), dtype=np.float32)

    P_train, P_test = prepare(X_train, branch.distance), prepare(X_test, branch.distance)
    largest = max(c.n_landmarks for c in branch.configurations)
    seed = seeds[SAMPLERS.index(branch.landmarks)]
    sampler = make_sampler(branch, X_train, y, seed, largest)
    for (n_landmarks, kind), same_landmarks in _grouped(
        branch.configurations, lambda c: (c.n_landmarks, c.kind)
    ):
        points, _, D_train = sampler.draw(n_landmarks, kind)
        if D_train is None:
            D_train = distances(P_train, points, branch.distance)
        D_test = distances(P_test, points, branch.distance)
        sigma, _ = region_radii(D_train)
        for (kernel,), same_map in _grouped(same_landmarks, lambda c: (c.kernel,)):
            Z_train = apply_kernel(kernel, D_train, sigma)
            Z_test = apply_kernel(kernel, D_test, sigma)
            outcomes = _classify(Z_train, Z_test, y, weights, same_map, soft, device)
            for place, predicted, share in outcomes:
                labels[place] = predicted
                if probabilities is not None:
                    probabilities[place] = share
    return labels, probabilities


def _grouped(placed, key):
    """Groups of (place, configuration) pairs, or of a plain list of configurations."""
    pairs = [p if isinstance(p, tuple) else (i, p) for i, p in enumerate(placed)]
    order = {}
    for pair in pairs:
        order.setdefault(key(pair[1]), []).append(pair)
    return list(order.items())


def _classify(Z_train, Z_test, y, weights, placed, soft, device):
    """Yield place, labels and probabilities of each configuration on one map."""
    for (classifier,), group in _grouped(placed, lambda c: (c.classifier,)):
        if classifier != "knn":
            for place, c in group:
                head = train_head(c, Z_train, y, weights)
                decisions = decide(head, Z_test)
                share = shares(head, decisions) if soft else None
                yield place, decisions.argmax(axis=1), share
            continue
        most = min(max(c.n_neighbors for _, c in group), y.size)
        neighbors = nearest_rows(Z_test, Z_train, most, {c.metric for _, c in group}, device)
        for (metric, weighting), alike in _grouped(group, lambda c: (c.metric, c.weights)):
            alike = sorted(alike, key=lambda pair: pair[1].n_neighbors)
            by_distance = weighting == "distance"
            ks = np.array([min(c.n_neighbors, y.size) for _, c in alike])
            votes = vote_shares(*neighbors[metric], y, weights, ks, by_distance)
            for (place, _), share in zip(alike, votes, strict=True):
                yield place, share.argmax(axis=1), share


def balanced_errors(labels: NDArray, truth: NDArray, importance: NDArray) -> NDArray[np.float64]:
    """One minus the mean recall of the classes, for each row of `labels`.

    `labels` (n_configurations, n_samples), `truth` (n_samples,), `importance` (n_classes,).
    Returns `errors` (n_configurations,).
    """
    present = np.unique(truth)
    recalls = [(labels[:, truth == c] == c).mean(axis=1) for c in present]
    return 1.0 - np.average(recalls, axis=0, weights=importance[present])
