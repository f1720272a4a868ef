"""The one place where seeds become random streams."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["as_seed", "derive_seed"]


def as_seed(random_state: int | np.random.RandomState | None) -> int:
    """An integer seed; an integer is returned unchanged."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def derive_seed(*parts: int) -> int:
    """A seed for each task, which does not depend on the process or the order."""
    return int(np.random.SeedSequence(list(parts)).generate_state(1)[0] % (2**31 - 1))
