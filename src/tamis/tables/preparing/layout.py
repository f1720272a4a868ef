"""Which columns the matrix of a table has: decided from all rows, without using labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.rare import Pool
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.encoding import narrow
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.words import TextColumns, find_words

# Only the most frequent categories have a column.
_N_CATEGORIES = 50


def choose_categories(counts: Mapping[str, int]) -> tuple[list[str], list[str], list[str] | None]:
    """Categories that have a column, and those that have none, given the rows of each.

    Returns `known`, `others`: with a column; without one, because the column of the other of two
    says the same; `pooled`: categories beyond the most frequent ones; None for a column that is
    never pooled.
    """
    seen = sorted(counts)
    if len(seen) <= 2:
        return seen[-1:], seen[:-1], None
    known = sorted(sorted(seen, key=lambda word: -counts[word])[:_N_CATEGORIES])
    return known, [], sorted(set(seen).difference(known))


def make_layout(
    table: Columns,
    counts: Mapping[str, Mapping[str, int]],
    texts: dict[str, TextColumns],
    groups: Mapping[str, str] | None,
    missing: MissingWords | None,
) -> Preparation:
    """The layout of a table, given the rows of the categories of each column."""
    missing = missing or MissingWords()
    categories, others, pools = {}, {}, {}
    for name, rows in counts.items():
        categories[name], others[name], pooled = choose_categories(rows)
        if pooled is not None:
            pools[name] = Pool(pooled, True, name not in missing.choices)
    return Preparation(
        table.numeric_names.tolist(),
        categories,
        texts,
        dict(groups or {}),
        table.is_sparse or bool(texts),
        # New rows are read without an error: what is not a choice is missing, and is reported.
        missing=replace(missing, choices={}, refused=[]),
        others=others,
        pools=pools,
    )


def lay_out(
    table: Columns,
    kinds: Mapping[str, str],
    *,
    groups: Mapping[str, str] | None = None,
    vectorizer: str = "counts",
    ngrams: tuple[int, int] = (1, 1),
    missing: MissingWords | None = None,
) -> tuple[Preparation, Matrix]:
    """Decide which columns the matrix of a table has, without using labels.

    Parameters
    ----------
    table : Columns
    kinds : dict of str to {"categorical", "text"}
        Kinds of the columns that are not numbers.
    groups : dict of str to str or None
        Source columns that are counted together, with the name of their feature group.
    vectorizer : {"counts", "tfidf", "hashing"}
        How words of free text are counted.
    ngrams : tuple of int
        Shortest and longest sequence of words to count.
    missing : MissingWords or None
        Words that were read as missing values; None: the usual ones.

    Returns
    -------
    preparation : Preparation
        With nothing learned yet.
    encoded : ndarray or CSR array of shape (n_rows, n_columns)
        As `Preparation.encode`.
    """
    counts, texts = {}, {}
    for name, values in table.others.items():
        if kinds[name] == "categorical":
            counts[name] = Coded.of(values).counts
        else:
            words = find_words(values, vectorizer, ngrams)
            if words.words:
                texts[name] = words
    preparation = make_layout(table, counts, texts, groups, missing)
    encoded = preparation.encode(table)
    if texts and vectorizer == "hashing":
        # Hash columns without any word are not features: nothing is counted or tested there.
        is_used = np.bincount(encoded.indices, minlength=encoded.shape[1]) > 0
        is_used[: preparation.n_columns - sum(len(text.words) for text in texts.values())] = True
        kept = np.flatnonzero(is_used)
        preparation, encoded = preparation.restrict(kept), narrow(encoded[:, kept])
    return preparation, encoded


def missing_columns(encoded: Matrix) -> NDArray:
    """Columns of an encoded matrix that have missing values."""
    values = encoded.data if is_sparse(encoded) else encoded
    if not np.isnan(values).any():
        return np.zeros(0, dtype=np.intp)
    if is_sparse(encoded):
        return np.unique(encoded.indices[np.isnan(encoded.data)])
    return np.flatnonzero(np.isnan(encoded).any(axis=0))
