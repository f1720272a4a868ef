from tests.quick import mark_beyond_pairs


def pytest_collection_modifyitems(items):
    mark_beyond_pairs(items, "tests/projections/")
