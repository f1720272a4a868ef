import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis.tables import Columns, lay_out


def mixed_table():
    others = {
        "color": np.array(["red", "blue", None, "green", "red", "red"], dtype=object),
        "sex": np.array(["m", "f", "f", None, "m", "m"], dtype=object),
    }
    numeric = np.array([[1.0, 5], [2, np.nan], [3, 7], [4, 8], [50, 9], [6, 1]])
    return Columns(numeric, np.array(["age", "dose"]), others)


KINDS = {"color": "categorical", "sex": "categorical"}


def test_dummies_of_one_column_are_one_feature_with_readable_names():
    preparation, encoded = lay_out(mixed_table(), KINDS)
    assert preparation.columns == [
        "age",
        "dose",
        "color=blue",
        "color=green",
        "color=red",
        "sex=m",
    ]
    assert preparation.features == ["age", "dose", "color", "color", "color", "sex"]
    assert preparation.required == ["age", "dose", "color", "sex"]
    assert_array_equal(encoded[:2, 2:], [[0, 0, 1, 1], [1, 0, 0, 0]])
    assert np.isnan(encoded[2, 2:5]).all() and np.isnan(encoded[3, 5])


def test_missing_values_are_learned_from_training_rows_only():
    preparation, encoded = lay_out(mixed_table(), KINDS)
    learned = preparation.learn(np.repeat(encoded[[0, 2, 4, 5]], 2, axis=0))
    assert learned.fill[:2].tolist() == [4.5, 6.0]
    assert learned.fill[2:].tolist() == [0, 0, 1, 1]  # red, m
    X = learned.finish(encoded)
    assert X[1].tolist()[2:5] == [0, 0, 1]  # blue, which these rows do not have
    assert X[1, 1] == 6.0 and X[2, 4] == 1.0 and X[3, 5] == 1.0
    kept = learned.finish(encoded, impute=False)
    assert np.isnan(kept[1, 1])


def test_an_unknown_category_is_missing():
    preparation, encoded = lay_out(mixed_table(), KINDS)
    learned = preparation.learn(np.repeat(encoded, 5, axis=0))
    table = mixed_table()
    table.others["color"][0] = table.others["sex"][0] = "violet"
    assert np.isnan(learned.transform(table, impute=False)[0, 2:]).all()
    assert_array_equal(learned.transform(table)[0, 2:], [0, 0, 1, 1])


@pytest.mark.parametrize("columns", [[0], [1, 3], [2, 4, 5], [0, 1, 2, 3, 4, 5]])
def test_a_restricted_preparation_gives_these_columns(columns):
    preparation, encoded = lay_out(mixed_table(), KINDS)
    learned = preparation.learn(encoded)
    part = learned.restrict(columns)
    assert part.columns == [learned.columns[j] for j in columns]
    assert_array_equal(part.transform(mixed_table()), learned.transform(mixed_table())[:, columns])


def text_table():
    texts = ["good good film", "bad film", None, "a good day", "bad bad bad day"]
    return Columns(
        np.arange(5.0)[:, None],
        np.array(["length"]),
        {"review": np.array(texts, dtype=object)},
    )


@pytest.mark.parametrize("vectorizer", ["counts", "tfidf", "hashing"])
def test_words_stay_sparse_and_can_be_restricted(vectorizer):
    table = text_table()
    preparation, encoded = lay_out(table, {"review": "text"}, vectorizer=vectorizer)
    learned = preparation.learn(encoded)
    X = learned.transform(table)
    assert sparse.issparse(X)
    used = np.unique(X.indices)
    part = learned.restrict(used)
    assert_array_equal(part.transform(table).toarray(), X[:, used].toarray())


def test_words_are_counted_one_by_one():
    preparation, encoded = lay_out(text_table(), {"review": "text"})
    assert preparation.columns == [
        "length",
        "review: bad",
        "review: day",
        "review: film",
        "review: good",
    ]
    assert preparation.features == preparation.columns
    assert_array_equal(encoded.toarray()[0], [0, 0, 0, 1, 2])
    pairs, _ = lay_out(text_table(), {"review": "text"}, ngrams=(1, 2))
    assert len(pairs.columns) == 5  # no pair of words occurs in two rows


def test_places_of_hashed_words_that_no_word_falls_on_are_no_columns():
    preparation, encoded = lay_out(text_table(), {"review": "text"}, vectorizer="hashing")
    assert preparation.columns[0] == "length"
    assert 2 <= preparation.n_columns == encoded.shape[1] <= 1 + 6  # six words
    assert (encoded.toarray()[:, 1:] != 0).any(axis=0).all()
    assert_array_equal(preparation.encode(text_table()).toarray(), encoded.toarray())
    other = Columns(np.zeros((1, 1)), np.array(["length"]), {"review": np.array(["new words"])})
    assert not preparation.encode(other).toarray().any()


def test_rareness_comes_from_training_rows():
    preparation, encoded = lay_out(text_table(), {"review": "text"}, vectorizer="tfidf")
    idf = preparation.learn(encoded[:2]).texts["review"].idf
    assert idf.tolist() == pytest.approx([np.log(3 / 2) + 1, np.log(3) + 1, 1, np.log(3 / 2) + 1])


def test_groups_are_counted_by_their_name():
    preparation, _ = lay_out(mixed_table(), KINDS, groups={"age": "panel", "color": "panel"})
    assert preparation.features == ["panel", "dose", "panel", "panel", "panel", "sex"]


def test_indices_of_64_bits_are_narrowed():
    X = sparse.csr_array(np.eye(3))
    X = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)))
    assert X.indices.dtype == np.int64
    names = np.array(["a", "b", "c"])
    _, encoded = lay_out(Columns(X, names), {})
    assert encoded.indices.dtype == encoded.indptr.dtype == np.int32
    np.testing.assert_array_equal(encoded.toarray(), np.eye(3))


@pytest.mark.parametrize("vectorizer", ["counts", "tfidf"])
def test_a_text_without_common_words_is_left_out(vectorizer):
    texts = np.array(["alpha", "beta", "x y", None], dtype=object)
    table = Columns(np.arange(4.0)[:, None], np.array(["length"]), {"review": texts})
    preparation, encoded = lay_out(table, {"review": "text"}, vectorizer=vectorizer)
    assert preparation.columns == ["length"] and encoded.shape == (4, 1)
