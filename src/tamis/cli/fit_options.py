"""Options of `tamis fit`, with their help texts."""

from tamis.cli import argument_types
from tamis.cli.reading_options import DATA, add_declared, add_guard, add_reading

ABOUT = "text file with the intended use of the model, for the report and the questionnaire"


def add_fit(commands, command):
    """Add the command `fit`; `command` makes its parser."""
    parser = command(
        commands,
        "fit",
        "compare all methods on your data and recommend the sparsest good model",
        "Cross-validate every method at all its model sizes on the same folds, recommend the "
        "sparsest model that is nearly as good as the best, and report a selection-corrected "
        "(honest) score for it. Without DATA, an embedded data set is used.",
    )
    parser.add_argument("data", nargs="?", metavar="DATA", help=DATA)
    parser.add_argument("--target", metavar="COL", help="column of labels")
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN",
        help="folder for the model, features, metrics and checkpoints",
    )
    add_reading(parser, training=True)
    how = parser.add_argument_group("comparing")
    add_declared(how, "comparing")
    how.add_argument(
        "--groups",
        metavar="COL",
        help="column of sample groups, such as patients; rows of one group stay in one fold",
    )
    how.add_argument(
        "--batch",
        metavar="COL",
        help="column that says which site or batch (hospital, laboratory, ...) a row comes from; "
        "adds a score for which each site or batch is left out in turn",
    )
    how.add_argument(
        "--weights",
        metavar="COL",
        help="column of sample weights, used in training and in scores; methods that cannot use "
        "them exactly are skipped",
    )
    add_clinical(parser)
    work = parser.add_argument_group("running")
    work.add_argument(
        "--stream",
        choices=("auto", "on", "off"),
        default="auto",
        help="read the table in chunks of rows: methods are compared on a random sample, sparse "
        "centers are trained on all rows, and the model is scored on the rows outside the sample "
        "(default: auto, only if the comparison would not fit in memory)",
    )
    work.add_argument(
        "--max-seconds",
        type=argument_types.positive,
        metavar="S",
        help="start no new work after S seconds",
    )
    work.add_argument(
        "--n-jobs",
        type=int,
        default=-1,
        metavar="N",
        help="number of processes (default: all cores)",
    )
    add_declared(work, "running")
    work.add_argument(
        "--force", action="store_true", help="discard results of a different run in RUN"
    )
    work.add_argument("--json", action="store_true", help="print all results as JSON")
    work.add_argument("--about", metavar="FILE", help=ABOUT)
    work.add_argument(
        "--save-predictions",
        action="store_true",
        help="also write predictions.csv: each row with its label and its honest prediction, by a "
        "model that was chosen and trained without it",
    )
    add_no_report(work)
    add_guard(work)


def add_no_report(parser):
    """Add the option that saves the time of the report."""
    parser.add_argument(
        "--no-report",
        dest="report",
        action="store_false",
        help="do not write report.html (tamis report writes it later)",
    )


def add_clinical(parser):
    """Add the options that clinicians and biologists ask for."""
    group = parser.add_argument_group("other sites, times, patients and measurements")
    group.add_argument(
        "--subgroups",
        type=argument_types.names,
        action=argument_types.Append,
        default=(),
        metavar="COLS",
        help="columns such as sex: adds a score for each of their values; they remain features "
        "unless named in --drop",
    )
    group.add_argument(
        "--time",
        metavar="COL",
        help="column of dates or numbers, not used as a feature; adds the score of predicting "
        "later rows from earlier ones",
    )
    add_declared(group, "clinical")
