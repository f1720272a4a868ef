"""Points cards of tamis and of FasterRisk, with the same number of features.

Mean AUROC and log loss on test rows over random splits (three quarters for training), and the
seconds of training. The card of tamis is made of a panel with a logistic head, whose AUROC is also
shown. FasterRisk (Liu et al., NeurIPS 2022) gets three thresholds per number, at the quartiles of
the training rows, may use as many numbers as the panel and three thresholds of each, and has its
default points of -5 to 5. Its rounding needs numpy < 2.3, so it runs in a process of its own, with
the folders of FASTERRISK_PATH first on its path:

    pip install --target rivals fasterrisk
    pip install --target old_numpy "numpy<2.3"
    FASTERRISK_PATH=old_numpy:rivals python benchmarks/accuracy/cards.py \
        > benchmarks/results/cards.md
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from at_k_data import default_data, load, split
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score

from tamis import PanelClassifier, TableClassifier

N_FEATURES = 4
SETS = ("breast cancer", "raetsch/german", "raetsch/heart")
QUARTILES = (0.25, 0.5, 0.75)

# Reads a file with X, y and new rows; writes risks and the seconds of training.
FASTERRISK = """
import sys, time
import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer
given = np.load(sys.argv[1])
start = time.perf_counter()
optimizer = RiskScoreOptimizer(
    given["X"], given["y"], k=int(given["k"]), group_sparsity=int(given["n_features"]),
    featureIndex_to_groupIndex=given["group"],
)
optimizer.optimize()
multiplier, intercept, coefficients = optimizer.get_models(model_index=0)
seconds = time.perf_counter() - start
risk = 1 / (1 + np.exp(-(intercept + given["new"] @ coefficients) / multiplier))
np.savez(sys.argv[2], risk=risk, seconds=seconds)
"""


def data_sets(data):
    """Name, samples and labels of every set; the rarer class is 1."""
    for name in SETS:
        if name == "breast cancer":
            X, y = load_breast_cancer(return_X_y=True)
        else:
            X, y, _ = load(name, data)
        yield name, X, (y == np.bincount(y).argmin()).astype(int)


def tamis_card(X, y, new):
    """Risks of the card and of its model for new rows, and the seconds of both."""
    from tamis.report.card.card import make_card

    names = [f"x{j}" for j in range(X.shape[1])]
    train, test = pd.DataFrame(X, columns=names), pd.DataFrame(new, columns=names)
    start = time.perf_counter()
    model = TableClassifier(PanelClassifier(N_FEATURES, head="logistic")).fit(train, y)
    middle = time.perf_counter()
    card = make_card(model.model_, model._read(train), y, positive=1)
    end = time.perf_counter()
    risk = card.risk(card.score(model._read(test)))
    return risk, model.predict_proba(test)[:, 1], end - start, middle - start


def fasterrisk(X, y, new, path):
    """Risks for new rows, and the seconds."""
    cuts = [(j, q) for j in range(X.shape[1]) for q in np.unique(np.quantile(X[:, j], QUARTILES))]

    def binary(rows):
        return np.column_stack([rows[:, j] <= q for j, q in cuts]).astype(float)

    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(
            given,
            X=binary(X),
            y=np.where(y == 1, 1.0, -1.0),
            new=binary(new),
            group=[j for j, _ in cuts],
            n_features=N_FEATURES,
            k=len(QUARTILES) * N_FEATURES,
        )
        words = [sys.executable, "-c", FASTERRISK, given, found]
        subprocess.run(words, check=True, env=os.environ | {"PYTHONPATH": path})
        with np.load(found) as result:
            return result["risk"], float(result["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=default_data())
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    path = os.environ.get("FASTERRISK_PATH")
    print("# Points cards beside others\n")
    print(
        "`python benchmarks/accuracy/cards.py` (see there): points cards with at most "
        f"{N_FEATURES} features,\nmeans over {options.splits} random splits, three quarters for "
        "training. ± is the standard error of the mean\ndifference from the card of tamis on the "
        "same splits.\n"
    )
    print("| data set | classifier | AUROC | difference | log loss | difference | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, X, y in data_sets(options.data):
        found: dict = {}
        for train, test in split(y, None, options.splits):
            risk, shares, seconds, of_model = tamis_card(X[train], y[train], X[test])
            tell = {"card of tamis": (risk, seconds), "its panel": (shares, of_model)}
            if path:
                tell["FasterRisk"] = fasterrisk(X[train], y[train], X[test], path)
            for who, (p, s) in tell.items():
                loss = np.nan if who == "its panel" else log_loss(y[test], p)
                found.setdefault(who, []).append((roc_auc_score(y[test], p), loss, s))
        ours = np.array(found["card of tamis"])
        for who, rows in found.items():
            rows = np.array(rows)
            mean, gap = rows.mean(axis=0), (rows - ours)[:, :2]
            error = gap.std(axis=0, ddof=1) / np.sqrt(len(rows))
            cells = []
            for k in range(2):
                is_shown = np.isfinite(mean[k])
                cells.append(f"{mean[k]:.3f}" if is_shown else "")
                differs = is_shown and who != "card of tamis"
                cells.append(f"{gap[:, k].mean():+.3f} ± {error[k]:.3f}" if differs else "")
            print(f"| {name} | {who} | {' | '.join(cells)} | {mean[2]:.1f} |", flush=True)
    print(
        "\nThe panel gives all classes equal weight, so its log loss cannot be compared with "
        "those of the cards."
    )


if __name__ == "__main__":
    main()
