"""Sparse text files in the format of svmlight and LIBSVM."""

import io
from itertools import islice

import numpy as np
from scipy import sparse

from tamis.io.errors import EmptyTableError
from tamis.io.raw import RawTable
from tamis.io.source import bounded_file, name_of

__all__ = ["iter_svmlight", "read_svmlight"]

_MANY_COLUMNS = 1_000_000


def _load(file):
    from sklearn.datasets import load_svmlight_file

    X, y, query = load_svmlight_file(file, zero_based=True, query_id=True)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X, y, query


def read_svmlight(path, budget):
    """Features f1, f2, ... by their number in the file (f0 too where it is used) and labels."""
    # An entry such as "1:1 " takes 16 bytes.
    with bounded_file(path, budget, most=budget.limit // 4) as file:
        X, y, query = _load(file)
    if X.shape[0] == 0:
        raise EmptyTableError(f"{name_of(path)} has no rows")
    notes = []
    if X.shape[1] > _MANY_COLUMNS:
        used = np.unique(X.indices)
        notes.append(f"{X.shape[1]:,} features, of which {used.size:,} are ever other than zero")
        X = sparse.csr_array(
            (X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], used.size)
        )
    else:
        first = 1 if X.nnz and X.indices.min() >= 1 else 0
        used = np.arange(first, X.shape[1])
        if first:
            X = sparse.csr_array((X.data, X.indices - 1, X.indptr), (X.shape[0], X.shape[1] - 1))
    side = {"target": y}
    if len(query) == len(y) and np.any(query != query[0]):
        side["qid"] = query
    names = [f"f{j}" for j in used.tolist()]
    return RawTable(X, names, side=side, own_target="target", notes=notes)


def iter_svmlight(path, wanted, chunk_rows, budget):
    """Chunks of some features, given by their numbers in the file, with the labels."""
    wanted = np.asarray(wanted, dtype=np.int64)
    with bounded_file(path, budget) as file:
        while lines := list(islice(file, chunk_rows)):
            X, y, _ = _load(io.BytesIO(b"".join(lines)))
            if X.shape[0] == 0:
                continue
            width = int(max(wanted.max(initial=-1) + 1, X.shape[1]))
            X = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
            yield X.tocsc()[:, wanted].tocsr(), y
