r"""Probabilities of a model, fitted to the rows of another site.

.. math:: q_c \propto \exp(\beta \log p_c + b_c)

with one slope :math:`\beta = 1 / T` and one intercept per class, of largest likelihood. A weak
normal prior (:math:`\beta` around 1 with variance 1, :math:`b` around 0 with variance 10) keeps
both finite for few rows, and for classes that no row has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import StratifiedKFold

from tamis._base import softmax
from tamis.tables.classifying.table_model import Recalibration, TableModel
from tamis.tables.errors import InputError

_VARIANCES = 1.0, 10.0
_SLOPES = 1e-3, 1e3
_FLOOR = 1e-12
_N_FOLDS = 5


def fit_recalibration(probabilities: NDArray, codes: NDArray) -> Recalibration:
    """The slope and intercepts of largest likelihood.

    `probabilities` (n_rows, n_classes), `codes` (n_rows,).
    """
    logs = np.log(np.maximum(probabilities, _FLOOR))
    n, C = logs.shape
    truth = codes[:, None] == np.arange(C)

    def loss(values):
        slope, intercept = values[0], values[1:]
        shares = softmax(slope * logs + intercept)
        total = -np.log(np.maximum(shares[truth], 1e-300)).sum()
        total += 0.5 * ((slope - 1) ** 2 / _VARIANCES[0] + intercept @ intercept / _VARIANCES[1])
        difference = shares - truth
        gradient = np.append((difference * logs).sum(), difference.sum(axis=0))
        gradient += np.append((slope - 1) / _VARIANCES[0], intercept / _VARIANCES[1])
        return total / n, gradient / n

    bounds = [_SLOPES, *[(None, None)] * C]
    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-10}
    start = np.append(1.0, np.zeros(C))
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    return Recalibration(float(1 / found[0]), found[1:] - found[1:].mean())


def cross_fit(probabilities: NDArray, codes: NDArray, seed: int) -> NDArray[np.float64]:
    """Recalibrated probabilities of each row, fitted to the other folds of the rows."""
    n_folds = min(_N_FOLDS, int(np.bincount(codes)[np.unique(codes)].min()))
    if n_folds < 2:
        return fit_recalibration(probabilities, codes).apply(probabilities)
    fitted = np.empty_like(probabilities)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(probabilities, codes):
        one = fit_recalibration(probabilities[train], codes[train])
        fitted[test] = one.apply(probabilities[test])
    return fitted


def recalibrate(
    model: TableModel, probabilities: NDArray, codes: NDArray, about: dict[str, Any]
) -> TableModel:
    """The model with probabilities fitted to new rows.

    It has no prediction sets: its calibration set guarantees nothing at another site.

    `probabilities` (n_rows, n_classes). `codes` (n_rows,). `about`: scores before and after, kept
    in ``model.scores["recalibration"]`` beside the others.
    """
    counts = np.bincount(codes, minlength=probabilities.shape[1])
    if np.count_nonzero(counts) < 2:
        raise InputError("--recalibrate needs rows of two classes at least.")
    shares = (counts + 0.5) / (counts + 0.5).sum()
    return replace(
        model,
        recalibration=fit_recalibration(probabilities, codes),
        calibration=None,
        priors=shares,
        frequencies=shares,
        scores={**model.scores, "recalibration": about},
    )


def log_loss(probabilities: NDArray, codes: NDArray) -> float:
    """Mean negative log probability of the true classes."""
    true = probabilities[np.arange(codes.size), codes]
    return float(-np.log(np.maximum(true, _FLOOR)).mean())
