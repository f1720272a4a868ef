"""CPU time of a path of landmark searches over the number of features, on breast cancer.

One search for each of 1, 2, 4, 8, 16 and 30 features, as the comparison walks along it: all levels
by `LandmarkSearchCV.fit_path`, against one `fit` per level. Both give the same ensembles. To
compare with another version, run this file with that version installed: where `fit_path` is
missing, only the second time is printed.

Run: python benchmarks/speed/landmark_paths.py
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import f_classif

from tamis import LandmarkSearchCV

LEVELS = (1, 2, 4, 8, 16, 30)
OPTIONS = {
    "space": {"scaling": ["standard"]},
    "n_configurations": 64,
    "vote": "soft",
    "class_weight": "balanced",
    "cv": 3,
    "random_state": 0,
}


def path_at_once(X, y, order):
    return LandmarkSearchCV(**OPTIONS).fit_path(X, y, LEVELS, feature_order=order)


def one_at_a_time(X, y, order):
    return [LandmarkSearchCV(**OPTIONS).fit(X[:, np.sort(order[:k])], y) for k in LEVELS]


def best_cpu_time(task, *arguments, repeats=5):
    task(*arguments)  # compiles
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def main():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.argsort(-f_classif(X, y)[0], kind="stable")
    alone = best_cpu_time(one_at_a_time, X, y, order)
    print(f"569 x 30, levels {LEVELS}: one fit per level {alone:.2f} s of CPU time")
    if hasattr(LandmarkSearchCV, "fit_path"):
        together = best_cpu_time(path_at_once, X, y, order)
        print(f"fit_path {together:.2f} s, {together / alone:.2f} of that")


if __name__ == "__main__":
    main()
