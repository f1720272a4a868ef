"""The one place where seeds become random streams."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["PURPOSES", "as_seed", "derive_seed", "make_generator"]

# What a comparison draws at random. Every purpose has a stream of its own, so that one does not
# change when another draws more.
PURPOSES = {
    "bootstrap": 3,
    "scores of new rows": 5,
    "shuffled labels": 11,
    "limits of a perfect score": 17,
    "folds that disagree": 19,
    "rows of a subgroup": 23,
    "assay errors": 29,
    "cost of errors of new rows": 37,
}


def as_seed(random_state: int | np.random.RandomState | None) -> int:
    """An integer seed; an integer is returned unchanged."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def derive_seed(*parts: int) -> int:
    """A seed for each task, which does not depend on the process or the order."""
    return int(np.random.SeedSequence(list(parts)).generate_state(1)[0] % (2**31 - 1))


def make_generator(seed: int, purpose: str, *parts: int) -> np.random.Generator:
    """The random stream of a purpose.

    `seed`: of the comparison; `purpose`: one of `PURPOSES`; `parts`: what tells streams of the
    same purpose apart, such as the number of a permutation.
    """
    return np.random.default_rng([seed, PURPOSES[purpose], *parts])
