"""Fitted estimators as records: `to_record` and `from_record`.

A record has plain values under public names: see `tamis._base.records`. What all estimators have
is here; each family writes and reads what it learned.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._base.plain_values import write_value
from tamis._base.records import Record

__all__ = ["RECORD_VERSION", "RecordMixin", "check_version"]

RECORD_VERSION = 1
_LABEL_TYPES = (
    *("str", "object", "bool", "float32", "float64"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)
_CONFIGURED = "_sklearn_output_config"  # what set_output was called with


def write_labels(classes: NDArray) -> dict[str, Any]:
    """Labels, with their type."""
    kind = classes.dtype
    name = "str" if kind.kind == "U" else kind.name
    values = classes.tolist()
    if name not in _LABEL_TYPES or {type(value) for value in values} - {str, bool, int, float}:
        raise ValueError(
            f"labels of type {kind} cannot be written to a record; make them strings with "
            "y.astype(str)."
        )
    return {"classes": values, "label_type": name}


def read_labels(record: Record) -> NDArray:
    """The labels of a record."""
    values, kind = record.take("classes"), record.choice("label_type", _LABEL_TYPES)
    record.require(type(values) is list and values, "classes", "a list of labels")
    kinds = {type(value) for value in values}
    record.require(len(kinds) == 1 and kinds <= {str, bool, int, float}, "classes", "of one type")
    wanted = {"str": str, "bool": bool}.get(kind, float if kind.startswith("float") else int)
    expected = f"labels of type {kind}"
    record.require(kind == "object" or kinds == {wanted}, "classes", expected)
    record.require(len(set(values)) == len(values), "classes", "different from each other")
    record.require(float not in kinds or all(map(math.isfinite, values)), "classes", "finite")
    try:
        classes = np.array(values, dtype=kind)
    except OverflowError:
        record.require(False, "classes", expected)
    return classes


class RecordMixin:
    """Adds `to_record` and `from_record` to an estimator that describes what it learned.

    A family defines `_write_record`, which returns a dict of plain values, and `_read_record`,
    which takes a `Record`, checks its values and sets the fitted attributes.
    """

    _write_record: Callable[..., dict[str, Any]]
    _read_record: Callable[..., None]
    _is_without_classes = False
    _unwritten: tuple[str, ...] = ()  # parameters that `_read_record` sets
    classes_: NDArray
    n_features_in_: int
    feature_names_in_: NDArray

    def to_record(self) -> dict[str, Any]:
        """The fitted estimator as numbers, strings, lists and dicts under public names.

        Returns
        -------
        record : dict
            With its `version`. Parameters that cannot be written, such as functions, have their
            default, with a warning: nothing that was learned depends on them.
        """
        check_is_fitted(self)
        names = vars(self).get("feature_names_in_")
        record: dict[str, Any] = {"version": RECORD_VERSION}
        if "classes_" in vars(self):
            record |= write_labels(self.classes_)
        record["n_features_in"] = int(self.n_features_in_)
        record["feature_names"] = None if names is None else names.tolist()
        record |= self._write_record()
        record["parameters"] = _write_parameters(self)
        if _CONFIGURED in vars(self):
            record["set_output"] = dict(vars(self)[_CONFIGURED])
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The estimator that `to_record` described; its predictions have the same bits.

        Parameters
        ----------
        record : dict

        Returns
        -------
        estimator : object
            ValueError is raised, with the name of the value, if training could not have produced
            a value.
        """
        if not isinstance(record, Mapping):
            raise ValueError(f"A record must be a dict, got {type(record).__name__}.")
        taken = Record(record)
        check_version(taken)
        estimator = cls(**_read_parameters(cls, taken))
        if hasattr(estimator, "_check_parameters"):
            try:
                estimator._check_parameters()
            except TypeError as error:
                raise ValueError(str(error)) from None
        estimator.n_features_in_ = taken.integer("n_features_in", 1)
        if "classes" in taken or not cls._is_without_classes:
            estimator.classes_ = read_labels(taken)
        names = taken.take("feature_names")
        if names is not None:
            n = estimator.n_features_in_
            known = type(names) is list and all(type(name) is str for name in names)
            taken.require(known and len(names) == n, "feature_names", f"{n} strings or null")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        if "set_output" in taken:
            chosen = taken.part("set_output")
            known = (None, "default", "pandas", "polars")
            vars(estimator)[_CONFIGURED] = {"transform": chosen.choice("transform", known)}
            chosen.finish()
        estimator._read_record(taken)
        taken.finish()
        return estimator


def check_version(record: Record) -> None:
    """Raise unless this version of tamis reads the record."""
    version = record.take("version")
    record.require(type(version) is int and version >= 1, "version", "an integer >= 1")
    expected = (
        f"at most {RECORD_VERSION}: this record is of a newer tamis; pip install -U tamis reads it"
    )
    record.require(version <= RECORD_VERSION, "version", expected)


def _write_parameters(estimator):
    written = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in estimator._unwritten:
            continue
        try:
            written[name] = write_value(value)
        except (TypeError, RecursionError):
            default = inspect.signature(type(estimator)).parameters[name].default
            default = None if default is inspect.Parameter.empty else default
            warnings.warn(
                f"{name}={value!r:.60} of {type(estimator).__name__} cannot be written to a model "
                f"file and is left at {default!r}. Predictions do not depend on it.",
                UserWarning,
                stacklevel=4,
            )
            written[name] = write_value(default)
    return written


def _read_parameters(cls, record):
    given = record.take("parameters")
    known = cls._get_param_names()
    is_known = type(given) is dict and all(name in known for name in given)
    record.require(is_known, "parameters", f"those of a {cls.__name__}")
    parameters = Record(given, "parameters.")
    return {name: parameters.value(name) for name in given}
