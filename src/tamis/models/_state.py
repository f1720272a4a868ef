"""Convert an estimator to its parameters and fitted attributes, and back.

Only attributes that a class is known to have are written, and only those are read.
"""

import warnings

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.models import (
    _check_centers,
    _check_datumwise,
    _check_landmarks,
    _check_panel,
    _check_primal_dual,
    _check_selectors,
)
from tamis.models._checking import integer, is_plain, labels, names, record, require
from tamis.models._encoding import SPLITTERS, Unwritable, splitter_options
from tamis.models._registry import ESTIMATORS, class_named, is_estimator
from tamis.tables.errors import InputError

__all__ = ["build", "check", "describe"]

# Class -> attributes it must have, attributes it may have, and the function that checks them.
_STATES = {
    "DatumWiseClassifier": (
        _check_datumwise.ATTRIBUTES,
        (),
        _check_datumwise.check_datumwise,
    ),
    "DatumWiseClassifierCV": (
        _check_datumwise.ATTRIBUTES_CV,
        (),
        _check_datumwise.check_datumwise,
    ),
    "LandmarkClassifier": (
        _check_landmarks.CLASSIFIER_ATTRIBUTES,
        (),
        _check_landmarks.check_classifier,
    ),
    "LandmarkSearchCV": (
        _check_landmarks.SEARCH_ATTRIBUTES,
        _check_landmarks.SEARCH_OPTIONAL,
        _check_landmarks.check_search,
    ),
    "LandmarkTransformer": (
        _check_landmarks.TRANSFORMER_ATTRIBUTES,
        (),
        _check_landmarks.check_transformer,
    ),
    "OddsRatioSelector": (_check_selectors.ODDS_RATIO, (), _check_selectors.check_selector),
    "PanelClassifier": (_check_panel.ATTRIBUTES, (), _check_panel.check_panel),
    "PanelClassifierCV": (_check_panel.ATTRIBUTES_CV, (), _check_panel.check_panel),
    "PrimalDualClassifier": (
        _check_primal_dual.ATTRIBUTES,
        _check_primal_dual.OPTIONAL,
        _check_primal_dual.check_primal_dual,
    ),
    "PrimalDualClassifierCV": (
        _check_primal_dual.ATTRIBUTES_CV,
        _check_primal_dual.OPTIONAL_CV,
        _check_primal_dual.check_primal_dual,
    ),
    "SparseCenterClassifier": (
        _check_centers.ATTRIBUTES,
        _check_centers.OPTIONAL,
        _check_centers.check_centers,
    ),
    "SparseCenterClassifierCV": (
        _check_centers.ATTRIBUTES_CV,
        _check_centers.OPTIONAL_CV,
        _check_centers.check_centers,
    ),
    "SparseNaiveBayesSelector": (
        _check_selectors.NAIVE_BAYES,
        (),
        _check_selectors.check_selector,
    ),
}
_CONFIGURED = "_sklearn_output_config"  # what set_output was called with
# Attributes of scikit-learn that concern the session, not the model.
_PASSING = ("_metadata_request", "_skl_callbacks", "_callback", "_parent_callback")


def describe(estimator, as_json=True):
    """Parameters and state of a fitted estimator, two dicts; the state has small values first.

    Parameters that cannot be written, such as functions, are left at their default, with a
    warning: nothing that was learned depends on them.
    """
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if not _is_writable(value, as_json):
            default = _default_of(type(estimator), name)
            warnings.warn(
                f"{name}={value!r:.60} of {type(estimator).__name__} cannot be written to a model "
                f"file and is left at {default!r}. Predictions do not depend on it.",
                UserWarning,
                stacklevel=4,
            )
            parameters[name] = default
    state = {
        name: value
        for name, value in vars(estimator).items()
        if name not in parameters and not name.startswith(_PASSING)
    }
    if as_json and hasattr(estimator, "to_record"):
        record = estimator.to_record()
        record.pop("parameters")
        return parameters, record | {k: v for k, v in state.items() if k == _CONFIGURED}
    first = ("n_features_in_", "feature_names_in_", "classes_", "support_")
    order = [name for name in first if name in state]
    order += sorted((name for name in state if name not in first), key=lambda n: _weight(state[n]))
    return parameters, {name: state[name] for name in order}


def check(estimator):
    """Raise unless an estimator is in a state that training could produce."""
    if not is_estimator(estimator):
        raise InputError(f"a {type(estimator).__name__} is not a tamis model")
    attributes, known = vars(estimator), set(type(estimator)._get_param_names())
    parameters = {name: value for name, value in attributes.items() if name in known}
    state = {
        name: value
        for name, value in attributes.items()
        if name not in known and not name.startswith(_PASSING)
    }
    _check_parameters(estimator, parameters)
    _check_state(type(estimator).__name__, state)


def build(name, parameters, state):
    """Make an estimator from the name, parameters and state in a file, all checked."""
    cls = class_named(name, ESTIMATORS)
    require(type(parameters) is dict, "parameters", "an object")
    require(type(state) is dict, "state", "an object")
    unknown = [key for key in parameters if key not in cls._get_param_names()]
    if unknown:
        raise InputError(f"a {name} has no parameter {str(unknown[0])[:60]!r}")
    if hasattr(cls, "from_record"):
        return _build_from_record(cls, parameters, state)
    _check_state(name, state)
    estimator = cls(**parameters)
    vars(estimator).update(state)
    _check_parameters(estimator, parameters)
    return estimator


def _build_from_record(cls, parameters, state):
    """An estimator whose class reads and checks its own record."""
    record = {key: value for key, value in state.items() if key != _CONFIGURED}
    require("parameters" not in record, "state", "without parameters")
    try:
        estimator = cls.from_record(record | {"parameters": parameters})
    except (ValueError, TypeError) as error:
        raise InputError(f"its {' '.join(str(error).split())[:200].rstrip('.')}") from error
    if _CONFIGURED in state:
        vars(estimator)[_CONFIGURED] = state[_CONFIGURED]
    check(estimator)
    return estimator


def require_fitted(estimator):
    """Raise unless an estimator was fitted."""
    try:
        check_is_fitted(estimator)
    except ValueError as error:
        raise InputError(
            f"this {type(estimator).__name__} is not fitted yet: call fit before saving it."
        ) from error


def _is_writable(value, as_json):
    """Whether a parameter is a plain value, or a splitter with plain parameters."""
    if type(value).__name__ in SPLITTERS:
        if not as_json:
            return is_plain(vars(value))
        try:
            splitter_options(value)
        except Unwritable:
            return False
        return True
    return is_plain(value)


def _default_of(cls, name):
    import inspect

    default = inspect.signature(cls).parameters[name].default
    return None if default is inspect.Parameter.empty else default


def _weight(value):
    """Number of numbers in a value."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return sum(map(_weight, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_weight, value))
    if hasattr(value, "__dataclass_fields__"):
        return sum(_weight(getattr(value, name)) for name in value.__dataclass_fields__)
    return 1


def _check_state(name, state):
    needed, optional, check_family = _STATES[name]
    is_transformer = name == "LandmarkTransformer"
    first = ("n_features_in_",) if is_transformer else ("n_features_in_", "classes_")
    record(state, "state", (*first, *needed), ("feature_names_in_", _CONFIGURED, *optional))
    m = integer(state["n_features_in_"], "n_features_in_", 1)
    C = 0 if is_transformer else labels(state["classes_"], "classes_").size
    if "feature_names_in_" in state:
        names(state["feature_names_in_"], "feature_names_in_", m)
    if _CONFIGURED in state:
        chosen = record(state[_CONFIGURED], _CONFIGURED, (), ("transform",))
        known = (None, "default", "pandas", "polars")
        require(chosen.get("transform") in known, _CONFIGURED, f"one of {known}")
    check_family(state, m, C)


def _check_parameters(estimator, parameters):
    """Raise unless parameters have types and values that `fit` accepts."""
    for name, value in parameters.items():
        is_other = type(value).__name__ in SPLITTERS or _is_random_state(name, value)
        require(is_plain(value) or is_other or callable(value), name, "a plain value")
    try:
        if hasattr(estimator, "_check_parameters"):
            estimator._check_parameters()
    except (ValueError, TypeError) as error:
        raise InputError(" ".join(str(error).split())[:200]) from error


def _is_random_state(name, value):
    return name == "random_state" and isinstance(
        value, np.random.RandomState | np.random.Generator
    )
