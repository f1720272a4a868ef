"""Preparation: raw columns become a matrix, in two steps that are kept apart on purpose.

`lay_out` looks at all rows and at no label, and fixes which columns the matrix has: one for a
number, one for each category (one for both of two), one for each word. `encode` fills it, once,
with NaN for what is missing. `learn` then learns from the training rows of a fold alone what
replaces a missing value and how rare a word is, and `finish` applies it. So folds share the
encoding, and nothing is learned from test rows.

Rare categories are pooled (`columns.rare`), and one that was not seen is "other" where there
is such a pool, and missing elsewhere. Words are counted; "tfidf" is ``(1 + log count) * idf``
with ``idf = 1 + log((1 + n_rows) / (1 + n_rows_with_the_word))`` and no norm over the row, so that
a model of twenty words needs only these twenty.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis.tables.columns.marks import are_shares
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.rare import Pool, find_pool, pool_part, pool_parts, unused_columns
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.encoding import dummies, narrow, numeric_part
from tamis.tables.preparing.medians import medians
from tamis.tables.preparing.words import TextColumns, count_words

# Categories that are named one by one.
_MOST_NAMED = 3

_MEDIAN_VALUES = 1_000_000


@dataclass(frozen=True)
class Preparation:
    """How raw columns become a matrix.

    Attributes
    ----------
    numbers : list of str
        Source columns that are numbers.
    categories : dict of str to list of str
        Categories that have a column, for each categorical source column.
    texts : dict of str to TextColumns
        Words that have a column, for each source column of free text.
    groups : dict of str to str
        Source columns that are counted together, with the name of their feature group.
    is_sparse : bool
        Whether the matrix is sparse.
    fill : ndarray of shape (n_columns,)
        Replacement for a missing value, for each column of the matrix.
    missing : MissingWords
        Words that stand for missing values, so that new rows are read as in training.
    others : dict of str to list of str
        Frequent categories that have no column, for each categorical source column.
    ranges : ndarray of shape (n_numbers, 2)
        Smallest and largest value of each number in training (see `unusual`); NaN for a
        column without values, empty if they are not known.
    pools : dict of str to Pool
        What rare and new categories count as; in a column that is not here, new ones are missing.
    spreads, whole : ndarray of shape (n_numbers,), and list of str
        Standard deviation of each number in training (likewise), and numbers of whole values only.
    """

    numbers: list[str]
    categories: dict[str, list[str]]
    texts: dict[str, TextColumns]
    groups: dict[str, str]
    is_sparse: bool
    fill: np.ndarray = field(default_factory=lambda: np.zeros(0))
    missing: MissingWords = field(default_factory=MissingWords)
    others: dict[str, list[str]] = field(default_factory=dict)
    ranges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    pools: dict[str, Pool] = field(default_factory=dict)
    spreads: np.ndarray = field(default_factory=lambda: np.zeros(0))
    whole: list[str] = field(default_factory=list)

    # Names: the matrix has numbers first, then categories, then words.

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the matrix."""
        dummies = [f"{name}={c}" for name, known in self.categories.items() for c in known]
        words = [f"{name}: {w}" for name, text in self.texts.items() for w in text.words]
        return [*self.numbers, *dummies, *words]

    @property
    def sources(self) -> list[str]:
        """Source column of each column of the matrix."""
        dummies = [name for name, known in self.categories.items() for _ in known]
        words = [name for name, text in self.texts.items() for _ in text.words]
        return [*self.numbers, *dummies, *words]

    @property
    def features(self) -> list[str]:
        """Counted feature of each column of the matrix: all dummies of one source are one."""
        n_words = sum(len(text.words) for text in self.texts.values())
        sources, columns = self.sources, self.columns
        first_word = len(columns) - n_words
        counted = [self.groups.get(source, source) for source in sources[:first_word]]
        return counted + columns[first_word:]

    @property
    def required(self) -> list[str]:
        """Raw columns that are needed."""
        return list(dict.fromkeys(self.sources))

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of the raw columns that are not numbers."""
        kinds = dict.fromkeys(self.categories, "categorical")
        return kinds | dict.fromkeys(self.texts, "text")

    @property
    def n_columns(self) -> int:
        """Number of columns of the matrix."""
        n_dummies = sum(len(known) for known in self.categories.values())
        return len(self.numbers) + n_dummies + sum(len(t.words) for t in self.texts.values())

    @property
    def shares(self) -> list[str]:
        """Columns of percents in which a value above 1 has lost its sign: `are_shares`."""
        both = zip(self.numbers, self.ranges, strict=False)
        return [n for n, ends in both if n in self.missing.percents and are_shares(*ends)]

    def zeros(self, name: str) -> list[str] | None:
        """Words of a source for which all its columns are 0; None: every word without a column.

        All other words without a column are missing values.
        """
        pool = self.pools.get(name, Pool())
        if pool.is_open:
            return None
        return [*self.others.get(name, ()), *(pool.rare if pool.is_other else ())]

    @property
    def unused(self) -> NDArray[np.bool_]:
        """Columns of the matrix that say nothing, because their categories are rare."""
        return unused_columns(self.n_columns, len(self.numbers), self.categories, self.pools)

    # From a table to a matrix.

    def encode(self, table: Columns) -> Matrix:
        """Make the matrix, NaN where a value is missing, words as counts; nothing is learned.

        Parameters
        ----------
        table : Columns
            With all `required` columns.

        Returns
        -------
        encoded : ndarray or CSR array of shape (n_rows, n_columns)
        """
        parts = [numeric_part(table, self.numbers)] if self.numbers else []
        for name, known in self.categories.items():
            nowhere = self.others.get(name, ())
            parts.append(dummies(table.others[name], known, nowhere, self.pools.get(name)))
        for name, text in self.texts.items():
            parts.append(count_words(table.others[name], text))
        if self.is_sparse:
            # Numbers and categories are dense, even if no word is left.
            parts = [sparse.csr_array(part) for part in parts]
            return narrow(sparse.hstack(parts, format="csr", dtype=np.float64))
        if len(parts) == 1:
            return np.asarray(parts[0], dtype=np.float64)
        return np.hstack(parts, dtype=np.float64)

    def learn(
        self, encoded: Matrix, columns: NDArray | None = None, weights: NDArray | None = None
    ) -> Preparation:
        """Learn from training rows what is rare, and what replaces missing values.

        Parameters
        ----------
        encoded : ndarray or CSR array of shape (n_rows, n_columns)
            Training rows only.
        columns : ndarray of int or None
            Columns that may have missing values; None: all.
        weights : ndarray of shape (n_rows,) or None
            Sample weights: a weight of 2 is equivalent to repeating the row.

        Returns
        -------
        preparation : Preparation
        """
        fill = np.zeros(self.n_columns)
        where = np.arange(fill.size) if columns is None else np.asarray(columns, dtype=np.intp)
        n_numbers = len(self.numbers)
        # Medians need a copy of the columns: a few of them at a time.
        width = max(1, min(512, _MEDIAN_VALUES // max(1, encoded.shape[0])))
        for start in range(0, where.size, width):
            some = where[start : start + width]
            some = some[some < n_numbers]
            if some.size:
                fill[some] = medians(encoded[:, some], weights)
        pools = self.find_pools(encoded, weights)
        weights = np.ones(encoded.shape[0]) if weights is None else weights
        learned = replace(self, pools=pools)
        return learned.with_sums(fill, *learned.add_up(encoded, weights), weights.sum())

    def find_pools(self, encoded: Matrix, weights: NDArray | None = None) -> dict[str, Pool]:
        """The rare categories of training rows, by source; nothing else is learned."""
        return {
            name: find_pool(part, self.categories[name], self.pools[name], weights)
            for name, part in self._category_parts(encoded)
            if name in self.pools
        }

    def pool(self, encoded: Matrix) -> Matrix:
        """The matrix with rare categories as "other" or missing; itself if there are none."""
        names = (self.categories, self.others, self.pools)
        return pool_parts(encoded, len(self.numbers), *names)

    def _category_parts(self, encoded):
        """The columns of each source of categories, dense."""
        start = len(self.numbers)
        for name, known in self.categories.items():
            part = encoded[:, start : start + len(known)]
            yield name, part.toarray() if is_sparse(part) else part
            start += len(known)

    def add_up(self, encoded: Matrix, weights: NDArray) -> tuple[list[NDArray], list[NDArray]]:
        """Add up what `with_sums` needs; sums over chunks of rows can be added.

        Parameters
        ----------
        encoded : ndarray or CSR array of shape (n_rows, n_columns)
        weights : ndarray of shape (n_rows,)

        Returns
        -------
        shares : list of ndarray of shape (n_categories + 1,)
            Weights of the categories of each column; all without a column count as one.
        n_with : list of ndarray of shape (n_words,)
            Weights of the rows with each word of each text; empty if they are not needed.
        """
        shares, n_with = [], []
        for name, part in self._category_parts(encoded):
            pooled = None
            if name in self.pools:
                names = (self.categories[name], self.others.get(name, ()))
                pooled = pool_part(part, *names, self.pools[name])
            part = part if pooled is None else pooled
            is_known = ~np.isnan(part).any(axis=1)
            part, mass = part[is_known], weights[is_known]
            shares.append(np.append(mass @ part, mass[part.sum(axis=1) == 0].sum()))
        start = self.n_columns - sum(len(text.words) for text in self.texts.values())
        for text in self.texts.values():
            part = encoded[:, start : start + len(text.words)]
            n_with.append(text.rows_with(part, weights) if text.kind == "tfidf" else np.zeros(0))
            start += len(text.words)
        return shares, n_with

    def with_sums(
        self, fill: NDArray, shares: list[NDArray], n_with: list[NDArray], total: float
    ) -> Preparation:
        """The preparation with what was learned.

        Parameters
        ----------
        fill : ndarray of shape (n_columns,)
            Replacements of numbers; those of categories, the most frequent ones, are added.
        shares, n_with : list of ndarray
            From `add_up`.
        total : float
            Sum of the weights.

        Returns
        -------
        preparation : Preparation
        """
        start = len(self.numbers)
        for known, sums in zip(self.categories.values(), shares, strict=True):
            if sums.any() and sums.argmax() < len(known):
                fill[start + sums.argmax()] = 1.0
            start += len(known)
        both = zip(self.texts.items(), n_with, strict=True)
        texts = {name: text.weighted(found, total) for (name, text), found in both}
        return replace(self, fill=fill, texts=texts)

    def reads_as_missing(self, name: str, word: str) -> bool:
        """Whether a category counts as missing, because training had none or few of it."""
        pool = self.pools.get(name, Pool())
        if name not in self.others or pool.is_open:
            return False
        is_known = word in self.categories[name] or word in self.others[name]
        return not pool.is_other if word in pool.rare else not is_known

    def replacements(self) -> dict[str, str]:
        """The category that replaces a missing one, for each categorical source column.

        Categories that the matrix does not tell apart are named together.
        """
        told, start = {}, len(self.numbers)
        for name, known in self.categories.items() if self.fill.size else ():
            usual = [word for word, one in zip(known, self.fill[start:], strict=False) if one]
            usual = usual or self.others.get(name) or ["other"]
            is_long = len(usual) > _MOST_NAMED
            told[name] = f"any but {' or '.join(known)}" if is_long else " or ".join(usual)
            start += len(known)
        return told

    def finish(self, encoded: Matrix, impute: bool = True) -> Matrix:
        """Make the matrix that a classifier sees: missing values filled, words weighted.

        Parameters
        ----------
        encoded : ndarray or CSR array of shape (n_rows, n_columns)
        impute : bool
            False leaves NaN where a value is missing.

        Returns
        -------
        X : ndarray or CSR array of shape (n_rows, n_columns)
            `encoded` itself if there is nothing to do.
        """
        encoded = self.pool(encoded)
        values = encoded.data if is_sparse(encoded) else encoded
        if impute and np.isnan(values).any():
            if is_sparse(encoded):
                encoded = encoded.copy()
                missing = np.isnan(encoded.data)
                encoded.data[missing] = self.fill[encoded.indices[missing]]
            else:
                filled: Matrix = np.where(np.isnan(encoded), self.fill, encoded)
                encoded = filled
        if any(text.idf is not None for text in self.texts.values()):
            encoded = encoded.copy()
            first = self.n_columns - sum(len(t.words) for t in self.texts.values())
            weights = np.concatenate([text.idf for text in self.texts.values()])
            words = encoded.indices >= first
            counts = encoded.data[words]
            encoded.data[words] = (1 + np.log(counts)) * weights[encoded.indices[words] - first]
        return encoded

    def transform(self, table: Columns, impute: bool = True) -> Matrix:
        """Matrix of a table: `encode`, then `finish`."""
        return self.finish(self.encode(table), impute)

    def restrict(self, columns: ArrayLike) -> Preparation:
        """The preparation of some columns of the matrix.

        Parameters
        ----------
        columns : array-like of int
            Ascending.

        Returns
        -------
        preparation : Preparation
        """
        columns = np.asarray(columns, dtype=np.intp)
        wanted = np.zeros(self.n_columns, dtype=bool)
        wanted[columns] = True
        start = len(self.numbers)
        numbers = [name for name, keep in zip(self.numbers, wanted, strict=False) if keep]
        categories, others, texts = {}, {}, {}
        for name, known in self.categories.items():
            kept = [c for c, keep in zip(known, wanted[start:], strict=False) if keep]
            if kept:
                categories[name] = kept
                seen = {*self.others.get(name, ()), *known}
                others[name] = sorted(seen.difference(kept, self.pools.get(name, Pool()).rare))
            start += len(known)
        for name, text in self.texts.items():
            kept = np.flatnonzero(wanted[start : start + len(text.words)])
            if kept.size:
                texts[name] = text.restrict(kept)
            start += len(text.words)
        fill = self.fill[columns] if self.fill.size else self.fill
        present = {*numbers, *categories, *texts}
        groups = {name: group for name, group in self.groups.items() if name in present}
        return replace(
            self,
            numbers=numbers,
            categories=categories,
            texts=texts,
            groups=groups,
            fill=fill,
            missing=self.missing.restrict(present),
            others=others,
            ranges=self.ranges[wanted[: len(self.numbers)]] if len(self.ranges) else self.ranges,
            pools={name: pool for name, pool in self.pools.items() if name in categories},
            spreads=self.spreads[wanted[: len(self.numbers)]]
            if self.spreads.size
            else self.spreads,
            whole=[name for name in self.whole if name in present],
        )
