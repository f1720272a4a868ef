"""Selections and heads that are compared at equal numbers of features.

A selection gets standardised training samples and class indices and returns the columns for each
number of features. Classes have the same say wherever a method has class weights.
"""

import warnings

import numpy as np
from at_k_data import TUNED
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SequentialFeatureSelector, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.svm import l1_min_c

from tamis import PanelClassifier, PrimalDualClassifier, SparseCenterClassifier
from tamis.heads import fit_logistic
from tamis.panel import best_panels
from tamis.panel.forward import Choices
from tamis.panel.outer import choose_heads
from tamis.panel.selection import Selection
from tamis.panel.settings import fit_settings, settings_of

COUNTS = (1, 2, 3, 5, 8, 12, 20)
_ALPHAS = tuple(10.0**p for p in (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5))


def balanced(y):
    """Weights that give classes the same say."""
    return y.size / ((y.max() + 1) * np.bincount(y)[y])


# Selections.


def rfe(X, y, counts):
    """Logistic-RFE: drop 25 % of the features per step above 120 of them, 8 % below; C = 1."""
    active, found = np.arange(X.shape[1]), {}
    while True:
        if active.size in counts:
            found[active.size] = active
        if active.size <= min(counts):
            return found
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=200)
        size = (model.fit(X[:, active], y).coef_ ** 2).sum(axis=0)
        share = 0.25 if active.size > 120 else 0.08
        n_left = active.size - max(1, int(share * active.size))
        active = active[np.argsort(-size, kind="stable")[:n_left]]


def relaxed_l1(X, y, counts):
    """The order in which features enter the l1-logistic path, one class against the rest."""
    targets = [y == 1] if y.max() == 1 else [y == c for c in range(y.max() + 1)]
    weights, order = balanced(y), []
    start = 0.3 * l1_min_c(X, y, loss="log")
    for C in start * np.geomspace(1, 1e4, 60):
        size = np.zeros(X.shape[1])
        for target in targets:
            model = LogisticRegression(
                C=C, l1_ratio=1.0, solver="liblinear", tol=1e-3, random_state=0
            )
            size += model.fit(X, target, sample_weight=weights).coef_[0] ** 2
        new = np.argsort(-size, kind="stable")
        order += [j for j in new if size[j] > 0 and j not in order]
        if len(order) >= max(counts):
            break
    return {k: np.array(order[:k]) for k in counts if k <= len(order)}


def abess(X, y, counts):
    """Best-subset selection by splicing (needs `pip install abess`)."""
    from abess import linear

    varying = np.flatnonzero(np.ptp(X, axis=0))  # others stop it
    X, found = X[:, varying], {}
    for k in counts:
        if k > X.shape[1]:
            continue
        if y.max() == 1:
            model = linear.LogisticRegression(support_size=[k], thread=1)
            model.fit(X, y, sample_weight=balanced(y))
            size = np.abs(model.coef_)
        else:
            model = linear.MultinomialRegression(support_size=[k], thread=1)
            model.fit(X, np.eye(y.max() + 1)[y], sample_weight=balanced(y))
            size = np.abs(model.coef_).sum(axis=1)
        found[k] = varying[np.flatnonzero(size)]
    return found


def anova(X, y, counts):
    """The largest F statistics."""
    order = np.argsort(-np.nan_to_num(f_classif(X, y)[0]), kind="stable")
    return {k: order[:k] for k in counts if k <= order.size}


def mrmr(X, y, counts):
    """Minimal redundancy, maximal relevance: F over the mean correlation with those chosen."""
    relevance = np.nan_to_num(f_classif(X, y)[0])
    pool = np.argsort(-relevance, kind="stable")[:1000]
    Z = X[:, pool] / np.sqrt((X[:, pool] ** 2).sum(axis=0))
    chosen, redundancy = [0], np.zeros(pool.size)
    while len(chosen) < min(max(counts), pool.size):
        redundancy += np.abs(Z.T @ Z[:, chosen[-1]])
        value = relevance[pool] / np.maximum(redundancy / len(chosen), 1e-3)
        value[chosen] = -np.inf
        chosen.append(int(np.argmax(value)))
    return {k: pool[chosen[:k]] for k in counts if k <= len(chosen)}


def forward(X, y, counts):
    """The forward steps of the panel alone, for their seconds and for equal treatment of heads."""
    n_columns, n_classes = X.shape[1], int(y.max()) + 1
    every = np.arange(n_columns)
    no_limit = Choices(every, every < 0, np.ones(n_columns), 0 * every, n_columns)
    default = PanelClassifier()
    selection = Selection(
        "forward", no_limit, default.alpha, default.n_screened, 5, "balanced", seed=0
    )
    order = selection.order(X, y, np.ones(y.size), n_classes, max(counts))
    return {k: np.sort(order[:k]) for k in counts if k <= order.size}


def optimal(X, y, counts):
    """The panel that fits best, as far as ten seconds of proof go; at most 8 features."""
    return {k: np.sort(best_panels(X, y, k, tolerance=0.0).panels[0]) for k in counts if k <= 8}


def sequential(X, y, counts):
    """scikit-learn's `SequentialFeatureSelector`, forward, by balanced accuracy in five folds."""
    found = {}
    for k in counts:
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=200)
        search = SequentialFeatureSelector(
            model, n_features_to_select=k, scoring="balanced_accuracy", cv=5
        )
        found[k] = np.flatnonzero(search.fit(X, y).get_support())
    return found


def fasterrisk(X, y, counts):
    """The beam search of FasterRisk (needs `pip install fasterrisk requests`), two classes.

    Its second stage, which rounds coefficients to whole numbers, stops with numpy 2.3 and later;
    the heads of the benchmark take its place.
    """
    from fasterrisk.sparseBeamSearch import sparseLogRegModel

    found = {}
    for k in counts:
        search = sparseLogRegModel(X, np.where(y == 1, 1.0, -1.0), intercept=True)
        search.get_sparse_sol_via_OMP(k=k, parent_size=10, child_size=10)
        found[k] = np.flatnonzero(search.get_beta0_betas()[1])
    return found


SELECTIONS = {
    "forward": forward,
    "optimal": optimal,
    "Logistic-RFE": rfe,
    "relaxed l1": relaxed_l1,
    "abess": abess,
    "ANOVA": anova,
    "mRMR": mrmr,
    "sequential": sequential,
    "FasterRisk": fasterrisk,
}

# Heads of the rivals.


def _inner_folds(y):
    n_folds = max(2, min(5, np.bincount(y).min()))
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y))


def tuned_logistic(X, y, X_test):
    """Ridge-logistic regression, the ridge by five inner folds and their balanced log loss."""
    weights, n_classes = balanced(y), y.max() + 1
    loss = np.zeros(len(_ALPHAS))
    for train, test in _inner_folds(y):
        heads = fit_logistic(X[train], y[train], weights[train], n_classes, _ALPHAS)
        for a, head in enumerate(heads):
            decisions = head.decisions(X[test])
            own = decisions[np.arange(test.size), y[test]]
            loss[a] += weights[test] @ (np.logaddexp.reduce(decisions, axis=1) - own)
    best = _ALPHAS[int(np.argmin(loss))]
    return fit_logistic(X, y, weights, n_classes, [best])[0].decisions(X_test).argmax(axis=1)


def automatic(X, y, X_test):
    """The automatic head of the panel, chosen by inner folds on the given features."""
    settings, ones, n_classes = settings_of("auto"), np.ones(y.size), y.max() + 1
    decisions = np.empty((1, len(settings), y.size, n_classes))
    for train, test in _inner_folds(y):
        heads = fit_settings(X[train], y[train], ones[train], n_classes, settings, "balanced", 0)
        for h, head in enumerate(heads):
            decisions[0, h, test] = np.maximum(head.decisions(X[test]), -1e3)
    best = settings[choose_heads(decisions, y, ones, settings)[0].place]
    return (
        fit_settings(X, y, ones, n_classes, [best], "balanced", 0)[0]
        .decisions(X_test)
        .argmax(axis=1)
    )


HEADS = {"logistic": tuned_logistic, "auto": automatic}

# Methods with classifiers of their own: labels of the test rows for each number of features.


def panel(head):
    """`PanelClassifier` with one head for all numbers of features."""

    def predict(X, y, X_test, counts, groups):
        path = PanelClassifier(head=head).fit_path(X, y, counts, groups=groups)
        labels = path.labels(X_test)
        return {int(k): labels[i] for i, k in enumerate(path.levels)}

    return predict


def centers(X, y, X_test, counts, groups):
    """`SparseCenterClassifier`."""
    path = SparseCenterClassifier().fit_path(X, y, counts)
    labels = path.labels(X_test)
    return {int(k): labels[i] for i, k in enumerate(path.levels)}


def primal_dual(X, y, X_test, counts, groups):
    """`PrimalDualClassifier`, the fullest model with at most k features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = PrimalDualClassifier(huber_delta=0.1, tol=1e-3).fit_path(
            X, y, 20, max_features=max(counts)
        )
    labels, found = path.labels(X_test), {}
    for k in counts:
        fitting = np.flatnonzero((path.n_features <= k) & (path.n_features > 0))
        if fitting.size:
            found[k] = labels[fitting[-1]]
    return found


def shrunken_centroids(X, y, X_test, counts, groups):
    """scikit-learn's `NearestCentroid` at the threshold that leaves at most k features."""
    found = {}
    for threshold in np.geomspace(0.05, 60, 60)[::-1]:
        try:
            model = NearestCentroid(shrink_threshold=threshold, priors="uniform").fit(X, y)
        except ValueError:
            continue
        used = int(np.ptp(model.centroids_, axis=0).astype(bool).sum())
        for k in counts:
            if 0 < used <= k:
                found[k] = model.predict(X_test)
        if used > max(counts):
            break
    return found


def forest(X, y, X_test, counts, groups):
    """A forest on the k features that a forest on all finds most important."""
    make = lambda: RandomForestClassifier(class_weight="balanced", random_state=0)  # noqa: E731
    order = np.argsort(-make().fit(X, y).feature_importances_, kind="stable")
    return {k: make().fit(X[:, order[:k]], y).predict(X_test[:, order[:k]]) for k in counts}


METHODS = {
    "panel": panel("auto"),
    "panel, logistic": panel("logistic"),
    "panel, lda": panel("lda"),
    "sparse centers": centers,
    "primal-dual": primal_dual,
    "shrunken centroids": shrunken_centroids,
    "forest": forest,
}

# Slow methods, and the sets that they are run on.
FEW = {
    "optimal": TUNED,
    "sequential": ("raetsch/heart", "raetsch/german", "uci/biodeg", "uci/iris", "libsvm/wine"),
    "FasterRisk": (
        *("raetsch/diabetis", "raetsch/german", "raetsch/heart", "raetsch/image"),
        *("raetsch/ringnorm", "raetsch/thyroid", "raetsch/twonorm", "raetsch/waveform"),
        *("uci/agaricuslepiota", "uci/bank", "uci/banknote", "uci/biodeg", "uci/censusincome"),
        *("uci/indianliverpatient", "libsvm/australian", "libsvm/breast-cancer"),
        *("libsvm/ionosphere", "libsvm/sonar", "libsvm/splice", "libsvm/svmguide3"),
    ),
}


def score(y, labels):
    """Balanced accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(balanced_accuracy_score(y, labels))
