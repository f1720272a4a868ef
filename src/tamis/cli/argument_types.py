"""What the values of options are converted to; argparse reports what they reject."""

import argparse
import re
from functools import partial

from tamis.comparison.options import Number


class Append(argparse.Action):
    """Collect the names of an option that is given several times."""

    def __call__(self, parser, options, values, option=None):
        """Add `values` to those of earlier uses of the option."""
        setattr(options, self.dest, (*getattr(options, self.dest), *values))


def names(text):
    r"""Names separated by commas; `\,` is a comma in a name."""
    parts = re.split(r"(?<!\\),", text)
    found = tuple(part.replace("\\,", ",").strip() for part in parts if part.strip())
    if not found:
        raise argparse.ArgumentTypeError("expected names separated by commas")
    return found


def costs(text):
    """Costs of errors: TRUE:PREDICTED=COST, separated by commas; pairs of the two.

    As in `--priors`, a class may contain commas and equals signs.
    """
    found, part = [], ""
    for piece in text.split(","):
        part += piece
        pair, mark, cost = part.rpartition("=")
        pair = pair.strip()
        if not (mark and ":" in pair and _is_number(cost)):
            part += ","
            continue
        if any(pair == known for known, _ in found):
            raise argparse.ArgumentTypeError(f"names {pair} twice")
        found.append((pair, float(cost)))
        part = ""
    if part:
        raise argparse.ArgumentTypeError(
            f"expected TRUE:PREDICTED=COST, separated by commas, got {part[:-1].strip()!r}"
        )
    return tuple(found)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def words(text):
    """Words separated by commas, each once; possibly none."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def size(text):
    """Bytes of a size such as 8GB."""
    from tamis.tables.formats.source import parse_size

    found = parse_size(text)
    if not found:
        raise argparse.ArgumentTypeError(f"expected a size such as 500MB or 8GB, got {text!r}")
    return found


def ngrams(text):
    """Shortest and longest sequence of words: 2 means 1 to 2."""
    try:
        low, _, high = text.partition("-")
        low, high = int(low), int(high or low)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= 5:
        raise argparse.ArgumentTypeError(f"expected 1, 2 or 1-3 (at most 5), got {text!r}")
    return (1, high) if "-" not in text else (low, high)


def number(must, text):
    """A number as a `Number` asks for."""
    try:
        value = int(text) if must.is_whole else float(text)
    except ValueError:
        value = None
    if not must.holds(value):
        raise argparse.ArgumentTypeError(f"expected {must}, got {text!r}")
    return value


integer = {least: partial(number, Number(least, is_whole=True)) for least in (0, 1)}
positive = partial(number, Number(0, open_low=True))
tolerance = partial(number, Number(0, 1, open_high=True))
fraction = partial(number, Number(0, 1, open_low=True, open_high=True))
share = partial(number, Number(0, 1, open_low=True))
