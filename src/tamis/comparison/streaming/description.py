"""What is said about a model of a streamed table: its rows, and its score outside the sample."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.comparison.attempts import attempt
from tamis.comparison.checks import Check
from tamis.comparison.checks.streaming import tell_streaming
from tamis.comparison.comparison import Comparison
from tamis.comparison.streaming.verification import Tallies, summarise_tallies, verify
from tamis.models.saving import make_document
from tamis.tables.classifying.table_model import TableModel

if TYPE_CHECKING:
    from tamis.comparison.streaming.streamed import Streamed

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
    model: TableModel,
    final: str,
    failed: dict[str, str],
) -> tuple[dict[str, Any], list[Check]]:
    """Score a model of the sample outside it, and say what was streamed.

    `comparison`: of the sample; `model`: trained on the sample; `final`: rows that the final model
    was trained on; `failed`: receives the reason if the score fails. Returns `told`: what was
    streamed, as plain values; `checks`: the same for people.
    """
    verified = None
    if streamed.has_whole_groups:
        scoring = comparison.settings.scoring
        verified = attempt(failed, "outside_sample", lambda: _verify(streamed, model, scoring))
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


def _verify(streamed, model, scoring):
    """The score of a model that was trained on the sample, on the rows outside it.

    See `summarise_tallies`. The checkpoint has the digest of the model in its name: other options
    of the comparison give another model of the same method and level.
    """
    sample, ignored = streamed.table.columns, streamed.ignored
    key = f"verified-{model.method}-{make_document(model)['digest'][-16:]}"

    def make():
        tallies = verify(streamed.stream, model, sample, ignored)
        return {f.name: np.asarray(getattr(tallies, f.name)) for f in fields(Tallies)}

    told = "scoring the model of the sample on the rows outside it"
    found = streamed.passes(key, told, make)
    tallies = Tallies(found["counts"], found["n_rows"], float(found["n_pairs"]))
    return summarise_tallies(tallies, sample, ignored, scoring, streamed.duplicates)
