"""Comparisons with few draws, but in modules that test what the draws say."""

import pytest

from tests.quick import few_draws

_ALL_DRAWS = {
    "choice",
    "clinical",
    "external",
    "honest_predictions",
    "nested",
    "scores",
    "weights",
}


@pytest.fixture(scope="module", autouse=True)
def _with_few_draws(request):
    name = request.module.__name__.rpartition(".test_")[2]
    if name in _ALL_DRAWS:
        yield
        return
    with few_draws():
        yield
