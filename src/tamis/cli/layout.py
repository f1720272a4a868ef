"""Lines of at most 80 columns: names cut to size, sentences wrapped, tables aligned.

Widths are those of a terminal, where a Chinese character takes two columns and an accent none.
"""

import math
import unicodedata

from tamis.cli.printing import Styled, printable

#: Columns of a line.
WIDTH = 80
# Columns of what stands before the text of an entry, and of a class in a list of classes.
_LABEL, _LONGEST_LABEL = 20, 24


def span(text):
    """Columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def shorten(name, width):
    """A name in at most `width` columns: the middle of a long one is replaced by dots."""
    name = printable(str(name))
    if span(name) <= width:
        return name
    first = _take(name, (width - 1) - (width - 1) // 2)
    last = _take(name[::-1], (width - 1) // 2)[::-1]
    return f"{first}…{last}"


def _take(text, width):
    """The first letters of a text, in at most `width` columns."""
    used = 0
    for place, letter in enumerate(text):
        used += span(letter)
        if used > width:
            return text[:place]
    return text


def pad(text, width, right=False):
    """A text with spaces after it, or before it with `right`."""
    spaces = " " * max(width - span(text), 0)
    return spaces + text if right else text + spaces


def paragraph(text, first="", indent=None, style=None):
    """Wrap a sentence.

    `indent`: what the other lines begin with; None: spaces, as many as `first` is wide.
    """
    indent = " " * span(first) if indent is None else indent
    lines, line, is_empty = [], first, True
    # A number and its percent sign stay together.
    for word in printable(text).replace(" %", "\u00a0%").split(" "):
        if not word and not is_empty:
            line += " "  # of several in a row
        while word:
            free = WIDTH - span(line) - (0 if is_empty else 1)
            if span(word) <= free:
                line, is_empty = (line + word if is_empty else f"{line} {word}"), False
                break
            if is_empty and span(word) > WIDTH - span(indent):  # a word that no line can hold
                head = _take(word, max(free, 1))
                line, word = line + head, word[len(head) :]
            lines.append(line)
            line, is_empty = indent, True
    lines.append(line)
    lines = [line.replace("\u00a0", " ").rstrip() for line in lines]
    return [Styled(line, style) for line in lines] if style else lines


def entry(label, text, style=None):
    """Lines of one fact: a label of 20 columns, and a text that is wrapped beside it."""
    label = shorten(label, _LABEL - 2)
    return paragraph(text, f"  {pad(label, _LABEL)}", " " * (_LABEL + 2), style)


def counted(label, number):
    """A label with a number that cannot be read as part of it."""
    label = shorten(label, _LONGEST_LABEL)
    return f"{label}: {number}" if label[-1:].isdigit() else f"{label} {number}"


def show_table(header, rows):
    """Format a table with aligned columns; the first is text, the others numbers."""
    table = [[printable(str(cell)) for cell in row] for row in [header, *rows]]
    widths = [max(span(row[c]) for row in table) for c in range(len(header))]
    lines = [
        "  ".join(
            pad(cell, width, c > 0)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return [line.rstrip() for line in lines]


def count(value):
    """Format a number of features, or a mean of such numbers."""
    if math.isclose(value, round(value), abs_tol=5e-3) or value >= 100:
        return f"{round(value):,}"
    return f"{value:.1f}"


def plural(n, word):
    """Format a number with its noun."""
    return f"{count(n)} {word}{'' if count(n) == '1' else 's'}"


def times(n):
    """How often something is done, in words."""
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def listed_names(items, most, where=""):
    """The first of many items, and how many more there are."""
    items = list(items)
    told = ", ".join(items[:most])
    return told if len(items) <= most else f"{told}, and {len(items) - most:,} more{where}"
