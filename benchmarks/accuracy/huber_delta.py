"""Measure the `huber_delta` that suits the primal-dual path of `tamis fit`.

    python benchmarks/accuracy/huber_delta.py --data DIR

fits the path as `tamis fit` does: 20 radii of the l1 ball, tol=1e-3, balanced class weights; a
level of k features is the fullest model with at most k. Scores are balanced accuracies over five
inner folds of one half of each data set, at most 500 rows; the other half is not looked at. Data
sets alternate between two lists: the value is chosen on the first, the second checks it.

Every record is saved to huber_delta.json; an interrupted run resumes when you repeat the command.
The tables are printed and written to huber_delta.md.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from tamis import PrimalDualClassifier

sys.path.append(str(Path(__file__).parents[1] / "papers"))
from loaders import load_genes, load_libsvm

DELTAS = (0.05, 0.1, 0.25, 0.5, 1.0)
DEFAULT = 0.25
COUNTS = (1, 2, 3, 5, 8, 12, 20)
MAX_ROWS, N_FOLDS, N_RADII, MAX_FEATURES = 500, 5, 20, 500
# Without sets that hold the same rows as another, few features, mostly categories, or several
# rows of one person or molecule.
SETS = (
    *("genes/breast_metabolomics", "genes/chin", "genes/chowdary"),
    *("genes/ovarian", "genes/singh", "genes/zeisel"),
    *("libsvm/australian", "libsvm/breast-cancer", "libsvm/german.numer", "libsvm/heart"),
    *("libsvm/ionosphere", "libsvm/segment", "libsvm/sonar", "libsvm/splice"),
    *("libsvm/svmguide3", "libsvm/vehicle", "libsvm/vowel", "libsvm/wine"),
    *("raetsch/diabetis", "raetsch/ringnorm", "raetsch/twonorm", "raetsch/waveform"),
    *("uci/biodeg", "uci/cmc", "uci/drugconsumption", "uci/indianliverpatient"),
    *("uci/mlprove", "uci/optdigits", "uci/pageblocks", "uci/pendigits", "uci/yeast"),
)
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TAMIS_DATA") or "../shared/data")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--only", nargs="+", default=SETS, choices=SETS, metavar="SET")
    options = parser.parse_args(arguments)
    path = options.output / "huber_delta.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    try:
        with threadpool_limits(1):
            for name in options.only:
                measure_set(name, options.data, records, path)
    except FileNotFoundError as error:
        print(f"{error}\nName the data folder with --data DIR.", file=sys.stderr)
        return 2
    report = write_report(records, options.only)
    path.with_suffix(".md").write_text(report)
    print(report)
    return 0


def measure_set(name, data_home, records, path):
    """Add what is lacking of one data set to the records, and save them."""
    wanted = [delta for delta in DELTAS if f"{name} {delta:g}" not in records]
    if not wanted:
        return
    X, y = load_half(name, data_home)
    for delta in wanted:
        start = process_time()
        records[f"{name} {delta:g}"] = {
            "scores": measure(X, y, delta),
            "seconds": round(process_time() - start, 2),
        }
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(records).replace("}, ", "},\n") + "\n")
        draft.replace(path)  # in one move: an interruption leaves the old file
        print(f"{name}, delta {delta:g}: {process_time() - start:.1f} s", file=sys.stderr)


def load_half(name, data_home):
    """One half of a data set, at most `MAX_ROWS` rows."""
    collection, own = name.split("/")
    if collection in ("genes", "libsvm"):
        data = {"genes": load_genes, "libsvm": load_libsvm}[collection](own, data_home)
        X, y = data.data, data.target
    else:
        with np.load(Path(data_home) / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["X"].astype(np.float64), file["y"]
    common = np.isin(y, [c for c in np.unique(y) if np.count_nonzero(y == c) >= 4 * N_FOLDS])
    X, y = X[common], y[common]  # every class is in every fold
    size = min(y.size // 2, MAX_ROWS)
    rows, _ = train_test_split(np.arange(y.size), train_size=size, random_state=0, stratify=y)
    return X[rows], y[rows]


def measure(X, y, delta):
    """Mean balanced accuracy over the folds, for each number of features that there is."""
    counts = [k for k in COUNTS if k <= X.shape[1]]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
    scores = []
    for train, test in folds:
        predictions = predict_levels(X[train], y[train], X[test], delta, counts)
        scores.append([balanced_accuracy_score(y[test], found) for found in predictions])
    return np.mean(scores, axis=0).round(5).tolist()


def predict_levels(X, y, X_test, delta, counts):
    """Labels from the fullest model of the path with at most k features, for each k."""
    estimator = PrimalDualClassifier(
        ball="l1", huber_delta=delta, class_weight="balanced", tol=1e-3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gaps and collapses show in the scores
        path = estimator.fit_path(X, y, N_RADII, max_features=min(MAX_FEATURES, X.shape[1]))
        yield from path.classes[path.at_most(list(counts)).labels(X_test)]


def write_report(records, names):
    lines = [
        "# `huber_delta` on the primal-dual path of `tamis fit`",
        "",
        "Balanced accuracy at equal numbers of features, in percent, over five inner folds of",
        f"one half of each data set (at most {MAX_ROWS} rows). A data set counts once, with the",
        f"mean over its numbers of features. Differences are to {DEFAULT:g}, the default of",
        "`PrimalDualClassifier`, with their standard errors over data sets. Time is CPU time, the",
        f"geometric mean of ratios to {DEFAULT:g}. Made by `benchmarks/accuracy/huber_delta.py`.",
    ]
    for title, chosen in (("Data sets that choose", names[::2]), ("Check sets", names[1::2])):
        if chosen:
            lines += ["", f"## {title} ({len(chosen)})", "", *make_table(records, chosen)]
    lines += ["", "## All data sets", "", *make_details(records, names)]
    return "\n".join(lines) + "\n"


def make_table(records, names):
    """One row per delta."""
    heads = ["delta", *(f"k = {k}" for k in COUNTS), "mean", "difference", "time"]
    lines = [row_of(heads), row_of(["---"] * len(heads))]
    base = np.array([mean_score(records, name, DEFAULT) for name in names])
    for delta in DELTAS:
        own = [records[f"{name} {delta:g}"] for name in names]
        at = [
            [one["scores"][i] for one in own if len(one["scores"]) > i] for i in range(len(COUNTS))
        ]
        means = np.array([mean_score(records, name, delta) for name in names])
        gain = means - base
        error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.nan
        ratios = [
            one["seconds"] / records[f"{name} {DEFAULT:g}"]["seconds"]
            for one, name in zip(own, names, strict=True)
        ]
        lines.append(
            row_of(
                [
                    f"{delta:g}",
                    *(f"{100 * np.mean(scores):.2f}" if scores else "" for scores in at),
                    f"{100 * means.mean():.2f}",
                    "" if delta == DEFAULT else f"{100 * gain.mean():+.2f} ± {100 * error:.2f}",
                    f"{np.exp(np.mean(np.log(ratios))):.2f}",
                ]
            )
        )
    return lines


def make_details(records, names):
    """One row per data set."""
    heads = ["data set", *(f"delta {delta:g}" for delta in DELTAS), f"seconds at {DEFAULT:g}"]
    lines = [row_of(heads), row_of(["---"] * len(heads))]
    for name in names:
        scores = [f"{100 * mean_score(records, name, delta):.2f}" for delta in DELTAS]
        seconds = records[f"{name} {DEFAULT:g}"]["seconds"]
        lines.append(row_of([name, *scores, f"{seconds:.1f}"]))
    return lines


def mean_score(records, name, delta):
    return float(np.mean(records[f"{name} {delta:g}"]["scores"]))


def row_of(cells):
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
