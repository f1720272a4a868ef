"""What is a date, and which."""

from datetime import datetime

import numpy as np
import pytest

from tamis.tables.columns.times import are_times, is_date, read_times
from tamis.tables.errors import InputError

JANUARY_31 = [
    "2024-01-31", "2024/1/31", "2024.01.31", "31.1.2024", "31/01/2024", "1/31/2024", "1/31/24",
    "31-Jan-2024", "31-jan-24", "31 January, 2024", "Jan 31, 2024", "2024-W05-3",
]  # fmt: skip
NO_DATES = [
    "12-05",
    "31-Foo-2024",
    "30/02/2024",
    "2024-13",
    "3/4/5",
    "12 foo 34",
    "May 5",
    "A12-3",
]


def read(*words):
    return read_times(np.array(words, dtype=object), "when").tolist()


@pytest.mark.parametrize("word", JANUARY_31)
def test_what_is_recognised_is_read(word):
    assert is_date(word)
    assert read(word) == [datetime(2024, 1, 31)]


@pytest.mark.parametrize("clock", ["13:05", "13:05:00", "1:05 PM", "13:05Z", "14:05+0100"])
@pytest.mark.parametrize("date", JANUARY_31[:-1])
def test_dates_may_have_clocks_and_zones(date, clock):
    assert is_date(f"{date} {clock}")
    assert read(f"{date} {clock}") == [datetime(2024, 1, 31, 13, 5)]


@pytest.mark.parametrize("word", NO_DATES)
def test_other_words_are_no_dates(word):
    assert not is_date(word)
    with pytest.raises(InputError, match="write dates as YYYY-MM-DD"):
        read(word)


def test_months_without_days_begin_on_the_first():
    assert is_date("2024-02")
    assert read("2024-02") == [datetime(2024, 2, 1)]


@pytest.mark.parametrize("words", [["3/4/2024"], ["31/12/24"], ["31.12.24"]])
def test_dates_that_could_be_two_are_recognised_but_not_read(words):
    assert all(map(is_date, words))
    with pytest.raises(InputError, match="cannot be told apart"):
        read(*words)


def test_other_rows_tell_the_order():
    assert read("3/4/2024", "13/4/2024") == [datetime(2024, 4, 3), datetime(2024, 4, 13)]
    assert read("3/4/99", "4/13/99") == [datetime(1999, 3, 4), datetime(1999, 4, 13)]


def test_numbers_may_be_times():
    days = 20240100 + np.arange(1.0, 32.0)
    assert are_times(days)
    assert are_times(1.7e9 + days)
    assert not are_times(days + 1300)
    assert not are_times(days[:9])
