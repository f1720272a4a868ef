"""Figure: accuracies, Algorithm 1 along its iterations, and times against d and m."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from datasets import DATASETS
from methods import METHODS, SETTINGS, methods_of
from report import COLUMNS, HEADINGS
from stopping import CASES

COLORS = {"published": "C1", "converged": "C2", "tamis": "C0"}
SOLVER_STYLES = {
    "Algorithm 1": {"color": "C1", "marker": "s"},
    "Algorithm 1, 30 iterations": {"color": "C1", "marker": "s", "linestyle": ":", "mfc": "none"},
    "tamis": {"color": "C0", "marker": "o", "linewidth": 2.5},
    "FISTA": {"color": "C2", "marker": "^"},
    "ADMM": {"color": "C4", "marker": "D"},
}


def draw(results, published, path):
    """Draw and save the figure."""
    figure = plt.figure(figsize=(15, 13), layout="constrained")
    above, middle, below = figure.subfigures(3, 1, height_ratios=(1.05, 0.9, 1))
    _draw_accuracy(above, results, published)
    _draw_stopping(middle, results)
    _draw_times(below, results, published)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _draw_accuracy(figure, results, published):
    names = [n for n in DATASETS if any(k.startswith(f"accuracy/{n}/") for k in results.records)]
    if not names:
        return
    table = published["accuracy"]
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        for j, method in enumerate(METHODS):
            for i, setting in enumerate(SETTINGS):
                entry = results.accuracy(name, setting, method)
                if method in methods_of(setting) and entry is not None:
                    axis.errorbar(
                        j + 0.2 * (i - 1),
                        100 * entry["mean"],
                        yerr=100 * (entry["std"] or 0.0),
                        fmt="o",
                        color=COLORS[setting],
                        capsize=3,
                    )
            if name in table["rows"]:
                value = table["rows"][name]["values"][table["columns"].index(COLUMNS[method])]
                axis.plot([j - 0.35, j + 0.35], [value, value], color="0.3", linestyle="--")
        labels = [m.replace(" ", "\n", 1) for m in METHODS]
        axis.set(title=name, xticks=range(len(METHODS)), xticklabels=labels)
        axis.grid(alpha=0.3, axis="y")
    axes[0].set_ylabel("accuracy, per cent")
    for setting, color in COLORS.items():
        axes[0].plot([], [], "o", color=color, label=HEADINGS[setting])
    axes[0].plot([], [], "--", color="0.3", label="printed in the paper (its own data)")
    figure.legend(loc="outside upper center", ncols=4)


def _draw_stopping(figure, results):
    found = {k: r for k, r in results.records.items() if k.startswith("stop/")}
    if not found:
        return
    name = next(iter(found)).split("/")[1]
    gap, features = figure.subplots(1, 2)
    for i, case in enumerate(CASES):
        record = found.get(f"stop/{name}/{case}")
        if record is None:
            continue
        n_iter = [row["n_iter"] for row in record["rows"]]
        gap.plot(n_iter, [max(r["gap"], 1e-9) for r in record["rows"]], "o-", ms=4, label=case)
        features.plot(n_iter, [row["features"] for row in record["rows"]], "o-", ms=4)
        if record["optimum"] is not None:
            features.axhline(record["optimum"]["features"], color=f"C{i}", linestyle=":")
    for axis in (gap, features):
        axis.axvline(30, color="0.4", linestyle="--")
        axis.set(xscale="log", xlabel="iterations of Algorithm 1 (dashed: 30)")
        axis.grid(alpha=0.3)
    gap.set(yscale="log", ylabel="relative duality gap", title=f"{name}: gap of the iterate")
    features.set(
        yscale="log",
        ylabel="selected features",
        title=f"{name}: selection (dotted: at the optimum)",
    )
    figure.legend(loc="outside right center", fontsize=9)


def _draw_times(figure, results, published):
    axes = figure.subplots(1, 4, sharey=True)
    panels = [(c, s) for c in (0.0, 0.95) for s in ("d", "m")]
    for axis, (correlation, swept) in zip(axes, panels, strict=True):
        times = results.times(correlation, swept)
        for solver, style in SOLVER_STYLES.items():
            records = sorted(times.get(solver, {}).items())
            if records:
                seconds = [record["seconds"] for _, record in records]
                axis.plot([size for size, _ in records], seconds, label=solver, **style)
                capped = [(s, r["seconds"]) for s, r in records if not r["reached"]]
                if capped:
                    axis.plot(*np.transpose(capped), "k_", ms=14)
        if swept == "d" and times:
            for key, word in (("primal_dual", "primal-dual"), ("fista", "FISTA")):
                marker = "x" if key == "primal_dual" else "+"
                label = f"printed in the paper: {word}"
                table = published["seconds"]
                axis.plot(table["d"], table[key], f"{marker}--", color="0.5", label=label)
        word = "independent" if correlation == 0 else "correlated"
        fixed = "1,000 samples" if swept == "d" else "5,000 features"
        name = "features d" if swept == "d" else "samples m"
        axis.set(xscale="log", yscale="log", xlabel=name, title=f"{word} features, {fixed}")
        sizes = sorted({size for records in times.values() for size in records})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("CPU seconds to a relative gap of 1e-3")
    handles = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=7)
