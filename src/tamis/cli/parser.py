"""Commands and options of the command line, with their help texts."""

import argparse
from functools import partial

from tamis import __version__
from tamis.cli import argument_types

__all__ = ["make_parser"]

_METHODS = "centers, medians, primal-dual, panel, landmarks, datum-wise"
_MISSING = "--missing-values"
_DATA = "table to read: a file, or - for standard input"
_RUN = "folder of a run, or a model file"
_PRIORS = "class frequencies where the model is used, one per class; they sum to 1"
_SEED = "seed of the random numbers (default: 0)"
_BASELINES = "most-frequent, l1-logistic, relaxed-l1, rfe, random-forest"


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message):
        self.exit(2, f"tamis: error: {message} (see {self.prog} --help)\n")


def make_parser():
    """Return the parser of `tamis`."""
    parser = _Parser(
        prog="tamis",
        description="Find the fewest features that classify your data.",
        epilog="To see an example, run tamis fit without DATA: it uses an embedded data set.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tamis {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_fit(commands)
    _add_pick(commands)
    _add_predict(commands)
    _add_evaluate(commands)
    _add_explain(commands)
    _add_export(commands)
    _add_methods(commands)
    return parser


def _command(commands, name, help, description=None):
    description = description or f"{help[0].upper()}{help[1:]}."
    return commands.add_parser(name, help=help, description=description, allow_abbrev=False)


def _add_reading(parser, *, training, labels=True):
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
        _MISSING,
        type=argument_types.words,
        metavar="WORDS",
        help="comma-separated words that mean a missing value, in addition to the empty field; "
        "for example NA,-,? (default: "
        + ("NA, NaN, NULL, N/A, #N/A, <NA>)" if training else "as in training)"),
    )
    group.add_argument(
        "--max-size",
        type=argument_types.size,
        metavar="SIZE",
        help="memory the table may take, such as 8GB (default: half of the available memory)",
    )
    if labels:
        group.add_argument(
            "--target-file", metavar="FILE", help="separate file of labels, joined by row name"
        )
    if not training:
        group.add_argument(
            "--drop",
            type=argument_types.names,
            action=argument_types.Append,
            default=(),
            metavar="COLS",
            help="with --transpose: columns of the file that are not samples",
        )
        return
    group.add_argument(
        "--text",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="columns of free text; each word is a feature",
    )
    group.add_argument(
        "--vectorizer",
        choices=("counts", "tfidf", "hashing"),
        default="counts",
        help="how the words of --text are counted (default: counts)",
    )
    group.add_argument(
        "--ngrams",
        type=argument_types.ngrams,
        default=(1, 1),
        metavar="N",
        help="longest word sequence in --text, or a range such as 2-3 (default: 1)",
    )
    group.add_argument(
        "--categorical",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="columns whose numbers are codes of categories (columns of strings are detected)",
    )
    group.add_argument(
        "--drop",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="columns not to use; with --transpose, also columns of the file that are not samples",
    )
    group.add_argument(
        "--include",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="keep columns that would be dropped automatically",
    )
    group.add_argument(
        "--missing",
        choices=("impute", "error"),
        default="impute",
        help="how to handle missing values: fill them, or stop with an error (default: impute)",
    )
    group.add_argument(
        "--features",
        dest="features_file",
        metavar="FILE",
        help="CSV file that describes features: feature, question, unit, type, choices, min, max, "
        "cost, group",
    )


def _add_guard(parser):
    parser.add_argument(
        "--no-guard",
        dest="guard",
        action="store_false",
        help="do not protect CSV cells (default: cells that a spreadsheet would run as formulas, "
        "which begin with = + - @, are preceded by an apostrophe)",
    )


def _add_fit(commands):
    parser = _command(
        commands,
        "fit",
        "compare all methods on your data and recommend the sparsest good model",
        "Cross-validate the path of every method on the same folds, recommend the sparsest model "
        "that is nearly as good as the best, and report an honest score for it. Without DATA, an "
        "embedded data set is used.",
    )
    parser.add_argument("data", nargs="?", metavar="DATA", help=_DATA)
    parser.add_argument("--target", metavar="COL", help="column of labels")
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN",
        help="folder for the model, features, metrics and checkpoints",
    )
    _add_reading(parser, training=True)
    how = parser.add_argument_group("comparing")
    how.add_argument(
        "--methods",
        default="auto",
        help=f"auto (all that finish in about ten minutes), all, or names from {_METHODS}; "
        f"baselines: {_BASELINES} (default: auto)",
    )
    how.add_argument(
        "--allow-baselines",
        action="store_true",
        help="the sparse baselines (l1-logistic, relaxed-l1, rfe) may be recommended, too",
    )
    how.add_argument(
        "--folds",
        type=partial(argument_types.integer, 2),
        default=5,
        metavar="N",
        help="number of cross-validation folds (default: 5)",
    )
    how.add_argument(
        "--repeats",
        type=partial(argument_types.integer, 1),
        metavar="N",
        help="how often to repeat cross-validation with new folds (default: 3 below 200 rows, 2 "
        "below 500, else 1)",
    )
    how.add_argument(
        "--groups",
        metavar="COL",
        help="column of sample groups, such as patients; rows of one group stay in one fold",
    )
    how.add_argument(
        "--batch",
        metavar="COL",
        help="column of batches, such as hospitals; adds a score with one batch at a time held "
        "out of training",
    )
    how.add_argument(
        "--weights",
        metavar="COL",
        help="column of sample weights, used in training and in scores; methods that cannot use "
        "them exactly are skipped",
    )
    how.add_argument(
        "--duplicates",
        choices=("group", "keep", "drop"),
        default="group",
        help="how to handle copies of rows: keep them in one fold and count them as one sample, "
        "treat them as separate samples, or drop all but one (default: group)",
    )
    how.add_argument(
        "--scoring",
        choices=("balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"),
        default="balanced_accuracy",
        help="score to compare models by (default: balanced_accuracy)",
    )
    how.add_argument("--positive", metavar="CLASS", help="class that --min-sensitivity is about")
    how.add_argument(
        "--min-sensitivity",
        type=argument_types.share,
        metavar="S",
        help="share of the rows of class --positive that must be detected, such as 0.95",
    )
    how.add_argument(
        "--minimize",
        choices=("overall", "per-sample"),
        default="overall",
        help="which number of features should be small: the features of the model, or the mean "
        "number per sample (default: overall)",
    )
    how.add_argument(
        "--tolerance",
        type=argument_types.tolerance,
        default=0.01,
        metavar="T",
        help="difference in score that is not worth an extra feature (default: 0.01); with 0, "
        "only the standard error counts",
    )
    how.add_argument(
        "--max-features",
        type=partial(argument_types.integer, 1),
        metavar="K",
        help="most features a model may use",
    )
    how.add_argument(
        "--keep",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="columns that are always available; they are not counted as features, and their own "
        "score is shown",
    )
    how.add_argument(
        "--redundancy",
        type=argument_types.share,
        metavar="R",
        help="skip features whose correlation with a better one is above R",
    )
    how.add_argument(
        "--permutations",
        type=partial(argument_types.integer, 0),
        default=0,
        metavar="N",
        help="repeat everything N times with shuffled labels, for a p-value (default: 0)",
    )
    work = parser.add_argument_group("running")
    work.add_argument(
        "--max-seconds",
        type=argument_types.positive,
        metavar="S",
        help="start no new work after S seconds",
    )
    work.add_argument(
        "--n-jobs", type=int, default=-1, metavar="N", help="processes (default: all cores)"
    )
    work.add_argument(
        "--seed", type=partial(argument_types.integer, 0), default=0, metavar="N", help=_SEED
    )
    work.add_argument(
        "--force", action="store_true", help="discard results of a different run in RUN"
    )
    work.add_argument("--json", action="store_true", help="print all results as JSON")
    _add_guard(work)


def _add_pick(commands):
    parser = _command(
        commands, "pick", "use another method or number of features, without a new search"
    )
    parser.add_argument("run", metavar="RUN", help="folder written by tamis fit")
    parser.add_argument("--method", required=True, metavar="NAME", help=f"one of {_METHODS}")
    parser.add_argument(
        "--n-features",
        type=argument_types.positive,
        required=True,
        metavar="K",
        help="most features the model may use (datum-wise: mean number per sample)",
    )
    parser.add_argument(
        "--data", metavar="DATA", help="where the data are now (default: where fit read them)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for the new model"
    )
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    _add_guard(parser)


def _add_predict(commands):
    parser = _command(commands, "predict", "predict labels and probabilities of new rows, as CSV")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: standard output)"
    )
    parser.add_argument("--priors", metavar="A=0.1,B=0.9", help=_PRIORS)
    parser.add_argument(
        "--reject",
        type=argument_types.share,
        metavar="P",
        help="mark rows whose largest class probability is below P, so that a person decides",
    )
    _add_guard(parser)
    _add_reading(parser, training=False, labels=False)


def _add_evaluate(commands):
    parser = _command(commands, "evaluate", "score a model on other data that have labels")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument(
        "--target", metavar="COL", help="column of labels (default: as in training)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the results as JSON")
    parser.add_argument(
        "--recalibrate",
        metavar="FILE",
        help="write the model with an intercept and a temperature fitted to these data",
    )
    parser.add_argument("--priors", metavar="A=0.1,B=0.9", help=_PRIORS)
    parser.add_argument(
        "--seed", type=partial(argument_types.integer, 0), default=0, metavar="N", help=_SEED
    )
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    _add_reading(parser, training=False)


def _add_explain(commands):
    parser = _command(commands, "explain", "explain the prediction of each row, as CSV")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: standard output)"
    )
    parser.add_argument(
        "--top",
        type=partial(argument_types.integer, 1),
        default=10,
        metavar="N",
        help="number of contributions, or of nearest landmarks, per row (default: 10)",
    )
    _add_guard(parser)
    _add_reading(parser, training=False, labels=False)


def _add_export(commands):
    parser = _command(commands, "export", "write the model in another format")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    formats = ("json", "skops", "onnx", "sql", "python", "spreadsheet")
    parser.add_argument("--to", choices=formats, required=True, help="format to write")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")


def _add_methods(commands):
    parser = _command(commands, "methods", "list the methods and baselines")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
