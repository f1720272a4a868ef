"""Figure: scores over k for both rescalings, and seconds of the selection; one row a data set.

Bands are one standard deviation over splits of the two-stage sparse centers.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from datasets import DATASETS

STYLES = {
    "l2-SC": {"color": "C0", "marker": "o", "linewidth": 2.5},
    "l1-SC": {"color": "C3", "marker": "s", "linewidth": 2.5},
    "SNB": {"color": "C2", "marker": "^"},
    "Odds Ratio": {"color": "C1", "marker": "v"},
    "Logistic-l1": {"color": "C4", "marker": "D"},
    "Lasso": {"color": "C5", "marker": "P"},
    "Logistic-RFE": {"color": "C6", "marker": "X"},
}
# What a center classifier does alone is drawn beside the rescaling that is nearest to its own;
# of text with priors, without which its curve would squeeze the others.
ALONE = {
    ("text", "variance"): ("l2-SC alone, variance",),
    ("text", "std"): ("l2-SC alone, spread, empirical priors",),
    ("genes", "variance"): ("l2-SC alone, variance", "l1-SC alone, variance"),
    ("genes", "std"): ("l2-SC alone, spread", "l1-SC alone, spread"),
}
TITLES = {
    "variance": "rescaled by the variance (the paper's words)",
    "std": "rescaled by the standard deviation",
}


def draw(results, path):
    """Draw and save the figure."""
    summary = results.summary()
    names = [name for name in DATASETS if summary.get(name)]
    figure, axes = plt.subplots(
        len(names), 3, figsize=(15, 3.1 * len(names) + 1.2), squeeze=False, layout="constrained"
    )
    for row, name in zip(axes, names, strict=True):
        _draw_scores(row[:2], name, results.shapes[name]["ks"], summary[name])
        _draw_seconds(row[2], name, summary[name])
    for axis, rescaling in zip(axes[0], TITLES, strict=False):
        axis.set_title(TITLES[rescaling])
    axes[0, 2].set_title("seconds of the selection, all k")
    handles = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=6)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _draw_scores(axes, name, ks, conditions):
    score = DATASETS[name].score
    if score is None:
        for axis in axes:
            axis.axis("off")
        axes[0].text(0.5, 0.5, f"{name}: times only", ha="center", transform=axes[0].transAxes)
        return
    for axis, rescaling in zip(axes, TITLES, strict=True):
        methods = conditions.get(rescaling, {})
        for method, style in STYLES.items():
            if method in methods:
                _draw_curve(axis, ks[:-1], methods[method], label=method, **style)
        for method in ALONE[DATASETS[name].kind, rescaling]:
            alone = conditions.get("none", {}).get(method)
            if alone:
                style = {"color": STYLES[method[:5]]["color"], "linestyle": ":", "linewidth": 2}
                _draw_curve(axis, ks[:-1], alone, label=f"{method[:5]} alone (no SVM)", **style)
        if "all features" in methods:
            level = methods["all features"]["mean"][-1]
            axis.axhline(level, color="0.4", linestyle="--", label="SVM, all features")
        axis.set(xscale="log", xlabel="k", xticks=ks[:-1], xticklabels=ks[:-1])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[1].sharey(axes[0])
    axes[0].autoscale(axis="y")
    axes[0].set_ylabel(f"{name}\n{score.replace('_', ' ')}")


def _draw_curve(axis, ks, entry, **style):
    points = [(k, m, s or 0.0) for k, m, s in zip(ks, entry["mean"], entry["std"], strict=False)]
    points = [p for p in points if p[1] is not None]
    if not points:
        return
    k, mean, std = zip(*points, strict=True)
    axis.plot(k, mean, markersize=5, **style)
    if style["label"] in ("l2-SC", "l1-SC"):  # the spread of all methods would hide the curves
        low, high = np.subtract(mean, std), np.add(mean, std)
        axis.fill_between(k, low, high, color=style["color"], alpha=0.12, linewidth=0)


def _draw_seconds(axis, name, conditions):
    present = [m for m in STYLES if any(m in conditions.get(r, {}) for r in TITLES)]
    for rescaling, filled in (("variance", True), ("std", False)):
        for method, entry in conditions.get(rescaling, {}).items():
            if method in STYLES:
                color = STYLES[method]["color"]
                face = color if filled else "none"
                axis.plot(entry["seconds"], present.index(method), "o", color=color, mfc=face)
    axis.plot([], [], "o", color="0.4", label="time, variance")
    axis.plot([], [], "o", color="0.4", mfc="none", label="time, std")
    axis.set(xscale="log", yticks=range(len(present)), yticklabels=present, xlabel="seconds")
    axis.set_ylim(len(present) - 0.5, -0.5)
    axis.grid(alpha=0.3, axis="x")
    if DATASETS[name].score is None:
        axis.set_ylabel(name)
