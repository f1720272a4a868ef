"""Panels of thousands of words: seconds and memory on a million rows, accuracy on sentences.

    python benchmarks/speed/panel_words.py [--data DIR] [--small]

The generated matrix has words by Zipf's law, a hundred of which tell the classes apart; memory is
the peak of the process, in units of the arrays of the matrix. The sentences are the Stanford
Sentiment Treebank with its own split (`text/sst.tsv.gz` in the data folder); the peer is TF-IDF
with a linear SVM, on all words and on as many words as ours, the best by chi2, with the C that is
best on the development sentences, by which nothing of ours is chosen.
"""

import argparse
import gzip
import os
import resource
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tamis import PanelClassifier

COUNTS = (20, 100, 500, 1000, 2000)
N_TRAIN, N_DEVELOPMENT = 76_961, 872


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TAMIS_DATA") or "../shared/data")
    parser.add_argument("--small", action="store_true", help="a fiftieth of the rows")
    options = parser.parse_args(arguments)
    PanelClassifier(60, cv=2).fit(*make_words(2_000, 3_000))  # compiles
    scale(20_000 if options.small else 1_000_000, 270_000)
    path = Path(options.data) / "text" / "sst.tsv.gz"
    if path.is_file():
        sentences(path)
    else:
        print(f"{path} is missing: give the data folder with --data or TAMIS_DATA.")


def make_words(n_rows, n_words, per_row=11.4, seed=0):
    """CSR counts by Zipf's law; a hundred words are more frequent in one of the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    tilt = np.zeros(n_words)
    tilt[rng.permutation(max(200, n_words // 100))[:100]] = rng.choice([-0.7, 0.7], 100)
    laws = [np.cumsum(np.exp(t * tilt) / np.arange(1, n_words + 1)) for t in (0.0, 1.0)]
    lengths = rng.poisson(1.05 * per_row, n_rows)
    of_word = np.repeat(y, lengths)
    words = np.empty(of_word.size, dtype=np.int32)
    for c, law in enumerate(laws):
        where = of_word == c
        words[where] = np.searchsorted(law, rng.random(np.count_nonzero(where)) * law[-1])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sparse.csr_array((np.ones(words.size), words, indptr), shape=(n_rows, n_words))
    X.sum_duplicates()
    return X, y


def peak():
    """Peak resident memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def scale(n_rows, n_words):
    X, y = make_words(n_rows, n_words)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    began = peak()
    print(f"generated: {n_rows:,} x {n_words:,}, {X.nnz:,} stored, {size / 2**20:.0f} MiB")
    for k in (100, 2000):
        start = time.perf_counter()
        model = PanelClassifier(k).fit(X, y)
        seconds = time.perf_counter() - start
        score = model.score(X[:100_000], y[:100_000])
        print(
            f"  k = {k}: {seconds:.1f} s; peak {peak() / size:.1f} x the matrix "
            f"({began / size:.1f} before fit); accuracy on its own rows {score:.3f}",
            flush=True,
        )


def sentences(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in file]
    y, texts = np.array([int(line[0]) for line in lines]), [line[1] for line in lines]
    ends = (N_TRAIN, N_TRAIN + N_DEVELOPMENT)
    words = CountVectorizer(token_pattern=r"(?a)\b\w+\b", dtype=np.float64).fit(texts[: ends[0]])
    parts = [texts[: ends[0]], texts[ends[0] : ends[1]], texts[ends[1] :]]
    train, development, test = (sparse.csr_array(words.transform(part)) for part in parts)
    labels, of_development, of_test = y[: ends[0]], y[ends[0] : ends[1]], y[ends[1] :]

    def svm(k):
        found = []
        for C in (0.03, 0.1, 0.3, 1.0, 3.0):
            model = make_pipeline(SelectKBest(chi2, k=k), TfidfTransformer(), LinearSVC(C=C))
            model.fit(train, labels)
            found.append((model.score(development, of_development), model.score(test, of_test)))
        return max(found)[1]

    print(f"sentences: accuracy on the {len(of_test)} test rows, {train.shape[1]} words in all")
    print(f"  TF-IDF + linear SVM, all words: {100 * svm('all'):.1f}")
    for k in COUNTS:
        start = time.perf_counter()
        model = PanelClassifier(k).fit(train, labels)
        seconds, score = time.perf_counter() - start, model.score(test, of_test)
        print(
            f"  k = {k}: panel {100 * score:.1f} ({seconds:.1f} s), "
            f"TF-IDF + linear SVM {100 * svm(k):.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
