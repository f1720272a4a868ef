"""The paper's two collections: Raetsch's nine sets with their splits, and the UCI sets."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

RAETSCH = (
    "banana",
    "thyroid",
    "diabetis",
    "heart",
    "ringnorm",
    "twonorm",
    "german",
    "image",
    "waveform",
)
# apsfailure, semeval and tass are not to be had; bank4521 is the tenth of bank.
UCI = (
    "agaricuslepiota",
    "banknote",
    "bank",
    "biodeg",
    "car",
    "censusincome",
    "cmc",
    "drugconsumption",
    "indianliverpatient",
    "iris",
    "krkopt",
    "letterrecognition",
    "mlprove",
    "musk1",
    "musk2",
    "optdigits",
    "pageblocks",
    "parkinson",
    "pendigits",
    "segmentation",
    "tae",
    "yeast",
)
COLLECTIONS = {"raetsch": RAETSCH, "uci": UCI}
# Where Table 2 has another share of test rows than 30 %, or its own split is not the paper's.
TEST_SHARES = {"mlprove": 0.25}
# Rows for the comparison with tuned rivals.
THINNED = 1000
SPLIT_AT_RANDOM = ("letterrecognition",)
# Places in the alphabet: of low, med, high, vhigh (twice); small, med, big; low, med, high.
CAR_CODES = {0: (1, 2, 0, 3), 1: (1, 2, 0, 3), 4: (2, 1, 0), 5: (1, 2, 0)}


@dataclass(frozen=True)
class Split:
    """Training and test part of one split."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def collection_of(name):
    return next(c for c, names in COLLECTIONS.items() if name in names)


@cache
def _read(name, data_home):
    home = Path(data_home or os.environ.get("TAMIS_DATA") or "../shared/data")
    path = home / collection_of(name) / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"The data file {path.resolve()} is missing. Name the data folder with --data DIR or "
            "TAMIS_DATA."
        )
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def as_published(name, data):
    """Features and classes as Table 2 of the paper counts them.

    The paper does not describe them. For four sets the counts fit if the last column of the file
    was taken for the class, whatever it is, and all other columns for features. That the words of
    car were coded in alphabetical order is a guess, made because the published errors are larger.
    """
    X, y = data["X"].astype(np.float64), data["y"]
    if name == "car":
        # Our file has the words in their natural order, which makes the set easier.
        for column, codes in CAR_CODES.items():
            X[:, column] = np.take(codes, X[:, column].astype(np.int64))
        return X, y
    if name == "agaricuslepiota":
        # 7 classes: the habitat. Edible or poisonous is one of the 22 features.
        return np.column_stack([y, X[:, :-1]]), X[:, -1].astype(np.int64)
    if name == "drugconsumption":
        # 30 features: 12 about the person and the use of 18 drugs. The class is the last drug.
        return np.column_stack([X, data["Y_all"][:, :-1]]), data["Y_all"][:, -1]
    if name == "mlprove":
        # 2 classes and 56 features: the last of the six columns that mark the best heuristic is
        # the class, and the other five are features.
        marks = np.where(y[:, None] == np.arange(y.max()), 1.0, -1.0)
        return np.column_stack([X, marks]), (y == y.max()).astype(np.int64)
    if name == "yeast":
        # 9 features: the name of the sequence is one. Our file has no names, but nearly their
        # order: the number of the row stands for it.
        return np.column_stack([np.arange(float(y.size)), X]), y
    return X, y


def load_split(name, split, data_home=None, as_usual=False):
    """Split number `split` of a data set.

    Raetsch's sets have 100 (image 20) fixed splits. A UCI set with a split of its own has the same
    one each time (another `split` is then another seed of the methods); the others are split at
    random, by class. With `as_usual`, UCI sets have the features and classes of their
    descriptions, and are thinned out to `THINNED` training rows and twice as many test rows.
    """
    data = _read(name, data_home)
    as_usual = as_usual and collection_of(name) == "uci"
    X, y = (data["X"].astype(np.float64), data["y"]) if as_usual else as_published(name, data)
    if "train_idx" in data and (as_usual or name not in SPLIT_AT_RANDOM):
        train, test = data["train_idx"], data["test_idx"]
        if train.ndim == 2:
            train, test = train[split], test[split]
    else:
        share = 0.3 if as_usual else TEST_SHARES.get(name, 0.3)
        train, test = train_test_split(
            np.arange(y.size), test_size=share, random_state=split, stratify=y
        )
    if as_usual:
        rng = np.random.default_rng(split)
        train = rng.permutation(train)[:THINNED]
        test = rng.permutation(test)[: 2 * THINNED]
    return Split(X[train], y[train], X[test], y[test])


def n_rows(name, data_home=None):
    """Number of rows of a data set, to begin with the small ones."""
    return _read(name, data_home)["y"].size


def n_splits(name, wanted, data_home=None):
    """How many of the wanted splits there are."""
    index = _read(name, data_home).get("train_idx")
    return wanted if index is None or index.ndim == 1 else min(wanted, index.shape[0])
