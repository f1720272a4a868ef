"""Lines about other sites, later rows, subgroups, costs, more rows and errors of measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tamis.cli.layout import entry, paragraph

_MOST_SHOWN = 20
_VERDICTS = {
    "flat": "flat: more rows will hardly help",
    "rising": "still rising: more rows will help",
    "unclear": "more rows may help",
}


def show_clinical(model: dict[str, Any], name: str) -> Iterator[str]:
    """Lines for standard output."""
    if model.get("left_out_batches"):
        yield from _show_batches(model["left_out_batches"])
    if model.get("time_order"):
        yield from _show_time(model["time_order"])
    if model.get("assay"):
        yield from _show_assay(model["assay"])
    if model.get("learning_curve"):
        yield from _show_curve(model["learning_curve"], model, name)
    if model.get("subgroups"):
        yield from _show_subgroups(model["subgroups"], bool(model.get("misclassification")))


def _item(text):
    """Lines of one batch, block of time or subgroup."""
    return paragraph(text, "    ", "      ")


def _scored(entry):
    low, high = entry["interval_95"]
    return f"{entry['score']:.3f} ({low:.3f} to {high:.3f})"


def _rows(n):
    return "1 row" if n == 1 else f"{n:,} rows"


def _counts(entry):
    return ", ".join(f"{label} {n:,}" for label, n in entry["classes"].items())


def _told(entry):
    """A score with its interval, or why there is none, and the numbers of rows."""
    what = f"not scored ({entry['not_scored']})" if entry["not_scored"] else _scored(entry)
    for rate in ("sensitivity", "specificity"):
        if rate in entry:
            low, high = entry[rate]["interval_95"]
            of = f"{rate} for {entry['positive']}"
            what += f", {of} {entry[rate]['share']:.3f} ({low:.3f} to {high:.3f})"
    return f"{what}; {_rows(entry['rows'])}: {_counts(entry)}"


def _first(items):
    """The first of many lines, and how many more there are."""
    items = list(items)
    for item in items[:_MOST_SHOWN]:
        yield from _item(item)
    if len(items) > _MOST_SHOWN:
        yield f"    ... and {len(items) - _MOST_SHOWN} more in metrics.json"


def _show_batches(found):
    if found["score"] is not None:
        low, high = found["interval_95"]
        at_a_time = "one" if found["held_out_at_a_time"] == 1 else "a tenth"
        yield from entry(
            "held-out batches",
            f"{found['score']:.3f}   95 % interval {low:.3f} to {high:.3f}; batches are held out, "
            f"{at_a_time} at a time, also when the model is chosen",
        )
    else:
        yield from entry("held-out batches", f"not scored ({found['not_scored']})")
    yield from _first(f"{batch}: {_told(one)}" for batch, one in found["batches"].items())
    for batch in found["not_predicted"]:
        yield from _item(f"{batch}: not predicted (the other batches do not have two classes)")


def _show_time(found):
    if found["score"] is None:
        yield from entry(
            "later rows", f"predicted by earlier ones: not scored ({found['not_scored']})"
        )
    else:
        low, high = found["interval_95"]
        told = (
            f"{found['score']:.3f}   95 % interval {low:.3f} to {high:.3f}, predicted by earlier "
            "rows"
        )
        if "lost" in found:
            low, high = found["lost_interval_95"]
            told += (
                f"; {found['same_rows_in_random_folds']:.3f} on the same rows in random folds "
                f"(difference {found['lost']:+.3f}, {low:+.3f} to {high:+.3f})"
            )
        yield from entry("later rows", told)
    for block in found["blocks"]:
        what = f"not scored ({block['not_scored']})" if block["not_scored"] else _scored(block)
        yield from _item(
            f"{_time(block['from'])} to {_time(block['to'])}: {what}; {_rows(block['rows'])}, "
            f"trained on {block['training_rows']:,}"
        )


def _time(value):
    return value if isinstance(value, str) else f"{value:g}"


def show_costs(found: dict[str, Any], name: str, to_report: str = "") -> Iterator[str]:
    """Lines about decisions by expected cost, which are those of the model.

    `found`: the costs of errors in `metrics.json`.
    """
    low, high = found["interval_95"]
    constant, (least, most) = found["constant"], found["saved_interval_95"]
    told = f"{found['mean_cost']:.3f}   95 % interval {low:.3f} to {high:.3f}"
    if found["is_honest"]:
        yield from entry("mean cost per row", f"{told}{to_report}", "good" if to_report else None)
    else:
        yield from entry("mean cost per row", f"{told} (in the folds: do not report)")
    yield from entry("", "deciding by expected cost at the class frequencies of the data")
    low, high = constant["saved_interval_95"]
    yield from _item(
        f"{constant['mean_cost']:.3f} always deciding {constant['class']} (the model saves "
        f"{constant['saved']:+.3f}, {low:+.3f} to {high:+.3f})"
    )
    yield from _item(
        f"{found['by_probability']:.3f} deciding by probability (costs save "
        f"{found['saved']:+.3f}, {least:+.3f} to {most:+.3f}; {name} "
        f"{found['score_by_probability']:.3f} that way)"
    )


def _show_assay(found):
    low, high = found["lost_interval_95"]
    errors = sorted(set(found["features"].values()))
    if not errors:
        yield from entry("measured again", "no feature of the model has an error of measurement")
        return
    told = f"{100 * errors[0]:.3g} %"
    if len(errors) > 1:
        told = f"{100 * errors[0]:.3g} to {100 * errors[-1]:.3g} %"
    yield from entry(
        "measured again",
        f"{-found['lost']:+.3f} (95 % interval {-high:+.3f} to {-low:+.3f}) with an error of "
        f"measurement of {told}; {100 * found['changed_labels']:.1f} % of the labels change",
    )
    if found["below_zero"]:
        yield from _item(
            f"{', '.join(found['below_zero'][:5])}: values below 0, for which an error in "
            "percent may make no sense (are they logarithms?)"
        )


def _show_curve(found, model, name):
    points = ", ".join(f"{p['training_rows']:.0f} rows {p['score']:.3f}" for p in found["points"])
    low, high = found["gain_interval_95"]
    honest = model.get("honest_score", model["selection_score"])["score"]
    yield from entry("learning curve", f"{name} by rows in training: {points}")
    yield from _item(
        f"{found['twice_the_rows']:,} rows instead of {found['rows']:,} would add "
        f"{found['gain']:.3f} ({low:.3f} to {high:.3f}) to {honest:.3f} (an extrapolation). "
        f"{_VERDICTS[found['verdict']].capitalize()}"
    )


def _show_subgroups(found, by_cost):
    how = "deciding by expected cost; " if by_cost else ""
    yield from entry("subgroups", f"{how}all rows: {_told(found['all'])}")
    for column, values in found["columns"].items():
        yield from _first(f"{column} {value}: {_told(one)}" for value, one in values.items())
    yield from _item(
        "differences between subgroups are descriptive: each interval is of one subgroup "
        "alone, and among many some differ by chance"
    )
