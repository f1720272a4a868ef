"""How honest the headline score of `tamis fit` is: noise, copies, groups, and perfect scores.

    python benchmarks/honest_scores.py --jobs 2

The truth is the balanced accuracy of the recommended model on 5,000 new rows, or 0.5 on noise.
Printed are the means of the honest score, the truth, the score that chose, and the best of all
scores, and how often the 95 % interval covers the truth. With copies of rows, and with rows of the
same person, the same data are also scored with `--duplicates keep`, and without `--groups`: that
is how far off a score is that takes such rows for independent.

All default methods compete, so that a repetition takes ten seconds. Repetitions are saved to
honest_scores.json; an interrupted run resumes when you repeat the command (`--repetitions 0` makes
the table of what there is), and delete the file to start afresh.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulations.engine import Measure, Records, Simulation, advance, each
from simulations.features import as_seed
from tamis import compare

RESULTS = Path(__file__).parent / "results"
N_NEW = 5000
REPETITIONS = 200


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
    Design(
        "noise, 15 rows, 6 times each, 20 columns, `--duplicates keep`",
        15,
        20,
        times=6,
        is_known=False,
    ),
    Design("noise, 60 rows, 3 times each, 20 columns", 60, 20, times=3),
    Design(
        "noise, 60 rows, 3 times each, 20 columns, `--duplicates keep`",
        60,
        20,
        times=3,
        is_known=False,
    ),
    Design("signal, 60 rows, 3 times each, 20 columns", 60, 20, 0.7, times=3),
    Design(
        "signal, 60 rows, 3 times each, 20 columns, `--duplicates keep`",
        60,
        20,
        0.7,
        times=3,
        is_known=False,
    ),
    Design("noise, 30 people with 4 rows each, 50 columns", 120, 50, n_people=30),
    Design(
        "noise, 30 people with 4 rows each, 50 columns, without `--groups`",
        120,
        50,
        n_people=30,
        is_known=False,
    ),
    Design("signal, 30 people with 4 rows each, 50 columns", 120, 50, 0.7, n_people=30),
    Design(
        "signal, 30 people with 4 rows each, 50 columns, without `--groups`",
        120,
        50,
        0.7,
        n_people=30,
        is_known=False,
    ),
    Design("nearly perfect, 40 x 50", 40, 50, 3.0),
    Design("nearly perfect, 100 x 20", 100, 20, 2.5),
)


MEASURES = tuple(
    Measure(name, 0, is_mean=True)
    for name in ("honest", "truth", "the score that chose", "best of all", "bias", "covers")
)


def repeat(design):
    """Values of `MEASURES` for one sample."""

    def once(rng):
        seed = as_seed(rng)
        X, y, person = design.draw(rng, design.n_rows)
        X, y, person = (np.repeat(part, design.times, axis=0) for part in (X, y, person))
        comparison = compare(
            X,
            y,
            groups=person if design.n_people and design.is_known else None,
            duplicates="group" if design.is_known else "keep",
            n_jobs=1,
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
        bias = honest.score - truth
        covers = honest.low <= truth <= honest.high
        return honest.score, truth, result.scores[at], best, bias, covers

    return once


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="of each design")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    records = Records(options.output / "honest_scores.json")
    simulations = [
        Simulation(design.name, "", MEASURES, each(repeat(design)), options.repetitions, 1)
        for design in DESIGNS
    ]
    advance(simulations, records, options.repetitions, options.jobs)
    report = write_report(records)
    (options.output / "honest_scores.md").write_text(report)
    print(report)


def write_report(records):
    lines = [
        "# Honest scores of data whose true score is known",
        "",
        "Chosen among all default methods. Made by `benchmarks/honest_scores.py`; ± is a standard",
        "error. A design that withholds what tamis must know is a control: its score must be off.",
        "",
        "| data | honest | truth | bias | the score that chose | best of all | covers |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    told = [0, 0]
    for design in DESIGNS:
        blocks = records.of(design.name)
        if not blocks:
            continue
        n = sum(block[0] for block in blocks)
        sums, squares = (np.sum([block[i] for block in blocks], axis=0) for i in (1, 2))
        honest, truth, chosen, best, bias, _ = sums / n
        error = np.sqrt(max(squares[4] / n - bias**2, 0) / max(n - 1, 1))
        lines.append(
            f"| {design.name} | {honest:.3f} | {truth:.3f} | {bias:+.3f} ± {error:.3f} "
            f"| {chosen:.3f} | {best:.3f} | {sums[5]:.0f} of {n} |"
        )
        if design.is_known:
            told[0] += round(sums[5])
            told[1] += n
    if told[1]:
        lines += ["", f"Told what it must know: covers the truth in {told[0]} of {told[1]}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
