"""Folds: the same for all methods, with whole sample groups; or one batch held out at a time.

Sample groups are dealt to the folds one by one, the largest first, ties in random order. Each goes
to the fold in which its classes are rarest so far: the fold f that minimises
``sum_c n_fc g_c / N_c**2`` for a group with g_c of the N_c rows of class c, ties to the fold with
the fewest rows. Single rows are then spread evenly, class by class.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tamis._compile import compiled
from tamis.paths.seeds import derive_seed

__all__ = [
    "Fold",
    "GroupFolds",
    "default_folds",
    "default_repeats",
    "leave_one_batch_out",
    "make_folds",
    "merge_groups",
    "tell_folds",
]

# With more rows than this, and so many of every class, there are two folds.
_MANY_ROWS, _MANY_OF_CLASS = 100_000, 10_000
# Dealing out fewer rows takes Python a fifth of a second at most.
_WORTH_COMPILING = 1 << 14


@dataclass(frozen=True)
class Fold:
    """Training and test rows."""

    repeat: int
    number: int
    train: np.ndarray
    test: np.ndarray
    seed: int  # seed of everything that is random in this fold


def default_folds(n_rows: int, fewest: int) -> int:
    """Number of folds: 5, but 2 where half of the rows are as good for training as four fifths.

    `fewest`: number of rows, or sample groups, of the smallest class.
    """
    return 2 if n_rows > _MANY_ROWS and fewest >= _MANY_OF_CLASS else 5


def default_repeats(n_rows: int) -> int:
    """Number of repeats: small data need several, 3 below 200 rows."""
    return 3 if n_rows < 200 else 2 if n_rows < 500 else 1


def make_folds(
    codes: NDArray, groups: NDArray | None, n_folds: int, n_repeats: int, seed: int
) -> list[Fold]:
    """Make stratified folds, repeatedly; all rows of a sample group are in one fold.

    `codes` (n_rows,); `groups` (n_rows,) or None.
    """
    folds = []
    for repeat in range(n_repeats):
        mark = derive_seed(seed, repeat)
        splitter: Any
        if groups is None:
            from sklearn.model_selection import StratifiedKFold  # slow to import

            splitter = StratifiedKFold(n_folds, shuffle=True, random_state=mark)
        else:
            splitter = GroupFolds(n_folds, mark)
        rows = np.zeros(codes.size)
        for number, (train, test) in enumerate(splitter.split(rows, codes, groups)):
            folds.append(Fold(repeat, number, train, test, derive_seed(seed, repeat, number)))
    return folds


class GroupFolds:
    """Stratified folds of whole groups, as scikit-learn's splitter, but fast for many groups.

    `random_state`: seed of the order in which equal groups are dealt; None keeps the order of
    their numbers.
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(self, X: Any, y: ArrayLike, groups: ArrayLike) -> Iterator[tuple[NDArray, NDArray]]:
        """Training and test rows of each fold.

        `X`: not used; `y` (n_rows,): classes; `groups` (n_rows,).
        """
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        groups = np.unique(np.asarray(groups), return_inverse=True)[1]
        n_groups = int(groups.max()) + 1
        if n_groups < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds need at least {self.n_splits} groups, got {n_groups}."
            )
        order = np.arange(n_groups)
        if self.random_state is not None:
            order = np.random.default_rng(self.random_state).permutation(n_groups)
        sizes = np.bincount(groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        # Sort rows by group, so that the classes of a group are contiguous.
        rows = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[rows], np.arange(n_groups + 1))
        deal = _deal if codes.size >= _WORTH_COMPILING else _deal.py_func
        fold_of = deal(order, bounds, codes[rows], int(codes.max()) + 1, self.n_splits)[groups]
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


@compiled
def _deal(order, bounds, codes, n_classes, n_folds):
    """Fold of each group."""
    total = np.zeros(n_classes)
    for c in codes:
        total[c] += 1.0
    count = np.zeros((n_folds, n_classes))
    size = np.zeros(n_folds)
    fold_of = np.empty(order.size, np.int64)
    for g in order:
        of_group = codes[bounds[g] : bounds[g + 1]]
        best, least = 0, np.inf
        for f in range(n_folds):
            crowd = 0.0
            for c in of_group:
                crowd += count[f, c] / total[c] ** 2
            if crowd < least or (crowd == least and size[f] < size[best]):
                best, least = f, crowd
        for c in of_group:
            count[best, c] += 1.0
        size[best] += of_group.size
        fold_of[g] = best
    return fold_of


def leave_one_batch_out(batches: NDArray, groups: NDArray | None, seed: int) -> list[Fold]:
    """One fold per batch: trained on all others, without the sample groups of the batch.

    `batches` (n_rows,); `groups` (n_rows,) or None.
    """
    folds = []
    for b in np.unique(batches):
        test = batches == b
        others = ~test if groups is None else ~np.isin(groups, groups[test])
        train = np.flatnonzero(others)
        folds.append(Fold(0, int(b), train, np.flatnonzero(test), derive_seed(seed, 7, int(b))))
    return folds


def merge_groups(*groups: NDArray | None) -> NDArray | None:
    """The finest groups that keep together all rows that any of the given groups does.

    `groups` (n_rows,), or None. Returns `merged` (n_rows,) or None: None if all are None.
    """
    given = [np.unique(g, return_inverse=True)[1] for g in groups if g is not None]
    if len(given) < 2:
        return given[0].astype(np.int64) if given else None
    # Groups are nodes; a row is an edge between the groups that it belongs to.
    first = given[0].max() + 1
    n_nodes = first + given[1].max() + 1
    edges = coo_array((np.ones(given[0].size), (given[0], first + given[1])), (n_nodes, n_nodes))
    return connected_components(edges, directed=False)[1][given[0]].astype(np.int64)


def tell_folds(n_folds: int, n_repeats: int) -> str:
    """How a cross-validation splits the rows."""
    told = f"{n_folds} folds"
    if n_repeats > 1:
        told += f", repeated {'twice' if n_repeats == 2 else f'{n_repeats} times'}"
    return told
