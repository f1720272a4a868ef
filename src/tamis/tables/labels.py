"""Labels as strings, integers or booleans, and whether anything can be learned from them."""

import numpy as np

from tamis.tables.errors import InputError, listed, nearest
from tamis.tables.integers import is_large_integer
from tamis.tables.missing import MissingWords
from tamis.tables.raw import without_numbers
from tamis.tables.tokens import as_text, is_number, missing_in

__all__ = ["as_labels", "check_classes", "match_labels", "require_target"]

_MANY_CLASSES = 100
_MANY_VALUES = 20


def _words(values):
    """Labels as stripped words, "" where there is none."""
    values = [as_text(v) if isinstance(v, bytes) else v for v in values.tolist()]
    return np.array(["" if v is None else str(v).strip() for v in values], dtype=object)


def as_labels(values, missing=None, classes=()):
    """Labels of rows, and which rows have one.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers, booleans, or words of which some may be missing.
    missing : MissingWords or None
        Words that are no label; None: the usual ones, unless they are evidently classes.
    classes : sequence
        Classes of a model, which say what is a label; where there are none, the column says it.

    Returns
    -------
    y : ndarray of shape (n_rows,)
        Integers where all labels are whole numbers, booleans, floats where some are not whole,
        else strings.
    is_known : ndarray of bool of shape (n_rows,)
        False where a label is missing.
    """
    values, missing = np.asarray(values), missing or MissingWords()
    if values.dtype.kind == "b":
        return values, np.ones(len(values), dtype=bool)
    if values.dtype.kind == "S":
        values = values.astype(object)
    if values.dtype.kind in "OU":
        if values.dtype == object and all(isinstance(v, (bool, np.bool_)) for v in values):
            return values.astype(bool), np.ones(len(values), dtype=bool)
        words = _words(values)
        nothing = missing.spellings.difference(map(str, classes))
        if not len(classes):
            nothing = missing_in(words, missing)
        is_known = np.array([word not in nothing for word in words], dtype=bool)
        known = set(words.tolist()) - nothing
        if not known or not all(map(is_number, known)):
            return words.astype(str), is_known
        numbers = {word: float(word) for word in known}
        if len(set(numbers.values())) < len(numbers) or any(map(is_large_integer, known)):
            return words.astype(str), is_known  # "01" and "1" are two labels
        values = np.array([numbers.get(word, np.nan) for word in words.tolist()])
    if values.dtype.kind in "iuf":
        values = without_numbers(values[:, None], missing.numbers)[:, 0]
    if values.dtype.kind in "iu":
        return values.astype(np.int64), np.ones(len(values), dtype=bool)
    if values.dtype.kind != "f":
        raise InputError(f"labels must be words or numbers, got {values.dtype}")
    is_known = ~np.isnan(values)
    if np.isinf(values).any():
        raise InputError("a label is infinite: labels must be classes")
    known = values[is_known]
    if (known == np.floor(known)).all() and (np.abs(known) < 2**53).all():
        return np.where(is_known, values, 0).astype(np.int64), is_known
    return values, is_known


def check_classes(y, target):
    """Refuse labels from which nothing can be learned."""
    classes, counts = np.unique(y, return_counts=True)
    if classes.size == 0:
        raise InputError(f"target {target!r}: no row has a label")
    if classes.size == 1:
        raise InputError(
            f"target {target!r} has one class only ({classes[0]!s}): expected two or more"
        )
    is_float = y.dtype.kind == "f"
    is_varied = classes.size > max(_MANY_VALUES, 0.05 * y.size) or classes.size > _MANY_CLASSES
    if (is_float and (is_varied or classes.size > y.size / 2)) or (
        y.dtype.kind == "i" and is_varied and counts.min() == 1
    ):
        raise InputError(
            f"target {target!r} looks continuous ({classes.size:,} distinct numbers in"
            f" {y.size:,} rows): tamis classifies; bin it into classes first"
        )
    if classes.size > _MANY_CLASSES and counts.min() < 5:
        raise InputError(
            f"target {target!r} has {classes.size:,} classes, some with {counts.min()} rows:"
            " more than 100 classes need 5 rows each"
        )
    if counts.min() == 1:
        single = [str(label) for label in classes[counts == 1]]
        word = "class" if len(single) == 1 else "classes"
        raise InputError(
            f"target {target!r}: {word} {listed(single)} with 1 row:"
            " every class needs 2 or more; drop or merge it"
        )
    return y


def match_labels(values, classes, missing=None):
    """Labels read from a file, written as a model's classes are.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Labels as `read_rows` gives them: words or numbers.
    classes : ndarray of shape (n_classes,)
        What a model predicts.
    missing : MissingWords or None
        Words that are no label, as in the model's preparation; None: the usual ones.

    Returns
    -------
    y : ndarray of object of shape (n_rows,)
        The class of `classes` with the same value; None for a missing or unknown label.
    """
    classes = np.asarray(classes)
    labels, is_known = as_labels(values, missing, classes.tolist())

    def key(label):
        if isinstance(label, (bool, np.bool_)):
            return str(bool(label))
        text = str(label).strip()
        return float(text) if is_number(text) and not is_large_integer(text) else text

    of_key = {key(label): label for label in classes.tolist()}
    y = np.empty(len(labels), dtype=object)
    for i in np.flatnonzero(is_known):
        y[i] = of_key.get(key(labels[i].item() if hasattr(labels[i], "item") else labels[i]))
    return y


def require_target(target, raw):
    """Name of the labels' column; where there is none, an error that helps to find it."""
    if target is None and raw.own_target is not None:
        return raw.own_target
    if target is None:
        raise InputError(
            f"which column holds the classes? say --target, such as {candidates(raw)}"
        )
    name = raw.find(target)
    if name is None:
        near = nearest(target, raw.names) or raw.names[-3:]
        raise InputError(f"no column {str(target)!r} for the target; nearest: {', '.join(near)}")
    return name


def candidates(raw, most=5):
    """Names of columns that could hold classes: few-valued ones first, words before numbers."""
    scored = []
    for rank, (name, values) in enumerate([*raw.side.items(), *raw.others.items()]):
        scored.append((_distinct(values), rank, name))
    head = raw.numeric[:1000]
    for j in [*range(raw.numeric.shape[1])][-2000:]:
        column = head[:, [j]].toarray().ravel() if hasattr(head, "toarray") else head[:, j]
        if (column == np.floor(column)).all():
            scored.append((_distinct(column), len(scored) + 1, raw.numeric_names[j]))
    few = sorted(entry for entry in scored if 2 <= entry[0] <= 20)
    rest = sorted(entry for entry in scored if not 2 <= entry[0] <= 20)
    names = [name for *_, name in few] or [name for *_, name in rest] or raw.names
    return listed(names, most)


def _distinct(values):
    return len(set(values[:1000].tolist()))
