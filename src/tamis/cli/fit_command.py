"""`tamis fit`: compare, recommend, and write the folder of a run."""

import contextlib
import json
import shlex
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from tamis import __version__
from tamis.cli.data import EMBEDDED, load
from tamis.cli.printing import STANDARD_INPUT, print_lines, say
from tamis.cli.progress import Progress, ProofProgressLine, reading, tell_estimate
from tamis.cli.show import show_results
from tamis.cli.show_next import show_files, show_next
from tamis.comparison.attempts import attempt, tell_failure
from tamis.comparison.comparing import Callback, compare_table
from tamis.comparison.fitted.describing import save_first, save_rest
from tamis.comparison.folder import RunFolder
from tamis.comparison.settings import find_device
from tamis.tables.errors import InputError


def run(options):
    """Run the command; returns the exit code."""
    words = vars(options)
    find_device(options.device)
    folder = None
    if options.output:
        folder = RunFolder(options.output)
        folder.check(options.data, options.target_file, options.features_file)
    elif options.save_predictions:
        raise InputError("--save-predictions needs a folder to write to: add -o RUN.")
    about = read_about(options.about)
    with reading(options.data):
        loaded = load(words, folder, force=options.force, tell=say)
    start = time.perf_counter()
    with _Reporter(words, folder, loaded.decision) as reporter:
        comparison = compare_table(
            loaded.table,
            loaded.options,
            name=loaded.name,
            descriptions=loaded.descriptions,
            checkpoints=None if folder is None else folder.checkpoints,
            force=options.force,
            max_seconds=options.max_seconds,
            callbacks=[reporter],
            n_jobs=options.n_jobs,
            streamed=loaded.streamed,
        )
    for name, message in comparison.failed.items():
        say(f"{name} failed on these data: {message}")
    if comparison.recommended is None:
        say("No method was finished, so there is nothing to recommend yet.")
    else:
        comparison = replace(comparison, seconds=time.perf_counter() - start)
        if not conclude(comparison, comparison.final_choice, folder, options, about=about):
            comparison = replace(comparison, why_stopped="stopped")
    if comparison.why_stopped or comparison.n_left:
        _say_how_to_resume(comparison, folder)
    return 1 if comparison.why_stopped or comparison.recommended is None else 0


class _Reporter(Callback):
    """Report progress to the user, and save the options of the run."""

    def __init__(self, words, folder, decision):
        self.words, self.folder, self.decision = words, folder, decision
        self.progress, self.known = None, frozenset()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.progress is not None:
            self.progress.__exit__(*error)

    def on_start(self, start):
        """Save the options; report what was recognised and the estimated time."""
        if self.folder is not None:
            if start.was_cleared:
                self.folder.clear()
            words = {name: value for name, value in self.words.items() if name != "command"}
            words["compared"] = start.plan.settings.methods
            words["tamis_version"] = __version__
            self.folder.write_json("run.json", json.loads(json.dumps(words, default=str)))
            if self.decision is not None:
                self.folder.record(self.decision)
        else:
            say("nothing will be saved, because -o RUN is not given")
        if self.words["data"] is None:
            say(f"No DATA given: using {EMBEDDED}. For your own file: "
                "tamis fit DATA --target COL -o RUN")  # fmt: skip
        for note in start.notes:
            say(note)
        codes = [check.code for check in start.checks if check.severity == "warning"]
        if codes:
            word = "warning" if len(codes) == 1 else "warnings"
            say(f"{len(codes)} {word} about the data (see the result): {', '.join(codes)}")
        say(tell_estimate(start))
        self.known = start.done
        tasks = [task for task in start.plan.tasks if task.key not in self.known]
        self.progress = Progress(tasks, start.seconds, start.n_jobs)
        self.progress.__enter__()

    def on_message(self, message):
        """Print it."""
        say(message)

    def on_task_begin(self, task):
        """Show that a task has started."""
        if task.key not in self.known:
            self.progress.begin(task)

    def on_task_end(self, task, seconds):
        """Show that a task has finished."""
        if task.key not in self.known:
            self.progress.end(task, seconds)


def compare_again(folder, words):
    """The comparison of a run, from its checkpoints; on the processor if its device is gone."""
    try:
        find_device(words.get("device"))
    except InputError:
        words = words | {"device": None}
    loaded = load(words, folder)
    comparison = compare_table(
        loaded.table,
        loaded.options,
        methods=words["compared"],
        name=loaded.name,
        descriptions=loaded.descriptions,
        checkpoints=folder.checkpoints,
        only_finished=True,
        streamed=loaded.streamed,
    )
    with contextlib.suppress(InputError):  # a method that failed has no checkpoint that says so
        failed = comparison.failed | folder.read_json("metrics.json")["failed"]
        return replace(comparison, failed=failed)
    return comparison


def read_about(path):
    """The text of `--about FILE`; None without."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--about {path} cannot be read: {error}") from error


def write_page(comparison, choice, folder, *, run=None, argv=None, path=None, **more):
    """Write the report of a folder."""
    from tamis.report.page.page import write_report

    command = None if argv is None else shlex.join(["tamis", *argv])
    write_report(
        comparison,
        folder.path / "report.html" if path is None else path,
        choice=choice,
        run=str(folder.path) if run is None else run,
        command=command,
        about=folder.about,
        **more,
    )


def conclude(comparison, choice, folder, options, *, run=None, about=None):
    """Write the model of one method and level, then describe it, and print the results.

    `run` is the folder that `tamis pick` can use, if it is another one. False if Ctrl-C ended the
    description; parts of it that fail are reported, and nothing else is lost.
    """
    failed = {}
    if folder is not None:
        predictions = getattr(options, "save_predictions", False)
        lines, failed = save_first(comparison, choice, folder, options.guard, predictions)
        for line in lines:
            say(line)
        folder.write_about(about)
    try:
        _describe(comparison, choice, folder, options, run, failed)
    except KeyboardInterrupt:
        if folder is not None:
            say(f"stopped while the model was described; the model is in {folder.path}")
        return False
    return True


def _describe(comparison, choice, folder, options, run, failed):
    """Describe a model in its folder, and print the results.

    `failed`: files that could not be written.
    """
    model, records, metrics = comparison.fitted(choice, [ProofProgressLine()])
    if folder is not None:
        save_rest(comparison, choice, folder, options.guard, failed)
    failed = metrics["not_described"] | failed
    metrics = metrics | {"not_described": failed}
    in_batch = [r["feature"] for r in records if r.get("tells_batch")]
    if in_batch:
        names = ", ".join(in_batch[:10])
        say(f"these features differ between batches and may not generalise: {names}")
    lines, known = [], dict(failed)
    if folder is not None and options.report:
        more = {"run": run, "argv": options.argv, "failed": failed}
        write = partial(write_page, comparison, choice, folder, **more)
        attempt(failed, "report", write)
    if not options.json:
        show = partial(show_results, metrics, records, is_saved=folder is not None)
        lines = attempt(failed, "results", show, [])
    for part, reason in failed.items():
        say(tell_failure(part, reason))
    if folder is not None and failed != known:
        folder.write_json("metrics.json", metrics)
    if options.json:
        print_lines(json.dumps(metrics, indent=1, ensure_ascii=False).split("\n"))
        return
    if lines:
        print_lines(lines)
    if folder is not None:
        has_page = options.report and "report" not in failed
        names = [name for name in folder.results if has_page or name != "report.html"]
        source = _pickable(folder, run)
        commands = partial(show_next, metrics, folder.path, model, source)
        commands = attempt(failed, "results", commands, [])
        print_lines(["", *show_files(folder.path, names), *commands])


def _pickable(folder, run):
    """The folder that `tamis pick` can use; None if its data came from a pipe."""
    source = folder if run is None else RunFolder(run)
    try:
        words = source.read_json("run.json")
    except InputError:
        return None
    return None if words.get("data") == STANDARD_INPUT else source.path


def _say_how_to_resume(comparison, folder):
    left = [name for name in comparison.unfinished if name not in comparison.failed]
    why = comparison.why_stopped or "--max-seconds was reached"
    say(f"{why}; not finished: {', '.join(left) or 'the rest'}")
    if folder is not None:
        say(f"Finished work is in {folder.path}; repeat the command to resume.")
