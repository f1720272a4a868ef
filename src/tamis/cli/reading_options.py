"""Options that several commands share: how data are read, and how CSV is written."""

from dataclasses import MISSING
from functools import partial

from tamis.cli import argument_types
from tamis.comparison.options import Number, declared, switch
from tamis.tables.columns.missing import BELOW_DETECTION

DATA = "table to read: a file, or - for standard input"
SEED = "seed of the random numbers (default: 0)"


def add_declared(group, name):
    """Add the options of one group that are declared for a comparison."""
    for one in declared(name):
        words = {"default": one.default, "help": one.metadata["help"]}
        must, read = one.metadata["must"], one.metadata["read"]
        if one.metadata["metavar"] is not None:
            words["metavar"] = one.metadata["metavar"]
        if one.default is False:
            words = {"action": "store_true", "help": words["help"]}
        elif one.default is True:
            words = {"action": "store_false", "help": words["help"], "dest": one.name}
        elif isinstance(must, Number):
            words["type"] = partial(argument_types.number, must)
        elif must is not None:
            words["choices"] = must
        elif read is not None:
            words["type"] = getattr(argument_types, read)
            words["default"] = () if one.default is MISSING else one.default
            words |= {"action": argument_types.Append} if read == "names" else {}
        group.add_argument(switch(one), **words)


def add_columns(parser, option, help):
    """Add an option whose values are names of columns."""
    read = {"type": argument_types.names, "action": argument_types.Append, "default": ()}
    parser.add_argument(option, **read, metavar="COLS", help=help)


def add_prevalence(parser, default="training", where="", labels=""):
    """Add the option that says at which class frequencies probabilities are shown.

    `where` and `labels` begin and end its help: the formats, and what it does to labels.
    """
    parser.add_argument(
        "--prevalence",
        metavar="P",
        help=f"{where}class frequencies where the model is used, for the probabilities that are "
        "shown: the proportion of the positive class (of two classes), CLASS=PROPORTION,..., or "
        f"training (default: {default}){labels}",
    )


def add_reading(parser, *, training, labels=True):
    """Add the options that say how data are read."""
    group = parser.add_argument_group("reading the data")
    group.add_argument(
        "--format", help="csv, tsv, xlsx, parquet, svmlight, npz, npy or h5ad (default: detected)"
    )
    group.add_argument("--delimiter", help="field separator (default: detected)")
    group.add_argument("--encoding", help="encoding of a text file (default: utf-8)")
    group.add_argument("--layer", help="h5ad: layer to read instead of X")
    group.add_argument("--sheet", help="xlsx: name or number of the sheet (default: the first)")
    group.add_argument("--transpose", action="store_true", help="the file has one feature per row")
    group.add_argument(
        "--id", dest="id_column", metavar="COL", help="column with the names of the rows"
    )
    group.add_argument(
        "--missing-values",
        type=argument_types.words,
        metavar="WORDS",
        help="comma-separated words that stand for a missing value, besides the empty field; "
        "for example NA,-,? (default: "
        + ("NA, NaN, NULL, N/A, #N/A, <NA>)" if training else "as in training)"),
    )
    group.add_argument(
        "--max-size",
        type=argument_types.size,
        metavar="SIZE",
        help="memory that the table may use, such as 8GB (default: half of the available memory)",
    )
    if labels:
        group.add_argument(
            "--target-file", metavar="FILE", help="separate file of labels, joined by row name"
        )
    if not training:
        add_columns(group, "--drop", "with --transpose: columns of the file that are not samples")
        return
    add_columns(group, "--text", "columns of free text; each word is a feature")
    add_declared(group, "reading")
    add_columns(
        group,
        "--categorical",
        "columns whose numbers stand for categories (columns of strings are detected)",
    )
    add_columns(
        group,
        "--drop",
        "columns not to use; with --transpose, also columns of the file that are not samples",
    )
    add_columns(group, "--include", "use columns that would be dropped automatically")
    group.add_argument(
        "--missing",
        choices=("impute", "error"),
        default="impute",
        help="how to handle missing values: fill them, or stop with an error (default: impute)",
    )
    group.add_argument(
        "--below-detection",
        choices=BELOW_DETECTION,
        default="half",
        help='how to read "<0.1" in a column of numbers: as half of the limit, as the limit, or '
        'as missing; ">100" is read as the limit, or as missing (default: half)',
    )
    group.add_argument(
        "--features",
        dest="features_file",
        metavar="FILE",
        help="CSV file that describes features, with the columns feature, question, unit, type, "
        "choices, unlisted (how to treat a value that is not among the choices: error or "
        "missing), min, max, cost, group, assay_error",
    )


def add_guard(parser):
    """Add the option that leaves CSV cells as they are."""
    parser.add_argument(
        "--no-guard",
        dest="guard",
        action="store_false",
        help="do not protect CSV cells (default: an apostrophe is put before cells that a "
        "spreadsheet would run as formulas, which begin with = + - @)",
    )
