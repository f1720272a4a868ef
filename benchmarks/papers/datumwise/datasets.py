"""The paper's 14 sets, their training fractions and the splits that all methods share."""

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

sys.path.append(str(Path(__file__).parents[1]))
from loaders import load_libsvm

BINARY = (
    "australian",
    "breast-cancer",
    "diabetes",
    "german.numer",
    "heart",
    "ionosphere",
    "liver-disorders",
    "sonar",
    "splice",
    "svmguide3",
)
MULTICLASS = ("segment", "vehicle", "vowel", "wine")
SETS = BINARY + MULTICLASS
BINARY_FRACTIONS = (0.05, 0.1, 0.25, 0.5)
MULTICLASS_FRACTIONS = (0.1, 0.2, 0.5, 0.75)
N_FEATURES = {
    "australian": 14,
    "breast-cancer": 10,
    "diabetes": 8,
    "german.numer": 24,
    "heart": 13,
    "ionosphere": 34,
    "liver-disorders": 6,
    "sonar": 60,
    "splice": 60,
    "svmguide3": 21,
    "segment": 19,
    "vehicle": 18,
    "vowel": 10,
    "wine": 13,
}
# The sets with a target, at a training fraction of one half.
TARGET_SETS = (
    "heart",
    "diabetes",
    "breast-cancer",
    "wine",
    "ionosphere",
    "vehicle",
    "vowel",
    "segment",
    "sonar",
    "splice",
)
TARGET_FRACTION = 0.5


@dataclass(frozen=True)
class Split:
    """Training and test part of one split."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def fractions_of(name):
    return MULTICLASS_FRACTIONS if name in MULTICLASS else BINARY_FRACTIONS


def split_rows(y, fraction, split):
    """Rows for training and rows for testing: all that is known of split number `split`.

    Stratified, the number of the split is the seed; every row is in one of the two parts.
    """
    return train_test_split(np.arange(len(y)), train_size=fraction, random_state=split, stratify=y)


@lru_cache(maxsize=2)
def _load(name, data_home):
    data = load_libsvm(name, data_home)
    return data.data, data.target


def load_split(name, fraction, split, data_home=None):
    X, y = _load(name, data_home)
    train, test = split_rows(y, fraction, split)
    return Split(X[train], y[train], X[test], y[test])
