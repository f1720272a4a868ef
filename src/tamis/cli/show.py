"""The printed answer: the data, the recommendation, its features, and the comparison."""

from functools import partial

from tamis.cli.layout import counted, listed_names, paragraph, plural
from tamis.cli.show_answer import show_answer
from tamis.cli.show_comparison import show_comparison
from tamis.cli.show_features import show_features
from tamis.comparison.attempts import attempt

_MOST_CLASSES = 8


def show_results(metrics, records, *, is_saved=True):
    """Lines for standard output, the answer first.

    Returns `lines`: at most 80 columns wide, except for what cannot be broken.
    """
    failed = metrics.setdefault("not_described", {})

    def features():
        return show_features(
            records,
            metrics["model"]["guarantees"],
            is_balanced=metrics["settings"]["scoring"] != "accuracy",
            is_saved=is_saved,
        )

    parts = (
        partial(_show_data, metrics),
        partial(show_answer, metrics, is_saved),
        features,
        partial(show_comparison, metrics),
    )
    # One part that fails does not take the others along.
    shown = [attempt(failed, "results", lambda part=part: list(part()), []) for part in parts]
    return [line for part in shown if part for line in [*part, ""]][:-1]


def _show_data(metrics):
    """What was read: rows, features and classes."""
    data, streaming = metrics["data"], metrics.get("streaming")
    n_rows = data["rows"] if streaming is None else streaming["rows"]
    told = f"{data['name']}: {plural(n_rows, 'row')}, {plural(data['features'], 'feature')}"
    told += ", weighted rows" if data["has_weights"] else ""
    if "calibration" in metrics:
        told += f" ({metrics['calibration']['rows']['calibration']:,} more rows set aside)"
    classes = [counted(label, f"{n:,}") for label, n in data["classes"].items()]
    many = f"{len(classes)} classes: " if len(classes) > _MOST_CLASSES else ""
    classes = many + listed_names(classes, _MOST_CLASSES)
    classes += "" if streaming is None else " in the sample"
    lines = paragraph(f"{told}; {classes}")
    if len(lines) > 1:
        lines = [*paragraph(told, indent="  "), *paragraph(classes, "  ")]
    if streaming is not None:
        for part, what in streaming["parts"].items():
            lines += paragraph(what, f"  {part}: ", "    ")
    return lines
