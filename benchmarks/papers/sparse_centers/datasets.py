"""The data sets of the paper, their splits and their rescaling."""

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

sys.path.append(str(Path(__file__).parents[1]))
from loaders import load_genes, load_text

TEXT_KS = (10, 20, 50, 100, 200, 500, 1000, 2000)
GENE_KS = (5, 10, 20, 50, 100, 200, 500)
TEST_SHARE = 0.2
# "none" is for the center classifiers by themselves, which scale in their own way.
RESCALINGS = ("variance", "std", "none")


@dataclass(frozen=True)
class DataSet:
    """What is fixed about a data set before it is loaded.

    `score` is None where only times are reported; `left_out` names methods that take too long;
    `note` says where the data or the split differ from the paper's.
    """

    name: str
    file: str
    kind: str
    score: str | None
    note: str
    max_splits: int | None = None
    left_out: tuple = ()

    @property
    def ks(self):
        return TEXT_KS if self.kind == "text" else GENE_KS


@dataclass(frozen=True)
class Problem:
    """A loaded data set; `ks` ends with all features."""

    info: DataSet
    X: Any
    y: np.ndarray
    is_test: np.ndarray | None
    ks: tuple


@dataclass(frozen=True)
class Fold:
    """One split: rescaled training and test part, and both as they were."""

    X_train: Any
    X_test: Any
    raw_train: Any
    raw_test: Any
    y_train: np.ndarray
    y_test: np.ndarray


DATASETS = {
    info.name: info
    for info in (
        DataSet("mpqa", "mpqa", "text", "accuracy", "As in the paper: same rows, same features."),
        DataSet(
            "sst",
            "sst",
            "text",
            "accuracy",
            "Without the 872 dev rows, which gives the paper's number of features. Phrases are "
            "nested in one another, so the paper's random rows leak from training to test: these "
            "accuracies are too high. See sst-official.",
        ),
        DataSet(
            "sst-official",
            "sst",
            "text",
            "accuracy",
            "Not in the paper: training phrases against the sentences of the published test set. "
            "One split, no leak.",
            max_splits=1,
        ),
        DataSet(
            "twitter100k",
            "twitter100k",
            "text",
            None,
            "Times only. 100,000 of the paper's 1,600,000 tweets, not drawn at random: the class "
            "goes with the date, so an accuracy would say nothing.",
            max_splits=5,
            left_out=("Logistic-RFE", "Lasso"),
        ),
        DataSet(
            "chowdary",
            "chowdary",
            "genes",
            "balanced_accuracy",
            "As in the paper: same rows, same features.",
        ),
        DataSet(
            "singh",
            "singh",
            "genes",
            "balanced_accuracy",
            "As in the paper: same rows, same features.",
        ),
        DataSet(
            "chin",
            "chin",
            "genes",
            "balanced_accuracy",
            "The first 16,384 of the paper's 22,215 columns, rounded to two decimals.",
        ),
    )
}


@lru_cache(maxsize=2)
def load(name, data_home=None):
    """Problem of the given name; a worker keeps the last two."""
    info = DATASETS[name]
    data = (load_text if info.kind == "text" else load_genes)(info.file, data_home)
    y = np.unique(data.target, return_inverse=True)[1]
    n_features = data.data.shape[1]
    ks = (*(k for k in info.ks if k < n_features), n_features)
    is_test = data.is_test if name == "sst-official" else None
    return Problem(info, data.data, y, is_test, ks)


def split_rows(problem, seed):
    """Training and test rows: 80/20 at random, or the published ones."""
    if problem.is_test is not None:
        return np.flatnonzero(~problem.is_test), np.flatnonzero(problem.is_test)
    return train_test_split(
        np.arange(problem.y.size), test_size=TEST_SHARE, random_state=seed, shuffle=True
    )


def make_fold(problem, seed, rescaling):
    """Split and rescale; what is learnt for rescaling is learnt from the training part."""
    train, test = split_rows(problem, seed)
    raw_train, raw_test = problem.X[train], problem.X[test]
    X_train, X_test = rescale(raw_train, raw_test, rescaling)
    return Fold(X_train, X_test, raw_train, raw_test, problem.y[train], problem.y[test])


def rescale(train, test, rescaling):
    """Divide features by their variance or standard deviation over the training part.

    The paper says "variance". That has units, and lets a word seen once weigh as much as one seen
    a hundred times; "std", unit variance, may be what was meant. Dense data are centered as well:
    no distance between centers changes, and liblinear converges. Sparse data stay sparse.
    """
    if rescaling == "none":
        return train, test
    scaler = StandardScaler(with_mean=not sparse.issparse(train)).fit(train)
    if rescaling == "variance":
        scaler.scale_ = scaler.scale_**2  # 1 for constant features, as before
    return scaler.transform(train), scaler.transform(test)
