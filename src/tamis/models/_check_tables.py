"""Check a classifier of tables read from a file: its preparation, and what goes with it."""

import math

from tamis.models._checking import (
    array,
    choice,
    flag,
    integer,
    is_plain,
    number,
    require,
    texts,
)
from tamis.models._registry import is_estimator

__all__ = ["check_table_classifier"]

_LONGEST_SEQUENCE = 100


def check_table_classifier(model):
    """Check a TableModel; its estimator was checked when it was made."""
    require(is_estimator(model.estimator), "estimator", "an estimator")
    require(hasattr(model.estimator, "predict_proba"), "estimator", "a classifier")
    classes = model.estimator.classes_
    n_columns = _check_preparation(model.preparation)
    n_known = model.estimator.n_features_in_
    require(n_known == n_columns, "preparation", f"of {n_known} columns, as its estimator")
    for name in ("method", "target", "version"):
        require(type(getattr(model, name)) is str, name, "a string")
    number(model.level, "level", finite=False, none=True)
    array(model.priors, "priors", (classes.size,), low=0.0)
    flag(model.is_dense, "is_dense")
    number(model.temperature, "temperature", above=0.0)
    if model.positive is not None:
        is_label = isinstance(model.positive, str | bool | int | float)
        require(is_label and model.positive in classes.tolist(), "positive", "a class")
    number(model.threshold, "threshold", 0.0, 1.0, none=True)
    require(model.threshold is None or model.positive is not None, "threshold", "of a class")
    described = type(model.descriptions) is dict and all(
        type(name) is str and type(one) is dict for name, one in model.descriptions.items()
    )
    require(described and is_plain(model.descriptions), "descriptions", "objects by feature")
    require(type(model.scores) is dict and is_plain(model.scores), "scores", "an object")


def _check_preparation(preparation):
    where = "preparation"
    require(type(preparation).__name__ == "Preparation", where, "a Preparation")
    texts(preparation.numbers, f"{where}.numbers")
    flag(preparation.is_sparse, f"{where}.is_sparse")
    for name in ("categories", "texts", "groups"):
        value = getattr(preparation, name)
        is_named = type(value) is dict and all(type(key) is str for key in value)
        require(is_named, f"{where}.{name}", "an object")
    for name, known in preparation.categories.items():
        texts(known, f"{where}.categories[{name[:40]!r}]")
    are_texts = all(type(group) is str for group in preparation.groups.values())
    require(are_texts, f"{where}.groups", "strings")
    weighted = {_check_text(name, text) for name, text in preparation.texts.items()}
    require(len(weighted) < 2, f"{where}.texts", "all weighted, or none")
    require(not weighted or preparation.is_sparse, f"{where}.is_sparse", "true with texts")
    n_columns = preparation.n_columns
    require(n_columns > 0, where, "of one column at least")
    array(preparation.fill, f"{where}.fill", (n_columns,))
    _check_missing(preparation.missing)
    return n_columns


def _check_missing(missing):
    where = "preparation.missing"
    require(type(missing).__name__ == "MissingWords", where, "a MissingWords")
    if missing.words is not None:
        texts(missing.words, f"{where}.words")
    categories = missing.categories
    is_named = type(categories) is dict and all(type(key) is str for key in categories)
    require(is_named, f"{where}.categories", "an object")
    for name, words in categories.items():
        texts(words, f"{where}.categories[{name[:40]!r}]")


def _check_text(name, text):
    from tamis.tables.words import N_HASHED

    where = f"preparation.texts[{name[:40]!r}]"
    require(type(text).__name__ == "TextColumns", where, "a TextColumns")
    choice(text.kind, f"{where}.kind", ("counts", "tfidf", "hashing"))
    ngrams = text.ngrams
    require(type(ngrams) is tuple and len(ngrams) == 2, f"{where}.ngrams", "two integers")
    integer(ngrams[0], f"{where}.ngrams", 1, _LONGEST_SEQUENCE)
    integer(ngrams[1], f"{where}.ngrams", ngrams[0], _LONGEST_SEQUENCE)
    texts(text.words, f"{where}.words")
    require(text.words, f"{where}.words", "one word at least")
    if text.kind == "hashing":
        numbered = all(
            word[:1] == "#"
            and word[1:].isascii()
            and word[1:].isdigit()
            and len(word) < 2 + math.log10(N_HASHED) + 1
            and int(word[1:]) < N_HASHED
            for word in text.words
        )
        require(numbered, f"{where}.words", f"places from #0 to #{N_HASHED - 1}")
    if text.kind == "tfidf":
        array(text.idf, f"{where}.idf", (len(text.words),))
    else:
        require(text.idf is None, f"{where}.idf", "null")
    return text.idf is not None
