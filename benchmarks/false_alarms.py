"""How often each check of the data fires without a reason.

    python benchmarks/false_alarms.py --data DIR

Labels are permuted, so that no column can have anything to do with them, and each check that looks
at labels should fire in at most 1 % of the runs. Data are generated (wide noise with few rows,
counts that are mostly zero, categories, missing values) and, with a data folder, real tables.
Checks that do not look at labels are counted once per real table, by name.
"""

import argparse
import itertools
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from tamis.comparison.checks import check_columns, check_leaks, check_result, check_rows
from tamis.comparison.checks.near_copies import split_columns
from tamis.comparison.prepare import find_disguised, handle_duplicates, make_problem
from tamis.comparison.run import plan, run
from tamis.comparison.settings import Settings
from tamis.tables import Columns, Table, lay_out

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
        columns[f"c{j}"] = rng.choice([f"v{v}" for v in range(12)], 150, p=shares).astype(object)
    table = Columns(np.zeros((150, 0)), np.array([], dtype=str), columns)
    return Table(table, dict.fromkeys(columns, "categorical"), np.arange(150) % 2, "y")


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
    return Table(Columns(X, np.array([f"x{j}" for j in range(X.shape[1])])), {}, y, "y")


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


def labelled_alarms(name, data_home, seed):
    """Codes that fire on permuted labels."""
    rng = np.random.default_rng([seed, 7])
    dataset = GENERATED[name](rng) if name in GENERATED else load(name, data_home)
    dataset.y = rng.permutation(dataset.y)
    ignored = [*itertools.chain(*find_disguised(dataset.columns))]
    _, copies, _ = handle_duplicates(dataset, ignored=ignored)
    problem = make_problem(dataset, *lay_out(dataset.columns, dataset.kinds), copies=copies)
    checks = check_leaks(dataset.columns, problem)
    # Copies with other labels are a reason to fire: permuting makes them.
    if copies.groups is None:
        measured = split_columns(dataset.columns, problem.preparation, problem.encoded)
        checks += check_rows(copies, problem.codes, *measured, "group")
    comparison = run(problem, plan(problem, Settings(("centers", "most-frequent"), seed=seed)))
    checks += check_result(comparison)
    return {check.code for check in checks}


def plain_alarms(name, data_home):
    """Codes that fire whatever the labels are."""
    dataset = load(name, data_home)
    times, counters = find_disguised(dataset.columns)
    _, copies, _ = handle_duplicates(dataset, ignored=[*times, *counters])
    measured = split_columns(dataset.columns, *lay_out(dataset.columns, dataset.kinds))
    codes = np.unique(dataset.y, return_inverse=True)[1]
    checks = check_columns(dataset.columns, times, counters)
    checks += check_rows(copies, codes, *measured, "group", groups=copies.groups)
    return {check.code for check in checks} - set(LABELLED)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TAMIS_DATA") or "../shared/data")
    parser.add_argument("--permutations", type=int, default=40, help="of every data set")
    parser.add_argument("--n-jobs", type=int, default=-1)
    options = parser.parse_args(arguments)
    real = [name for name in REAL if (Path(options.data) / f"{name}.npz").is_file()]
    if len(real) < len(REAL):
        absent = ", ".join(sorted(set(REAL) - set(real)))
        print(f"Not in the data folder {options.data}: {absent}.", file=sys.stderr)
    tasks = [(name, seed) for name in (*GENERATED, *real) for seed in range(options.permutations)]
    found = Parallel(n_jobs=options.n_jobs)(
        delayed(labelled_alarms)(name, options.data, seed) for name, seed in tasks
    )
    print("\n".join(write_report(tasks, found, {n: plain_alarms(n, options.data) for n in real})))
    return 0


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
