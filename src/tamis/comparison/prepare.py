"""From a table to the problem that all methods are compared on, and the checks of the data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import numpy as np

from tamis.comparison.attempts import attempt
from tamis.comparison.checks import check_data
from tamis.comparison.fitted.calibrated import CalibrationRows
from tamis.comparison.further.clinical import check_subgroups
from tamis.comparison.options import Options
from tamis.comparison.problem.problem import Problem
from tamis.paths.calibration_rows import keep_rows
from tamis.paths.copies import find_copies
from tamis.paths.folds import merge_groups
from tamis.tables.columns.rare import FEWEST_ROWS
from tamis.tables.columns.table import Table
from tamis.tables.columns.times import are_times
from tamis.tables.errors import InputError, comma_advice, listed, nearest
from tamis.tables.preparing.layout import lay_out, missing_columns
from tamis.tables.preparing.streamed_preparation import ColumnSurvey, lay_out_columns

__all__ = [
    "Prepared",
    "find_disguised",
    "handle_duplicates",
    "make_problem",
    "prepare",
    "set_aside",
]

_FEWEST_ROWS, _FEWEST_OF_CLASS = 20, 2


@dataclass
class Prepared:
    """Data that are ready for a comparison."""

    table: Table  # without the copies of rows that were dropped
    problem: Problem
    checks: list  # findings about the data
    not_described: dict[str, str]  # why there are none, if the checks failed


def set_aside(table: Table, options: Options) -> tuple[Table, CalibrationRows | None]:
    """Set calibration rows aside, before anything is learned from the table.

    Sample groups and copies of a row stay together. Rows are dealt class by class, unless the
    error rate of all rows together is to be limited, which needs rows drawn regardless of class.

    `table`: with labels. Returns `table`: the other rows; `kept`: None if none are asked for.
    """
    if options.calibration_share is None:
        return table, None
    groups = table.groups
    if options.duplicates != "keep":
        times, counters = find_disguised(table.columns)
        groups = merge_groups(groups, _find(table.columns, [*times, *counters]).groups)
    elif groups is not None:
        groups = merge_groups(groups)
    assert table.y is not None
    codes = None
    if options.max_error is None:
        codes = np.unique(table.y, return_inverse=True)[1]
    share, n_rows = options.calibration_share, table.n_rows
    train, rows = keep_rows(codes, groups, n_rows, share, options.seed, left=_FEWEST_OF_CLASS)
    if not rows.size:
        raise InputError(
            f"--calibration-share {share:g}: of so few rows, none would be "
            "set aside. Set a larger proportion aside, or collect more rows."
        )
    kept = table.take(rows)
    groups = None if groups is None else groups[rows]
    return table.take(train), CalibrationRows(kept, groups, options, rows)


def prepare(table: Table, options: Options, survey: ColumnSurvey | None = None) -> Prepared:
    """Encode a table, once for all methods and folds, and check it.

    `table`: with labels; `survey`: columns of all rows, if the table is a sample of them.
    """
    check_subgroups(table)
    times, counters = find_disguised(table.columns)
    table, copies, n_dropped = handle_duplicates(table, options.duplicates, [*times, *counters])
    if not table.columns.names:
        raise InputError(
            "no feature is left; to use columns that were dropped, name them in --include."
        )
    _require_known("feature_groups", options.feature_groups, set(table.columns.names), table.notes)
    plan = lay_out if survey is None else partial(lay_out_columns, survey)
    preparation, encoded = plan(
        table.columns,
        table.kinds,
        groups=options.feature_groups,
        vectorizer=options.vectorizer,
        ngrams=(options.ngrams[0], options.ngrams[1]),
        missing=table.missing,
    )
    for column, kind in table.kinds.items():
        if kind == "text" and column not in preparation.texts:
            table.notes.append(f"{column} has no word that occurs in two rows; it is dropped")
    table.notes += _tell_rare(preparation.find_pools(encoded, table.weights))
    if not preparation.n_columns:
        raise InputError("no feature is left: the text columns have no word that occurs twice.")
    known = {*preparation.sources, *preparation.features}
    _require_known("--keep", options.keep, known, table.notes)
    raw_or_encoded = {*table.columns.names, *preparation.features}
    _require_known("costs", options.costs, raw_or_encoded, table.notes)
    problem = make_problem(
        table,
        preparation,
        encoded,
        keep=options.keep,
        costs=options.costs,
        balanced=options.scoring not in ("accuracy", "mcc"),
        redundancy=options.redundancy,
        max_features=options.max_features,
        copies=copies if options.duplicates == "group" else None,
    )
    if not problem.n_features:
        raise InputError("--keep: every feature is kept, so there is nothing to select.")
    failed: dict[str, str] = {}
    check = partial(
        check_data,
        table,
        problem,
        copies=copies,
        duplicates=options.duplicates,
        n_dropped=n_dropped,
        times=times,
        counters=counters,
    )
    return Prepared(table, problem, attempt(failed, "data_checks", check, []), failed)


def make_problem(
    dataset,
    preparation,
    encoded,
    *,
    keep=(),
    costs=None,
    balanced=True,
    redundancy=None,
    max_features=None,
    copies=None,
):
    """The problem of a dataset.

    `preparation`, `encoded`: from `tamis.tables.lay_out`. `keep`: source columns or counted
    features that are always used. `costs`: costs of counted features; 1 for the others. `copies`:
    copies of rows that form sample groups.
    """
    classes, codes = np.unique(dataset.y, return_inverse=True)
    counted = preparation.features
    position = {}
    feature_of = np.array([position.setdefault(name, len(position)) for name in counted])
    names = list(position)
    kept = np.zeros(len(names), dtype=bool)
    sources = preparation.sources
    for name in keep:
        for column, source in enumerate(sources):
            if name in (source, counted[column]):
                kept[feature_of[column]] = True
    feature_costs = np.array([(costs or {}).get(name, 1.0) for name in names])
    return Problem(
        preparation=preparation,
        encoded=encoded,
        codes=codes.astype(np.int64),
        classes=classes,
        feature_of=feature_of.astype(np.int64),
        names=names,
        kept=kept,
        costs=feature_costs,
        missing=missing_columns(encoded),
        groups=merge_groups(dataset.groups, None if copies is None else copies.groups),
        batches=_indices(dataset.batches),
        weights=dataset.weights,
        times=None if copies is None or copies.groups is None else copies.times(),
        balanced=balanced,
        redundancy=redundancy,
        max_features=max_features,
        dates=_indices(dataset.times),
    )


def _indices(values):
    return None if values is None else np.unique(values, return_inverse=True)[1].astype(np.int64)


def _tell_rare(pools):
    """Messages about categories with few rows."""
    for read_as in ("other", "missing"):
        columns = [
            f"{name} ({listed(map(repr, pool.rare), 3)})"
            for name, pool in pools.items()
            if pool.rare and pool.is_other == (read_as == "other")
        ]
        if columns:
            yield (
                f"categories with fewer than {FEWEST_ROWS} rows are read as {read_as}:"
                f" {listed(columns)}"
            )


def _require_known(option, names, known, notes):
    """Raise unless all names are known; say so if a note tells why a column was dropped."""
    for name in names:
        if name not in known:
            near = nearest(name, known)
            advice = f"; did you mean {' or '.join(near)}?{comma_advice(near)}" if near else "."
            listed_there = rf"dropped (.*(, | and ))?{re.escape(name)}( \(|, | and |:)"
            dropped = [note for note in notes if re.match(listed_there, note)]
            advice = f": {dropped[0]}." if dropped else advice
            raise InputError(f"{option} {name}: no such feature{advice}")


def find_disguised(table):
    """Find numeric columns that are not measurements.

    `table`: raw columns. Returns `times`, `counters`: columns that look like dates or times, and
    columns that number the rows.
    """
    times, counters = [], []
    if table.is_sparse or table.n_rows < _FEWEST_ROWS:
        return times, counters
    for j, name in enumerate(table.numeric_names.tolist()):
        column = np.asarray(table.numeric[:, j], dtype=np.float64)
        if np.isnan(column).any() or column[0] == column[-1]:
            continue
        if not (column == np.floor(column)).all():
            continue
        if are_times(column):
            times.append(name)
        elif _counts_rows(column):
            counters.append(name)
    return times, counters


def _counts_rows(column):
    """Whether numbers rise (or fall) from row to row, nearly always by the same step."""
    steps = np.diff(column)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    return bool((steps == np.median(steps)).mean() >= 0.9)


def handle_duplicates(dataset, duplicates="group", ignored=()):
    """Find copies of rows, and drop them if requested.

    `duplicates`: "drop" keeps the first of the copies that have the same label; `ignored`: columns
    that are not compared: identifiers and dates differ between copies. Returns `dataset`: without
    copies if they are dropped; `copies`: copies among the remaining rows; `n_dropped`.
    """
    copies = _find(dataset.columns, ignored)
    if duplicates != "drop" or copies.groups is None:
        return dataset, copies, 0
    codes = np.unique(dataset.y, return_inverse=True)[1]
    rows = np.unique(copies.groups * (codes.max() + 1) + codes, return_index=True)[1]
    n_dropped = codes.size - rows.size
    dataset = dataset.take(np.sort(rows))
    return dataset, _find(dataset.columns, ignored), n_dropped


def _find(table, ignored):
    if ignored and len(ignored) < len(table.names):
        table = table.drop(ignored)
    columns = [table.numeric]
    for values in table.others.values():
        words = np.array(["" if value is None else value for value in values.tolist()])
        columns.append(np.unique(words, return_inverse=True)[1].astype(np.float64)[:, None])
    return find_copies(columns, table.n_rows)
