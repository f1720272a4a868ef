r"""Primal-dual: a projection in a structured ball and adaptive centers, with a certificate.

Barlaud, Chambolle and Caillau, "Classification and feature selection using a primal-dual method
and projection on structured constraints" (arXiv 1902.01600). X (m x d) holds the standardized
samples, Y (m x k) the indicator of their classes, s (m) their weights; the unknowns are W (d x k)
and the centers :math:`\mu` (k x k):

.. math:: \min_{W, \mu} \sum_{ij} s_i h((Y\mu - XW)_{ij}) + \tfrac{\rho}{2}\|I - \mu\|_F^2
          \quad\text{with}\quad \|W\| \le \eta.

h is the absolute value, Huber's function or half the square (`losses`); the norm is l1, l2,1, l1,2
or nuclear (`balls`). Every dual point Z gives a lower bound of the optimum (`problem`), so the gap
is known for any algorithm.

The idea that makes it fast: the certificate needs one product X'Z, so everything else may be done
on few rows of W (`solver`). On these, Newton steps or an interior-point method reach the optimum
to the last digits, however correlated the features are; first-order methods do the rest.

In the l1 ball with a smooth loss, the default, these steps are one compiled loop (`_descent`).

Data flow: `training` (weights, standardization) -> `problem` -> `solver` or `paper` -> `radii`
(one after the other) -> `records` (fitted attributes), `head` (a linear classifier of the selected
features) -> `path`, `classifier`, `classifier_cv` -> `prediction`.
"""

from tamis.primal_dual.classifier import PrimalDualClassifier
from tamis.primal_dual.classifier_cv import PrimalDualClassifierCV
from tamis.primal_dual.path import PrimalDualPath

__all__ = ["PrimalDualClassifier", "PrimalDualClassifierCV", "PrimalDualPath"]
