"""Exact Euclidean projections on the balls of the structured norms: arrays in, arrays out.

Each function leaves its input unchanged, returns an array of the same shape and float type, and
moves a point outside the ball to the sphere, to within rounding.
"""

from tamis.projections.l1 import project_l1_ball
from tamis.projections.l12 import project_l12_ball
from tamis.projections.l21 import project_l21_ball
from tamis.projections.nuclear import project_nuclear_ball
from tamis.projections.simplex import project_simplex
from tamis.projections.weighted_l1 import project_weighted_l1_ball

__all__ = [
    "project_l1_ball",
    "project_l12_ball",
    "project_l21_ball",
    "project_nuclear_ball",
    "project_simplex",
    "project_weighted_l1_ball",
]
