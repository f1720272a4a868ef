"""Compare the rule of choice with the one-standard-error rule, on held-out halves.

    python benchmarks/choice.py --data DIR

One half of each data set (genes, words, tables) is compared as by `tamis fit`: sparse centers,
medians, primal-dual and l1-logistic regression, five folds. Three choices are made from the same
out-of-fold predictions: the best score, the sparsest within one standard error of it (bootstrap of
the rows; the rule up to commit 37a6c1c), and the rule of `tamis.paths.rule`. Each model is trained
on that half and scored by balanced accuracy on the other half, which nothing else looks at.

Every record is saved to choice.json; an interrupted run resumes when you repeat the command. The
tables are printed and written to choice.md.
"""

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from tamis.comparison.choosing.choice import Candidates, Choice
from tamis.comparison.choosing.draws import Draws, n_draws_for
from tamis.comparison.choosing.results import collect
from tamis.comparison.comparison import Comparison
from tamis.comparison.fitted.final import fit_final
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.prepare import make_problem
from tamis.comparison.run import plan
from tamis.comparison.running.tasks import run_tasks
from tamis.comparison.settings import Settings
from tamis.paths.folds import default_repeats
from tamis.paths.rule import best_of
from tamis.tables import Columns, Table, lay_out

sys.path.append(str(Path(__file__).parent / "papers"))
from loaders import load_genes, load_libsvm, load_text

METHODS = ("centers", "medians", "primal-dual", "most-frequent", "l1-logistic")
# Many words: what the other methods add to the comparison of rules is little beside their time.
TEXT_METHODS = ("centers", "most-frequent")
GENES = tuple(
    f"genes/{name}"
    for name in ("breast_metabolomics", "chin", "chowdary", "ovarian", "singh", "zeisel")
)
WORDS = ("text/mpqa", "text/sst", "text/twitter100k")
TABLES = (
    *("libsvm/australian", "libsvm/breast-cancer", "libsvm/german.numer", "libsvm/heart"),
    *("libsvm/ionosphere", "libsvm/segment", "libsvm/sonar", "libsvm/splice", "libsvm/vehicle"),
    *("raetsch/ringnorm", "raetsch/twonorm", "raetsch/waveform", "uci/biodeg", "uci/yeast"),
)
SETS = (*GENES, *WORDS, *TABLES)
MAX_ROWS = 2000  # of tables, so that a run takes minutes
RULES = ("best", "1se", "rule")
RESULTS = Path(__file__).parent / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TAMIS_DATA") or "../shared/data")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--only", nargs="+", default=SETS, choices=SETS, metavar="SET")
    parser.add_argument("--splits", type=int, default=4, help="halvings of a data set")
    parser.add_argument("--n-jobs", type=int, default=-1)
    options = parser.parse_args(arguments)
    path = options.output / "choice.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    try:
        for name in options.only:
            for split in range(1 if is_fixed(name) else options.splits):
                if f"{name} {split}" in records:
                    continue
                records[f"{name} {split}"] = measure(name, split, options.data, options.n_jobs)
                draft = path.with_suffix(".tmp")
                draft.write_text(json.dumps(records).replace("}}, ", "}},\n") + "\n")
                draft.replace(path)  # in one move: an interruption leaves the old file
                print(f"{name}, split {split}", file=sys.stderr)
    except FileNotFoundError as error:
        print(f"{error}\nName the data folder with --data DIR.", file=sys.stderr)
        return 2
    report = write_report(records, options.only)
    path.with_suffix(".md").write_text(report)
    print(report)
    return 0


def is_fixed(name):
    """Whether a data set has one split only: phrases of SST are nested in one another."""
    return name == "text/sst"


def load(name, data_home):
    """Matrix, labels, and the rows of a published test set."""
    collection, own = name.split("/")
    if collection == "text":
        data = load_text(own, data_home)
        return data.data, data.target, data.is_test
    if collection in ("genes", "libsvm"):
        data = {"genes": load_genes, "libsvm": load_libsvm}[collection](own, data_home)
        return data.data, data.target, None
    path = Path(data_home) / f"{name}.npz"
    with np.load(path, allow_pickle=False) as file:
        return file["X"].astype(np.float64), file["y"], None


def halve(name, y, is_test, split):
    """Rows that are compared on, and held-out rows."""
    if is_test is not None:
        return np.flatnonzero(~is_test), np.flatnonzero(is_test)
    few = np.isin(y, [c for c in np.unique(y) if np.count_nonzero(y == c) < 20])
    rows = np.flatnonzero(~few)
    if name in TABLES and rows.size > MAX_ROWS:
        rows, _ = train_test_split(rows, train_size=MAX_ROWS, random_state=split, stratify=y[rows])
    return train_test_split(rows, test_size=0.5, random_state=split, stratify=y[rows])


def measure(name, split, data_home, n_jobs):
    """Features and held-out score of what each rule chooses."""
    X, y, is_test = load(name, data_home)
    train, test = halve(name, y, is_test, split)
    table = Columns(X[train], np.array([f"x{j}" for j in range(X.shape[1])]))
    dataset = Table(table, {}, y[train], "y")
    problem = make_problem(dataset, *lay_out(table, {}))
    comparison = cross_validate(problem, TEXT_METHODS if name in WORDS else METHODS, n_jobs)
    comparison = replace(comparison, data=dataset)
    candidates = comparison.candidates
    held_out = Columns(X[test], table.numeric_names)
    record = {}
    for rule, place in choose_all(candidates, problem).items():
        result, at = candidates.find(place)
        point = Choice(result.method.name, at, float(result.levels[at]), float(result.overall[at]))
        model, _ = fit_final(comparison, point)
        record[rule] = {
            "method": result.method.name,
            "features": len(model.preparation.features),
            "cv": round(float(candidates.scores[place]), 5),
            "held_out": round(balanced_accuracy_score(y[test], model.predict(held_out)), 5),
        }
    record["rows"] = int(train.size)
    return record


def cross_validate(problem, methods, n_jobs):
    """A comparison without its honest score, which no rule needs."""
    settings = Settings(methods, n_repeats=default_repeats(problem.n_rows))
    planned = plan(problem, settings)
    tasks = [task for task in planned.tasks if task.stage == "cv"]
    done = list(run_tasks(problem, tasks, seed=settings.seed, n_jobs=n_jobs))
    results = []
    for method in methods:
        own = [(task, outcome) for task, outcome in done if task.method == method]
        results.append(collect(find_method(method), own, problem, settings))
    candidates = Candidates(results, problem.codes, problem.classes.size, scoring=settings.scoring)
    return Comparison(problem, settings, planned.folds, results, candidates=candidates)


def choose_all(candidates, problem):
    """Places that each rule takes."""
    own = np.where(candidates.ours, candidates.scores, -np.inf)
    return {
        "best": best_of(own, candidates.sparsity),
        "1se": within_one_error(candidates, problem),
        "rule": candidates.choose()[0],
    }


def within_one_error(candidates, problem):
    """The sparsest within one bootstrap standard error of the best, baselines included."""
    n_classes = problem.classes.size
    draws = Draws(problem.codes, n_classes, None, n_draws_for(problem.n_rows), 0)
    errors = np.concatenate([candidates.scores_of(drawn) for drawn in draws]).std(axis=0, ddof=1)
    scores = candidates.scores
    own = np.where(candidates.ours, scores, -np.inf)
    best = int(np.argmax(scores))
    if scores[best] - errors[best] > own.max():  # a baseline is out of reach
        best = int(np.argmax(own))
    enough = own >= scores[best] - errors[best] - 1e-12
    sizes = np.where(enough, candidates.sparsity, np.inf)
    return int(np.argmax(np.where(sizes <= sizes.min() + 1e-9, own, -np.inf)))


def write_report(records, names):
    lines = [
        "# The rule of choice and the one-standard-error rule on held-out halves",
        "",
        "Features of the model that is chosen, and its balanced accuracy (percent) on held-out",
        "rows: medians of the features and means of the scores over splits. Made by",
        "`benchmarks/choice.py`; SST has its published split, twitter100k is confounded with the",
        "date.",
        "",
    ]
    heads = ["data set", "rows", *(f"features, {rule}" for rule in RULES)]
    heads += [f"held out, {rule}" for rule in RULES] + ["rule - 1se", "rule - best"]
    lines += [row_of(heads), row_of(["---"] * len(heads))]
    lost, saved = [], []
    for name in names:
        own = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == name]
        sizes = [np.median([one[rule]["features"] for one in own]) for rule in RULES]
        scores = [100 * np.mean([one[rule]["held_out"] for one in own]) for rule in RULES]
        lost.append([scores[2] - scores[1], scores[2] - scores[0]])
        saved.append([np.log(sizes[2] / sizes[1]), np.log(sizes[2] / sizes[0])])
        lines.append(
            row_of(
                [
                    name,
                    f"{own[0]['rows']:,}",
                    *(f"{size:g}" for size in sizes),
                    *(f"{score:.2f}" for score in scores),
                    *(f"{difference:+.2f}" for difference in lost[-1]),
                ]
            )
        )
    lines += ["", *summarise(names, np.array(lost), np.array(saved))]
    return "\n".join(lines) + "\n"


def summarise(names, lost, saved):
    """Means over data sets, each of which counts once."""
    lines = [
        row_of(["data sets", "score against 1se", "features", "score against best", "features"]),
        row_of(["---"] * 5),
    ]
    kinds = (("genes", GENES), ("words", WORDS), ("tables", TABLES), ("all", SETS))
    for kind, members in kinds:
        at = np.array([name in members for name in names])
        if not at.any():
            continue
        cells = []
        for against in range(2):
            differences = lost[at, against]
            error = differences.std(ddof=1) / np.sqrt(at.sum()) if at.sum() > 1 else np.nan
            cells += [f"{differences.mean():+.2f} ± {error:.2f}"]
            cells += [f"x {np.exp(saved[at, against].mean()):.2f}"]
        lines.append(row_of([f"{kind} ({at.sum()})", *cells]))
    return lines


def row_of(cells):
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
