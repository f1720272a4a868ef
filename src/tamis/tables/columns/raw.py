"""All columns of a file, before they have roles, and their names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tamis.tables.columns.coded import Coded
from tamis.tables.errors import InputError, listed


@dataclass
class RawTable:
    """All columns of a file."""

    numeric: np.ndarray  # (n_rows, n_numeric): columns of numbers
    numeric_names: list[str]  # their names
    # Columns of words: str or None.
    others: Mapping[str, np.ndarray | Coded] = field(default_factory=dict)
    # (n_rows,): columns of the file that are not features: labels, patients, batches.
    side: dict[str, np.ndarray] = field(default_factory=dict)
    # Columns of numbers that are boolean in the file, in case they are labels.
    booleans: dict[str, np.ndarray] = field(default_factory=dict)
    own_target: str | None = None  # the column of `side` in which this format stores labels
    ids: np.ndarray | None = None  # names of the rows, if the format has them
    # Names of the features in the order of the file; empty if numbers come before words.
    order: list[str] = field(default_factory=list)
    is_named: bool = True  # False if the names are x0, x1, ... because the file has none
    # Columns that are categories according to the file.
    categorical: list[str] = field(default_factory=list)
    # Decimal mark of words that are numbers; None: what most of them have.
    decimal: str | None = None
    notes: list[str] = field(default_factory=list)  # decisions of the reader to report to the user
    # Names that several columns of the file share; here all but the first have a number.
    repeated: list[str] = field(default_factory=list)
    # Columns that the reader dropped because the user asked for it.
    dropped: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.numeric.shape[0]

    @property
    def features(self) -> list[str]:
        """Names of the columns that could be features."""
        return self.order or [*self.numeric_names, *self.others]

    @property
    def names(self) -> list[str]:
        """Names of all columns: features, then the columns of `side`."""
        return [*self.features, *self.side]


def find_column(name: str | int, names: Sequence[str], is_named: bool) -> str | None:
    """Find a column by its name, or by its position if the file has no names; None if absent."""
    if isinstance(name, str) and name in names:
        return name
    try:
        at = int(name)
    except ValueError:
        return None
    is_position = isinstance(name, (int, np.integer)) or not is_named
    return names[at] if is_position and -len(names) <= at < len(names) else None


def unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Make names unique: the second of two equal names gets ".1", the third ".2", and so on.

    Returns `unique`: the names, with a number where one occurred before; `repeated`: the names
    that occur more than once.

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


def tell_repeated(repeated: Sequence[str]) -> str:
    """Describe columns that share a name and were numbered."""
    return (
        f"several columns have the same name ({listed(map(repr, repeated))}): all but the first"
        f" are numbered, such as {repeated[0] + '.1'!r}"
    )


def refuse_repeated(name: str, repeated: Collection[str], role: str) -> None:
    """Raise InputError if a role is given to a name that several columns share."""
    if name in repeated:
        raise InputError(
            f"{role}: several columns are called {name!r}; rename them so that it is clear"
            " which one is meant"
        )
