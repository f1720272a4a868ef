"""Free text becomes counts of words, or of sequences of words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix

VECTORIZERS = ("counts", "tfidf", "hashing")
# Columns of hashed words.
N_HASHED = 2**18
# A word that occurs in a single row says nothing about other rows.
_SMALLEST_COUNT = 2
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"


@dataclass(frozen=True)
class TextColumns:
    """The words of one column of free text."""

    kind: str  # "counts", "tfidf", "hashing"
    ngrams: tuple  # shortest and longest sequence of words
    words: list  # words, in the order of their columns; "#17" is column 17 of the hashed ones
    # (len(words),) or None: with "tfidf": how rare the words are, learned from training rows.
    idf: np.ndarray | None = None

    def rows_with(self, counts: Matrix, weights: NDArray) -> NDArray[np.float64]:
        """Weight of the rows with each word."""
        return np.asarray(weights @ sparse.csr_array(counts != 0)).ravel()

    def weighted(self, n_with: NDArray, total: float) -> TextColumns:
        """With the rarity of the words, given the weights of rows with them, and of all rows."""
        if self.kind != "tfidf":
            return self
        return replace(self, idf=np.log((1 + total) / (1 + n_with)) + 1.0)

    def restrict(self, kept: NDArray) -> TextColumns:
        """Some of the words."""
        idf = None if self.idf is None else self.idf[kept]
        return replace(self, words=[self.words[at] for at in kept], idf=idf)


def find_words(values: NDArray, kind: str, ngrams: tuple[int, int]) -> TextColumns:
    """The words of a column, in alphabetical order: those of at least two rows, if any.

    `values`: texts; None where missing.
    """
    if kind == "hashing":
        return TextColumns(kind, tuple(ngrams), [f"#{at}" for at in range(N_HASHED)])
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import

    counter = CountVectorizer(
        token_pattern=_TOKEN_PATTERN,
        ngram_range=tuple(ngrams),
        min_df=min(_SMALLEST_COUNT, len(values)),
    )
    try:
        counter.fit(_texts(values))
    except ValueError:  # no word at all, or none in two rows
        return TextColumns(kind, tuple(ngrams), [])
    return TextColumns(kind, tuple(ngrams), counter.get_feature_names_out().tolist())


def words_in_rows(values: NDArray, kind: str, ngrams: tuple[int, int]) -> Counter:
    """In how many rows each word of a column occurs; "#17" is a place of hashed ones.

    `values`: texts; None where missing.
    """
    if kind == "hashing":
        found = count_words(values, find_words(values, kind, ngrams)).indices
        places, n_rows = np.unique(found, return_counts=True)
        return Counter(
            {f"#{at}": n for at, n in zip(places.tolist(), n_rows.tolist(), strict=True)}
        )
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(token_pattern=_TOKEN_PATTERN, ngram_range=tuple(ngrams), binary=True)
    try:
        counts = counter.fit_transform(_texts(values))
    except ValueError:  # no word at all
        return Counter()
    n_rows = np.bincount(counts.indices, minlength=counts.shape[1]).tolist()
    return Counter(dict(zip(counter.get_feature_names_out().tolist(), n_rows, strict=True)))


def count_words(values: NDArray, text: TextColumns) -> Matrix:
    """Counts of the words of a column, CSR of shape (n_rows, len(text.words))."""
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    options = {"token_pattern": _TOKEN_PATTERN, "ngram_range": text.ngrams}
    if text.kind != "hashing":
        counter = CountVectorizer(vocabulary=text.words, dtype=np.float64, **options)
        return sparse.csr_array(counter.transform(_texts(values)))
    hasher = HashingVectorizer(n_features=N_HASHED, alternate_sign=False, norm=None, **options)
    counts = sparse.csr_array(hasher.transform(_texts(values)))
    if len(text.words) == N_HASHED:
        return counts
    return counts[:, [int(word[1:]) for word in text.words]]


def _texts(values):
    return ["" if value is None else value for value in values]
