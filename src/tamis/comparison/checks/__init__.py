"""Checks of the data and of the result: what could make a score too good, or a model wrong.

Checks only report; none of them drops or changes anything. Effects that may be due to chance are
corrected for the number of columns: a check fires where the expected number of such columns in
data without any relation to the classes is below 0.01.
"""

from tamis.comparison.checks.check import Check
from tamis.comparison.checks.data import (
    check_categories,
    check_columns,
    check_data,
    check_labels,
    check_rows,
)
from tamis.comparison.checks.leaks import check_leaks
from tamis.comparison.checks.model import check_model
from tamis.comparison.checks.result import check_result

__all__ = [
    "Check",
    "check_categories",
    "check_columns",
    "check_data",
    "check_labels",
    "check_leaks",
    "check_model",
    "check_result",
    "check_rows",
]
