"""What to do with a model that cannot be read: the best readable model of the same run."""

import shlex
from pathlib import Path

from tamis.comparison.folder import RunFolder
from tamis.comparison.readable import CARD_FEATURES
from tamis.tables.errors import InputError

__all__ = ["offer_readable"]

# What becomes of a model, for a sentence about models with which it can be done.
_DONE = {"ask": "asked", "explain": "explained"}


def offer_readable(options):
    """Lines that name a model of the run with which the command works, and how to make it.

    Parameters
    ----------
    options : Namespace
        Of a command about the model of `options.run` that cannot be read.

    Returns
    -------
    lines : list of str
    """
    folder = RunFolder(options.run)
    format = getattr(options, "to", None)
    done = _DONE.get(options.command, "exported this way")
    try:
        metrics = folder.read_json("metrics.json") if folder.path.is_dir() else {}
    except InputError:
        metrics = {}
    best = metrics.get("readable", {}).get("card" if format == "card" else "best")
    if best is None:
        where = "This run has no model" if metrics else f"{folder.path} has only this model"
        return [f"{where} that can be {done}. To make one: tamis fit ... --readable -o RUN"]
    source = _find_source(folder)
    target = f"{source.rstrip('/')}-{'card' if format == 'card' else 'readable'}"
    size = best["features_overall"]
    told = f"{best['title']}, {size:.3g} feature{'' if size == 1 else 's'}"
    told += f", {best['head']}" if best["head"] else ""
    scoring = metrics["settings"]["scoring"].replace("_", " ")
    limit = ["--n-features", str(CARD_FEATURES)] if format == "card" else []
    words = list(options.argv)
    words[words.index(str(options.run))] = target
    return [
        f"The best model of this run that can be {done}: {told}; {scoring} {best['score']:.3f} ± "
        f"{best['standard_error']:.3f} in the folds. To use it:",
        f"  {shlex.join(['tamis', 'pick', source, '--readable', *limit, '-o', target])}",
        f"  {shlex.join(['tamis', *words])}",
    ]


def _find_source(folder):
    """The folder of the run: that of `tamis fit`, also for a model that was picked from it."""
    if not folder.checkpoints.is_dir():
        try:
            found = folder.read_json("run.json").get("picked_from")
        except (InputError, AttributeError):
            found = None
        if found is not None and Path(found).is_dir():
            return str(found)
    return str(folder.path)
