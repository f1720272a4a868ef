"""The losses of the poster's table, with the settings they are run with."""

import warnings
from time import process_time

import numpy as np
from norm_loss import NormClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from tamis import PrimalDualClassifier

TOL = 1e-3
N_FOLDS = 4
LONGER = 100  # iterations of Algorithm 1, instead of 30
LEAST, MOST = 0.01, 1000.0  # radii

# What the authors' program has, in our words.
_PUBLISHED = {"rho": 1.0, "huber_delta": 1.0, "class_weight": None}
SETTINGS = {
    "published": {**_PUBLISHED, "algorithm": "paper", "max_iter": 30},
    "converged": {**_PUBLISHED, "tol": TOL},
    "tamis": {"tol": TOL},
}
METHODS = {
    "l1": {"loss": "l1"},
    "Huber, fixed centers": {"loss": "huber", "adaptive_centers": False},
    "Huber": {"loss": "huber"},
    "Frobenius squared": {"loss": "frobenius"},
    "Frobenius norm": {"loss": "frobenius"},
}


def methods_of(setting):
    """Methods run with a setting; the norm has only the paper's algorithm."""
    return [m for m in METHODS if setting == "published" or m != "Frobenius norm"]


def make_model(setting, method, max_iter):
    """An untrained classifier; `max_iter` is for the settings that converge."""
    kind = NormClassifier if method == "Frobenius norm" else PrimalDualClassifier
    parameters = {"max_iter": max_iter, **METHODS[method], **SETTINGS[setting]}
    return kind(head="projection", warm_start=setting != "published", **parameters)


def outer_folds(X, y, repeat, seed):
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed + repeat)
    return list(folds.split(X, y))


def evaluate(info, X, y, setting, method, repeat, fold, seed=0):
    """One outer fold: the radius is chosen in its training part, by accuracy.

    The record also has the test accuracy at every radius of the grid: what could have been
    published, had the radius been picked by eye.
    """
    start = process_time()
    train, test = outer_folds(X, y, repeat, seed)[fold]
    A, b = X[train], y[train]
    if info.inner_folds > 1:
        inner = StratifiedKFold(info.inner_folds, shuffle=True, random_state=seed)
    else:
        inner = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
    parts = [
        (make_model(setting, method, info.max_iter), A[t], b[t], A[v], b[v])
        for t, v in inner.split(A, b)
    ]

    def score(radius):
        fits = [(m.set_params(radius=radius).fit(C, c), D, d) for m, C, c, D, d in parts]
        return np.mean([accuracy_score(d, model.predict(D)) for model, D, d in fits])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collapsed and unfinished fits: the records show them
        radii, best = search(info.radii, score)
        curve = {}
        model = make_model(setting, method, info.max_iter)
        for radius in radii:  # in the order of the search: a warm start can lead elsewhere
            model.set_params(radius=radius).fit(A, b)
            found = model.predict(X[test])
            curve[f"{radius:g}"] = round(float(accuracy_score(y[test], found)), 5)
            if radius == best:
                record = {
                    "accuracy": curve[f"{radius:g}"],
                    "balanced": round(float(balanced_accuracy_score(y[test], found)), 5),
                    "features": model.n_features_,
                    "radius": radius,
                    "gap": float(f"{model.relative_gap_:.3g}"),
                }
    return {**record, "curve": curve, "seconds": round(process_time() - start, 2)}


def iterate_longer(X, y, method, radius, fold, seed=0):
    """Test accuracy of Algorithm 1 after `LONGER` iterations, in one fold of the first repeat."""
    train, test = outer_folds(X, y, 0, seed)[fold]
    model = make_model("published", method, LONGER).set_params(max_iter=LONGER, radius=radius)
    found = model.fit(X[train], y[train]).predict(X[test])
    return {"accuracy": round(float(accuracy_score(y[test], found)), 5), "radius": radius}


def search(radii, score):
    """Radii in half decades, in the order in which they were tried, and the best of them.

    The grid grows as long as the best radius is at one of its ends, from `LEAST` to `MOST`.
    """
    scores = {radius: score(radius) for radius in radii}
    while True:
        best = max(sorted(scores), key=scores.get)  # the first of equals: the smaller radius
        if best == min(scores) and best > LEAST:
            place = -1
        elif best == max(scores) and best < MOST:
            place = 1
        else:
            return list(scores), best
        new = float(f"{10 ** ((round(2 * np.log10(best)) + place) / 2):.4g}")
        scores[new] = score(new)
