"""One configuration, trained: scaling, landmarks with their radii, and a classifier on the map.

A model is a plain record (a dict of arrays, numbers, strings and such records), so that it can be
written as JSON. `train_map` and `apply_map` are Alg. 2 of the paper; `train_model`,
`model_decisions` and `model_shares` add the classifier.
"""

from tamis.landmarks.choose import ClassSampler, Sampler
from tamis.landmarks.distances import distances, prepare, region_means, take_rows
from tamis.landmarks.heads import class_weights, decide, shares, train_head
from tamis.landmarks.kernels import apply_kernel, region_radii
from tamis.landmarks.scaling import apply_scaling, fit_scaling

__all__ = [
    "apply_map",
    "landmark_distances",
    "make_sampler",
    "model_decisions",
    "model_shares",
    "train_map",
    "train_model",
]


def make_sampler(choice, X, codes, seed, largest):
    """The sampler that a configuration or a branch of them names."""
    if choice.per_class:
        return ClassSampler(choice.landmarks, X, choice.distance, seed, largest, codes)
    return Sampler(choice.landmarks, X, choice.distance, seed, largest)


def train_map(configuration, X, codes, seed, given=None, scaling=None):
    """Learn a landmark map.

    Parameters
    ----------
    configuration : Configuration
    X : ndarray or CSR array of shape (n_samples, n_features)
    codes : ndarray of int of shape (n_samples,), or None
        Classes; needed for landmarks per class.
    seed : int
        Seed of the sampler.
    given : ndarray, or None
        Landmarks of the user: rows (n_landmarks, n_features) in the units of X, or indices of
        rows of X. None: the sampler's.
    scaling : dict or None
        What the scaling learns from X, where it is known already.

    Returns
    -------
    record : dict
    Z : ndarray of shape (n_samples, n_landmarks)
        Map of the training rows.
    """
    c = configuration
    scaling = fit_scaling(c.scaling, X) if scaling is None else scaling
    X = apply_scaling(scaling, X)
    P = prepare(X, c.distance)
    D = rows = None
    if given is None:
        sampler = make_sampler(c, X, codes, seed, c.n_landmarks)
        points, rows, D = sampler.draw(c.n_landmarks, c.kind)
    else:
        if given.ndim == 1:
            points, rows = take_rows(X, given), given
        else:
            points = apply_scaling(scaling, given)
        if c.kind == "centroids":
            nearest = distances(P, points, c.distance).argmin(axis=1)
            points, rows = region_means(P, nearest, points), None
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
    return record, apply_kernel(c.kernel, D, sigma)


def landmark_distances(record, X):
    """Distances of rows to the landmarks of a map."""
    P = prepare(apply_scaling(record["scaling"], X), record["distance"])
    return distances(P, record["points"], record["distance"])


def apply_map(record, X):
    """Map of rows, (n_samples, n_landmarks)."""
    return apply_kernel(record["kernel"], landmark_distances(record, X), record["sigma"])


def train_model(configuration, X, codes, n_classes, seed, class_weight, given=None, scaling=None):
    """Learn a landmark map and its classifier; see `train_map` and `train_head`.

    Returns
    -------
    model : dict
        With "map" and "head".
    """
    record, Z = train_map(configuration, X, codes, seed, given, scaling)
    weights = class_weights(class_weight, codes, n_classes)
    return {"map": record, "head": train_head(configuration, Z, codes, weights)}


def model_decisions(model, X):
    """Decisions of all classes, (n_samples, n_classes)."""
    return decide(model["head"], apply_map(model["map"], X))


def model_shares(model, X):
    """Probabilities of all classes, (n_samples, n_classes)."""
    return shares(model["head"], model_decisions(model, X))
