"""Uniform or empirical priors for sparse centers on text, over the number of words.

Mean accuracy and balanced accuracy on test rows, of both priors and of their difference with its
standard error over the splits. MPQA (31 % positive) and tweets thinned to 10 % positive are
unbalanced; SST (55 % positive, its published test set, so one split) and the tweets as they are
are (nearly) balanced. Needs the text files: see `benchmarks/papers/loaders.py`.

    python benchmarks/accuracy/priors.py > benchmarks/results/priors.md
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from tamis import SparseCenterClassifier

sys.path.append(str(Path(__file__).parents[1] / "papers"))
from loaders import load_text

WORDS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
PRIORS = ("uniform", "empirical")
SCORES = ("accuracy", "balanced_accuracy")


def data_sets(n_splits):
    """Name, counts, labels and splits of every data set."""
    for name in ("mpqa", "sst", "twitter100k"):
        data = load_text(name)
        X, y = data.data.tocsr(), data.target
        splits = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0)
        if data.is_test is not None:
            yield f"{name} ({y.mean():.0%} positive)", X, y, [(~data.is_test, data.is_test)]
            continue
        yield f"{name} ({y.mean():.0%} positive)", X, y, list(splits.split(X, y))
        if name == "twitter100k":
            positive = np.flatnonzero(y == 1)
            few = np.random.default_rng(0).permutation(positive)[: np.sum(y == 0) // 9]
            rows = np.sort(np.concatenate([np.flatnonzero(y == 0), few]))
            X, y = X[rows], y[rows]
            yield f"{name}, thinned ({y.mean():.0%} positive)", X, y, list(splits.split(X, y))


def measure(X, y, splits):
    """Scores of shape (2 priors, 2 scores, splits, words)."""
    found = np.empty((len(PRIORS), len(SCORES), len(splits), len(WORDS)))
    for p, priors in enumerate(PRIORS):
        for s, (train, test) in enumerate(splits):
            model = SparseCenterClassifier(priors=priors).fit(X[train], y[train])
            for m, scoring in enumerate(SCORES):
                found[p, m, s] = model.path_score(X[test], y[test], WORDS, scoring=scoring)
    return found


def show(name, found):
    n_splits = found.shape[2]
    print(f"\n{name}, {n_splits} {'splits' if n_splits > 1 else 'split'}\n")
    print("| words | " + " | ".join(map(str, WORDS)) + " |")
    print("| --- |" + " --- |" * len(WORDS))
    for m, scoring in enumerate(SCORES):
        label = scoring.replace("_", " ")
        for p, priors in enumerate(PRIORS):
            means = found[p, m].mean(axis=0)
            print(f"| {label}, {priors} | " + " | ".join(f"{v:.3f}" for v in means) + " |")
        change = found[1, m] - found[0, m]
        cells = [f"{v:+.3f}" for v in change.mean(axis=0)]
        if n_splits > 1:
            errors = change.std(axis=0, ddof=1) / np.sqrt(n_splits)
            cells = [f"{c} ± {e:.3f}" for c, e in zip(cells, errors, strict=True)]
        print(f"| {label}, empirical - uniform | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    print("# Uniform and empirical priors on text\n")
    print("`python benchmarks/accuracy/priors.py`: `SparseCenterClassifier` on word counts,")
    print("uniform or empirical priors, mean over random splits (80 % for training).")
    for name, X, y, splits in data_sets(arguments.splits):
        show(name, measure(X, y, splits))


if __name__ == "__main__":
    main()
