"""Whatever works in memory refuses collections of a cluster instead of loading them."""

import numpy as np
import pandas as pd
import pytest

from tamis import SparseCenterClassifier, TableClassifier, compare, read_chunks, read_table

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2


class SparkFrame:
    """Looks like a frame of Spark, without Spark."""

    __module__ = "pyspark.sql.dataframe"
    columns = ("a", "b")


COLLECTIONS = {
    "array": lambda: da.from_array(X, chunks=(20, -1)),
    "frame": lambda: dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2),
    "spark": SparkFrame,
}


@pytest.mark.parametrize("kind", COLLECTIONS)
@pytest.mark.parametrize(
    "use",
    [
        lambda data: compare(data, Y),
        lambda data: TableClassifier().fit(data, Y),
        lambda data: TableClassifier().fit(X, Y).predict(data),
        lambda data: SparseCenterClassifier().fit(data, Y),
    ],
    ids=["compare", "table", "predict", "estimator"],
)
def test_collections_are_refused_with_what_to_use_instead(use, kind):
    with pytest.raises(TypeError, match=r"X is a .* Use tamis\.(dask\.Dask|spark\.Spark)Spar"):
        use(COLLECTIONS[kind]())


@pytest.mark.parametrize("kind", COLLECTIONS)
@pytest.mark.parametrize("read", [read_table, read_chunks])
def test_readers_of_files_name_what_takes_collections(read, kind):
    with pytest.raises(ValueError, match=r"path.* got .* tamis\.dask and tamis\.spark train on"):
        read(COLLECTIONS[kind]())
