"""What is said about a model of a streamed table: its rows, and its score outside the sample."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.attempts import attempt
from tamis.comparison.checks import Check
from tamis.comparison.checks.streaming import tell_streaming
from tamis.comparison.choice import Choice
from tamis.comparison.comparison import Comparison
from tamis.comparison.verification import Tallies, summarise_tallies, verify
from tamis.tables.table_model import TableModel

if TYPE_CHECKING:
    from tamis.comparison.streaming import Streamed

__all__ = ["all_rows", "describe_stream", "sampled_rows"]


def all_rows(streamed: Streamed) -> str:
    """Words for what uses all rows."""
    return f"streamed: all {streamed.n_rows:,} rows"


def sampled_rows(streamed: Streamed) -> str:
    """Words for what uses the sample."""
    return f"sample: {streamed.table.n_rows:,} of {streamed.n_rows:,} rows"


def describe_stream(
    streamed: Streamed,
    comparison: Comparison,
    choice: Choice,
    model: TableModel,
    final: str,
    failed: dict[str, str],
) -> tuple[dict[str, Any], list[Check]]:
    """Score a model of the sample outside it, and say what was streamed.

    Parameters
    ----------
    streamed : Streamed
    comparison : Comparison
        Of the sample.
    choice : Choice
    model : TableModel
        Trained on the sample.
    final : str
        Rows that the final model was trained on.
    failed : dict of str to str
        Receives the reason if the score fails.

    Returns
    -------
    told : dict
        What was streamed, as plain values.
    checks : list of Check
        The same for people.
    """
    verified = None
    if streamed.stream.header.groups == streamed.stream.sample.groups:
        named = [choice.method, str(choice.place), *comparison.without]
        key, scoring = "-".join(map(_plain, named)), comparison.settings.scoring
        verified = attempt(
            failed, "outside_sample", lambda: _verify(streamed, model, key, scoring)
        )
    told = {
        **streamed.decision.as_dict(),
        "rows": streamed.n_rows,
        "sampled_rows": streamed.table.n_rows,
        "equal_rows": round(streamed.survey.n_copies),
        "equal_rows_are": "counted" if streamed.survey.rows.is_complete else "estimated",
        "parts": {
            "columns, categories, words, ranges, equal rows": all_rows(streamed),
            "comparison, honest score, checks": sampled_rows(streamed),
            "final model": final,
        },
        "outside_sample": verified,
    }
    return told, list(tell_streaming(told))


def _verify(streamed, model, key, scoring):
    """The score of a model that was trained on the sample, on the rows outside it.

    `key` is the name of the model among the checkpoints; see `summarise_tallies`.
    """
    sample, ignored = streamed.table.columns, streamed.ignored

    def make():
        tallies = verify(streamed.stream, model, sample, ignored)
        return {f.name: np.asarray(getattr(tallies, f.name)) for f in fields(Tallies)}

    told = "scoring the model of the sample on the rows outside it"
    found = streamed.passes(f"verified-{key}", told, make)
    tallies = Tallies(found["counts"], found["n_rows"], float(found["n_pairs"]))
    return summarise_tallies(tallies, sample, ignored, scoring, streamed.duplicates)


def _plain(name):
    """A name for a file."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", name)
