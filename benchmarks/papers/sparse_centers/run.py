"""Run the experiments of Calafiore and Fracastoro (arXiv 1911.07320) and write ours beside theirs.

    python benchmarks/papers/sparse_centers/run.py --splits 50 --data DIR

writes sparse_centers.json, .md and .png and prints the Markdown. Every finished split is saved;
the same command goes on where an interrupted one stopped. Remove the JSON file to begin again.
"""

import argparse
import json
import os
import sys
import warnings
from itertools import islice
from pathlib import Path
from time import perf_counter

import numba
from claims import check_claims
from datasets import DATASETS, RESCALINGS, TEST_SHARE, load, make_fold
from joblib import Parallel, delayed
from methods import NAIVE_BAYES, SVM_MAX_ITER, methods_for
from records import Results, make_settings
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent


def main(arguments=None):
    options = parse(arguments)
    try:
        problems = {name: load(name, options.data) for name in options.only}
    except (FileNotFoundError, ValueError) as error:
        print(f"{error}\nWith this command: --data DIR.", file=sys.stderr)
        return 2
    published = json.loads((HERE / "published.json").read_text())
    settings = make_settings(options.seed, TEST_SHARE, SVM_MAX_ITER)
    results = Results(options.output / "sparse_centers.json", settings)
    if not results.resumed:
        say(f"{results.path.name} holds results of other settings or versions: starting again.")
    for name, problem in problems.items():
        results.describe(name, problem)
    results.note_environment(
        jobs=options.jobs, cpu_count=os.cpu_count(), max_seconds=options.max_seconds
    )
    try:
        measure(results, options)
    except KeyboardInterrupt:
        say("Interrupted. The same command goes on from here.")
        return 130

    verdicts = check_claims(published, results.records, per_k=[NAIVE_BAYES.name])
    results.save(verdicts)
    # Drawing is loaded last: the measurements need no matplotlib.
    from plot import draw
    from report import write_report

    report = write_report(results, published, verdicts)
    results.path.with_suffix(".md").write_text(report)
    draw(results, results.path.with_suffix(".png"))
    print(report)
    return 0


def measure(results, options):
    """Run what is missing, as many splits at a time as there are jobs, saving after each time."""
    tasks = missing(results, options)
    with Parallel(options.jobs) as pool:
        # Not all at once: the next tasks depend on the time that methods took in these.
        while wave := list(islice(tasks, options.jobs)):
            done = pool(delayed(run_split)(options.data, options.seed, *task) for task in wave)
            for (name, rescaling, split, _), (records, seconds) in zip(wave, done, strict=True):
                results.add(name, rescaling, split, records)
                say(f"{name}, {rescaling}, split {split}: {len(records)} methods, {seconds:.1f} s")
            results.save()


def missing(results, options):
    """Tasks not done yet: data set, rescaling, split, and the seconds left to each method."""
    for name in options.only:
        info = DATASETS[name]
        n_splits = min(options.splits, info.max_splits or options.splits)
        for rescaling in RESCALINGS:
            for split in range(n_splits):
                left = {}
                for method in methods_for(info, rescaling):
                    done = results.of(name, rescaling, method.name)
                    seconds = time_left(done, options.max_seconds)
                    if str(split) not in done and seconds > 0:
                        left[method.name] = seconds
                if left:
                    yield name, rescaling, split, left


def time_left(done, max_seconds):
    """Seconds left to a method after its splits so far; 0 when one more is likely too long."""
    spent = [record["seconds_in_all"] for record in done.values()]
    left = max_seconds - sum(spent)
    return left if not spent or left > sum(spent) / len(spent) else 0.0


def run_split(data_home, seed, name, rescaling, split, seconds_left):
    """Records of the methods named in `seconds_left`, for one split, and the seconds in all."""
    start = perf_counter()
    problem = load(name, data_home)
    fold = make_fold(problem, seed + split, rescaling)
    numba.set_num_threads(1)
    records = {}
    with threadpool_limits(1), warnings.catch_warnings():
        # Paths end, and SVMs stop, before they converge; the records say how often.
        warnings.simplefilter("ignore")
        for method in methods_for(problem.info, rescaling):
            if method.name in seconds_left:
                prepare_once(method, fold, problem.ks, name)
                records[method.name] = method.measure(
                    fold, problem.ks, problem.info.score, seconds_left[method.name]
                )
    return records, perf_counter() - start


_prepared = set()


def prepare_once(method, fold, ks, name):
    """Let kernels compile before they are timed, once a process and data set."""
    if (method.name, name) not in _prepared:
        _prepared.add((method.name, name))
        method.prepare(fold, ks)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=50, help="random splits (default: 50)")
    parser.add_argument(
        "--data", help="data folder with text/ and genes/ (default: $TAMIS_DATA or ../shared/data)"
    )
    parser.add_argument(
        "--only", default=",".join(DATASETS), help="data sets, with commas (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="splits at a time (default: 1; more disturb times)"
    )
    parser.add_argument(
        "--max-seconds",
        type=float,
        default=300.0,
        help="time after which a method gets no more splits of a data set (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first split (default: 0)")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1 or options.splits < 1:
        parser.error(f"--jobs and --splits must be >= 1, got {options.jobs} and {options.splits}")
    options.only = options.only.split(",")
    unknown = [name for name in options.only if name not in DATASETS]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; there are {', '.join(DATASETS)}")
    return options


def say(message):
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
