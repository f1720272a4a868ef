"""The features of a model and what can be promised about them, as plain text."""

import math

from tamis.comparison.importance import importance_of

__all__ = ["count", "plural", "show_features", "show_table"]

_MOST_CLASSES = 6
_MOST_CATEGORIES = 8
_FREQUENCIES = ("frequency", "frequency_with_substitutes")


def show_table(header, rows):
    """Format a table with aligned columns; the first is text, the others numbers."""
    widths = [max(len(str(row[c])) for row in [header, *rows]) for c in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def count(value):
    """Format a number of features, or a mean of such numbers."""
    if math.isclose(value, round(value), abs_tol=5e-3) or value >= 100:
        return f"{round(value):,}"
    return f"{value:.1f}"


def plural(n, word):
    """Format a number with its noun."""
    return f"{count(n)} {word}{'' if count(n) == '1' else 's'}"


def show_features(records, guarantees, limit=15, *, is_balanced=True):
    """Lines about the features of a model, best first, and what can be promised about them.

    A feature of several columns has one line per category.
    """
    if not records:
        return ["The model uses no feature."]
    classes = list(records[0]["centers"])
    shown = classes if len(classes) <= _MOST_CLASSES else []  # none if they are not known
    halves = any(record["frequency"] is not None for record in records)
    tested = any(record["adjusted_p"] is not None for record in records)
    header = ["feature", importance_of(records[0])[0].replace("_", " ")]
    header += ["reselected", "or correlated"] if halves else ["proportion of folds"]
    header += ["adjusted p" if tested else "q", *(shown or ["stands out"])]
    n_numbers = len(header) - 1 - len(shown or [1])
    rows = []
    for record in records[:limit]:
        centers = record["centers"]
        is_single = not classes or not isinstance(centers[classes[0]], dict)
        row = [_shorten(record["feature"]), f"{importance_of(record)[1]:.3g}"]
        if halves:
            row += [_number(record[name], ".2f") for name in _FREQUENCIES]
        else:
            row.append(f"{record['stability']:.2f}")
        row.append(_number(record["adjusted_p" if tested else "q"], ".2g"))
        if shown:
            row += [f"{centers[c]:.4g}" if is_single else "" for c in shown]
        else:
            row.append(record["stands_out"])
        rows.append(row)
        if shown and not is_single:
            rows += _category_rows(centers, shown, n_numbers)
    lines = show_table(header, rows)
    if len(records) > limit:
        lines.append(f"... and {len(records) - limit:,} more")
    return [*lines, *_show_guarantees(records, guarantees, is_balanced)]


def _number(value, form):
    return "" if value is None else format(value, form)


def _show_guarantees(records, guarantees, is_balanced):
    """What can be promised about the features; reasons why nothing can are in metrics.json."""
    for name in ("true_features", "rule"):
        if "statement" in guarantees.get(name, {}):
            yield guarantees[name]["statement"]
    panels = guarantees.get("alternatives", {})
    if "panels" in panels:
        yield _tell_panels(panels)
    for record in records:
        if record["interchangeable"]:
            yield (
                f"{record['feature']} is interchangeable with {record['interchangeable']}: "
                f"replacing it loses at most {max(record['loss_if_replaced'], 0):.3f} of "
                f"{'balanced accuracy' if is_balanced else 'accuracy'} (upper 95 % limit)"
            )


def _tell_panels(panels):
    n, size = panels["panels"], plural(panels["of"], "feature")
    kind, close = f"other panel{'' if n == 1 else 's'} of {size}", "one standard error of the gain"
    if not panels["is_exhaustive"]:
        kind, close = f"{kind} with one feature swapped", "one standard error of the loss"
    if not n:
        return f"No {kind.replace('panels', 'panel')} is within {close}."
    number = f"More than {n:,}" if panels["are_more"] else f"{n:,}"
    shared = len(panels["in_all"])
    return (
        f"{number} {kind} {'is' if n == 1 else 'are'} within {close}; "
        f"{plural(shared, 'feature')} {'is' if shared == 1 else 'are'} in all of them"
        f"{'.' if panels['is_exhaustive'] else ' (more swaps at once were not tried).'}"
    )


def _category_rows(centers, classes, n_numbers):
    names = list(centers[classes[0]])
    for name in names[:_MOST_CATEGORIES]:
        yield [f"  {name}", *[""] * n_numbers, *(f"{centers[c][name]:.3g}" for c in classes)]
    if len(names) > _MOST_CATEGORIES:
        yield [
            f"  ... and {len(names) - _MOST_CATEGORIES} more",
            *[""] * (n_numbers + len(classes)),
        ]


def _shorten(name, width=60):
    """Replace the middle of a long name by dots."""
    if len(name) <= width:
        return name
    half = (width - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
