r"""Linear classifiers on the map, with everything in closed form.

**Ridge regression of the classes.**

.. math:: \min_{B, b} \frac{\sum_i w_i \|y_i - b - B^T z_i\|^2}{\sum_i w_i} + \lambda \|B\|^2

where :math:`y_i` is the indicator of the class of row i, :math:`w_i` the weight of its class and
:math:`z_i` its map with standardised columns. One eigendecomposition of the columns' covariance
gives the solution for every :math:`\lambda` and what it would predict for each row if that row
had been left out,

.. math:: \hat y_i^{(-i)} = \frac{\hat y_i - h_i y_i}{1 - h_i}, \qquad
   h_i = \frac{w_i}{\sum w} \Big( 1 + \sum_j \frac{t_{ij}^2}{e_j + \lambda} \Big),

with rotated rows :math:`t_i` and eigenvalues :math:`e_j`. If :math:`\lambda` is not given, the
best of a grid by these predictions is used, and they calibrate the probabilities: the softmax of
the predictions divided by a temperature.

**Discriminant analysis** is the same regression, then normal distributions with one covariance S
for the predictions :math:`\hat y^{(-i)}` of the classes (penalised discriminant analysis [1]_):

.. math:: \delta_c(z) = \hat y(z)^T S^{-1} m_c - \tfrac12 m_c^T S^{-1} m_c + \log \pi_c.

This also predicts classes that lie between others, which regression would mask. Lambda maximises
the likelihood of the left-out rows.

References
----------
.. [1] Hastie, Buja and Tibshirani, "Penalized discriminant analysis", Annals of Statistics 1995.
"""

import numpy as np

from tamis._base import softmax
from tamis.paths.temperature import fit_temperature

_LAMBDAS = np.logspace(-6, 1, 15)
# Share of the mean variance that is added to each prediction's: they sum to 1, so S is singular.
_SHRINKAGE = 1e-3


class Regression:
    """Ridge regressions of the classes on a map, for all strengths.

    `Z` (n_samples, n_landmarks), `codes` (n_samples,), `weights` (n_classes,).
    """

    def __init__(self, Z, codes, weights):
        w = weights[codes]
        self.w = w = w / w.sum()
        self.shift, scale = w @ Z, Z.std(axis=0)
        self.scale = np.where(scale > 1e-12 * np.abs(self.shift), scale, 1.0)
        T = (Z - self.shift) / self.scale
        self.Y = (codes[:, None] == np.arange(weights.size)).astype(np.float64)
        self.mean = w @ self.Y
        values, self.vectors = np.linalg.eigh(T.T @ (w[:, None] * T))
        self.values = np.maximum(values, 0.0)
        self.T = T @ self.vectors
        self.target = self.T.T @ (w[:, None] * (self.Y - self.mean))
        self.squares = self.T * self.T

    def left_out(self, strength):
        """Predictions for each row from the other rows, (n_samples, n_classes)."""
        shrunk = 1.0 / (self.values + strength)
        fitted = self.mean + self.T @ (shrunk[:, None] * self.target)
        leverage = np.minimum(self.w * (1.0 + self.squares @ shrunk), 1.0 - 1e-9)[:, None]
        return (fitted - leverage * self.Y) / (1.0 - leverage)

    def solution(self, strength):
        """Coefficients (n_landmarks, n_classes) and intercepts."""
        coefficients = self.vectors @ (self.target / (self.values + strength)[:, None])
        coefficients = coefficients / self.scale[:, None]
        return coefficients, self.mean - self.shift @ coefficients


def train_ridge(Z, codes, weights, regularization):
    """Coefficients for the classes, as a dict of arrays.

    `Z` (n_samples, n_landmarks). `codes` (n_samples,). `weights` (n_classes,). `regularization`:
    Lambda; None: the best by leave-one-out predictions.
    """
    regression = Regression(Z, codes, weights)
    best = None
    for strength in _LAMBDAS if regularization is None else [regularization]:
        left_out = regression.left_out(strength)
        loss = regression.w @ ((left_out - regression.Y) ** 2).sum(axis=1)
        if best is None or loss < best[0]:
            best = loss, strength, left_out
    _, strength, left_out = best
    return _as_record(*regression.solution(strength), strength, left_out, codes, regression)


def train_discriminant(Z, codes, weights, regularization):
    """Coefficients for the classes, as a dict of arrays; parameters as in `train_ridge`."""
    regression = Regression(Z, codes, weights)
    rows = np.arange(codes.size)
    best = None
    for strength in _LAMBDAS if regularization is None else [regularization]:
        left_out = regression.left_out(strength)
        rotation, base = _discriminate(left_out, regression)
        decisions = left_out @ rotation + base
        with np.errstate(divide="ignore"):
            loss = -regression.w @ np.log(softmax(decisions)[rows, codes])
        if best is None or loss < best[0]:
            best = loss, strength, decisions, rotation, base
    _, strength, decisions, rotation, base = best
    coefficients, intercepts = regression.solution(strength)
    return _as_record(
        coefficients @ rotation,
        intercepts @ rotation + base,
        strength,
        decisions,
        codes,
        regression,
    )


def _discriminate(F, regression):
    """Discriminant functions of predictions F, as a matrix and one constant per class."""
    Y, w, prior = regression.Y, regression.w, regression.mean
    present = prior > 0
    means = np.zeros((prior.size, prior.size))
    means[present] = (Y.T @ F)[present] / Y.sum(axis=0)[present, None]
    residuals = F - Y @ means
    S = residuals.T @ (w[:, None] * residuals)
    S[np.diag_indices_from(S)] += max(_SHRINKAGE * np.trace(S) / prior.size, 1e-12)
    rotation = np.linalg.solve(S, means.T)
    with np.errstate(divide="ignore"):
        return rotation, np.log(prior) - 0.5 * np.einsum("cj,jc->c", means, rotation)


def _as_record(coefficients, intercepts, strength, decisions, codes, regression):
    absent = regression.mean == 0
    return {
        "coefficients": coefficients,
        "intercepts": np.where(absent, -np.inf, intercepts),
        "lambda": float(strength),
        "temperature": fit_temperature(np.where(absent, -np.inf, decisions), codes, regression.w),
    }


def linear_decisions(model, Z):
    """Decisions divided by the temperature, (n_samples, n_classes)."""
    return (Z @ model["coefficients"] + model["intercepts"]) / model["temperature"]
