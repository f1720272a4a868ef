"""Speed of datum-wise classification: the paper's learner, the forest learner, paths.

One command, one thread: ``python benchmarks/speed/datumwise.py`` (``--quick`` for small sizes,
``--forest`` for the forest learner alone).
Training is 2,000 states and 10 iterations at the default cost weight. The plain implementation
goes through states and actions one at a time with NumPy and fits every action by itself; it is
measured on a few states and actions of one iteration, with the learned policy, and scaled up.
The forest learner is compared with a forest of scikit-learn on all features, and a path of 12 cost
weights with one of them.
"""

import argparse
import os
import pickle
import time

# ruff: noqa: E402
for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from timing import best_times

from tamis import DatumWiseClassifier
from tamis.datumwise.candidates import standardize

N_STATES, N_ITERATIONS = 2_000, 10
TARGETS = {60: 1.0, 200: 8.0}  # seconds


def make_data(n_features, n_samples=1_000):
    return make_classification(
        n_samples,
        n_features,
        n_informative=10,
        n_redundant=0,
        class_sep=1.5,
        random_state=0,
    )


def time_training(n_features, order, repeats):
    X, y = make_data(n_features)
    model = DatumWiseClassifier("linear", order=order, random_state=0)
    seconds = best_times({"fit": lambda: model.fit(X, y)}, repeats)["fit"]
    verdict = ""
    if n_features in TARGETS:
        target = TARGETS[n_features]
        verdict = f"target <={target:g} s {'met' if seconds <= target else 'NOT MET'}"
    asked = f"{model.mean_n_features_:.1f} questions a sample, {model.score(X, y):.3f} right"
    print(
        f"training, {n_features:>5} features, {order:>5} order: {seconds:7.2f} s  "
        f"({asked})  {verdict}",
        flush=True,
    )
    return model, X, y, seconds


def plain_return(x, code, mask, action, theta, n_classes, cost_weight):
    """Return of one action: every score from scratch at every step."""
    mask, cost = mask.copy(), cost_weight
    mask[action] = True
    while True:
        phi = np.concatenate([mask, mask * x, [1.0]])
        scores = theta @ phi
        scores[n_classes:][mask] = -np.inf
        best = int(scores.argmax())
        if best < n_classes:
            return -cost - (best != code)
        mask[best - n_classes] = True
        cost += cost_weight


def plain_seconds(model, X, y, n_states, n_actions):
    """Seconds of the plain implementation for all states, actions and iterations."""
    policy = model.policy_
    theta = np.vstack([policy.for_known, policy.for_value, policy.bias]).T
    n_classes, n = policy.n_classes, policy.columns.size
    values = standardize(X[:, policy.columns], policy.scaling)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, y.size, N_STATES)
    masks = rng.random((N_STATES, n)) < rng.random((N_STATES, 1))
    start = time.perf_counter()
    for i, mask in zip(rows[:n_states], masks[:n_states], strict=True):
        for action in range(n):
            before = mask.copy()
            before[action] = False
            plain_return(values[i], y[i], before, action, theta, n_classes, model.cost_weight)
    of_states = (time.perf_counter() - start) * N_STATES / n_states
    phi = np.hstack([masks, masks * values[rows], np.ones((N_STATES, 1))])
    start = time.perf_counter()
    for action in range(n_actions):
        own = phi.copy()
        own[:, [action, n + action]] = 0.0
        np.linalg.solve(own.T @ own + 2.0 * np.eye(phi.shape[1]), own.T @ rng.random(N_STATES))
    of_fits = (time.perf_counter() - start) * (n + n_classes) / n_actions
    return N_ITERATIONS * (of_states + of_fits)


def compare_with_plain(model, X, y, seconds, n_states, n_actions):
    plain = plain_seconds(model, X, y, n_states, n_actions)
    print(
        f"    plain NumPy, one state and action at a time: {plain:.0f} s, from {n_states} of "
        f"{N_STATES} states and {n_actions} regressions; {plain / seconds:.0f} times as long",
        flush=True,
    )


def time_inference(model, X, y, repeats):
    linear = LogisticRegression(max_iter=1000).fit(X, y)
    rows = np.resize(np.arange(X.shape[0]), 20_000)
    many = X[rows]
    seconds = best_times(
        {"ours": lambda: model.predict(many), "linear": lambda: linear.predict(many)}, repeats
    )
    ours, theirs = (1e6 * seconds[name] / rows.size for name in ("ours", "linear"))
    print(
        f"    inference: {ours:.2f} microseconds a sample, {ours / theirs:.1f} times "
        f"LogisticRegression.predict",
        flush=True,
    )


def time_path(learner, n_samples, n_features):
    """Seconds of one fit, and of a path of 12, with scikit-learn's trees beside them."""
    X, y = make_data(n_features, n_samples)
    model = DatumWiseClassifier(learner, random_state=0)
    weights = np.geomspace(0.1, 1e-3, 12)
    seconds = best_times(
        {
            "one": lambda: model.fit(X, y),
            "path": lambda: model.fit_path(X, y, weights),
            "trees": lambda: ExtraTreesClassifier(500, random_state=0).fit(X, y),
        },
        1,
    )
    print(
        f"{learner:>6}, {n_samples:>5} rows, {n_features:>3} features: one cost weight "
        f"{seconds['one']:.2f} s, 12 of them {seconds['path']:.2f} s "
        f"({seconds['path'] / seconds['one']:.1f} times one), 500 trees of scikit-learn "
        f"{seconds['trees']:.2f} s (one: {seconds['one'] / seconds['trees']:.1f} times that); "
        f"the model takes {len(pickle.dumps(model)) / 1e6:.1f} MB",
        flush=True,
    )
    return model, X, y


def time_linear(quick):
    """All cases of the paper's learner."""
    for n_features in (20, 40) if quick else (60, 200, 500, 2_000):
        for order in ("free", "fixed"):
            few = n_features <= 200
            model, X, y, seconds = time_training(n_features, order, 3 if few else 1)
            time_inference(model, X, y, 5)
            if order == "free" and few:
                compare_with_plain(model, X, y, seconds, 20, 5)
    time_path("linear", 300 if quick else 1_000, 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: a look, no verdict")
    parser.add_argument("--forest", action="store_true", help="only the forest learner")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if not arguments.forest:
            time_linear(arguments.quick)
        for n_samples, n_features in [(300, 10)] if arguments.quick else [(300, 20), (3_000, 20)]:
            model, X, y = time_path("forest", n_samples, n_features)
            time_inference(model, X, y, 1 if arguments.quick else 3)


if __name__ == "__main__":
    main()
