"""What to do with a model that cannot be read: the best readable model of the same run."""

import shlex
from pathlib import Path

from tamis.cli.show_next import as_word
from tamis.comparison.choosing.readable import CARD_FEATURES
from tamis.comparison.folder import RunFolder
from tamis.comparison.methods.naming import name_model
from tamis.tables.errors import InputError

# What becomes of a model, for a sentence about models with which it can be done.
_DONE = {"ask": "asked", "explain": "explained", "card": "written as points"}
_MAKE = "To make one: tamis fit ... --readable -o RUN"


def offer_readable(options):
    """Lines that name a model of the run with which the command works, and how to make it."""
    folder = RunFolder(options.run)
    format = getattr(options, "to", None)
    done = _DONE.get(format) or _DONE.get(options.command, "exported this way")
    try:
        metrics = folder.read_json("metrics.json") if folder.path.is_dir() else {}
    except InputError:
        metrics = {}
    original = find_original(folder)
    best = metrics.get("readable", {}).get("card" if format == "card" else "best")
    if not metrics:
        return [f"{folder.path} holds no other model. {_MAKE}"]
    if "readable" not in metrics:
        return ["An earlier version made this run; repeat tamis fit to see what else it offers."]
    if best is None:
        return [
            f"This run has no model that can be {done}. To make one:",
            f"  {_again(folder, f'{folder.path}-readable')}",
        ]
    if original is None and best["is_recommended"]:
        return []  # it is this model
    if original is not None and not original.is_dir():
        return [f"{original}, from which this model was picked, is no longer there. {_MAKE}"]
    source = str(original or folder.path)
    base = source.rstrip("/")
    target = f"{base}-{'card' if format == 'card' else 'readable'}"
    told = name_model(best["method"], best, best["features_overall"], best["head"])
    scoring = metrics["settings"]["scoring"].replace("_", " ")
    limit = why = ""
    if best != metrics["readable"]["best"]:
        limit = f" --n-features {CARD_FEATURES}"
        why = f" (a card has at most {CARD_FEATURES} features)"
    command, *words = options.argv
    at = next(i for i, word in enumerate(words) if Path(word) == Path(options.run))
    words = [shlex.quote(word) for word in words]
    words[at] = as_word(target)
    return [
        f"The best model of this run that can be {done}: {told}; {scoring} {best['score']:.3f} ± "
        f"{best['standard_error']:.3f} in the folds{_warn(best, metrics)}. To use it{why}:",
        f"  tamis pick {as_word(source)} --readable{limit} -o {as_word(target)}",
        f"  tamis {command} {' '.join(words)}",
        "It will have no score to report, because it is chosen after seeing the curve. For one:",
        f"  {_again(folder, base + '-readable-fit')}",
    ]


def _warn(best, metrics):
    """What to say of a model that is hardly better than guessing."""
    guessing = 1 / len(metrics["data"]["classes"])
    is_known = metrics["settings"]["scoring"] == "balanced_accuracy"
    if not is_known or best["score"] > guessing + 2 * best["standard_error"]:
        return ""
    return f", hardly better than guessing ({guessing:.3f})"


def find_original(folder):
    """The folder of the `tamis fit` from which a model was picked; None for that folder itself."""
    found = _words(folder).get("picked_from")
    return None if found is None else Path(found)


def _again(folder, target):
    """The command of a run with all methods whose models can be read, and another folder."""
    words, kept = list(_words(folder).get("argv", ("fit", "..."))), []
    while words:
        word = words.pop(0)
        if word in ("--methods", "-o", "--output"):
            words = words[1:]
        elif not word.startswith(("--methods=", "--output=", "-o")):
            kept.append(word)
    return shlex.join(["tamis", *map(str, kept), "--readable", "-o", target])


def _words(folder):
    """The options of a run; empty if they are not known."""
    try:
        found = folder.read_json("run.json")
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}
