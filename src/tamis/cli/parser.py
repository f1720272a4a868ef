"""Commands and options of the command line, with their help texts."""

import argparse

from tamis import __version__
from tamis.cli import argument_types
from tamis.cli.ask_options import add_ask, add_conversation, add_refer
from tamis.cli.fit_options import ABOUT, add_fit, add_no_report
from tamis.cli.printing import printable
from tamis.cli.reading_options import DATA, SEED, add_guard, add_prevalence, add_reading
from tamis.comparison.options import METHOD_NAMES

_RUN = "folder of a run, or a model file"
_PRIORS = "the same as --prevalence A=0.1,B=0.9 --relabel; every class must be named"
_RELABEL = "decide the labels, too, by the class frequencies of --prevalence"


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line."""

    def error(self, message):
        line = printable(f"tamis: error: {message} (see {self.prog} --help)")
        self.exit(2, f"{line}\n")


def make_parser():
    """Return the parser of `tamis`."""
    parser = _Parser(
        prog="tamis",
        description="Find a small set of features that classifies your data.",
        epilog="To see an example, run tamis fit without DATA: it uses an embedded data set.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tamis {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add_fit(commands, _command)
    _add_pick(commands)
    _add_predict(commands)
    _add_evaluate(commands)
    _add_explain(commands)
    add_ask(commands, _command, _RUN)
    _add_export(commands)
    _add_report(commands)
    _add_methods(commands)
    return parser


def _command(commands, name, help, description=None):
    description = description or f"{help[0].upper()}{help[1:]}."
    return commands.add_parser(name, help=help, description=description, allow_abbrev=False)


def _add_pick(commands):
    parser = _command(
        commands,
        "pick",
        "take another method or number of features of a run, without a new search",
    )
    parser.add_argument("run", metavar="RUN", help="folder written by tamis fit")
    parser.add_argument(
        "--method",
        metavar="NAME",
        help=f"one of {METHOD_NAMES} (default: that of the run's model)",
    )
    parser.add_argument(
        "--n-features",
        type=argument_types.positive,
        metavar="K",
        help="take the largest model with at most K features (datum-wise: K per sample, on "
        "average; default, for the method of the run's model: as many as it has)",
    )
    parser.add_argument(
        "--readable",
        action="store_true",
        help="the best model that can be explained, asked, turned into a points card and exported "
        "to SQL, by the rule of the recommendation; --method and --n-features narrow the choice",
    )
    parser.add_argument(
        "--without",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="A,B",
        help="features that the model must not use; the method is cross-validated again",
    )
    parser.add_argument(
        "--data", metavar="DATA", help="where the data are now (default: where fit read them)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for the new model"
    )
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    add_no_report(parser)
    add_guard(parser)


def _add_predict(commands):
    parser = _command(commands, "predict", "predict labels and probabilities of new rows, as CSV")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=DATA)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: standard output)"
    )
    add_prevalence(
        parser,
        default="the frequencies that the model decides by",
        labels="; labels do not change without --relabel",
    )
    _add_relabel(parser)
    add_refer(
        parser, "mark rows to refer to a person: those whose largest class probability is below P"
    )
    parser.add_argument(
        "--coverage",
        type=argument_types.fraction,
        metavar="C",
        help="add the prediction set of each row, which contains its true class with probability "
        "at least C (for models fitted with --calibration-share)",
    )
    add_guard(parser)
    add_reading(parser, training=False, labels=False)


def _add_relabel(parser):
    parser.add_argument("--relabel", action="store_true", help=_RELABEL)
    parser.add_argument("--priors", metavar="A=0.1,B=0.9", help=_PRIORS)


def _add_evaluate(commands):
    parser = _command(commands, "evaluate", "score a model on other data that have labels")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=DATA)
    parser.add_argument(
        "--target", metavar="COL", help="column of labels (default: as in training)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the results as JSON")
    parser.add_argument(
        "--recalibrate",
        metavar="FILE",
        help="write a model whose intercept and temperature are fitted to these data",
    )
    parser.add_argument(
        "--positive",
        metavar="CLASS",
        help="class whose probabilities are evaluated (default: that of fit, or the second of two "
        "classes; with more than two, each of them)",
    )
    add_prevalence(parser, labels="; here: as in DATA; labels do not change without --relabel")
    _add_relabel(parser)
    parser.add_argument(
        "--seed", type=argument_types.integer[0], default=0, metavar="N", help=SEED
    )
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    add_reading(parser, training=False)


def _add_explain(commands):
    parser = _command(commands, "explain", "explain the prediction of each row, as CSV")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("data", metavar="DATA", help=DATA)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: standard output)"
    )
    parser.add_argument(
        "--top",
        type=argument_types.integer[1],
        default=10,
        metavar="N",
        help="number of contributions, or of nearest landmarks, per row (default: 10)",
    )
    add_prevalence(parser)
    add_guard(parser)
    add_reading(parser, training=False, labels=False)


def _add_export(commands):
    parser = _command(commands, "export", "write the model in another format")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    formats = ("json", "skops", "onnx", "sql", "python", "spreadsheet", "html", "card")
    parser.add_argument("--to", choices=formats, required=True, help="format to write")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    add_conversation(parser, where="html: ")
    add_prevalence(parser, where="html, card: ")
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="card: where the data are now (default: where fit read them)",
    )
    parser.add_argument(
        "--positive", metavar="CLASS", help="card: the class whose risk the card gives"
    )


def _add_report(commands):
    parser = _command(
        commands,
        "report",
        "write the report of a run again, with external validations or other options",
    )
    parser.add_argument("run", metavar="RUN", help="folder written by tamis fit")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default: RUN/report.html)"
    )
    parser.add_argument(
        "--data", metavar="DATA", help="where the data are now (default: where fit read them)"
    )
    parser.add_argument(
        "--evaluation",
        action="append",
        default=[],
        metavar="FILE",
        help="file written by tamis evaluate -o FILE, to show beside the internal score; may be "
        "repeated",
    )
    parser.add_argument("--about", metavar="FILE", help=ABOUT)
    parser.add_argument(
        "--include-rows",
        action="store_true",
        help="show single rows of the data, such as landmarks (default: the report shows none)",
    )
    add_prevalence(parser)


def _add_methods(commands):
    parser = _command(commands, "methods", "list the methods and baselines")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
