"""Which combinations of parameters are quick tests; the others are slow ones.

`few_draws` makes comparisons quick, `smaller` any test of many rows. Of parameters, `few_quick`
keeps every value once, `quick_pairs` every pair of values of products that are written out, and
`mark_beyond_pairs` every pair of values of all the tests in a folder.
"""

from collections import defaultdict
from contextlib import contextmanager
from itertools import combinations, product

import pytest

__all__ = ["few_draws", "few_quick", "mark_beyond_pairs", "quick_pairs", "smaller"]


@contextmanager
def few_draws():
    """A tenth of the bootstrap draws of a comparison, and ten pairs of half-samples.

    They take most of a small run. Tests of intervals and of frequencies need all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in ("draws", "choice", "spread"):
            patch.setattr(f"tamis.comparison.choosing.{module}.n_draws_for", lambda n_rows: 100)
        patch.setattr("tamis.comparison.fitted.panel_guarantees._N_PAIRS", 10)
        yield


def smaller(quick, full):
    """Two sizes of a test: the first for `make test`, the second is a slow test."""
    return [quick, pytest.param(full, marks=pytest.mark.slow)]


def few_quick(names, *values):
    """Parametrize over all combinations; those of `make test` have every value at least once.

    Parameters
    ----------
    names : str
        Names of the parameters, with commas between them.
    *values : list
        Values of each parameter.
    """
    n_quick = max(len(one) for one in values)
    quick = {tuple(turn % len(one) for one in values) for turn in range(n_quick)}
    cases = []
    for places in product(*(range(len(one)) for one in values)):
        chosen = [one[place] for one, place in zip(values, places, strict=True)]
        marks = () if places in quick else pytest.mark.slow
        cases.append(pytest.param(*chosen, marks=marks, id="-".join(map(_name, chosen))))
    return pytest.mark.parametrize(names, cases)


def _name(value):
    return getattr(value, "__name__", str(value))


def quick_pairs(*values):
    """All combinations of some parameters; those that are not needed for pairs are slow tests.

    The quick ones are a Latin square: they have every combination of all parameters but the last,
    so of three parameters every pair of values, and of two parameters every value.
    """
    cases = []
    for places in product(*(range(len(some)) for some in values)):
        *first, last = places
        is_quick = last == sum(first) % len(values[-1])
        case = [some[place] for some, place in zip(values, places, strict=True)]
        cases.append(pytest.param(*case, marks=[] if is_quick else [pytest.mark.slow]))
    return cases


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
