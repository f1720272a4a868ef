"""A program that reads a table from one stream, and writes it with predictions to another."""

import csv
import itertools
import os
import re
import sys

from tamis.models.standalone.headings import headings, unused_names
from tamis.models.standalone.predicting import predict, predict_proba

__all__ = ["predict_file", "run_program"]

_DELIMITERS = ("\t", ";", "|", ",")
# Rows from which the decimal mark is found.
_HEAD = 1000


def run_program(model):
    """Predict the rows of the file that is named as an argument, or of standard input."""
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")  # on Windows, pipes have another one
    try:
        if len(sys.argv) > 1:
            with open(sys.argv[1], newline="", encoding="utf-8-sig") as lines:
                predict_file(model, lines, sys.stdout)
        else:
            predict_file(model, sys.stdin, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed it (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except FileNotFoundError as error:
        sys.exit(str(error))


def predict_file(model, lines, out):
    """Write the rows of a table with labels and probabilities.

    `model`: from `load`; `lines`: the table: a line of names, then rows, with tabs, semicolons,
    bars or commas between them.
    """
    lines = iter(lines)
    first = next(lines, "").removeprefix("\ufeff")
    if not first:
        sys.exit(f"no input: python {sys.argv[0]} rows.csv")
    needed = _needed(model)
    delimiter = _find_delimiter(first, needed)
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter)
    names = [name.strip() for name in next(reader, [])]
    lacking = [name for name in needed if name not in names]
    if lacking and (len(lacking) == len(needed) or not _asks(model)):
        sys.exit(
            f"the table lacks {len(lacking)} of the {len(needed)} columns needed: "
            f"{', '.join(lacking)}"
        )
    rows = (row for row in reader if row)
    head = list(itertools.islice(rows, _HEAD))
    if "preparation" in model:
        missing = model["preparation"]["missing"]
        words = [
            word for row in head for name, word in zip(names, row, strict=False) if name in needed
        ]
        missing["decimal"] = _find_decimal(words, missing.get("decimal", "."), delimiter == ",")
    writer = csv.writer(out, lineterminator="\n")  # Windows makes it \r\n
    wanted = headings((model.get("estimator") or model)["classes"])
    writer.writerow([*names, *unused_names(wanted, names)])
    for row in itertools.chain(head, rows):
        values = dict(zip(names, row, strict=False))
        shares = predict_proba(model, values)
        writer.writerow([*row, predict(model, values), *shares.values()])


def _needed(model):
    """Names of the columns that a model reads."""
    if "preparation" in model:
        return [column["name"] for column in model["preparation"]["columns"]]
    return model["feature_names"] or [f"x{i}" for i in range(model["n_features_in"])]


def _asks(model):
    return model["model"] == "TableModel" and model["estimator"]["model"].startswith("DatumWise")


def _find_delimiter(line, needed):
    """What separates the names of most of the columns needed; of all fields, if that is a tie."""

    def found(delimiter):
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
        return len({*needed}.intersection(names)), len(names)

    return max(_DELIMITERS, key=found)


def _find_decimal(words, usual, is_sure):
    """The decimal mark that most words have; is_sure: 1,234 does not show it."""
    bare = [word.strip().lstrip("<>=≤≥ ").rstrip("% ") for word in words]
    grouped = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
    if any(re.fullmatch(r"[-+]?\d{1,3}(?:(?:,\d{3}){2,}.*|,\d{3}\.\d+)", word) for word in bare):
        is_sure = True
    commas = [word for word in bare if re.fullmatch(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?", word)]
    if is_sure:
        commas = [word for word in commas if not grouped.fullmatch(word)]
    number = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d{1,3}(?:,\d{3})+\.\d*)(?:[eE][-+]?\d+)?")
    points = sum(number.fullmatch(word) is not None for word in bare)
    if not commas and not points:
        return usual
    return "," if len(commas) > points else "."
