"""Hand-overs between modules in `tamis fit` and `tamis predict`, beside an earlier commit.

    python benchmarks/house/boundaries.py
    python benchmarks/house/boundaries.py --tree ../other-checkout --commit 37a6c1c

Three commands run on scikit-learn's breast-cancer table (a CSV file, classes 0 and 1 in the last
column), each in a fresh process, through `tamis.cli.main` and under `sys.setprofile`:

    tamis fit bc.csv --target target --methods centers --folds 3 --n-jobs 1 -o RUN
    tamis fit bc.csv --target target --n-jobs 1 -o RUN2                     ("default")
    tamis predict RUN bc.csv -o predictions.csv

How calls are counted:

- Functions are Python functions of tamis that are entered: methods, properties and local functions
  included. Lambdas, comprehensions and generator expressions, bodies of modules and classes, and
  what these call, are left out; compiled kernels and other threads are invisible.
- The caller of a function is the nearest function of tamis on the stack, so that a call that
  passes through a library (joblib, scikit-learn) counts as one.
- A hand-over is a function with at least one caller in another module, counted once however many
  callers it has; between rooms, with a caller in another room. Rooms are the packages and modules
  directly below `tamis`.
- Pairs are the pairs of caller and called function in different modules (or rooms).

On commit 37a6c1c the review counted 333 functions, 59 modules, 8 rooms, 182 hand-overs and 52
between rooms for `fit`, and 141, 33, 6, 66 and 18 for `predict`. Counting hand-overs once per
called function gives 328, 59, 9, 179 and 53, and exactly 141, 33, 6, 66 and 18. Counting once per
pair gives 263 and 90 in place of 182 and 66. Both counts are printed.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from commits import ROOT, export_commit

COMMANDS = {
    "fit": "fit bc.csv --target target --methods centers --folds 3 --n-jobs 1 -o run",
    "default": "fit bc.csv --target target --n-jobs 1 -o run2",
    "predict": "predict run bc.csv -o predictions.csv",
}
COUNTS = (
    "functions",
    "modules",
    "rooms",
    "hand-overs between modules",
    "hand-overs between rooms",
    "pairs between modules",
    "pairs between rooms",
)


def probe(output, words):
    """Run one command in this process and write its calls, as pairs of functions, to `output`."""
    import tamis.cli

    package = Path(tamis.cli.__file__).parents[1]
    inside = str(package) + os.sep
    pairs = set()

    def record(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            caller = frame.f_back
            while caller is not None and not caller.f_code.co_filename.startswith(inside):
                caller = caller.f_back
            pairs.add((caller and caller.f_code, frame.f_code))

    sys.setprofile(record)
    try:
        code = tamis.cli.main(words)
    finally:
        sys.setprofile(None)
    named = [(_describe(caller, package), _describe(called, package)) for caller, called in pairs]
    Path(output).write_text(json.dumps({"package": str(package), "pairs": named}))
    return code


def _describe(code, package):
    """Module, name, line and kind of a code object."""
    if code is None:
        return None
    name = code.co_qualname
    if not code.co_flags & inspect.CO_OPTIMIZED:
        kind = "body"
    elif "<" in name.replace("<locals>", ""):
        kind = "inner"
    else:
        kind = "function"
    module = Path(code.co_filename).relative_to(package).as_posix()
    return module, name, code.co_firstlineno, kind


def count(pairs):
    """The seven counts of a traced command."""
    functions, crossings = set(), set()
    for caller, called in pairs:
        if called[3] != "function" or (caller is not None and caller[3] == "body"):
            continue
        functions.add(tuple(called))
        if caller is not None and caller[3] == "function" and caller[0] != called[0]:
            crossings.add((tuple(caller), tuple(called)))
    between_rooms = {(a, b) for a, b in crossings if _room(a) != _room(b)}
    numbers = (
        len(functions),
        len({module for module, *_ in functions}),
        len({_room(function) for function in functions}),
        len({called for _, called in crossings}),
        len({called for _, called in between_rooms}),
        len(crossings),
        len(between_rooms),
    )
    return dict(zip(COUNTS, numbers, strict=True))


def _room(function):
    return function[0].split("/")[0]


def measure(tree):
    """Trace the commands with the sources in `tree`; returns counts for each."""
    counts = {}
    source = Path(tree).resolve() / "src"
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        _write_table(Path(folder) / "bc.csv")
        for name, words in COMMANDS.items():
            output = Path(folder) / f"{name}.json"
            script = [sys.executable, __file__, "--probe", output, "--", *words.split()]
            done = subprocess.run(
                script, cwd=folder, env=environment, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise SystemExit(f"tamis {words} failed in {tree}:\n{done.stderr}")
            traced = json.loads(output.read_text())
            if Path(traced["package"]) != source / "tamis":
                raise SystemExit(f"traced {traced['package']} in place of {source / 'tamis'}.")
            counts[name] = count(traced["pairs"])
    return counts


def _write_table(path):
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join([*data.feature_names, "target"]) + "\n")
        for row, label in zip(data.data.tolist(), data.target.tolist(), strict=True):
            file.write(",".join(map(str, [*row, label])) + "\n")


def report(before, now):
    lines = [f"{'':36s}{'before':>8s}{'now':>8s}{'now / before':>14s}"]
    for name in COMMANDS:
        for what in COUNTS:
            old, new = before[name][what], now[name][what]
            lines.append(f"{name + ': ' + what:36s}{old:8d}{new:8d}{new / old:14.2f}")
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", default=ROOT, help="checkout to measure (default: this one)")
    parser.add_argument("--commit", default="37a6c1c", help="the earlier commit")
    parser.add_argument("--cache", help="folder that keeps the files of the earlier commit")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.probe:
        return probe(arguments.probe, arguments.words)
    with tempfile.TemporaryDirectory() as folder:
        old = export_commit(arguments.commit, arguments.cache or folder)
        before = measure(old)
    now = measure(arguments.tree)
    print(report(before, now))
    return 0


if __name__ == "__main__":
    sys.exit(main())
