"""Figure 5 of the paper: ranks of the methods over the data sets of both collections."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from report import rank_table

TITLES = {"raetsch": "Raetsch's sets", "uci": "UCI sets"}


def draw_ranks(results, collections, methods, path):
    """Box plots of ranks, best average first; ours in colour.

    Parameters
    ----------
    results : Results
    collections : dict from names to data sets
    methods : list of str
    path : Path
        Where the picture goes.
    """
    figure, axes = plt.subplots(1, len(collections), figsize=(11, 5.2), layout="constrained")
    for axis, (collection, names) in zip(axes, collections.items(), strict=True):
        _, ranks = rank_table(results, names, methods)
        if len(ranks):
            _draw_panel(axis, ranks, methods)
        axis.set_title(f"{TITLES[collection]} ({len(ranks)})")
    figure.suptitle("Rank of the balanced error among 18 methods: diamonds are averages")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_panel(axis, ranks, methods):
    order = ranks.mean(axis=0).argsort(kind="stable")[::-1]
    boxes = axis.boxplot(
        ranks[:, order],
        orientation="horizontal",
        patch_artist=True,
        showmeans=True,
        widths=0.65,
        meanprops={"marker": "D", "mfc": "black", "mec": "black", "ms": 4},
        medianprops={"color": "black"},
        flierprops={"markersize": 3},
    )
    for box, m in zip(boxes["boxes"], order, strict=True):
        box.set_facecolor("#e07a3f" if methods[m].startswith("KMS") else "#d5dce4")
    axis.set_yticklabels([methods[m] for m in order])
    axis.set_xticks(range(1, len(methods) + 1, 2))
    axis.set_xlabel("rank (1 is best)")
    axis.grid(axis="x", alpha=0.3)
