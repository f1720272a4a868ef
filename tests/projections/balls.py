"""Every projection with its set, its oracle and its norm, all seen as functions of a matrix."""

from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any

import numpy as np

from tamis import projections
from tests.oracles import projections as oracles

EPSILON = {np.float32: 1.2e-7, np.float64: 2.3e-16}


def prices(V):
    """Weights that depend on the shape only."""
    return 0.25 + np.arange(np.size(V)).reshape(np.shape(V)) % 7


def l1_norm(V):
    return fsum(np.abs(V).ravel().tolist())


def weighted_l1_norm(V):
    return fsum((prices(V) * np.abs(V.astype(float))).ravel().tolist())


def l21_norm(V):
    return fsum(sqrt(fsum(a * a for a in row)) for row in V.tolist())


def l12_norm(V):
    return sqrt(fsum(fsum(map(abs, row)) ** 2 for row in V.tolist()))


def nuclear_norm(V):
    return fsum(np.linalg.svd(V.astype(float), compute_uv=False).tolist())


@dataclass(frozen=True)
class Ball:
    name: str
    project: Any
    oracle: Any
    norm: Any
    units: int  # distance from the sphere, in units of the last place

    def __str__(self):
        return self.name


def weighted(function):
    return lambda V, radius: function(V, prices(V), radius)


BALLS = [
    Ball("l1", projections.project_l1_ball, oracles.project_l1_ball, l1_norm, 2),
    Ball(
        "weighted l1",
        weighted(projections.project_weighted_l1_ball),
        weighted(oracles.project_weighted_l1_ball),
        weighted_l1_norm,
        4,
    ),
    Ball("l2,1", projections.project_l21_ball, oracles.project_l21_ball, l21_norm, 8),
    Ball("l1,2", projections.project_l12_ball, oracles.project_l12_ball, l12_norm, 8),
    Ball(
        "nuclear", projections.project_nuclear_ball, oracles.project_nuclear_ball, nuclear_norm, 40
    ),
]
