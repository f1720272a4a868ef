"""Options of `tamis fit`, with their help texts."""

import argparse
from functools import partial

from tamis.cli import argument_types
from tamis.cli.reading_options import DATA, SEED, Renamed, add_guard, add_reading

__all__ = ["ABOUT", "METHODS", "add_clinical", "add_fit", "add_no_report"]

METHODS = "centers, medians, primal-dual, panel, panel-kernel, landmarks, datum-wise"
ABOUT = "text file with the intended use of the model, for the report and the questionnaire"
BASELINES = "most-frequent, l1-logistic, relaxed-l1, rfe, random-forest"


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
    how.add_argument(
        "--methods",
        default="auto",
        help=f"auto (all that finish in about ten minutes), all, or names from {METHODS} "
        f"(panel means both panels); baselines: {BASELINES} (default: auto)",
    )
    how.add_argument(
        "--allow-baselines",
        action="store_true",
        help="allow the sparse baselines (l1-logistic, relaxed-l1, rfe) to be recommended, too",
    )
    how.add_argument(
        "--readable",
        action="store_true",
        help="recommend only models that can be explained, asked, turned into a points card and "
        "exported to SQL; other methods are not run (tamis methods says which)",
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
        help="column that says which site or batch (hospital, laboratory, ...) a row comes from; "
        "adds a score for which each site or batch is left out in turn",
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
        help="how to handle duplicate rows: keep them in one fold and count them as one sample, "
        "treat them as separate samples, or drop all but one (default: group)",
    )
    how.add_argument(
        "--scoring",
        choices=("balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"),
        default="balanced_accuracy",
        help="score to compare models by (default: balanced_accuracy)",
    )
    how.add_argument(
        "--positive",
        metavar="CLASS",
        help="class that --min-sensitivity, --max-miss and sensitivity by subgroup refer to",
    )
    how.add_argument(
        "--min-sensitivity",
        type=argument_types.share,
        metavar="S",
        help="smallest sensitivity for class --positive, such as 0.95; the model gets the highest "
        "threshold (at most 0.5) that reaches it",
    )
    how.add_argument(
        "--calibration-share",
        type=argument_types.fraction,
        metavar="A",
        help="proportion of the rows to set aside before anything else, such as 0.3, as a "
        "conformal calibration set: for prediction sets and for the guarantees of the next three "
        "options",
    )
    how.add_argument(
        "--confidence",
        type=argument_types.fraction,
        metavar="C",
        help="confidence of the guarantees from the calibration set: of --min-sensitivity "
        "(default: no guarantee, the threshold is set in the folds), or of --max-error and "
        "--max-miss (default: 0.95)",
    )
    how.add_argument(
        "--max-error",
        type=argument_types.fraction,
        metavar="E",
        help="maximum error rate: recommend the datum-wise model with the fewest questions for "
        "which the calibration set guarantees an error rate of at most E",
    )
    how.add_argument(
        "--max-miss",
        type=argument_types.fraction,
        metavar="M",
        help="maximum false-negative rate of class --positive, guaranteed in the same way",
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
        help="largest number of features of a model",
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
    work.add_argument(
        "--seed", type=partial(argument_types.integer, 0), default=0, metavar="N", help=SEED
    )
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
    group.add_argument(
        "--misclassification",
        type=argument_types.costs,
        default=(),
        metavar="COSTS",
        help='costs of errors, such as "ill:well=10" (calling an ill row well costs 10; all other '
        "errors cost 1); the model decides by the smallest expected cost",
    )
    group.add_argument(
        "--learning-curve",
        action="store_true",
        help="also train on fewer rows, and estimate what twice the rows would add to the score",
    )
    group.add_argument(
        "--assay-error",
        type=argument_types.share,
        metavar="E",
        help="measurement error as a proportion of the value (coefficient of variation), such as "
        "0.1; adds the score that is lost when the features are measured again",
    )
    group.add_argument(
        "--assay-cv",
        dest="assay_error",
        action=Renamed,
        const="--assay-error",
        type=argument_types.share,
        help=argparse.SUPPRESS,
    )
