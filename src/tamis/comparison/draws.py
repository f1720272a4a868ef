"""Bootstrap draws of the rows, whole sample groups at a time."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Draws", "n_draws_for"]

# Values of a chunk of the bootstrap.
_CHUNK = 20_000_000
# Where fewer draws than this share have all classes on both sides, two classes are enough.
_FEW_WHOLE = 0.1


def n_draws_for(n_rows):
    """Fewer draws for more rows: their scores hardly vary."""
    return 1000 if n_rows <= 5000 else 400 if n_rows <= 50_000 else 50


@dataclass(frozen=True)
class Draws:
    """Rows drawn with replacement, again and again; the same ones whenever they are asked for.

    Attributes
    ----------
    codes : ndarray of int of shape (n_rows,)
    n_classes : int
    groups : ndarray of int of shape (n_rows,) or None
        Rows that are drawn together.
    n_draws, seed : int
    weights : ndarray of shape (n_rows,) or None
        Sample weights: a class whose rows have none is not there.
    """

    codes: np.ndarray
    n_classes: int
    groups: np.ndarray | None
    n_draws: int
    seed: int
    weights: np.ndarray | None = None

    def __iter__(self):
        """Chunks of (n, n_rows): how often every row was drawn.

        Draws in which a class has no row, or leaves no row behind, are left out. Many small
        classes would leave hardly any draw: then two classes on both sides are enough, and a
        class without rows takes no part in the scores of that draw.
        """
        generator = np.random.default_rng([self.seed, 3])
        n_rows = self.codes.size
        units = np.arange(n_rows)
        if self.groups is not None:
            units = np.unique(self.groups, return_inverse=True)[1]
        n_units = int(units.max()) + 1
        n_needed = self._n_classes_needed(units)
        size = max(1, min(self.n_draws, _CHUNK // n_rows))
        for start in range(0, self.n_draws, size):
            drawn = np.stack(
                [
                    np.bincount(generator.integers(n_units, size=n_units), minlength=n_units)
                    for _ in range(min(size, self.n_draws - start))
                ]
            )
            drawn = drawn[:, units].astype(np.float64)
            n_both = _classes_on_both_sides(drawn, self.codes, self.n_classes, self.weights)
            drawn = drawn[n_both >= n_needed]
            if len(drawn):
                yield drawn

    def _n_classes_needed(self, units):
        """Classes that a draw must have on both sides: all, or two where that is too rare.

        A class of m units is not drawn at all with probability exp(-m), and drawn whole with
        (1 - 1/e)^m, about.
        """
        sizes = [np.unique(units[self.codes == c]).size for c in range(self.n_classes)]
        m = np.array(sizes, dtype=np.float64)
        share = np.prod(1 - np.exp(-m) - (1 - np.exp(-1.0)) ** m)
        return self.n_classes if share >= _FEW_WHOLE else 2


def _classes_on_both_sides(drawn, codes, n_classes, weights=None):
    """Number of classes that are among the rows drawn and among the others, for every draw."""
    n_both = np.zeros(len(drawn), dtype=np.intp)
    for c in range(n_classes):
        own = codes == c if weights is None else (codes == c) & (weights > 0)
        part = drawn[:, own] > 0
        n_both += part.any(axis=1) & ~part.all(axis=1)
    return n_both
