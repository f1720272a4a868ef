"""How honest the headline score of `tamis fit` is: noise, copies, groups, and perfect scores.

The truth is the balanced accuracy of the recommended model on 5,000 new rows, or 0.5 on noise.
Printed are the means of the honest score, the truth, the score that chose, and the best of all
scores, and how often the 95 % interval covers the truth. With copies of rows, and with rows of the
same person, the same data are also scored with `--duplicates keep`, and without `--groups`: that
is how far off a score is that takes such rows for independent.

    python benchmarks/honest_scores.py --repetitions 40

takes an hour on two cores; `--methods centers,medians,most-frequent` takes minutes.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from tamis import compare

METHODS = "centers,medians,panel,l1-logistic,relaxed-l1,rfe,most-frequent"
N_NEW = 5000


@dataclass(frozen=True)
class Design:
    """How data are drawn.

    Attributes
    ----------
    name : str
    n_rows, n_features : int
    shift : float
        Distance between the classes in each of the first five features; 0 is noise.
    times : int
        Copies of every row.
    n_people : int
        People whose rows are alike, each of one class; 0: rows are independent.
    is_known : bool
        Whether copies or people are kept together, as `tamis fit` does by default and with
        `--groups`.
    """

    name: str
    n_rows: int
    n_features: int
    shift: float = 0.0
    times: int = 1
    n_people: int = 0
    is_known: bool = True

    def draw(self, rng, n_rows):
        """Rows, labels, and who they belong to."""
        n_people = self.n_people * n_rows // self.n_rows if self.n_people else n_rows
        person = np.arange(n_rows) % n_people
        y = rng.permutation(np.arange(n_people) % 2)[person]
        X = rng.normal(size=(n_rows, self.n_features))
        if self.n_people:  # half of the variance belongs to the person
            own = rng.normal(size=(n_people, self.n_features))
            X = (X + own[person]) / np.sqrt(2)
        X[:, :5] += self.shift * y[:, None]
        return X, y, person


DESIGNS = (
    Design("noise, 60 x 500", 60, 500),
    Design("noise, 100 x 100", 100, 100),
    Design("signal, 80 x 200", 80, 200, 0.5),
    Design("signal, 200 x 50", 200, 50, 0.5),
    Design("noise, 15 rows, 6 times each, 20 columns", 15, 20, times=6),
    Design("the same, `--duplicates keep`", 15, 20, times=6, is_known=False),
    Design("noise, 60 rows, 3 times each, 20 columns", 60, 20, times=3),
    Design("the same, `--duplicates keep`", 60, 20, times=3, is_known=False),
    Design("signal, 60 rows, 3 times each, 20 columns", 60, 20, 0.7, times=3),
    Design("the same, `--duplicates keep`", 60, 20, 0.7, times=3, is_known=False),
    Design("noise, 30 people with 4 rows each, 50 columns", 120, 50, n_people=30),
    Design("the same, without `--groups`", 120, 50, n_people=30, is_known=False),
    Design("signal, 30 people with 4 rows each, 50 columns", 120, 50, 0.7, n_people=30),
    Design("the same, without `--groups`", 120, 50, 0.7, n_people=30, is_known=False),
    Design("nearly perfect, 40 x 50", 40, 50, 3.0),
    Design("nearly perfect, 100 x 20", 100, 20, 2.5),
)


def repeat(design, methods, seed):
    """Honest score, truth, the score that chose, the best of all; whether the truth is covered."""
    rng = np.random.default_rng(seed)
    X, y, person = design.draw(rng, design.n_rows)
    X, y, person = (np.repeat(part, design.times, axis=0) for part in (X, y, person))
    comparison = compare(
        X,
        y,
        methods=methods,
        groups=person if design.n_people and design.is_known else None,
        duplicates="group" if design.is_known else "keep",
        random_state=seed,
    )
    truth = 0.5
    if design.shift:
        X_new, y_new, _ = design.draw(rng, N_NEW)
        right = comparison.model.predict(X_new) == y_new
        truth = (right[y_new == 0].mean() + right[y_new == 1].mean()) / 2
    result, at = comparison.chosen
    best = max(r.scores.max() for r in comparison.results)
    honest = comparison.honest_score
    return honest.score, truth, result.scores[at], best, honest.low <= truth <= honest.high


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--methods", default=METHODS)
    options = parser.parse_args()
    n, methods = options.repetitions, tuple(options.methods.split(","))
    print("# Honest scores of data whose true score is known\n")
    print(f"Chosen among the levels of {', '.join(methods)}.\n")
    print("| data | honest | truth | bias | the score that chose | best of all | covers |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for design in DESIGNS:
        found = np.array(
            Parallel(n_jobs=-1)(delayed(repeat)(design, methods, seed) for seed in range(n)),
            dtype=float,
        )
        mean = found.mean(axis=0)
        bias = found[:, 0] - found[:, 1]
        error = bias.std(ddof=1) / np.sqrt(n)
        print(
            f"| {design.name} | {mean[0]:.3f} | {mean[1]:.3f} | {bias.mean():+.3f} ± {error:.3f} "
            f"| {mean[2]:.3f} | {mean[3]:.3f} | {found[:, 4].sum():.0f} of {n} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
