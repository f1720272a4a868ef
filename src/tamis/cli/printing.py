"""Printing names and labels from the data safely: they may hold any character."""

import re
import sys

__all__ = ["STANDARD_INPUT", "print_lines", "printable", "say"]

#: Name of data from a pipe, in messages and in run.json.
STANDARD_INPUT = "standard input"
# Control characters (escape sequences, line ends) and those that change the text direction.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(line):
    r"""Replace the characters of a line that a terminal would act on by escapes.

    Examples
    --------
    >>> print(printable("dose\x1b[31m"))
    dose\u001b[31m
    """
    return _UNSAFE.sub(lambda c: _SHORT.get(c[0], f"\\u{ord(c[0]):04x}"), line)


def print_lines(lines, stream=None):
    """Print lines, on standard output unless another stream is given."""
    print("\n".join(map(printable, lines)), file=stream or sys.stdout, flush=True)


def say(line):
    """Print one line of information on standard error."""
    print_lines([f"tamis: {line}"], sys.stderr)
