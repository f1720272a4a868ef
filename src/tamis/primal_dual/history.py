"""What is recorded along a fit."""

import time

import numpy as np


class History:
    """Objective, gap, features and seconds of each round of a fit."""

    def __init__(self):
        self.begin = time.perf_counter()
        self.rounds = []

    def add(self, solution, n_features):
        """Record the state of the solver."""
        row = (
            solution.n_iter,
            solution.pair.primal.value,
            solution.relative_gap,
            n_features,
            time.perf_counter() - self.begin,
        )
        self.rounds.append(row)

    def table(self):
        """One array per column."""
        names = ("n_iter", "objective", "relative_gap", "n_features", "seconds")
        return {name: np.array([row[c] for row in self.rounds]) for c, name in enumerate(names)}
