r"""Ridge regression of the classes on the map, with everything in closed form.

.. math:: \min_{B, b} \frac{\sum_i w_i \|y_i - b - B^T z_i\|^2}{\sum_i w_i} + \lambda \|B\|^2

where :math:`y_i` is the indicator of the class of row i, :math:`w_i` the weight of its class and
:math:`z_i` its map with standardised columns. One eigendecomposition of the columns' covariance
gives the solution for every :math:`\lambda` and what it would predict for each row if that row
had been left out,

.. math:: \hat y_i^{(-i)} = \frac{\hat y_i - h_i y_i}{1 - h_i}, \qquad
   h_i = \frac{w_i}{\sum w} \Big( 1 + \sum_j \frac{t_{ij}^2}{e_j + \lambda} \Big),

with rotated rows :math:`t_i` and eigenvalues :math:`e_j`. The best :math:`\lambda` of a grid by
these predictions is taken where none is given, and they calibrate the probabilities: the softmax
of the predictions divided by a temperature.
"""

import numpy as np

from tamis._selection import fit_temperature

__all__ = ["ridge_decisions", "train_ridge"]

_LAMBDAS = np.logspace(-6, 1, 15)


def train_ridge(Z, codes, weights, regularization):
    """Coefficients for the classes, as a dict of arrays.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_references)
        Map of the training rows.
    codes : ndarray of int of shape (n_samples,)
        Their classes.
    weights : ndarray of shape (n_classes,)
        Class weights.
    regularization : float or None
        Lambda; None: the best by leave-one-out predictions.
    """
    w = weights[codes]
    w = w / w.sum()
    shift, scale = w @ Z, Z.std(axis=0)
    scale = np.where(scale > 1e-12 * np.abs(shift), scale, 1.0)
    T = (Z - shift) / scale
    Y = (codes[:, None] == np.arange(weights.size)).astype(np.float64)
    mean = w @ Y
    values, vectors = np.linalg.eigh(T.T @ (w[:, None] * T))
    values = np.maximum(values, 0.0)
    T = T @ vectors
    target = T.T @ (w[:, None] * (Y - mean))
    squares = T * T
    best = None
    lambdas = _LAMBDAS if regularization is None else [regularization]
    for strength in lambdas:
        shrunk = 1.0 / (values + strength)
        fitted = mean + T @ (shrunk[:, None] * target)
        own = np.minimum(w * (1.0 + squares @ shrunk), 1.0 - 1e-9)[:, None]
        left_out = (fitted - own * Y) / (1.0 - own)
        loss = w @ ((left_out - Y) ** 2).sum(axis=1)
        if best is None or loss < best[0]:
            best = loss, strength, left_out
    _, strength, left_out = best
    coefficients = vectors @ (target / (values + strength)[:, None]) / scale[:, None]
    absent = np.bincount(codes, minlength=weights.size) == 0
    return {
        "coefficients": coefficients,
        "intercepts": np.where(absent, -np.inf, mean - shift @ coefficients),
        "lambda": float(strength),
        "temperature": fit_temperature(left_out, codes, w),
    }


def ridge_decisions(model, Z):
    """Predicted indicators divided by the temperature, (n_samples, n_classes)."""
    return (Z @ model["coefficients"] + model["intercepts"]) / model["temperature"]
