"""Rules that choose a size, judged on rows that nothing else looks at: loss against features.

    python benchmarks/accuracy/rules.py store --data DIR --store STORE
    python benchmarks/accuracy/rules.py judge --store STORE

`store` draws training rows from the sets for tuning and from generated data, cross-validates the
quickest methods on them as `tamis fit` does, and keeps for every method and size: which rows are
predicted right out of fold, the number of features, and the balanced accuracy on the other rows,
of the model that is trained on all training rows. It does the same for halves of breast cancer
(scikit-learn), to see how stable the number of features is. With few rows, only the largest
classes are used, as many as have enough rows. A draw of all sets takes minutes; an interrupted run
resumes when you repeat the command. `judge` takes seconds: it applies every rule of `RULES` to
what is stored, and writes rules.json and rules.md.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
import numpy as np
from at_k_data import TUNED, default_data, load
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from tamis.comparison.choosing.choice import Candidates
from tamis.comparison.choosing.results import collect
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.prepare import make_problem
from tamis.comparison.run import plan
from tamis.comparison.running.tasks import Task, run_tasks
from tamis.comparison.settings import Settings
from tamis.paths.folds import Fold, default_repeats
from tamis.paths.rule import TOLERANCE, Counted, Neighbours, best_of
from tamis.tables import Columns, Table, lay_out

METHODS = ("centers", "panel", "medians", "l1-logistic", "relaxed-l1")  # the quickest
N_ROWS = (30, 60, 120, 240)
_FEWEST, _MOST_TEST = 6, 4_000
# Generated sets of two classes: features, those that differ, by how many standard deviations, and
# the correlation between features.
GENERATED = {
    "made/few": (50, 5, 0.8, 0.0),
    "made/one": (200, 1, 2.0, 0.0),
    "made/many weak": (200, 40, 0.3, 0.0),
    "made/correlated": (500, 50, 0.5, 0.7),
}
# Three of thirty features decide together: fewer are much worse, and more are of no use.
SUM = "made/sum of three"
# A set of scikit-learn whose halves show how stable the recommended number of features is.
HALVED, N_HALF, N_HALVINGS = "breast cancer", 284, 20
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("store", "judge"))
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--store", type=Path, required=True, help="folder of what is stored")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--draws", type=int, default=4, help="draws of training rows")
    options = parser.parse_args(arguments)
    if options.what == "store":
        store_all(options)
    else:
        judge_all(options)


def store_all(options):
    """Store everything that is not stored yet."""
    warnings.filterwarnings("ignore")
    options.store.mkdir(parents=True, exist_ok=True)
    for name, n_rows, draw in cells(options.draws):
        file = options.store / f"{name.replace('/', '+')} {n_rows} {draw}.npz"
        if file.is_file():
            continue
        start, rows = time.process_time(), rows_of(name, n_rows, draw, options.data)
        if rows is None:  # too few are left
            continue
        found = measure(*rows, draw)
        part = file.with_suffix(".part")
        with part.open("wb") as stream:
            np.savez_compressed(stream, **found)
        part.replace(file)
        seconds = time.process_time() - start
        print(f"{file.stem}: {seconds:.0f} s", file=sys.stderr, flush=True)


def cells(n_draws):
    """Set, number of training rows and draw of everything that is stored."""
    yield from ((HALVED, N_HALF, draw) for draw in range(N_HALVINGS))
    for draw in range(n_draws):
        for n_rows in N_ROWS:
            yield from ((name, n_rows, draw) for name in (*TUNED, *GENERATED, SUM))


def rows_of(name, n_rows, draw, data):
    """Training rows and other rows of a set, with class indices."""
    if name == SUM:
        rng = np.random.default_rng([draw, n_rows])
        X = rng.normal(size=(n_rows + _MOST_TEST, 30))
        y = (X[:, :3].sum(axis=1) > 0).astype(np.int64)
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
    if name in GENERATED:
        n_features, n_true, shift, correlation = GENERATED[name]
        rng = np.random.default_rng([draw, n_rows, sorted(GENERATED).index(name)])
        y = np.arange(n_rows + _MOST_TEST) % 2
        X = np.sqrt(1 - correlation) * rng.normal(size=(y.size, n_features))
        X += np.sqrt(correlation) * rng.normal(size=(y.size, 1))
        X[:, :n_true] += shift * y[:, None]
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
    X, y = load_breast_cancer(return_X_y=True) if name == HALVED else load(name, data)[:2]
    # As many of the largest classes as have enough rows, at least two.
    counts = np.sort(np.bincount(y))[::-1]
    enough = counts / np.cumsum(counts) * n_rows >= _FEWEST
    n_kept = max(2, np.count_nonzero(enough))
    largest = np.argsort(-np.bincount(y), kind="stable")[:n_kept]
    kept = np.isin(y, largest)
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    if n_rows > 0.8 * y.size:
        return None
    rows = np.arange(y.size)
    train, test = train_test_split(rows, train_size=n_rows, stratify=y, random_state=draw)
    return X[train], y[train], X[test], y[test]


def measure(X, y, X_test, y_test, draw):
    """What is stored of one draw."""
    problem, whole = problem_of(X, y), problem_of(np.vstack([X, X_test]), np.append(y, y_test))
    settings = Settings(METHODS, n_repeats=default_repeats(problem.n_rows), seed=draw)
    planned = plan(problem, settings)
    tasks = [t for t in planned.tasks if t.stage in ("cv", "whole-cv")]
    done = list(run_tasks(problem, tasks, seed=draw))
    fold = Fold(0, 0, np.arange(y.size), np.arange(y.size, y.size + y_test.size), draw)
    found, results = {"codes": y, "n_test": y_test.size}, []
    tested = [Task("test", m, find_method(m).levels(problem, None), fold) for m in METHODS]
    truth = {
        task.method: balanced(y_test, outcome.probabilities.argmax(axis=2))
        for task, outcome in run_tasks(whole, tested, seed=draw)
    }
    for name in METHODS:
        own = [(t, o) for t, o in done if t.method == name]
        pairs = [pair for pair in own if pair[0].stage == "cv"]
        of_all = next((o for t, o in own if t.stage == "whole-cv"), None)
        result = collect(find_method(name), pairs, problem, settings, whole=of_all)
        results.append(result)
    Candidates.of(results, problem, settings)
    found["right"] = np.concatenate([(r.labels == y).sum(axis=1) for r in results]).astype(np.int8)
    found["n_repeats"] = settings.n_repeats
    found["method"] = np.repeat(METHODS, [len(r.levels) for r in results])
    found["level"] = np.concatenate([r.levels for r in results]).astype(float)
    found["sparsity"] = np.concatenate([r.overall for r in results])
    found["cv"] = np.concatenate([r.scores for r in results])
    found["truth"] = np.concatenate([truth[name] for name in METHODS])
    return found


def balanced(codes, labels):
    """Balanced accuracy of several predictions."""
    right = labels == codes
    return np.mean([right[:, codes == c].mean(axis=1) for c in np.unique(codes)], axis=0)


def problem_of(X, y):
    """The problem of a matrix."""
    table = Columns(X, np.array([f"x{j}" for j in range(X.shape[1])]))
    return make_problem(Table(table, {}, y, "y"), *lay_out(table, {}))


def within(largest, share=1.0):
    """At most one standard error (or a share of it) and a largest loss, or the tolerance."""
    return lambda errors: np.maximum(np.minimum(share * errors, largest), TOLERANCE)


def constant(loss):
    """At most this loss, whatever the standard error."""
    return lambda errors: np.full_like(errors, loss)


# How far behind the best a score may be, by the standard errors of the differences.
LOSSES = {
    "best": constant(0.0),
    "0.01": constant(0.01),
    "0.015": constant(0.015),
    "0.02": constant(0.02),
    "one error": within(np.inf),
    "one error, at most 0.015": within(0.015),
    "one error, at most 0.02": within(0.02),
    "half an error": within(np.inf, 0.5),
    "half an error, at most 0.015": within(0.015, 0.5),
    "half an error, at most 0.02": within(0.02, 0.5),
}
RULES = {name: (loss, None) for name, loss in LOSSES.items()}
# Scores averaged over similar sizes: all of them, or those whose scores could be the same.
for name in ("0.01", "0.015", "0.02"):
    RULES[f"{name}, averaged over all"] = LOSSES[name], "all"
    RULES[f"{name}, averaged"] = LOSSES[name], "neighbours"
USED = "0.01, averaged"


def judge_all(options):
    """Apply all rules to all that is stored, and write the tables."""
    draws = {}
    for file in sorted(options.store.glob("*.npz")):
        name, n_rows, _ = file.stem.replace("+", "/").rsplit(" ", 2)
        with np.load(file) as stored:
            draws.setdefault((int(n_rows), name), []).append(dict(stored))
    records = [
        {"rows": n_rows, "set": name, "draws": len(some)} | judge(some)
        for (n_rows, name), some in sorted(draws.items())
        if len(some) > 1
    ]
    (options.output / "rules.json").write_text(json.dumps(records, indent=0) + "\n")
    text = tables(records)
    print(text)
    (options.output / "rules.md").write_text(text)


def judge(draws):
    """What each rule takes from the draws of one set: losses in points, and sizes."""
    known = [
        dict(zip(zip(d["method"], d["level"], strict=True), d["truth"], strict=True))
        for d in draws
    ]
    shared = sorted(set.intersection(*(set(one) for one in known)))
    truths = np.array([[one[key] for key in shared] for one in known])
    # The method and size that is best on the other draws: a fixed one, not the luckiest.
    fixed = [
        truths[i, np.delete(truths, i, axis=0).mean(axis=0).argmax()] for i in range(len(draws))
    ]
    best = np.array([d["truth"][take(d, *RULES["best"])] for d in draws])
    found = {}
    for rule, how in RULES.items():
        chosen = [take(d, *how) for d in draws]
        truth = np.array([d["truth"][one] for d, one in zip(draws, chosen, strict=True)])
        sizes = [max(d["sparsity"][one], 1.0) for d, one in zip(draws, chosen, strict=True)]
        found[rule] = {
            "behind_best": round(100 * float(np.mean(best - truth)), 3),
            "behind_fixed": round(100 * float(np.mean(fixed - truth)), 3),
            "log_size": round(float(np.mean(np.log(sizes))), 4),
            "spread": round(float(np.var(np.log(sizes), ddof=1)), 4),
            "sizes": [float(size) for size in sizes],
            "truth": [round(float(score), 4) for score in truth],
        }
    return {"rules": found}


def take(stored, allow, over):
    """The place that a rule takes; `over`: what scores are averaged over, or None."""
    sizes, right = stored["sparsity"], stored["right"] / float(stored["n_repeats"])
    errors = Counted.of(right, stored["codes"], balanced=True)
    scores = errors.scores()
    if over is not None:
        paths = np.unique(stored["method"], return_inverse=True)[1]
        neighbours = Neighbours.of(sizes, errors if over == "neighbours" else _Unknown(), paths)
        scores = neighbours.averaged(scores)
    best = best_of(scores, sizes)
    enough = scores[best] - scores <= allow(errors.against(best)) + 1e-12
    fewest = np.where(enough, sizes, np.inf)
    return int(np.argmax(np.where(fewest <= fewest.min() + 1e-9, scores, -np.inf)))


class _Unknown:
    """Standard errors that are infinite: every score could be the same as any other."""

    @staticmethod
    def pairs(some, places):
        return np.full((some.size, places.size), np.inf)


def tables(records):
    """The tables in Markdown."""
    lines = [
        "# What rules of choice lose, and with how many features",
        "",
        "Each rule takes a size from out-of-fold predictions; the model is scored on other rows, "
        "by balanced accuracy. Losses are in points, means over draws, then over sets (each set "
        "counts once; in brackets the worst set): behind the model with the best cross-validated "
        "score, and behind the method and size that is best on the other draws of the set. "
        "Features: geometric mean. Spread: by which factor the number of features varies from "
        "draw to draw (one standard deviation). Averaged: over similar sizes of a method whose "
        "scores could be the same (or over all similar sizes), "
        f"before the choice. `tamis fit` uses: {USED}; one error is the usual rule. Methods: "
        f"{', '.join(METHODS)}; sets: those for tuning, and generated ones. Made by "
        "`benchmarks/accuracy/rules.py`.",
    ]
    for n_rows in N_ROWS:
        own = [r for r in records if r["rows"] == n_rows and r["set"] != HALVED]
        if not own:
            continue
        n_draws = [record["draws"] for record in own]
        lines += [
            "",
            f"## {n_rows} rows: {len(own)} sets, {min(n_draws)} to {max(n_draws)} draws",
            "",
            "| rule | behind the best score | behind the best fixed size | features | spread |",
            "| --- | --- | --- | --- | --- |",
        ]
        for rule in RULES:
            values = {
                key: np.array([record["rules"][rule][key] for record in own])
                for key in ("behind_best", "behind_fixed", "log_size", "spread")
            }
            cells = [
                f"{values[key].mean():+.2f} ({values[key].max():+.1f})"
                for key in ("behind_best", "behind_fixed")
            ]
            size, spread = (
                np.exp(values["log_size"].mean()),
                np.exp(np.sqrt(values["spread"].mean())),
            )
            lines.append(f"| {rule} | {' | '.join(cells)} | {size:.1f} | x {spread:.1f} |")
    for record in records:
        if record["set"] == HALVED:
            lines += halvings(record)
    return "\n".join(lines) + "\n"


def halvings(record):
    """How stable the recommended number of features is, in Markdown."""
    yield from (
        "",
        f"## {HALVED.capitalize()} (scikit-learn), {record['draws']} halvings",
        "",
        "| rule | features: mean | least to most | standard deviation | balanced accuracy |",
        "| --- | --- | --- | --- | --- |",
    )
    for rule, found in record["rules"].items():
        sizes = np.array(found["sizes"])
        yield (
            f"| {rule} | {sizes.mean():.1f} | {sizes.min():.0f} to {sizes.max():.0f} "
            f"| {sizes.std(ddof=1):.1f} | {100 * np.mean(found['truth']):.1f} |"
        )


if __name__ == "__main__":
    main()
