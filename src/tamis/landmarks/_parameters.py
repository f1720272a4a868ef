"""From an estimator's parameters to a configuration, with errors that say what to do."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from tamis._base import require_unmasked
from tamis.landmarks.distances import DISTANCES
from tamis.landmarks.kernels import KERNELS
from tamis.landmarks.neighbors import METRICS, MOST_NEIGHBORS, WEIGHTS
from tamis.landmarks.references import SAMPLERS
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

__all__ = [
    "as_rows",
    "check_name",
    "make_configuration",
]

_N_REFERENCES = 16
_N_NEIGHBORS = 5
# Squares of larger numbers overflow, those of smaller ones vanish.
_LARGEST, _SMALLEST = 1e150, 1e-150


def make_configuration(estimator, X):
    """The configuration that an estimator's parameters name, and the references given, if any.

    Parameters
    ----------
    estimator : LandmarkTransformer or LandmarkClassifier
    X : ndarray or CSR array
        Training rows: user's references must fit them.

    Returns
    -------
    configuration : Configuration
    given : ndarray or None
    """
    parameters = estimator.get_params(deep=False)
    given = None
    if isinstance(parameters["references"], str):
        check_name("references", parameters["references"], SAMPLERS)
    else:
        given = check_references(parameters["references"], X)
    kind = parameters["kind"]
    sampled_by = None if given is not None else parameters["references"]
    if kind is None:
        kind = "centroids" if sampled_by == "kmeans" else "centers"
    check_name("kind", kind, KINDS)
    check_name("distance", parameters["distance"], DISTANCES)
    check_name("kernel", parameters["kernel"], KERNELS)
    check_name("scaling", parameters["scaling"], SCALINGS)
    check_name("per_class", parameters["per_class"], (False, True))
    if sparse.issparse(X) and parameters["scaling"] not in SPARSE_SCALINGS:
        raise ValueError(
            f"scaling={parameters['scaling']!r} would make sparse X dense. Use None or 'standard' "
            "(which then does not center), or pass X.toarray()."
        )
    if sampled_by == "kmeans" and kind == "centers":
        raise ValueError(
            "references='kmeans' gives centroids, which are no rows of X: kind='centers' cannot "
            "be had. Use kind='centroids', or references='fft', 'density' or 'random'."
        )
    if sampled_by == "kmeans" and parameters["distance"] == "angle":
        raise ValueError(
            "references='kmeans' goes with distance='euclidean' only, got 'angle'. Use "
            "references='fft', 'density' or 'random' with angles."
        )
    if given is not None and parameters["per_class"]:
        raise ValueError(
            "per_class=True shares out references that are drawn; yours are given. Use "
            "per_class=False."
        )
    return Configuration(
        scaling=parameters["scaling"],
        references=sampled_by,
        per_class=bool(parameters["per_class"]),
        n_references=_count_references(parameters["n_references"], given),
        kind=kind,
        distance=parameters["distance"],
        kernel=parameters["kernel"],
        **_head_parameters(parameters),
    ), given


def _count_references(n_references, given):
    if given is not None:
        if n_references not in (None, given.shape[0]):
            raise ValueError(
                f"n_references={n_references!r}, but {given.shape[0]} references were given. "
                "Leave n_references out."
            )
        return int(given.shape[0])
    if n_references is None:
        return _N_REFERENCES
    if not is_count(n_references):
        raise ValueError(
            f"n_references must be an integer >= 1, or None for {_N_REFERENCES}; got "
            f"{n_references!r}."
        )
    return int(n_references)


def _head_parameters(parameters):
    """Parameters of the classifier; those of other classifiers must be left out."""
    if "classifier" not in parameters:
        return {"classifier": None}
    classifier = parameters["classifier"]
    check_name("classifier", classifier, CLASSIFIERS)
    for name, owners in BELONG.items():
        if parameters[name] is not None and classifier not in owners:
            raise ValueError(
                f"{name}={parameters[name]!r} is for classifier={owners[0]!r}, and classifier is "
                f"{classifier!r}. Leave {name} out, or use classifier={owners[0]!r}."
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


def check_references(references, X):
    """The user's references: an array of rows, or indices of rows of X."""
    if not sparse.issparse(references):
        try:
            references = np.asarray(require_unmasked(references, "references"))
        except ValueError as error:
            raise ValueError(f"references must be a regular array ({error}).") from error
    elif references.ndim == 2:
        references = references.toarray()  # few rows, and centroids are dense
    if references.ndim == 1 and references.dtype.kind in "iu" and references.size:
        n = X.shape[0]
        if references.min() < 0 or references.max() >= n:
            raise ValueError(
                f"references are indices of rows, 0 to {n - 1}; got some from {references.min()} "
                f"to {references.max()}."
            )
        return references.astype(np.int64)
    if references.ndim != 2 or references.dtype.kind not in "fiub":
        raise ValueError(
            f"references must be one of {', '.join(map(repr, SAMPLERS))}, a list of row indices "
            "(integers) or an array with one reference a row; got "
            + (
                f"an array of shape {references.shape} and type {references.dtype}."
                if references.ndim
                else f"{references[()]!r}."
            )
        )
    if references.shape[1] != X.shape[1]:
        raise ValueError(
            f"references have {references.shape[1]} features, but X has {X.shape[1]}."
        )
    references = check_array(references, dtype=np.float64, input_name="references")
    check_size(references, "references")
    return references


def check_size(X, name, smallest=0.0):
    """Raise where squares of the entries overflow or, all of them, vanish."""
    values = X.data if sparse.issparse(X) else X
    largest = np.abs(values).max(initial=0.0)
    if largest > _LARGEST or 0 < largest < smallest:
        raise ValueError(
            f"{name} goes up to {largest:.3g} in size, and squares of such numbers "
            f"{'overflow' if largest > 1 else 'vanish'}. Multiply X by a constant."
        )


def as_rows(X, is_new=False):
    """Checked X as the kernels want it: C order, or canonical CSR.

    New rows may be as small as they like: they are zeros beside the training rows.
    """
    check_size(X, "X", 0.0 if is_new else _SMALLEST)
    if not sparse.issparse(X):
        return np.require(X, requirements="CW")  # kernels are compiled for arrays to write on
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    X = sparse.csr_array(X)
    X.data = np.require(X.data, requirements="CW")
    return X
