"""Why rows have their labels, in the user's columns.

Centers, medians and primal-dual: the margin of the predicted class over the runner-up, the
logarithm of the ratio of their probabilities, is a base plus one contribution per counted feature;
the columns of one feature (its categories, a feature group) are added up. Landmarks: the nearest
training rows. Datum-wise: the features asked for, and the prediction after each.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import is_sparse
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.preparation import Preparation


@dataclass(frozen=True)
class Margins:
    """Contributions to the margins of some rows."""

    # labels, runners_up: (n_rows,): predicted classes, and the most probable of the others.
    labels: np.ndarray
    runners_up: np.ndarray
    probabilities: np.ndarray  # (n_rows,): probabilities of the predicted classes
    # (n_rows,): logarithm of the predicted class's probability over the runner-up's. Negative if
    # another class is more probable at the prevalence that is shown.
    margins: np.ndarray
    features: list  # counted features
    values: np.ndarray  # (n_rows, n_features): contributions; their sum and `base` are the margin
    base: np.ndarray  # (n_rows,): the margin where no feature contributes


@dataclass(frozen=True)
class Nearest:
    """Nearest landmarks of some rows, in the best member of the ensemble."""

    labels: np.ndarray  # (n_rows,): predicted classes, by the whole ensemble
    probabilities: np.ndarray  # (n_rows,): probabilities of the predicted classes
    rows: np.ndarray  # (n_rows, n_nearest): training rows, counted from 0
    row_labels: np.ndarray  # (n_rows, n_nearest): labels of the training rows
    distances: np.ndarray  # (n_rows, n_nearest)


@dataclass(frozen=True)
class Sequences:
    """The features that some rows were asked for."""

    asked: list  # features in the order of the questions
    labels: list  # (n_questions + 1,): predicted classes before the first question and after each
    probabilities: list  # (n_questions + 1,): probabilities of the predicted classes


def explain_margins(
    model: TableModel, table: Columns, prevalence: NDArray | None = None
) -> Margins:
    """Contributions of features to the margin of the predicted class over the runner-up.

    `model`: a model of centers, medians or primal-dual. `prevalence` (n_classes,) or None: class
    frequencies that probabilities are given for; None: those the model assumes.
    """
    X = model.prepare(table)
    predicted, probabilities = model.decided(
        model.estimator.predict_proba(X), prevalence=prevalence
    )
    runners_up = _second(predicted, probabilities)
    explanation = model.estimator.explain(X)
    features = list(dict.fromkeys(model.preparation.features))
    member = _membership(model.preparation.features, features)
    if len(model.classes_) == 2:
        # Towards the second class: the sign shows which of the two was predicted.
        sign = np.where(predicted == 1, 1.0, -1.0)
        values = _dense(explanation.values @ member) * sign[:, None]
        base = explanation.base * sign
    else:
        parts = explanation.values
        if not isinstance(parts, list):
            parts = [parts[:, :, c] for c in range(len(model.classes_))]
        values = np.zeros((X.shape[0], len(features)))
        for c, part in enumerate(parts):
            sums = _dense(part @ member)
            values[predicted == c] += sums[predicted == c]
            values[runners_up == c] -= sums[runners_up == c]
        base = explanation.base[predicted] - explanation.base[runners_up]
    values, base = values / model.temperature, base / model.temperature
    if model.recalibration is not None:
        site = model.recalibration
        values, base = values / site.temperature, base / site.temperature
        base = base + site.intercept[predicted] - site.intercept[runners_up]
    if prevalence is not None:
        logs = np.log(prevalence / model.priors)
        base = base + logs[predicted] - logs[runners_up]
    return Margins(
        labels=model.classes_[predicted],
        runners_up=model.classes_[runners_up],
        probabilities=probabilities[np.arange(predicted.size), predicted],
        margins=values.sum(axis=1) + base,
        features=features,
        values=values,
        base=base,
    )


def explain_nearest(
    model: TableModel, table: Columns, n_nearest: int, prevalence: NDArray | None = None
) -> Nearest:
    """Nearest landmarks of each row.

    `model`: a model of landmarks. `prevalence` (n_classes,) or None: class frequencies that
    probabilities are given for; None: those the model assumes.
    """
    X = model.prepare(table)
    X = _dense(X)
    predicted, probabilities = model.decided(
        model.estimator.predict_proba(X), prevalence=prevalence
    )
    explained = model.estimator.explain(X, n_nearest)
    return Nearest(
        model.classes_[predicted],
        probabilities[np.arange(predicted.size), predicted],
        explained.rows,
        explained.labels,
        explained.distances,
    )


def explain_sequences(
    model: TableModel, table: Columns, prevalence: NDArray | None = None
) -> Sequences:
    """The features each row is asked for, and the prediction after each.

    `model`: a datum-wise model. `prevalence` (n_classes,) or None: class frequencies that
    probabilities are given for; None: those the model assumes.
    """
    questions = model.estimator.explain(model.prepare(table))
    asked, labels, chances = [], [], []
    for names, order, running in zip(
        questions.names, questions.order, questions.probabilities, strict=True
    ):
        n = int((order >= 0).sum())
        predicted, probabilities = model.decided(running[: n + 1], prevalence=prevalence)
        asked.append(names[:n].tolist())
        labels.append(model.classes_[predicted])
        chances.append(probabilities[np.arange(n + 1), predicted])
    return Sequences(asked, labels, chances)


class Values:
    """Values of counted features, as they are in a table."""

    def __init__(self, preparation: Preparation, table: Columns, fills: bool = False) -> None:
        self.table, self.preparation = table, preparation
        self.fills: dict[str, str] = {}
        if fills:
            pairs = zip(preparation.numbers, preparation.fill, strict=False)
            self.fills = {name: self._number(name, fill) for name, fill in pairs}
            self.fills |= preparation.replacements()
        self.sources: dict[str, dict[str, None]] = {}
        self.words: dict[str, Any] = {}
        n_words = sum(len(text.words) for text in preparation.texts.values())
        first_word = preparation.n_columns - n_words
        features, sources = preparation.features, preparation.sources
        for feature, source in zip(features[:first_word], sources[:first_word], strict=True):
            self.sources.setdefault(feature, {})[source] = None
        if n_words:
            self.counts = sparse.csr_array(preparation.encode(table))
            self.words = {features[j]: j for j in range(first_word, preparation.n_columns)}
        self.places = {name: j for j, name in enumerate(table.numeric_names.tolist())}

    def tell(self, row: int, feature: str) -> str:
        """The value of a feature in a row; what replaced it, or "", where it is missing.

        The value of a word is how often it occurs; a feature of several columns shows all of them,
        with their names.
        """
        if feature in self.words:
            return _short(self.counts[row, self.words[feature]])
        names = list(self.sources[feature])
        if len(names) == 1:
            return self._one(row, names[0])
        return "; ".join(f"{name}={self._one(row, name)}" for name in names)

    def _one(self, row, name):
        if name in self.table.others:
            value = self.table.others[name][row]
            if value is not None and not self.preparation.reads_as_missing(name, value):
                return str(value)
            value = "" if value is None else str(value)
        else:
            value = self.table.numeric[row, self.places[name]]
            if not np.isnan(value):
                return self._number(name, value)
            value = ""
        return f"{value} (missing, {self.fills[name]})".lstrip() if name in self.fills else value

    def _number(self, name, value):
        """A number, in percent if it was written in percent."""
        is_percent = name in self.preparation.missing.percents
        return f"{_short(round(100 * value, 9))} %" if is_percent else _short(value)


def _second(predicted, probabilities):
    """The most probable classes besides the predicted ones."""
    others = probabilities.copy()
    others[np.arange(predicted.size), predicted] = -1.0
    return others.argmax(axis=1)


def _membership(of_column, features):
    """CSR of shape (n_columns, n_features) that adds up the columns of each feature."""
    place = {name: j for j, name in enumerate(features)}
    columns = [place[name] for name in of_column]
    n = len(columns)
    return sparse.csr_array((np.ones(n), (np.arange(n), columns)), shape=(n, len(features)))


def _dense(X):
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _short(value):
    return f"{float(value):.10g}"
