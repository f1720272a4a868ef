"""The configuration space: Table 1 of the paper, and how configurations are drawn from it.

A `Configuration` is one choice of everything; its fields are parameters of `LandmarkClassifier`.
Not all combinations are different:

- k-means requires the Euclidean distance and centroids;
- naive Bayes has no neighbours; neighbours have no regularization;
- the weighting has no effect with one neighbour.

`simplify` gives each combination a unique form. Table 1 has 13 choices of landmarks (fft, density
and random with 2 distances and 2 kinds, k-means with one of each), 5 sizes, 4 kernels and 17
classifiers, 4,420 configurations; with one neighbour counted once there are 3,900.
"""

from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from numbers import Integral, Real

import numpy as np

from tamis.landmarks.choose import SAMPLERS
from tamis.landmarks.distances import DISTANCES
from tamis.landmarks.kernels import KERNELS
from tamis.landmarks.neighbors import METRICS, MOST_NEIGHBORS, WEIGHTS

CLASSIFIERS = ("nb", "knn", "ridge", "lda")
# Parameters that apply only to some classifiers.
BELONG = {
    "n_neighbors": ("knn",),
    "weights": ("knn",),
    "metric": ("knn",),
    "regularization": ("ridge", "lda"),
}
KINDS = ("centers", "centroids")
SCALINGS = (None, "standard", "minmax", "quantile", "yeo-johnson")
SPARSE_SCALINGS = (None, "standard")

PAPER = {
    "scaling": (None,),
    "landmarks": SAMPLERS,
    "per_class": (False,),
    "n_landmarks": (4, 8, 16, 32, 64),
    "kind": KINDS,
    "distance": DISTANCES,
    "kernel": KERNELS,
    "classifier": ("nb", "knn"),
    "n_neighbors": (1, 5, 11, 21),
    "weights": WEIGHTS,
    "metric": METRICS,
    "regularization": (None,),
}
# Best on held-out parts of the training rows of five data sets: scaled features, more landmarks,
# and linear classifiers as two of three.
EXTENDED = {
    **PAPER,
    "scaling": SCALINGS[1:],
    "per_class": (False, True),
    "n_landmarks": (128, 256, 512),
    "classifier": ("knn", "ridge", "lda"),
}
_KNOWN = {
    "scaling": SCALINGS,
    "landmarks": SAMPLERS,
    "per_class": (False, True),
    "kind": KINDS,
    "distance": DISTANCES,
    "kernel": KERNELS,
    "classifier": CLASSIFIERS,
    "weights": WEIGHTS,
    "metric": METRICS,
}


@dataclass(frozen=True)
class Configuration:
    """One choice of every parameter; None if a parameter does not apply."""

    scaling: str | None = None
    landmarks: str = "fft"
    per_class: bool = False
    n_landmarks: int = 16
    kind: str = "centers"
    distance: str = "euclidean"
    kernel: str = "cauchy"
    classifier: str = "nb"
    n_neighbors: int | None = None
    weights: str | None = None
    metric: str | None = None
    regularization: float | None = None

    def as_dict(self):
        """The parameters by name, for `LandmarkClassifier`."""
        return asdict(self)


PARAMETERS = tuple(field.name for field in fields(Configuration))


def simplify(configuration):
    """The same configuration, with parameters that do not apply set to one value."""
    changes = {}
    if configuration.landmarks == "kmeans":
        changes |= {"distance": "euclidean", "kind": "centroids"}
    if configuration.classifier != "knn":
        changes |= {"n_neighbors": None, "weights": None, "metric": None}
    elif configuration.n_neighbors == 1:
        changes["weights"] = "uniform"
    if configuration.classifier not in BELONG["regularization"]:
        changes["regularization"] = None
    return replace(configuration, **changes)


def check_space(space, is_sparse):
    """The lists of values that `space` names, for dense or sparse data.

    `is_sparse`: "extended" is restricted to the scalings that keep sparse data sparse.
    """
    if isinstance(space, str) and space in ("paper", "extended"):
        values = dict(PAPER if space == "paper" else EXTENDED)
        if is_sparse:
            values["scaling"] = (None,) if space == "paper" else SPARSE_SCALINGS
        return values
    if not isinstance(space, dict):
        raise ValueError(
            "space must be 'paper', 'extended' or a dict with lists of values for some of "
            f"{', '.join(PARAMETERS)}; got {space!r}."
        )
    values = dict(PAPER)
    for name, choices in space.items():
        if name not in values:
            raise ValueError(
                f"space has no parameter {name!r}: there are {', '.join(PARAMETERS)}."
            )
        if isinstance(choices, str) or not np.iterable(choices) or len(list(choices)) == 0:
            raise ValueError(f"space[{name!r}] must be a list of values, got {choices!r}.")
        choices = tuple(choices)
        for value in choices:
            _check_value(name, value, is_sparse)
        values[name] = choices
    for name, owners in BELONG.items():
        if name in space and not set(owners) & set(values["classifier"]):
            raise ValueError(
                f"space has {name}, which is for classifier {owners[0]!r}, and its classifiers "
                f"are {', '.join(map(repr, values['classifier']))}. Omit {name}, or add "
                f"{owners[0]!r}."
            )
    if "centroids" not in values["kind"] or "euclidean" not in values["distance"]:
        if "kmeans" in space.get("landmarks", ()):
            raise ValueError(
                "space has landmarks='kmeans', which needs kind='centroids' and "
                "distance='euclidean'. Add them, or omit 'kmeans'."
            )
        values["landmarks"] = tuple(r for r in values["landmarks"] if r != "kmeans")
    return values


def _check_value(name, value, is_sparse):
    known = _KNOWN.get(name)
    if known is not None:
        if not any(value is k or (type(value) is type(k) and value == k) for k in known):
            raise ValueError(
                f"space[{name!r}] has {value!r}; known are {', '.join(map(repr, known))}."
            )
    elif name in ("n_landmarks", "n_neighbors"):
        if not is_count(value) or (name == "n_neighbors" and value > MOST_NEIGHBORS):
            most = f" up to {MOST_NEIGHBORS}" if name == "n_neighbors" else ""
            raise ValueError(f"space[{name!r}] must be integers >= 1{most}, got {value!r}.")
    elif value is not None and not is_positive(value):
        raise ValueError(f"space[{name!r}] must be positive numbers, got {value!r}.")
    if name == "scaling" and is_sparse and value not in SPARSE_SCALINGS:
        raise ValueError(
            f"scaling={value!r} would make sparse X dense. Use None or 'standard' (which then "
            "does not center), or pass X.toarray()."
        )


def is_count(value):
    """Whether `value` is an integer of at least 1."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and value >= 1


def is_positive(value):
    """Whether `value` is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < value < np.inf


def list_configurations(values):
    """Every distinct configuration of a space, in the order of its lists."""
    names = list(PARAMETERS)
    distinct = {}
    for choice in product(*(values[name] for name in names)):
        distinct.setdefault(simplify(Configuration(**dict(zip(names, choice, strict=True)))))
    return list(distinct)


def draw_configurations(values, n_configurations, random_state):
    """Draw distinct configurations, each parameter separately.

    Drawing parameters instead of configurations makes naive Bayes as likely as neighbours,
    although there are sixteen times as many configurations with neighbours. More draws of the same
    seed start with the same configurations.
    """
    distinct = {}
    n_idle = 0
    while len(distinct) < n_configurations:
        choice = {
            name: values[name][random_state.randint(len(values[name]))] for name in PARAMETERS
        }
        before = len(distinct)
        distinct.setdefault(simplify(Configuration(**choice)))
        n_idle = n_idle + 1 if len(distinct) == before else 0
        if n_idle > 200 and len(distinct) < n_configurations:
            # Nearly all are drawn: add the rest in the order of the lists.
            for configuration in list_configurations(values):
                distinct.setdefault(configuration)
            return list(distinct)[:n_configurations]
    return list(distinct)
