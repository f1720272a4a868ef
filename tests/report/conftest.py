import pytest

from tests.quick import few_draws


@pytest.fixture(scope="package", autouse=True)
def _with_few_draws():
    """tests/comparison tests intervals and frequencies with all draws and half-samples."""
    with few_draws():
        yield
