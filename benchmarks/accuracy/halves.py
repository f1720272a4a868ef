"""`tamis fit` on one half of the rows, judged on the other, beside l1 logistic and others.

    python benchmarks/accuracy/halves.py --data DIR

Each data set is halved several times. One half is compared as by `tamis fit`, with all methods and
its defaults; the recommended model is scored by balanced accuracy on the other half, which nothing
else looks at. Beside it: l1 logistic regression at its own one-standard-error choice
(scikit-learn, 20 penalties, five folds; by log loss and by balanced accuracy); on breast cancer,
which is halved more often, also the other baselines at their best level.

Standard errors of the mean over halvings are Nadeau and Bengio's; those over sets have the sets as
observations. Every halving is saved to halves.json as it is done; an interrupted run resumes when
you repeat the command. The tables are printed and written to halves.md.
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
from at_k_data import LOCKED, default_data, load
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from tamis import TableClassifier, compare
from tamis.comparison.choosing.choice import Choice

CANCER = "breast cancer"
SETS = (
    *("genes/chin", "genes/chowdary", "genes/singh", "raetsch/german", "raetsch/heart"),
    *("uci/biodeg", "uci/indianliverpatient", "uci/iris", "uci/tae"),
    *("libsvm/australian", "libsvm/ionosphere", "libsvm/sonar", "libsvm/wine"),
)
TAMIS = "tamis"
# l1 logistic regression at its one-standard-error choice, by two scores.
L1 = {"l1, error of log loss": "neg_log_loss", "l1, error of accuracy": "balanced_accuracy"}
REFITTED = ("l1-logistic", "relaxed-l1", "rfe")
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *LOCKED], metavar="SET")
    parser.add_argument("--halvings", type=int, default=3, help="of every set")
    parser.add_argument("--seeds", type=int, default=20, help="halvings of breast cancer")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    parser.add_argument(
        "--locked", action="store_true", help="the sets for this release; results in `locked`"
    )
    options = parser.parse_args(arguments)
    sets = options.sets or (LOCKED if options.locked else SETS)
    if options.locked:
        options.output, options.seeds = options.output / "locked", 0
        options.output.mkdir(exist_ok=True)
    path = options.output / "halves.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    tasks = [(CANCER, seed) for seed in range(options.seeds)]
    tasks += [(name, seed) for seed in range(options.halvings) for name in sets]
    tasks = [(*task, records.get(f"{task[0]} {task[1]}", {})) for task in tasks]
    tasks = [t for t in tasks if not options.tables and not {TAMIS, *L1} <= t[2].keys()]
    done = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(measure)(name, seed, options.data, known) for name, seed, known in tasks
    )
    for number, (key, record) in enumerate(done, 1):
        records[key] = record
        part = path.with_suffix(".part")
        part.write_text(json.dumps(records, indent=0, sort_keys=True))
        part.replace(path)
        print(f"{number} of {len(tasks)}: {key}", file=sys.stderr, flush=True)
    text = tables(records)
    print(text)
    (options.output / "halves.md").write_text(text)


def measure(name, seed, data, known):
    """Scores and numbers of features on one halving, of the models without a record."""
    warnings.filterwarnings("ignore")
    X, y = load_breast_cancer(return_X_y=True) if name == CANCER else load(name, data)[:2]
    halves = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    X_train, X_test, y_train, y_test = halves
    found = dict(known)

    def add(title, labels, n_features):
        found[title] = {
            "score": float(balanced_accuracy_score(y_test, labels)),
            "n_features": float(n_features),
        }

    if TAMIS not in found:
        comparison = compare(X_train, y_train, random_state=seed, n_jobs=1)
        add(TAMIS, comparison.model.predict(X_test), comparison.choice.n_features)
        found[TAMIS]["method"] = comparison.choice.method
        found[TAMIS]["honest"] = [
            float(getattr(comparison.honest_score, limit)) for limit in ("score", "low", "high")
        ]
        if name == CANCER:
            for method in REFITTED:
                result = comparison.result(method)
                place = int(np.argmax(result.scores))
                size = float(result.overall[place])
                choice = Choice(method, place, float(result.levels[place]), size)
                model = TableClassifier.from_model(comparison.table_model(choice))
                add(method, model.predict(X_test), size)
            forest = RandomForestClassifier(class_weight="balanced", random_state=seed)
            add("forest", forest.fit(X_train, y_train).predict(X_test), X.shape[1])
    for title, scoring in L1.items():
        if title not in found:
            add(title, *l1_one_standard_error(X_train, y_train, X_test, scoring))
    return f"{name} {seed}", found


def l1_one_standard_error(X, y, X_test, scoring):
    """Labels and number of features at the strongest penalty within one error of the best."""
    smallest = l1_min_c(StandardScaler().fit_transform(X), y, loss="log")
    penalties = smallest * np.geomspace(1, 1e3, 20)

    def model(C):
        logistic = LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", class_weight="balanced", random_state=0
        )
        several = logistic if np.unique(y).size == 2 else OneVsRestClassifier(logistic)
        return make_pipeline(StandardScaler(), several)

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = np.array(
        [cross_val_score(model(C), X, y, cv=folds, scoring=scoring) for C in penalties]
    )
    mean, error = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(5)
    best = int(np.argmax(mean))
    strongest = int(np.flatnonzero(mean >= mean[best] - error[best])[0])
    fitted = model(penalties[strongest]).fit(X, y)
    last = fitted[-1]
    parts = [last] if hasattr(last, "coef_") else last.estimators_
    coef = np.vstack([part.coef_ for part in parts])
    return fitted.predict(X_test), np.count_nonzero(np.any(coef, axis=0))


def error_of_halvings(differences):
    """Nadeau and Bengio's standard error; the test rows are as many as the training rows."""
    n = len(differences)
    return float(np.sqrt((1 / n + 1) * np.var(differences, ddof=1))) if n > 1 else float("nan")


def tables(records):
    """The tables in Markdown."""
    sets = sorted({key.rsplit(" ", 1)[0] for key in records})
    titles = (TAMIS, *L1)
    lines = [
        "# `tamis fit` on halves, judged on the other halves",
        "",
        "Balanced accuracy in percent, with the number of features in brackets; means over "
        "halvings. l1: logistic regression at the strongest penalty within one standard error of "
        "the best, of the log loss (as glmnet does) or of the balanced accuracy. Last column: in "
        "how many halvings the honest interval of the recommended model contains its score on the "
        "other half. Made by `benchmarks/accuracy/halves.py`.",
        "",
        "| set | halvings | recommended | " + " | ".join(L1) + " | interval holds |",
        "| --- " * (len(L1) + 4) + "|",
    ]
    means, counts = [], []
    for name in sets:
        runs = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == name]
        runs = [run for run in runs if run.keys() >= set(titles)]
        if not runs:
            continue
        means.append([100 * np.mean([run[t]["score"] for run in runs]) for t in titles])
        counts.append([np.mean([run[t]["n_features"] for run in runs]) for t in titles])
        cells = [f"{m:.1f} ({c:.1f})" for m, c in zip(means[-1], counts[-1], strict=True)]
        ours = [run[TAMIS] for run in runs]
        inside = sum(r["honest"][1] <= r["score"] <= r["honest"][2] for r in ours)
        lines.append(
            f"| {name} | {len(runs)} | " + " | ".join(cells) + f" | {inside} of {len(runs)} |"
        )
    means, counts = np.array(means), np.array(counts)
    lines.append("")
    for place, title in enumerate(L1, 1):
        gap = means[:, 0] - means[:, place]
        error = np.std(gap, ddof=1) / np.sqrt(gap.size) if gap.size > 1 else np.nan
        ratio = np.exp(np.mean(np.log(counts[:, 0] / np.maximum(counts[:, place], 1.0))))
        lines.append(
            f"Recommended minus {title}: {gap.mean():+.2f} points over {gap.size} sets (standard "
            f"error {error:.2f}), with {ratio:.2f} times as many features (geometric mean); in "
            f"sums, {counts[:, 0].sum():.0f} features against {counts[:, place].sum():.0f}.\n"
        )
    runs = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == CANCER]
    runs = [run for run in runs if run.keys() >= set(titles)]
    if runs:
        lines += [
            f"## Breast cancer, {len(runs)} halvings",
            "",
            "Baselines at their best level, minus the recommended model.",
            "",
            "| model | score | features | ahead by | standard error |",
            "| --- | --- | --- | --- | --- |",
        ]
        own = np.array([run[TAMIS]["score"] for run in runs])
        for title in sorted(set.intersection(*(set(run) for run in runs))):
            score = np.array([run[title]["score"] for run in runs])
            size = np.mean([run[title]["n_features"] for run in runs])
            ahead, error = 100 * np.mean(score - own), 100 * error_of_halvings(score - own)
            cells = "|  |" if title == TAMIS else f"| {ahead:+.2f} | {error:.2f}"
            lines.append(f"| {title} | {100 * score.mean():.1f} | {size:.1f} {cells} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
