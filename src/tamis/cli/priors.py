"""Class frequencies from the command line: `--priors ill=0.1,well=0.9`."""

import math

import numpy as np

from tamis.tables.errors import InputError

__all__ = ["read_priors"]

_TOLERANCE = 1e-6


def read_priors(text, classes):
    """Read the frequencies of the classes, in their order.

    Parameters
    ----------
    text : str or None
        One name and number per class; the numbers sum to 1.
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    priors : ndarray of shape (n_classes,) or None
    """
    if text is None:
        return None
    labels = [str(label) for label in classes.tolist()]
    given = {}
    for label, value in _pairs(text):
        if label not in labels:
            raise InputError(f"--priors: no class {label!r}; the classes are {_some(labels)}.")
        if label in given:
            raise InputError(f"--priors names the class {label!r} twice.")
        try:
            given[label] = float(value)
        except ValueError:
            given[label] = math.nan
        if not 0 < given[label] < math.inf:
            raise InputError(f"--priors {label}={value}: expected a number above 0.")
    absent = [label for label in labels if label not in given]
    if absent:
        raise InputError(f"--priors must name every class; missing: {_some(absent)}.")
    total = math.fsum(given.values())
    if abs(total - 1) > _TOLERANCE:
        raise InputError(f"--priors must sum to 1; they sum to {total:.7g}.")
    return np.array([given[label] for label in labels]) / total


def _pairs(text):
    """Split into names and numbers; a name may contain commas and equals signs."""
    name = ""
    for piece in text.split(","):
        name += piece
        label, equals, value = name.rpartition("=")
        if equals:
            yield label.strip(), value.strip()
            name = ""
        else:
            name += ","
    if name:
        raise InputError(f"--priors {text}: expected CLASS=FREQUENCY, separated by commas.")


def _some(labels):
    return ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
