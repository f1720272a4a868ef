"""A fitted panel as plain values under public names, and back, with every value checked.

A record holds numbers, strings, lists and dicts only, so it can be written as JSON. The keys of
every record are in `_COMMON`; a linear head adds `coef` (n_classes, n_selected) and `intercept`
(n_classes,), a kernel `center` and `scale` (n_selected,), `landmarks` (n_landmarks, n_selected) in
standardised units, `width` and `coef` (n_landmarks, n_classes). Cross-validation adds the keys in
`_OF_CV`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tamis.panel._fitted import FittedPanel

__all__ = ["VERSION", "make_record", "read_record"]

VERSION = 1
_COMMON = (
    "version",
    "parameters",
    "classes",
    "label_type",
    "n_features_in",
    "feature_names",
    "features",
    "feature_order",
    "importances",
    "means",
    "head",
    "setting",
    "temperature",
)
_OF_HEAD = {
    "lda": ("coef", "intercept"),
    "logistic": ("coef", "intercept"),
    "kernel": ("center", "scale", "landmarks", "width", "coef"),
}
_OF_CV = ("path", "fold_scores", "score", "stability")
_N_VALUES = {"lda": 0, "logistic": 1, "kernel": 2}
_LABEL_TYPES = (
    *("str", "object", "bool", "float32", "float64"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)


def make_record(model: FittedPanel) -> dict[str, Any]:
    """The record of a fitted classifier."""
    state, kind = model._head_state, model.classes_.dtype
    names = vars(model).get("feature_names_in_")
    record: dict[str, Any] = {
        "version": VERSION,
        "parameters": model.get_params(deep=False),
        "classes": model.classes_.tolist(),
        "label_type": "str" if kind.kind == "U" else kind.name,
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else names.tolist(),
        "features": np.flatnonzero(model.support_).tolist(),
        "feature_order": model.feature_order_.tolist(),
        "importances": model._importance.tolist(),
        "means": model._means.tolist(),
        "head": model.head_,
        "setting": state["values"].tolist(),
        "temperature": model.temperature_,
    }
    record |= {name: state[name].tolist() for name in _OF_HEAD[model.head_]}
    if hasattr(model, "path_"):
        record["path"] = {name: column.tolist() for name, column in model.path_.items()}
        record["fold_scores"] = model._fold_scores.tolist()
        record["score"] = model.best_score_
        record["stability"] = model.stability_.tolist()
    return record


def read_record(model: FittedPanel, record: dict[str, Any], with_path: bool) -> None:
    """Set the fitted attributes of `model`, which has the parameters of the record.

    Raises ValueError, with the name of the value, unless training could have produced it.

    Parameters
    ----------
    model : PanelClassifier or PanelClassifierCV
    record : dict
    with_path : bool
        Whether it must hold the results of cross-validation.
    """
    head = record.get("head")
    _require(isinstance(head, str) and head in _OF_HEAD, "head", "one of " + ", ".join(_OF_HEAD))
    expected = {*_COMMON, *_OF_HEAD[str(head)], *(_OF_CV if with_path else ())}
    for name in sorted(expected - set(record)):
        raise ValueError(f"{name} is missing.")
    for name in record:
        _require(name in expected, str(name)[:60], "absent: it does not belong there")
    classes = _labels(record["classes"], record["label_type"])
    order = _indices(record["feature_order"], "feature_order")
    m, C = order.size, classes.size
    _require(type(record["n_features_in"]) is int, "n_features_in", "an integer")
    _require(m == record["n_features_in"] >= 1, "n_features_in", "the length of feature_order")
    _require(np.array_equal(np.sort(order), np.arange(m)), "feature_order", "a permutation")
    features = _indices(record["features"], "features")
    inside = np.all(np.diff(features) > 0) and features.size <= m and np.all(features < m)
    _require(inside, "features", f"ascending indices below {m}")
    k = features.size
    names = record["feature_names"]
    if names is not None:
        known = type(names) is list and all(type(name) is str for name in names)
        _require(known and len(names) == m, "feature_names", f"{m} strings or null")
    state = _head_state(record, head, k, C)
    model.classes_ = classes
    model.n_features_in_ = m
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.support_ = np.zeros(m, dtype=bool)
    model.support_[features] = True
    model.feature_order_ = order
    model.n_features_ = int(k)
    model.head_ = head
    model.temperature_ = _number(record["temperature"], "temperature", positive=True)
    model._head_state = state
    model._importance = _numbers(record["importances"], "importances", (k,))
    model._means = _numbers(record["means"], "means", (k,))
    if with_path:
        _read_path(model, record, m)


def _head_state(record, head, k, C):
    """Arrays of the head, in the order of its fields."""
    if head == "kernel":
        landmarks = _numbers(record["landmarks"], "landmarks", (None, k))
        state = {
            "center": _numbers(record["center"], "center", (k,)),
            "scale": _numbers(record["scale"], "scale", (k,)),
            "landmarks": landmarks,
            "width": np.asarray(_number(record["width"], "width", positive=True)),
            "coef": _numbers(record["coef"], "coef", (landmarks.shape[0], C)),
        }
        _require(np.all(state["scale"] > 0), "scale", "positive")
    else:
        state = {
            "coef": _numbers(record["coef"], "coef", (C, k)),
            "intercept": _numbers(record["intercept"], "intercept", (C,)),
        }
    state["values"] = _numbers(record["setting"], "setting", (_N_VALUES[head],))
    return state


def _read_path(model, record, m):
    path = record["path"]
    is_table = type(path) is dict and {"level", "n_features", "score", "head"} <= set(path)
    _require(is_table, "path", "an object with level, n_features, score and head")
    n_levels = _indices(path["level"], "path.level").size
    _require(n_levels > 0, "path.level", "of one level at least")
    columns = {}
    for name, values in path.items():
        where = f"path.{str(name)[:40]}"
        if name == "head":
            known = type(values) is list and all(type(v) is str and v in _OF_HEAD for v in values)
            _require(known and len(values) == n_levels, where, f"{n_levels} names of heads")
            columns[name] = np.array(values)
        elif name == "level":
            columns[name] = _indices(values, where)
        else:
            columns[name] = _numbers(values, where, (n_levels,), finite=False)
    model.path_ = columns
    model._fold_scores = _numbers(
        record["fold_scores"], "fold_scores", (None, n_levels), finite=False
    )
    model.best_score_ = _number(record["score"], "score", finite=False)
    model.stability_ = _numbers(record["stability"], "stability", (m,))


def _require(condition, name, expected):
    if not condition:
        raise ValueError(f"{name} must be {expected}.")


def _array(value, name, expected):
    _require(type(value) is list, name, expected)
    try:
        return np.asarray(value)
    except (ValueError, OverflowError, RecursionError):
        raise ValueError(f"{name} must be {expected}.") from None


def _numbers(value, name, shape, finite=True) -> NDArray[np.float64]:
    """Nested lists as an array of float64 of a shape, where None is any size."""
    wanted = ", ".join("any" if size is None else str(size) for size in shape)
    expected = f"numbers of shape ({wanted}{',' * (len(shape) == 1)})"
    found = _array(value, name, expected)
    same = found.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
    )
    if found.size == 0 and len(shape) == 2 and shape[1] == 0:
        same = found.ndim == 2 and shape[0] in (None, found.shape[0])
    _require(same and (found.dtype.kind in "iuf" or found.size == 0), name, expected)
    found = np.ascontiguousarray(found, dtype=np.float64)
    _require(not finite or np.isfinite(found).all(), name, "finite")
    return found


def _indices(value, name) -> NDArray[np.int64]:
    found = _array(value, name, "a list of indices")
    _require(found.ndim == 1, name, "a list of indices")
    _require(found.dtype.kind in "iu" or found.size == 0, name, "a list of indices")
    _require(found.size == 0 or 0 <= found.min() <= found.max() < 2**62, name, "indices from 0")
    return found.astype(np.int64)


def _number(value, name, positive=False, finite=True) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(is_number and (not finite or abs(value) < 2**1000), name, "a finite number")
    _require(not positive or value > 0, name, "positive")
    return float(value)


def _labels(values, kind) -> NDArray:
    _require(isinstance(kind, str) and kind in _LABEL_TYPES, "label_type", "a type of labels")
    _require(type(values) is list and len(values) > 1, "classes", "a list of labels")
    kinds = {type(value) for value in values}
    _require(len(kinds) == 1 and kinds <= {str, bool, int, float}, "classes", "of one type")
    wanted = {"str": str, "bool": bool}.get(kind, float if kind.startswith("float") else int)
    _require(kind == "object" or kinds == {wanted}, "classes", f"labels of type {kind}")
    _require(len(set(values)) == len(values), "classes", "different from each other")
    try:
        classes = np.array(values, dtype=kind)
    except OverflowError:
        raise ValueError(f"classes must be labels of type {kind}.") from None
    _require(float not in kinds or bool(np.isfinite(values).all()), "classes", "finite")
    return classes
