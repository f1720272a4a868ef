"""TableModel: a preparation and the fitted classifier behind it, as a model file holds them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import softmax
from tamis.tables.preparation import Preparation
from tamis.tables.table import Columns

__all__ = ["Predicted", "TableModel"]


@dataclass(frozen=True)
class Predicted:
    """What is said about some rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
    probabilities : ndarray of shape (n_rows, n_classes)
    asked : list of list of str, or None
        Features that every row was asked for, in this order; None where all rows need the same.
    """

    labels: np.ndarray
    probabilities: np.ndarray
    asked: list[list[str]] | None = None


@dataclass
class TableModel:
    """A preparation and the classifier behind it, with all that a prediction needs.

    Attributes
    ----------
    method : str
        Name of the method that was fitted.
    level : float
        Point of its sparsity path: number of features, or cost weight.
    target : str
        Name of what is predicted.
    preparation : Preparation
        From raw columns to the columns of the classifier.
    estimator : classifier
        Fitted, of one of the families.
    priors : ndarray of shape (n_classes,)
        Class frequencies that the probabilities stand for.
    is_dense : bool
        Whether the classifier was trained on dense columns, and takes no others.
    temperature : float
        What log probabilities are divided by, calibrated on out-of-fold predictions.
    positive : str, int, bool or None
        The class that a threshold belongs to.
    threshold : float or None
        The positive class is named where its probability is at least this.
    descriptions : dict of str to dict
        What is known about the features: question, unit, type, choices, min, max, cost, group.
    scores : dict
        How well it did in cross-validation.
    version : str
        Version of tamis that made it.
    """

    method: str
    level: float
    target: str
    preparation: Preparation
    estimator: Any
    priors: np.ndarray
    is_dense: bool = False
    temperature: float = 1.0
    positive: str | int | bool | None = None
    threshold: float | None = None
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    version: str = ""

    @property
    def classes_(self) -> NDArray:
        """Labels, in the order of the probabilities."""
        return self.estimator.classes_

    @property
    def required(self) -> list[str]:
        """Raw columns that a prediction needs."""
        return self.preparation.required

    @property
    def asks(self) -> bool:
        """Whether features are asked for one at a time, and missing ones stay missing."""
        return hasattr(self.estimator, "acquire")

    def prepare(self, table: Columns) -> Matrix:
        """Matrix of the classifier's columns."""
        X = self.preparation.transform(table, impute=not self.asks)
        return X.toarray() if self.is_dense and is_sparse(X) else X

    def predict_proba(
        self, table: Columns, priors: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Parameters
        ----------
        table : Columns
            With all `required` columns.
        priors : ndarray of shape (n_classes,) or None
            Class frequencies where the model is used, if other than in training.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        probabilities = self.estimator.predict_proba(self.prepare(table))
        return adjust(probabilities, self.temperature, self.priors, priors)

    def predict_rows(self, table: Columns, priors: ArrayLike | None = None) -> Predicted:
        """Labels and probabilities in one go, and what every row was asked for.

        Parameters
        ----------
        table : Columns
            With all `required` columns.
        priors : ndarray of shape (n_classes,) or None
            As in `predict_proba`.

        Returns
        -------
        predicted : Predicted
        """
        X = self.prepare(table)
        if not self.asks:
            return self._say(self.estimator.predict_proba(X), priors)
        acquired = self.estimator.acquire(X)
        names = self.estimator.process_.names
        asked = [
            names[order[:n]].tolist()
            for order, n in zip(acquired.order, acquired.n_questions, strict=True)
        ]
        return self._say(acquired.probabilities, priors, asked)

    def _say(self, found, priors, asked=None):
        """Labels and probabilities from those of the classifier.

        A threshold was chosen for its sensitivity, which does not depend on how frequent a class
        is: other priors change the probabilities, and not who is found.
        """
        probabilities = adjust(found, self.temperature, self.priors, priors)
        if self.threshold is None:
            return Predicted(self.decide(probabilities), probabilities, asked)
        return Predicted(self.decide(adjust(found, self.temperature)), probabilities, asked)

    def decide(self, probabilities: NDArray) -> NDArray:
        """Labels that probabilities lead to: the largest, or the threshold's."""
        return self.classes_[decide(probabilities, self.positive_index, self.threshold)]

    @property
    def positive_index(self) -> int | None:
        """Place of the positive class, or None."""
        if self.positive is None:
            return None
        return int(np.flatnonzero(self.classes_ == self.positive)[0])

    def predict(self, table: Columns, priors: ArrayLike | None = None) -> NDArray:
        """Labels.

        Parameters
        ----------
        table : Columns
            With all `required` columns.
        priors : ndarray of shape (n_classes,) or None
            As in `predict_proba`.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        return self.predict_rows(table, priors).labels


def adjust(probabilities, temperature, old=None, new=None):
    """Probabilities with a temperature, and for other class frequencies.

    Bayes: with other priors, a probability changes by the ratio of the new to the old one.
    """
    if temperature == 1.0 and new is None:
        return probabilities
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities) / temperature
    if new is not None:
        logs = logs + np.log(np.asarray(new) / np.asarray(old))
    return softmax(logs)


def decide(probabilities, positive=None, threshold=None):
    """Class indices: the largest probability, first of equals; or the positive class first.

    With a threshold the positive class is named where its probability reaches it, and elsewhere
    the largest of the others.
    """
    if threshold is None:
        return probabilities.argmax(axis=1)
    others = probabilities.copy()
    others[:, positive] = -1.0
    return np.where(probabilities[:, positive] >= threshold, positive, others.argmax(axis=1))
