"""Which features do forward steps choose, by which loss and which ridge? On tuning sets alone.

    python benchmarks/accuracy/selection.py --data DIR

Every way to select gets the same head, linear discriminant analysis (and, in a second column, a
kernel of one width and one ridge), so that only the features differ. The material: splits of the
sets of `at_k_data.TUNED`; small parts of them, some with labels changed at random, judged on the
rest; and simulated data with weak signals in many correlated features, in few columns of few
values, and with copies. The sets kept apart are not read.

Every task is saved to selection.json as it is done; an interrupted run resumes when you repeat the
command. The table is printed and written to selection.md.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
import numpy as np
from at_k_data import TUNED, default_data, load, split
from at_k_rivals import SELECTIONS as RIVALS
from at_k_rivals import balanced, score
from selection_steps import WAYS, Data

from tamis.heads import fit_kernel, fit_lda

COUNTS, MEAN_OVER = (1, 2, 3, 5, 8, 12), (2, 3, 5, 8, 12)
N_FULL, N_SMALL, MOST_TESTED = 2, 3, 1_500
REFERENCE = "before: ridge 3, classes apart"
PEERS = ("Logistic-RFE", "relaxed l1", "abess", "ANOVA")
# Set, two of its classes (None: all), training rows, share of labels drawn anew.
SMALL = {
    "chin": ("genes/chin", None, 75, 0.0),
    "chin, labels": ("genes/chin", None, 85, 0.25),
    "ovarian": ("genes/ovarian", None, 60, 0.0),
    "ovarian, labels": ("genes/ovarian", None, 100, 0.35),
    "zeisel 4 5": ("genes/zeisel", (4, 5), 80, 0.0),
    "zeisel 4 5, labels": ("genes/zeisel", (4, 5), 120, 0.3),
    "zeisel 0 2, labels": ("genes/zeisel", (0, 2), 80, 0.3),
    "biodeg": ("uci/biodeg", None, 100, 0.0),
    "cmc 0 2": ("uci/cmc", (0, 2), 150, 0.0),
    "mlprove 0 5": ("uci/mlprove", (0, 5), 120, 0.0),
    "mlprove 2 4": ("uci/mlprove", (2, 4), 150, 0.0),
    "optdigits 3 8, labels": ("uci/optdigits", (3, 8), 80, 0.2),
    "yeast 0 6": ("uci/yeast", (0, 6), 120, 0.0),
    "waveform, labels": ("raetsch/waveform", None, 80, 0.2),
    "ringnorm": ("raetsch/ringnorm", None, 100, 0.0),
}
SIMULATED = ("factors", "spread", "few values", "independent", "heavy tails", "copies")
# One split is enough of the set that takes longest.
LONG = "genes/zeisel"
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--ways", nargs="+", default=[*PEERS, *WAYS], metavar="WAY")
    parser.add_argument("--only", help="tasks whose name begins so")
    options = parser.parse_args(arguments)
    path = options.output / "selection.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    for kind, name, seed in tasks():
        key = f"{kind}: {name} {seed}"
        known = records.get(key, {})
        missing = [way for way in options.ways if way not in known]
        if not missing or (options.only and not key.startswith(options.only)):
            continue
        records[key] = {**known, **measure(*make(kind, name, seed, options.data), missing)}
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(records, indent=0, sort_keys=True))
        draft.replace(path)
        print(key, file=sys.stderr, flush=True)
    report = tabulate(records)
    path.with_suffix(".md").write_text(report)
    print(report)


def tasks():
    """Kind, name and seed of every task."""
    found = []
    for seed in range(N_SMALL):
        found += [("part", name, seed) for name in SMALL]
        found += [("simulated", name, seed) for name in SIMULATED]
    return found + [("set", n, s) for s in range(N_FULL) for n in TUNED if s == 0 or n != LONG]


def make(kind, name, seed, data):
    """Standardised training samples, their classes, test samples and their classes."""
    if kind == "set":
        X, y, groups = load(name, data)
        train, test = split(y, groups, N_FULL)[seed]
    else:
        X, y, n = _part(name, seed, data) if kind == "part" else simulate(name, seed)
        train, test = np.arange(n), np.arange(n, min(n + MOST_TESTED, y.size))
    varying = X[train].std(axis=0) > 0
    Z = (X[:, varying] - X[train][:, varying].mean(axis=0)) / X[train][:, varying].std(axis=0)
    return Z[train], y[train], Z[test], y[test]


def _part(name, seed, data):
    set_, classes, n, share = SMALL[name]
    X, y, _ = load(set_, data)
    if classes:
        rows = np.isin(y, classes)
        X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
    rng = np.random.default_rng(1_000 + seed)
    order = rng.permutation(y.size)
    X, y = X[order], y[order]
    drawn = rng.random(y.size) < share
    y[drawn] = rng.integers(0, y.max() + 1, drawn.sum())
    return X, y, n


def simulate(name, seed):
    """Samples, two classes, and how many rows are for training; 1,000 others are for tests."""
    rng = np.random.default_rng(77 + seed)
    n = {"factors": 100, "spread": 120, "few values": 160, "independent": 80, "copies": 100}
    n = n.get(name, 90)
    rows = n + 1_000
    y = rng.integers(0, 2, rows)
    shift = y[:, None] - 0.5
    noise = lambda p: rng.normal(size=(rows, p))  # noqa: E731
    if name == "factors":
        hidden = noise(20)
        hidden[:, :6] += shift * np.array([0.9, 0.8, 0.6, 0.6, 0.5, 0.4])
        loadings = rng.normal(0, 0.15, (20, 2_000))
        loadings[rng.integers(0, 20, 2_000), np.arange(2_000)] += rng.uniform(0.3, 0.9, 2_000)
        X = hidden @ loadings + 0.8 * noise(2_000)
    elif name == "spread":
        X = 0.6 * np.repeat(noise(300), 10, axis=1) + 0.8 * noise(3_000)
        X[:, :300] += shift * rng.uniform(0, 0.7, 300)
    elif name == "few values":
        shared = np.linalg.cholesky(0.35 + 0.65 * np.eye(10))
        hidden = noise(10) @ shared.T
        cuts = [np.sort(rng.normal(size=1 + j % 3)) for j in range(10)]
        X = np.column_stack([np.digitize(hidden[:, j], cuts[j]) for j in range(10)]).astype(float)
        odds = X @ np.array([1.0, 0, 0.5, 0, 0.8, -0.7, 0, 0.6, 0.5, 0])
        odds = 1.2 * (odds - odds.mean()) / odds.std()
        y = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)
    elif name == "independent":
        X = noise(2_000)
        X[:, :40] += 0.6 * shift
    elif name == "copies":
        hidden = noise(8) + shift * np.array([1.6, 1.2, 0.9, 0.7, 0.5, 0.4, 0.3, 0.0])
        X = np.column_stack([np.repeat(hidden, 6, axis=1) + 0.15 * noise(48), noise(10)])
    else:
        X = 0.7 * np.repeat(noise(100), 30, axis=1) + 0.7 * rng.standard_t(3, (rows, 3_000))
        X[:, :240] += shift * rng.uniform(0.2, 0.8, 240)
        X = np.sinh(X / 2)
    return X, y, n


def measure(X, y, X_test, y_test, ways):
    """Scores of both heads for each way and number of features."""
    warnings.filterwarnings("ignore")
    data, found, known = Data(X, y), {}, {}
    counts = [k for k in COUNTS if k < X.shape[1]]
    for way in ways:
        chosen = RIVALS[way](X, y, counts) if way in PEERS else WAYS[way](data)
        found[way] = {}
        for k in counts:
            columns = chosen.get(k, []) if isinstance(chosen, dict) else chosen[:k]
            columns = np.sort(columns)
            if len(columns):
                key = columns.tobytes()
                if key not in known:
                    known[key] = judge(X[:, columns], y, X_test[:, columns], y_test)
                found[way][str(k)] = known[key]
    return found


def judge(X, y, X_test, y_test):
    """Balanced accuracy of linear discriminant analysis and of a kernel, in percent."""
    n_classes = int(y.max()) + 1
    linear = fit_lda(X, y, np.ones(y.size), np.full(n_classes, 1 / n_classes))
    rng, most = np.random.default_rng(0), max(2, 200 // n_classes)
    landmarks = [rng.permutation(np.flatnonzero(y == c))[:most] for c in range(n_classes)]
    landmarks = np.concatenate(landmarks) if y.size > 200 else np.arange(y.size)
    kernel = fit_kernel(X, y, balanced(y), n_classes, [(1.0, 1.0)], landmarks)[0]
    heads = (linear, kernel)
    return [round(100 * score(y_test, h.decisions(X_test).argmax(axis=1)), 3) for h in heads]


def gains(records, way, head):
    """{kind: gains over the reference, one per set}: the mean over counts and seeds."""
    found = {}
    for key, record in records.items():
        kind, name = key.rsplit(" ", 1)[0].split(": ")
        if way in record and REFERENCE in record:
            own, reference = record[way], record[REFERENCE]
            both = [str(k) for k in MEAN_OVER if str(k) in own and str(k) in reference]
            gain = np.mean([own[k][head] - reference[k][head] for k in both])
            found.setdefault(kind, {}).setdefault(name, []).append(gain)
    return {k: np.array([np.mean(v) for v in sets.values()]) for k, sets in found.items()}


def tabulate(records):
    """The table."""
    lines = [
        "# Which features forward steps choose",
        "",
        f"Gains over the forward steps before ({REFERENCE.split(': ')[1]}), in points of balanced "
        "accuracy: means over 2, 3, 5, 8 and 12 features and over seeds, then over sets; standard "
        "errors over sets in brackets. Every way has the same head. Tuning sets, parts of them, "
        "and simulated data only. Made by `benchmarks/accuracy/selection.py`.",
        "",
        "| way | all: linear head | kernel | small parts | simulated | whole sets | worst set |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    ways = list(dict.fromkeys(way for record in records.values() for way in record))
    order = [way for way in [*PEERS, *WAYS] if way in ways]
    for way in order:
        of_kind, kernel = gains(records, way, 0), gains(records, way, 1)
        every = np.concatenate(list(of_kind.values()))
        cells = [every, np.concatenate(list(kernel.values()))]
        cells += [of_kind.get(kind, np.empty(0)) for kind in ("part", "simulated", "set")]
        shown = " | ".join(_with_error(cell) for cell in cells)
        lines.append(f"| {way} | {shown} | {every.min():+.1f} |")
    n_sets = sum(cell.size for cell in gains(records, REFERENCE, 0).values())
    lines += ["", f"{n_sets} sets or designs, {len(records)} tasks.", ""]
    return "\n".join(lines)


def _with_error(values):
    if values.size < 2:
        return "-"
    return f"{values.mean():+.2f} ({values.std(ddof=1) / np.sqrt(values.size):.2f})"


if __name__ == "__main__":
    main()
