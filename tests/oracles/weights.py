"""Sample weights as they are read: counts if all are whole, otherwise relative."""

import numpy as np


def as_read(weight):
    """Weights as given, if they are counts; else scaled to sum to the number of rows they have."""
    if weight is None or all(float(w).is_integer() for w in weight):
        return weight
    weight = np.asarray(weight)
    return weight * np.count_nonzero(weight) / weight.sum()
