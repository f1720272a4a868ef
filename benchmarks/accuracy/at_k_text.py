"""Accuracy at equal numbers of words: the panel and its rivals on text.

    python benchmarks/accuracy/at_k_text.py --data DIR

Sets: mpqa and 20,000 tweets, split several times into three quarters for training and one quarter
for testing; the sentences of the Stanford Sentiment Treebank with their own split. Words are
counted; one panel has them weighted by TF-IDF. Selections of others get a logistic head whose
penalty is tuned in three inner folds; the panel chooses its own. The last column is what few words
are measured against: a linear support vector machine on the TF-IDF of all words. Everything is
selected, fitted and tuned on training rows. Scores are balanced accuracies. Every split is saved
to at_k_text.json; an interrupted run resumes when you repeat the command. The table is printed and
written to at_k_text.md.
"""

import argparse
import gzip
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
from at_k_data import default_data
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import chi2, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.svm import LinearSVC

from tamis import PanelClassifier, SparseCenterClassifier

COUNTS = (10, 30, 100, 300, 1000, 2000)
ALL = "all words"
PENALTIES = (0.03, 0.3, 3.0)
N_TRAIN, N_DEVELOPMENT, N_TWEETS = 76_961, 872, 20_000
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=default_data(), help="folder of the data sets")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args(arguments)
    path = options.output / "at_k_text.json"
    records = json.loads(path.read_text()) if path.is_file() else {}
    for name in ("mpqa", "twitter100k", "sst"):
        for split in range(1 if name == "sst" else options.splits):
            key = f"{name} {split}"
            if key in records:
                continue
            records[key] = measure(*read(name, split, options.data))
            part = path.with_suffix(".part")
            part.write_text(json.dumps(records, indent=0, sort_keys=True))
            part.replace(path)
            print(key, file=sys.stderr, flush=True)
    text = table(records)
    print(text)
    (options.output / "at_k_text.md").write_text(text)


def read(name, split, data):
    """Counts and labels of the training and the test rows."""
    path = Path(data) / "text" / f"{name}.tsv.gz"
    if not path.is_file():
        raise SystemExit(f"{path} is missing: give the data folder with --data or TAMIS_DATA.")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    y, texts = np.array([int(line[0]) for line in lines]), [line[1] for line in lines]
    if name == "sst":
        train, test = np.arange(N_TRAIN), np.arange(N_TRAIN + N_DEVELOPMENT, y.size)
    else:
        rows = np.random.default_rng(0).permutation(y.size)[:N_TWEETS]
        splits = StratifiedShuffleSplit(split + 1, test_size=0.25, random_state=1)
        train, test = (rows[part] for part in list(splits.split(rows, y[rows]))[split])
    words = CountVectorizer(token_pattern=r"(?a)\b\w+\b", dtype=np.float64)
    X_train = sparse.csr_array(words.fit_transform([texts[i] for i in train]))
    X_test = sparse.csr_array(words.transform([texts[i] for i in test]))
    return X_train, y[train], X_test, y[test]


def measure(X, y, X_test, y_test):
    """Scores and CPU seconds of all methods at all numbers of words."""
    warnings.filterwarnings("ignore")
    found = {"shape": [X.shape[0], X.shape[1], X_test.shape[0]]}
    for name, predict in METHODS.items():
        began = process_time()
        labels = predict(X, y, X_test)
        found[name] = {
            "scores": {k: float(balanced_accuracy_score(y_test, v)) for k, v in labels.items()},
            "seconds": process_time() - began,
        }
    return json.loads(json.dumps(found))


def panel(X, y, X_test):
    """`PanelClassifier`."""
    path = PanelClassifier().fit_path(X, y, COUNTS)
    return dict(zip(COUNTS, path.labels(X_test), strict=True))


def weighted_panel(X, y, X_test):
    """`PanelClassifier` of words that are weighted by TF-IDF."""
    weights = TfidfTransformer(sublinear_tf=True).fit(X)
    return panel(sparse.csr_array(weights.transform(X)), y, weights.transform(X_test))


def machine(X, y, X_test):
    """A linear support vector machine on the TF-IDF of all words, C by inner folds."""
    weights = TfidfTransformer(sublinear_tf=True).fit(X)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    models = [LinearSVC(C=C, class_weight="balanced", random_state=0) for C in (0.1, 0.3, 1.0)]
    X, X_test = weights.transform(X), weights.transform(X_test)
    scores = [
        cross_val_score(model, X, y, cv=folds, scoring="balanced_accuracy").mean()
        for model in models
    ]
    return {ALL: models[int(np.argmax(scores))].fit(X, y).predict(X_test)}


def centers(X, y, X_test):
    """`SparseCenterClassifier`."""
    path = SparseCenterClassifier().fit_path(X, y, COUNTS)
    return dict(zip(COUNTS, path.labels(X_test), strict=True))


def with_head(select):
    """A selection with a logistic head whose penalty is tuned in inner folds."""

    def predict(X, y, X_test):
        labels = {}
        for k, columns in select(X, y).items():
            folds = StratifiedKFold(3, shuffle=True, random_state=0)
            heads = [
                LogisticRegression(C=C, class_weight="balanced", max_iter=300) for C in PENALTIES
            ]
            scores = [
                cross_val_score(
                    head, X[:, columns], y, cv=folds, scoring="balanced_accuracy"
                ).mean()
                for head in heads
            ]
            best = heads[int(np.argmax(scores))].fit(X[:, columns], y)
            labels[k] = best.predict(X_test[:, columns])
        return labels

    return predict


def largest(statistic):
    """The words with the largest values of a statistic."""

    def select(X, y):
        order = np.argsort(-np.nan_to_num(statistic(X, y)[0]), kind="stable")
        return {k: order[:k] for k in COUNTS}

    return select


def rfe(X, y):
    """Logistic-RFE: drop 25 % of the words per step above 120 of them, 8 % below; C = 1."""
    active, found, wanted = np.arange(X.shape[1]), {}, sorted(COUNTS, reverse=True)
    while wanted:
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=200)
        size = np.abs(model.fit(X[:, active], y).coef_[0])
        share = 0.25 if active.size > 120 else 0.08
        n_left = max(wanted[0], active.size - max(1, int(share * active.size)))
        active = active[np.argsort(-size, kind="stable")[:n_left]]
        if active.size == wanted[0]:
            found[wanted.pop(0)] = active
    return found


def relaxed_l1(X, y):
    """The order in which words enter the path of l1-logistic regression."""
    order: list[int] = []
    for C in np.geomspace(1e-3, 30, 40):
        model = LogisticRegression(
            C=C,
            l1_ratio=1.0,
            solver="liblinear",
            tol=1e-3,
            class_weight="balanced",
            random_state=0,
        )
        size = np.abs(model.fit(X, y).coef_[0])
        known = set(order)
        order += [j for j in np.argsort(-size, kind="stable") if size[j] > 0 and j not in known]
        if len(order) >= max(COUNTS):
            break
    return {k: np.array(order[:k]) for k in COUNTS}


METHODS = {
    "panel": panel,
    "panel, TF-IDF": weighted_panel,
    "Logistic-RFE": with_head(rfe),
    "relaxed l1": with_head(relaxed_l1),
    "ANOVA": with_head(largest(f_classif)),
    "chi2": with_head(largest(chi2)),
    "sparse centers": centers,
    "linear SVM, TF-IDF": machine,
}


def table(records):
    """Mean scores in Markdown."""
    lines = [
        "# Balanced accuracy at equal numbers of words",
        "",
        "In percent, with CPU seconds for all numbers together (selection and head). Made by "
        "`benchmarks/accuracy/at_k_text.py`.",
    ]
    for name in sorted({key.rsplit(" ", 1)[0] for key in records}):
        runs = [record for key, record in records.items() if key.rsplit(" ", 1)[0] == name]
        rows, columns, tests = runs[0]["shape"]
        lines += [
            "",
            f"## {name}: {rows:,} rows, {columns:,} words, {tests:,} test rows, "
            f"{len(runs)} split{'s' if len(runs) > 1 else ''}",
            "",
            "| method | " + " | ".join(f"k = {k}" for k in COUNTS) + f" | {ALL} | seconds |",
            "| --- " * (len(COUNTS) + 3) + "|",
        ]
        for method in METHODS:
            known, cells = runs[0][method]["scores"], []
            for k in (*map(str, COUNTS), ALL):
                scores = [run[method]["scores"][k] for run in runs] if k in known else None
                cells.append("" if scores is None else f"{100 * np.mean(scores):.1f}")
            seconds, cells = np.mean([run[method]["seconds"] for run in runs]), " | ".join(cells)
            lines.append(f"| {method} | {cells} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
