"""How long it takes to prove the best panel of a squared loss, beside OKRidge.

    python -m venv OKRIDGE && OKRIDGE/bin/pip install okridge requests
    python benchmarks/speed/proof_okridge.py --peer OKRIDGE/bin/python [--seconds 30] [NAME ...]

OKRidge needs an older numpy than tamis, hence an environment of its own, and requests, which it
does not declare. Panels are fitted with a logistic loss; here, and only here, `squared_look` takes
its place. Both solvers get the same standardised columns, target, ridge, gap and limit, on one
thread; CPU seconds. tamis runs three times:

- rows: on the rows, as it does with the logistic loss;
- reduced: with what a squared loss allows and OKRidge does too: as many rows as columns, with the
  same products, and the smallest eigenvalue joins the ridge;
- all: reduced, with all columns in the relaxation of a node instead of at most `MOST_LISTED`.

Before that, small problems are checked against all panels. Results go to
benchmarks/results/speed_proof_okridge.txt.
"""

import argparse
import cProfile
import itertools
import os
import pstats
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import NamedTuple

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

# ruff: noqa: E402
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from tamis.panel.proof import fits, nodes, search
from tamis.panel.proof.duals import DualPoints
from tamis.panel.proof.problem import FitProblem
from tamis.panel.proof.prove import prove

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "speed_proof_okridge.txt"
PEER = Path(__file__).with_name("okridge_peer.py")
INSTALL = (
    "OKRidge is not installed in {}. It needs an environment of its own:\n"
    "    python -m venv OKRIDGE && OKRIDGE/bin/pip install okridge requests\n"
    "    python benchmarks/speed/proof_okridge.py --peer OKRIDGE/bin/python"
)
GAP = 1e-4
WAYS = ("rows", "reduced", "all")
_MOST_LISTED = nodes.MOST_LISTED
# Both say the same of a panel up to this, relative to the loss without any feature.
_SAME = 1e-6
# Seconds of a search that is profiled.
_PROFILED = 5.0
# Name, rows, columns (None: a data set), correlation of neighbours, noise over signal, k.
PROBLEMS = [
    ("breast cancer", None, None, None, None, 3),
    ("breast cancer", None, None, None, None, 5),
    ("breast cancer", None, None, None, None, 8),
    ("wine", None, None, None, None, 5),
    ("generated", 270, 30, 0.5, 0.5, 5),
    ("generated", 200, 60, 0.9, 1.0, 3),
    ("generated", 500, 100, 0.9, 1.0, 5),
    ("generated", 1000, 100, 0.8, 0.5, 5),
    ("generated", 2000, 150, 0.5, 0.5, 10),
    ("generated", 5000, 200, 0.9, 1.0, 10),
]


class Answer(NamedTuple):
    """What a solver says: of half the squared residuals and half the ridge, and of the search."""

    panel: np.ndarray
    loss: float
    gap: float
    seconds: float
    nodes: int


def load(name, n, p, correlation, noise, k):
    """Standardised columns and target."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "wine":
        X, y = load_wine(return_X_y=True)
        y = y == 0
    else:
        X, y = generate(n, p, correlation, noise, k)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return X - X.mean(axis=0), y - y.mean()


def generate(n, p, correlation, noise, k, seed=0):
    """Columns correlated with their neighbours, k of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    return X, signal + rng.normal(size=n) * signal.std() * noise


def squared_look(problem, margins):
    """What `tamis.panel.proof.duals.look` says, of half the squared residuals.

    Targets are moved by 1/2, so that the intercept of the null model is 0. The conjugate of a
    row's loss is ``r y - r**2 / 2`` at its residual r; a dual is repaired by what the intercept
    would still take from it.
    """
    y, weights, ones = problem.targets - 0.5, problem.weights, problem.columns[problem.always[-1]]
    residual = y - margins
    loss = 0.5 * (residual**2 @ weights).sum(axis=1)
    weighed = ones * weights
    repaired = residual - (residual @ weighed / (ones @ weighed))[..., None] * ones
    conjugate = ((repaired * (y - 0.5 * repaired)) @ weights).sum(axis=1)
    curvature = np.broadcast_to(weights, margins.shape)
    return DualPoints(loss, conjugate, residual * weights, repaired * weights, curvature)


def lay_out(X, y, ones, ridge):
    """The problem of single columns, without kept ones."""
    n, p = X.shape
    return FitProblem(
        columns=np.vstack([X.T, ones, np.zeros(n)]),
        table=np.arange(p)[:, None],
        starts=np.arange(p + 1),
        always=np.array([p]),
        targets=y[None] + 0.5,
        weights=np.ones(n),
        ridge=ridge,
        set_of=np.zeros(p, dtype=np.int64),
        room=np.array([p]),
        twin=np.arange(p),
        groups=np.arange(p),
    )


def reduce_rows(X, y, ridge):
    """Rows with the same products as X and y, less what joins the ridge, and the new ridge.

    The last row is that of the intercept alone; its target makes the mean 0.
    """
    values, vectors = np.linalg.eigh(X.T @ X)
    moved = 0.999 * values[0] if values[0] > 1e-6 * values[-1] else 0.0
    root = np.sqrt(np.maximum(values - moved, 0.0))
    able = root > 1e-7 * root[-1]
    rows, target = root[able, None] * vectors.T[able], vectors.T[able] @ (X.T @ y) / root[able]
    ones = np.append(np.zeros(target.size), 1.0)
    return (
        np.vstack([rows, np.zeros(len(vectors))]),
        np.append(target, -target.sum()),
        ones,
        ridge + moved,
    )


def run_tamis(X, y, k, ridge, gap, seconds, way):
    """tamis with the squared loss, in one of `WAYS`."""
    search.MOST_LISTED = nodes.MOST_LISTED = X.shape[1] if way == "all" else _MOST_LISTED
    start = process_time()
    if way != "rows":
        rows, target, ones, new_ridge = reduce_rows(X, y, ridge)
        null = 0.5 * float(target[:-1] @ target[:-1])
    else:
        rows, target, ones, new_ridge = X, y, np.ones(len(y)), ridge
        null = 0.5 * float(y @ y)

    def is_over(progress):
        small = progress.best - progress.lower_bound <= gap * (null - progress.best)
        return small or process_time() - start > seconds

    proof = prove(lay_out(rows, target, ones, new_ridge), k, tolerance=0.0, report=is_over)
    used = process_time() - start
    best = float(proof.losses[0])
    rest = max(0.0, best - proof.lower_bound) / (null - best)
    loss = best + 0.5 * float(y @ y) - null
    return Answer(proof.panels[0], loss, rest, used, proof.n_nodes)


def run_peer(python, X, y, k, ridge, gap, seconds):
    """OKRidge, whose loss is twice ours less that without features."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "answer.npz")
        np.savez(source, X=X, y=y, k=k, ridge=ridge, gap=gap, seconds=seconds)
        subprocess.run([python, PEER, source, target], check=True)
        found = dict(np.load(target))
    loss = 0.5 * float(y @ y + found["loss"])
    panel = np.flatnonzero(found["coef"])
    return Answer(panel, loss, float(found["gap"]), float(found["seconds"]), int(found["nodes"]))


def loss_of(X, y, panel, ridge):
    """Loss of a panel, from its normal equations."""
    some = X[:, panel]
    coef = np.linalg.solve(some.T @ some + ridge * np.eye(len(panel)), some.T @ y)
    return 0.5 * float(y @ y - y @ some @ coef)


def check_small():
    """Compare the best panels of small problems with those of all panels; returns how many."""
    count = 0
    for seed, (p, k), ridge, way in itertools.product(
        range(5), [(8, 2), (10, 3), (12, 4)], [0.1, 3.0], WAYS
    ):
        X, y = generate(60, p, 0.8, 2.0, k, seed)
        X, y = X - X.mean(axis=0), (y - y.mean()) / y.std()
        panels = list(itertools.combinations(range(p), k))
        losses = [loss_of(X, y, list(panel), ridge) for panel in panels]
        found = run_tamis(X, y, k, ridge, 0.0, np.inf, way)
        if tuple(found.panel) != panels[int(np.argmin(losses))]:
            raise RuntimeError(f"{found.panel} is not the best panel of {p}, {k}, {seed}.")
        if not np.isclose(found.loss, min(losses), rtol=1e-9):
            raise RuntimeError(f"{found.loss} is not the loss {min(losses)}.")
        count += 1
    return count


def check_answers(X, y, ridge, gap, answers):
    """Check losses against panels and bounds against losses; returns whether all losses agree."""
    null = 0.5 * float(y @ y)
    for answer in answers:
        if abs(answer.loss - loss_of(X, y, answer.panel, ridge)) > _SAME * null:
            raise RuntimeError("A solver's loss is not that of its panel.")
    losses = [answer.loss for answer in answers]
    for answer in answers:
        bound = answer.loss - max(answer.gap, gap) * (null - answer.loss)
        if bound > min(losses) + _SAME * null:
            raise RuntimeError("A solver's bound is above the loss that another one found.")
    return max(losses) - min(losses) <= _SAME * null


def profile(X, y, k, ridge, way):
    """The functions of tamis in which the time goes, with their shares."""
    recorder = cProfile.Profile()
    recorder.enable()
    run_tamis(X, y, k, ridge, GAP, _PROFILED, way)
    recorder.disable()
    stats = pstats.Stats(recorder)
    inside = sorted(
        ((own, calls, name) for (_, _, name), (_, calls, own, _, _) in stats.stats.items()),
        reverse=True,
    )
    return [
        f"  {100 * own / stats.total_tt:5.1f} % {calls:8} calls {name}"
        for own, calls, name in inside[:8]
    ]


def has_okridge(python):
    """Whether an interpreter has OKRidge."""
    found = subprocess.run([python, "-c", "import okridge.tree"], capture_output=True)
    return found.returncode == 0


def geometric_mean(ratios):
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", default=sys.executable, help="interpreter that has OKRidge")
    parser.add_argument("--ridge", type=float, default=3.0)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of each search")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    if not has_okridge(options.peer):
        parser.exit(1, INSTALL.format(options.peer) + "\n")
    search.look = fits.look = squared_look
    lines = [f"{check_small()} small problems: the same best panel as among all panels."]
    lines.append(
        f"{'problem':14} {'rows':>5} {'columns':>7} {'k':>2} "
        + "".join(
            f"| {name + ' s':>9} {'nodes':>6} {'ms/node':>7} {'gap':>7} "
            for name in ("OKRidge", *WAYS)
        )
        + "| "
        + "".join(f"{'OKR/' + way:>11} " for way in WAYS)
        + "same loss"
    )
    print("\n".join(lines))
    ratios, problems = [], []
    for problem in PROBLEMS:
        name, k = problem[0], problem[-1]
        if options.names and name not in options.names:
            continue
        X, y = load(*problem)
        given = (k, options.ridge, GAP, options.seconds)
        answers = [run_peer(options.peer, X, y, *given)]
        answers += [run_tamis(X, y, *given, way) for way in WAYS]
        is_same = check_answers(X, y, options.ridge, GAP, answers)
        ratio = [answers[0].seconds / answer.seconds for answer in answers[1:]]
        ratios.append(ratio)
        problems.append((name, X, y, k))
        lines.append(
            f"{name:14} {X.shape[0]:5} {X.shape[1]:7} {k:2} "
            + "".join(
                f"| {a.seconds:9.3f} {a.nodes:6} {1e3 * a.seconds / max(a.nodes, 1):7.2f} "
                f"{a.gap:7.1e} "
                for a in answers
            )
            + "| "
            + "".join(f"{r:11.2f} " for r in ratio)
            + ("yes" if is_same else "no")
        )
        print(lines[-1], flush=True)
    means = (geometric_mean(column) for column in zip(*ratios, strict=True))
    of_ways = ", ".join(f"{way} {mean:.2f}" for way, mean in zip(WAYS, means, strict=True))
    notes = [
        f"Geometric mean of OKRidge's seconds over ours: {of_ways}.",
        f"Ridge {options.ridge:g}; gap {GAP:g}, of what the panel explains, as OKRidge has it.",
        f"Searches were stopped after {options.seconds:g} s. One thread, CPU seconds; "
        "those of a search",
        "that was stopped count as they are. same loss: up to 1e-6 of that without features.",
    ]
    for i, way in enumerate(WAYS):
        name, X, y, k = problems[int(np.argmin([ratio[i] for ratio in ratios]))]
        size = f"{X.shape[0]} x {X.shape[1]}, k = {k}"
        notes.append(f"Where {way} spends its time in its worst problem, {name} {size}:")
        notes += profile(X, y, k, options.ridge, way)
    print("\n".join(notes))
    if not options.names:
        options.output.write_text("\n".join(lines + notes) + "\n")


if __name__ == "__main__":
    main()
