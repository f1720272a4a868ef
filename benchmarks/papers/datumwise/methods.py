"""The methods: each gives models of many sparsity levels, fitted on the training part.

L1-SVM and LARS are the paper's rivals, extra-trees on their own best features the strong one;
DWSM-Un and DWSM-Con are the paper's models, and the forest is our modern learner. A model is
given as what it did with the test part: the features it used, the same for all samples
(n_features,) or for each of them (n_samples, n_features), and its labels.
"""

import time
import warnings

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, l1_min_c

import tamis

N_TREES = 500
# Shares of the features that the tables ask for: 1 - sparsity.
SHARES = (0.2, 0.4, 0.6)
DENSE_GRID = 24
COST_WEIGHTS = (0.5, 0.2, 0.1, 0.07, 0.05, 0.035, 0.025, 0.018, 0.013, 0.009, 0.006, 0.004, 0.0025,
                0.0015, 0.0008, 0.0003, 0.0)  # fmt: skip
# Policies of the forest share their forests, so there can be more of them.
MORE_COST_WEIGHTS = (*np.geomspace(0.6, 1e-4, 24), 0.0)


def fit_majority(data, seed):
    """No feature at all: the class that has most training rows."""
    label = np.bincount(data.y_train).argmax()
    yield np.zeros(data.X_train.shape[1], dtype=bool), np.full(data.y_test.size, label)


def fit_l1_svm(data, seed):
    """Linear SVMs with an l1 penalty, one against the rest, from the emptiest C upwards.

    A feature counts as used when one of the classes uses it.
    """
    X_train, X_test = standardize(data)
    for C in l1_min_c(X_train, data.y_train) * np.geomspace(1.01, 1e4, 40):
        model = LinearSVC(C=C, penalty="l1", dual=False, max_iter=5000, random_state=seed)
        model.fit(X_train, data.y_train)
        yield np.any(model.coef_ != 0, axis=0), model.predict(X_test)


def fit_lars(data, seed):
    """The whole lasso path on targets of -1 and 1, one against the rest.

    Coefficients are linear between the knots of a path, so that all classes are had at the
    knots of any of them.
    """
    X_train, X_test = standardize(data)
    classes = np.unique(data.y_train)
    positive = classes[1:] if classes.size == 2 else classes
    targets = [np.where(data.y_train == c, 1.0, -1.0) for c in positive]
    paths = [lars_path(X_train, t - t.mean(), method="lasso")[::2] for t in targets]
    for alpha in np.unique(np.concatenate([knots for knots, _ in paths]))[::-1]:
        coefficients = np.array([coefficients_at(alpha, *path) for path in paths])
        scores = X_test @ coefficients.T + [t.mean() for t in targets]
        if classes.size == 2:
            scores = np.hstack([-scores, scores])
        yield np.any(coefficients != 0, axis=0), classes[scores.argmax(axis=1)]


def coefficients_at(alpha, knots, coefficients):
    """Coefficients of a lasso path between its knots, zero before the first.

    `knots` go down; a coefficient that is zero at both ends of a piece stays exactly zero.
    """
    after = np.searchsorted(-knots, -alpha)
    if after == 0:
        return coefficients[:, 0]
    if after == knots.size:
        return coefficients[:, -1]
    step = (knots[after - 1] - alpha) / (knots[after - 1] - knots[after])
    return (1 - step) * coefficients[:, after - 1] + step * coefficients[:, after]


def fit_extra_trees(data, seed):
    """Extra-trees on the features that extra-trees on all of them find most important."""
    everything = ExtraTreesClassifier(N_TREES, random_state=seed).fit(data.X_train, data.y_train)
    order = np.argsort(-everything.feature_importances_, kind="stable")
    for k in numbers_of_features(order.size):
        best = order[:k]
        model = ExtraTreesClassifier(N_TREES, random_state=seed)
        model.fit(data.X_train[:, best], data.y_train)
        yield np.isin(np.arange(order.size), best), model.predict(data.X_test[:, best])


def numbers_of_features(n):
    """All numbers up to `n`; of many, those that the tables need and every sixth."""
    if n <= DENSE_GRID:
        return list(range(1, n + 1))
    around = {int(f(share * n)) for share in SHARES for f in (np.floor, np.ceil)}
    return sorted({1, 2, 3, 4, *around, *range(6, n, 6), n})


def fit_datum_wise(cost_weights, **parameters):
    """A path of datum-wise classifiers over the cost weights."""

    def fit(data, seed):
        # The paper counts errors, whatever the class.
        model = tamis.DatumWiseClassifier(class_weight=None, random_state=seed, **parameters)
        path = model.fit_path(data.X_train, data.y_train, cost_weights)
        for level in range(len(path)):
            acquired = path.model(level).acquire(data.X_test)
            yield acquired.mask, acquired.labels

    return fit


def standardize(data):
    scaler = StandardScaler().fit(data.X_train)
    return scaler.transform(data.X_train), scaler.transform(data.X_test)


METHODS = {
    "majority": fit_majority,
    "L1-SVM": fit_l1_svm,
    "LARS": fit_lars,
    "extra-trees": fit_extra_trees,
    "DWSM-Un": fit_datum_wise(COST_WEIGHTS, learner="linear", order="free"),
    "DWSM-Con": fit_datum_wise(COST_WEIGHTS, learner="linear", order="fixed"),
    "forest": fit_datum_wise(MORE_COST_WEIGHTS, learner="forest"),
}


def fit_models(name, data, seed):
    """What the models of one method do with the test part, from few features to many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(METHODS[name](data, seed))


def run_method(name, data, seed):
    """Points of the method's curve, and the seconds that all of it took.

    A point is (mean number of features used, accuracy); models that use as many features are one
    point, with their mean accuracy.
    """
    start = time.perf_counter()
    models = fit_models(name, data, seed)
    took = time.perf_counter() - start
    numbers = np.array([used.sum(axis=-1).mean() for used, _ in models])
    accuracies = np.array([np.mean(labels == data.y_test) for _, labels in models])
    return [(k, accuracies[numbers == k].mean()) for k in np.unique(numbers)], took


def find_use(name, data, seed, share):
    """Features used for every test sample, and which were classified rightly.

    Of the method's models the one whose mean share of features used is nearest to `share`.
    """
    models = fit_models(name, data, seed)
    used, labels = min(models, key=lambda model: abs(model[0].mean() - share))
    return np.broadcast_to(used, data.X_test.shape), labels == data.y_test
