"""Picture of the records of scale.py: seconds and peak memory against the size of the data."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

STYLES = {
    "memory/0": ("in memory", "C3", "s"),
    "chunks/0": ("chunks", "C0", "o"),
    "dask/1": ("Dask, 1 worker", "C2", "^"),
    "dask/2": ("Dask, 2 workers", "C4", "v"),
}


def draw(cells: dict[str, dict], cap: float, path: Path) -> None:
    """Draw and save the picture."""
    measured = {name.split("/")[3] for name, record in cells.items() if "fit" in record}
    metrics = [metric for metric in ("l2", "l1") if metric in measured]
    figure, axes = plt.subplots(1, len(metrics) + 1, figsize=(15, 4.6), layout="constrained")
    for axis, metric in zip(axes, metrics, strict=False):
        _draw_times(axis, cells, metric)
    _draw_memory(axes[-1], cells, cap)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _records(cells, way, metric):
    found = {}
    for name, record in cells.items():
        size, *rest = name.split("/")
        if "/".join(rest) == f"{way}/{metric}":
            found[float(size)] = record
    return sorted(found.items())


def _draw_times(axis, cells, metric):
    for way, (title, color, marker) in STYLES.items():
        records = _records(cells, way, metric)
        done = [(size, r["fit"]["wall"]) for size, r in records if "fit" in r]
        axis.plot(
            *(zip(*done, strict=True) if done else ([], [])),
            color=color,
            marker=marker,
            label=title,
        )
    read = [(s, r["sum"]["wall"]) for s, r in _records(cells, "chunks/0", metric) if "sum" in r]
    if read:
        axis.plot(*zip(*read, strict=True), "--", color="0.4", label="X.sum over the chunks")
    sizes = sorted({float(name.split("/")[0]) for name in cells})
    axis.set(xscale="log", yscale="log", xlabel="GB on disk", ylabel="seconds of the fit")
    axis.set_title({"l2": "means (l2)", "l1": "medians (l1)"}[metric])
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axis.minorticks_off()
    axis.grid(alpha=0.3)


def _draw_memory(axis, cells, cap):
    for way, (_, color, marker) in STYLES.items():
        for metric, line in (("l2", "-"), ("l1", ":")):
            records = _records(cells, way, metric)
            done = [(size, r["peak"] / 1e9) for size, r in records if "fit" in r]
            axis.plot(
                *(zip(*done, strict=True) if done else ([], [])), line, color=color, marker=marker
            )
            died = [size for size, r in records if "died" in r]
            axis.plot(died, [cap] * len(died), "x", color=color, ms=9)
    sizes = sorted({float(name.split("/")[0]) for name in cells})
    axis.axhline(cap, color="0.4", linestyle="--")
    axis.set(xscale="log", xlabel="GB on disk", ylabel="peak memory, GB, of all processes")
    axis.set_title("memory (dashed: limit of a process; x: died; dotted: l1)", fontsize=10)
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axis.minorticks_off()
    axis.grid(alpha=0.3)
