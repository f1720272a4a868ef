"""Measure what the defaults of PrimalDualClassifier were chosen by.

    python benchmarks/papers/primal_dual/defaults.py --data DIR

prints, for every variant of rho, huber_delta, loss and class weights, balanced accuracy and
accuracy over stratified folds of all data sets. The radius of a fold is the one that is best, in
balanced accuracy, on the other folds of its repeat (ties: the smaller radius); "best radius" and
"mean over radii" are the figures of the best single radius and of all radii. "One class" is the
share of fits, over folds and radii, that give all test samples the same label. Then the same for
170 / 30 classes alone, with the features centered by their mean or by the mean of class means.
"""

import argparse
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tamis import PrimalDualClassifier

sys.path.append(str(Path(__file__).parents[1]))
from loaders import load_genes

RADII = np.geomspace(0.1, 10.0, 7)
N_FOLDS = 5
TOL = 1e-3
MAX_ITER = 3000


def variant(name, factor=2.0, delta=0.25, weights="balanced", loss="huber"):
    """A row of the tables; `factor` None is for centers fixed at I."""
    return {"name": name, "factor": factor, "delta": delta, "weights": weights, "loss": loss}


RHO = [
    variant(f"rho {f:g} x class size, delta {d:g}", f, d)
    for d in (0.25, 0.1)
    for f in (0.5, 1.0, 2.0, 4.0, 8.0)
]
FIXED = [variant(f"fixed centers, delta {d:g}", None, d) for d in (0.25, 0.1)]
DELTA = [variant(f"delta {d:g}, rho 2", delta=d) for d in (0.0, 0.05, 0.5, 1.0)]
WEIGHTS = [
    variant("no class weights, rho 2, delta 0.25", weights=None),
    variant("no class weights, rho 2, delta 0.1", delta=0.1, weights=None),
    variant("no class weights, fixed, delta 0.25", None, weights=None),
]
OTHERS = [variant("frobenius, rho 2", loss="frobenius")]
VARIANTS = [*RHO, *FIXED, *DELTA, *WEIGHTS, *OTHERS]


def data_sets(data_home, only):
    """Name, X, y and the number of repeats of every data set."""
    loaders = {
        "wine": (lambda: load_wine(return_X_y=True), 2),
        "breast_cancer": (lambda: load_breast_cancer(return_X_y=True), 1),
        "imbalanced": (make_imbalanced, 2),
        "breast_metabolomics": (lambda: genes("breast_metabolomics", data_home), 2),
        "ovarian": (lambda: genes("ovarian", data_home), 1),
        "chin": (lambda: genes("chin", data_home), 2),
        "singh": (lambda: genes("singh", data_home), 2),
        "digits": (lambda: some(*load_digits(return_X_y=True), 600), 1),
        "zeisel": (lambda: some(*genes("zeisel", data_home), 400), 1),
    }
    for name in only or loaders:
        load, n_repeats = loaders[name]
        yield name, *load(), n_repeats


def genes(name, data_home):
    data = load_genes(name, data_home)
    return data.data, data.target


def some(X, y, n_samples):
    rows = np.random.default_rng(0).permutation(y.size)[:n_samples]
    return X[rows], y[rows]


def make_imbalanced(seed=0, n_features=200, shift=0.7):
    """170 and 30 samples, 10 of the features apart by `shift` standard deviations."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [170, 30])
    X = rng.normal(size=(200, n_features))
    X[:, :10] += shift * y[:, None]
    return X, y


def make_model(setting, y, **more):
    rho = 1.0
    if setting["factor"] is not None:
        rho = setting["factor"] * y.size / np.unique(y).size  # weights sum to n, balanced or not
    return PrimalDualClassifier(
        loss=setting["loss"],
        huber_delta=setting["delta"],
        rho=rho,
        adaptive_centers=setting["factor"] is not None,
        class_weight=setting["weights"],
        tol=TOL,
        max_iter=MAX_ITER,
        warm_start=True,
        head="projection",
        **more,
    )


def measure(setting, X, y, n_repeats, plain_center=False):
    """Scores and feature counts, arrays over folds and radii."""
    folds = RepeatedStratifiedKFold(n_splits=N_FOLDS, n_repeats=n_repeats, random_state=0)
    balanced, plain, features, single = [], [], [], []
    for train, test in folds.split(X, y):
        A, B = X[train], X[test]
        if plain_center:
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
        model = make_model(setting, y[train], standardize=not plain_center)
        rows = []
        for radius in RADII:
            model.set_params(radius=radius).fit(A, y[train])
            found = model.predict(B)
            rows.append(
                (
                    balanced_accuracy_score(y[test], found),
                    accuracy_score(y[test], found),
                    model.n_features_,
                    np.unique(found).size == 1,
                )
            )
        for column, values in zip(
            (balanced, plain, features, single), zip(*rows, strict=True), strict=True
        ):
            column.append(values)
    return np.array(balanced), np.array(plain), np.array(features), np.array(single)


def summarise(balanced, plain, features, single):
    """Figures of one variant on one data set."""
    chosen = np.empty(len(balanced), dtype=int)
    for start in range(0, len(balanced), N_FOLDS):
        repeat = balanced[start : start + N_FOLDS]
        for i in range(N_FOLDS):
            chosen[start + i] = np.delete(repeat, i, axis=0).mean(axis=0).argmax()
    folds = np.arange(len(balanced))
    return {
        "balanced": balanced[folds, chosen].mean(),
        "accuracy": plain[folds, chosen].mean(),
        "best": balanced.mean(axis=0).max(),
        "mean": balanced.mean(),
        "features": np.median(features[folds, chosen]),
        "single": single.mean(),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="data folder (default: $TAMIS_DATA or ../shared/data)")
    parser.add_argument("--only", help="data sets, with commas (default: all)")
    options = parser.parse_args(arguments)
    only = options.only.split(",") if options.only else None
    table = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tables count the fits that collapse
        for name, X, y, n_repeats in data_sets(options.data, only):
            start = perf_counter()
            for setting in VARIANTS:
                begin = perf_counter()
                row = summarise(*measure(setting, X, y, n_repeats))
                row["seconds"] = perf_counter() - begin
                table.setdefault(setting["name"], {})[name] = row
            print(f"{name}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            print_one(name, {v: rows[name] for v, rows in table.items()})
        print_all(table)
        if only is None or "imbalanced" in only:
            print_collapse()


def print_one(name, rows):
    print(f"\n## {name}\n")
    print(
        "| variant | balanced | accuracy | best radius | mean over radii | features | one class |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for label, r in rows.items():
        print(
            f"| {label} | {r['balanced']:.3f} | {r['accuracy']:.3f} | {r['best']:.3f} | "
            f"{r['mean']:.3f} | {r['features']:.0f} | {r['single']:.2f} |"
        )
    sys.stdout.flush()


def print_all(table):
    print("\n## Mean over the data sets\n")
    names = list(next(iter(table.values())))
    ranks = rank_rows(table, names)
    print(
        "| variant | balanced | accuracy | best radius | mean over radii | mean rank | one class "
        "| seconds |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for label, rows in table.items():
        mean = {k: np.mean([rows[n][k] for n in names]) for k in rows[names[0]]}
        print(
            f"| {label} | {mean['balanced']:.4f} | {mean['accuracy']:.4f} | {mean['best']:.4f} | "
            f"{mean['mean']:.4f} | {ranks[label]:.1f} | {mean['single']:.3f} | "
            f"{mean['seconds']:.1f} |"
        )
    print("\nBalanced accuracy, radius chosen on the other folds:\n")
    print(f"| variant | {' | '.join(names)} |")
    print(f"| --- |{' --- |' * len(names)}")
    for label, rows in table.items():
        print(f"| {label} | {' | '.join(format(rows[n]['balanced'], '.3f') for n in names)} |")


def rank_rows(table, names):
    """Mean rank (1 is best) in balanced accuracy at the best radius."""
    scores = np.array([[table[v][n]["best"] for n in names] for v in table])
    ranks = [[1 + np.sum(column > s) for s in column] for column in scores.T]
    return dict(zip(table, np.mean(ranks, axis=0), strict=True))


def print_collapse():
    print("\n## 170 / 30 samples: who predicts one class only\n")
    print("| classes apart by | centered by | class weights | centers | balanced | one class |")
    print("| --- | --- | --- | --- | --- | --- |")
    for shift in (0.5, 1.0):
        X, y = make_imbalanced(shift=shift)
        for plain in (True, False):
            for weights in (None, "balanced"):
                for factor in (2.0, None):
                    setting = variant("", factor, weights=weights)
                    row = summarise(*measure(setting, X, y, 2, plain_center=plain))
                    print(
                        f"| {shift:g} | {'mean' if plain else 'class means'} | {weights} | "
                        f"{'fixed' if factor is None else 'adaptive'} | {row['balanced']:.3f} | "
                        f"{row['single']:.2f} |"
                    )


if __name__ == "__main__":
    main()
