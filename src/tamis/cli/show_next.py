"""Where the results are, and commands that go on from there."""

import shlex
from pathlib import Path

from tamis.cli.layout import WIDTH, paragraph, span
from tamis.tables.errors import InputError

# The files that people open come first.
_FIRST = ("report.html", "model.json", "features.csv")


def show_files(path, names):
    """Lines about the files of a folder."""
    ordered = [name for name in _FIRST if name in names]
    ordered += [name for name in names if name not in ordered]
    told = ", ".join("report.html (open it)" if n == "report.html" else n for n in ordered)
    return paragraph(told, f"saved in {path}/: ", "  ")


def show_next(metrics, path, model, run):
    """Commands that work with a model.

    `run`: the folder of a `tamis fit` whose data can be read again; None: `tamis pick` has none.
    """
    folder = as_word(path)
    commands = [(f"tamis predict {folder} new.csv", "label new rows")]
    if _can_be_asked(model):
        commands.append((f"tamis ask {folder}", "one case, question by question"))
    size = _other_size(metrics)
    if run is not None and size is not None:
        model = metrics[
            "model"
        ]  # pick takes the method of the run's own model, unless it is named
        method = "" if model["recommended"] else f" --method {model['method']}"
        other = as_word(_free_folder(run, size))
        told = f"tamis pick {as_word(run)}{method} --n-features {size} -o {other}"
        commands.append((told, "another size"))
    width = max(span(command) for command, _ in commands)
    lines = []
    for at, (command, what) in enumerate(commands):
        line = f"{'next: ' if at == 0 else '      '}{command}"
        remark = f"{' ' * (width - span(command))}   # {what}"
        lines.append(line + remark if span(line) + span(remark) <= WIDTH else line)
    return lines


def as_word(path):
    """A path as a word of a command."""
    path = str(path)
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _can_be_asked(model):
    """Whether `tamis ask` has questions for a model."""
    from tamis.report.questionnaire.conversation import Questionnaire

    try:
        return Questionnaire(model).next_question() is not None
    except InputError:
        return False


def _other_size(metrics):
    """The next number of features of the same method; None if there is no other."""
    model = metrics["model"]
    path = metrics["methods"][model["method"]]["path"]
    key = "features_per_sample" if model["asks"] else "features_overall"
    sizes = sorted({round(point[key]) for point in path} - {round(model[key]), 0})
    larger = [size for size in sizes if size > model[key]]
    return larger[0] if larger else sizes[-1] if sizes else None


def _free_folder(run, size):
    """A folder beside the run that does not exist yet."""
    path = Path(f"{run}{size}")
    while path.exists():
        path = Path(f"{path}b")
    return path
