"""`tamis report`: the page of a run, from its checkpoints."""

from pathlib import Path

from tamis.cli.data import find_words
from tamis.cli.fit_command import compare_again, read_about, write_page
from tamis.cli.output import check_output
from tamis.cli.predict_command import read_prevalence
from tamis.cli.printing import print_lines, say
from tamis.comparison.attempts import tell_failure
from tamis.comparison.folder import RunFolder
from tamis.tables.errors import InputError


def run(options):
    """Run the command; returns the exit code."""
    from tamis.report.page.page import read_evaluation

    folder = RunFolder(options.run)
    words = find_words(folder, options.data)
    if not folder.checkpoints.is_dir():
        raise InputError(
            f"{folder.path} has no checkpoints. If it is of tamis pick, its report is there "
            "already; otherwise name the folder of a tamis fit."
        )
    for path in options.evaluation:
        read_evaluation(path)  # first, so that a wrong file is reported before the work
    read = [words["data"], options.about, *options.evaluation]
    path = check_output(options.output, *read) or folder.path / "report.html"
    about = read_about(options.about)
    comparison = compare_again(folder, words)
    if comparison.recommended is None:
        raise InputError(
            f"{folder.path} has no finished method yet, so there is nothing to report; repeat its "
            "tamis fit to finish it."
        )
    prevalence = None
    if options.prevalence is not None:
        model = comparison.fitted(comparison.final_choice)[0]
        prevalence = read_prevalence(options.prevalence, model)
    folder.write_about(about)
    failed: dict[str, str] = {}
    write_page(
        comparison,
        comparison.final_choice,
        folder,
        argv=words.get("argv"),
        path=path,
        evaluations=options.evaluation,
        include_rows=options.include_rows,
        prevalence=prevalence,
        failed=failed,
    )
    failed = comparison.metrics["not_described"] | failed
    for part, reason in failed.items():
        say(tell_failure(part, reason))
    print_lines([f"written: {Path(path)}"])
    return 0
