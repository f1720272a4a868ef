"""What the classifiers for Dask share: lazy predictions, and the model on one machine."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis.dask.blocks import map_rows

# Parameters that say where and how to compute, not what.
_OF_COMPUTING = ("max_bytes", "client", "worker_timeout")

Local = TypeVar("Local")


class DaskClassifier(ClassifierMixin, BaseEstimator, Generic[Local]):
    """Base of the classifiers for Dask."""

    model_: Local

    def _make_local(self, of: type) -> Any:
        """A classifier of this class with the same parameters."""
        parameters = self.get_params(deep=False)
        return of(**{k: v for k, v in parameters.items() if k not in _OF_COMPUTING})

    def _keep_model(self, model: Any) -> None:
        self.model_, self.classes_ = model, model.classes_
        self.n_features_in_ = model.n_features_in_

    def predict(self, X: Any) -> Any:
        """Predicted labels, as a lazy Dask array.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)

        Returns
        -------
        labels : dask.array.Array of shape (n_samples,)
        """
        model: Any = self.to_local()
        return map_rows(model.predict, X, None, model.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, as a lazy Dask array.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_samples, n_features)

        Returns
        -------
        probabilities : dask.array.Array of shape (n_samples, n_classes)
        """
        model: Any = self.to_local()
        return map_rows(model.predict_proba, X, len(model.classes_), np.float64)

    def to_local(self) -> Local:
        """The fitted classifier, which works on data in memory."""
        check_is_fitted(self, "model_")
        return self.model_
