"""How often each check fires without a reason.

    python benchmarks/false_alarms.py --data DIR --jobs 2

*Checks that look at labels.* Labels are permuted, so that no column can have anything to do with
them, and each check should fire in at most 1 % of the runs. Data are generated (wide noise with
few rows, counts that are mostly zero, categories, missing values) and, with a data folder, real
tables.

*Checks of the model* need a model that works. Columns are independent, classes differ in some of
them, and batches are dealt at random, so that no features repeat each other, more than those of
the model are not needed, and no batch differs. Whether probabilities are calibrated and
predictions are stable is known from 5,000 new rows: an alarm is false if the true slope is within
the limits of the check, and if two models of different samples differ in at most as many labels as
it allows.

Checks that do not look at labels are counted once per real table, by name.
"""

import argparse
import itertools
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from tamis import compare
from tamis.comparison.checks.model import _SLOPES, _UNSTABLE
from tamis.paths.temperature import fit_temperature

sys.path.append(str(Path(__file__).parent / "papers"))
from loaders import load_genes, load_libsvm

LOADERS = {"genes": load_genes, "libsvm": load_libsvm}
LABELLED = (
    "separating-column",
    "one-sided-column",
    "revealing-missingness",
    "revealing-category",
    "conflicting-labels",
    "folds-disagree",
)
REAL = (
    *("genes/breast_metabolomics", "genes/chowdary", "genes/ovarian", "genes/singh"),
    *("libsvm/australian", "libsvm/breast-cancer", "libsvm/diabetes", "libsvm/german.numer"),
    *("libsvm/heart", "libsvm/ionosphere", "libsvm/liver-disorders", "libsvm/sonar"),
    *("libsvm/splice", "libsvm/vehicle", "libsvm/vowel", "libsvm/wine", "raetsch/ringnorm"),
    *("raetsch/thyroid", "raetsch/twonorm", "uci/biodeg", "uci/cmc", "uci/iris", "uci/tae"),
    *("uci/indianliverpatient", "uci/parkinson", "uci/yeast"),
)
MAX_ROWS = 1500
OF_MODELS = (
    "redundant-panel",
    "edge-of-path",
    "miscalibration",
    "batch-effects",
    "unstable-predictions",
)
N_NEW = 5000
# Rows, columns, columns in which the classes differ, by how much, and classes.
SIGNALS = {
    "clear": (150, 20, 3, 2.0, 2),
    "moderate": (300, 30, 5, 0.8, 2),
    "three classes": (240, 20, 4, 1.2, 3),
}


def wide_noise(rng):
    """6 : 6 rows, where dozens of 22,215 columns separate the classes by chance."""
    return as_dataset(rng.normal(size=(12, 22_215)), np.arange(12) % 2)


def skewed_noise(rng):
    """Few rows of one class, heavy tails."""
    return as_dataset(rng.standard_cauchy(size=(60, 500)), np.arange(60) < 8)


def counts(rng):
    """Counts that are mostly zero, as words are."""
    return as_dataset(rng.poisson(0.03, size=(200, 1000)).astype(float), np.arange(200) % 4)


def categories(rng):
    """Categories, rare ones too."""
    columns = {}
    for j in range(30):
        shares = rng.dirichlet(np.full(12, 0.5))
        columns[f"c{j}"] = rng.choice([f"v{v}" for v in range(12)], 150, p=shares)
    return pd.DataFrame(columns), np.arange(150) % 2


def gaps(rng):
    """Missing values, columns with many and with few."""
    X = rng.normal(size=(120, 60))
    X[rng.random(X.shape) < np.linspace(0.01, 0.9, 60)] = np.nan
    return as_dataset(X, np.arange(120) % 3)


GENERATED = {
    "noise, 12 x 22,215": wide_noise,
    "heavy tails, 8 : 52": skewed_noise,
    "sparse counts, 4 classes": counts,
    "categories": categories,
    "missing values": gaps,
}


def as_dataset(X, y):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y


def load(name, data_home):
    """Some rows of a real table, of classes that have at least ten of them."""
    collection, own = name.split("/")
    if collection in LOADERS:
        data = LOADERS[collection](own, data_home)
        X, y = data.data, data.target.astype(str)
    else:
        with np.load(Path(data_home) / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["X"].astype(np.float64), file["y"].astype(str)
    rows = np.sort(np.random.default_rng(0).permutation(y.size)[:MAX_ROWS])
    common = np.isin(y[rows], [c for c in np.unique(y) if np.count_nonzero(y[rows] == c) >= 10])
    return as_dataset(X[rows[common]], y[rows[common]])


def codes_of(frame, y, seed=0, **options):
    options = {"methods": ("centers", "most-frequent"), **options}
    comparison = compare(frame, y, random_state=seed, n_jobs=1, **options)
    return comparison, {check.code for check in comparison.checks}


def labelled_alarms(name, data_home, seed):
    """Codes that fire on permuted labels."""
    rng = np.random.default_rng([seed, 7])
    frame, y = GENERATED[name](rng) if name in GENERATED else load(name, data_home)
    return codes_of(frame, rng.permutation(y), seed)[1]


def plain_alarms(name, data_home):
    """Codes that fire whatever the labels are."""
    found = codes_of(*load(name, data_home))[1]
    return found - {*LABELLED, *OF_MODELS, "chance", "few-events"}


def model_alarms(name, seed):
    """Codes that fire on a model that works, its true slope, and its labels of the new rows."""
    n_rows, n_columns, n_useful, gap, n_classes = SIGNALS[name]
    rng = np.random.default_rng([seed, 8])
    frame, y = draw_signal(rng, n_rows, n_columns, n_useful, gap, n_classes)
    comparison, codes = codes_of(
        frame,
        y,
        seed,
        methods=("centers", "panel", "most-frequent"),
        batches=rng.integers(3, size=n_rows),
    )
    new = np.random.default_rng(9)  # the same for all samples
    frame, y = draw_signal(new, N_NEW, n_columns, n_useful, gap, n_classes)
    probabilities = comparison.model.predict_proba(frame)
    logs = np.maximum(np.log(np.maximum(probabilities, 1e-300)), -50.0)
    slope = 1 / fit_temperature(logs, y, np.ones(N_NEW), np.inf)
    return codes, slope, comparison.model.predict(frame)


def draw_signal(rng, n_rows, n_columns, n_useful, gap, n_classes):
    """Independent columns; class c is `gap` further than class c - 1 in some of them."""
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :n_useful] += gap * y[:, None]
    return as_dataset(X, y)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TAMIS_DATA") or "../shared/data")
    parser.add_argument("--permutations", type=int, default=40, help="of every data set")
    parser.add_argument("--samples", type=int, default=60, help="with a signal, of every kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    real = [name for name in REAL if (Path(options.data) / f"{name}.npz").is_file()]
    if len(real) < len(REAL):
        absent = ", ".join(sorted(set(REAL) - set(real)))
        print(f"Not in the data folder {options.data}: {absent}.", file=sys.stderr)
    pool = Parallel(n_jobs=options.jobs)
    tasks = [(name, seed) for name in (*GENERATED, *real) for seed in range(options.permutations)]
    found = pool(delayed(labelled_alarms)(name, options.data, seed) for name, seed in tasks)
    samples = list(itertools.product(SIGNALS, range(options.samples)))
    models = pool(delayed(model_alarms)(*sample) for sample in samples)
    plain = {name: plain_alarms(name, options.data) for name in real}
    lines = write_report(tasks, found, plain)
    print("\n".join([*lines, *report_models(samples, models)]))
    return 0


def report_models(samples, models):
    """How often checks of models fire, and how often without a reason."""
    lines = [
        "",
        "## Checks of models",
        "",
        "Models of sparse centers and panels on data in which nothing is wrong. False alarms, of",
        "all samples: whatever fires is false, but for slopes and labels that are off in truth.",
        "",
        f"| check | {' | '.join(SIGNALS)} |",
        f"| --- |{' --- |' * len(SIGNALS)}",
    ]
    of_kind = {
        kind: [m for (k, _), m in zip(samples, models, strict=True) if k == kind]
        for kind in SIGNALS
    }
    differ = {
        kind: np.mean([(a[2] != b[2]).mean() for a, b in itertools.pairwise(found)] or [0.0])
        for kind, found in of_kind.items()
    }
    for code in OF_MODELS:
        cells = []
        for kind, found in of_kind.items():
            alarms = [slope for codes, slope, _ in found if code in codes]
            if code == "miscalibration":
                alarms = [slope for slope in alarms if _SLOPES[0] <= slope <= _SLOPES[1]]
            if code == "unstable-predictions" and differ[kind] > _UNSTABLE:
                cells.append(f"({len(alarms)} of {len(found)} fire, with reason)")
                continue
            cells.append(f"{len(alarms)} of {len(found)}")
        lines.append(f"| {code} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Labels of new rows in which models of two samples differ: "
        f"{', '.join(f'{kind} {100 * share:.1f} %' for kind, share in differ.items())}.",
    ]
    return lines


def write_report(tasks, found, plain):
    fired, where = Counter(), defaultdict(Counter)
    for (name, _), codes in zip(tasks, found, strict=True):
        for code in codes:
            fired[code] += 1
            where[code][name] += 1
    lines = [
        "# False alarms of the checks",
        "",
        f"{len(tasks)} runs with permuted labels, {len({name for name, _ in tasks})} data sets.",
        "",
        "| check | alarms | share | where |",
        "| --- | --- | --- | --- |",
    ]
    for code in LABELLED:
        names = ", ".join(f"{name} ({n})" for name, n in where[code].most_common(5))
        share = fired[code] / len(tasks)
        lines.append(f"| {code} | {fired[code]} | {100 * share:.2f} % | {names} |")
    lines.append("")
    lines.append(
        "Conflicting labels are no false alarms: permuting gives equal rows different labels."
    )
    lines.append("")
    lines.append(
        f"A score whose interval includes chance was noticed in "
        f"{100 * fired['chance'] / len(tasks):.1f} % of the runs."
    )
    if plain:
        lines += ["", "Checks that do not look at labels, on the real tables:", ""]
        lines += [f"- {name}: {', '.join(sorted(c))}" for name, c in plain.items() if c]
        lines.append(f"- none on the other {sum(not c for c in plain.values())}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
