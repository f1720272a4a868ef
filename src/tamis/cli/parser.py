"""The words of the command line."""

import argparse
import sys

from tamis import __version__

__all__ = ["make_parser"]

_METHODS = "centers, medians, primal-dual, landmarks, datum-wise"
_MISSING = "--missing-values"
_DATA = "a table: a file, or - for standard input"
_BASELINES = "most-frequent, l1-logistic, random-forest"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        self.exit(2, f"tamis: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, args=None, namespace=None):
        """Words that begin like options, such as "-,?", can stand for missing values."""
        args = list(sys.argv[1:] if args is None else args)
        if _MISSING in args[:-1]:
            at = args.index(_MISSING)
            args[at : at + 2] = [f"{_MISSING}={args[at + 1]}"]
        return super().parse_known_args(args, namespace)


def make_parser():
    """The parser of `tamis`."""
    parser = _Parser(
        prog="tamis",
        description="The fewest features that classify your data.",
        epilog="tamis fit without DATA shows everything on an embedded data set.",
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
    command = commands.add_parser(
        name, help=help, description=description or help, allow_abbrev=False
    )
    return command


def _add_reading(parser, *, training, labels=True):
    group = parser.add_argument_group("reading the data")
    group.add_argument("--format", help="csv, tsv, parquet, svmlight, npz, npy or h5ad")
    group.add_argument("--delimiter", help="what separates fields (default: found out)")
    group.add_argument("--encoding", help="of a text file (default: utf-8)")
    group.add_argument("--layer", help="h5ad: a layer instead of X")
    group.add_argument("--transpose", action="store_true", help="features are in rows")
    group.add_argument("--id", dest="id_column", metavar="COL", help="column of sample names")
    group.add_argument(
        _MISSING,
        type=_values,
        metavar="WORDS",
        help="what stands for a missing value beside the empty field, such as NA,-,? (default: "
        + ("NA, NaN, NULL, N/A, #N/A, <NA>)" if training else "as in training)"),
    )
    group.add_argument(
        "--max-size",
        type=_size,
        metavar="SIZE",
        help="memory that the data may take, such as 8GB (default: half of what is available)",
    )
    if labels:
        group.add_argument("--target-file", metavar="FILE", help="labels, joined by sample name")
    if not training:
        group.add_argument(
            "--drop",
            type=_names,
            action=_More,
            default=(),
            metavar="COLS",
            help="with --transpose: columns that are no samples",
        )
        return
    group.add_argument(
        "--text", type=_names, action=_More, default=(), metavar="COLS", help="free text columns"
    )
    group.add_argument(
        "--vectorizer", choices=("counts", "tfidf", "hashing"), default="counts", help="for --text"
    )
    group.add_argument("--ngrams", type=_ngrams, default=(1, 1), metavar="N", help="1, 2 or 1-3")
    group.add_argument("--categorical", type=_names, action=_More, default=(), metavar="COLS")
    group.add_argument(
        "--drop",
        type=_names,
        action=_More,
        default=(),
        metavar="COLS",
        help="leave these features out; with --transpose also columns that are no samples",
    )
    group.add_argument(
        "--include",
        type=_names,
        action=_More,
        default=(),
        metavar="COLS",
        help="use what would be left out",
    )
    group.add_argument(
        "--missing", choices=("impute", "error"), default="impute", help="what to do with gaps"
    )
    group.add_argument(
        "--features",
        dest="features_file",
        metavar="FILE",
        help="table of feature, question, unit, type, choices, min, max, cost, group",
    )


def _add_guard(parser):
    parser.add_argument(
        "--no-guard",
        dest="guard",
        action="store_false",
        help="write cells of CSV files as they are (default: an apostrophe goes before cells that "
        "a spreadsheet would take for formulas, which begin with = + - @)",
    )


def _add_fit(commands):
    parser = _command(
        commands,
        "fit",
        "compare the families on your data, and recommend the sparsest good model",
        "Cross-validates every family along its sparsity path on the same folds, recommends the "
        "sparsest model that is nearly as good as the best, and says honestly how good it is. "
        "Without DATA: on an embedded data set.",
    )
    parser.add_argument("data", nargs="?", metavar="DATA", help=_DATA)
    parser.add_argument("--target", metavar="COL", help="column of the labels")
    parser.add_argument(
        "-o", "--output", metavar="RUN", help="folder for model, features, metrics, checkpoints"
    )
    _add_reading(parser, training=True)
    how = parser.add_argument_group("comparing")
    how.add_argument(
        "--methods",
        default="auto",
        help=f"auto (all that do not take too long), all, or some of {_METHODS}; baselines: "
        f"{_BASELINES} (default: auto)",
    )
    how.add_argument("--folds", type=_at_least(2), default=5)
    how.add_argument(
        "--repeats", type=_at_least(1), help="of the folds (3 below 200 rows, 2 below 500, else 1)"
    )
    how.add_argument("--groups", metavar="COL", help="rows of a group stay in one fold")
    how.add_argument("--batch", metavar="COL", help="also leave out one batch at a time")
    how.add_argument(
        "--weights",
        metavar="COL",
        help="sample weights, used in training and in scores; methods that cannot use them "
        "exactly are skipped",
    )
    how.add_argument(
        "--duplicates",
        choices=("group", "keep", "drop"),
        default="group",
        help="copies of a row: keep them together in the folds and count them as one sample, "
        "treat them as different samples, or drop all but one (default: group)",
    )
    how.add_argument(
        "--scoring",
        choices=("balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"),
        default="balanced_accuracy",
    )
    how.add_argument("--positive", metavar="CLASS", help="the class to be found")
    how.add_argument("--min-sensitivity", type=_share, metavar="S", help="for --positive")
    how.add_argument("--minimize", choices=("overall", "per-sample"), default="overall")
    how.add_argument(
        "--tolerance",
        type=_tolerance,
        default=0.01,
        metavar="T",
        help="a difference in score that is not worth a feature (default: 0.01); 0 leaves the "
        "standard error alone",
    )
    how.add_argument("--max-features", type=_at_least(1), metavar="K", help="largest model")
    how.add_argument(
        "--keep", type=_names, action=_More, default=(), metavar="COLS", help="always in, for free"
    )
    how.add_argument(
        "--redundancy",
        type=_share,
        metavar="R",
        help="skip features correlated more with a better",
    )
    how.add_argument(
        "--permutations",
        type=_at_least(0),
        default=0,
        metavar="N",
        help="shuffled labels: p-value",
    )
    work = parser.add_argument_group("working")
    work.add_argument(
        "--max-seconds", type=_positive, metavar="S", help="start no new work after S seconds"
    )
    work.add_argument("--n-jobs", type=int, default=-1, help="processes (default: all cores)")
    work.add_argument("--seed", type=_at_least(0), default=0)
    work.add_argument("--force", action="store_true", help="throw away other work in RUN")
    work.add_argument("--json", action="store_true", help="print metrics as JSON")
    _add_guard(work)


def _add_pick(commands):
    parser = _command(commands, "pick", "take another point of the curve, without searching again")
    parser.add_argument("run", metavar="RUN", help="folder of a `tamis fit`")
    parser.add_argument("--method", required=True, help=_METHODS)
    parser.add_argument("--n-features", type=_positive, required=True, metavar="K")
    parser.add_argument("--data", metavar="DATA", help="the same data, if they have moved")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="new folder")
    parser.add_argument("--json", action="store_true", help="print metrics as JSON")
    _add_guard(parser)


def _add_predict(commands):
    parser = _command(commands, "predict", "labels and probabilities of new rows, as CSV")
    parser.add_argument("run", metavar="RUN", help="folder of a run, or a model file")
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--priors", metavar="A=0.1,B=0.9", help="class frequencies where the model is used"
    )
    parser.add_argument(
        "--reject", type=_share, metavar="P", help="refer rows whose best probability is below P"
    )
    _add_guard(parser)
    _add_reading(parser, training=False, labels=False)


def _add_evaluate(commands):
    parser = _command(commands, "evaluate", "how good a model is on other data")
    parser.add_argument("run", metavar="RUN", help="folder of a run, or a model file")
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument("--target", metavar="COL", help="default: that of the model")
    parser.add_argument("-o", "--output", metavar="FILE", help="JSON file")
    parser.add_argument(
        "--priors", metavar="A=0.1,B=0.9", help="class frequencies where the model is used"
    )
    parser.add_argument("--seed", type=_at_least(0), default=0)
    parser.add_argument("--json", action="store_true", help="print metrics as JSON")
    _add_reading(parser, training=False)


def _add_explain(commands):
    parser = _command(commands, "explain", "why each row has its label, as CSV")
    parser.add_argument("run", metavar="RUN", help="folder of a run, or a model file")
    parser.add_argument("data", metavar="DATA", help=_DATA)
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--top",
        type=_at_least(1),
        default=10,
        metavar="N",
        help="contributions, or nearest landmarks, of a row (default: 10)",
    )
    _add_guard(parser)
    _add_reading(parser, training=False, labels=False)


def _add_export(commands):
    parser = _command(commands, "export", "the model in another format")
    parser.add_argument("run", metavar="RUN", help="folder of a run, or a model file")
    parser.add_argument("--to", choices=("onnx", "json", "skops"), required=True)
    parser.add_argument("-o", "--output", metavar="FILE", required=True)


def _add_methods(commands):
    parser = _command(commands, "methods", "what is compared, and when a method is left out")
    parser.add_argument("--json", action="store_true")


class _More(argparse.Action):
    """Names that are given in several options are all taken."""

    def __call__(self, parser, options, values, option=None):
        setattr(options, self.dest, (*getattr(options, self.dest), *values))


def _names(text):
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("expected names, separated by commas")
    return names


def _values(text):
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _size(text):
    from tamis.tables.limits import parse_size

    size = parse_size(text)
    if not size:
        raise argparse.ArgumentTypeError(f"expected a size such as 500MB or 8GB, got {text!r}")
    return size


def _ngrams(text):
    try:
        low, _, high = text.partition("-")
        low, high = int(low), int(high or low)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= 5:
        raise argparse.ArgumentTypeError(f"expected 1, 2 or 1-3 (at most 5), got {text!r}")
    return (1, high) if "-" not in text else (low, high)


def _at_least(smallest):
    def convert(text):
        try:
            value = int(text)
        except ValueError:
            value = smallest - 1
        if value < smallest:
            raise argparse.ArgumentTypeError(
                f"expected an integer of at least {smallest}, got {text!r}"
            )
        return value

    return convert


def _positive(text):
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def _tolerance(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to below 1, got {text!r}")
    return value


def _share(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0 and up to 1, got {text!r}")
    return value
