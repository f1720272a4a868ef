"""Seconds until the first fit of a new process is done, with nothing compiled before.

Every measurement is a process of its own, with one thread and an empty folder for compiled code
(``NUMBA_CACHE_DIR``). "import" is everything up to the estimator's class, numpy and scikit-learn
included; "fit" is the first fit on the breast cancer data, or on the large matrix that the line
names. Seconds are processor time, so that other work on the machine hardly matters; the last
column is time on the clock. The best of several processes counts. "again" is a second fit: the
difference is what the first one spends on compiling.

Run: python benchmarks/speed/first_fit.py
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

# Estimator, data, and the target for import and first fit together.
CASES = [
    ("SparseCenterClassifier()", "breast cancer", 3.0),
    ("SparseCenterClassifier()", "dense 20000 x 500", 3.0),
    ("SparseCenterClassifier()", "CSR 100000 x 10000", 3.0),
    ("SparseCenterClassifier(metric='l1')", "breast cancer", None),
    ("LandmarkSearchCV()", "breast cancer", 8.0),
]
# Runs in the new process; making the data does not count.
SCRIPT = """
import json, sys, time
clocks = time.process_time, time.perf_counter
def now():
    return [clock() for clock in clocks]
call, data = sys.argv[1:]
marks = [now()]
exec("from tamis import " + call.partition("(")[0])
marks.append(now())
import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer
if data == "breast cancer":
    X, y = load_breast_cancer(return_X_y=True)
else:
    rng = np.random.default_rng(0)
    n, m = (int(part) for part in data.split()[1:4:2])
    y = rng.integers(0, 2, n)
    if data.startswith("dense"):
        X = rng.normal(size=(n, m))
    else:
        X = sparse.random_array((n, m), density=0.001, rng=rng, format="csr")
estimator = eval(call)
for _ in range(2):
    marks.append(now())
    estimator.fit(X, y)
    marks.append(now())
print(json.dumps([[b - a for a, b in zip(*pair)] for pair in zip(marks[::2], marks[1::2])]))
"""


def measure(call, data):
    """Processor and clock seconds of import, first and second fit, in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = {**os.environ, **one, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, call, data],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="processes per line")
    arguments = parser.parse_args()
    print("First fit of a new process, empty cache of compiled code, one thread: seconds of")
    print(f"processor time, best of {arguments.repeats} (last column: time on the clock)")
    print(f"{'':<52}{'import':>8}{'fit':>8}{'both':>8}{'again':>8}{'clock':>8}")
    for call, data, target in CASES:
        runs = [measure(call, data) for _ in range(arguments.repeats)]
        best = min(runs, key=lambda run: run[0][0] + run[1][0])
        (imported, clock), (first, clock_of_fit), (again, _) = best
        total, verdict = imported + first, ""
        if target is not None:
            verdict = f"   target <={target:g} {'met' if total <= target else 'NOT MET'}"
        numbers = (imported, first, total, again, clock + clock_of_fit)
        row = "".join(f"{seconds:8.2f}" for seconds in numbers)
        print(f"{f'{call}, {data}':<52}{row}{verdict}", flush=True)


if __name__ == "__main__":
    main()
