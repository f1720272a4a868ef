"""The one error of bad input, and the words that its messages share."""

import re
from difflib import get_close_matches

__all__ = [
    "EmptyTableError",
    "Failure",
    "InputError",
    "counted",
    "in_python",
    "listed",
    "nearest",
    "require_names",
]


class InputError(ValueError):
    """Input that cannot be used: one line with what came, what was expected and what to do."""

    def __init__(self, message):
        super().__init__(" ".join(str(message).split()))


class Failure(RuntimeError):
    """Work that went wrong although the input is fine: one line with what to do."""


class EmptyTableError(InputError):
    """A table that has columns, and no rows."""


def counted(number, word):
    """A number of things in words: 1 row, 1,000 rows."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def listed(names, most=5):
    """Some names in a row, and how many more there are."""
    names = [str(name) for name in names]
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def nearest(name, names, most=3):
    """The names that look most like `name`, ignoring upper and lower case."""
    spelled = {}
    for known in names:
        spelled.setdefault(str(known).lower(), str(known))
    found = get_close_matches(str(name).lower(), list(spelled), n=most, cutoff=0.4)
    return [spelled[match] for match in found]


def require_names(wanted, names, role):
    """Refuse names that are not there, with the nearest ones that are."""
    known = set(names)
    absent = [name for name in wanted if name not in known]
    if not absent:
        return
    near = nearest(absent[0], names)
    advice = f"did you mean {', '.join(near)}?" if near else f"there are: {listed(names)}"
    raise InputError(f"{role}: no column {listed(map(repr, absent))}; {advice}")


def in_python(message):
    """A message about an option of the command, as one about a parameter.

    Examples
    --------
    >>> in_python("use its words with --text note; or --missing-values: NA is a word")
    'use its words with text=note; or missing_values: NA is a word'
    """
    return re.sub(
        r"--([a-z]+(?:-[a-z]+)*)( ?)",
        lambda found: found[1].replace("-", "_") + ("=" if found[2] else ""),
        str(message),
    )
