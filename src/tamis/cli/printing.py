"""Names and labels of the data, which can be anything, in text for people and spreadsheets."""

import re
import sys

__all__ = ["print_lines", "printable"]

# Controls (escape sequences, ends of lines), and characters that change the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


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
