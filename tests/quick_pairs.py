"""Products of parameters, thinned for the quick tests."""

from itertools import product

import pytest

__all__ = ["quick_pairs"]


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
