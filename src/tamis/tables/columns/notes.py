"""Messages about how the columns of a table are read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.values import PLACEHOLDERS
from tamis.tables.errors import as_option, listed


def note_words(
    known: Mapping[str, Collection[str]],
    role: str,
    missing: MissingWords,
    notes: list[str],
    hinted: Collection[str] = (),
) -> MissingWords:
    """Report words that are read as values although they could mean missing ones.

    `notes`: receives the messages.
    """
    kept = {name: sorted(missing.spellings.intersection(words)) for name, words in known.items()}
    kept = {name: words for name, words in kept.items() if words}
    if kept:
        columns = listed([f"{name} ({', '.join(words)})" for name, words in kept.items()])
        words = sorted({word for words in kept.values() for word in words})
        notes.append(
            f"read as a {role} because the others are written in the same way: {columns};"
            f" if it means a missing value, use --missing-values {option(words)}"
        )
    for word in PLACEHOLDERS:
        columns = [
            name
            for name, words in known.items()
            # A minus is a value if there is a plus as well.
            if word in words and name not in hinted and not (word == "-" and "+" in words)
        ]
        if columns:
            notes.append(
                f"{word!r} is read as a {role} of {listed(columns)}; if it means a missing value,"
                f" use --missing-values {option([word])}"
            )
    return replace(missing, categories=kept)


def option(words: Collection[str]) -> str:
    """Words as the value of an option; NA first, so that it does not begin with a hyphen."""
    return shlex.quote(",".join(dict.fromkeys(["NA", *words])))


def note_left_out(
    left_out: Mapping[str, list], notes: list[str], is_id: Callable[[str], bool]
) -> None:
    """Report columns that are dropped, by kind: names with reasons.

    `notes`: receives the messages.
    """
    options = {"identifier": "--include", "text": "--text"}
    for kind in sorted(left_out, key="text".__ne__):  # text first
        entries = left_out[kind]
        if kind == "empty":
            notes.append(f"dropped {listed([name for name, _ in entries])}: all values missing")
            continue
        reasons = listed([f"{name} ({reason})" for name, reason in entries])
        names = as_option(name for name, _ in entries[:5])
        told = f"dropped {reasons}; to use: {options.get(kind, '--categorical')} {names}"
        owners = [name for name, _ in entries if kind == "many" and is_id(name)]
        if owners:
            told += (
                f"; if rows with the same {owners[0]} belong together (one patient), use --groups "
                f"{shlex.quote(owners[0])}"
            )
        notes.append(told)


def note_numeric(guessed: Mapping[str, list[str]], notes: list[str]) -> None:
    """Report columns of numbers that may be something else."""
    codes, owners, constant = guessed["codes"], guessed["owners"], guessed["constant"]
    if codes:
        notes.append(
            f"{listed(codes, 10)}: few distinct whole numbers, used as numbers; if they are codes,"
            f" use --categorical {as_option(codes[:10])}"
        )
    if owners:
        notes.append(
            f"{listed(owners)}: identifiers shared by several rows; use --groups"
            f" {shlex.quote(owners[0])} if such rows belong together (one patient), otherwise"
            f" --drop {as_option(owners[:1])}"
        )
    if constant:
        are = "are" if len(constant) > 1 else "is"
        notes.append(f"{listed(constant)} {are} constant, which tells nothing about the classes")
