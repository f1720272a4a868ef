"""`SparkPrimalDualClassifier`: primal-dual classifiers of Spark DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from tamis.primal_dual import PrimalDualClassifier
from tamis.primal_dual.partitioned import train_passes
from tamis.spark.base import SparkClassifier


class SparkPrimalDualClassifier(SparkClassifier[PrimalDualClassifier]):
    """`PrimalDualClassifier` for Spark DataFrames.

    The result is that of `PrimalDualClassifier` on all rows, to the gap, which is certified on all
    rows. One pass over the frame finds the standardization. Then the columns of the most promising
    features are gathered on the driver, the problem is solved for these, and one pass over all
    columns certifies the result or shows which features are missing: usually three to seven passes
    in all. If the columns do not fit into `max_bytes`, each iteration is a pass over the frame.

    Call ``data.persist()`` first. The frame must have the same rows in the same order in every
    pass, as for `SparkSparseCenterClassifier`.

    Parameters
    ----------
    radius, ball, loss, huber_delta, rho, adaptive_centers, standardize, feature_weights, \
class_weight, head, tol, max_iter
        As for `PrimalDualClassifier`. ``loss="l1"`` needs the columns in use within `max_bytes`,
        and so do the heads "lda" and "logistic"; if they do not fit, an error is raised.
    features : str or list of str, default="features"
        A column of ML vectors (sparse ones stay sparse) or of arrays of numbers; or columns of
        numbers.
    label : str, default="label"
        Column of labels: numbers or strings.
    weight : str or None, default=None
        Column of sample weights.
    max_bytes : float, default=1e9
        Memory on the driver for gathered columns; ``spark.driver.maxResultSize`` must allow half
        of it.

    Attributes
    ----------
    model_ : PrimalDualClassifier
        The classifier, which is also returned by `to_local`; it has no `dual_`, which is of the
        size of the data.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.spark import SparkPrimalDualClassifier
    >>> spark = SparkSession.builder.getOrCreate()
    >>> cells = load_breast_cancer(as_frame=True)
    >>> data = spark.createDataFrame(cells.frame).persist()
    >>> names = list(cells.feature_names)
    >>> model = SparkPrimalDualClassifier(0.5, features=names, label="target").fit(data)
    >>> bool(model.to_local().relative_gap_ <= 1e-4)
    True
    >>> model.predict(data).select("prediction").head().prediction
    0
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        features: str | Sequence[str] = "features",
        label: str = "label",
        weight: str | None = None,
        ball: str = "l1",
        loss: str = "huber",
        huber_delta: float = 0.25,
        rho: float | str = "auto",
        adaptive_centers: bool = True,
        standardize: bool = True,
        feature_weights: ArrayLike | None = None,
        class_weight: str | dict | None = "balanced",
        head: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_bytes: float = 1e9,
    ) -> None:
        self.radius = radius
        self.features = features
        self.label = label
        self.weight = weight
        self.ball = ball
        self.loss = loss
        self.huber_delta = huber_delta
        self.rho = rho
        self.adaptive_centers = adaptive_centers
        self.standardize = standardize
        self.feature_weights = feature_weights
        self.class_weight = class_weight
        self.head = head
        self.tol = tol
        self.max_iter = max_iter
        self.max_bytes = max_bytes

    def fit(self, data: Any) -> SparkPrimalDualClassifier:
        """Find the projection and the centers, and train the head on the selected features.

        Parameters
        ----------
        data : pyspark.sql.DataFrame
            With the columns of features, labels and weights; others are not read.

        Returns
        -------
        self : SparkPrimalDualClassifier
        """
        model = self._make_local(PrimalDualClassifier)
        train_passes(model, self._rows(data), self.max_bytes)
        self._keep_model(model)
        return self
