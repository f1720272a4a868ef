"""Speed of the guarantees on 118 x 22,215 values, as ratios measured in the same run.

One command, one thread: ``python benchmarks/speed/guarantees.py``. Times are processor time, the
best of several repetitions.
"""

import os
import time

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from tamis import SparseCenterClassifier
from tamis.guarantees import NearOptimalPanels, StableSelector, true_features


def best_time(task, n_times=5):
    task()
    taken = []
    for _ in range(n_times):
        start = time.process_time()
        task()
        taken.append(time.process_time() - start)
    return min(taken) * 1e3


def main():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(118, 22_215)), np.repeat([0, 1], [57, 61])
    X[y == 1, :20] += 1.2
    for metric, n_times in (("l2", 5), ("l1", 2)):
        model = SparseCenterClassifier(10, metric=metric).fit(X, y)
        fit = best_time(lambda m=model: m.fit(X, y), n_times)
        rank = best_time(lambda g=model.gains_: np.argsort(-g, kind="stable"))
        selector = StableSelector(SparseCenterClassifier(metric=metric), random_state=0)
        halves = best_time(lambda s=selector: s.fit(X, y), n_times)
        peer = 15 * fit + 100 * rank
        print(
            f"{metric}: 100 half-samples {halves:.0f} ms / 15 fits and 100 rankings {peer:.0f} ms "
            f"= {halves / peer:.2f}   target <= 1"
        )
    gains = model.gains_
    panels = best_time(lambda: NearOptimalPanels(gains, 10, 0.02).first(20), 50)
    print(f"20 near-optimal panels of 10 features: {panels:.2f} ms   target < 1")
    test = best_time(lambda: true_features(X, y, random_state=0), 1)
    print(f"true_features, 1,000 permutations: {test / 1e3:.1f} s")


if __name__ == "__main__":
    main()
