"""Run the experiments of Barlaud, Chambolle and Caillau (arXiv 1902.01600), ours beside theirs.

    python benchmarks/papers/primal_dual/run.py --data DIR

writes primal_dual.json, .md and .png and prints the Markdown. Every record is saved; the same
command goes on where an interrupted one stopped. Remove the JSON file to begin again.
"""

import argparse
import json
import sys
from pathlib import Path
from time import process_time

import numpy as np
from datasets import DATASETS, generate, load
from methods import N_FOLDS, SETTINGS, evaluate, iterate_longer, methods_of
from records import Results, make_settings
from rivals import SOLVERS, time_to_gap
from stopping import CASES, follow
from threadpoolctl import threadpool_limits

from tamis.primal_dual.paper import algorithm_1
from tamis.primal_dual.training import make_problem, prepare

HERE = Path(__file__).parent
CORRELATIONS = (0.0, 0.95)
FEATURES = (1000, 3000, 5000, 10000, 15000)
SAMPLES = (250, 500, 1000, 2000)
FIXED = {"d": 1000, "m": 5000}  # samples while d is swept, features while m is
TIME_TOL = 1e-3
TIME_RADIUS = 1.0
REPEAT_BELOW = 5.0  # seconds
PARTS = ("stop", "time", "accuracy", "longer")


def main(arguments=None):
    options = parse(arguments)
    try:
        for name in options.only:
            load(name, options.data)
    except (FileNotFoundError, ValueError) as error:
        print(f"{error}\nWith this command: --data DIR.", file=sys.stderr)
        return 2
    published = json.loads((HERE / "published.json").read_text())
    results = Results(options.output / "primal_dual.json", make_settings(options.seed))
    results.environment["cap"] = options.cap
    if not results.resumed:
        say(f"{results.path.name} holds results of other settings or versions: starting again.")
    try:
        with threadpool_limits(1):
            for key, measure in tasks(options, results):
                if key not in results.records:
                    start = process_time()
                    results.add(key, measure())
                    say(f"{key}: {process_time() - start:.1f} s")
    except KeyboardInterrupt:
        say("Interrupted. The same command goes on from here.")
        return 130

    # Drawing is loaded last: the measurements need no matplotlib.
    from plot import draw
    from report import write_report

    report = write_report(results, published)
    results.path.with_suffix(".md").write_text(report)
    draw(results, published, results.path.with_suffix(".png"))
    print(report)
    return 0


def tasks(options, results):
    """Key and function of every measurement, the first repeats first."""
    if "stop" in options.parts:
        for name in options.only[:1]:
            for case in CASES:
                yield (
                    f"stop/{name}/{case}",
                    lambda n=name, c=case: follow(*load(n, options.data), c),
                )
    if "time" in options.parts:
        yield from timing_tasks(options)
    if "accuracy" in options.parts:
        for repeat in range(options.repeats):
            for name in options.only:
                if repeat < DATASETS[name].repeats:
                    yield from accuracy_tasks(options, name, repeat)
    if "longer" in options.parts:
        yield from longer_tasks(options, results)


def longer_tasks(options, results):
    """The l1 loss with more iterations of Algorithm 1, at the radii that were chosen for 30."""
    for name in options.only:
        for place, record in results.folds(name, "published", "l1").items():
            if place.startswith("0/"):

                def measure(name=name, radius=record["radius"], fold=int(place[2:])):
                    X, y = load(name, options.data)
                    return iterate_longer(X, y, "l1", radius, fold, options.seed)

                yield f"longer/{name}/l1/{place}", measure


def accuracy_tasks(options, name, repeat):
    rows = [(setting, method) for setting in SETTINGS for method in methods_of(setting)]
    for setting, method in sorted(rows, key=lambda row: row[1] == "l1"):  # the slowest last
        for fold in range(N_FOLDS):

            def measure(setting=setting, method=method, fold=fold):
                X, y = load(name, options.data)
                return evaluate(DATASETS[name], X, y, setting, method, repeat, fold, options.seed)

            yield f"accuracy/{name}/{setting}/{method}/{repeat}/{fold}", measure


def timing_tasks(options):
    for correlation in CORRELATIONS:
        for swept, sizes in (("d", FEATURES), ("m", SAMPLES)):
            for size in sizes:
                for solver in (*SOLVERS, "Algorithm 1, 30 iterations"):

                    def measure(swept=swept, size=size, solver=solver, correlation=correlation):
                        m, d = (FIXED["d"], size) if swept == "d" else (size, FIXED["m"])
                        return time_one(solver, m, d, correlation, options)

                    yield f"time/{correlation:g}/{swept}/{size}/{solver}", measure


_made = {}


def time_one(solver, m, d, correlation, options):
    """The least of up to three times, after a small problem that compiles what there is to."""
    if (key := (m, d, correlation)) not in _made:
        _made.clear()
        _made[key] = generate(m, d, correlation=correlation, seed=options.seed)
    X, y = _made[key]
    time_solver(solver, X[:60, :50], y[:60], options.cap)
    best = time_solver(solver, X, y, options.cap)
    for _ in range(2):
        if best["seconds"] < REPEAT_BELOW:
            best = min(best, time_solver(solver, X, y, options.cap), key=lambda r: r["seconds"])
    return best


def time_solver(solver, X, y, cap):
    data = prepare(X, y, 2, np.ones(y.size), standardize=False)
    problem = make_problem(
        data, loss="huber", huber_delta=0.25, ball="l1", radius=TIME_RADIUS, rho=float(y.size)
    )
    if solver in SOLVERS:
        return time_to_gap(solver, problem, tol=TIME_TOL, cap=cap)
    start = process_time()
    *_, solution = algorithm_1(problem, max_iter=30)
    return {
        "seconds": round(process_time() - start, 4),
        "rounds": 30,
        "gap": float(f"{solution.relative_gap:.3g}"),
        "features": int(np.count_nonzero(solution.pair.primal.W.any(axis=1))),
        "reached": True,
    }


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", help="data folder with genes/ (default: $TAMIS_DATA or ../shared/data)"
    )
    parser.add_argument(
        "--only", default=",".join(DATASETS), help="data sets, with commas (default: %(default)s)"
    )
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="what to run, with commas (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=2, help="repeats of the folds at most (default: 2)"
    )
    parser.add_argument(
        "--cap", type=float, default=60.0, help="seconds of one timing at most (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the folds (default: 0)")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    options.only, options.parts = options.only.split(","), options.parts.split(",")
    for given, known, what in (
        (options.only, DATASETS, "data set"),
        (options.parts, PARTS, "part"),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"unknown {what} {unknown[0]!r}; there are {', '.join(known)}")
    return options


def say(message):
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
