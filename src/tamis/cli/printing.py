"""Names and labels of the data, which can be anything, in text for people and spreadsheets."""

import re
import sys

__all__ = ["guarded", "print_lines", "printable"]

# Controls (escape sequences, ends of lines), and characters that change the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# What spreadsheets take for the beginning of a formula.
_FORMULA = tuple("=+-@\t\r\n")


def printable(line):
    r"""A line without characters that a terminal acts on: these are written as escapes.

    Examples
    --------
    >>> print(printable("dose\x1b[31m"))
    dose\u001b[31m
    """
    return _UNSAFE.sub(lambda c: _SHORT.get(c[0], f"\\u{ord(c[0]):04x}"), line)


def print_lines(lines, stream=None):
    """Print lines for people, on standard output where no other stream is given."""
    print("\n".join(map(printable, lines)), file=stream or sys.stdout, flush=True)


def guarded(cell):
    """A cell of a CSV file that no spreadsheet takes for a formula: with an apostrophe before it.

    Examples
    --------
    >>> [guarded(cell) for cell in ("=1+1", "-0.5", "-", "+x", 3)]
    ["'=1+1", '-0.5', '-', "'+x", 3]
    """
    # A single sign is no formula, and a frequent label.
    if not isinstance(cell, str) or len(cell) < 2 or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
