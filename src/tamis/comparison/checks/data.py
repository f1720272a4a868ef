"""Checks of the data: rows, labels, columns, and columns that reveal the class."""

import re
import shlex

import numpy as np

from tamis.comparison.checks.check import Check, name_some
from tamis.comparison.checks.leaks import check_leaks
from tamis.comparison.checks.limits import check_limits
from tamis.comparison.checks.near_copies import check_near_copies, split_columns
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.spelling import alike_pairs, equal_pairs
from tamis.tables.errors import as_option

__all__ = ["check_categories", "check_columns", "check_data", "check_labels", "check_rows"]

# Contradictory labels matter if they make this share of the rows wrong.
_COST = 0.02
_FEW_ROWS = 10
_MANY_CLASSES = 20
_WEIGHT_NAME = re.compile(
    r"(^|[_\W])(fnlwgt|p?wgt|p?wt|pweights?|sample[_ ]?weights?|survey[_ ]?weights?"
    r"|final[_ ]?weights?|design[_ ]?weights?)([_\W]|$)",
    re.IGNORECASE,
)
_PLAIN_WEIGHT = re.compile(r"^weights?$", re.IGNORECASE)


def check_data(table, problem, *, copies, duplicates, n_dropped, times, counters):
    """All checks of the data.

    `problem`: the same rows, encoded; `copies`, `duplicates`, `n_dropped`: as in `check_rows`;
    `times`, `counters`: as in `check_columns`.
    """
    measured = split_columns(table.columns, problem.preparation, problem.encoded)
    return [
        *check_rows(
            copies,
            problem.codes,
            *measured,
            duplicates,
            n_dropped,
            problem.groups,
            _have_one_group(copies, table.groups),
        ),
        *check_labels(problem.codes, problem.classes, table.target, problem.groups),
        *check_categories(table),
        *check_limits(table),
        *check_columns(table.columns, times, counters),
        *check_leaks(table.columns, problem),
    ]


def check_rows(
    copies, codes, numbers, categories, duplicates, n_dropped=0, groups=None, are_grouped=False
):
    """Find copies and near-copies of rows, and labels that contradict each other.

    `codes` (n_rows,); `numbers`, `categories`: from
    `tamis.comparison.checks.near_copies.split_columns`; `duplicates`: how copies are handled;
    `n_dropped`: copies that were dropped; `groups` (n_rows,) or None: sample groups, which include
    copies; `are_grouped`: whether the user's sample groups keep all copies together.
    """
    together = [copies.equal] if groups is None else [copies.equal, groups]
    return [
        *_copies(copies, duplicates, n_dropped, are_grouped),
        *check_near_copies(numbers, categories, together),
        *_conflicts(copies, codes),
    ]


def _have_one_group(copies, given):
    """Whether all copies of a row are in the same sample group of the user's."""
    if given is None or copies.groups is None:
        return False
    _, first = np.unique(copies.groups, return_index=True)
    _, numbers = np.unique(np.asarray(given), return_inverse=True)
    return bool((numbers == numbers[first][copies.groups]).all())


def _copies(copies, duplicates, n_dropped, are_grouped):
    n = copies.n_copies
    n_others = int(copies.equal.size - copies.equal.max()) - 1 - n
    others = ""
    if n_others:
        verb = "equals" if n_others == 1 else "equal"
        others = f" {n_others:,} more {verb} another row, perhaps by coincidence."
    if n_dropped:
        yield Check(
            "duplicates",
            "note",
            f"{_rows(n_dropped)} repeated an earlier row and {_were(n_dropped)} dropped.{others}",
            "--duplicates group keeps them together in the folds instead.",
        )
    elif n and are_grouped:
        yield Check(
            "duplicates",
            "note",
            f"{_rows(n)} {'repeats' if n == 1 else 'repeat'} another row of the same sample "
            f"group, exactly or up to rounding.{others}",
            "To remove duplicates, use --duplicates drop.",
        )
    elif n and duplicates == "group":
        yield Check(
            "duplicates",
            "note",
            f"{_rows(n)} {'repeats' if n == 1 else 'repeat'} another row, exactly or up to "
            "rounding: such duplicates stay together in every fold and count as one sample in "
            f"intervals and class frequencies.{others} Nothing to do, unless they are different "
            "samples (--duplicates keep).",
            "To remove duplicates, use --duplicates drop.",
        )
    elif n:
        yield Check(
            "duplicates",
            "warning",
            f"{_rows(n)} {'repeats' if n == 1 else 'repeat'} another row, exactly or up to "
            "rounding, and may be in training and test at once, so scores are optimistic."
            f"{others}",
            "Use --duplicates group.",
        )


def _conflicts(copies, codes):
    if copies.equal.max() + 1 == codes.size:  # no rows are equal
        return
    n_classes = int(codes.max()) + 1
    cell = np.bincount(copies.equal * n_classes + codes)
    counts = np.zeros((int(copies.equal.max()) + 1, n_classes), dtype=np.int64)
    counts.ravel()[: cell.size] = cell
    mixed = (counts > 0).sum(axis=1) > 1
    if not mixed.any():
        return
    are_copies = copies.groups is not None
    cost = 1 - counts.max(axis=1).sum() / codes.size
    if not are_copies and cost < _COST:
        return
    n = int(counts[mixed].sum())
    yield Check(
        "conflicting-labels",
        "warning" if are_copies else "note",
        f"{_rows(n)} {'has' if n == 1 else 'have'} the same features as another row with a "
        f"different label, so no model can be right on more than {100 * (1 - cost):.1f} % of all "
        "rows.",
        "Check these labels, or add the column that tells the rows apart.",
    )


def _rows(n):
    return f"{n:,} row{'' if n == 1 else 's'}"


def _were(n):
    return "was" if n == 1 else "were"


def check_labels(codes, classes, target, groups=None):
    """Find small classes, numbers that may not be classes, and labels that may be the same.

    `codes` (n_rows,). `classes` (n_classes,). `target`: name of the labels. `groups` (n_rows,) or
    None: sample groups; the rows of one count once.
    """
    labels = [str(label) for label in classes.tolist()]
    rows = np.bincount(codes, minlength=classes.size)
    sizes, kind = rows, "rows"
    if groups is not None:
        cells = np.unique(codes * (groups.max() + 1) + groups) // (groups.max() + 1)
        sizes, kind = np.bincount(cells, minlength=classes.size), "independent rows or groups"
    return [
        *_small_classes(labels, sizes, kind),
        *_numeric_classes(classes, target),
        *_similar_labels(labels, rows),
    ]


def _small_classes(labels, sizes, kind):
    small = np.flatnonzero(sizes < _FEW_ROWS)
    if not small.size:
        return
    shown = name_some([f"{labels[c]} ({sizes[c]})" for c in small])
    word = "Class" if small.size == 1 else "Classes"
    yield Check(
        "small-class",
        "warning",
        f"{word} with fewer than {_FEW_ROWS} {kind}: {shown}.",
        "Scores of so few rows are unreliable; collect more, or merge classes that belong "
        "together.",
    )


def _numeric_classes(classes, target):
    if classes.size > _MANY_CLASSES and classes.dtype.kind in "iuf":
        yield Check(
            "numeric-target",
            "warning",
            f"{target!r} is a number with {classes.size} values, each treated as a class.",
            "If it is a quantity, bin it into a few classes first.",
        )


def _similar_labels(labels, rows):
    pairs = alike_pairs(labels, rows)
    if pairs:
        yield Check(
            "similar-labels",
            "warning",
            f"Labels that may mean the same: {name_some(pairs)}.",
            "Spell each class in one way.",
        )


def check_categories(table):
    """Find categories that may be the same: they differ by case, spaces or punctuation only."""
    pairs, of = [], []
    for name, values in table.columns.others.items():
        if table.kinds[name] == "categorical":
            found = [f"{name} {pair}" for pair in equal_pairs(Coded.of(values).counts)]
            pairs += found
            of += [name] * bool(found)
    if not pairs:
        return []
    return [
        Check(
            "similar-categories",
            "warning",
            f"Categories that may mean the same: {name_some(pairs)}.",
            "Spell each category in one way; a features file can declare the choices.",
            columns=tuple(of),
        )
    ]


def check_columns(table, times, counters):
    """Find identifiers, times and survey weights among the features.

    `table`: raw columns; `times`, `counters`: from `tamis.comparison.prepare.find_disguised`.
    """
    if table.is_sparse:
        return []
    return [*_identifiers(times, counters), *_weights(table)]


def _identifiers(times, counters):
    if times:
        yield Check(
            "time-in-disguise",
            "warning",
            f"{name_some(times)} look{'s' if len(times) == 1 else ''} like a date or time "
            "written as a number.",
            f"Unless the class depends on the time, remove it with --drop {as_option(times)}.",
            columns=tuple(times),
        )
    if counters:
        yield Check(
            "identifier-in-disguise",
            "warning",
            f"{name_some(counters)} number{'s' if len(counters) == 1 else ''} the rows of the "
            "table.",
            "Rows are often sorted by class, and then their number reveals it; remove it with "
            f"--drop {as_option(counters)}.",
            columns=tuple(counters),
        )


def _weights(table):
    names = []
    for j, name in enumerate(table.numeric_names.tolist()):
        if not (_WEIGHT_NAME.search(name) or _PLAIN_WEIGHT.match(name)):
            continue
        column = np.asarray(table.numeric[:, j], dtype=np.float64)
        column = column[~np.isnan(column)]
        if not column.size or column.min() < 0 or np.unique(column).size < 3:
            continue
        # A plain "weight" is a body weight, unless its mean is 1.
        if _WEIGHT_NAME.search(name) or abs(column.mean() - 1) < 0.05:
            names.append(name)
    if names:
        yield Check(
            "survey-weights",
            "note",
            f"{name_some(names)} look{'s' if len(names) == 1 else ''} like survey weights.",
            f"If so, use --weights {shlex.quote(names[0])}; they are treated as a feature now.",
            columns=tuple(names),
        )
