"""Run the experiments of Dulac-Arnold et al. (ECML PKDD 2011) and write ours beside theirs.

    python benchmarks/papers/datumwise/run.py --data DIR

writes datumwise.json, datumwise.md and the pictures and prints the Markdown. Every finished run
is saved; the same command goes on where an interrupted one stopped. Remove the JSON file to begin
again. The splits of one training half, where the targets are, come first.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from time import perf_counter

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# ruff: noqa: E402
from datasets import SETS, TARGET_FRACTION, TARGET_SETS, fractions_of, load_split
from methods import METHODS, find_use, run_method
from records import Results
from report import write_report
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
FIGURE4 = ("breast-cancer", 0.1)


def main(arguments=None):
    options = parse(arguments)
    try:
        for name in options.sets:
            load_split(name, TARGET_FRACTION, 0, options.data)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    settings = {"seed": "split number", "splits": "stratified"}
    results = Results(options.output / "datumwise.json", settings)
    end = perf_counter() + 60 * options.minutes
    try:
        with threadpool_limits(1):
            measure(results, options, end)
    except KeyboardInterrupt:
        say("Interrupted. The same command goes on from here.")
        return 130
    published = json.loads((HERE / "published.json").read_text())
    report = write_report(results, published)
    results.path.with_suffix(".md").write_text(report)
    draw(results, options)
    print(report)
    return 0


def measure(results, options, end):
    for name, fraction, split, method in list_tasks(options):
        if perf_counter() > end:
            say("The time is up. The same command goes on from here.")
            return
        if results.has(name, fraction, method, split):
            continue
        data = load_split(name, fraction, split, options.data)
        points, took = run_method(method, data, split)
        results.add(name, fraction, method, split, points, took)
        best = 100 * max(accuracy for _, accuracy in points)
        say(f"{name}, {fraction}, split {split}, {method}: best {best:.1f} in {took:.1f} s")


def draw(results, options):
    """Figures 3 and 4, of the methods that were run on their sets."""
    # Drawing is loaded last: the measurements need no matplotlib.
    from plot import STYLES, draw_curves, draw_use

    draw_curves(results, options.output / "datumwise_figure3.png")
    name, fraction = FIGURE4
    methods = [m for m in STYLES if results.has(name, fraction, m, 0)]
    if methods:
        data = load_split(name, fraction, 0, options.data)
        with threadpool_limits(1):
            uses = {m: find_use(m, data, 0, 0.5) for m in methods}
        title = f"{name}, training share {fraction}, sparsity near 0.5"
        draw_use(uses, title, options.output / "datumwise_figure4.png")


def list_tasks(options):
    """Data set, fraction, split and method, in the order in which they are run."""
    tasks = [
        (name, fraction, split)
        for name in options.sets
        for fraction in fractions_of(name)
        for split in range(options.splits + 2 * (fraction == TARGET_FRACTION))
    ]

    def rank(task):
        name, fraction, split = task
        return fraction != TARGET_FRACTION, name not in TARGET_SETS, split

    for task in sorted(tasks, key=rank):
        for method in options.methods:
            yield *task, method


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--splits",
        type=int,
        default=3,
        help="splits of every training fraction; two more of one half (default: 3)",
    )
    parser.add_argument("--data", help="data folder (default: $TAMIS_DATA or ../shared/data)")
    parser.add_argument("--sets", default=",".join(SETS), help="with commas (default: all)")
    parser.add_argument("--methods", default=",".join(METHODS), help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    for name, known in (("sets", SETS), ("methods", tuple(METHODS))):
        chosen = getattr(options, name).split(",")
        setattr(options, name, chosen)
        unknown = [choice for choice in chosen if choice not in known]
        if unknown:
            parser.error(f"--{name} has {unknown[0]!r}; there are {', '.join(known)}")
    if options.splits < 1:
        parser.error(f"--splits must be >= 1, got {options.splits}")
    return options


def say(message):
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
