"""The methods that were compared, and those that were not."""

from tamis.cli.layout import count, pad, paragraph, shorten, times
from tamis.cli.printing import Styled
from tamis.cli.show_answer import name_score
from tamis.comparison.fitted.metrics import scores_vary
from tamis.comparison.methods.naming import bracket, explain_marks, mark_method

# Columns of the name, of the smallest model, and of the best one.
_NAME, _SMALL, _BEST = 26, 30, 17


def show_comparison(metrics):
    """Lines about all methods: the smallest model close to their best one, and that one."""
    settings, methods = metrics["settings"], metrics["methods"]
    folds = f"{settings['folds']} folds"
    folds += f", repeated {times(settings['repeats'])}" if settings["repeats"] > 1 else ""
    yield Styled(f"Compared on the same {folds} (optimistic: used to choose)", "bold")
    header = pad(f"{name_score(settings)} ± s.e.", _NAME)
    yield Styled(f"{header}{'smallest close to its best':>{_SMALL}}{'its best':>{_BEST}}", "dim")
    ours = [item for item in methods.items() if not item[1]["is_baseline"]]
    others = [item for item in methods.items() if item[1]["is_baseline"]]
    for name, method in ours:
        yield from _show_row(name, method, metrics)
    if others:
        yield Styled("  baselines", "dim")
    for name, method in others:
        yield from _show_row(name, method, metrics)
    tolerance = f"{settings['tolerance']:g}"
    told = f"close: its score, averaged over similar sizes, is within {tolerance} of the best"
    if any(method["is_recommended"] for method in methods.values()):
        told += "; in the line with *, close to the best of all methods"
    yield from paragraph(told, indent="  ", style="dim")
    marks = explain_marks(methods)
    if marks:
        yield from paragraph(marks, indent="  ", style="dim")
    yield from _show_missing(metrics)


def _show_row(name, method, metrics):
    best, small, is_chosen = method["best"], method["good_enough"], method["is_recommended"]
    title = shorten(mark_method(name, method), _NAME - 2)
    line = f"{'*' if is_chosen else ' '} {pad(title, _NAME - 2)}"
    scored = f"{small['score']:.3f}"
    if scores_vary(name, metrics):
        scored += f" ± {small['standard_error']:.3f}"
    else:
        scored += " " * len(" ± 0.000")
    line += f"{count(small['features_overall']):>{_SMALL - 16}}{_align(scored, small, 16)}"
    highest = _align(f"{best['score']:.3f}", best, 8)
    line += f"{count(best['features_overall']):>{_BEST - 9}}{highest}"
    line = line.rstrip()
    yield Styled(line, "bold") if is_chosen else line
    told = []
    if method["asks"]:
        told.append(
            f"asks {count(small['features_per_sample'])} per sample on average "
            f"(95 % of the samples: at most {count(small['features_per_sample_95th_percentile'])})"
        )
    if metrics["data"]["has_costs"]:
        told.append(f"mean cost per sample {small['cost_per_sample']:.4g}")
    if told:
        yield from paragraph("; ".join(told), "    ", style="dim")


def _align(text, point, width):
    """A score that ends at a column; a bracket stands beyond it."""
    text = bracket(text, point)
    return pad(text, width + 1, right=True) if text.endswith(")") else pad(text, width, True) + " "


def _show_missing(metrics):
    """Methods that failed, were skipped, or were not finished."""
    for name, message in metrics["failed"].items():
        yield from paragraph(f"{name} failed on these data: {message}", "  ", "    ", "warning")
    for name, skipped in metrics["left_out"].items():
        seconds = skipped["estimated_seconds"]
        told = f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
        yield from paragraph(
            f"{name} was skipped: it would take about {told} (--methods all runs it)", "  ", "    "
        )
    if metrics["unfinished"]:
        yield from paragraph(f"not finished: {', '.join(metrics['unfinished'])}", "  ", "    ")
