"""Loaders for the data files of the papers' experiments.

The files are not part of this repository. They are looked for in the folder given as `data_home`,
else in the folder that the environment variable ``TAMIS_DATA`` names, else in ``../shared/data``.
"""

import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

__all__ = ["load_genes", "load_libsvm", "load_text", "read_text"]

_DEFAULT_HOME = "../shared/data"
# Single letters and digits count as words, and only ASCII ones: this gives the feature counts
# that the papers print (6208 for MPQA, 16599 for SST).
_TOKEN_PATTERN = r"(?a)\b\w+\b"
_TEXTS = ("mpqa", "sst", "twitter100k")
_GENES = ("breast_metabolomics", "chin", "chowdary", "ovarian", "singh", "zeisel")
_LIBSVM = (
    "australian",
    "breast-cancer",
    "diabetes",
    "german.numer",
    "heart",
    "ionosphere",
    "liver-disorders",
    "segment",
    "sonar",
    "splice",
    "svmguide3",
    "vehicle",
    "vowel",
    "wine",
)
# Rows of the SST file: training phrases, 872 dev sentences (left out), test sentences.
_SST_TRAIN_END, _SST_TEST_START, _SST_ROWS = 76961, 77833, 79654


def load_text(name, data_home=None):
    """Load one of the text data sets as word counts.

    Parameters
    ----------
    name : {"mpqa", "sst", "twitter100k"}
        MPQA opinion phrases; the binary Stanford Sentiment Treebank without its dev sentences;
        100,000 tweets of Sentiment140, where the class is mixed up with the date.
    data_home : str or path-like, default=None
        Data folder, the one that holds ``text/``. None: ``$TAMIS_DATA``, else ``../shared/data``.

    Returns
    -------
    data : Bunch
        `data`: sparse CSR array of counts, float64; `target`: 0 (negative) or 1 (positive);
        `feature_names`: the words; `texts`: list of str; `is_test`: for SST, which rows are
        those of the published test set, otherwise None.

    Raises
    ------
    FileNotFoundError
        When the file is not in the data folder.

    Notes
    -----
    Phrases of SST are nested in one another, so random rows of it leak from training to test;
    `is_test` is the split that does not.
    """
    _check_name(name, _TEXTS)
    texts, target = read_text(_find(f"text/{name}.tsv.gz", data_home))
    is_test = None
    if name == "sst":
        if len(texts) != _SST_ROWS:
            raise ValueError(f"sst.tsv.gz must have {_SST_ROWS} rows, got {len(texts)}.")
        texts = texts[:_SST_TRAIN_END] + texts[_SST_TEST_START:]
        target = np.delete(target, np.s_[_SST_TRAIN_END:_SST_TEST_START])
        is_test = np.arange(target.size) >= _SST_TRAIN_END
    counts = CountVectorizer(token_pattern=_TOKEN_PATTERN, dtype=np.float64)
    return Bunch(
        data=counts.fit_transform(texts),
        target=target,
        feature_names=counts.get_feature_names_out(),
        texts=texts,
        is_test=is_test,
    )


def load_genes(name, data_home=None):
    """Load one of the gene-expression (or similar) data sets.

    Parameters
    ----------
    name : {"breast_metabolomics", "chin", "chowdary", "ovarian", "singh", "zeisel"}
        Name of the file without its ending.
    data_home : str or path-like, default=None
        Data folder, the one that holds ``genes/``. None: ``$TAMIS_DATA``, else
        ``../shared/data``.

    Returns
    -------
    data : Bunch
        `data`: float64 array (n_samples, n_features), values as in the source; `target`: labels
        (str); `feature_names`: str where the source has names, otherwise None.

    Raises
    ------
    FileNotFoundError
        When the file is not in the data folder.

    Notes
    -----
    Rows are often in the order of the classes: shuffle before splitting. Chin holds the first
    16,384 of 22,215 columns, rounded to two decimals.
    """
    _check_name(name, _GENES)
    with np.load(_find(f"genes/{name}.npz", data_home), allow_pickle=False) as file:
        return Bunch(
            data=file["X"].astype(np.float64),
            target=file["y"],
            feature_names=file.get("feature_names"),
        )


def load_libsvm(name, data_home=None):
    """Load one of the small sets of the LIBSVM site.

    Parameters
    ----------
    name : str
        Name of the file without its ending: "australian", "breast-cancer", "diabetes",
        "german.numer", "heart", "ionosphere", "liver-disorders", "segment", "sonar", "splice",
        "svmguide3", "vehicle", "vowel" or "wine".
    data_home : str or path-like, default=None
        Data folder, the one that holds ``libsvm/``. None: ``$TAMIS_DATA``, else
        ``../shared/data``.

    Returns
    -------
    data : Bunch
        `data`: float64 array (n_samples, n_features), every feature scaled to [-1, 1] except in
        svmguide3, which is published unscaled, and vowel, scaled by its training rows; `target`:
        classes 0, 1, ...; `target_names`: the labels of the source, as str.

    Raises
    ------
    FileNotFoundError
        When the file is not in the data folder.

    Notes
    -----
    The 41 test rows of svmguide3 are copies of training rows, all of one class, and are left
    out; so is its feature 22, which is zero everywhere (1243 rows, 21 features). Of the ten
    columns of breast-cancer the first is the number of the sample; it stays, because the
    published results have it. The label of liver-disorders marks the training and test rows of
    the original, it is no diagnosis. vowel has its training rows first, then its test rows,
    spoken by others: random splits mix the speakers.
    """
    _check_name(name, _LIBSVM)
    with np.load(_find(f"libsvm/{name}.npz", data_home), allow_pickle=False) as file:
        X, y, names = file["X"].astype(np.float64), file["y"], file["class_names"]
        if name == "svmguide3":
            rows = file["train_idx"]
            X, y = X[rows, :21], y[rows]
    return Bunch(data=X, target=y, target_names=names)


def read_text(path):
    """Read a gzip-compressed file of ``label<TAB>text`` lines.

    Parameters
    ----------
    path : str or path-like
        The file; UTF-8, no header, integer labels.

    Returns
    -------
    texts : list of str
    target : ndarray of int64 of shape (n_samples,)
    """
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [text for _, text in rows], np.array([int(label) for label, _ in rows])


def _check_name(name, known):
    if name not in known:
        raise ValueError(f"name must be one of {', '.join(map(repr, known))}, got {name!r}.")


def _find(file, data_home):
    """Path of a file in the data folder."""
    if data_home is not None:
        home, origin = data_home, "the data_home given"
    elif os.environ.get("TAMIS_DATA"):
        home, origin = os.environ["TAMIS_DATA"], "from the environment variable TAMIS_DATA"
    else:
        home, origin = _DEFAULT_HOME, "the default"
    path = Path(home) / file
    if not path.is_file():
        raise FileNotFoundError(
            f"The data file {file} is missing: looked for {path.resolve()} (data folder {home}, "
            f"{origin}). Name the folder that holds it with data_home=..., or set TAMIS_DATA."
        )
    return path
