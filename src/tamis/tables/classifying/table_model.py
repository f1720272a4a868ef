"""TableModel: a preparation and the fitted classifier behind it, as a model file holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import RECORD_VERSION, Record, adjust, check_version, plain, softmax
from tamis._base.plain_values import write_value
from tamis.tables.classifying.deciding import decide, decide_by_cost
from tamis.tables.classifying.prediction_sets import SetCalibration, check_coverage
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.table_record import read_preparation, write_preparation


@dataclass(frozen=True)
class Predicted:
    """Predictions for some rows."""

    labels: np.ndarray  # (n_rows,)
    probabilities: np.ndarray  # (n_rows, n_classes)
    # Features that each row was asked for, in this order; None if all rows need the same.
    asked: list[list[str]] | None = None


@dataclass(frozen=True)
class Recalibration:
    """Probabilities fitted to another site: log probabilities / temperature + intercept."""

    temperature: float
    intercept: np.ndarray  # (n_classes,)

    def apply(self, probabilities: NDArray) -> NDArray[np.float64]:
        """Recalibrated probabilities."""
        with np.errstate(divide="ignore"):
            return softmax(np.log(probabilities) / self.temperature + self.intercept)


@dataclass
class TableModel:
    """A preparation and the classifier behind it, with everything a prediction needs.

    Attributes
    ----------
    method : str
        Name of the method that was fitted.
    level : float or None
        Level on its path: number of features, or cost weight.
    target : str
        Name of what is predicted.
    preparation : Preparation
        From raw columns to the columns of the classifier.
    estimator : classifier
        Fitted, of one of the families.
    priors : ndarray of shape (n_classes,)
        Class frequencies that the probabilities assume.
    temperature : float
        What log probabilities are divided by, calibrated on out-of-fold predictions.
    positive : str, int, bool or None
        The class that a threshold belongs to.
    threshold : float or None
        The positive class is predicted if its probability is at least this.
    misclassification : ndarray of shape (n_classes, n_classes) or None
        Cost of predicting each class (columns) for rows of each class (rows): the class of the
        smallest expected cost is predicted.
    frequencies : ndarray of shape (n_classes,) or None
        Class frequencies of the training rows, by their weights, or of the rows that the model
        was recalibrated on; None if a file of an earlier version does not have them. Expected
        costs are about them.
    descriptions : dict of str to dict
        Descriptions of the features: question, unit, type, choices, min, max, cost, group.
    scores : dict
        Scores from cross-validation.
    version : str
        Version of tamis that made it.
    is_dense : bool
        Whether the classifier was trained on dense columns, and takes no others.
    recalibration : Recalibration or None
        What comes after the temperature, if the model was recalibrated at another site. A
        threshold is compared with the probabilities before it.
    calibration : SetCalibration or None
        What prediction sets need, if rows were set aside for them.
    """

    method: str
    level: float | None
    target: str
    preparation: Preparation
    estimator: Any
    priors: np.ndarray
    temperature: float = 1.0
    positive: str | int | bool | None = None
    threshold: float | None = None
    descriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    is_dense: bool = False
    recalibration: Recalibration | None = None
    calibration: SetCalibration | None = None
    misclassification: np.ndarray | None = None
    frequencies: np.ndarray | None = None

    @property
    def classes_(self) -> NDArray:
        """Labels, in the order of the probabilities."""
        return self.estimator.classes_

    @property
    def asks(self) -> bool:
        """Whether features are asked for one at a time, and missing ones stay missing."""
        return hasattr(self.estimator, "acquire")

    @property
    def head_name(self) -> str:
        """Classifier of the selected features: "logistic"; empty if there is no separate one."""
        head = getattr(self.estimator, "head_", "")
        return "linear discriminant" if head == "lda" else head

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
            With all columns that the preparation requires.
        priors : ndarray of shape (n_classes,) or None
            Class frequencies where the model is used, if different from training.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        return self.calibrated(self.estimator.predict_proba(self.prepare(table)), priors)

    def calibrated(
        self, probabilities: NDArray, priors: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The model's probabilities, from those of its classifier."""
        if self.recalibration is None:
            return adjust(probabilities, self.temperature, self.priors, priors)
        probabilities = self.recalibration.apply(adjust(probabilities, self.temperature))
        return adjust(probabilities, 1.0, self.priors, priors)

    def predict_rows(
        self, table: Columns, priors: ArrayLike | None = None, prevalence: ArrayLike | None = None
    ) -> Predicted:
        """Labels, probabilities, and the features each row was asked for.

        Parameters
        ----------
        table : Columns
            With all columns that the preparation requires.
        priors : ndarray of shape (n_classes,) or None
            As in `predict_proba`.
        prevalence : ndarray of shape (n_classes,) or None
            As in `decided`.

        Returns
        -------
        predicted : Predicted
        """
        X = self.prepare(table)
        if not self.asks:
            return self._say(self.estimator.predict_proba(X), priors, prevalence)
        acquired = self.estimator.acquire(X)
        names = self.estimator.process_.names
        asked = [
            names[order[:n]].tolist()
            for order, n in zip(acquired.order, acquired.n_questions, strict=True)
        ]
        return self._say(acquired.probabilities, priors, prevalence, asked)

    def _say(self, predicted, priors, prevalence, asked=None):
        """Labels and probabilities from those of the classifier."""
        codes, probabilities = self.decided(predicted, priors, prevalence)
        return Predicted(self.classes_[codes], probabilities, asked)

    def decided(
        self,
        predicted: NDArray,
        priors: ArrayLike | None = None,
        prevalence: ArrayLike | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Class indices and the model's probabilities, from those of its classifier.

        Parameters
        ----------
        predicted : ndarray of shape (n_rows, n_classes)
            Probabilities of the classifier.
        priors : ndarray of shape (n_classes,) or None
            Class frequencies that probabilities are given for, and labels decided by. A threshold
            was chosen for its sensitivity, which does not depend on them: it stays.
        prevalence : ndarray of shape (n_classes,) or None
            Instead of `priors`: class frequencies that probabilities are given for, while the
            labels are those without it. Only expected costs are about it, too.

        Returns
        -------
        codes : ndarray of int of shape (n_rows,)
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        probabilities = before = self.calibrated(predicted, priors)
        if prevalence is not None:
            probabilities = self.calibrated(predicted, prevalence)
        if self.misclassification is not None:
            if priors is None:
                stated = self.frequencies if prevalence is None else prevalence
                before = self.calibrated(predicted, stated)
            return decide_by_cost(before, self.misclassification), probabilities
        if self.threshold is not None:
            before = self.tempered(predicted)
        return decide(before, self.positive_index, self.threshold), probabilities

    @property
    def decision_costs(self) -> NDArray[np.float64] | None:
        """Costs by which ``argmin(probabilities @ costs)`` decides; None without such costs.

        They contain the change from the priors to the frequencies.
        """
        return self.costs_at(self.frequencies)

    def costs_at(self, prevalence: ArrayLike | None) -> NDArray[np.float64] | None:
        """As `decision_costs`, for other class frequencies."""
        if self.misclassification is None:
            return None
        return (np.asarray(prevalence) / self.priors)[:, None] * self.misclassification

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
            With all columns that the preparation requires.
        priors : ndarray of shape (n_classes,) or None
            As in `predict_proba`.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        return self.predict_rows(table, priors).labels

    def predict_set(self, table: Columns, coverage: float = 0.95) -> NDArray[np.bool_]:
        """The classes that each row may well have: `TableClassifier.predict_set`."""
        coverage = check_coverage(self, coverage)
        assert self.calibration is not None
        probabilities = self.estimator.predict_proba(self.prepare(table))
        return self.calibration.predict_set(self.tempered(probabilities), coverage)

    def tempered(self, probabilities: NDArray) -> NDArray[np.float64]:
        """Probabilities that thresholds and prediction sets use, from those of the classifier."""
        return adjust(probabilities, self.temperature)

    # Records.

    def to_record(self) -> dict[str, Any]:
        """The model as numbers, strings, lists and dicts under public names."""
        record = {
            "version": RECORD_VERSION,
            "target": self.target,
            "method": self.method,
            "level": plain(self.level),
            "positive": write_value(self.positive),
            "threshold": plain(self.threshold),
            "temperature": plain(self.temperature),
            "priors": plain(self.priors),
            "frequencies": plain(self.frequencies),
            "recalibration": None,
            "calibration": None if self.calibration is None else self.calibration.to_record(),
            "preparation": write_preparation(self.preparation),
            "is_dense": self.is_dense,
            "descriptions": write_value(self.descriptions),
            "scores": write_value(self.scores),
            "tamis_version": self.version,
            "estimator": {"model": type(self.estimator).__name__, **self.estimator.to_record()},
        }
        if self.misclassification is not None:
            record["misclassification"] = {"costs": plain(self.misclassification)}
        if self.recalibration is not None:
            values = vars(self.recalibration)
            record["recalibration"] = {name: plain(value) for name, value in values.items()}
        return record

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], find_class: Callable[[Any], Any]
    ) -> TableModel:
        """The model that `to_record` described.

        Parameters
        ----------
        record : dict
        find_class : callable
            Finds the class of the estimator by its name.

        Returns
        -------
        model : TableModel
            ValueError is raised, with the name of the value, if a value is impossible.
        """
        taken = Record(record)
        check_version(taken)
        inner = taken.take("estimator")
        taken.require(type(inner) is dict and "model" in inner, "estimator", "a model")
        values = {key: value for key, value in inner.items() if key != "model"}
        estimator = find_class(inner["model"]).from_record(values)
        taken.require(hasattr(estimator, "predict_proba"), "estimator", "a classifier")
        preparation = read_preparation(Record(taken.take("preparation"), "preparation."))
        m, C = estimator.n_features_in_, estimator.classes_.size
        fits = preparation.n_columns == m
        taken.require(fits, "preparation", f"of {m} columns, as its estimator")
        known = {name: taken.take(name) for name in ("target", "method", "tamis_version")}
        for name, value in known.items():
            taken.require(type(value) is str, name, "a string")
        positive = taken.value("positive")
        if positive is not None:
            is_label = isinstance(positive, str | bool | int | float)
            is_label = is_label and positive in estimator.classes_.tolist()
            taken.require(is_label, "positive", "a class")
        threshold = taken.number_or_none("threshold", 0.0, 1.0)
        taken.require(threshold is None or positive is not None, "threshold", "of a class")
        descriptions, scores = taken.value("descriptions"), taken.value("scores")
        described = type(descriptions) is dict and all(
            type(name) is str and type(one) is dict for name, one in descriptions.items()
        )
        taken.require(described, "descriptions", "objects by feature")
        taken.require(type(scores) is dict, "scores", "an object")
        model = cls(
            method=known["method"],
            level=taken.number_or_none("level"),
            target=known["target"],
            preparation=preparation,
            estimator=estimator,
            priors=taken.numbers("priors", (C,), low=0.0),
            temperature=taken.number("temperature", above=0.0),
            positive=positive,
            threshold=threshold,
            descriptions=descriptions,
            scores=scores,
            version=known["tamis_version"],
            is_dense=taken.flag("is_dense"),
        )
        site = taken.optional("recalibration")
        if site is not None:
            temperature = site.number("temperature", above=0.0)
            model.recalibration = Recalibration(temperature, site.numbers("intercept", (C,)))
            site.finish()
        kept = taken.optional("calibration")
        if kept is not None:
            model.calibration = SetCalibration.from_record(kept, C)
        if taken.peek("frequencies") is not None:
            model.frequencies = taken.numbers("frequencies", (C,), low=0.0)
            taken.require(model.frequencies.sum() > 0, "frequencies", "above 0 somewhere")
        elif "frequencies" in taken:  # models of earlier versions do not have it
            taken.take("frequencies")
        if "misclassification" in taken:  # nor this
            decided = taken.part("misclassification")
            model.misclassification = decided.numbers("costs", (C, C), low=0.0)
            if "frequencies" in decided:  # its place in earlier versions
                model.frequencies = decided.numbers("frequencies", (C,), low=0.0)
            decided.finish()
            known = model.frequencies is not None
            taken.require(known, "frequencies", "numbers with costs of errors")
            taken.require((model.priors > 0).all(), "priors", "above 0 with costs of errors")
            taken.require(threshold is None, "misclassification", "absent with a threshold")
        taken.finish()
        return model
