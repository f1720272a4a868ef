"""Figures 3 and 4 of the paper: accuracy against sparsity, and the use of the features."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from curves import accuracy_at, standard_error
from datasets import N_FEATURES

STYLES = {
    "DWSM-Un": ("#c8402f", "-"),
    "DWSM-Con": ("#e39a3b", "-"),
    "forest": ("#1d6b3a", "-"),
    "extra-trees": ("#6aa84f", "--"),
    "L1-SVM": ("#34558b", "--"),
    "LARS": ("#7f9fd1", ":"),
}
FIGURE3 = (("australian", 0.5), ("splice", 0.5))


def draw_curves(results, path):
    """Figure 3: mean accuracy over the splits at every sparsity, with its standard error."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axis, (name, fraction) in zip(axes, FIGURE3, strict=True):
        empty = results.runs(name, fraction, "majority")
        lowest = 100.0
        grid = np.linspace(0, 1, 101)
        for method, (color, line) in STYLES.items():
            runs = results.runs(name, fraction, method)
            if not runs:
                continue
            table = np.array(
                [_read_curve(run, empty[s], N_FEATURES[name], grid) for s, run in runs.items()]
            )
            mean, error = table.mean(axis=0), standard_error(table)
            lowest = min(lowest, np.nanmin(mean[grid <= 0.95]))
            axis.plot(grid, mean, line, color=color, label=method, linewidth=1.8)
            axis.fill_between(grid, mean - error, mean + error, color=color, alpha=0.12, lw=0)
        axis.set_title(f"{name}, training share {fraction}, {len(empty)} splits")
        axis.set_xlabel("sparsity: share of features not used")
        axis.set_xlim(0, 1)
        axis.set_ylim(bottom=lowest - 3)  # without features all fall down to the majority
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy, percent")
    handles = {h.get_label(): h for axis in axes for h in axis.get_lines()}
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=len(STYLES))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _read_curve(run, empty, n_features, grid):
    """Accuracy in percent over the grid; nothing where the curve does not use as many features."""
    points, constant = run["points"], empty["points"][0][1]
    fullest = max(number for number, _ in points)
    return [
        100 * accuracy_at(points, constant, n_features, s)
        if (1 - s) * n_features <= fullest + 0.01 * n_features
        else np.nan
        for s in grid
    ]


def draw_use(uses, title, path):
    """Figure 4: how often each feature is used, and by how many features samples are decided.

    Parameters
    ----------
    uses : dict from method to (mask, right)
        Bool arrays: features used for each test sample (n_samples, n_features), and which samples
        were classified rightly. Methods with one set of features for all are not in the right
        panels.
    title : str
    path : Path
        Where the picture goes.
    """
    adaptive = [m for m, (mask, _) in uses.items() if (mask != mask[0]).any()]
    layout = [["use"] * len(adaptive), adaptive] if adaptive else [["use"]]
    figure, axes = plt.subplot_mosaic(layout, figsize=(11, 7.4), layout="constrained")
    n_features = next(iter(uses.values()))[0].shape[1]
    features = np.arange(1, n_features + 1)
    width = 0.85 / len(uses)
    for place, (method, (mask, _)) in enumerate(uses.items()):
        at = features + (place - (len(uses) - 1) / 2) * width
        share = 100 * mask.mean(axis=0)
        axes["use"].bar(at, share, width, color=STYLES[method][0], label=_name(method, mask))
    axes["use"].set_xticks(features)
    axes["use"].set_xlabel("feature (1 is the number of the sample)")
    axes["use"].set_ylabel("used for, percent of test samples")
    axes["use"].set_ylim(0, 132)
    axes["use"].set_xlim(0.4, n_features + 0.6)
    axes["use"].legend(ncols=3, loc="upper center", fontsize=9)
    axes["use"].set_title(title)
    for method in adaptive:
        _draw_numbers(axes[method], method, *uses[method])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_numbers(axis, method, mask, right):
    """Distribution of the number of features used, of all right and all wrong decisions."""
    number = mask.sum(axis=1)
    bins = np.arange(mask.shape[1] + 1)
    for shift, chosen, color, name in (
        (-0.2, right, "#34558b", "right"),
        (0.2, ~right, "#c8402f", "wrong"),
    ):
        share = 100 * np.bincount(number[chosen], minlength=bins.size) / max(1, chosen.sum())
        axis.bar(bins + shift, share, 0.4, color=color, label=f"{name} ({chosen.sum()})")
    axis.set_title(method)
    axis.set_xticks(bins)
    axis.set_xlabel("features used")
    axis.set_ylabel("percent of decisions")
    axis.set_ylim(0, 100)
    axis.legend(title="decisions", loc="upper center")


def _name(method, mask):
    return f"{method} (sparsity {1 - mask.mean():.2f})"
