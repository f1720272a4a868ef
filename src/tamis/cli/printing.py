"""Printing names and labels from the data safely: they may hold any character."""

import contextlib
import os
import re
import sys

#: Name of data from a pipe, in messages and in run.json.
STANDARD_INPUT = "standard input"
# Control characters (escape sequences, line ends) and those that change the text direction.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_STYLES = {"bold": "1", "dim": "2", "good": "1;32", "warning": "1;31"}


def printable(line):
    r"""Replace the characters of a line that a terminal would act on by escapes.

    Examples
    --------
    >>> print(printable("dose\x1b[31m"))
    dose\u001b[31m
    """
    return _UNSAFE.sub(lambda c: _SHORT.get(c[0], f"\\u{ord(c[0]):04x}"), line)


class Styled(str):
    """A line that a terminal shows in a style: "bold", "dim", "good" or "warning"."""

    style: str

    def __new__(cls, text, style):
        """A line with its style."""
        line = super().__new__(cls, text)
        line.style = style
        return line


def print_lines(lines, stream=None):
    """Print lines, on standard output unless another stream is given."""
    stream = stream or sys.stdout
    is_plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    told = []
    for line in lines:
        text = printable(line)
        if isinstance(line, Styled) and not is_plain:
            text = f"\x1b[{_STYLES[line.style]}m{text}\x1b[0m"
        told.append(text)
    print("\n".join(told), file=stream, flush=True)


def say(line):
    """Print one line of information on standard error; work goes on if nobody reads it."""
    try:
        print_lines([f"tamis: {line}"], sys.stderr)
    except OSError:
        silence(sys.stderr)


def silence(stream):
    """Discard what is still in the buffer of a stream, and everything after it."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
