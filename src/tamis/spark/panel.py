"""`SparkPanelClassifier`: panels of Spark DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from tamis.panel import PanelClassifier
from tamis.panel.chunks import train_passes
from tamis.spark.base import SparkClassifier


class SparkPanelClassifier(SparkClassifier[PanelClassifier]):
    """`PanelClassifier` for Spark DataFrames.

    The result is that of `PanelClassifier.fit_chunks` on the same rows: all rows screen the
    features and train the head, and a sample of at most 10,000 distinct rows, which comes to the
    driver, chooses the features and the head. Two passes over the frame find the sample (about six
    with selection="medians"), and one gathers the selected columns, if they fit into `max_bytes`;
    otherwise the head takes one to five.

    Call ``data.persist()`` first. The frame must have the same rows in the same partitions in
    every pass, as for `SparkSparseCenterClassifier`.

    Parameters
    ----------
    n_features_to_select, selection, head, alpha, n_screened, feature_groups, max_per_group, \
keep, feature_costs, class_weight, cv, max_seconds, random_state
        As for `PanelClassifier`.
    features : str or list of str, default="features"
        A column of ML vectors (sparse ones stay sparse) or of arrays of numbers; or columns of
        numbers.
    label : str, default="label"
        Column of labels: numbers or strings.
    weight : str or None, default=None
        Column of sample weights.
    max_bytes : float, default=2e8
        Memory on the driver for the sample and for the selected columns of all rows, which
        ``spark.driver.maxResultSize`` must allow; with selection="medians" also for counts of
        digits, in each task.

    Attributes
    ----------
    model_ : PanelClassifier
        The classifier, which is also returned by `to_local`.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.spark import SparkPanelClassifier
    >>> spark = SparkSession.builder.getOrCreate()
    >>> cells = load_breast_cancer(as_frame=True)
    >>> data = spark.createDataFrame(cells.frame).persist()
    >>> names = list(cells.feature_names)
    >>> model = SparkPanelClassifier(3, features=names, label="target").fit(data)
    >>> model.to_local().get_support(indices=True).tolist()
    [20, 21, 27]
    >>> model.predict(data).select("prediction").head().prediction
    0
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 5,
        *,
        features: str | Sequence[str] = "features",
        label: str = "label",
        weight: str | None = None,
        selection: str = "auto",
        head: str = "auto",
        alpha: float = 30.0,
        n_screened: int = 100,
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        max_per_group: int | None = None,
        keep: ArrayLike | None = None,
        feature_costs: ArrayLike | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        cv: int | BaseCrossValidator | Iterable = 5,
        max_seconds: float | None = 10.0,
        random_state: int | np.random.RandomState | None = 0,
        max_bytes: float = 2e8,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.features = features
        self.label = label
        self.weight = weight
        self.selection = selection
        self.head = head
        self.alpha = alpha
        self.n_screened = n_screened
        self.feature_groups = feature_groups
        self.max_per_group = max_per_group
        self.keep = keep
        self.feature_costs = feature_costs
        self.class_weight = class_weight
        self.cv = cv
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.max_bytes = max_bytes

    def fit(self, data: Any, classes: ArrayLike | None = None) -> SparkPanelClassifier:
        """Select the features and train the head.

        Parameters
        ----------
        data : pyspark.sql.DataFrame
            With the columns of features, labels and weights; others are not read.
        classes : array-like of shape (n_classes,), default=None
            All classes; None: those that occur.

        Returns
        -------
        self : SparkPanelClassifier
        """
        model = self._make_local(PanelClassifier)
        train_passes(model, self._rows(data), classes, self.max_bytes)
        self._keep_model(model)
        return self
