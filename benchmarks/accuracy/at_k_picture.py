"""The picture of `at_k.py`: scores against numbers of features, for three groups of sets."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

# Colours of Okabe and Ito, which colour-blind people can tell apart; markers differ too.
STYLES = {
    "panel": {"color": "#D55E00", "marker": "o", "linewidth": 2.4, "zorder": 3},
    "Logistic-RFE": {"color": "#0072B2", "marker": "s"},
    "relaxed l1": {"color": "#009E73", "marker": "^"},
    "abess": {"color": "#CC79A7", "marker": "D"},
    "ANOVA": {"color": "#E69F00", "marker": "v"},
    "mRMR": {"color": "#56B4E9", "marker": "P"},
    "sparse centers": {"color": "#000000", "marker": "x", "linestyle": "--"},
    "forest": {"color": "#666666", "marker": "+", "linestyle": ":"},
}


def draw(scores, pairs, groups, path):
    """Draw mean scores of some methods against numbers of features.

    Parameters
    ----------
    scores : at_k_tables.Scores
    pairs : list of (method, head)
        Only cells that all of them have are drawn.
    groups : sequence of str
        Groups of sets, one panel each.
    path : Path
    """
    pairs = [pair for pair in pairs if pair[0] in STYLES]
    cells = scores.common(pairs) if pairs else {}
    figure, axes = plt.subplots(1, len(groups), figsize=(13, 4.6), layout="constrained")
    for axis, group in zip(axes, groups, strict=True):
        names = {name for name, _ in cells if scores.group(name) == group}
        counts = sorted({k for name, k in cells if name in names})
        for place, (method, _) in enumerate(pairs):
            means = [
                100
                * np.mean(
                    [v[place] for (n, other), v in cells.items() if n in names and other == k]
                )
                for k in counts
            ]
            axis.plot(counts, means, label=method, **STYLES[method])
        axis.set_title(f"{group}: {len(names)} sets")
        axis.set_xlabel("number of features")
        if counts:
            axis.set_xscale("log")
            axis.set_xticks(counts, map(str, counts))
            axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("mean balanced accuracy (%)")
    if pairs:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)
