"""`tamis fit` on one half of the rows, judged on the other, beside l1 logistic and others.

    python benchmarks/accuracy/halves.py --data DIR

Each data set is halved several times. One half is compared as by `tamis fit`, with all methods and
its defaults; the recommended model is scored by balanced accuracy on the other half, which nothing
else looks at. Beside it: l1 logistic regression at its own one-standard-error choice
(scikit-learn, 20 penalties, five folds); on breast cancer, which is halved more often, also the
other baselines at their best level.

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
from at_k_data import default_data, load
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from tamis import TableClassifier, compare
from tamis.comparison.choice import Choice

CANCER = "breast cancer"
SETS = (
    *("genes/chin", "genes/chowdary", "genes/singh", "raetsch/german", "raetsch/heart"),
    *("uci/biodeg", "uci/indianliverpatient", "uci/iris", "uci/tae"),
    *("libsvm/australian", "libsvm/ionosphere", "libsvm/sonar", "libsvm/wine"),
)
REFITTED = ("l1-logistic", "relaxed-l1", "rfe")
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--halvings", type=int, default=3, help="of every set")
    parser.add_argument("--seeds", type=int, default=20, help="halvings of breast cancer")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    options = parser.parse_args(arguments)
    path = options.output / "halves.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    tasks = [(CANCER, seed) for seed in range(options.seeds)]
    tasks += [(name, seed) for seed in range(options.halvings) for name in SETS]
    tasks = [t for t in tasks if f"{t[0]} {t[1]}" not in records and not options.tables]
    done = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(measure)(name, seed, options.data) for name, seed in tasks
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


def measure(name, seed, data):
    """Scores and numbers of features of all models on one halving."""
    warnings.filterwarnings("ignore")
    X, y = load_breast_cancer(return_X_y=True) if name == CANCER else load(name, data)[:2]
    halves = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    X_train, X_test, y_train, y_test = halves
    comparison = compare(X_train, y_train, random_state=seed, n_jobs=1)
    found = {}

    def add(title, labels, n_features):
        found[title] = {
            "score": float(balanced_accuracy_score(y_test, labels)),
            "n_features": float(n_features),
        }

    add("tamis", comparison.model.predict(X_test), comparison.choice.n_features)
    found["tamis"]["method"] = comparison.choice.method
    found["tamis"]["honest"] = [
        float(getattr(comparison.honest_score, limit)) for limit in ("score", "low", "high")
    ]
    add("l1, one standard error", *l1_one_standard_error(X_train, y_train, X_test))
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
    return f"{name} {seed}", found


def l1_one_standard_error(X, y, X_test):
    """Labels and number of features at the strongest penalty within one error of the best."""
    penalties = l1_min_c(X, y, loss="log") * np.geomspace(1, 1e3, 20)

    def model(C):
        logistic = LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", class_weight="balanced", random_state=0
        )
        return make_pipeline(StandardScaler(), logistic)

    scores = np.empty((len(penalties), 5))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for f, (train, test) in enumerate(folds.split(X, y)):
        for p, C in enumerate(penalties):
            labels = model(C).fit(X[train], y[train]).predict(X[test])
            scores[p, f] = balanced_accuracy_score(y[test], labels)
    mean, error = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(5)
    best = int(np.argmax(mean))
    strongest = int(np.flatnonzero(mean >= mean[best] - error[best])[0])
    fitted = model(penalties[strongest]).fit(X, y)
    n_features = np.count_nonzero(np.any(fitted[-1].coef_, axis=0))
    return fitted.predict(X_test), n_features


def error_of_halvings(differences):
    """Nadeau and Bengio's standard error; the test rows are as many as the training rows."""
    n = len(differences)
    return float(np.sqrt((1 / n + 1) * np.var(differences, ddof=1))) if n > 1 else float("nan")


def tables(records):
    """The tables in Markdown."""
    sets = sorted({key.rsplit(" ", 1)[0] for key in records})
    lines = [
        "# `tamis fit` on halves, judged on the other halves",
        "",
        "Balanced accuracy in percent. Made by `benchmarks/accuracy/halves.py`.",
        "",
        "| set | halvings | recommended | features | l1, one standard error | features | "
        "difference | honest interval holds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    differences, ratios = [], []
    for name in sets:
        runs = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == name]
        ours = [run["tamis"] for run in runs]
        peer = [run["l1, one standard error"] for run in runs]
        score, other = (100 * np.mean([r["score"] for r in some]) for some in (ours, peer))
        few, many = (np.mean([r["n_features"] for r in some]) for some in (ours, peer))
        inside = sum(r["honest"][1] <= r["score"] <= r["honest"][2] for r in ours)
        differences.append(score - other)
        ratios.append(few / max(many, 1.0))
        lines.append(
            f"| {name} | {len(runs)} | {score:.1f} | {few:.1f} | {other:.1f} | {many:.1f} | "
            f"{score - other:+.1f} | {inside} of {len(runs)} |"
        )
    error = np.std(differences, ddof=1) / np.sqrt(len(differences)) if len(sets) > 1 else np.nan
    lines += [
        "",
        f"Mean difference over the {len(sets)} sets: {np.mean(differences):+.2f} points (standard "
        f"error {error:.2f}). Features of the recommended model in units of those of l1: "
        f"{np.exp(np.mean(np.log(ratios))):.2f} (geometric mean over sets).",
        "",
    ]
    runs = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == CANCER]
    if runs:
        lines += [
            f"## Breast cancer, {len(runs)} halvings",
            "",
            "Baselines at their best level, minus the recommended model.",
            "",
            "| model | score | features | ahead by | standard error |",
            "| --- | --- | --- | --- | --- |",
        ]
        own = np.array([run["tamis"]["score"] for run in runs])
        for title in runs[0]:
            score = np.array([run[title]["score"] for run in runs])
            size = np.mean([run[title]["n_features"] for run in runs])
            ahead, error = 100 * np.mean(score - own), 100 * error_of_halvings(score - own)
            cells = "|  |" if title == "tamis" else f"| {ahead:+.2f} | {error:.2f}"
            lines.append(f"| {title} | {100 * score.mean():.1f} | {size:.1f} {cells} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
