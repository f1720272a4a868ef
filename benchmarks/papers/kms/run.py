"""Run the experiments of Ortiz-Bejar et al. (arXiv 1907.06258) and write ours beside theirs.

    python benchmarks/papers/kms/run.py --splits 100 --data DIR

writes kms.json, kms.md and kms_figure5.png and prints the Markdown. Every finished run is saved;
the same command goes on where an interrupted one stopped. Remove the JSON file to begin again.
Splits go around the data sets, so that a run that ``--minutes`` ends has about as many of each.
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
from datasets import COLLECTIONS, collection_of, load_split, n_rows, n_splits
from methods import FEW, FIGURE5, RIVALS, SCALERS, TABLE3, run_method
from records import Results
from report import RANKED, write_report
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
EXPERIMENTS = ("core", "table3", "few", "figure5", "soft", "auto", "extended", "table5")


def main(arguments=None):
    options = parse(arguments)
    try:
        for names in COLLECTIONS.values():
            for name in names:
                n_splits(name, 1, options.data)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    results = Results(options.output / "kms.json", {"seed": "split number"})
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
    # Drawing is loaded last: the measurements need no matplotlib.
    from plot import draw_ranks

    draw_ranks(results, COLLECTIONS, RANKED, options.output / "kms_figure5.png")
    print(report)
    return 0


def measure(results, options, end):
    for name, split, method in list_tasks(options):
        if perf_counter() > end:
            say("The time is up. The same command goes on from here.")
            return
        if results.has(name, method, split) or split >= n_splits(name, split + 1, options.data):
            continue
        seconds = None
        if method in RIVALS:
            seconds = results.seconds(name, "extended", split)
        data = load_split(name, split, options.data, method in RIVALS or method == "extended")
        errors, took = run_method(method, data, split, seconds)
        for method, error in errors.items():
            results.add(name, method, split, error, took, data.y_train.size)
            say(f"{name}, split {split}, {method}: {100 * error:.2f} in {took:.1f} s")


def list_tasks(options):
    """Data set, split and method, in the order in which they are run."""
    for split in range(options.splits):
        for experiment in options.only:
            for collection in options.collections:
                # The small sets first.
                sizes = {name: n_rows(name, options.data) for name in COLLECTIONS[collection]}
                for name in sorted(sizes, key=sizes.get):
                    if options.sets and name not in options.sets.split(","):
                        continue
                    for method in methods_of(experiment, name, split):
                        yield name, split, method


def methods_of(experiment, name, split):
    is_uci = collection_of(name) == "uci"
    if experiment == "table5":
        # Long, so one split. The raw column is that of Figure 5.
        scaled = [f"{m} @{s}" for s in SCALERS if s != "raw" for m in ("KMSE RS", *FIGURE5)]
        return scaled if is_uci and split == 0 else []
    return {
        "core": ["KMSE RS"],
        # The paper did not run the grid on the UCI sets either.
        "table3": [m for m in TABLE3 if not (is_uci and m == "KMSE GS")],
        "few": list(FEW) if is_uci else [],
        "figure5": list(FIGURE5),
        "soft": ["balanced soft"],
        "auto": ["KMSE auto"],
        "extended": ["extended", *RIVALS],
    }[experiment]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=100, help="splits (default: 100)")
    parser.add_argument("--data", help="data folder (default: $TAMIS_DATA or ../shared/data)")
    parser.add_argument(
        "--only",
        default=",".join(EXPERIMENTS),
        help="experiments, with commas (default: %(default)s)",
    )
    parser.add_argument(
        "--collections", default=",".join(COLLECTIONS), help="default: %(default)s"
    )
    parser.add_argument("--sets", help="data sets, with commas (default: all)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    for name, known in (("only", EXPERIMENTS), ("collections", tuple(COLLECTIONS))):
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
