"""Roles of columns: labels, names of rows, groups, weights, features."""

import numpy as np
from numpy.typing import NDArray

from tamis._array import is_sparse
from tamis._base import WeightSummary
from tamis.tables.columns.choices import enforce_choices
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.features import decide_kinds, keep_columns
from tamis.tables.columns.limits import read_limit
from tamis.tables.columns.notes import note_words
from tamis.tables.columns.raw import RawTable, find_column, refuse_repeated, tell_repeated
from tamis.tables.columns.sample_weights import parse_weights, scale_weights, used_rows
from tamis.tables.columns.spelling import hint_alike
from tamis.tables.columns.table import Columns, Table
from tamis.tables.columns.times import read_times
from tamis.tables.columns.values import as_labels, missing_in, row_names, strings, without_numbers
from tamis.tables.columns.wishes import Wishes
from tamis.tables.errors import InputError, counted, listed, nearest, require_names

_MANY_CLASSES = 100
_MANY_VALUES = 20


def assign_roles(
    raw: RawTable,
    wishes: Wishes,
    labels: tuple[str, NDArray] | None = None,
    all_weights: WeightSummary | None = None,
) -> Table:
    """Turn all columns of a file into features, labels and other roles.

    `all_weights`: of the file that these rows are a sample of; None: these are all rows.
    """
    notes = list(raw.notes)
    if raw.repeated:
        notes.append(tell_repeated(raw.repeated))
    columns = _Columns(raw)
    target, y = _find_target(columns, wishes, labels)
    ids = columns.take(wishes.id_column, "id_column")
    groups = columns.take(wishes.groups, "groups")
    batches = columns.take(wishes.batch, "batch")
    weights = columns.take(wishes.weights, "weights")
    times = columns.take(wishes.time, "time")
    subgroups = {name: columns.look_up(name, "subgroups") for name in wishes.subgroups}
    text, categorical, include = columns.choose_features(wishes)

    rows = None
    missing = wishes.missing_words
    if y is not None:
        y, is_known = as_labels(y, missing)
        if not is_known.all():
            rows = np.flatnonzero(is_known)
            n_lost = counted(y.size - rows.size, "row")
            notes.append(f"{n_lost} without a label in {target!r} ignored")
            y = y[rows]
    if weights is not None:
        name = str(wishes.weights)
        weights = parse_weights(weights if rows is None else weights[rows], name)
        weights = scale_weights(weights, name, notes, all_weights)
        used = used_rows(weights, notes, is_sample=all_weights is not None)
        if used.size < weights.size:
            rows = used if rows is None else rows[used]
            weights, y = weights[used], None if y is None else y[used]
    if y is not None:
        classes, counts = np.unique(y, return_counts=True)
        note_words({target: classes.tolist()}, "class", missing, notes)
        if wishes.require_target:
            _check_classes(y, classes, counts, target)
        if y.dtype.kind == "f":
            y = np.asarray(strings(y)).astype(str)
            notes.append(
                f"the labels in {target!r} are not whole numbers: they are used as strings"
            )
    table = columns.without_roles(rows, missing.numbers if missing.words else ())
    if table.numeric.shape[0] == 0:
        raise InputError("the table has no rows")
    n_notes = len(notes)
    table, kinds, spotted, missing = decide_kinds(
        table, text, categorical, include, missing, notes, raw.decimal
    )
    for name in filter(table.others.__contains__, missing.choices):
        table.others[name] = enforce_choices(name, table.others[name], missing, notes, rows)
    if ids is None:
        ids = raw.ids
    if ids is None and spotted is not None:
        ids = columns.values(spotted)
    if ids is not None:
        ids = row_names(ids if rows is None else ids[rows])
    groups = _check_groups(groups, rows, missing, wishes.groups, "groups")
    batches = _check_groups(batches, rows, missing, wishes.batch, "batch")
    if times is not None:
        times = times if rows is None else times[rows]
        if times.dtype == object:
            times = np.asarray(Coded.of(times).without(missing_in(times, missing)))
        times = read_times(times, str(wishes.time))
    for name, values in subgroups.items():
        if name in missing.limited:  # as the feature is read
            column = table.select([name]).numeric
            column = column.toarray() if is_sparse(column) else np.asarray(column)
            subgroups[name] = np.asarray(strings(column.ravel()))
            continue
        values = strings(values if rows is None else values[rows])
        subgroups[name] = np.asarray(values.without(missing_in(values, missing)))
    _check_values(table, wishes.missing, notes)
    if not table.numeric_names.size and not table.others:
        reasons = notes[n_notes:] or notes[-1:] or ["the table has no column except the target"]
        raise InputError(f"no feature is left: {'; '.join(reasons)}")
    limits = {}
    for name in missing.limited:
        values = Coded.of(columns.values(name))
        kept = values.map(lambda w: None if read_limit(w, "limit", missing.decimal) is None else w)
        limits[name] = np.asarray(kept if rows is None else kept[rows])
    known = (y, target, ids, groups, batches, weights, notes, missing, times, subgroups, limits)
    return Table(table, kinds, *known, places=None if rows is None else rows + 1)


class _Columns:
    """Columns of a raw table, some of which have a role already."""

    def __init__(self, raw):
        self.raw = raw
        self.used = set()
        self.index = {name: j for j, name in enumerate(raw.numeric_names)}
        self.features = raw.order or [*raw.numeric_names, *raw.others]

    def find(self, name):
        """Name of a column given by its name, or by its position if columns have no names."""
        if name is None or name in self.raw.side:
            return name
        return find_column(name, self.features, self.raw.is_named)

    def values(self, name):
        """Values of a column of any kind."""
        raw = self.raw
        for known in (raw.booleans, raw.side, raw.others):
            if name in known:
                return known[name]
        column = raw.numeric[:, [self.index[name]]]
        return (column.toarray() if is_sparse(column) else np.asarray(column)).ravel()

    def take(self, name, role):
        """Take the values of a column, which is no longer a feature."""
        if name is None:
            return None
        values = self.look_up(name, role)
        self.used.add(self.find(name))
        return values

    def look_up(self, name, role):
        """The values of a column, which stays a feature if it is one."""
        column = self.find(name)
        if column is None:
            require_names([str(name)], self.raw.names, role)
        if column in self.raw.repeated:
            refuse_repeated(column, self.raw.repeated, role)
        return self.values(column)

    def choose_features(self, wishes):
        """Names of the features for text, as categories, and to include; others are dropped."""
        dropped = [name for name in wishes.drop if name not in self.raw.dropped]
        text = self._find_features(wishes.text, "text")
        categorical = self._find_features(wishes.categorical, "categorical")
        drop = self._find_features(dropped, "drop")
        include = self._find_features(wishes.include, "include")
        twice = set(text) & set(categorical)
        if twice:
            raise InputError(f"{listed(sorted(twice))}: either text or categorical, not both")
        twice = set(drop) & {*text, *categorical, *include}
        if twice:
            raise InputError(f"{listed(sorted(twice))}: either dropped or used, not both")
        decided = {*text, *drop, *categorical}
        categorical += [name for name in self.raw.categorical if name not in decided]
        self.used.update(drop)
        return text, categorical, include

    def _find_features(self, names, role):
        columns = [find_column(name, self.features, self.raw.is_named) for name in names]
        known = {*self.features, *self.raw.side} if names else ()
        absent = [
            str(name)
            for name, hit in zip(names, columns, strict=True)
            if hit is None and name not in known
        ]
        if absent:
            require_names(absent, self.features, role)
        return [name for name in columns if name is not None]

    def without_roles(self, rows, missing_numbers):
        """The columns that have no role yet, of some rows."""
        raw, used = self.raw, self.used
        keep = [j for j, name in enumerate(raw.numeric_names) if name not in used]
        numeric = keep_columns(raw.numeric, keep)
        if missing_numbers:
            numeric = without_numbers(numeric, missing_numbers)
        names = np.array([raw.numeric_names[j] for j in keep], dtype=str)
        others = {name: values for name, values in raw.others.items() if name not in used}
        table = Columns(numeric, names, others)
        return table if rows is None else table.take(rows)


def _find_target(columns, wishes, labels):
    """Name and values of the labels; None, None if there are none and none are required."""
    if labels is not None:
        columns.used.add(labels[0])
        return labels
    raw = columns.raw
    name = raw.own_target if wishes.target is None else columns.find(wishes.target)
    if name is None and not wishes.require_target:
        return None, None
    if name is None and wishes.target is None:
        raise InputError(f"specify the label column with --target, such as {_candidates(raw)}")
    if name is None:
        near = nearest(wishes.target, raw.names) or raw.names[-3:]
        raise InputError(
            f"no column {str(wishes.target)!r} for the target; nearest: {', '.join(near)}"
        )
    return name, columns.take(name, "target")


def _candidates(raw, most=5):
    """Columns that may hold classes: those with few values first, words before numbers."""
    scored = []
    for rank, (name, values) in enumerate([*raw.side.items(), *raw.others.items()]):
        scored.append((_n_distinct(values), rank, name))
    head = raw.numeric[:1000]
    for j in [*range(raw.numeric.shape[1])][-2000:]:
        column = head[:, [j]].toarray().ravel() if hasattr(head, "toarray") else head[:, j]
        if (column == np.floor(column)).all():
            scored.append((_n_distinct(column), len(scored) + 1, raw.numeric_names[j]))
    few = sorted(entry for entry in scored if 2 <= entry[0] <= 20)
    rest = sorted(entry for entry in scored if not 2 <= entry[0] <= 20)
    return listed([name for *_, name in few or rest] or raw.names, most)


def _n_distinct(values):
    return len(set(values[:1000].tolist()))


def _check_classes(y, classes, counts, target):
    """Raise InputError for labels from which nothing can be learned."""
    if classes.size == 0:
        raise InputError(f"target {target!r}: no row has a label")
    if classes.size == 1:
        raise InputError(
            f"target {target!r} has only one class ({classes[0]!s}): expected two or more"
        )
    is_float = y.dtype.kind == "f"
    is_varied = classes.size > max(_MANY_VALUES, 0.05 * y.size) or classes.size > _MANY_CLASSES
    if (is_float and (is_varied or classes.size > y.size / 2)) or (
        y.dtype.kind == "i" and is_varied and counts.min() == 1
    ):
        raise InputError(
            f"target {target!r} looks continuous ({classes.size:,} distinct numbers in"
            f" {y.size:,} rows), but tamis is for classification: bin it into classes first"
        )
    if classes.size > _MANY_CLASSES and counts.min() < 5:
        raise InputError(
            f"target {target!r} has {classes.size:,} classes, some with {counts.min()} rows:"
            " with more than 100 classes, each needs at least 5 rows"
        )
    if counts.min() == 1:
        single = [str(label) for label in classes[counts == 1]]
        word = "class" if len(single) == 1 else "classes"
        rows = dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True))
        hints = "".join(hint_alike(label, rows) for label in single[:3])
        raise InputError(
            f"target {target!r}: {word} {listed(single)} with 1 row{hints}:"
            " every class needs at least 2; correct or drop such rows, or merge classes"
        )


def _check_groups(values, rows, missing, name, role):
    """Names of groups or batches of some rows; every row must have one."""
    if values is None:
        return None
    values = strings(values if rows is None else values[rows])
    values = values.without(missing_in(values, missing))
    if values.n_missing:
        raise InputError(
            f"{role}: {counted(values.n_missing, 'row')} without a value in {name!r}; fill them in"
        )
    return np.asarray(values)


def _check_values(table, missing, notes):
    """Raise InputError for infinite numbers; count the missing values."""
    numeric, names = table.numeric, table.numeric_names
    counts = {}
    if is_sparse(numeric):
        if not np.isfinite(numeric.data).all():
            coo = numeric.tocoo()
            _refuse_infinite(coo.data, coo.coords[0], coo.coords[1], names)
            lost = np.bincount(coo.coords[1][np.isnan(coo.data)], minlength=names.size)
            counts = {str(names[j]): int(lost[j]) for j in np.flatnonzero(lost)}
    elif numeric.size:
        lost = np.zeros(names.size, dtype=np.int64)
        n_rows = max(1, 500_000 // names.size)
        for start in range(0, numeric.shape[0], n_rows):
            block = np.asarray(numeric[start : start + n_rows])
            is_bad = ~np.isfinite(block)
            rows, columns = np.nonzero(is_bad)
            if rows.size:
                _refuse_infinite(block[rows, columns], rows + start, columns, names)
                lost += np.bincount(columns, minlength=names.size)
        counts = {str(names[j]): int(lost[j]) for j in np.flatnonzero(lost)}
    for name, values in table.others.items():
        n_missing = np.count_nonzero(np.equal(values, None))
        if n_missing:
            counts[name] = n_missing
    if not counts:
        return
    worst = sorted(counts, key=lambda name: -counts[name])
    words = listed([f"{name} ({counts[name]:,})" for name in worst])
    total = f"{counted(sum(counts.values()), 'value')} missing in"
    total = f"{total} {counted(len(counts), 'column')}: {words}"
    if missing == "error":
        raise InputError(f"{total}; fill them in, or use --missing impute")
    notes.append(total)


def _refuse_infinite(values, rows, columns, names):
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        row, name = int(rows[bad[0]]), names[columns[bad[0]]]
        raise InputError(
            f"column {name!s}, row {row + 1}: {values[bad[0]]} is not finite; correct it or leave"
            " it empty"
        )
