"""Features: the kind of every column, and what is missing in it."""

import shlex
from dataclasses import replace

import numpy as np
from scipy import sparse

from tamis.tables.errors import InputError, counted, listed
from tamis.tables.integers import TOO_LARGE, is_large_integer
from tamis.tables.kinds import Guess, guess_words, looks_like_id, numeric_guesses
from tamis.tables.raw import keep_columns
from tamis.tables.table import Columns
from tamis.tables.tokens import PLACEHOLDERS, missing_in, strings, without

__all__ = ["check_values", "decide_kinds", "note_words"]

_LEFT_OUT = {
    "identifier": "it names the rows",
    "date": "it holds dates",
    "many": "it has too many values",
}


def decide_kinds(table, text, categorical, include, missing, notes, decimal="."):
    """Decide the kind of every column that is left, and note what was decided.

    Parameters
    ----------
    table : Columns
        Columns that have no other role.
    text, categorical, include : list of str
        What the user decided.
    missing : MissingWords
        Words that stand for missing values.
    notes : list of str
        Where decisions are told.
    decimal : {".", ","}
        Decimal mark of words that are numbers.

    Returns
    -------
    table : Columns
        The columns to learn from.
    kinds : dict of str to {"categorical", "text"}
        Kinds of its columns of words.
    spotted : str or None
        A column that names the rows.
    missing : MissingWords
        With the categories that are written like missing values.
    """
    forced = {*text, *categorical}
    others, kinds, numbers, left_out = {}, {}, {}, {}
    free_text, odd, mixed = [], [], {}
    spotted = None
    for name, values in table.others.items():
        if name in text:
            others[name], kinds[name] = without(values, missing.spellings), "text"
            continue
        nothing = missing_in(values, missing)
        values = without(values, nothing)
        if name in categorical:
            others[name], kinds[name] = without(strings(values), nothing), "categorical"
            continue
        guess = guess_words(values, decimal)
        if guess.odd:
            mixed.setdefault(guess.odd, []).append(name)
        kind = guess.kind
        if kind == "number" and any(map(is_large_integer, values.tolist())):
            if not looks_like_id(name) or name in include:
                raise InputError(f"column {name} {TOO_LARGE}")
            guess = Guess(kind := "identifier", "large integers")
        if name in include and kind in _LEFT_OUT:
            kind = "categorical"
        if kind == "text" and name not in include:
            free_text.append(name)
        elif kind == "number":
            numbers[name] = guess.values
            if guess.reason:
                odd.append(f"{name} ({guess.reason})")
        elif kind in ("categorical", "text"):
            others[name] = values if kind == "text" else without(strings(values), nothing)
            kinds[name] = kind
        else:
            left_out.setdefault(kind, []).append((name, guess.reason))
            if kind == "identifier" and spotted is None:
                spotted = name

    numeric, names = table.numeric, table.numeric_names.tolist()
    for name in [name for name in names if name in forced]:
        column = numeric[:, [names.index(name)]]
        column = column.toarray() if sparse.issparse(column) else np.asarray(column)
        others[name] = strings(column.ravel())
        kinds[name] = "text" if name in text else "categorical"
    found = numeric_guesses(numeric, names)
    identifiers = [name for name in found["identifiers"] if name not in {*include, *forced}]
    empty = [name for name in found["empty"] if name not in forced]
    if spotted is None and identifiers:
        spotted = identifiers[0]
    gone = {*forced, *identifiers, *empty}
    keep = [j for j, name in enumerate(names) if name not in gone]
    numeric, names = keep_columns(numeric, keep), [names[j] for j in keep]
    if numbers:
        columns = np.column_stack(list(numbers.values()))
        if sparse.issparse(numeric):
            numeric = sparse.csr_array(sparse.hstack([numeric, sparse.csr_array(columns)]))
        else:
            numeric = np.hstack([numeric, columns]) if names else columns
        names += list(numbers)

    _note_left_out(left_out, identifiers, empty, notes)
    if free_text:
        notes.append(
            f"{listed(free_text)} holds free text and is left out:"
            f" use its words with --text {','.join(free_text)}"
        )
    if odd:
        notes.append(f"odd words among numbers: {listed(odd)}")
    for words, columns in mixed.items():
        notes.append(
            f"{listed(columns)}: not read as numbers because of {' and '.join(map(repr, words))};"
            f" if that stands for a missing value: --missing-values {_option(words)}"
        )
    known = {n: set(v.tolist()) for n, v in others.items() if kinds[n] == "categorical"}
    hinted = {name for columns in mixed.values() for name in columns}
    missing = note_words(known, "category", missing, notes, hinted)
    rest = lambda key: [name for name in found[key] if name not in gone]  # noqa: E731
    if rest("codes"):
        codes = rest("codes")
        notes.append(
            f"{listed(codes, 10)}: few whole numbers, kept as numbers; if they are codes:"
            f" --categorical {','.join(codes[:10])}"
        )
    if rest("owners"):
        owner = rest("owners")[0]
        notes.append(
            f"{listed(rest('owners'))} repeats: if it says whom rows belong to, use"
            f" --groups {owner}, else --drop {owner}"
        )
    if rest("constant"):
        notes.append(f"{listed(rest('constant'))} never changes: it cannot help")
    return Columns(numeric, np.array(names, dtype=str), others), kinds, spotted, missing


def note_words(known, role, missing, notes, hinted=()):
    """Tell which words are values although they could stand for missing ones.

    Parameters
    ----------
    known : dict of str to collection
        Categories of columns, or classes of the labels.
    role : {"category", "class"}
        What they are called.
    missing : MissingWords
        Words that stand for missing values.
    notes : list of str
        Receives the messages.
    hinted : collection of str
        Columns that already have a message.

    Returns
    -------
    MissingWords
        With these words as categories of their columns.
    """
    kept = {name: sorted(missing.spellings.intersection(words)) for name, words in known.items()}
    kept = {name: words for name, words in kept.items() if words}
    if kept:
        columns = listed([f"{name} ({', '.join(words)})" for name, words in kept.items()])
        words = sorted({word for words in kept.values() for word in words})
        notes.append(
            f"read as a {role} because the others are written in the same way: {columns};"
            f" --missing-values {_option(words)} reads it as missing"
        )
    for word in PLACEHOLDERS:
        columns = [
            name
            for name, words in known.items()
            # A minus beside a plus is an answer.
            if word in words and name not in hinted and not (word == "-" and "+" in words)
        ]
        if columns:
            notes.append(
                f"{word!r} is read as a {role} of {listed(columns)}; if it stands for a missing"
                f" value: --missing-values {_option([word])}"
            )
    return replace(missing, categories=kept)


def _option(words):
    """Some words as the option takes them; NA first, so that none begins like an option."""
    return shlex.quote(",".join(dict.fromkeys(["NA", *words])))


def _note_left_out(left_out, identifiers, empty, notes):
    for kind, entries in left_out.items():
        if kind == "empty":
            empty.extend(name for name, _ in entries)
            continue
        names = [f"{name} ({reason})" for name, reason in entries]
        flag = "--include" if kind == "identifier" else "--categorical"
        notes.append(
            f"left out {listed(names)}: {_LEFT_OUT[kind]}; {flag} {entries[0][0]} uses it"
        )
    if identifiers:
        notes.append(
            f"left out {listed(identifiers)}: it names the rows; --include {identifiers[0]}"
            " uses it"
        )
    if empty:
        notes.append(f"left out {listed(empty)}: no value at all")


def check_values(table, missing, notes):
    """Refuse infinite numbers; count what is missing."""
    numeric, names = table.numeric, table.numeric_names
    counts = {}
    if sparse.issparse(numeric):
        if not np.isfinite(numeric.data).all():
            coo = numeric.tocoo()
            _refuse_infinite(coo.data, coo.coords[0], coo.coords[1], names)
            lost = np.bincount(coo.coords[1][np.isnan(coo.data)], minlength=names.size)
            counts = {names[j]: int(lost[j]) for j in np.flatnonzero(lost)}
    elif numeric.size:
        lost = np.zeros(names.size, dtype=np.int64)
        n_rows = max(1, 4_000_000 // names.size)
        for start in range(0, numeric.shape[0], n_rows):
            block = np.asarray(numeric[start : start + n_rows])
            is_bad = ~np.isfinite(block)
            if is_bad.any():
                rows, columns = np.nonzero(is_bad)
                _refuse_infinite(block[rows, columns], rows + start, columns, names)
                lost += is_bad.sum(axis=0)
        counts = {str(names[j]): int(lost[j]) for j in np.flatnonzero(lost)}
    for name, values in table.others.items():
        n_missing = sum(value is None for value in values.tolist())
        if n_missing:
            counts[name] = n_missing
    if not counts:
        return
    worst = sorted(counts, key=lambda name: -counts[name])
    words = listed([f"{name} ({counts[name]:,})" for name in worst])
    total = f"{counted(sum(counts.values()), 'value')} missing in"
    total = f"{total} {counted(len(counts), 'column')}: {words}"
    if missing == "error":
        raise InputError(f"{total}; fill them in, or let --missing impute do it")
    notes.append(total)
    return table


def _refuse_infinite(values, rows, columns, names):
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        row, name = int(rows[bad[0]]), names[columns[bad[0]]]
        raise InputError(
            f"column {name!s}, row {row + 1}: {values[bad[0]]} is no number to learn from;"
            " remove it or leave it empty"
        )
