"""What a reader hands over: all columns of a file, before any of them has a role."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from tamis.tables.errors import InputError, listed
from tamis.tables.integers import TOO_LARGE, large_columns

__all__ = [
    "RawTable",
    "as_floats",
    "find_column",
    "keep_columns",
    "refuse_repeated",
    "tell_repeated",
    "unique_names",
    "without_numbers",
]


@dataclass
class RawTable:
    """All columns of a file.

    Attributes
    ----------
    numeric : ndarray or CSR array of shape (n_rows, n_numeric)
        Columns of numbers.
    numeric_names : list of str
        Their names.
    others : dict of str to ndarray of object
        Columns of words: str or None.
    side : dict of str to ndarray of shape (n_rows,)
        What the file knows about its rows beside the features: labels, patients, batches.
    booleans : dict of str to ndarray of bool
        Columns of numbers that are truth values, for labels that are.
    own_target : str or None
        Where this format keeps its labels, a key of `side`.
    ids : ndarray or None
        Names of the rows, where the format has them.
    order : list of str
        Names of the features as they follow each other in the file; empty where that is numbers,
        then words.
    is_named : bool
        False when the names are x0, x1, ... because the file has none.
    categorical : list of str
        Columns that the file itself says are categories.
    decimal : {".", ","}
        Decimal mark of words that are numbers.
    notes : list of str
        What the reader guessed.
    repeated : list of str
        Names that several columns have in the file; here all but the first have a number.
    dropped : list of str
        What the reader has left out because the user said so.
    """

    numeric: np.ndarray
    numeric_names: list
    others: dict = field(default_factory=dict)
    side: dict = field(default_factory=dict)
    booleans: dict = field(default_factory=dict)
    own_target: str | None = None
    ids: np.ndarray | None = None
    order: list = field(default_factory=list)
    is_named: bool = True
    categorical: list = field(default_factory=list)
    decimal: str = "."
    notes: list = field(default_factory=list)
    repeated: list = field(default_factory=list)
    dropped: list = field(default_factory=list)

    @property
    def n_rows(self):
        """Number of rows."""
        return self.numeric.shape[0]

    @property
    def features(self):
        """Names of the columns that could be features."""
        return self.order or [*self.numeric_names, *self.others]

    @property
    def names(self):
        """All names: features, then what lies beside them."""
        return [*self.features, *self.side]

    def find(self, name):
        """Name of a column given by name or, where columns have no names, by place; else None."""
        if name in self.side:
            return name
        return find_column(name, self.features, self.is_named)


def find_column(name, names, is_named):
    """A column by its name, or by its place when the file has no names; None if there is none."""
    if isinstance(name, str) and name in names:
        return name
    try:
        at = int(name)
    except ValueError:
        return None
    is_place = isinstance(name, (int, np.integer)) or not is_named
    return names[at] if is_place and -len(names) <= at < len(names) else None


def unique_names(names):
    """Names of columns that differ: the second of two gets ".1", the third ".2", and so on.

    Returns
    -------
    unique : list of str
        The names, those that come back with a number that no other name has.
    repeated : list of str
        The names that come back.

    Examples
    --------
    >>> unique_names(["TP53", "MYC", "TP53", "TP53"])
    (['TP53', 'MYC', 'TP53.1', 'TP53.2'], ['TP53'])
    """
    taken = set(names)
    if len(taken) == len(names):
        return list(names), []
    unique, last = [], {}
    for name in names:
        if name not in last:
            last[name] = 0
            unique.append(name)
            continue
        other = name
        while other in taken:
            last[name] += 1
            other = f"{name}.{last[name]}"
        taken.add(other)
        unique.append(other)
    return unique, [name for name, number in last.items() if number]


def tell_repeated(repeated):
    """A message about columns that share a name and were numbered."""
    return (
        f"several columns have the same name ({listed(map(repr, repeated))}): all but the first"
        f" get a number, such as {repeated[0] + '.1'!r}"
    )


def refuse_repeated(name, repeated, role):
    """Refuse a role for a name that several columns have."""
    if name in repeated:
        raise InputError(
            f"{role}: several columns are called {name!r}; rename them, so that it is clear which"
            " one is meant"
        )


def as_floats(values, source="X"):
    """Numbers as float32 or float64, whichever holds them; no copy where none is needed."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind == "c" or values.dtype.kind not in "fiub":
        raise InputError(f"{source} must hold numbers, got {values.dtype}")
    large = large_columns(values)
    if large.size:
        raise InputError(f"{source}: column {large[0]}, counted from 0, {TOO_LARGE}")
    is_small = values.dtype.itemsize <= 2
    return values.astype(np.float32 if is_small else np.float64)


def keep_columns(matrix, keep):
    """Some columns of a matrix; a view where they are neighbours, so a mapped file stays one."""
    keep = np.asarray(keep, dtype=np.intp)
    if keep.size == matrix.shape[1]:
        return matrix
    if keep.size and keep[-1] - keep[0] + 1 == keep.size and not sparse.issparse(matrix):
        return matrix[:, keep[0] : keep[-1] + 1]
    if sparse.issparse(matrix):
        return matrix.tocsc()[:, keep].tocsr()
    return matrix[:, keep]


def without_numbers(matrix, numbers):
    """The matrix with NaN for some numbers, which stand for missing values."""
    if not numbers or not matrix.shape[1]:
        return matrix
    if sparse.issparse(matrix):
        if 0.0 in numbers:
            raise InputError(
                "--missing-values 0: zeros of a sparse table are not stored, and cannot be missing"
            )
        return sparse.csr_array(
            (without_numbers(matrix.data[:, None], numbers)[:, 0], matrix.indices, matrix.indptr),
            shape=matrix.shape,
        )
    return np.where(np.isin(matrix, numbers), np.nan, matrix)
