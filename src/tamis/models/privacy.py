"""What a model file reveals about the training rows."""

from collections.abc import Iterable
from typing import Any
from warnings import WarningMessage

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamis.tables.classifying.table_model import TableModel


class PrivacyWarning(UserWarning):
    """A model file contains rows of the training data."""


def privacy_sentences(caught: Iterable[WarningMessage]) -> list[str]:
    """Sentences of the privacy warnings among some that were caught, each once."""
    own = [str(one.message) for one in caught if issubclass(one.category, PrivacyWarning)]
    return list(dict.fromkeys(own))


def holds_training_rows(model: TableModel | BaseEstimator) -> str | None:
    """Describe which training rows a model contains; None if it contains none.

    Landmarks are rows of the data, unless they are centroids of more than one row; nearest
    neighbours need all training rows, as distances to the landmarks, with their classes. The
    kernel of a panel contains the selected features of up to 200 training rows. Centers,
    weights, trees (random thresholds and class shares) and linear scores contain no rows; but the
    mean of a class with a single row is that row.

    Parameters
    ----------
    model : estimator or TableModel
        Fitted.

    Returns
    -------
    sentence : str or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LandmarkClassifier, SparseCenterClassifier
    >>> from tamis.models import holds_training_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> holds_training_rows(SparseCenterClassifier(2).fit(X, y))
    >>> holds_training_rows(LandmarkClassifier("fft", 4, random_state=0).fit(X, y))
    'The model contains 4 training rows, its landmarks: anyone with the file can read them.'
    """
    if hasattr(model, "models_"):
        said = [holds_training_rows(inner) for inner in model.models_]
        return next(filter(None, said), None)
    model = getattr(model, "estimator", model)
    if hasattr(model, "models_"):
        return holds_training_rows(model)
    if hasattr(model, "class_count_"):
        return _single_rows(model)
    if hasattr(model, "_head_state"):
        return _kernel_rows(model._head_state)
    if hasattr(model, "members_"):
        parts = [
            (one["model"]["map"], one["model"]["head"], one["configuration"]["kind"])
            for one in model.members_
        ]
    elif hasattr(model, "model_"):
        parts = [(model.model_["map"], model.model_["head"], _kind_of(model))]
    elif hasattr(model, "_map"):
        parts = [(model._map, {}, _kind_of(model))]
    else:
        return None
    return _landmark_rows(parts)


def _kind_of(model):
    if model.kind is not None:
        return model.kind
    by_means = isinstance(model.landmarks, str) and model.landmarks == "kmeans"
    return "centroids" if by_means else "centers"


def landmark_rows(landmarks: dict[str, Any], kind: str) -> NDArray[np.intp]:
    """The training rows among the landmarks of a model; the others are means of several rows."""
    # A region of zero size is one row, or copies of it: its centroid is that row.
    return landmarks["rows"] if kind == "centers" else landmarks["rows"][landmarks["sigma"] == 0]


def _landmark_rows(parts):
    rows, n_mapped = set(), 0
    for landmarks, head, kind in parts:
        rows.update(landmark_rows(landmarks, kind).tolist())
        if head.get("classifier") == "knn":
            n_mapped = max(n_mapped, head["codes"].size)
    said = []
    if rows:
        said.append(f"{len(rows)} training row{'s' * (len(rows) > 1)}, its landmarks")
    if n_mapped:
        said.append(
            f"the distances of all {n_mapped} training rows to its landmarks, with their classes"
        )
    if not said:
        return None
    return f"The model contains {', and '.join(said)}: anyone with the file can read them."


def _kernel_rows(head):
    if "landmarks" not in head:
        return None
    n = len(head["landmarks"])
    return (
        f"The model contains the selected features of {n} training row{'s' * (n > 1)}, the "
        "landmarks of its kernel: anyone with the file can read them."
    )


def _single_rows(model):
    single = np.flatnonzero(model.class_count_ == 1)
    if not single.size:
        return None
    label = model.classes_.tolist()[single[0]]
    return (
        f"The class {label!r} has a single training row, and the model contains it as the "
        "class centroid: anyone with the file can read it."
    )
