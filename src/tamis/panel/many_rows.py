"""Heads of many rows: blocks of rows in turn, so that memory stays that of the rows themselves.

With more rows than `MOST_ROWS`, a sample gives a first head for every level; from there all rows
are read a few times (`tamis.heads.passes`), as they are from chunks. Only a head that is asked for
is fitted. To judge a kernel in a fold, the head of the sample is enough: it has a hundred rows for
each of its bumps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.heads import Head
from tamis.heads.passes import fit_in_passes
from tamis.panel.forward import dense_columns, sample_rows, weigh_classes
from tamis.panel.settings import Setting, fit_settings

__all__ = ["SAMPLED_ROWS", "HeadsOnDemand", "ManyRows", "class_factors"]

#: About so many rows give the first head.
SAMPLED_ROWS = 20_000
# Rows that are computed with at a time.
_BLOCK_ROWS = 8_192


class HeadsOnDemand(Sequence):
    """One head per level; each is fitted when it is asked for first.

    `fit`: fits the head of a level; `n_levels`: number of levels.
    """

    def __init__(self, fit: Callable[[int], Head], n_levels: int) -> None:
        self._fit, self._n_levels = fit, n_levels
        self._known: dict[int, Head] = {}

    def __len__(self) -> int:
        """Number of levels."""
        return self._n_levels

    def __getitem__(self, level):
        """The head of a level."""
        if not 0 <= level < self._n_levels:
            raise IndexError(level)
        if level not in self._known:
            self._known[level] = self._fit(level)
        return self._known[level]


class ManyRows:
    """Rows on which heads are fitted.

    `X` (n_rows, n_columns); `codes` (n_rows,): class indices; `weights` (n_rows,): sample weights;
    `class_weight`: "balanced", (n_classes,) or None; `seed`: of the sample and of landmarks;
    `groups` (n_rows,) or None: sample groups; `keys` (n_rows,): as in
    `tamis.panel.forward.content_folds`; `kernels_of_sample`: whether kernels are fitted on the
    sample alone.
    """

    def __init__(
        self,
        X: Matrix,
        codes: NDArray,
        weights: NDArray,
        n_classes: int,
        class_weight: str | NDArray | None,
        seed: int,
        groups: NDArray | None,
        keys: NDArray,
        kernels_of_sample: bool,
    ) -> None:
        self._X, self._codes, self._weights, self._n_classes = X, codes, weights, n_classes
        self._class_weight, self._seed = class_weight, seed
        self._kernels_of_sample = kernels_of_sample
        used = np.flatnonzero(weights > 0)
        groups = None if groups is None else groups[used]
        some = sample_rows(X, codes[used], SAMPLED_ROWS, groups, seed, keys[used])
        self._sample = used[some]
        self._factor = class_factors(np.bincount(codes, weights, n_classes), class_weight)

    def heads(self, columns: Sequence[NDArray], settings: Sequence[Setting]) -> HeadsOnDemand:
        """One head per level: its columns, and its setting."""

        def fit(level):
            return self._fit_head(columns[level], settings[level])

        return HeadsOnDemand(fit, len(columns))

    def _fit_head(self, columns, setting):
        rows = self._sample
        values = dense_columns(self._X[rows], columns)
        codes, weights = self._codes[rows], self._weights[rows]
        given = (self._n_classes, [setting], self._class_weight, self._seed)
        (near,) = fit_settings(values, codes, weights, *given)
        if not setting.is_linear and self._kernels_of_sample:
            return near
        origin = weights @ values / weights.sum()
        return fit_in_passes(self._pass_of(columns), near, setting.values, self._factor, origin)

    def _pass_of(self, columns) -> Callable[[Callable], Any]:
        def run(work):
            total: Any = None
            for start in range(0, self._codes.size, _BLOCK_ROWS):
                some = slice(start, start + _BLOCK_ROWS)
                values = dense_columns(self._X[some], columns)
                parts = work(values, self._codes[some], self._weights[some])
                pairs = zip(total, parts, strict=True) if total is not None else ()
                total = tuple(a + b for a, b in pairs) if total is not None else parts
            return total

        return run


def class_factors(sizes: NDArray, class_weight: str | NDArray | None) -> NDArray[np.float64]:
    """Factor of the weights of each class, (n_classes,).

    `sizes` (n_classes,): sums of the sample weights of the classes.
    """
    weighed = weigh_classes(np.arange(sizes.size), sizes, sizes.size, class_weight)
    return np.divide(weighed, sizes, out=np.zeros(sizes.size), where=sizes > 0)
