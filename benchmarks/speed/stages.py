"""Where the CPU seconds of `tamis fit` go: per method and stage.

    python benchmarks/speed/comparison.py --stages cancer,some-genes,digits,mixed,million

runs this file once for each table, when everything is compiled. A line is a method in one stage:
"cv" are the outer folds, in which the choice is made, "whole-cv" and other names further folds.
The last lines are the parts of `tamis fit` that belong to no method.
"""

import contextlib
import io
import resource
import sys
import time
from collections import Counter

START = time.process_time()
# Module, function, and what it does.
PARTS = (
    ("tamis.comparison.comparing", "prepare", "prepare the table"),
    ("tamis.comparison.comparing", "recommend", "choice and honest score"),
    ("tamis.comparison.comparing", "_check", "checks"),
    ("tamis.cli.fit_command", "save_first", "final model"),
    ("tamis.cli.fit_command", "save_rest", "guarantees"),
    ("tamis.cli.fit_command", "write_page", "report"),
)


def main(arguments):
    """Run `tamis fit` with these arguments, and print what its parts took."""
    from importlib import import_module

    from tamis.cli import fit_command  # noqa: F401 (its imports are counted)
    from tamis.cli.app import main as run
    from tamis.comparison.running import tasks

    spent = Counter({"imports": time.process_time() - START})

    def time_calls(module, name, label):
        function = getattr(module, name)

        def timed(*args, **kwargs):
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[label(*args) if callable(label) else label] += time.process_time() - start

        setattr(module, name, timed)

    def name_tasks(problem, together, *_):
        return f"{' + '.join(task.method for task in together)}, {together[0].stage}"

    time_calls(tasks, "compute_together", name_tasks)
    for module, name, label in PARTS:
        time_calls(import_module(module), name, label)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        failed = run(["fit", *arguments])
    total = time.process_time() - START
    for label, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{label:34s} {seconds:8.2f}")
    print(f"{'everything else':34s} {total - sum(spent.values()):8.2f}")
    print(f"{'in all':34s} {total:8.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'peak memory, MB':34s} {peak:8.0f}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
