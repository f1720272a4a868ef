"""The features of a model and what is known about them, as plain text."""

from tamis.cli.layout import WIDTH, listed_names, pad, paragraph, plural, shorten, span
from tamis.cli.printing import Styled

_MOST_CLASSES = 6
_MOST_CATEGORIES = 8
_MOST_SWAPS = 3
# Columns that a name has at least (a longer one may have a line of its own), and of a class.
_NAME, _CLASS = 16, 12
_FREQUENCIES = ("frequency", "frequency_with_substitutes")


def show_features(records, guarantees, limit=15, *, percents=(), is_balanced=True, is_saved=True):
    """Lines about the features of a model, best first, and what is known about them.

    A feature of several columns has one line per category.
    """
    if not records:
        return ["The model uses no feature."]
    halves = any(record["frequency"] is not None for record in records)
    tested = any(record["adjusted_p"] is not None for record in records)
    numbers = ["reselected", "or a twin"] if halves else ["in folds"]
    numbers.append("adjusted p" if tested else "q-value")
    told = [_numbers(record, halves, tested) for record in records[:limit]]
    classes = _shown_classes(records[:limit], numbers)
    width = _class_width(records[:limit], classes, numbers)
    header = ["feature", *(shorten(c, width) for c in classes), *numbers]
    rows = []
    for record, cells in zip(records, told, strict=False):
        centers = record["centers"]
        is_single = not any(isinstance(centers.get(c), dict) for c in classes)
        tell = _percent if record.get("source") in percents else _center
        middle = [tell(centers.get(c)) if is_single else "" for c in classes]
        rows.append([record["feature"], *middle, *cells])
        if not is_single:
            rows += _category_rows(centers, classes, len(numbers))
    aside = None
    if not classes and any(record["stands_out"] for record in records[:limit]):
        aside = ["stands out", *(record["stands_out"] for record in records[:limit])]
    lines = _lay_out(header, rows, aside)
    if len(records) > limit:
        where = "in features.csv" if is_saved else "(-o RUN writes all of them to a file)"
        lines.append(f"... and {len(records) - limit:,} more {where}")
    lines += _show_legend(halves, tested, guarantees)
    return [*lines, *_show_guarantees(records, guarantees, is_balanced, is_saved)]


def _numbers(record, halves, tested):
    """What is known of a feature: how often it is selected again, and its p-value."""
    if not halves:
        cells = [f"{100 * record['stability']:.0f} %"]
    elif record.get("kept"):
        cells = ["kept", ""]
    else:
        shares = [record[name] for name in _FREQUENCIES]
        cells = ["" if share is None else f"{100 * share:.0f} %" for share in shares]
    p = record["adjusted_p" if tested else "q"]
    return [*cells, "<= 0.001" if p is not None and p <= 0.001 else _number(p, ".2g")]


def _number(value, form):
    return "" if value is None else format(value, form)


def _center(value):
    return _number(value, ".4g")


def _percent(value):
    return "" if value is None else f"{100 * value:.3g} %"


def _shown_classes(records, numbers):
    """The classes whose centers fit beside the numbers; none if there are too many."""
    classes = list(records[0]["centers"])
    if len(classes) > _MOST_CLASSES:
        return []
    widths = [
        max(9, span(shorten(c, _CLASS))) if any(c in r["centers"] for r in records) else 0
        for c in classes
    ]
    taken = sum(width + 2 for width in (*widths, *map(len, numbers)))
    return classes if taken + _NAME <= WIDTH else []


def _class_width(records, classes, numbers):
    """Columns that the name of a class may take: those that names of features leave."""
    longest = max(span(record["feature"]) for record in records)
    taken = min(longest, 2 * _NAME) + sum(len(name) + 2 for name in numbers)
    return max(_CLASS, (WIDTH - taken) // max(len(classes), 1) - 2)


def _lay_out(header, rows, aside):
    """A table in which the names take what the numbers leave; longer ones have their own line."""
    table = [header, *rows]
    widths = [max(span(row[c]) for row in table) for c in range(1, len(header))]
    free = WIDTH - sum(width + 2 for width in widths)
    names = [shorten(row[0], WIDTH) for row in table]
    if aside is not None:
        wanted = max(span(name) for name in names)
        other = min(max(map(span, aside)), max(free - wanted - 2, free // 2))
        free -= other + 2
    width = max(span(name) for name in names if span(name) <= free)
    lines = []
    for at, (name, row) in enumerate(zip(names, table, strict=True)):
        if span(name) > width:
            lines.append(name)
            name = ""
        line = pad(name, width)
        if aside is not None:
            line += "  " + pad(shorten(aside[at], other), other)
        line += "".join(f"  {pad(c, w, right=True)}" for c, w in zip(row[1:], widths, strict=True))
        lines.append(line.rstrip())
    return [Styled(lines[0], "bold"), *lines[1:]]


def _category_rows(centers, classes, n_numbers):
    names = list(centers[classes[0]])
    for name in names[:_MOST_CATEGORIES]:
        shares = [_number(centers[c][name], ".3g") for c in classes]
        yield [f"  {name}", *shares, *[""] * n_numbers]
    if len(names) > _MOST_CATEGORIES:
        more = len(names) - _MOST_CATEGORIES
        yield [f"  ... and {more} more", *[""] * (n_numbers + len(classes))]


def _show_legend(halves, tested, guarantees):
    """What the columns mean."""
    told = "in folds: proportion of the folds in which the feature is selected"
    if halves:
        told = (
            "reselected: proportion of half-samples in which the feature is selected again (or a "
            "feature correlated with it: a twin)"
        )
    yield from paragraph(told, indent="  ", style="dim")
    if tested:
        told = "adjusted p (Westfall-Young): of each feature alone"
        if "statement" not in guarantees.get("true_features", {}):
            told += ", not of what it adds to the others"
        yield from paragraph(told, indent="  ", style="dim")


def _show_guarantees(records, guarantees, is_balanced, is_saved):
    """What can be said about the features; reasons why nothing can are in metrics.json."""
    for name in ("true_features", "rule", "fit"):
        if "statement" in guarantees.get(name, {}):
            yield from paragraph(guarantees[name]["statement"])
    panels = guarantees.get("alternatives", {})
    if "panels" in panels:
        told = _tell_sets(panels) if panels["is_exhaustive"] else _tell_swaps(panels, records)
        yield from paragraph(told)
    swaps = [
        f"{record['feature']} -> {record['interchangeable']} "
        f"({max(record['loss_if_replaced'], 0):.3f})"
        for record in records
        if record["interchangeable"]
    ]
    if swaps:
        unit = "balanced accuracy" if is_balanced else "accuracy"
        yield from paragraph(
            f"Interchangeable, with the {unit} that is lost at most (95 % limit): "
            f"{listed_names(swaps, _MOST_SWAPS, ' in features.csv' if is_saved else '')}"
        )


def _tell_swaps(panels, records):
    """Panels in which one feature is replaced by another."""
    n = panels["panels"]
    if not n:
        return "No single swap of a feature does as well (within one standard error of the loss)."
    mine = [record["feature"] for record in records if not record.get("kept")]
    swaps = []
    for panel in panels["first"]:
        out, new = sorted(set(mine) - set(panel)), sorted(set(panel) - set(mine))
        swaps.append(f"{' and '.join(out)} -> {' and '.join(new)}")
    told = listed_names(swaps[:_MOST_SWAPS], _MOST_SWAPS)
    if n > len(swaps[:_MOST_SWAPS]):
        told += ", ..."
    number = f"More than {n:,}" if panels["are_more"] else f"{n:,}"
    noun, verb = ("swap", "does") if n == 1 else ("swaps", "do")
    return f"{number} single {noun} {verb} as well: {told}"


def _tell_sets(panels):
    """Other sets of features of the same size."""
    n, size = panels["panels"], plural(panels["of"], "feature")
    close = "within one standard error of the explained spread"
    if not n:
        return f"No other set of {size} is {close}."
    number = f"More than {n:,}" if panels["are_more"] else f"{n:,}"
    shared = panels["in_all"]
    told = (
        f"{number} other set{'' if n == 1 else 's'} of {size} {'is' if n == 1 else 'are'} {close}"
    )
    if not shared:
        return f"{told}; no feature is in all of them."
    verb = "is" if len(shared) == 1 else "are"
    names = listed_names(shared, 5)
    return f"{told}; {plural(len(shared), 'feature')} {verb} in all of them: {names}."
