"""The selection methods, the second stage, and the center classifiers by themselves.

A selection is a function ``(fold, ks, deadline) -> {k: features}``: one call serves all k. When
the deadline (of `time.perf_counter`) passes, the numbers of features not reached are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.svm import LinearSVC, l1_min_c

from tamis import SparseCenterClassifier
from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector

SCORES = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}
SVM_MAX_ITER = 1000
# Penalties of the l1 paths, as multiples of the one that lets the first feature in.
PENALTY_STEPS = np.geomspace(1.0, 1e4, 41)[1:]


@dataclass(frozen=True)
class TwoStage:
    """A selection, followed by a linear SVM on the selected features.

    `compiled`: the first call in a process compiles or loads kernels and is not timed. `per_k`:
    the selection is made anew for every k.
    """

    name: str
    select: Callable
    compiled: bool = False
    per_k: bool = False

    def prepare(self, fold, ks):
        if self.compiled:
            self.select(fold, ks, np.inf)

    def measure(self, fold, ks, score, seconds_left=np.inf):
        start = perf_counter()
        supports = self.select(fold, ks, start + seconds_left)
        seconds = perf_counter() - start
        scores, n_unconverged = second_stage(fold, ks, supports, score)
        return {
            "scores": scores,
            "selected": [len(supports[k]) if k in supports else None for k in ks],
            "seconds": seconds,
            "seconds_in_all": perf_counter() - start,
            "svm_unconverged": n_unconverged,
        }


@dataclass(frozen=True)
class Alone:
    """A sparse center classifier used as the classifier, all k in one pass."""

    name: str
    metric: str
    scaling: str
    priors: str = "uniform"
    compiled: bool = True
    per_k: bool = False

    def prepare(self, fold, ks):
        self._fit(fold)

    def measure(self, fold, ks, score, seconds_left=np.inf):
        start = perf_counter()
        model = self._fit(fold)
        seconds = perf_counter() - start
        scores = [None] * len(ks)
        if score is not None:
            path = model.path_score(fold.raw_test, fold.y_test, ks, scoring=score)
            scores = [float(s) for s in path]
        usable = int(np.count_nonzero(model.gains_))
        return {
            "scores": scores,
            "selected": [min(k, usable) for k in ks],
            "seconds": seconds,
            "seconds_in_all": perf_counter() - start,
            "svm_unconverged": 0,
        }

    def _fit(self, fold):
        model = SparseCenterClassifier(
            None, metric=self.metric, scaling=self.scaling, priors=self.priors
        )
        return model.fit(fold.raw_train, fold.y_train)


def second_stage(fold, ks, supports, score):
    """Scores of a linear SVM for every k, None without features; how many did not converge."""
    scores, n_unconverged = [], 0
    for k in ks:
        if score is None or k not in supports or len(supports[k]) == 0:
            scores.append(None)
            continue
        features = np.sort(supports[k])
        svm = LinearSVC(max_iter=SVM_MAX_ITER, random_state=0)
        svm.fit(fold.X_train[:, features], fold.y_train)
        n_unconverged += int(np.max(svm.n_iter_) >= SVM_MAX_ITER)
        scores.append(float(SCORES[score](fold.y_test, svm.predict(fold.X_test[:, features]))))
    return scores, n_unconverged


def select_centers(metric):
    """Sparse centers on the rescaled data: the ranking is that of every k (Remark 4)."""

    def select(fold, ks, deadline):
        model = SparseCenterClassifier(None, metric=metric, scaling=None)
        model.fit(fold.X_train, fold.y_train)
        # Features of zero gain are never selected, so there may be fewer than k.
        ranking = model.feature_order_[: np.count_nonzero(model.gains_)]
        return {k: ranking[:k] for k in ks[:-1]}

    return select


def select_naive_bayes(fold, ks, deadline):
    """Sparse multinomial naive Bayes on the counts; its best k features need not be nested."""
    supports = {}
    for k in ks[:-1]:
        if perf_counter() > deadline:
            break
        selector = SparseNaiveBayesSelector(k, likelihood="multinomial")
        selector.fit(fold.raw_train, fold.y_train)
        supports[k] = selector.get_support(indices=True)
    return supports


def select_odds_ratio(fold, ks, deadline):
    """Odds of a word being there, or of a gene being above its median."""
    threshold = 0.0 if sparse.issparse(fold.raw_train) else "median"
    selector = OddsRatioSelector(None, threshold=threshold).fit(fold.raw_train, fold.y_train)
    return {k: selector.feature_order_[:k] for k in ks[:-1]}


def select_logistic_rfe(fold, ks, deadline):
    """One recursive elimination that stops at every k on its way down.

    In every step the fifth of the features at hand with the smallest coefficients goes. Written
    out, because scikit-learn's RFE stops neither at several k nor at a deadline.
    """
    supports, features = {}, np.arange(ks[-1])
    for k in reversed(ks[:-1]):
        while features.size > k:
            if perf_counter() > deadline:
                return supports
            model = LogisticRegression(solver="liblinear")
            coef = model.fit(fold.X_train[:, features], fold.y_train).coef_[0]
            order = np.argsort(-np.abs(coef), kind="stable")
            features = np.sort(features[order[: max(k, int(0.8 * features.size))]])
        supports[k] = features
    return supports


def select_logistic_l1(fold, ks, deadline):
    """Logistic regression, l1 penalty: see `largest_along_path`."""
    X, y = fold.X_train, fold.y_train
    first = l1_min_c(X, y, loss="log")

    def fit(step):
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=first * step)
        return model.fit(X, y).coef_[0]

    return largest_along_path(fit, ks[:-1], deadline)


def select_lasso(fold, ks, deadline):
    """Least squares on labels -1 and 1, l1 penalty: see `largest_along_path`."""
    X = fold.X_train.tocsc() if sparse.issparse(fold.X_train) else np.asfortranarray(fold.X_train)
    y = 2.0 * fold.y_train - 1.0
    first = np.abs(X.T @ (y - y.mean())).max() / y.size
    model = Lasso(warm_start=True)

    def fit(step):
        return model.set_params(alpha=first / step).fit(X, y).coef_

    return largest_along_path(fit, ks[:-1], deadline)


def largest_along_path(fit, ks, deadline):
    """Relax the penalty until k features are in, and take the k largest coefficients.

    For every k the first penalty counts whose support has k features. A path that ends before
    (l1 solutions hold about as many features as samples) gives its largest support.
    """
    supports = dict.fromkeys(ks, np.arange(0))
    for step in PENALTY_STEPS:
        coef = fit(step)
        order = np.argsort(-np.abs(coef), kind="stable")[: np.count_nonzero(coef)]
        for k in ks:
            if len(supports[k]) < min(k, order.size):
                supports[k] = order[:k]
        if all(len(supports[k]) == k for k in ks):
            break
        if perf_counter() > deadline:
            return {k: support for k, support in supports.items() if len(support) == k}
    return supports


def select_all(fold, ks, deadline):
    """No selection: what the second stage makes of all features."""
    return {ks[-1]: np.arange(ks[-1])}


L2_CENTERS = TwoStage("l2-SC", select_centers("l2"), compiled=True)
L1_CENTERS = TwoStage("l1-SC", select_centers("l1"), compiled=True)
RIVALS = (
    TwoStage("Odds Ratio", select_odds_ratio),
    TwoStage("Logistic-l1", select_logistic_l1),
    TwoStage("Lasso", select_lasso),
    TwoStage("Logistic-RFE", select_logistic_rfe),
)
NAIVE_BAYES = TwoStage("SNB", select_naive_bayes, per_k=True)
ALL_FEATURES = TwoStage("all features", select_all)
ALONE_ON_GENES = tuple(
    Alone(f"{metric}-SC alone, {scaling}", metric, scaling)
    for metric in ("l2", "l1")
    for scaling in ("spread", "variance")
)
# The class medians of words are all 0: there is no l1 center classifier of text. And most short
# texts have none of the k words: without priors they all go to the class of the shorter center,
# be it the rare one.
ALONE_ON_TEXT = (
    *ALONE_ON_GENES[:2],
    Alone("l2-SC alone, spread, empirical priors", "l2", "spread", "empirical"),
)


def methods_for(info, rescaling):
    """The methods run on a data set, best known first; see `DataSet.left_out`."""
    text = info.kind == "text"
    if rescaling == "none":
        methods = ALONE_ON_TEXT if text else ALONE_ON_GENES
    else:
        naive_bayes = [NAIVE_BAYES] if text else []  # genes can be negative
        methods = [L2_CENTERS, L1_CENTERS, *naive_bayes, *RIVALS]
        if info.score is not None:
            methods.append(ALL_FEATURES)
    return [m for m in methods if m.name not in info.left_out]
