"""Checks of the labels."""

import numpy as np

from tamis.comparison.checks.check import Check, name_some

__all__ = ["check_labels"]

_FEW_ROWS = 10
_MANY_CLASSES = 20
# A label this much rarer than one it resembles may be a misspelling of it.
_RARER = 0.2


def check_labels(codes, classes, target, groups=None):
    """Find small classes, numbers that may not be classes, and labels that may be the same.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
    target : str
        Name of the labels.
    groups : ndarray of int of shape (n_rows,) or None
        Sample groups; the rows of one count once.

    Returns
    -------
    checks : list of Check
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
        "Scores of so few are unreliable; collect more, or merge classes that belong together.",
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
    pairs = []
    for a in range(len(labels)):
        for b in range(len(labels)):
            # The rarer label is named first; of equally frequent ones, the later.
            if (rows[a], -a) < (rows[b], -b) and _look_alike(labels[a], labels[b], rows[[a, b]]):
                pairs.append(f"{labels[a]!r} and {labels[b]!r}")
    if pairs:
        yield Check(
            "similar-labels",
            "warning",
            f"Labels that may mean the same: {name_some(pairs)}.",
            "Spell each class in one way.",
        )


def _look_alike(one, other, rows):
    if _folded(one) == _folded(other):
        return True
    is_rare = rows[0] <= _RARER * rows[1]
    return is_rare and _is_misspelt(_folded(one), _folded(other))


def _folded(label):
    return "".join(label.casefold().split())


def _is_misspelt(one, other):
    """Whether two words differ by one letter: changed, added, omitted or swapped with the next.

    Digits do not count as misspelt: grade1 and grade2 are different labels.
    """
    if min(len(one), len(other)) < 3 or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    a, b = one[start : len(one) - end], other[start : len(other) - end]
    if not all(letter.isalpha() for letter in a + b):
        return False
    return max(len(a), len(b)) <= 1 or (len(a) == len(b) == 2 and a == b[::-1])
