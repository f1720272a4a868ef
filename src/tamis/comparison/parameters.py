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


def name_parameters(comparison: Comparison) -> None:
    """Rewrite the checks, the notes and why the comparison was stopped."""
    comparison.checks = [
        replace(
            check,
            sentence=in_python(check.sentence, PARAMETERS),
            advice=in_python(check.advice, PARAMETERS),
        )
        for check in comparison.checks
    ]
    if comparison.data is not None:
        notes = comparison.data.notes
        notes[:] = [in_python(note, PARAMETERS) for note in notes]
    if comparison.why_stopped is not None:
        comparison.why_stopped = in_python(comparison.why_stopped, PARAMETERS)
