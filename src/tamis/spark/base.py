"""What the classifiers for Spark share: lazy predictions, and the model on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis.spark.columns import find_features, require_frame
from tamis.spark.predictions import add_predictions
from tamis.spark.rows import SparkRows

# Parameters that say where the data are and how to compute, not what.
_OF_SPARK = ("features", "label", "weight", "max_bytes")

Local = TypeVar("Local")


class SparkClassifier(ClassifierMixin, BaseEstimator, Generic[Local]):
    """Base of the classifiers for Spark."""

    features: str | Sequence[str]
    label: str
    weight: str | None
    model_: Local

    def _make_local(self, of: type) -> Any:
        """A classifier of this class with the same parameters."""
        parameters = self.get_params(deep=False)
        return of(**{k: v for k, v in parameters.items() if k not in _OF_SPARK})

    def _rows(self, data: Any) -> SparkRows:
        return SparkRows(data, self.features, self.label, self.weight)

    def _keep_model(self, model: Any) -> None:
        self.model_, self.classes_ = model, model.classes_
        self.n_features_in_ = model.n_features_in_

    def predict(self, data: Any) -> Any:
        """Predict labels.

        Parameters
        ----------
        data : pyspark.sql.DataFrame
            With the columns of features.

        Returns
        -------
        data : pyspark.sql.DataFrame
            The same with one more column, "prediction", which is computed when it is needed.
        """
        return self._add(data, with_probabilities=False)

    def predict_proba(self, data: Any) -> Any:
        """Predict labels and class probabilities.

        Parameters
        ----------
        data : pyspark.sql.DataFrame
            With the columns of features.

        Returns
        -------
        data : pyspark.sql.DataFrame
            The same with two more columns, which are computed when they are needed: "prediction",
            and "probability", arrays in the order of `classes_`.
        """
        return self._add(data, with_probabilities=True)

    def _add(self, data, with_probabilities):
        model = self.to_local()
        require_frame(data)
        features = find_features(data, self.features)
        return add_predictions(data, features, model, with_probabilities)

    def to_local(self) -> Local:
        """The fitted classifier, which works on data in memory."""
        check_is_fitted(self, "model_")
        return self.model_
