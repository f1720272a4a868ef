"""`tamis pick`: another point of the curve, from the checkpoints of a run."""

from dataclasses import replace
from pathlib import Path

from tamis.cli.data import load
from tamis.cli.fit_command import conclude, make_settings, manifest
from tamis.cli.folder import RunFolder
from tamis.cli.progress import say
from tamis.cli.show import count
from tamis.cli.spool import STANDARD_INPUT
from tamis.comparison import compare
from tamis.comparison.choice import Choice
from tamis.comparison.methods import METHODS
from tamis.comparison.store import ManifestMismatch, Store
from tamis.tables.errors import InputError

__all__ = ["run"]


def run(options):
    """Run the command; returns the exit code."""
    names = [method.name for method in METHODS]
    if options.method not in names:
        raise InputError(f"--method {options.method}: the methods are {', '.join(names)}.")
    source, target = RunFolder(options.run), RunFolder(options.output)
    if source.path.resolve() == target.path.resolve():
        raise InputError(f"-o {target.path} is the run itself; name another folder.")
    words = source.read_json("run.json")
    if options.data is not None:
        words["data"] = options.data
    elif words["data"] == STANDARD_INPUT:
        raise InputError("the data of this run came from standard input; say where with --data.")
    if words["data"] is not None and not Path(words["data"]).exists():
        raise InputError(
            f"the data of this run are not at {words['data']} any more; say where with --data."
        )
    loaded = load(words)
    settings = make_settings(words, loaded)
    settings = replace(settings, methods=tuple(words["compared"]))
    try:
        store = Store(source.checkpoints, manifest(words, loaded, settings), tell=say)
    except ManifestMismatch as error:
        raise InputError(
            f"{source.path} was made with other data or versions ({error}); run tamis fit again."
        ) from error
    comparison, _ = compare(
        loaded.problem, settings, store=store, stop=lambda: True, at_least_one=False
    )
    result = comparison.result(options.method)
    if result is None:
        finished = [r.method.name for r in comparison.results if not r.method.is_baseline]
        raise InputError(
            f"{options.method} was not finished in {source.path}; finished are "
            f"{', '.join(finished) or 'none'}."
        )
    at = find_level(result, options.n_features)
    target.make()
    conclude(comparison, loaded, target, options, choice=Choice(options.method, at))
    return 0


def find_level(result, wanted):
    """Place of the fullest level with at most so many features, or so many per sample."""
    sizes = result.per_sample if result.method.asks else result.overall
    few = [at for at, size in enumerate(sizes) if size <= wanted + 0.5]
    if not few:
        what = "features per sample" if result.method.asks else "features"
        raise InputError(
            f"{result.method.name} has no model with {count(wanted)} {what}; its smallest has "
            f"{count(sizes.min())}."
        )
    return max(few, key=lambda at: (sizes[at], -at))
