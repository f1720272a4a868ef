"""Panels of chunks of rows: all rows screen and train, a sample of them chooses.

Passes (`tamis._passes`) over N rows of m features, of which k are selected:

1. the class means, or medians, of all rows (`tamis.centers.chunks`), whose gains screen the
   features; and the smallest hashes of rows, which say which rows are in the sample;
2. the rows of the sample: at most 10,000 that are distinct, fewer if they would take more than
   `max_bytes`, each with the weights of all its copies. Hashes are of what a row holds, so the
   sample does not depend on the chunks;
3. on the sample, as in memory: steps or gains, the head, its setting and its temperature. The
   final steps choose among the features whose gain in all rows is largest;
4. the head is fitted on the k columns of all rows: a linear one on columns that are gathered here,
   if they take at most `max_bytes`, otherwise from sums over the chunks (`tamis.heads.passes`).
   The landmarks of a kernel are rows of the sample.

If the sample has all distinct rows, it is trained on, and the panel is that of all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone

from tamis._array import Matrix, is_sparse, take_columns
from tamis._base import resolve_n_features
from tamis._passes import Passes
from tamis.centers import SparseCenterClassifier
from tamis.centers.chunks import ChunkTask
from tamis.centers.chunks import train_passes as train_centers
from tamis.heads import Head
from tamis.heads.passes import fit_in_passes
from tamis.panel.forward import dense_columns
from tamis.panel.many_rows import class_factors
from tamis.panel.selection import MOST_ROWS, group_gains
from tamis.panel.settings import Setting, fit_settings
from tamis.paths.hashing import Sketch, hash_rows, mix
from tamis.paths.seeds import as_seed

__all__ = ["AllRows", "ChunkReader", "train_passes"]

# The sample has at least so many distinct rows, whatever they take.
_FEWEST_ROWS = 200
# Up to so many distinct rows, equal ones are coincidences, which go to different folds: each
# distinct row is given as so many, which share its weight.
_FEW_PATTERNS = 20


def train_passes(
    estimator: Any, passes: Passes, classes: ArrayLike | None, max_bytes: float
) -> None:
    """Fit a `PanelClassifier` on chunks.

    `estimator`: gets its fitted attributes. `classes` (n_classes,) or None: all classes; None:
    those that occur. `max_bytes`: memory for the sample, for gathered columns, and for counts of
    digits with selection="medians".
    """
    estimator._check_parameters()
    metric = "l1" if estimator.selection == "medians" else "l2"
    ranker, first = SparseCenterClassifier(None, metric=metric), _FirstPass(passes, estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about features without a gain
        train_centers(ranker, first, classes, max_bytes)
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
        if name in vars(ranker):
            setattr(estimator, name, getattr(ranker, name))
    read = ChunkReader(clone(ranker), estimator.classes_, ranker._weight_unit)
    sample, is_whole = _draw(read, passes, first, max_bytes)
    estimator._require_variation(sample.X)
    choices = estimator._make_choices()
    levels = np.array([resolve_n_features(estimator.n_features_to_select, choices.n_choices)])
    data = sample.X, sample.codes, sample.weights
    if is_whole:
        path = estimator._make_path(*data, levels, estimator.classes_, choices, None)
        estimator._take_over(path.model(0))
        estimator._pass_on_interrupt(path.is_interrupted)
        return
    n_classes = len(estimator.classes_)
    X, keys, selection, (settings,), ((chosen,),) = estimator._choose_in_folds(
        (estimator.head,), *data, levels, n_classes, choices, None
    )
    selection = replace(selection, gains=group_gains(ranker, choices, selection.kind == "forward"))
    found = selection.choose(X, *data[1:], n_classes, levels, None, keys)
    columns, setting = selection.columns(found.panels[0]), settings[chosen.place]
    rows = AllRows(read, passes, ranker._n_rows, ranker.class_count_, max_bytes)
    given = (X, *data[1:]), columns, setting, selection.class_weight, selection.seed
    head = rows.fit_head(*given)
    given = X, sample.weights, selection, found.panels[0], columns
    estimator._store(*given, head, chosen.temperature, setting)
    estimator._store_proof(found.proofs[0])
    estimator._pass_on_interrupt(bool(selection.interrupted))


@dataclass
class ChunkReader(ChunkTask):
    """Checks a chunk and reads its rows that have a weight."""

    unit: float  # the weight that counts as one row
    _advice: ClassVar[str] = " The chunks must be the same in every pass."

    def __call__(
        self, number: int, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Matrix, NDArray, NDArray]:
        """Rows, class indices and weights."""
        _, X, codes, weights = self.check(number, X, y, sample_weight)
        weights = np.ones(codes.size) if weights is None else weights / self.unit
        used = np.flatnonzero(weights > 0)
        if used.size < codes.size:
            X, codes, weights = X[used], codes[used], weights[used]
        return X, codes, weights


# The first pass, which those of the centers make.


class _FirstPass(Passes):
    """Passes that also find the smallest hashes of the rows, in the first of them."""

    def __init__(self, passes, estimator):
        self.passes, self.feature_names = passes, passes.feature_names
        self.seed = as_seed(estimator.random_state)
        self.sketch: Sketch | None = None
        self.row_bytes = 0.0

    def run(self, task, merge):
        """See `Passes`."""
        if self.sketch is not None:
            return self.passes.run(task, merge)
        seen = self.passes.run(_Hashed(task, self.seed), _MergeHashed(merge))
        if seen is None:
            return None
        found, self.sketch, n_bytes, n_rows = seen
        self.row_bytes = n_bytes / max(n_rows, 1)
        return found


@dataclass
class _Hashed:
    task: Any
    seed: int

    def __call__(self, number, X, y, sample_weight):
        found = self.task(number, X, y, sample_weight)
        _, X, _, weights = self.task.check(number, X, y, sample_weight)
        X = X if weights is None or (weights > 0).all() else X[weights > 0]
        sketch = Sketch(MOST_ROWS + 1).add(_hash(X, self.seed))
        return found, sketch, _bytes_of(X), X.shape[0]


@dataclass
class _MergeHashed:
    merge: Callable

    def __call__(self, one, other):
        sketch = one[1].merge(other[1])
        return self.merge(one[0], other[0]), sketch, one[2] + other[2], one[3] + other[3]


def _hash(X, seed):
    X = sparse.csr_array(X) if is_sparse(X) else X
    return mix(hash_rows([X], X.shape[0]) ^ mix(np.array([seed], dtype=np.uint64)))


def _bytes_of(X):
    return X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes


# The sample.


@dataclass
class _Sample:
    """Distinct rows, in the order of their hashes, each with the weights of its copies."""

    X: Matrix
    codes: NDArray
    weights: NDArray
    hashes: NDArray[np.uint64]

    def merge(self, other: _Sample) -> _Sample:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Sample(*(_stack(pair) for pair in parts))._distinct()

    def _distinct(self):
        order = np.lexsort((self.codes, self.hashes))
        hashes, codes = self.hashes[order], self.codes[order]
        is_new = np.ones(order.size, dtype=bool)
        is_new[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
        starts = np.flatnonzero(is_new)
        weights = np.add.reduceat(self.weights[order], starts) if order.size else self.weights
        return _Sample(self.X[order[starts]], codes[starts], weights, hashes[starts])

    def first(self, size: int) -> _Sample:
        return _Sample(*(part[:size] for part in vars(self).values()))

    def in_turns(self) -> _Sample:
        """Each row as several, which share its weight: whole numbers stay whole."""
        turns, weights = np.arange(_FEW_PATTERNS), self.weights[:, None]
        if (weights == np.floor(weights)).all():
            parts = np.floor((weights + turns) / _FEW_PATTERNS)
        else:
            parts = np.repeat(weights / _FEW_PATTERNS, _FEW_PATTERNS, axis=1)
        rows, part = np.nonzero(parts)
        return _Sample(self.X[rows], self.codes[rows], parts[rows, part], self.hashes[rows])


def _stack(parts):
    if any(is_sparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


@dataclass
class _Draw:
    """Takes the rows of a chunk whose hashes are small."""

    read: ChunkReader
    seed: int
    most: np.uint64

    def __call__(self, number, X, y, sample_weight):
        X, codes, weights = self.read(number, X, y, sample_weight)
        X = sparse.csr_array(X) if is_sparse(X) else X
        hashes = _hash(X, self.seed)
        rows = np.flatnonzero(hashes <= self.most)
        return _Sample(X[rows], codes[rows], weights[rows], hashes[rows])._distinct()


def _draw(read, passes, first, max_bytes):
    """The sample, and whether it has all distinct rows."""
    size = min(MOST_ROWS, max(_FEWEST_ROWS, int(max_bytes / max(first.row_bytes, 1))))
    numbers = first.sketch.numbers
    is_whole = numbers.size <= size
    most = np.uint64(np.iinfo(np.uint64).max) if is_whole else numbers[size - 1]
    sample = passes.run(_Draw(read, first.seed, most), _Sample.merge)
    if np.unique(sample.hashes).size <= _FEW_PATTERNS:
        return sample.in_turns(), is_whole
    return (sample if is_whole else sample.first(size)), is_whole


# The head.


@dataclass(frozen=True)
class AllRows:
    """The rows on which the head is fitted."""

    read: ChunkReader
    passes: Passes
    n_rows: int
    sizes: NDArray  # (n_classes,): sums of their weights
    max_bytes: float  # for gathered columns

    def fit_head(
        self,
        sample: tuple[Matrix, NDArray, NDArray],
        columns: NDArray,
        setting: Setting,
        class_weight: str | NDArray | None,
        seed: int,
    ) -> Head:
        """Fit a head on some columns of all rows.

        `sample`: X, codes and weights of some rows; `columns` (n_selected,); `setting`: of the
        head; `class_weight`: "balanced", (n_classes,) or None; `seed`: of the choice of landmarks.
        """
        X, codes, weights = sample
        n_classes, part = self.sizes.size, take_columns(X, columns)
        n_bytes = 8.0 * self.n_rows * (columns.size + 2)
        if setting.keeps_sparse:
            n_bytes = self.n_rows * (16.0 + 12.0 * part.nnz / X.shape[0])
            if n_bytes > self.max_bytes:
                raise ValueError(
                    f"The {columns.size} selected columns of all rows take about "
                    f"{n_bytes / 1e6:,.0f} MB, and max_bytes allows {self.max_bytes / 1e6:,.0f}. "
                    "Sparse columns are gathered: set max_bytes to more, or select fewer features."
                )
        if setting.is_linear and n_bytes <= self.max_bytes:  # landmarks come from the sample
            gathered = self.passes.run(_Gather(self.read, columns, setting.keeps_sparse), _add)
            assert gathered is not None
            X, codes, weights = (_stack(parts) for parts in gathered)
            return fit_settings(X, codes, weights, n_classes, [setting], class_weight, seed)[0]
        values = dense_columns(part, np.arange(columns.size))
        near = fit_settings(values, codes, weights, n_classes, [setting], class_weight, seed)[0]
        factor = class_factors(self.sizes, class_weight)

        def run(work):
            def make():
                sums = self.passes.run(_Work(self.read, columns, work), _add)
                return {str(at): np.asarray(part) for at, part in enumerate(sums)}

            return tuple(part[()] for part in self.passes.remember(make).values())

        return fit_in_passes(run, near, setting.values, factor, weights @ values / weights.sum())


@dataclass
class _Gather:
    """Takes columns out of a chunk."""

    read: ChunkReader
    columns: NDArray
    keeps_sparse: bool

    def __call__(self, number, X, y, sample_weight):
        X, codes, weights = self.read(number, X, y, sample_weight)
        take = take_columns if self.keeps_sparse else dense_columns
        return [take(X, self.columns)], [codes], [weights]


@dataclass
class _Work:
    """What a function makes of some columns of a chunk."""

    read: ChunkReader
    columns: NDArray
    work: Callable

    def __call__(self, number, X, y, sample_weight):
        X, codes, weights = self.read(number, X, y, sample_weight)
        return self.work(dense_columns(X, self.columns), codes, weights)


def _add(one, other):
    return tuple(a + b for a, b in zip(one, other, strict=True))
