"""Records of conversations: lines of JSON with the digest of the model."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tamis.report.questionnaire.conversation import Questionnaire


def describe(talk: Questionnaire, digest: str, *, ended: str | None = None) -> dict[str, Any]:
    """What was asked, answered and concluded, as plain values.

    `digest`: digest of the model. `ended`: why the conversation ended; None: as its outcome says.
    """
    now, classes = talk.outcome(), [str(label) for label in talk.model.classes_.tolist()]

    def by_class(shares):
        return dict(zip(classes, shares.tolist(), strict=True))

    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "digest": digest,
        "status": ended or now.status,
        "label": None if now.refer else now.label,
        "refer": now.refer,
        "prevalence": by_class(talk.prevalence.shares),
        "probabilities": by_class(now.probabilities),
        "answers": [
            {"name": step.name, "value": step.value, "probabilities": by_class(step.probabilities)}
            for step in talk.history
        ],
    }


def append_line(path: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Append one line to a file, in one write."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    # Windows would change the end of the line, as in text.
    mode = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    place = os.open(path, mode, 0o600)
    try:
        os.write(place, line.encode())
    finally:
        os.close(place)


def replay(talk: Questionnaire, answers: Sequence[Any]) -> Questionnaire:
    """Give a new questionnaire the answers that a page sent; ValueError if they do not fit it.

    `talk`: a new one; `answers`: in order: `name` of the question, and `answers`, one per field,
    None where unavailable.
    """
    for given in answers:
        question = talk.next_question()
        if not isinstance(given, dict) or question is None or given.get("name") != question.name:
            raise ValueError("the answers do not belong to the questions.")
        values = given.get("answers")
        if not isinstance(values, list) or len(values) != len(question.fields):
            raise ValueError(f"{question.name}: expected {len(question.fields)} answer(s).")
        if all(value is None for value in values):
            talk.skip()
        else:
            names = [one.name for one in question.fields]
            talk.answer(dict(zip(names, values, strict=True)))
    return talk
