import os

import pytest
from hypothesis import settings
from threadpoolctl import ThreadpoolController

# One seed for scikit-learn's checks that use the global generator; threads are tested explicitly.
os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "0")

# The same examples in every run; `pytest --hypothesis-profile=default` looks for others.
settings.load_profile("ci")

# Beside those that are marked in their files: experiments from end to end.
_SLOW = "tests/benchmarks/"

_LIMIT_THREADS = (
    "comparison.further.assay",
    "comparison.running.tasks",
    "datumwise.classifier_cv",
    "datumwise.linear",
    "landmarks.search",
    "landmarks.supports",
)


@pytest.fixture(scope="session", autouse=True)
def _without_waiting():
    """Neither wait for the disk, nor look for the same libraries before every small task.

    Both take milliseconds, thousands of times. Processes that tests start do both.
    """
    controller = ThreadpoolController()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        for module in _LIMIT_THREADS:
            patch.setattr(
                f"tamis.{module}.threadpool_limits",
                lambda limits, user_api=None: controller.limit(limits=limits, user_api=user_api),
            )
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if _SLOW in item.nodeid:
            item.add_marker(pytest.mark.slow)
