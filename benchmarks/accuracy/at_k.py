"""Balanced accuracy at equal numbers of features: the panel and its rivals.

    make bench-accuracy
    python benchmarks/accuracy/at_k.py --data DIR --splits 10 --jobs 2

Every set is split several times into three quarters for training and one quarter for testing;
everything is selected, fitted and tuned on training rows. Selections of others get a
ridge-logistic head whose ridge is tuned, as their users would run them, and, in a second table,
the automatic head of the panel. Seconds are CPU seconds, those of selections and of heads apart.

Every split of a set is saved to at_k.json as it is done; an interrupted run resumes when you
repeat the command. Tables are written to at_k.md and the picture to at_k.png (`at_k_tables.py`).
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from time import process_time

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
import numpy as np
from at_k_data import LOCKED, SETS, default_data, load, split
from at_k_rivals import COUNTS, FEW, HEADS, METHODS, SELECTIONS, score
from at_k_tables import write_tables
from joblib import Parallel, delayed

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *LOCKED], metavar="SET")
    parser.add_argument(
        "--methods",
        nargs="+",
        default=[*METHODS, *SELECTIONS],
        choices=[*METHODS, *SELECTIONS],
        metavar="METHOD",
    )
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    parser.add_argument(
        "--locked", action="store_true", help="the sets for this release; results in `locked`"
    )
    options = parser.parse_args(arguments)
    sets = options.sets or (LOCKED if options.locked else SETS)
    if options.locked:
        options.output = options.output / "locked"
        options.output.mkdir(exist_ok=True)
    path = options.output / "at_k.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    if not options.tables:
        tasks = [
            (name, s, missing, records.get(f"{name} {s}", {}))
            for s in range(options.splits)
            for name in sets
            if (missing := _missing(options.methods, name, records.get(f"{name} {s}", {})))
        ]
        done = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
            delayed(run)(*task, options.data, options.splits) for task in tasks
        )
        for number, (key, found) in enumerate(done, 1):
            records.setdefault(key, {}).update(found)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(records, indent=0, sort_keys=True))
            part.replace(path)
            print(f"{number} of {len(tasks)}: {key}", file=sys.stderr, flush=True)
    write_tables(records, options.output)


def _missing(methods, name, record):
    """Methods that are run on a set and have no record, or not with every head."""
    known = [m for m in methods if m in record and (m in METHODS or _heads(record, m))]
    return [m for m in methods if m not in known and name in FEW.get(m, (name,))]


def _heads(record, method):
    """Whether a selection has scores with every head."""
    return HEADS.keys() <= record[method]["scores"].keys()


def _rounded(value):
    """Six digits of every number are enough."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def run(name, s, methods, known_record, data, n_splits):
    """Scores and seconds of some methods on one split of one set; those of known heads stay."""
    warnings.filterwarnings("ignore")
    X, y, groups = load(name, data)
    train, test = split(y, groups, n_splits)[s]
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    deviation[deviation == 0] = 1.0
    X = (X - mean) / deviation
    counts = [k for k in COUNTS if k < X.shape[1]]
    known, y_test = y[train], y[test]
    found = {}
    for method in methods:
        began = process_time()
        if method in METHODS:
            some = None if groups is None else groups[train]
            labels = METHODS[method](X[train], known, X[test], counts, some)
            seconds = process_time() - began
            scores = {k: score(y_test, label) for k, label in labels.items()}
            found[method] = {"scores": {"own": scores}, "seconds": {"all": seconds}}
            continue
        chosen = SELECTIONS[method](X[train], known, counts)
        before = known_record.get(method, {"scores": {}, "seconds": {}})
        found[method] = {"scores": {**before["scores"]}, "seconds": {**before["seconds"]}}
        found[method]["seconds"]["selection"] = process_time() - began
        for head, predict in HEADS.items():
            if head in before["scores"]:
                continue
            began = process_time()
            labels = {
                k: predict(X[train][:, columns], known, X[test][:, columns])
                for k, columns in chosen.items()
                if columns.size
            }
            found[method]["seconds"][head] = process_time() - began
            found[method]["scores"][head] = {k: score(y_test, v) for k, v in labels.items()}
    shape = {"rows": int(train.size), "columns": X.shape[1], "classes": int(y.max()) + 1}
    shape["test"] = int(np.size(test))
    return f"{name} {s}", _rounded(json.loads(json.dumps({**found, "shape": shape})))


if __name__ == "__main__":
    main()
