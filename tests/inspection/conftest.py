"""Pictures without a screen, closed after each test; one comparison for all."""

import matplotlib
import numpy as np
import pytest

from tamis import compare

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before  # no Display changes the settings
    plt.close("all")


@pytest.fixture(scope="session")
def three_classes():
    """Three classes as strings, of different sizes, and two informative features of five."""
    rng = np.random.default_rng(0)
    y = np.repeat(["low", "middle", "high"], [20, 30, 40])
    X = rng.normal(size=(90, 5))
    X[:, 0] += np.repeat([0.0, 1.5, 3.0], [20, 30, 40])
    X[:, 1] += np.repeat([1.0, 0.0, 1.0], [20, 30, 40])
    return X, y


@pytest.fixture(scope="session")
def comparison(three_classes):
    X, y = three_classes
    methods = ["centers", "medians", "random-forest", "most-frequent"]
    return compare(X, y, methods=methods, cv=3, repeats=1, random_state=0)
