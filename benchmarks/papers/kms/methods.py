"""The methods of the paper's tables, ours and scikit-learn's, each a function of a seed.

`figure5` are KMS, KMSE and sixteen classifiers with scikit-learn's defaults; `table3` the paper's
samplers; `ours` what we add; `rivals` three strong classifiers with balanced classes, tuned by
random search for as long as our extended search takes.
"""

import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.stats import loguniform
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    SGDClassifier,
)
from sklearn.model_selection import ParameterSampler, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis import LandmarkSearchCV
from tamis.metrics import balanced_error_rate

SAMPLERS = {"FFT": "fft", "Random": "random", "Density": "density", "K-Means": "kmeans"}


def search(**parameters):
    """A search with the paper's folds and class weights, unless others are given."""
    parameters = {"cv": 3, "class_weight": None, **parameters}
    return lambda seed: LandmarkSearchCV(random_state=seed, **parameters)


# KMS is the best member of KMSE: one search gives both.
SEARCHES = {
    "RS": search(),
    "GS": search(search="grid"),
    **{name: search(space={"landmarks": [sampler]}) for name, sampler in SAMPLERS.items()},
}
TABLE3 = {f"KMSE {name}": make for name, make in SEARCHES.items()}
# As many configurations as one sampler has, on average, among 128 of the whole space.
SHARES = {"FFT": 39, "Random": 39, "Density": 39, "K-Means": 10}
FEW = {
    f"KMSE {name} few": search(space={"landmarks": [SAMPLERS[name]]}, n_configurations=share)
    for name, share in SHARES.items()
}

OURS = {
    "KMSE auto": search(ensemble_size="auto"),
    "balanced soft": search(vote="soft", class_weight="balanced"),
    "extended": search(
        space="extended",
        n_configurations=64,
        ensemble_size=25,
        selection="greedy",
        vote="soft",
        class_weight="balanced",
    ),
}

FIGURE5 = {
    "RBF SVC": lambda seed: SVC(),
    "LinearSVC": lambda seed: LinearSVC(random_state=seed),
    "GaussianNB": lambda seed: GaussianNB(),
    "BernoulliNB": lambda seed: BernoulliNB(),
    "kNN": lambda seed: KNeighborsClassifier(),
    "NearestCentroid": lambda seed: NearestCentroid(),
    "DecisionTrees": lambda seed: DecisionTreeClassifier(random_state=seed),
    "RandomForest": lambda seed: RandomForestClassifier(random_state=seed),
    "ExtraTrees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "AdaBoost": lambda seed: AdaBoostClassifier(random_state=seed),
    "GradientBoost": lambda seed: GradientBoostingClassifier(random_state=seed),
    "LogisticRegression": lambda seed: LogisticRegression(),
    "SGD": lambda seed: SGDClassifier(random_state=seed),
    "Perceptron": lambda seed: Perceptron(random_state=seed),
    "PassiveAggressive": lambda seed: PassiveAggressiveClassifier(random_state=seed),
    "MLP": lambda seed: MLPClassifier(random_state=seed),
}

SCALERS = {
    "raw": None,
    "standard": StandardScaler,
    "minmax": MinMaxScaler,
    "maxabs": MaxAbsScaler,
    "quantile": lambda: QuantileTransformer(n_quantiles=100),
    "yeo-johnson": PowerTransformer,
}
RIVALS = {
    "SVC tuned": (
        lambda seed: make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
        {"svc__C": loguniform(1e-1, 1e3), "svc__gamma": loguniform(1e-3, 1e1)},
    ),
    "random forest tuned": (
        lambda seed: RandomForestClassifier(
            300, class_weight="balanced_subsample", random_state=seed
        ),
        {"min_samples_leaf": [1, 2, 3, 5, 10, 20], "max_features": ["sqrt", 0.3, 0.6, 1.0]},
    ),
    "boosting tuned": (
        lambda seed: HistGradientBoostingClassifier(
            class_weight="balanced", random_state=seed, early_stopping=False
        ),
        {
            "learning_rate": loguniform(0.02, 0.5),
            "max_leaf_nodes": [4, 8, 16, 31],
            "max_iter": [50, 100, 200],
            "min_samples_leaf": [5, 10, 20],
            "l2_regularization": loguniform(1e-3, 1e2),
        },
    ),
}


def run_method(name, split, seed, seconds=None):
    """Balanced errors on the test part by method, and the seconds that training took.

    `name` may end in " @scaler" (Table 5). `seconds` is the time a rival has for its tuning.
    KMSE gives the errors of KMS as well.
    """
    full_name, (name, _, scaler) = name, name.partition(" @")
    split = scale(split, scaler)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in RIVALS:
            model = tune(*RIVALS[name], split, seed, seconds)
        else:
            model = (TABLE3 | FEW | OURS | FIGURE5)[name](seed).fit(split.X_train, split.y_train)
        took = time.perf_counter() - start
        errors = {full_name: balanced_error_rate(split.y_test, model.predict(split.X_test))}
        if name in TABLE3 or name in FEW:
            model.members_ = model.members_[:1]
            best_alone = full_name.replace("KMSE", "KMS")
            errors[best_alone] = balanced_error_rate(split.y_test, model.predict(split.X_test))
    return errors, took


def scale(split, scaler):
    """The split with its features scaled as the training part suggests."""
    make = SCALERS[scaler or "raw"]
    if make is None:
        return split
    fitted = make().fit(split.X_train)
    return replace(
        split, X_train=fitted.transform(split.X_train), X_test=fitted.transform(split.X_test)
    )


def tune(make, space, split, seed, seconds):
    """The best of random parameters by three-fold cross-validation, tried until time is up."""
    X, y = split.X_train, split.y_train
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    random_state = np.random.RandomState(seed)
    best, end = (np.inf, {}), time.perf_counter() + (seconds or 5.0)
    while True:
        parameters = next(iter(ParameterSampler(space, 1, random_state=random_state)))
        found = cross_val_predict(make(seed).set_params(**parameters), X, y, cv=folds)
        error = balanced_error_rate(y, found)
        if error < best[0]:
            best = error, parameters
        if time.perf_counter() > end:
            return make(seed).set_params(**best[1]).fit(X, y)
