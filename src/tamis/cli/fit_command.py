"""`tamis fit`: compare, recommend, and write the folder of a run."""

import json
import time
from dataclasses import replace

import joblib
import numpy as np

from tamis import __version__
from tamis.cli.data import EMBEDDED, READING, load
from tamis.cli.folder import RunFolder
from tamis.cli.metrics import summarise, versions
from tamis.cli.printing import print_lines
from tamis.cli.progress import Progress, reading, say, tell_seconds
from tamis.cli.show import show_features, show_metrics
from tamis.comparison import Settings, compare, fit_final
from tamis.comparison.checks import check_result
from tamis.comparison.comparison import all_names, leave_out, plan
from tamis.comparison.effort import time_methods
from tamis.comparison.features import describe_features
from tamis.comparison.methods import BASELINES, METHODS, find_method
from tamis.comparison.store import ManifestMismatch, Store
from tamis.paths.folds import default_repeats, leave_one_batch_out
from tamis.tables.errors import InputError

__all__ = ["conclude", "make_settings", "manifest", "run"]

# What the numbers depend on, beside the data.
_DEPENDS = (
    "target",
    *READING,
    "vectorizer",
    "ngrams",
    "methods",
    "folds",
    "repeats",
    "scoring",
    "positive",
    "min_sensitivity",
    "minimize",
    "tolerance",
    "duplicates",
    "max_features",
    "keep",
    "redundancy",
    "permutations",
    "seed",
)


def run(options):
    """Run the command; returns the exit code."""
    words = vars(options)
    folder = None
    if options.output:
        folder = RunFolder(options.output)
        folder.check()
        folder.check_inputs(options.data, options.target_file, options.features_file)
    # What is wrong with the words is told before anything is read.
    n_jobs = _n_jobs(options.n_jobs)
    _find_methods(options.methods)
    if options.min_sensitivity is not None and options.positive is None:
        raise InputError("--min-sensitivity needs --positive CLASS: whose sensitivity?")
    for name, default in (("vectorizer", "counts"), ("ngrams", (1, 1))):
        if words[name] != default and not options.text:
            raise InputError(f"--{name} needs --text COL: which column is text?")
    for name in ("groups", "batch"):
        if words[name] is not None and words[name] == options.target:
            raise InputError(f"--{name} {words[name]} is the target itself; name another column.")
    with reading(options.data):
        loaded = load(words)
    start = time.perf_counter()
    # Said when all is well: what cannot be used is told in one line.
    lines = []
    if options.data is None:
        lines.append(f"no DATA: this is {EMBEDDED}; yours: tamis fit DATA --target COL -o RUN")
    lines += loaded.dataset.notes
    settings = make_settings(words, loaded, lines.append)
    _, units = plan(loaded.problem, settings)
    left_out = {}
    if options.methods != "all":
        settings, left_out = _leave_out(settings, loaded.problem, units, options, lines.append)
        units = [unit for unit in units if unit.method not in left_out]

    store = None
    if folder is not None:
        folder.make()
        try:
            store = Store(
                folder.checkpoints, manifest(words, loaded, settings), options.force, tell=say
            )
        except ManifestMismatch as error:
            raise InputError(
                f"{folder.path} holds the work of another call ({error}). Use another folder, or "
                "--force to throw that work away."
            ) from error
        if store.was_cleared:
            folder.clear()
        folder.write_json("run.json", _as_json({**words, "compared": settings.methods}))
    for line in lines:
        say(line)
    _say_checks(loaded.checks)

    deadline = start + options.max_seconds if options.max_seconds else np.inf
    estimates = time_methods(loaded.problem, units)
    total = sum(estimates[unit.method] for unit in units) / n_jobs
    say(f"about {tell_seconds(total)} on {n_jobs} core{'' if n_jobs == 1 else 's'}")
    with Progress(units, estimates, n_jobs) as progress:
        comparison, why_stopped = compare(
            loaded.problem,
            settings,
            store=store,
            n_jobs=n_jobs,
            stop=lambda: time.perf_counter() > deadline,
            begin=progress.begin,
            report=progress.end,
        )
    for name, message in comparison.failed.items():
        say(f"{name} cannot deal with these data: {message}")
    if comparison.choice is None:
        say("no method was finished: there is nothing to recommend yet.")
    else:
        conclude(comparison, loaded, folder, options, left_out=left_out, start=start)
    if why_stopped or comparison.n_left:
        _say_how_to_resume(comparison, folder, why_stopped or "--max-seconds was reached")
    return 1 if why_stopped or comparison.choice is None else 0


def _say_checks(checks):
    """Which warnings there are about the data; they are told in full with the results."""
    codes = [check.code for check in checks if check.level == "warning"]
    if codes:
        word = "warning" if len(codes) == 1 else "warnings"
        say(f"{len(codes)} {word} about the data (see the end): {', '.join(codes)}")


def conclude(comparison, loaded, folder, options, *, choice=None, left_out=None, start=None):
    """Train the model, write the folder, print the results."""
    chosen = choice or comparison.choice
    positive = None
    if comparison.settings.positive is not None:
        positive = loaded.problem.classes[comparison.settings.positive].item()
    model, fitted = fit_final(
        comparison,
        chosen.method,
        chosen.at,
        target=loaded.dataset.target,
        descriptions=loaded.descriptions,
        positive=positive,
        version=__version__,
    )
    records = describe_features(comparison, chosen.method, chosen.at, fitted)
    seconds = None if start is None else time.perf_counter() - start
    metrics = summarise(
        comparison,
        loaded,
        chosen=choice,
        seconds=seconds,
        left_out=left_out,
        checks=[*loaded.checks, *check_result(comparison)],
    )
    counted = [r["feature"] for r in records if not r["kept"]]
    metrics["model"]["features"] = len(counted)
    if metrics["data"]["has_costs"]:
        prices = dict(zip(loaded.problem.names, loaded.problem.costs.tolist(), strict=True))
        metrics["model"]["total_cost"] = sum(prices[name] for name in counted)
    told = [r["feature"] for r in records if r.get("tells_batch")]
    if told:
        say(f"these features tell the batch, and may not carry over: {', '.join(told[:10])}")
    model.scores = {
        name: metrics["model"].get(name) for name in ("honest_score", "selection_score")
    }
    if folder is not None:
        for line in folder.write_model(model, loaded.dataset.columns):
            say(line)
        folder.write_features(records, options.guard)
        folder.write_json("metrics.json", metrics)
    if options.json:
        print_lines(json.dumps(metrics, indent=1, ensure_ascii=False).split("\n"))
        return
    print_lines([*show_metrics(metrics), "", *show_features(records)])
    if folder is not None:
        print_lines(["", f"written to {folder.path}: {', '.join(folder.results)}"])
    else:
        say("nothing was written; -o RUN keeps the model, and lets a stopped run go on.")


def make_settings(words, loaded, tell=say):
    """The settings that some words ask for; `tell` takes a line for the user."""
    problem = loaded.problem
    counts = np.bincount(problem.codes)
    n_folds = words["folds"]
    if problem.batches is not None and problem.batches.max() < 1:
        raise InputError(f"--batch {words['batch']} has one batch only: none can be left out.")
    if problem.batches is not None and problem.groups is not None:
        for fold in leave_one_batch_out(problem.batches, problem.groups, words["seed"]):
            if not fold.train.size:
                raise InputError(
                    f"--batch {words['batch']}: a batch has rows of all groups of "
                    f"--groups {words['groups']}, and leaves none to learn from."
                )
    smallest = int(counts.min())
    if problem.groups is not None:
        of_class = [np.unique(problem.groups[problem.codes == c]).size for c in range(counts.size)]
        smallest = min(of_class)
        if smallest < 2:
            label = problem.classes[int(np.argmin(of_class))]
            raise InputError(
                f"class {label} has rows of one group only: they cannot be in training and test."
            )
    if smallest < n_folds:
        n_folds = max(2, smallest)
        what = "groups" if problem.groups is not None else "rows"
        tell(f"the smallest class has {smallest} {what}: {n_folds} folds, not {words['folds']}")
    positive = _find_positive(words, problem)
    methods = _find_methods(words["methods"])
    if problem.weights is not None:
        methods = _weighted_methods(methods, tell)
    return Settings(
        methods=methods,
        n_folds=n_folds,
        n_repeats=words["repeats"] or default_repeats(problem.n_rows),
        seed=words["seed"],
        scoring=words["scoring"],
        minimize=words["minimize"],
        tolerance=words["tolerance"],
        max_features=words["max_features"],
        positive=positive,
        min_sensitivity=words["min_sensitivity"],
        permutations=words["permutations"],
    )


def _weighted_methods(methods, tell):
    """Methods that use sample weights exactly; the others are skipped, with a message."""
    exact = tuple(name for name in methods if find_method(name).takes_weights)
    skipped = [name for name in methods if name not in exact]
    if not any(name in exact for name in (method.name for method in METHODS)):
        raise InputError(
            "--weights: none of the methods named by --methods can use sample weights exactly; "
            "centers, medians and primal-dual can."
        )
    if skipped:
        tell(f"skipped because they cannot use sample weights exactly: {', '.join(skipped)}")
    return exact


def _find_positive(words, problem):
    if words["positive"] is None:
        return None
    labels = [str(label) for label in problem.classes.tolist()]
    if words["positive"] not in labels:
        raise InputError(
            f"--positive {words['positive']}: the classes are {', '.join(labels[:10])}."
        )
    return labels.index(words["positive"])


def _find_methods(text):
    names = all_names()
    if text in ("auto", "all"):
        return tuple(names)
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        raise InputError(
            f"--methods {unknown[0] if unknown else text}: the methods are {', '.join(names)}; or "
            "auto, or all."
        )
    ours = [m.name for m in METHODS if m.name in wanted]
    if not ours:
        raise InputError("--methods names baselines only, which are never recommended; add one.")
    baselines = [m.name for m in BASELINES if m.name in wanted]
    return tuple(ours + (baselines or [m.name for m in BASELINES]))


def _leave_out(settings, problem, units, options, tell):
    """The settings without the methods that would take too long, with a message."""
    named = [name.strip() for name in options.methods.split(",")]
    n_units = sum(unit.method == settings.methods[0] for unit in units)
    left_out = {
        name: seconds
        for name, seconds in leave_out(problem, settings.methods, n_units).items()
        if name not in named
    }
    for name, seconds in left_out.items():
        tell(
            f"{name} is not run: it would take about {tell_seconds(seconds)} "
            "(--methods all runs it)"
        )
    stay = tuple(name for name in settings.methods if name not in left_out)
    baselines = [name for name in stay if find_method(name).is_baseline and name not in named]
    if options.methods != "auto" and baselines:
        tell(f"also running the baselines: {', '.join(baselines)}")
    return replace(settings, methods=stay), left_out


def manifest(words, loaded, settings):
    """What the checkpoints of a run belong to."""
    options = {name: words[name] for name in _DEPENDS}
    options["repeats"] = settings.n_repeats
    options["folds"] = settings.n_folds
    return {
        "data": loaded.fingerprint,
        "options": _as_json(options),
        "versions": versions(),
    }


def _as_json(words):
    return json.loads(json.dumps({k: v for k, v in words.items() if k != "command"}, default=str))


def _n_jobs(wanted):
    if wanted == 0 or wanted < -1:
        raise InputError(f"--n-jobs {wanted}: expected 1 or more, or -1 for all cores.")
    # Cores that this process may use: containers and batch systems may allow fewer than there are.
    return joblib.cpu_count() if wanted == -1 else wanted


def _say_how_to_resume(comparison, folder, why):
    left = [name for name in comparison.unfinished if name not in comparison.failed]
    say(f"{why}; not finished: {', '.join(left) or 'the rest'}")
    if folder is None:
        say("Nothing was saved because -o RUN was not given.")
    else:
        say(f"Finished work is in {folder.path}; repeat the command to resume.")
