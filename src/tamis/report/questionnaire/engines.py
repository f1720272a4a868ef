"""What to ask next, for each family of models: the policy's choice, or the features in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis.report.questionnaire.fields import Field, fields_of
from tamis.report.questionnaire.terms import After, Terms, make_terms
from tamis.tables.classifying.prevalence import Prevalence, find_prevalence
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError, NotReadable

_N_DRAWS = 200


@dataclass(frozen=True)
class Question:
    """One question: a feature, or a feature group whose values come together."""

    name: str
    fields: list[Field]  # one, or for a group one per value


# The answers to a question, one per field, None where unavailable.
Answers = Sequence[Any]


class Engine(Protocol):
    """Asks for features."""

    questions: list[Question]

    def answer(self, question: int, answers: Answers) -> None:
        """Take the answers to a question; all None: it is unavailable."""

    def undo(self, question: int) -> None:
        """Take back the last answer, which was to this question."""

    def next(self, reject: float | None) -> int | None:
        """The question to ask; None if the model has enough."""

    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the classifier, before those of the table are made of them."""


class Policy:
    """A datum-wise classifier, which chooses its own questions."""

    def __init__(self, model: TableModel) -> None:
        estimator = model.estimator
        process, policy = estimator.process_, estimator.policy_
        columns: dict[int, list[int]] = {}
        for block in policy.blocks.tolist():
            columns[block] = [int(j) for j in process.columns_of(block)]
        self.blocks = list(columns)
        self.questions = []
        for block, own in columns.items():
            fields = fields_of(model, own)
            name = fields[0].name if len(fields) == 1 else str(process.names[block])
            self.questions.append(Question(name, fields))
        self._columns = columns
        self._place = {str(process.names[block]): at for at, block in enumerate(self.blocks)}
        self._talk = estimator.start()

    def answer(self, question: int, answers: Answers) -> None:
        """Take the answers to a question; all None: it is unavailable."""
        if all(answer is None for answer in answers):
            self._talk.skip()
            return
        values: dict[int, float] = {}
        for one, answer in zip(self.questions[question].fields, answers, strict=True):
            encoded = [np.nan] * len(one.columns) if answer is None else one.encode(answer)
            values |= dict(zip(one.columns, encoded, strict=True))
        given = [values[j] for j in self._columns[self.blocks[question]]]
        self._talk.answer(given if len(given) > 1 else given[0])

    def undo(self, question: int) -> None:
        """Take back the last answer."""
        self._talk.undo()

    def next(self, reject: float | None) -> int | None:
        """The feature that the policy asks for; None when it stops."""
        name = self._talk.next_feature()
        return None if name is None else self._place[str(name)]

    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities given the answers so far."""
        return self._talk.prediction().probabilities


class InOrder:
    """A model that needs the same features for all rows: the most influential is asked first.

    `flip_risk`: for decisions that are not sums over features: stop if the estimated probability
    that the label changes is at most this. None: ask for all of them. `draws` (n_draws, n_columns)
    or None: values that stand for the unknown ones otherwise.
    """

    def __init__(
        self, model: TableModel, prevalence: Prevalence, flip_risk: float | None = None
    ) -> None:
        self.model, self.flip_risk = model, flip_risk
        self.prevalence, self.after = prevalence, After.of(model, prevalence)
        self.terms: Terms | None = make_terms(model)
        self.draws = None
        if self.terms is not None:
            if flip_risk is not None:
                raise InputError(
                    "--flip-risk is for models whose decisions are not sums over features; this "
                    "one stops as soon as no answer within the training range can change the "
                    "decision."
                )
            fields = [one.field for one in self.terms.fields]
        else:
            estimator = model.estimator
            size = np.abs(estimator.weights_ * (estimator.scale_[:, None] > 0)).sum(axis=1)
            fields = fields_of(model, np.flatnonzero(estimator.support_).tolist())
            fields.sort(key=lambda one: -size[one.columns].sum())
            self.draws = _draw(model, fields)
        self.questions = [Question(one.name, [one]) for one in fields]
        self._answered: dict[int, list[float]] = {}
        fill = model.preparation.fill
        self._row = fill.copy() if fill.size else np.zeros(model.preparation.n_columns)
        self._fill = self._row.copy()

    def answer(self, question: int, answers: Answers) -> None:
        """Take the answer to a question; None: as in prediction, the training value is used."""
        (one,) = self.questions[question].fields
        values = one.fill if answers[0] is None else one.encode(answers[0])
        self._answered[question] = values
        self._row[one.columns] = values

    def undo(self, question: int) -> None:
        """Take back the answer to a question."""
        del self._answered[question]
        (one,) = self.questions[question].fields
        self._row[one.columns] = self._fill[one.columns]

    def next(self, reject: float | None) -> int | None:
        """The first question that is left; None if the rest cannot change the decision."""
        left = [at for at in range(len(self.questions)) if at not in self._answered]
        if not left or self._is_settled(left, reject):
            return None
        return left[0]

    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities; what is not answered has the value of a missing one."""
        return self._predict(self._row[None])[0]

    def _predict(self, rows):
        if self.model.preparation.is_sparse and not self.model.is_dense:
            rows = sparse.csr_array(rows)
        return self.model.estimator.predict_proba(rows)

    def _label(self, rows):
        shares = self.prevalence.shares
        return self.model.decided(self._predict(rows), prevalence=shares)[0]

    def _is_settled(self, left, reject):
        label = int(self._label(self._row[None])[0])
        if self.terms is not None:
            margins = self._smallest_margins(left)
            return self.after.is_settled(margins, label, reject)
        if self.flip_risk is None:
            return False
        rows = np.tile(self._row, (len(self.draws), 1))
        columns = [j for at in left for j in self.questions[at].fields[0].columns]
        rows[:, columns] = self.draws[:, columns]
        return bool((self._label(rows) != label).mean() <= self.flip_risk)

    def _smallest_margins(self, left):
        """Smallest decision of class c minus that of class k, over all answers that are left."""
        total = self.terms.base.copy()
        for at, values in self._answered.items():
            total += self.terms.fields[at].of_columns(values)
        margins = total[:, None] - total[None, :]
        for at in left:
            margins = margins + self.terms.fields[at].smallest_margins()
        return margins


def _draw(model, fields):
    """Rows of values with the means and deviations of training, each feature by itself."""
    rng, estimator = np.random.default_rng(0), model.estimator
    draws = np.zeros((_N_DRAWS, model.preparation.n_columns))
    for one in fields:
        mean, scale = estimator.mean_[one.columns], estimator.scale_[one.columns]
        if one.kind == "choice":
            ends = np.cumsum(np.clip(mean, 0.0, 1.0))
            at = np.searchsorted(ends, rng.random(_N_DRAWS))
            known = at < ends.size
            draws[known, np.array(one.columns)[at[known]]] = 1.0
            continue
        values = rng.normal(mean[0], scale[0], _N_DRAWS)
        low = -np.inf if one.low is None else one.low
        draws[:, one.columns[0]] = np.clip(values, low, np.inf if one.high is None else one.high)
    return draws


def refuse_rows(model: TableModel, done: str) -> None:
    """Raise NotReadable for a model that compares whole rows, which cannot be `done`."""
    kind = type(model.estimator).__name__
    if kind.startswith("Landmark"):
        raise NotReadable(f"landmarks compare whole rows, so they cannot be {done}.")
    if kind.startswith("Panel") and model.estimator.head_ == "kernel":
        raise NotReadable(
            f"the kernel head of this panel compares whole rows, so it cannot be {done}."
        )


def make_engine(
    model: TableModel, prevalence: Prevalence | None = None, flip_risk: float | None = None
) -> Engine:
    """What asks the questions of a model.

    `prevalence`: see `InOrder`; None: of the training rows. `flip_risk`: see `InOrder`. Returns
    `engine`: InputError is raised for models that cannot be asked this way.
    """
    refuse_rows(model, "asked one question at a time")
    if not model.asks:
        return InOrder(model, prevalence or find_prevalence(model), flip_risk)
    if flip_risk is not None:
        raise InputError(
            "--flip-risk is not for datum-wise models: they decide when to stop themselves."
        )
    return Policy(model)
