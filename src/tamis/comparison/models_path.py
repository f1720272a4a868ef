"""ModelsPath: a path of classifiers that were trained one by one, such as scikit-learn's."""

from __future__ import annotations

import numpy as np

from tamis.paths.path import Path

__all__ = ["ModelsPath"]


class ModelsPath(Path):
    """A path of models that were trained one by one.

    Parameters
    ----------
    levels : sequence of float
    models : list of classifier
        With `predict_proba`.
    features : list of ndarray of int
        Columns of every model, ascending.
    n_classes : int
    """

    def __init__(self, levels, models, features, n_classes):
        self.levels, self.classes = np.asarray(levels), np.arange(n_classes)
        self.n_features = np.array([columns.size for columns in features])
        self._models, self._features = models, features

    def features(self, level):
        """Columns of one model."""
        return self._features[level]

    def decisions(self, X, places=slice(None)):
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(np.stack([model.predict_proba(X) for model in self._models[places]]))

    def model(self, level):
        """One model."""
        return self._models[level]
