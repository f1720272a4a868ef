"""From a table to the problem that all methods are compared on, and the checks of the data."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.comparison.checks import check_columns, check_labels, check_leaks, check_rows
from tamis.comparison.disguised import find_disguised
from tamis.comparison.duplicates import handle_duplicates
from tamis.comparison.options import Options
from tamis.comparison.problem import Problem, make_problem
from tamis.tables.errors import InputError, nearest
from tamis.tables.preparation import lay_out
from tamis.tables.table import Table

__all__ = ["Prepared", "prepare"]


@dataclass
class Prepared:
    """Data that are ready for a comparison.

    Attributes
    ----------
    table : Table
        Without the copies of rows that were dropped.
    problem : Problem
    checks : list of Check
        Findings about the data.
    """

    table: Table
    problem: Problem
    checks: list


def prepare(table: Table, options: Options) -> Prepared:
    """Encode a table, once for all methods and folds, and check it.

    Parameters
    ----------
    table : Table
        With labels.
    options : Options

    Returns
    -------
    prepared : Prepared
    """
    times, counters = find_disguised(table.columns)
    table, copies, n_dropped = handle_duplicates(table, options.duplicates, [*times, *counters])
    if not table.columns.names:
        raise InputError(
            "no feature is left; to use columns that were dropped, name them in --include."
        )
    _require_known("feature_groups", options.feature_groups, set(table.columns.names))
    preparation, encoded = lay_out(
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
    if not preparation.n_columns:
        raise InputError("no feature is left: the text columns have no word that occurs twice.")
    known = {*preparation.sources, *preparation.features}
    _require_known("--keep", options.keep, known)
    _require_known("costs", options.costs, {*table.columns.names, *preparation.features})
    problem = make_problem(
        table,
        preparation,
        encoded,
        keep=options.keep,
        costs=options.costs,
        balanced=options.is_balanced,
        redundancy=options.redundancy,
        max_features=options.max_features,
        copies=copies if options.duplicates == "group" else None,
    )
    if not problem.n_features:
        raise InputError("--keep: every feature is kept, so there is nothing to select.")
    checks = [
        *check_rows(copies, problem.codes, encoded, options.duplicates, n_dropped),
        *check_labels(problem.codes, problem.classes, table.target, problem.groups),
        *check_columns(table.columns, times, counters),
        *check_leaks(table.columns, problem),
    ]
    return Prepared(table, problem, checks)


def _require_known(option, names, known):
    """Raise unless all names are known."""
    for name in names:
        if name not in known:
            near = nearest(name, known)
            advice = f"; did you mean {' or '.join(near)}" if near else ""
            raise InputError(f"{option} {name}: no such feature{advice}.")
