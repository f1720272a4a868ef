"""What a calibration set can guarantee: which options go together, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.choosing.choice import Choice
from tamis.comparison.options import Options
from tamis.comparison.settings import find_named
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.datumwise.calibration import Estimate
    from tamis.guarantees.sensitivity import SensitivityThreshold
    from tamis.paths.fixed_sequence import SequenceTest

__all__ = ["ASKING", "Promised", "QuestionLimits", "check_promises"]

#: The method whose models form an ordered family.
ASKING = "datum-wise"


def check_promises(options: Options) -> None:
    """Raise InputError unless the options ask for something that can be promised."""
    limits = [n for n in ("max_error", "max_miss") if getattr(options, n) is not None]
    words = [f"--{n.replace('_', '-')}" for n in limits]
    if options.confidence is not None and not limits and options.min_sensitivity is None:
        raise InputError(
            "--confidence is about --min-sensitivity, --max-error or --max-miss; give one of them."
        )
    if options.calibration_share is None:
        given = [*words, *(["--confidence"] if options.confidence is not None else [])]
        if given:
            raise InputError(
                f"{given[0]} needs rows that are set aside before anything else: add "
                "--calibration-share 0.3."
            )
        return
    if options.max_miss is not None and options.positive is None:
        raise InputError(
            "--max-miss: name the class whose false negatives are meant with --positive CLASS."
        )
    if limits and options.min_sensitivity is not None:
        raise InputError(
            f"{words[0]} and --min-sensitivity cannot be combined: a threshold changes the labels "
            "that are tested. Limit the misses of the class with --max-miss instead."
        )
    named = find_named(options)
    if limits and named not in (("auto",), ("all",)) and ASKING not in named:
        raise InputError(
            f"{words[0]} tests models that ask for features one at a time: add {ASKING} to "
            "--methods."
        )
    if limits and options.readable:
        raise InputError(
            f"{words[0]} needs {ASKING} models, which --readable does not allow; give one of them."
        )
    if options.confidence is not None and options.min_sensitivity == 1:
        raise InputError(
            "--min-sensitivity 1: no number of rows shows that nothing is ever missed. Ask for "
            "less, such as 0.95."
        )


@dataclass(frozen=True)
class QuestionLimits:
    """The datum-wise model with the fewest questions whose errors are shown to be rare."""

    test: SequenceTest  # from the most questions to the fewest
    choice: Choice | None  # None if not even the first model passed
    # n_questions, cost: of the choice, per row.
    n_questions: Estimate | None
    cost: Estimate | None

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        told: dict[str, Any] = {
            "statement": self.test.statement(),
            "confidence": self.test.confidence,
            "limits": [
                {"rate": limit.rate, "at_most": limit.most, "rows": int(limit.rows.size)}
                for limit in self.test.limits
            ],
            "errors": self.test.errors.tolist(),
            "n_passed": self.test.n_passed,
            "order": "cost weights, from the smallest (most questions) to the largest",
            "level": None if self.choice is None else self.choice.level,
        }
        for name in ("n_questions", "cost"):
            value = getattr(self, name)
            told[name] = None if value is None else {"mean": value.mean}
            if value is not None and np.isfinite(value.high):
                told[name]["interval"] = [value.low, value.high]
        return told


@dataclass(frozen=True)
class Promised:
    """A calibrated model's promises."""

    threshold: SensitivityThreshold | None = None  # found for --min-sensitivity with --confidence
    # Share of the other calibration rows that are not called positive, with its 95 % interval.
    specificity: dict[str, Any] | None = None
