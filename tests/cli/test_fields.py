"""Columns that are written together are those that are written one by one."""

import numpy as np
import pytest

from tamis.cli.output import join_fields, number


def texts(values):
    return join_fields([np.array(values)], str).split("\n")[:-1]


def test_floats_have_ten_digits():
    rng = np.random.default_rng(0)
    values = [*rng.random(20_000), *(10.0 ** rng.uniform(-20, 3, size=5_000)), *-rng.random(10)]
    assert texts(values) == [number(value) for value in values]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.5, "0.5"),
        (np.nan, ""),
        (0.99999999999, "1"),
        (0.099999999999, "0.1"),
        (0.00099999999999999, "0.001"),
        (1e-4, "0.0001"),
        (9.9999e-5, "9.9999e-05"),
        (1e-300, "1e-300"),
        (123456789.123, "123456789.1"),
    ],
)
def test_numbers_at_the_edges(value, text):
    assert texts([value]) == [text]
    assert texts([value, np.nan]) == [text, ""]


def test_whole_numbers_and_cells():
    lines = join_fields([range(4), ["a", "é", "", "a"]], lambda cell: f"<{cell}>")
    assert lines == "0,<a>\n1,<é>\n2,<>\n3,<a>\n"
    assert join_fields([range(9, 12)], str) == "9\n10\n11\n"
