"""Make a configuration from an estimator's parameters, with errors that say what to do."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from tamis._array import is_sparse
from tamis._base import require_unmasked
from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.distances import DISTANCES
from tamis.landmarks.kernels import KERNELS
from tamis.landmarks.neighbors import METRICS, MOST_NEIGHBORS, WEIGHTS
from tamis.landmarks.space import (
    BELONG,
    CLASSIFIERS,
    KINDS,
    SCALINGS,
    SPARSE_SCALINGS,
    Configuration,
    is_count,
    is_positive,
)

_N_LANDMARKS = 16
_N_NEIGHBORS = 5
# Squares of larger numbers overflow, those of smaller ones vanish.
_LARGEST, _SMALLEST = 1e150, 1e-150


def make_configuration(estimator, X):
    """Make the configuration from an estimator's parameters, and check given landmarks, if any.

    `X`: training rows; given landmarks must match their columns.
    """
    parameters = estimator.get_params(deep=False)
    given = None
    if isinstance(parameters["landmarks"], str):
        check_name("landmarks", parameters["landmarks"], SAMPLERS)
    else:
        given = check_landmarks(parameters["landmarks"], X)
    sampled_by = None if given is not None else parameters["landmarks"]
    kind = find_kind(sampled_by, parameters["kind"])
    check_name("kind", kind, KINDS)
    check_name("distance", parameters["distance"], DISTANCES)
    check_name("kernel", parameters["kernel"], KERNELS)
    check_name("scaling", parameters["scaling"], SCALINGS)
    check_name("per_class", parameters["per_class"], (False, True))
    if is_sparse(X) and parameters["scaling"] not in SPARSE_SCALINGS:
        raise ValueError(
            f"scaling={parameters['scaling']!r} would make sparse X dense. Use None or 'standard' "
            "(which then does not center), or pass X.toarray()."
        )
    if sampled_by == "kmeans" and kind == "centers":
        raise ValueError(
            "landmarks='kmeans' gives centroids, which are not rows of X: kind='centers' is "
            "unavailable. Use kind='centroids', or landmarks='fft', 'density' or 'random'."
        )
    if sampled_by == "kmeans" and parameters["distance"] == "angle":
        raise ValueError(
            "landmarks='kmeans' requires distance='euclidean', got 'angle'. Use "
            "landmarks='fft', 'density' or 'random' with angles."
        )
    if given is not None and parameters["per_class"]:
        raise ValueError(
            "per_class=True draws landmarks per class, but landmarks were given. Use "
            "per_class=False."
        )
    return Configuration(
        scaling=parameters["scaling"],
        landmarks=sampled_by,
        per_class=bool(parameters["per_class"]),
        n_landmarks=_count_landmarks(parameters["n_landmarks"], given),
        kind=kind,
        distance=parameters["distance"],
        kernel=parameters["kernel"],
        **_head_parameters(parameters),
    ), given


def find_kind(landmarks, kind):
    """The kind of landmarks; by default, centroids for k-means and centers for all others."""
    if kind is not None:
        return kind
    return "centroids" if isinstance(landmarks, str) and landmarks == "kmeans" else "centers"


def _count_landmarks(n_landmarks, given):
    if given is not None:
        if n_landmarks not in (None, given.shape[0]):
            raise ValueError(
                f"n_landmarks={n_landmarks!r}, but {given.shape[0]} landmarks were given. "
                "Omit n_landmarks."
            )
        return int(given.shape[0])
    if n_landmarks is None:
        return _N_LANDMARKS
    if not is_count(n_landmarks):
        raise ValueError(
            f"n_landmarks must be an integer >= 1, or None for {_N_LANDMARKS}; got "
            f"{n_landmarks!r}."
        )
    return int(n_landmarks)


def _head_parameters(parameters):
    """Parameters of the classifier; those of other classifiers must be None."""
    if "classifier" not in parameters:
        return {"classifier": None}
    classifier = parameters["classifier"]
    check_name("classifier", classifier, CLASSIFIERS)
    for name, owners in BELONG.items():
        if parameters[name] is not None and classifier not in owners:
            raise ValueError(
                f"{name}={parameters[name]!r} is for classifier={owners[0]!r}, and classifier is "
                f"{classifier!r}. Omit {name}, or use classifier={owners[0]!r}."
            )
    if classifier in BELONG["regularization"]:
        strength = parameters["regularization"]
        if strength is not None and not is_positive(strength):
            raise ValueError(
                "regularization must be a number > 0, or None for the best by leave-one-out; "
                f"got {strength!r}."
            )
        return {"classifier": classifier, "regularization": strength}
    if classifier == "nb":
        return {"classifier": classifier}
    k = _N_NEIGHBORS if parameters["n_neighbors"] is None else parameters["n_neighbors"]
    weights = "uniform" if parameters["weights"] is None else parameters["weights"]
    metric = "euclidean" if parameters["metric"] is None else parameters["metric"]
    if not is_count(k) or k > MOST_NEIGHBORS:
        raise ValueError(f"n_neighbors must be an integer from 1 to {MOST_NEIGHBORS}, got {k!r}.")
    check_name("weights", weights, WEIGHTS)
    check_name("metric", metric, METRICS)
    return {"classifier": "knn", "n_neighbors": int(k), "weights": weights, "metric": metric}


def check_name(name, value, known):
    """Raise unless `value` is one of `known`."""
    same_type = [k for k in known if type(k) is type(value) or isinstance(value, np.bool_)]
    if value not in same_type:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")


def check_landmarks(landmarks, X):
    """Check given landmarks: an array of rows, or indices of rows of X."""
    if not is_sparse(landmarks):
        try:
            landmarks = np.asarray(require_unmasked(landmarks, "landmarks"))
        except ValueError as error:
            raise ValueError(f"landmarks must be a regular array ({error}).") from error
    elif landmarks.ndim == 2:
        landmarks = landmarks.toarray()  # few rows, and centroids are dense
    if landmarks.ndim == 1 and landmarks.dtype.kind in "iu" and landmarks.size:
        n = X.shape[0]
        if landmarks.min() < 0 or landmarks.max() >= n:
            raise ValueError(
                f"landmarks are indices of rows, 0 to {n - 1}; got some from {landmarks.min()} "
                f"to {landmarks.max()}."
            )
        return landmarks.astype(np.int64)
    if landmarks.ndim != 2 or landmarks.dtype.kind not in "fiub":
        raise ValueError(
            f"landmarks must be one of {', '.join(map(repr, SAMPLERS))}, a list of row indices "
            "(integers) or an array with one landmark per row; got "
            + (
                f"an array of shape {landmarks.shape} and type {landmarks.dtype}."
                if landmarks.ndim
                else f"{landmarks[()]!r}."
            )
        )
    if landmarks.shape[1] != X.shape[1]:
        raise ValueError(f"landmarks have {landmarks.shape[1]} features, but X has {X.shape[1]}.")
    landmarks = check_array(landmarks, dtype=np.float64, input_name="landmarks")
    check_size(landmarks, "landmarks")
    return landmarks


def check_size(X, name, smallest=0.0):
    """Raise if squares of the entries overflow, or if all of them vanish."""
    values = X.data if is_sparse(X) else X
    largest = np.abs(values).max(initial=0.0)
    if largest > _LARGEST or 0 < largest < smallest:
        raise ValueError(
            f"{name} goes up to {largest:.3g} in size, and squares of such numbers "
            f"{'overflow' if largest > 1 else 'vanish'}. Multiply X by a constant."
        )


def as_rows(X, is_new=False):
    """Checked X as the kernels need it: C order, or canonical CSR.

    New rows may be arbitrarily small: compared with the training rows they are zeros.
    """
    check_size(X, "X", 0.0 if is_new else _SMALLEST)
    if not is_sparse(X):
        return np.require(X, requirements="CW")  # kernels are compiled for writable arrays
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    X = sparse.csr_array(X)
    X.data = np.require(X.data, requirements="CW")
    return X
