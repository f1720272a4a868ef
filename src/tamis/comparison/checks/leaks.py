"""Checks for leaks: columns, missing values and categories that alone reveal the class.

A column that separates the classes is a leak only if it is far ahead of the next one: among
thousands of genes, several separate a few samples by chance, and strong markers come in families.
Separation is judged out of fold, by a tree on that feature alone; only the features that are most
associated with the classes (by the ranks of their values) are judged.
"""

import warnings

import numpy as np
from scipy import sparse, stats
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from tamis._array import is_sparse
from tamis.comparison.checks.check import CHANCE, Check, name_some
from tamis.tables.errors import as_option

__all__ = ["check_leaks"]

# Number of features that are judged one by one, and of rows that they are judged on.
_JUDGED = 20
_MOST_ROWS, _FEWEST_ROWS, _MOST_VALUES = 20_000, 500, 4_000_000
# Nearly no errors, and at least five times fewer than those of the next feature.
_FEW_ERRORS, _AHEAD, _MOST_LEAKS = 0.02, 5.0, 3
# Fewest rows with a mark (a missing value, a category, a number other than 0) to judge it by.
_FEWEST_MARKED = 10
# Values that are looked at together.
_BLOCK_VALUES = 1_000_000
# Share of a class that marks must cover: numbers that are not 0, and categories.
_COVERED_BY_NUMBERS, _COVERED_BY_CATEGORY = 0.2, 0.5
# Difference in the share of missing values between a class and the others.
_REVEALING = 0.5
_MOST_CATEGORIES = 100
_KNOWN_BEFORE = "Make sure that it is known before the class is"


def check_leaks(table, problem):
    """Find columns, missing values and categories that alone reveal the class.

    `table`: raw columns; `problem`: the same rows, encoded.
    """
    rows = np.arange(problem.n_rows)
    if problem.groups is not None:  # one row per sample group
        rows = np.unique(problem.groups, return_index=True)[1]
    counts = np.bincount(problem.codes[rows], minlength=problem.classes.size)
    rows = rows[counts[problem.codes[rows]] >= 2]
    if np.count_nonzero(counts >= 2) < 2:
        return []
    codes = np.unique(problem.codes[rows], return_inverse=True)[1]
    X = problem.encoded if rows.size == problem.n_rows else problem.encoded[rows]
    n_numbers = len(problem.preparation.numbers)
    return [
        *_separating(X, codes, problem.feature_of, problem.names),
        *_one_sided(X[:, :n_numbers], codes, problem.preparation.numbers),
        *_revealing_missing(table, rows, codes),
        *_revealing_categories(table, rows, codes),
    ]


def _separating(X, codes, feature_of, names):
    """Features that classify nearly without errors on their own, far ahead of the next."""
    n_features = len(names)
    if n_features < 2:
        return
    association = np.zeros(n_features)
    np.maximum.at(association, feature_of, _associations(X, codes))
    # Kruskal and Wallis: the number of features that would be as associated by chance.
    expected = n_features * stats.chi2.sf(association * (codes.size - 1), codes.max())
    order = np.argsort(-association, kind="stable")[:_JUDGED]
    if expected[order[0]] >= CHANCE:
        return
    if all(_error_at_least(X, codes, feature_of == f) > _FEW_ERRORS for f in order):
        return
    errors = np.array([_error_alone(X, codes, feature_of == f) for f in order])
    ranked = np.argsort(errors, kind="stable")
    order, errors = order[ranked], errors[ranked]
    half = 0.5 / np.bincount(codes).min()
    for r in range(min(_MOST_LEAKS, order.size - 1)):
        is_ahead = errors[r + 1] >= _AHEAD * (errors[r] + half)
        if errors[r] <= _FEW_ERRORS and is_ahead and expected[order[r]] < CHANCE:
            leaks = [names[f] for f in order[: r + 1]]
            yield Check(
                "separating-column",
                "warning",
                f"{name_some(leaks)} alone {'separates' if r == 0 else 'each separate'} the "
                f"classes (out of fold {_percent(1 - errors[r])} right; the next feature "
                f"{_percent(1 - errors[r + 1])}).",
                f"{_KNOWN_BEFORE}; otherwise remove it with --drop {as_option(leaks)}.",
                columns=tuple(leaks),
            )
            return


def _percent(share):
    return f"{100 * share:.1f} %"


def _associations(X, codes):
    """Share of the variance of ranks that the classes explain, for each column.

    For sparse columns, it is the variance of being zero or not. Many rows are sampled.
    """
    every = max(1, X.shape[0] * X.shape[1] // _MOST_VALUES)
    if every > 1 and not is_sparse(X):
        every = min(every, max(1, X.shape[0] // _FEWEST_ROWS))
        rows = np.argsort(codes, kind="stable")[::every]
        X, codes = X[rows], codes[rows]
    n_rows, n_classes = X.shape[0], int(codes.max()) + 1
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    if is_sparse(X):
        mean = sparse.csr_array((1.0 / counts[codes], (codes, np.arange(n_rows))))
        means = (mean @ sparse.csr_array(X != 0).astype(np.float64)).toarray()
        share = counts @ means / n_rows
        return _explained(means, counts, share * (1 - share))
    sums, variance = np.zeros((n_classes, X.shape[1])), np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        column = np.asarray(X[:, j], dtype=np.float64)
        sums[:, j], variance[j] = _rank_sums(column, codes, n_classes)
    return _explained(sums / np.maximum(counts, 1)[:, None], counts, variance)


def _rank_sums(column, codes, n_classes):
    """Sum of the ranks of a column in each class, and the variance of the ranks.

    Equal values share the mean of their ranks; missing ones get the mean of all others, so that
    they have no influence.
    """
    order = np.argsort(column)
    values = column[order]
    n_known = column.size - int(np.count_nonzero(np.isnan(values)))  # missing values come last
    middle = (n_known + 1) / 2
    known = values[:n_known]
    bounds = np.flatnonzero(np.r_[True, known[1:] != known[:-1], True][: n_known + 1])
    ranks = np.full(column.size, middle)
    ranks[:n_known] = np.repeat((bounds[:-1] + bounds[1:] + 1) / 2, np.diff(bounds))
    sums = np.bincount(codes[order], weights=ranks, minlength=n_classes)
    return sums, ((ranks - middle) ** 2).sum() / column.size


def _explained(means, counts, variance):
    """Share of the variance that lies between the class means."""
    shares = counts / counts.sum()
    between = shares @ (means - shares @ means) ** 2
    return np.divide(between, variance, out=np.zeros_like(between), where=variance > 0)


def _tree_on(X, codes, columns):
    """Some columns, and a tree for them alone; a sample of each class if there are many rows."""
    part = X[:, np.flatnonzero(columns)]
    part = part.toarray() if is_sparse(part) else np.asarray(part)
    if codes.size > _MOST_ROWS:
        rows = np.linspace(0, codes.size - 1, _MOST_ROWS).astype(np.intp)
        part, codes = part[rows], np.unique(codes[rows], return_inverse=True)[1]
    tree = DecisionTreeClassifier(
        max_leaf_nodes=2 * (int(codes.max()) + 1), class_weight="balanced", random_state=0
    )
    return part, codes, tree


def _error_alone(X, codes, columns):
    """Balanced error, out of fold, of a tree on some columns."""
    part, codes, tree = _tree_on(X, codes, columns)
    smallest = int(np.bincount(codes).min())
    folds = StratifiedKFold(max(2, min(5, smallest)), shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer rows than folds
        return _balanced_error(codes, cross_val_predict(tree, part, codes, cv=folds))


def _error_at_least(X, codes, columns):
    """Balanced error of a tree on its training rows: a lower bound."""
    part, codes, tree = _tree_on(X, codes, columns)
    return _balanced_error(codes, tree.fit(part, codes).predict(part))


def _balanced_error(codes, labels):
    right = np.bincount(codes, weights=labels == codes)
    return float(1 - (right / np.bincount(codes)).mean())


def _one_sided(X, codes, names):
    """Numbers that are 0 except in one class."""
    counts = _count_marked(X, codes, lambda some: (some != 0) & ~np.isnan(some))
    leaks = [names[j] for j in _exclusive(counts, codes, len(names), _COVERED_BY_NUMBERS)]
    if 0 < len(leaks) <= _MOST_LEAKS:
        yield Check(
            "one-sided-column",
            "warning",
            f"{name_some(leaks)} {'is' if len(leaks) == 1 else 'are'} zero except in one class.",
            f"{_KNOWN_BEFORE}; otherwise remove it with --drop {as_option(leaks)}.",
            columns=tuple(leaks),
        )


def _count_marked(X, codes, mark):
    """Marks by class and column, (n_classes, n); a sparse X is marked where it is not 0."""
    n_rows = codes.size
    member = sparse.csr_array((np.ones(n_rows), (codes, np.arange(n_rows))))
    if is_sparse(X):
        return (member @ sparse.csr_array(X != 0)).toarray()
    counts = np.zeros((member.shape[0], X.shape[1]))
    height = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
    for start in range(0, n_rows, height):
        some = slice(start, start + height)
        counts += member[:, some] @ mark(X[some])
    return counts


def _exclusive(counts, codes, n_columns, coverage, revealing=np.inf):
    """Find the columns whose marks reveal the class.

    `counts` (n_classes, n): marks by class and column; `codes` (n_rows,); `n_columns`: number of
    columns that were examined; `coverage`: marks that are all in one class must cover this share
    of it; `revealing`: or their share in one class must be this much larger than in the others.
    """
    n_rows, sizes = codes.size, np.bincount(codes).astype(np.float64)
    total = counts.sum(axis=0)
    for j in np.flatnonzero((total >= _FEWEST_MARKED) & (total < n_rows)):
        c = int(np.argmax(counts[:, j] / sizes))
        share = counts[c, j] / sizes[c]
        others = (total[j] - counts[c, j]) / (n_rows - sizes[c])
        if not (others == 0 and share >= coverage) and share - others < revealing:
            continue
        p_value = stats.hypergeom.sf(counts[c, j] - 1, n_rows, sizes[c], total[j])
        if p_value * n_columns * sizes.size < CHANCE:
            yield int(j)


def _revealing_missing(table, rows, codes):
    """Missing values that reveal the class."""
    counts, names = [], []
    if not is_sparse(table.numeric) and table.numeric.size:
        numeric = table.numeric if rows.size == table.n_rows else table.numeric[rows]
        missing = _count_marked(numeric, codes, np.isnan)
        some = missing.any(axis=0)
        counts.append(missing[:, some])
        names += table.numeric_names[some].tolist()
    for name, values in table.others.items():
        is_missing = np.array([[value is None] for value in values[rows].tolist()])
        counts.append(_count_marked(is_missing, codes, np.asarray))
        names.append(name)
    if not names:
        return
    columns = _exclusive(np.hstack(counts), codes, len(table.names), 0.0, _REVEALING)
    leaks = [names[j] for j in columns]
    if leaks:
        yield Check(
            "revealing-missingness",
            "warning",
            f"Whether {name_some(leaks)} {'is' if len(leaks) == 1 else 'are'} missing reveals "
            "the class.",
            "Unless values will be missing for the same reason later, remove "
            f"{'it' if len(leaks) == 1 else 'them'} with --drop {as_option(leaks[:3])}.",
            columns=tuple(leaks),
        )


def _revealing_categories(table, rows, codes):
    """Categories that occur in only one class, and in most of it."""
    leaks: list[str] = []
    of: list[str] = []
    for name, values in table.others.items():
        known = np.array(["" if v is None else v for v in values[rows].tolist()])
        categories, inverse = np.unique(known, return_inverse=True)
        if not 2 <= categories.size <= _MOST_CATEGORIES:
            continue
        n_classes = int(codes.max()) + 1
        counts = np.bincount(
            codes * categories.size + inverse, minlength=n_classes * categories.size
        )
        counts = counts.reshape(n_classes, categories.size)
        n_looked_at = len(table.names) * categories.size
        for j in _exclusive(counts, codes, n_looked_at, _COVERED_BY_CATEGORY):
            if categories[j]:
                leaks.append(f"{name} = {categories[j]}")
                of.append(name)
    if leaks:
        is_one = len(leaks) == 1
        yield Check(
            "revealing-category",
            "warning" if len(leaks) <= _MOST_LEAKS else "note",
            f"{name_some(leaks)} {'occurs' if is_one else 'each occur'} in one class only and "
            f"{'covers' if is_one else 'cover'} most of it.",
            f"{_KNOWN_BEFORE}.",
            columns=tuple(of),
        )
