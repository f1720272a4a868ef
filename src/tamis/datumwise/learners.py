"""The learners by name, and the parameters that belong to each."""

from numbers import Integral

import numpy as np

from tamis._base import is_real
from tamis.datumwise.forest_learner import learn_forest_path
from tamis.datumwise.linear import learn_linear_path

DEFAULT_LEARNER = "forest"
# Name -> the function that learns policies for a path of cost weights.
LEARNERS = {"forest": learn_forest_path, "linear": learn_linear_path}
# Values that None stands for; a parameter that is absent here is for other learners.
_DEFAULTS = {
    "linear": {"n_iterations": 10, "n_states": 2000, "mixture": 0.9, "n_candidates": 200},
    "forest": {"n_trees": None, "n_sets": None, "n_candidates": 100},
}
_PARAMETERS = ("n_iterations", "n_states", "mixture", "n_trees", "n_sets", "n_candidates")
_ORDERS = ("free", "fixed")


def check_learner(estimator):
    """Find the function that learns, and the parameters to call it with.

    Returns `learn`; `options`: `order` and the parameters of the learner; those of other learners
    must be None.
    """
    name = estimator.learner
    if not (isinstance(name, str) and name in LEARNERS):
        known = ", ".join(map(repr, LEARNERS))
        raise ValueError(f"learner must be one of {known}, got {name!r}.")
    if not (isinstance(estimator.order, str) and estimator.order in _ORDERS):
        raise ValueError(f"order must be 'free' or 'fixed', got {estimator.order!r}.")
    options = {"order": estimator.order}
    for parameter in _PARAMETERS:
        value = getattr(estimator, parameter)
        if parameter in _DEFAULTS[name]:
            default = _DEFAULTS[name][parameter]
            options[parameter] = default if value is None else _check(parameter, value)
        elif value is not None:
            owners = [other for other, defaults in _DEFAULTS.items() if parameter in defaults]
            raise ValueError(
                f"{parameter}={value!r} is for learner={owners[0]!r}, and learner is {name!r}. "
                f"Omit {parameter}, or use learner={owners[0]!r}."
            )
    return LEARNERS[name], options


def _check(parameter, value):
    if parameter == "mixture":
        if not is_real(value) or not 0 <= value <= 1:
            raise ValueError(
                f"mixture must be a number from 0 to 1, or None for 0.9; got {value!r}."
            )
        return float(value)
    is_count = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not is_count or value < 1:
        raise ValueError(
            f"{parameter} must be an integer >= 1, or None for the default; got {value!r}."
        )
    return int(value)
