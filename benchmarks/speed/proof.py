"""How long it takes to prove the best panel, beside fitting all panels.

    python benchmarks/speed/proof.py [--data DIR] [--seconds 60] [PROBLEM ...]

One thread; CPU seconds. "all" fits a sample of all panels of the size, in batches, and multiplies.
Results go to benchmarks/results/speed_proof.txt.
"""

import argparse
import os
import resource
import tracemalloc
from pathlib import Path
from time import process_time

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from tamis.panel import best_panels
from tamis.panel.forward import Choices
from tamis.panel.proof.fits import fit_panels
from tamis.panel.proof.problem import lay_out_fit
from tamis.panel.proof.prove import count_panels, prove

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "speed_proof.txt"
_SAMPLE = 2000
# Name, file, number of features, tolerance (None: 2 units of deviance; 0: the best one only).
PROBLEMS = [
    ("breast cancer", None, 3, None),
    ("breast cancer", None, 3, 0.01),
    ("breast cancer", None, 5, None),
    ("breast cancer", None, 8, None),
    ("wine", "libsvm/wine", 5, None),
    ("heart", "libsvm/heart", 5, None),
    ("german", "libsvm/german.numer", 5, None),
    ("sonar", "libsvm/sonar", 3, None),
    ("sonar", "libsvm/sonar", 5, None),
    ("ionosphere", "libsvm/ionosphere", 3, None),
    ("ionosphere", "libsvm/ionosphere", 5, None),
    ("generated", None, 5, None),
    ("singh", "genes/singh", 2, 0.0),
    ("singh", "genes/singh", 3, 0.0),
    ("chin", "genes/chin", 2, 0.0),
    ("chin", "genes/chin", 3, 0.0),
    ("digits", None, 5, 0.0),
]


def load(name, file, folder):
    """Features and class indices."""
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "generated":
        return generate()
    found = np.load(folder / f"{file}.npz", allow_pickle=True)
    return np.asarray(found["X"], dtype=float), np.unique(found["y"], return_inverse=True)[1]


def generate(n=100_000, p=60):
    """Correlated features, five of which matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8)) @ rng.normal(size=(8, p)) * 0.7 + rng.normal(size=(n, p))
    margin = X[:, [3, 11, 27, 40, 55]] @ np.array([0.5, -0.4, 0.35, 0.3, -0.25])
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)


def measure(X, y, k, tolerance, seconds):
    """Proof, its seconds, and the seconds that fitting all panels would take."""
    p, n_classes = X.shape[1], int(y.max()) + 1
    choices = Choices(np.arange(p), np.zeros(p, bool), np.ones(p), np.zeros(p, dtype=np.int64), p)
    start = process_time()
    problem = lay_out_fit(X, y, np.ones(y.size), n_classes, choices, 3.0, "balanced")
    n_panels = count_panels(problem, k)
    proof = prove(
        problem, k, tolerance=tolerance, report=lambda _: process_time() - start > seconds
    )
    used = process_time() - start
    rng = np.random.default_rng(0)
    size = int(min(_SAMPLE, 2e7 // (y.size * n_classes)))
    some = np.array([rng.choice(problem.n_groups, k, replace=False) for _ in range(size)])
    start = process_time()
    fit_panels(problem, some, float(proof.losses[0]))
    everything = (process_time() - start) / size * n_panels
    return proof, used, everything


def measure_memory(X, y, k):
    """Largest memory of a search, X included, in multiples of X."""
    tracemalloc.start()
    best_panels(X, y, k, max_seconds=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1 + peak / X.nbytes


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = Path(os.environ.get("TAMIS_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data, help="folder of the data sets")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each search")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("names", nargs="*", metavar="PROBLEM")
    options = parser.parse_args(arguments)
    lines = [
        f"{'problem':14} {'rows':>7} {'columns':>7} {'k':>2} {'within':>6} {'seconds':>8} "
        f"{'nodes':>6} {'fitted':>7} {'gap':>7} {'listed':>7} {'all/ours':>9}"
    ]
    print(lines[0])
    for name, file, k, tolerance in PROBLEMS:
        if options.names and name not in options.names:
            continue
        X, y = load(name, file, options.data)
        proof, used, everything = measure(X, y, k, tolerance, options.seconds)
        within = "dev 2" if tolerance is None else f"{100 * tolerance:g} %"
        gap = "proved" if proof.is_proved else f"{100 * proof.gap:.1f} %"
        listed = f"{len(proof.panels)}{'' if proof.is_complete else ' +'}"
        lines.append(
            f"{name:14} {X.shape[0]:7} {X.shape[1]:7} {k:2} {within:>6} {used:8.2f} "
            f"{proof.n_nodes:6} {proof.n_fitted:7} {gap:>7} {listed:>7} {everything / used:9.3g}"
        )
        print(lines[-1], flush=True)
    lines.append("within: of the best; listed +: there may be more. all/ours: how many times as")
    lines.append("long fitting all panels of the size takes (extrapolated from a sample).")
    lines.append(f"One thread, CPU seconds; searches were stopped after {options.seconds:g} s.")
    lines.append(
        f"Memory for the generated table: {measure_memory(*generate(), 5):.1f} times the table."
    )
    lines.append(
        "Largest memory of the whole run: "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB."
    )
    print(*lines[-5:], sep="\n")
    if not options.names:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
