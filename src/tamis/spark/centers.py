"""`SparkSparseCenterClassifier`: sparse centers of Spark DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from tamis.centers import SparseCenterClassifier
from tamis.centers.chunks import train_passes
from tamis.spark.base import SparkClassifier


class SparkSparseCenterClassifier(SparkClassifier[SparseCenterClassifier]):
    """`SparseCenterClassifier` for Spark DataFrames.

    Every partition is summarised where it is, one Arrow record batch at a time, and summaries are
    merged in a fixed tree: the result has the same bits whatever executor does what, and when.
    What an executor had done when it is lost is done again by another.

    Means need one pass over the frame; medians need about five for 32-bit and eight for 64-bit
    numbers, and more if the counts of all features do not fit into `max_bytes`. Call
    ``data.persist()`` before several passes, unless the frame is quick to make. A frame must have
    the same rows in the same partitions in every pass: persisted, or read from files, without
    shuffles or functions that give other values each time. Another number of rows in a partition
    raises an error.

    Parameters
    ----------
    n_features_to_select, metric, scaling, priors, feature_groups, keep
        As for `SparseCenterClassifier`.
    features : str or list of str, default="features"
        A column of ML vectors (sparse ones stay sparse) or of arrays of numbers; or columns of
        numbers.
    label : str, default="label"
        Column of labels: numbers or strings.
    weight : str or None, default=None
        Column of sample weights.
    max_bytes : float, default=2e8
        With metric="l1": memory for counts of digits, in each task.

    Attributes
    ----------
    model_ : SparseCenterClassifier
        The classifier, which is also returned by `to_local`.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.spark import SparkSparseCenterClassifier
    >>> spark = SparkSession.builder.getOrCreate()
    >>> cells = load_breast_cancer(as_frame=True)
    >>> data = spark.createDataFrame(cells.frame).persist()
    >>> names = list(cells.feature_names)
    >>> model = SparkSparseCenterClassifier(3, features=names, label="target").fit(data)
    >>> model.predict(data).select("prediction").head().prediction
    0
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 10,
        *,
        features: str | Sequence[str] = "features",
        label: str = "label",
        weight: str | None = None,
        metric: str = "l2",
        scaling: str | None = "spread",
        priors: str | ArrayLike = "uniform",
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        keep: ArrayLike | None = None,
        max_bytes: float = 2e8,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.features = features
        self.label = label
        self.weight = weight
        self.metric = metric
        self.scaling = scaling
        self.priors = priors
        self.feature_groups = feature_groups
        self.keep = keep
        self.max_bytes = max_bytes

    def fit(self, data: Any, classes: ArrayLike | None = None) -> SparkSparseCenterClassifier:
        """Train.

        Parameters
        ----------
        data : pyspark.sql.DataFrame
            With the columns of features, labels and weights; others are not read.
        classes : array-like of shape (n_classes,), default=None
            All classes; None: those that occur.

        Returns
        -------
        self : SparkSparseCenterClassifier
        """
        model = self._make_local(SparseCenterClassifier)
        train_passes(model, self._rows(data), classes, self.max_bytes)
        self._keep_model(model)
        return self
