"""Parameters of `compare` in what is said about a comparison, where the command has options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tamis.tables.errors import in_python

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison

__all__ = ["PARAMETERS", "name_parameters"]

#: Parameters of `compare` that the command calls differently.
PARAMETERS = {
    "batch": "batches",
    "folds": "cv",
    "seed": "random_state",
    "weights": "sample_weight",
}


def name_parameters(comparison: Comparison) -> Comparison:
    """The comparison with parameters in its checks, its notes and why it was stopped."""
    if comparison.data is not None:
        notes = comparison.data.notes
        notes[:] = [in_python(note, PARAMETERS) for note in notes]
    checks = [
        replace(
            check,
            sentence=in_python(check.sentence, PARAMETERS),
            advice=in_python(check.advice, PARAMETERS),
        )
        for check in comparison.checks
    ]
    why = comparison.why_stopped
    why = None if why is None else in_python(why, PARAMETERS)
    return replace(comparison, checks=checks, why_stopped=why)
