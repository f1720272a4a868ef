"""What people read: tables of plain text."""

import math

__all__ = ["show_features", "show_metrics", "show_table"]


def show_table(header, rows):
    """Lines of a table with aligned columns; the first is text, the others numbers."""
    widths = [max(len(str(row[c])) for row in [header, *rows]) for c in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def count(value):
    """A mean number of features."""
    if math.isclose(value, round(value), abs_tol=5e-3):
        return f"{round(value)}"
    return f"{value:.1f}"


def plural(n, word):
    """A number of things."""
    return f"{n} {word}{'' if str(n) == '1' else 's'}"


def score(entry):
    """A score with its standard error."""
    return f"{entry['score']:.3f} ± {entry['standard_error']:.3f}"


def show_metrics(metrics):
    """Lines for standard output: the comparison, then the recommendation."""
    data, settings = metrics["data"], metrics["settings"]
    classes = ", ".join(f"{label} {n}" for label, n in list(data["classes"].items())[:8])
    more = len(data["classes"]) - 8
    classes += f", and {more} more" if more > 0 else ""
    folds = f"{settings['folds']} folds"
    folds += f", {settings['repeats']} times" if settings["repeats"] > 1 else ""
    lines = [
        f"{data['name']}: {data['rows']} rows, {plural(data['features'], 'feature')}, "
        f"{len(data['classes'])} classes ({classes})",
        f"{settings['scoring'].replace('_', ' ')} in {folds}, ± standard error; these scores "
        "choose, and are not for reporting: the best of many is too good",
        "",
    ]
    header = (
        "method",
        "best",
        "features",
        "within 1 se",
        "features",
        "per sample",
        "95 %",
        "seconds",
    )
    ours = [m for m in metrics["methods"].values() if not m["is_baseline"]]
    baselines = [m for m in metrics["methods"].values() if m["is_baseline"]]
    rows = []
    for method in [*ours, *baselines]:
        best, sparse = method["best"], method["one_standard_error"]
        title = f"({method['title']})" if method["is_baseline"] else method["title"]
        rows.append(
            (
                title,
                score(best),
                count(best["features_overall"]),
                score(sparse),
                count(sparse["features_overall"]),
                count(sparse["features_per_sample"]),
                count(sparse["features_per_sample_95"]),
                f"{method['seconds']:.1f}",
            )
        )
    lines += show_table(header, rows)
    if baselines:
        lines.append("(in brackets: to compare with, never recommended)")
    for name, told in metrics["left_out"].items():
        lines.append(f"{name} was left out: about {told['estimated_seconds']:.0f} s")
    if metrics["unfinished"]:
        lines.append(f"not finished: {', '.join(metrics['unfinished'])}")
    if "model" in metrics:
        lines += ["", *_show_model(metrics["model"], settings, baselines)]
    return lines


def _show_model(model, settings, baselines):
    what = "Recommended" if model["recommended"] else "Picked"
    counted = plural(model["features"], "feature")
    mean = count(model["features_overall"])
    if model["level_is"] == "cost weight":
        counted = f"{count(model['features_per_sample'])} per sample of {counted} overall"
    elif mean != str(model["features"]):
        counted += f" (in the folds {mean} on average)"
    lines = [f"{what}: {model['title']}, {counted}"]
    name = settings["scoring"].replace("_", " ")
    if "honest_score" in model:
        honest = model["honest_score"]
        low, high = honest["interval_95"]
        lines.append(
            f"  {name} {honest['score']:.3f}, 95 % interval {low:.3f} to {high:.3f} "
            "(honest: covers the choice of method and level)"
        )
        if honest["sensitivity"] is not None:
            lines.append(
                f"  sensitivity {honest['sensitivity']:.3f}, wanted "
                f"{settings['min_sensitivity']:.3f}"
            )
    chosen = model["selection_score"]
    lines.append(f"  {name} {score(chosen)} in the folds that chose it (not for reporting)")
    if model["behind_best_baseline"] > 0:
        best = max(baselines, key=lambda method: method["best"]["score"])
        size = count(best["best"]["features_overall"])
        lines.append(
            f"  {best['title']}, with {size} features, is ahead of every model of ours by more "
            "than one standard error"
        )
    if model.get("left_out_batches"):
        told = model["left_out_batches"]
        worst = min(told["accuracy_of_batch"].values())
        lines.append(
            f"  {name} {told['score']:.3f} with one batch left out at a time (worst batch: "
            f"accuracy {worst:.3f})"
        )
    if model.get("permutations"):
        p = model["permutations"]
        lines.append(
            f"  p = {p['p_value']:.3g} from {len(p['shuffled_scores'])} permutations of the labels"
        )
    return lines


def show_features(records, limit=15):
    """Lines about the features of a model, best first."""
    if not records:
        return ["no feature is used"]
    centers = [name for name in records[0] if name.startswith("center_")]
    shown = centers if len(centers) <= 6 else []
    header = ("feature", "gain", "stable", "q", *(name[len("center_") :] for name in shown))
    rows = [
        (
            _cut(record["feature"], 40),
            f"{record['gain']:.3g}",
            f"{record['stability']:.2f}",
            f"{record['q']:.1g}",
            *(
                f"{record[name]:.4g}"
                if isinstance(record[name], float)
                else _cut(record[name], 24)
                for name in shown
            ),
        )
        for record in records[:limit]
    ]
    lines = show_table(header, rows)
    if len(records) > limit:
        lines.append(f"... and {len(records) - limit} more")
    return lines


def _cut(text, width):
    return text if len(text) <= width else text[: width - 1] + "…"
