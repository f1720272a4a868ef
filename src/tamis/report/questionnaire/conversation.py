"""A conversation with one person: what to ask, what the answers mean, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.models._registry import as_model
from tamis.report.questionnaire.engines import Policy, Question, make_engine
from tamis.tables.classifying.prevalence import Prevalence, find_prevalence, why_not_likeliest
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError


@dataclass(frozen=True)
class Step:
    """One question that was answered."""

    name: str  # feature, or feature group
    value: Any  # the answer, for a group by field; None if it was unavailable
    probabilities: np.ndarray  # (n_classes,): after the answer


@dataclass(frozen=True)
class Conclusion:
    """What is known now."""

    # Whether there is another question, and otherwise why not: the model has enough, all features
    # were asked for, or `max_questions` were answered.
    status: str
    label: Any  # the predicted class
    probabilities: np.ndarray  # (n_classes,): at the prevalence of the questionnaire
    refer: bool  # whether a person should decide, because no class is probable enough
    largest: float  # the probability that this was decided by
    reason: str | None  # why the label is not the most probable class; None if it is


class Questionnaire:
    """Asks for one feature at a time and predicts the class.

    Datum-wise models choose their questions. Others ask for their features, the most influential
    first, and stop when no answer within the training range can change the decision. Missing
    answers are treated as in `predict`.

    `model`: any but landmarks and panels with a kernel head. `max_questions`: largest number of
    answers; unavailable ones do not count. `reject`: refer to a person if the largest probability
    at the end is below this: that of `predict_proba`, or at `prevalence` if it is stated.
    `flip_risk`: for primal-dual models whose decision is a distance: stop if the label would
    change for at most this share of typical remaining answers. `prevalence`: class frequencies
    that probabilities are shown for: the share of the positive class of two, or of the classes
    that are named. None: as in the training rows. The labels are those of `predict` at any
    prevalence, unless errors have costs. `prevalence`: class frequencies of the probabilities;
    ``prevalence.sentence()`` states them. `history`: questions that were answered or unavailable,
    in order.

    Examples
    --------
    >>> import pandas as pd
    >>> from tamis import SparseCenterClassifier, TableClassifier
    >>> from tamis.report.questionnaire.conversation import Questionnaire
    >>> X = pd.DataFrame({"dose": [1.0, 2.0, None, 8.0], "age": [31.0, 39.0, 36.0, None]})
    >>> model = TableClassifier(SparseCenterClassifier()).fit(X, ["no", "no", "yes", "yes"])
    >>> talk = Questionnaire(model)
    >>> talk.next_question().name
    'dose'
    >>> talk.answer(2).outcome().label
    'no'
    """

    def __init__(
        self,
        model: Any,
        *,
        max_questions: int | None = None,
        reject: float | None = None,
        flip_risk: float | None = None,
        prevalence: Any = None,
    ) -> None:
        found = as_model(model, "asked")
        if not isinstance(found, TableModel):
            raise InputError(
                f"a bare {type(found).__name__} does not know its columns; use a TableClassifier "
                "or a model of tamis fit."
            )
        self.model = found
        self.max_questions, self.reject, self.flip_risk = max_questions, reject, flip_risk
        self.prevalence: Prevalence = find_prevalence(found, prevalence)
        self.engine = make_engine(found, self.prevalence, flip_risk)
        self.history: list[Step] = []
        self._asked: list[int] = []
        self._proceed()

    @property
    def questions(self) -> list[Question]:
        """All questions that may be asked."""
        return self.engine.questions

    def next_question(self) -> Question | None:
        """The question to ask; None when the conversation is over."""
        return None if self._next is None else self.questions[self._next]

    def unusual(self, value: Any) -> list[str]:
        """How an answer to the question is unlike all training rows; ValueError if invalid."""
        question = self._current("answer")
        pairs = zip(question.fields, self._read(question, value), strict=True)
        told = [one.unusual(answer) for one, answer in pairs if answer is not None]
        return [sentence for sentence in told if sentence]

    def answer(self, value: Any) -> Questionnaire:
        """Answer the question."""
        question = self._current("answer")
        answers = self._read(question, value)
        if all(answer is None for answer in answers):
            raise ValueError(f"{question.name}: no value is given; use skip() if it is not known.")
        pairs = zip(question.fields, answers, strict=True)
        answers = [
            None if answer is None or one.is_missing(answer) else answer for one, answer in pairs
        ]
        if all(answer is None for answer in answers):
            return self.skip()
        names = [one.name for one in question.fields]
        given = dict(zip(names, answers, strict=True)) if len(names) > 1 else answers[0]
        return self._take(answers, given)

    def skip(self) -> Questionnaire:
        """Say that the answer is unavailable."""
        question = self._current("skip")
        return self._take([None] * len(question.fields), None)

    def undo(self) -> Questionnaire:
        """Take back the last answer or skip."""
        if not self.history:
            raise ValueError("There is nothing to undo: no question has been answered yet.")
        self.history.pop()
        self.engine.undo(self._asked.pop())
        self._proceed()
        return self

    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the classes with the answers so far, at the prevalence."""
        return self.model.calibrated(self.engine.probabilities()[None], self.prevalence.shares)[0]

    def outcome(self) -> Conclusion:
        """The label with the answers so far, and whether there is another question."""
        model, predicted = self.model, self.engine.probabilities()[None]
        (code,), (shown,) = model.decided(predicted, prevalence=self.prevalence.shares)
        stated = shown if self.prevalence.is_stated else model.calibrated(predicted)[0]
        best, first = float(stated.max()), int(shown.argmax())
        reason = None if shown[code] == shown[first] else why_not_likeliest(model, code, first)
        refer = self.reject is not None and best < self.reject
        return Conclusion(self._status, model.classes_.tolist()[code], shown, refer, best, reason)

    @property
    def without_answers(self) -> str:
        """What the probabilities stand for as long as nothing is answered, in words."""
        if isinstance(self.engine, Policy):
            return "Before any answer"
        return "A typical case (medians and most frequent answers)"

    @property
    def reject_where(self) -> str:
        """At which class frequencies probabilities are compared with `reject`, in words."""
        if self.prevalence.is_stated or np.allclose(self.prevalence.shares, self.model.priors):
            return "at this prevalence"
        if np.ptp(self.model.priors) < 1e-9:
            return "where all classes have equal weight"
        return "at the class frequencies that the model decides by"

    def _current(self, what):
        if self._next is None:
            raise ValueError(
                f"There is nothing to {what}: the conversation is over. See outcome()."
            )
        return self.questions[self._next]

    def _read(self, question, value):
        """The answer to each field, None where unavailable."""
        names = [one.name for one in question.fields]
        if len(names) == 1:
            values = [
                value[names[0]] if isinstance(value, Mapping) and names[0] in value else value
            ]
        elif isinstance(value, Mapping) and set(value) == set(names):
            values = [value[name] for name in names]
        else:
            raise ValueError(f"{question.name}: expected a dict with {', '.join(names)}.")
        pairs = zip(question.fields, values, strict=True)
        return [None if answer is None else one.read(answer) for one, answer in pairs]

    def _take(self, answers, given):
        at = self._next
        self.engine.answer(at, answers)
        self._asked.append(at)
        self.history.append(Step(self.questions[at].name, given, self.probabilities()))
        self._proceed()
        return self

    def _proceed(self):
        """Find the next question, or why there is none."""
        n_answers = sum(step.value is not None for step in self.history)
        self._next, self._status = self.engine.next(self.reject), "asking"
        if self._next is None:
            is_done = len(self._asked) == len(self.questions)
            is_chosen = isinstance(self.engine, Policy)
            self._status = "complete" if is_done and not is_chosen else "settled"
        elif self.max_questions is not None and n_answers >= self.max_questions:
            self._next, self._status = None, "budget"
