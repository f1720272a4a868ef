"""What a newcomer waits for: the environment, the first run, the first fit, the first prediction.

Everything starts from nothing: a fresh clone of the last commit, a new environment without cached
downloads, an empty folder for compiled code (``NUMBA_CACHE_DIR``). Every line has processor
seconds, of all processes together, and seconds on the clock; "compiling" is the part of the
processor seconds in which numba compiles, in every process (a ``sitecustomize`` in front of the
path listens to numba's own events). First fits and predictions run on one thread and without
their imports, each in a process of its own.

Run: python benchmarks/speed/first_run.py            (the demo, first fits, imports: minutes)
     python benchmarks/speed/first_run.py --tests    (also `make test`, twice)
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).parents[2]
RESULTS = HOME / "benchmarks" / "results" / "speed_first_run.txt"

# Estimators of 200 x 30 with their defaults.
ESTIMATORS = (
    "tamis.SparseCenterClassifier",
    "tamis.SparseCenterClassifierCV",
    "tamis.PrimalDualClassifier",
    "tamis.PrimalDualClassifierCV",
    "tamis.LandmarkTransformer",
    "tamis.LandmarkClassifier",
    "tamis.LandmarkSearchCV",
    "tamis.DatumWiseClassifier",
    "tamis.DatumWiseClassifierCV",
    "tamis.PanelClassifier",
    "tamis.PanelClassifierCV",
    "tamis.selectors.OddsRatioSelector",
    "tamis.selectors.SparseNaiveBayesSelector",
    "tamis.guarantees.StableSelector",
    "tamis.guarantees.ConformalClassifier",
)
GOAL_OF_A_FIT = 3.0

FIT = """
import importlib, sys, time
import numpy as np
module, _, name = sys.argv[1].rpartition(".")
estimator = getattr(importlib.import_module(module), name)
rng = np.random.default_rng(0)
y = np.arange(200) % 2
X = rng.normal(size=(200, 30))
X[:, :5] += y[:, None]
if name == "OddsRatioSelector" or name == "SparseNaiveBayesSelector":
    X = (X > 0.5).astype(float)
if name in ("StableSelector", "ConformalClassifier"):
    from tamis import SparseCenterClassifier
    estimator = estimator(SparseCenterClassifier(5))
else:
    estimator = estimator()
for _ in range(2):
    start = time.process_time()
    estimator.fit(X, y)
    print(time.process_time() - start)
"""

# Adds up the seconds of numba's compilations that are not inside another one.
LISTENER = '''
import atexit, os, sys, time

class Finder:
    """Listens to numba's events as soon as its module of events is there."""

    def find_spec(self, name, path=None, target=None):
        if name != "numba.core.event":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            listen(module)
        spec.loader.exec_module = exec_module
        return spec

def listen(event):
    state = {"depth": 0, "start": 0.0, "seconds": 0.0}
    class Listener(event.Listener):
        def on_start(self, _):
            if state["depth"] == 0:
                state["start"] = time.thread_time()
            state["depth"] += 1
        def on_end(self, _):
            state["depth"] -= 1
            if state["depth"] == 0:
                state["seconds"] += time.thread_time() - state["start"]
                with open(os.path.join(os.environ["COMPILING"], str(os.getpid())), "w") as file:
                    file.write(str(state["seconds"]))
    event.register("numba:compile", Listener())

sys.meta_path.insert(0, Finder())
'''


class Lines:
    """Prints lines, and keeps them for the results file."""

    def __init__(self):
        self.lines = []

    def add(self, name, *seconds, goal=None):
        """One measurement: processor seconds, clock seconds, seconds of compiling; its goal."""
        text = (
            f"{name:<52}"
            + "".join(f"{value:9.2f}" for value in seconds[:2])
            + f"{seconds[2]:10.2f}"
        )
        if goal is not None:
            column, most = goal
            text = f"{text:<79}   goal {most:g} {'met' if seconds[column] <= most else 'NOT MET'}"
        self.say(text)

    def say(self, text=""):
        print(text, flush=True)
        self.lines.append(text)


def measure(command, folder, environment):
    """Processor, clock and compiling seconds of a command with all its processes; its output."""
    with tempfile.TemporaryDirectory() as compiling:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "COMPILING": compiling},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        clock = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = sum(float(path.read_text()) for path in Path(compiling).iterdir())
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (cpu, clock, seconds), done.stdout


def with_listener(folder):
    """An environment whose processes count compilation and have an empty cache."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(LISTENER)
    (folder / "cache").mkdir()
    hidden = ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return {
        **environment,
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "UV_CACHE_DIR": str(folder / "uv"),
        "PIP_NO_CACHE_DIR": "1",
    }


def measure_demo(lines, folder):
    """The environment, the first and the second `make demo` in a bare clone."""
    environment = with_listener(folder / "demo")
    clone = folder / "tamis"
    subprocess.run(["git", "clone", "--quiet", str(HOME), str(clone)], check=True)
    made, _ = measure(["make", ".venv/.demo-installed"], clone, environment)
    lines.add("environment of make demo", *made, goal=(1, 15))
    first, _ = measure(["make", "demo"], clone, environment)
    lines.add("the run of the first make demo", *first, goal=(2, 20))
    lines.add(
        "make demo from a bare clone, in all",
        *map(sum, zip(made, first, strict=True)),
        goal=(1, 50),
    )
    second, _ = measure(["make", "demo"], clone, environment)
    lines.add("the second make demo", *second, goal=(1, 12))
    return clone, environment


def measure_starts(lines, clone, environment):
    """Imports, the help, and the first prediction from a saved model, when all is compiled."""
    python = str(clone / ".venv" / "bin" / "python")
    tamis = str(clone / ".venv" / "bin" / "tamis")
    lines.add(
        "import tamis", *_best([python, "-c", "import tamis"], clone, environment), goal=(1, 0.3)
    )
    lines.add("tamis --help", *_best([tamis, "--help"], clone, environment), goal=(1, 0.3))
    lines.add(
        "import sklearn.base", *_best([python, "-c", "import sklearn.base"], clone, environment)
    )
    write = (
        "from sklearn.datasets import load_breast_cancer as load; data = load(); import csv, sys; "
    )
    write += (
        "out = csv.writer(open(sys.argv[1], 'w')); out.writerow([*data.feature_names, 'target']); "
    )
    write += "out.writerows([*row, label] for row, label in zip(data.data, data.target))"
    table = str(clone / "cancer.csv")
    subprocess.run([python, "-c", write, table], check=True)
    fit = [tamis, "fit", table, "--target", "target", "--methods", "panel", "-o", "run"]
    measure(fit, clone, environment)
    predict = [tamis, "predict", "run", table]
    lines.add("tamis predict, saved panel", *_best(predict, clone, environment), goal=(1, 1))


def _best(command, folder, environment, repeats=3):
    runs = [measure(command, folder, environment)[0] for _ in range(repeats)]
    return min(runs)


def measure_fits(lines, folder, clone):
    """First and second fit of every estimator, with an empty cache, on one thread."""
    python = str(clone / ".venv" / "bin" / "python")
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    heading = "processor seconds of fit on 200 x 30, defaults"
    lines.say(f"\n{heading:<52}{'first':>9}{'second':>9}{'compiling':>10}")
    for number, name in enumerate(ESTIMATORS):
        environment = {**with_listener(folder / f"fit{number}"), **one}
        (_, _, compiling), output = measure([python, "-c", FIT, name], clone, environment)
        first, second = (float(line) for line in output.split())
        lines.add(name, first, second, compiling, goal=(0, GOAL_OF_A_FIT))


def measure_tests(lines, clone, environment):
    """`make test` twice, the first time with nothing compiled and only the demo's environment."""
    folder = clone.parent / "tests"
    environment = {**environment, **with_listener(folder)}
    for name, goal in (("make test, nothing compiled", 420), ("make test again", 240)):
        lines.add(name, *measure(["make", "test"], clone, environment)[0], goal=(1, goal))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="measure `make test`, too")
    arguments = parser.parse_args()
    lines = Lines()
    lines.say(f"First contact, {os.cpu_count()} cores; load before: {os.getloadavg()[0]:.1f}")
    lines.say(f"{'seconds':<52}{'processor':>9}{'clock':>9}{'compiling':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clone, environment = measure_demo(lines, folder)
        measure_starts(lines, clone, environment)
        measure_fits(lines, folder, clone)
        if arguments.tests:
            lines.say()
            measure_tests(lines, clone, environment)
    RESULTS.write_text("\n".join(lines.lines) + "\n")


if __name__ == "__main__":
    main()
