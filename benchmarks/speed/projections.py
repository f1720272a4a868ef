"""Speed of the projections, as ratios to named peers measured in the same run.

One command, one thread: ``python benchmarks/speed/projections.py`` (``--quick`` for small sizes).
Every number is the best of several repetitions, in which the tasks take turns. Radii are shares of
the norm of the point, so that few or nearly all entries stay.
"""

import argparse
import os

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits
from timing import best_times

from tamis.projections import (
    project_l1_ball,
    project_l12_ball,
    project_l21_ball,
    project_nuclear_ball,
    project_simplex,
    project_weighted_l1_ball,
)
from tamis.projections.l12 import l12_multiplier, sorted_rows


def compare(case, ours, peer_name, peer, repeats, target=None, note=""):
    seconds = best_times({"ours": ours, "peer": peer}, repeats)
    ratio = seconds["ours"] / seconds["peer"]
    verdict = "" if target is None else f"  target <={target} {judge(ratio, target)}"
    milliseconds = f"{1e3 * seconds['ours']:8.2f} / {1e3 * seconds['peer']:8.2f} ms"
    print(f"{case:<34} / {peer_name:<22} {milliseconds} = {ratio:6.3f}{verdict}{note}", flush=True)


def judge(ratio, target):
    return "met" if ratio <= target else "NOT MET"


def vectors(size, repeats):
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        v = rng.normal(size=size).astype(dtype)
        for share in (0.001, 0.1, 0.9):
            radius = share * float(np.abs(v).sum(dtype=float))
            compare(
                f"l1 {size:.0e} {v.dtype} radius {share}",
                lambda v=v, radius=radius: project_l1_ball(v, radius),
                "np.sort",
                lambda v=v: np.sort(v),
                repeats,
                target=0.5,
            )
    v, weights = rng.normal(size=size), rng.uniform(0.1, 3, size)
    radius = 0.1 * float(weights @ np.abs(v))
    compare("simplex", lambda: project_simplex(v), "np.sort", lambda: np.sort(v), repeats, 0.5)
    compare(
        "weighted l1",
        lambda: project_weighted_l1_ball(v, weights, radius),
        "np.sort",
        lambda: np.sort(v),
        repeats,
    )


def matrices(n_rows, n_columns, repeats):
    V = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    print(f"matrices {n_rows} x {n_columns}, float64")
    for share in (0.01, 0.1, 0.9):
        radius = share * float(np.linalg.norm(V, axis=1).sum())
        compare(
            f"l2,1 radius {share}",
            lambda radius=radius: project_l21_ball(V, radius),
            "np.linalg.norm(axis=1)",
            lambda: np.linalg.norm(V, axis=1),
            repeats,
        )
    for share in (0.01, 0.1, 0.9):
        radius = share * float(np.linalg.norm(np.abs(V).sum(axis=1)))
        _, sums, ends = sorted_rows(V)
        steps = l12_multiplier(sums, ends, radius)[1]
        compare(
            f"l1,2 radius {share}",
            lambda radius=radius: project_l12_ball(V, radius),
            "np.sort(axis=1)",
            lambda: np.sort(V, axis=1),
            repeats,
            note=f"  {steps} Newton steps",
        )
    ill = V * np.logspace(0, -6, n_columns)
    for name, A in (("", V), (" ill-conditioned", ill)):
        radius = 0.99 * float(linalg.svdvals(A).sum())
        compare(
            f"nuclear radius 0.99{name}",
            lambda A=A, radius=radius: project_nuclear_ball(A, radius),
            "scipy.linalg.svd",
            lambda A=A: linalg.svd(A, full_matrices=False),
            repeats,
        )


def poster(d, repeats, picture):
    """The two figures of the primal-dual poster: cost of the projections against k and d."""
    rng = np.random.default_rng(0)
    widths, heights = (2, 5, 10, 20, 50), tuple(d * n // 4 for n in (1, 2, 4, 8))

    def cost(project, norm, n_rows, n_columns):
        V = rng.normal(size=(n_rows, n_columns))
        radius = 0.1 * norm(V)
        return 1e3 * best_times({"task": lambda: project(V, radius)}, repeats)["task"]

    def sweep(name, project, norm, shapes):
        found = [cost(project, norm, *shape) for shape in shapes]
        print(f"{name:<24} " + "  ".join(f"{ms:8.2f}" for ms in found), flush=True)
        return found

    def norm_l21(V):
        return float(np.linalg.norm(V, axis=1).sum())

    def norm_l12(V):
        return float(np.linalg.norm(np.abs(V).sum(axis=1)))

    def norm_nuclear(V):
        return float(linalg.svdvals(V).sum())

    def norm_l1(V):
        return float(np.abs(V).sum())

    of_k = [(d, k) for k in widths]
    of_d = [(rows, 10) for rows in heights]
    print(f"milliseconds against k = {widths}, d = {d}")
    left = {
        "l2,1": sweep("l2,1", project_l21_ball, norm_l21, of_k),
        "l2,1 by bisection": sweep("l2,1 by bisection", bisect_l21, norm_l21, of_k),
        "nuclear": sweep("nuclear", project_nuclear_ball, norm_nuclear, of_k),
    }
    middle = {
        "l1,2": sweep("l1,2", project_l12_ball, norm_l12, of_k),
        "l1": sweep("l1", project_l1_ball, norm_l1, of_k),
    }
    print(f"milliseconds against d = {heights}, k = 10")
    right = {
        "l1,2": sweep("l1,2", project_l12_ball, norm_l12, of_d),
        "l1": sweep("l1", project_l1_ball, norm_l1, of_d),
    }
    if picture:
        draw(picture, (widths, left, "k"), (widths, middle, "k"), (heights, right, "d"))


def bisect_l21(V, radius):
    """The plain rival of the poster: halve the interval of the threshold 60 times."""
    size = np.linalg.norm(V, axis=1)
    low, high = 0.0, float(size.max())
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.maximum(size - middle, 0).sum() > radius:
            low = middle
        else:
            high = middle
    return V * (np.maximum(size - high, 0) / size)[:, None]


def draw(path, *panels):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axis, (sizes, lines, name) in zip(axes, panels, strict=True):
        for label, values in lines.items():
            axis.plot(sizes, values, marker="o", label=label)
        axis.set(xlabel=name, ylabel="milliseconds", ylim=0)
        axis.grid(alpha=0.3)
        axis.legend()
    axes[0].set_title("l2,1 and nuclear balls")
    axes[1].set_title("l1,2 ball against k")
    axes[2].set_title("l1,2 ball against d")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few repetitions")
    parser.add_argument("--picture", help="file for the poster's two figures")
    options = parser.parse_args()
    quick = options.quick
    with threadpool_limits(1):
        vectors(10**5 if quick else 10**6, 3 if quick else 9)
        matrices(2_000 if quick else 20_000, 9, 3 if quick else 15)
        poster(1_000 if quick else 10_000, 3 if quick else 15, options.picture)


if __name__ == "__main__":
    main()
