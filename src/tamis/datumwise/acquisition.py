"""The results of asking for features: for many samples at once, and for one in a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._base import softmax
from tamis.datumwise.costs import exact_sum
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN, Process

if TYPE_CHECKING:
    from tamis.datumwise.forest_policy import ForestPolicy
    from tamis.datumwise.linear import LinearPolicy


@dataclass(frozen=True)
class Acquired:
    """The features that each sample was asked for, and the resulting labels.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Labels.
    mask : ndarray of bool of shape (n_samples, n_features)
        Values that were asked for or known.
    order : ndarray of int32 of shape (n_samples, length)
        Indices of the features, or feature groups, in the order they were asked for, padded with
        -1.
    cost : ndarray of shape (n_samples,)
        Exact sum of the costs, each read as the decimal number that it prints as.
    n_questions : ndarray of int of shape (n_samples,)
        Number of features, or feature groups, asked for.
    probabilities : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes, given the values that were asked for or known.
    """

    labels: np.ndarray
    mask: np.ndarray
    order: np.ndarray
    cost: np.ndarray
    n_questions: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True)
class Questions:
    """The features that each sample was asked for, and how each changed the decision.

    Attributes
    ----------
    values : ndarray of shape (n_samples, length) or (n_samples, length, n_classes)
        Change of the decision by each answer, padded with 0. Two classes: towards the second one.
    base : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision before the first question: `base` plus the sum over the questions is the decision
        function, up to rounding.
    names : ndarray of str of shape (n_samples, length)
        Names of the features, or feature groups, in the order they were asked for; padded with
        "".
    order : ndarray of int32 of shape (n_samples, length)
        Their indices, padded with -1.
    probabilities : ndarray of shape (n_samples, length + 1, n_classes)
        Probabilities before the first question, after it, after the second, ...; padded with NaN.
    cost : ndarray of shape (n_samples, length + 1)
        Cost up to that point; padded with NaN.
    """

    values: np.ndarray
    base: np.ndarray
    names: np.ndarray
    order: np.ndarray
    probabilities: np.ndarray
    cost: np.ndarray


class Answer(NamedTuple):
    """One question of a conversation."""

    name: str
    value: Any  # a number; for a group a dict; None when skipped
    cost: float
    probabilities: np.ndarray  # after it


class Prediction(NamedTuple):
    """The label given the answers so far, and the probabilities of all classes."""

    label: Any
    probabilities: np.ndarray


class Acquisition:
    """The conversation with one sample: `DatumWiseClassifier.start` makes it.

    `next_feature` names the feature to ask for; `answer` or `skip` it. When it is None, the
    conversation is over. `prediction` has a label at any time.

    Attributes
    ----------
    history : list of Answer
        Name, value, cost, and the probabilities after each answer. Values that were known at the
        start are not included.
    cost : float
        Sum of the costs of all answers.
    """

    def __init__(
        self,
        policy: LinearPolicy | ForestPolicy,
        process: Process,
        classes: NDArray,
        feature_names: Sequence[str] | NDArray,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self._policy, self._process, self._classes = policy, process, classes
        self._feature_names = [str(name) for name in feature_names]
        self._values = np.full((1, process.block_of.size), np.nan)
        self._status = np.full((1, process.n_blocks), OPEN, dtype=np.int8)
        self.history: list[Answer] = []
        if known is not None:
            if not isinstance(known, Mapping):
                raise ValueError(f"known must be a dict from names to values, got {known!r}.")
            names = process.names.tolist()
            for name, value in known.items():
                if name not in names:
                    raise ValueError(
                        f"known has {name!r}, which is not among the features: "
                        f"{', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}."
                    )
                block = names.index(name)
                self._write(block, value)
                self._status[0, block] = KNOWN
        self._run()

    @property
    def cost(self) -> float:
        """Sum of the costs of all answers."""
        return exact_sum(answer.cost for answer in self.history)

    def next_feature(self) -> str | None:
        """Name of the feature, or feature group, to ask for; None when there is none."""
        return None if self._request < 0 else self._process.names[self._request]

    def answer(self, value: Any) -> Acquisition:
        """Answer the question.

        Parameters
        ----------
        value : float; for a group a sequence or dict
            The value. For a feature group the values of its features, in their order or by name;
            None or NaN for those that are unavailable, as long as one is available.

        Returns
        -------
        self : Acquisition
        """
        block = self._asked("answer")
        given = self._write(block, value)
        self._status[0, block] = ASK
        self._run()
        self._note(block, given, float(self._process.costs[block]))
        return self

    def skip(self) -> Acquisition:
        """Say that the feature asked for is unavailable; this costs nothing.

        Returns
        -------
        self : Acquisition
        """
        block = self._asked("skip")
        self._status[0, block] = MISSING
        self._run()
        self._note(block, None, 0.0)
        return self

    def undo(self) -> Acquisition:
        """Take back the last answer or skip.

        Returns
        -------
        self : Acquisition
        """
        if not self.history:
            raise ValueError("There is nothing to undo: no question has been answered yet.")
        block = self._process.names.tolist().index(self.history.pop().name)
        self._values[0, self._process.block_of == block] = np.nan
        self._status[0, block] = OPEN
        self._run()
        return self

    def prediction(self) -> Prediction:
        """The label given the answers so far.

        Returns
        -------
        prediction : Prediction
            `label` and `probabilities`, in the order of the classes.
        """
        label = self._classes[int(self._decisions.argmax())]
        return Prediction(label, softmax(self._decisions))

    def __repr__(self) -> str:
        asked = self.next_feature()
        return (
            f"<Acquisition: {len(self.history)} answered, cost {self.cost:g}, "
            f"{'done' if asked is None else f'asks for {asked!r}'}>"
        )

    def _asked(self, what):
        if self._request < 0:
            raise ValueError(
                f"There is nothing to {what}: next_feature() is None. See prediction(), or undo()."
            )
        return self._request

    def _run(self):
        """Run the policy from the start; with the same answers it asks the same questions."""
        run = self._policy.run(self._values, self._status)
        self._request, self._decisions = int(run.request[0]), run.decisions[0]

    def _note(self, block, value, cost):
        name = self._process.names[block]
        self.history.append(Answer(name, value, cost, softmax(self._decisions)))

    def _write(self, block, value):
        """Check a value and put it in its columns; returns it as recorded."""
        name = self._process.names[block]
        columns = self._process.columns_of(block)
        features = [self._feature_names[c] for c in columns]
        if isinstance(value, Mapping):
            wrong = [key for key in value if key not in features] + [
                n for n in features if n not in value
            ]
            if wrong:
                raise ValueError(
                    f"The answer to {name!r} must have the features {features}, got {list(value)}."
                )
            given = [value[feature] for feature in features]
        elif len(features) > 1 or isinstance(value, list | tuple | np.ndarray):
            is_list = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1
            if not is_list or len(value) != len(features):
                raise ValueError(
                    f"The answer to {name!r} must be {len(features)} number(s), for "
                    f"{features}; got {value!r}."
                )
            given = list(value)
        else:
            self._values[0, columns[0]] = number = _as_number(name, value)
            return number
        numbers = [np.nan if _is_lacking(v) else _as_number(name, v) for v in given]
        if np.isnan(numbers).all():
            raise ValueError(
                f"The answer to {name!r} has no value at all. Use skip() if it is unavailable."
            )
        self._values[0, columns] = numbers
        return dict(zip(features, numbers, strict=True))


def _is_lacking(value):
    return value is None or (isinstance(value, float | np.floating) and np.isnan(value))


def _as_number(name, value):
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if np.isfinite(number):
            return number
    raise ValueError(
        f"The answer to {name!r} must be a finite number, got {value!r}. Use skip() if it is "
        "unavailable."
    )
