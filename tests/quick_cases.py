"""Products of parameters of which a few are quick tests and the others slow ones."""

from itertools import product

import pytest

__all__ = ["few_quick"]


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
