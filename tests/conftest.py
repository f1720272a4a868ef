import os

import pytest
from hypothesis import settings

# One seed for scikit-learn's checks that use the global generator; threads are tested explicitly.
os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "0")

# The same examples in every run; `pytest --hypothesis-profile=default` looks for others.
settings.load_profile("ci")

# Beside those that are marked in their files: experiments from end to end.
_SLOW = "tests/benchmarks/"


@pytest.fixture(scope="session", autouse=True)
def _without_waiting():
    """Do not wait for the disk, which takes milliseconds, thousands of times.

    Processes that tests start do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if _SLOW in item.nodeid:
            item.add_marker(pytest.mark.slow)
