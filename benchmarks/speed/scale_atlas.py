"""An atlas of cells in 4 GB: class statistics, every k scored on held-out cells, and a panel.

    python benchmarks/speed/scale.py --atlas

The shape, 38,237 cells of 32,285 genes, is that of an issue of spapros (theislab/spapros, 361),
whose selection of a panel ran out of 520 GB. Those data are not public; these are generated.

Counts are negative binomial with dispersion `THETA`. The mean of a gene is log-normal over genes,
with the location at which `STORED` of the counts are not zero; the depth of a cell is log-normal
with sigma 0.4. Each of 20 cell types, the largest of which has about 14 times the cells of the
smallest, has 30 marker genes whose mean is 2 to 8 times as large. Values are log(1 + counts per
10,000), in 8 shards of CSR rows.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from numba import njit
from scale_memory import run_watched
from scipy import sparse

SHAPE = (38_237, 32_285)
SHARDS = 8
TYPES = 20
MARKERS = 30
THETA = 2.0
SIGMA = 2.5
STORED = 0.065
CAP = 4e9
SCREENED = 500  # genes that the panel chooses from
PANEL = 50
LIMIT = 1800.0  # seconds of a step
STEPS = ("means", "medians", "every k", "panel")


def run_atlas(options: argparse.Namespace) -> int:
    """Generate the atlas, run every step in a process of its own, print and save the table."""
    folder = Path(tempfile.mkdtemp(prefix="tamis-atlas-", dir=options.folder))
    found: dict = {"steps": {}}
    try:
        found |= generate(folder)
        for step in STEPS:
            command = [sys.executable, __file__, step, str(folder)]
            code, output, errors, peak = run_watched(command, LIMIT)
            if code != 0:
                print(errors or f"{step} was stopped after {LIMIT:g} s", file=sys.stderr)
                return 1
            found["steps"][step] = {**json.loads(output.strip().splitlines()[-1]), "peak": peak}
            print(step, found["steps"][step], file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    text = table(found)
    print(text)
    (options.output / "speed_scale_atlas.txt").write_text(text + "\n", encoding="utf-8")
    (options.output / "speed_scale_atlas.json").write_text(json.dumps(found, indent=1) + "\n")
    return 0


def table(found: dict) -> str:
    """The figures as text."""
    lines = [
        f"{SHAPE[0]:,} cells x {SHAPE[1]:,} genes, {found['stored']:.1%} of the values stored "
        f"({found['bytes'] / 1e6:.0f} MB as CSR), {found['depth']:,.0f} counts in the median "
        f"cell, {TYPES} cell types; a fifth of the cells is held out.",
        f"Every step in a process of its own, limited to {CAP / 1e9:g} GB (RLIMIT_DATA), one "
        "thread; peak: largest RssAnon; wall: with whatever else the machine did.",
        "",
        f"{'step':<12}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}  result",
    ]
    for step, record in found["steps"].items():
        lines.append(
            f"{step:<12}{record['wall']:>8.1f}{record['cpu']:>8.1f}{record['peak'] / 1e6:>9.0f}  "
            f"{record['text']}"
        )
    return "\n".join(lines)


def generate(folder: Path) -> dict:
    """Write the shards; share of stored values, bytes, and counts of the median cell."""
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(scale=SIGMA, size=SHAPE[1]))
    mean *= _location(mean)
    sizes = rng.permutation(np.geomspace(1, 14, TYPES))
    codes = rng.choice(TYPES, SHAPE[0], p=sizes / sizes.sum())
    fold = np.ones((TYPES, SHAPE[1]))
    usual = np.flatnonzero((mean > 0.02) & (mean < 2))
    for one in range(TYPES):
        fold[one, rng.choice(usual, MARKERS, replace=False)] = np.exp2(rng.uniform(1, 3, MARKERS))
    depth = rng.lognormal(sigma=0.4, size=SHAPE[0])
    stored, totals = 0, []
    for number, rows in enumerate(np.array_split(np.arange(SHAPE[0]), SHARDS)):
        X = _counts(mean, fold, codes[rows], depth[rows], rng)
        total = X.sum(axis=1)
        totals.append(total)
        X.data = np.log1p(X.data * np.repeat(1e4 / np.maximum(total, 1), np.diff(X.indptr)))
        X = X.astype(np.float32)
        sparse.save_npz(folder / f"part-{number:02d}.npz", X, compressed=False)
        stored += X.nnz
    np.save(folder / "y.npy", np.char.add("type ", codes.astype(str)))
    np.save(folder / "held_out.npy", rng.random(SHAPE[0]) < 0.2)
    size = sum(path.stat().st_size for path in folder.glob("part-*"))
    return {
        "stored": stored / (SHAPE[0] * SHAPE[1]),
        "bytes": size,
        "depth": float(np.median(np.concatenate(totals))),
    }


def _location(mean):
    """The factor of the means at which a cell of depth 1 has `STORED` counts above zero."""
    low, high = 1e-6, 1e3
    for _ in range(60):
        middle = np.sqrt(low * high)
        above = 1 - np.mean((1 + middle * mean / THETA) ** -THETA)
        low, high = (middle, high) if above < STORED else (low, middle)
    return middle


def _counts(mean, fold, codes, depth, rng):
    """CSR counts of some cells."""
    room = int(1.6 * STORED * codes.size * mean.size) + 1000
    data, indices = np.empty(room), np.empty(room, dtype=np.int32)
    indptr = np.zeros(codes.size + 1, dtype=np.int32)
    n_stored = _draw(mean, fold, codes, depth, rng, THETA, data, indices, indptr)
    parts = data[:n_stored], indices[:n_stored], indptr
    return sparse.csr_array(parts, shape=(codes.size, mean.size))


@njit
def _draw(mean, fold, codes, depth, rng, theta, data, indices, indptr):
    # Each count by inversion: the probabilities of 0, 1, 2, ... until their sum passes a uniform.
    at = 0
    for i in range(codes.size):
        for j in range(mean.size):
            mu = depth[i] * mean[j] * fold[codes[i], j]
            p = (1.0 + mu / theta) ** -theta
            u = rng.random()
            if u <= p:
                continue
            q, k, total = mu / (mu + theta), 0, p
            while u > total and k < 10_000:
                p *= (k + theta) / (k + 1) * q
                k += 1
                total += p
            data[at], indices[at] = k, j
            at += 1
        indptr[i + 1] = at
    return at


class Cells:
    """Chunks of the training cells, or of those held out."""

    def __init__(self, folder: Path, is_held_out: bool) -> None:
        from tamis import read_chunks

        y = np.load(folder / "y.npy")
        mask = np.load(folder / "held_out.npy")
        self.chunks = read_chunks(str(folder / "part-*.npz"), labels=y)
        self.mask = mask if is_held_out else ~mask
        self.passes = 0

    def __iter__(self):
        self.passes += 1
        at = 0
        for X, y in self.chunks:
            rows = np.flatnonzero(self.mask[at : (at := at + X.shape[0])])
            yield X[rows], y[rows]


def means(folder: Path) -> dict:
    """Class means of all genes."""
    return _statistics(folder, "l2")


def medians(folder: Path) -> dict:
    """Class medians of all genes."""
    return _statistics(folder, "l1")


def _statistics(folder, metric):
    from tamis import SparseCenterClassifier

    cells = Cells(folder, False)
    model = SparseCenterClassifier(100, metric=metric).fit_chunks(cells)
    with open(folder / f"{metric}.pickle", "wb") as file:
        pickle.dump(model, file)
    kinds = f"{len(model.classes_)} types x {model.n_features_in_:,} genes"
    word = "pass" if cells.passes == 1 else "passes"
    return {"text": f"{kinds}, {cells.passes} {word} over the shards", "passes": cells.passes}


def every_k(folder: Path) -> dict:
    """Balanced accuracy on the held-out cells with 1, 2, ... all genes."""
    model = _load(folder)
    y = np.load(folder / "y.npy")[np.load(folder / "held_out.npy")]
    weight = dict(zip(*np.unique(y, return_counts=True), strict=True))
    scores, total = 0.0, 0.0
    for X, some in Cells(folder, True):
        # Cells weigh the same in all types together, so the accuracy is the balanced one.
        weights = np.array([1.0 / weight[label] for label in some])
        scores += weights.sum() * model.path_score(X, some, None, sample_weight=weights)
        total += weights.sum()
    scores /= total
    best = int(scores.argmax())
    within = int(np.flatnonzero(scores >= scores[best] - 0.01)[0])
    text = (
        f"{scores.size:,} values of k, {y.size:,} held-out cells: balanced accuracy "
        f"{scores[best]:.3f} with {best + 1:,} genes, {scores[within]:.3f} with {within + 1:,}, "
        f"{scores[PANEL - 1]:.3f} with {PANEL}"
    )
    return {"text": text}


def panel(folder: Path) -> dict:
    """A panel of the genes that the means screened, chosen on all training cells."""
    from sklearn.metrics import balanced_accuracy_score

    from tamis import PanelClassifier

    genes = np.sort(_load(folder).feature_order_[:SCREENED])
    X, y = _columns(folder, genes, False)
    model = PanelClassifier(PANEL).fit(X, y)
    X_test, y_test = _columns(folder, genes, True)
    score = balanced_accuracy_score(y_test, model.predict(X_test))
    text = (
        f"{model.n_features_} genes of the {SCREENED} of largest gain, all {y.size:,} training "
        f"cells: balanced accuracy {score:.3f} on the held-out ones (head: {model.head_})"
    )
    return {"text": text}


def _load(folder):
    with open(folder / "l2.pickle", "rb") as file:
        return pickle.load(file)


def _columns(folder, genes, is_held_out):
    """Some genes of all cells, as one sparse array."""
    parts = [(X[:, genes], y) for X, y in Cells(folder, is_held_out)]
    return sparse.vstack([X for X, _ in parts], "csr"), np.concatenate([y for _, y in parts])


def main(arguments: list[str]) -> int:
    """Run one step."""
    step, folder = arguments[0], Path(arguments[1])
    resource.setrlimit(resource.RLIMIT_DATA, (int(CAP), int(CAP)))
    work = {"means": means, "medians": medians, "every k": every_k, "panel": panel}[step]
    start, used = time.perf_counter(), time.process_time()
    found = work(folder)
    seconds = {"wall": time.perf_counter() - start, "cpu": time.process_time() - used}
    print(json.dumps({**seconds, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
