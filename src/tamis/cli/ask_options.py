"""Options of the questionnaire, which `ask` and `export --to html` share."""

from tamis.cli import argument_types
from tamis.cli.reading_options import add_prevalence


def add_ask(commands, make_command, run):
    """Add the command `ask`."""
    parser = make_command(
        commands, "ask", "predict one sample by asking one question at a time, in the terminal"
    )
    parser.add_argument("run", metavar="RUN", help=run)
    add_conversation(parser)
    add_prevalence(parser)
    parser.add_argument(
        "--log", metavar="FILE", help="append each conversation to this file, as one line of JSON"
    )
    parser.add_argument(
        "--web",
        action="store_true",
        help="show the questions as a web page on this machine, until Ctrl-C",
    )


def add_conversation(parser, where=""):
    """Add the options that say when a conversation ends."""
    parser.add_argument(
        "--max-questions",
        type=argument_types.integer[1],
        metavar="N",
        help=f"{where}stop after N answers",
    )
    add_refer(parser, f"{where}refer to a person if no class reaches the probability P")
    parser.add_argument(
        "--flip-risk",
        type=argument_types.tolerance,
        metavar="R",
        help=f"{where}primal-dual models without a linear head: stop when at most the "
        "proportion R of typical remaining answers would change the label (default: ask "
        "everything)",
    )


def add_refer(parser, help):
    """Add the option that refers doubtful rows to a person."""
    parser.add_argument("--refer", metavar="P", type=argument_types.share, help=help)
