"""Products of parameters as pairs: the quick tests see each pair of values, the slow ones all."""

from collections import defaultdict
from itertools import combinations

import pytest

__all__ = ["mark_beyond_pairs"]


def mark_beyond_pairs(items, folder, singles=()):
    """Mark those tests slow whose pairs of parameter values all occur in earlier ones.

    Of each test function, items are chosen one by one, each with as many new pairs of values as
    possible, until none is left; the first of equals.

    Parameters
    ----------
    items : list of pytest.Item
        Changed.
    folder : str
        Only tests in this folder.
    singles : collection of str
        Names of tests that take so long that each value once is enough.
    """
    functions = defaultdict(list)
    for item in items:
        if folder in item.nodeid and hasattr(item, "callspec"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for name, of_function in functions.items():
        size = 1 if name.rpartition("::")[2] in singles else 2
        quick = [item for item in of_function if item.get_closest_marker("slow") is None]
        chosen = _cover([_tuples(item, size) for item in quick])
        for place, item in enumerate(quick):
            if place not in chosen:
                item.add_marker(pytest.mark.slow)


def _tuples(item, size):
    """Pairs (or single ones) of the named values of a test."""
    # By identity, because some values have no order and no hash: arrays, dictionaries.
    values = [(name, id(value)) for name, value in sorted(item.callspec.params.items())]
    return set(combinations(values, min(size, len(values))))


def _cover(sets):
    """Places of sets that together hold all that any holds, chosen greedily."""
    missing, chosen = set().union(*sets), set()
    while missing:
        best = max(range(len(sets)), key=lambda place: len(sets[place] & missing))
        chosen.add(best)
        missing -= sets[best]
    return chosen
