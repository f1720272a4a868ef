"""Bootstrap draws of the rows, whole sample groups at a time."""

from dataclasses import dataclass

import numpy as np

from tamis.paths.intervals import draw_rows, n_draws_for
from tamis.paths.seeds import make_generator

__all__ = ["Draws"]

# If a smaller share of draws than this has all classes on both sides, two classes are enough.
_FEW_WHOLE = 0.1


@dataclass(frozen=True)
class Draws:
    """Bootstrap draws of the rows; every iteration gives the same draws."""

    codes: np.ndarray  # (n_rows,)
    n_classes: int
    groups: np.ndarray | None  # (n_rows,) or None: rows that are drawn together
    n_draws: int | None = None  # None: by the number of rows (`n_draws_for`)
    seed: int = 0
    # (n_rows,) or None: sample weights; a class with only zero weights counts as absent.
    weights: np.ndarray | None = None

    def __iter__(self):
        """Yield chunks of shape (n, n_rows): how often each row was drawn.

        Draws in which all or none of the rows of a class were drawn are skipped. With many small
        classes hardly any draw would remain: then two classes on both sides are enough, and
        classes without rows are ignored in the scores of that draw.
        """
        generator = make_generator(self.seed, "bootstrap")
        n_rows, n_needed = self.codes.size, self._n_classes_needed()
        n_draws = n_draws_for(n_rows) if self.n_draws is None else self.n_draws
        for drawn in draw_rows(generator, n_draws, n_rows, self.groups):
            n_both = _classes_on_both_sides(drawn, self.codes, self.n_classes, self.weights)
            enough = n_both >= n_needed
            if enough.any():
                yield drawn if enough.all() else drawn[enough]

    def _n_classes_needed(self):
        """Classes that a draw must have on both sides: all, or two where that is too rare.

        A class of m rows or groups is not drawn at all with probability about exp(-m), and drawn
        completely with about (1 - 1/e)^m.
        """
        units = np.arange(self.codes.size) if self.groups is None else self.groups
        sizes = [np.unique(units[self.codes == c]).size for c in range(self.n_classes)]
        m = np.array(sizes, dtype=np.float64)
        share = np.prod(1 - np.exp(-m) - (1 - np.exp(-1.0)) ** m)
        return self.n_classes if share >= _FEW_WHOLE else 2


def _classes_on_both_sides(drawn, codes, n_classes, weights=None):
    """Number of classes that are among the rows drawn and among the others, per draw."""
    n_both = np.zeros(len(drawn), dtype=np.intp)
    for c in range(n_classes):
        rows = codes == c if weights is None else (codes == c) & (weights > 0)
        part = drawn[:, rows] > 0
        n_both += part.any(axis=1) & ~part.all(axis=1)
    return n_both
