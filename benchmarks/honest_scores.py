"""How honest the headline score of `tamis fit` is: on noise, and where the truth is known.

On noise the true balanced accuracy is 0.5. With a signal it is that of the recommended model on
5,000 new rows. Printed are the mean of the honest score, of the score that chose, of the best of
all scores, and how often the 95 % interval covers the truth.

    python benchmarks/honest_scores.py --repetitions 20
"""

import argparse

import numpy as np
from joblib import Parallel, delayed

from tamis.comparison import Settings, compare, fit_final, make_problem
from tamis.paths.folds import default_repeats
from tamis.preparation import Dataset, Table, lay_out

METHODS = ("centers", "medians", "primal-dual", "most-frequent", "l1-logistic")


def draw(rng, n_rows, n_features, shift):
    y = rng.permutation(np.arange(n_rows) % 2)
    X = rng.normal(size=(n_rows, n_features))
    X[:, :5] += shift * y[:, None]
    return X, y


def as_table(X):
    return Table(X, np.array([f"x{j}" for j in range(X.shape[1])]))


def repeat(n_rows, n_features, shift, seed):
    rng = np.random.default_rng(seed)
    X, y = draw(rng, n_rows, n_features, shift)
    dataset = Dataset(as_table(X), {}, y, "y")
    problem = make_problem(dataset, *lay_out(dataset.table, {}))
    settings = Settings(METHODS, n_repeats=default_repeats(n_rows), seed=seed)
    comparison, _ = compare(problem, settings)
    model, _ = fit_final(comparison, comparison.choice.method, comparison.choice.at, target="y")
    X_new, y_new = draw(rng, 5000, n_features, shift)
    right = model.predict(as_table(X_new)) == y_new
    truth = (right[y_new == 0].mean() + right[y_new == 1].mean()) / 2 if shift else 0.5
    result, at = comparison.chosen
    best = max(r.scores.max() for r in comparison.results)
    honest = comparison.honest
    return honest.score, truth, result.scores[at], best, honest.low <= truth <= honest.high


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    n = parser.parse_args().repetitions
    print("| data | honest | truth | the score that chose | best of all | interval covers |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, n_rows, n_features, shift in (
        ("noise, 60 x 500", 60, 500, 0.0),
        ("noise, 100 x 100", 100, 100, 0.0),
        ("signal, 80 x 200", 80, 200, 0.5),
        ("signal, 200 x 50", 200, 50, 0.5),
    ):
        found = np.array(
            Parallel(n_jobs=-1)(
                delayed(repeat)(n_rows, n_features, shift, seed) for seed in range(n)
            )
        )
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(n)
        print(
            f"| {name} | {mean[0]:.3f} ± {error[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | "
            f"{mean[3]:.3f} | {found[:, 4].sum():.0f} of {n} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
