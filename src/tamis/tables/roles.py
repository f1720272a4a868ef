"""Roles of columns: what is to be predicted, what names the rows, what can be learned from."""

import numpy as np
from scipy import sparse

from tamis.tables.errors import InputError, counted, listed, require_names
from tamis.tables.features import check_values, decide_kinds, note_words
from tamis.tables.labels import as_labels, check_classes, require_target
from tamis.tables.missing import MissingWords
from tamis.tables.raw import (
    find_column,
    keep_columns,
    refuse_repeated,
    tell_repeated,
    without_numbers,
)
from tamis.tables.table import Columns, Table
from tamis.tables.tokens import missing_in, parse_numbers, strings, without

__all__ = ["Wishes", "assign_roles"]


class Wishes:
    """What the user says about columns; see `tamis.tables.read_table`."""

    def __init__(
        self,
        target=None,
        id_column=None,
        groups=None,
        batch=None,
        weights=None,
        text=(),
        categorical=(),
        drop=(),
        include=(),
        missing="impute",
        missing_values=None,
        require_target=True,
    ):
        if missing not in ("impute", "error"):
            raise InputError(f"missing must be 'impute' or 'error', got {missing!r}")
        self.target = target
        self.id_column = id_column
        self.groups = groups
        self.batch = batch
        self.weights = weights
        self.text = _names(text)
        self.categorical = _names(categorical)
        self.drop = _names(drop)
        self.include = _names(include)
        self.missing = missing
        self.missing_words = MissingWords(
            None if missing_values is None else _names(missing_values)
        )
        self.require_target = require_target


def _names(value):
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    return [name.strip() if isinstance(name, str) else name for name in value if name != ""]


def _require_whole(values, name, role):
    """Rows of no group would be one, or each its own: nobody knows."""
    if values is None:
        return
    n = sum(value is None or value != value for value in values.tolist())
    if n:
        raise InputError(f"{role}: {counted(n, 'row')} without a value in {name!r}; fill them in")


def assign_roles(raw, wishes, labels=None):
    """The data set of a raw table.

    Parameters
    ----------
    raw : RawTable
        All columns of a file.
    wishes : Wishes
        What the user says about them.
    labels : (str, ndarray) or None
        Name and labels that come from another file, one a row.

    Returns
    -------
    Table
        Features, kinds, labels and notes.
    """
    notes = list(raw.notes)
    if raw.repeated:
        notes.append(tell_repeated(raw.repeated))
    place = _Places(raw)
    target, y = _target(raw, wishes, labels, place)
    ids = place.take(wishes.id_column, "id_column")
    groups = place.take(wishes.groups, "groups")
    batches = place.take(wishes.batch, "batch")
    weights = place.take(wishes.weights, "weights")
    text, categorical, drop, include = (
        place.features(names, role)
        for names, role in (
            (wishes.text, "text"),
            (wishes.categorical, "categorical"),
            ([name for name in wishes.drop if name not in raw.dropped], "drop"),
            (wishes.include, "include"),
        )
    )
    twice = set(text) & set(categorical)
    if twice:
        raise InputError(f"{listed(sorted(twice))}: either text or categorical, not both")
    twice = set(drop) & {*text, *categorical, *include}
    if twice:
        raise InputError(f"{listed(sorted(twice))}: either dropped or used, not both")
    categorical += [name for name in raw.categorical if name not in {*text, *drop, *categorical}]
    place.used.update(drop)

    rows = None
    missing = wishes.missing_words
    if y is not None:
        y, is_known = as_labels(y, missing)
        if not is_known.all():
            rows = np.flatnonzero(is_known)
            n_lost = counted(y.size - rows.size, "row")
            notes.append(f"{n_lost} without a label in {target!r} left out")
            y = y[rows]
        note_words({target: np.unique(y).tolist()}, "class", missing, notes)
        if wishes.require_target:
            check_classes(y, target)
        if y.dtype.kind == "f":
            y = strings(y).astype(str)
            notes.append(f"the labels in {target!r} are not whole numbers: they are used as words")
    table = place.table(rows, missing.numbers)
    if table.n_rows == 0:
        raise InputError("the table has no rows")
    table, kinds, spotted, missing = decide_kinds(
        table, text, categorical, include, missing, notes, raw.decimal
    )
    if ids is None:
        ids = raw.ids
    if ids is None and spotted is not None:
        ids = place.column(spotted)
    ids, groups, batches = (_rows_of(values, rows) for values in (ids, groups, batches))
    groups, batches = (_known(values, missing) for values in (groups, batches))
    _require_whole(groups, wishes.groups, "groups")
    _require_whole(batches, wishes.batch, "batch")
    weights = check_row_weights(weights, rows, wishes.weights)
    check_values(table, wishes.missing, notes)
    if not table.names:
        reason = notes[-1] if notes else "the table has no column beside the target"
        raise InputError(f"no feature is left: {reason}")
    return Table(table, kinds, y, target, ids, groups, batches, weights, notes, missing)


def check_row_weights(values, rows, name):
    """Sample weights as numbers, of some rows; None where there are none."""
    if values is None:
        return None
    values = values if rows is None else values[rows]
    if values.dtype.kind in "biuf":
        weights = values.astype(np.float64)
    else:
        weights, _ = parse_numbers([None if v is None else str(v) for v in values.tolist()])
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        value = values[wrong[0]]
        found = "no value" if value is None or value != value or value == "" else f"{value!s}"
        raise InputError(
            f"weights: row {wrong[0] + 1} has {found} in {name!r}; expected a number of at least 0"
        )
    if not weights.any():
        raise InputError(f"weights: all weights in {name!r} are 0; expected some above 0")
    return weights


def _rows_of(values, rows):
    if values is None:
        return None
    return strings(values if rows is None else values[rows])


def _known(values, missing):
    """Names of groups or batches, None where a word stands for none."""
    return None if values is None else without(values, missing_in(values, missing))


class _Places:
    """Where the columns of a raw table are, and which of them have a role already."""

    def __init__(self, raw):
        self.raw = raw
        self.used = set()
        self.at = {name: j for j, name in enumerate(raw.numeric_names)}

    def column(self, name):
        """Values of a column, wherever it is."""
        raw = self.raw
        if name in raw.booleans:
            return raw.booleans[name]
        if name in raw.side:
            return raw.side[name]
        if name in raw.others:
            return raw.others[name]
        column = raw.numeric[:, [self.at[name]]]
        return (column.toarray() if sparse.issparse(column) else np.asarray(column)).ravel()

    def take(self, name, role):
        """A column that is no feature from now on."""
        if name is None:
            return None
        found = self.raw.find(name)
        if found is None:
            require_names([str(name)], self.raw.names, role)
        refuse_repeated(found, self.raw.repeated, role)
        self.used.add(found)
        return self.column(found)

    def features(self, names, role):
        """Names of features as the user gives them, places among them."""
        raw = self.raw
        known = raw.features
        found = [find_column(name, known, raw.is_named) for name in names]
        known_set = {*known, *raw.side}
        absent = [
            str(name)
            for name, hit in zip(names, found, strict=True)
            if hit is None and name not in known_set
        ]
        require_names(absent, known, role)
        return [name for name in found if name is not None]

    def table(self, rows, missing_numbers):
        """The features that are left, of some rows."""
        raw = self.raw
        keep = [j for j, name in enumerate(raw.numeric_names) if name not in self.used]
        numeric = without_numbers(keep_columns(raw.numeric, keep), missing_numbers)
        names = np.array([raw.numeric_names[j] for j in keep], dtype=str)
        others = {name: values for name, values in raw.others.items() if name not in self.used}
        table = Columns(numeric, names, others)
        return table if rows is None else table.take(rows)


def _target(raw, wishes, labels, place):
    if labels is not None:
        name = labels[0]
        place.used.add(name)
        return name, labels[1]
    if not wishes.require_target:
        known = raw.own_target if wishes.target is None else raw.find(wishes.target)
        if known is None:
            return None, None
    name = require_target(wishes.target, raw)
    refuse_repeated(name, raw.repeated, "target")
    place.used.add(name)
    return name, place.column(name)
