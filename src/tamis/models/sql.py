"""Linear and center models as a SELECT over the names of their columns."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tamis.models._registry import as_model
from tamis.models.files import write_atomically
from tamis.models.linear_form import Input, inputs_of, linear_form, total_temperature
from tamis.models.standalone.headings import headings, unused_names
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.missing import USUAL, MissingWords
from tamis.tables.errors import InputError, NotReadable

# SQLite writes the expressions of one SELECT into the next, as often as they are mentioned there,
# unless both have a limit; reading text would then take minutes instead of seconds.
_ALL = f"LIMIT {2**63 - 1}"
_LARGEST = repr(float(np.finfo(np.float64).max))


def export_sql(model: Any, path: str | os.PathLike[str], table: str = "data") -> None:
    """Write a fitted classifier as an SQL query: see `make_sql`."""
    text = make_sql(model, table)
    with write_atomically(path) as file:
        file.write(text.encode())


def make_sql(model: Any, table: str = "data") -> str:
    """A SELECT that adds the label and the probabilities to the rows of a table.

    It uses common SQL (common table expressions, CASE, CAST, ABS, EXP, LOWER, TRIM, LTRIM,
    REPLACE), and works in SQLite, PostgreSQL, DuckDB and others. Sparse centers, primal-dual
    classifiers and panels with a linear head can be written, also behind a preparation without
    free text.

    NULL, NaN and infinite numbers are missing, as are the words for missing values, and words
    among numbers; 93% is 0.93, and 1,5 and <0.1 are read as in training. Missing values are
    replaced as in training, or give NULL if the classifier was fitted without a table. Names that
    the query adds differ from those of the features: a feature called prediction makes the label
    tamis_prediction.

    Parameters
    ----------
    model : classifier or TableModel
    table : str, default="data"
        Name of the table to read.

    Returns
    -------
    query : str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.models import make_sql
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifier(1).fit(data.data, data.target_names[data.target])
    >>> make_sql(model).splitlines()[-1]
    'FROM tamis_p_shares;'
    """
    model = as_model(model, "exported to SQL")
    is_table = isinstance(model, TableModel)
    estimator = model.estimator if is_table else model
    known = model.preparation.required if is_table else model._feature_names()
    t = _unused_prefix([*map(str, known), table])
    columns, steps = _decisions(estimator, t)
    inputs = inputs_of(model, columns)
    if not inputs:
        raise InputError("the model uses no column, so there is nothing to query.")
    source = _name(table)
    missing = model.preparation.missing if is_table else MissingWords()
    texts = [_text(one, source, t) for one in inputs if one.fill]
    digits = [_digits(one, t) for one in inputs if one.fill and one.categories is None]
    prepared = [line for one in inputs for line in _prepare(one, missing, t)]
    stages: list[tuple[str, str]] = []
    for name, expressions in [(f"{t}t", texts), (f"{t}n", digits)]:
        if expressions:
            stages.append((name, _select(stages[-1][0] if stages else source, expressions)))
    before = stages[-1][0] if stages else source
    read = _select(before, [_read(one, before, missing, t) for one in inputs])
    stages.append((f"{t}v", f"{read} {_ALL}"))
    stages.append((f"{t}x", f"{_select(f'{t}v', prepared)} {_ALL}"))
    for name, expressions in steps:
        stages.append((name, _select(stages[-1][0], expressions)))
    classes = estimator.classes_.tolist()
    labels = [_literal(label) for label in classes]
    temperature = total_temperature(model)
    scaled = [f"{t}d{c} / {_number(temperature)}" for c in range(len(labels))]
    stages += _softmax(scaled, f"{t}p", stages[-1][0])
    site = model.recalibration if is_table else None
    shown = f"{t}p"
    if site is not None:
        shown = f"{t}q"
        total = _number(temperature * site.temperature)
        again = [
            f"{t}d{c} / {total} + {_number(shift)}"
            for c, shift in enumerate(site.intercept.tolist())
        ]
        stages += _softmax(again, shown, stages[-1][0])
    order = list(range(len(labels)))
    label = _largest(order, f"{shown}_d", labels)
    if is_table and model.threshold is not None:
        at = int(model.positive_index or 0)
        others = _largest([c for c in order if c != at], f"{t}p_d", labels)
        reached = f"{t}p{at} >= {_number(model.threshold)}"
        label = f"CASE WHEN {reached} THEN {labels[at]} ELSE {others} END"
    if is_table and model.decision_costs is not None:
        expected = [
            " + ".join(f"{shown}{true} * {_number(cost)}" for true, cost in enumerate(column))
            for column in model.decision_costs.T.tolist()
        ]
        named = [f"-({text}) AS {t}u{c}" for c, text in enumerate(expected)]
        stages.append((f"{t}costs", _select(stages[-1][0], named)))
        label = _largest(order, f"{t}u", labels)
    if not is_table:
        label = f"CASE WHEN {shown}0 IS NULL THEN NULL ELSE {label} END"
    last = stages[-1][0]
    asked = [one.name for one in inputs]
    results = unused_names(headings(classes), asked, same=str.casefold)
    values = [label, *(f"{shown}{c}" for c in order)]
    shown_columns = [
        *(f"{last}.{_name(name)}" for name in asked),
        *(f"{value} AS {_name(name)}" for value, name in zip(values, results, strict=True)),
    ]
    lines = [
        f"-- A model of tamis: {type(estimator).__name__}.",
        "-- All columns of the table are available in the last SELECT: add those that you want.",
        "WITH",
        ",\n".join(f"{name} AS ({select})" for name, select in stages),
        "SELECT " + ",\n  ".join(shown_columns),
        f"FROM {last};",
    ]
    return "\n".join(lines) + "\n"


def _unused_prefix(names):
    """What the names of the query start with, and none of these names does in any case."""
    prefix, n = "tamis_", 1
    while any(name.casefold().startswith(prefix) for name in names):
        n += 1
        prefix = f"tamis{n}_"
    return prefix


def _decisions(estimator, t):
    """Columns of the matrix, and the expressions of the decisions, in steps."""
    form = linear_form(estimator)
    if form is not None:
        decisions = []
        for c, bias in enumerate(form.bias.tolist()):
            pairs = zip(form.weights[c], form.reference, form.columns, strict=True)
            terms = [f"{_number(w)} * {_difference(j, r, t)}" for w, r, j in pairs]
            decisions.append(f"{' + '.join([_number(bias), *terms])} AS {t}d{c}")
        return form.columns, [(f"{t}d", decisions)]
    kind = type(estimator).__name__
    if kind.startswith("SparseCenter"):
        return _l1_centers(estimator, t)
    if kind.startswith("PrimalDual"):
        return _projection(estimator, t)
    raise NotReadable(
        f"this {kind} cannot be exported to SQL: its decisions are not linear, and not distances "
        "to class centroids. Use --to python."
    )


def _difference(j, origin, t):
    """A column minus a number."""
    return f"({t}x{j} - {_number(origin)})" if origin else f"{t}x{j}"


def _l1_centers(estimator, t):
    model, columns = estimator._model, estimator._selected
    unit = np.ones(columns.size)
    if model.statistics.unit is not None:
        unit = model.statistics.unit[columns]
    centers = model.statistics.centers[:, columns] * unit
    scale = model.scale[columns] * unit * model.dispersion(columns) * model.temperature
    decisions = []
    for c, prior in enumerate((model.log_prior / model.temperature).tolist()):
        pairs = zip(columns, centers[c], scale, strict=True)
        terms = [f" - ABS({t}x{j} - {_number(at)}) / {_number(s)}" for j, at, s in pairs]
        decisions.append(f"{_number(prior)}{''.join(terms)} AS {t}d{c}")
    return columns, [(f"{t}d", decisions)]


def _projection(estimator, t):
    columns = np.flatnonzero(estimator.support_)
    mean = estimator.mean_[columns]
    weights = estimator.weights_[columns] / estimator.scale_[columns, None]
    projected = []
    for k, column in enumerate(weights.T):
        triples = zip(column, mean, columns, strict=True)
        terms = [f"{_number(w)} * {_difference(j, m, t)}" for w, m, j in triples]
        projected.append(f"{' + '.join(terms)} AS {t}projected{k}")
    scale = _number(estimator.dispersion_ * estimator.temperature_)
    decisions = []
    for c, center in enumerate(estimator.centers_):
        away = [f"ABS({t}projected{k} - {_number(at)})" for k, at in enumerate(center)]
        decisions.append(f"-({' + '.join(away)}) / {scale} AS {t}d{c}")
    return columns, [(f"{t}projected", projected), (f"{t}d", decisions)]


def _text(one: Input, source, t):
    """Expression of a raw column as text, without spaces around it."""
    return f"TRIM(CAST({source}.{_name(one.name)} AS VARCHAR)) AS {t}t{one.columns[0]}"


def _digits(one: Input, t):
    """Expression of the number in a text: without the sign of a detection limit, and percent."""
    text = f"{t}t{one.columns[0]}"
    digits = f"LOWER(TRIM(REPLACE(LTRIM({text}, '<>=≤≥ '), '%', '')))"
    if one.decimal == ",":  # points, if there is a comma, are between thousands
        plain = f"REPLACE(REPLACE({digits}, '.', ''), ',', '.')"
        digits = f"CASE WHEN {text} LIKE '%,%' THEN {plain} ELSE {digits} END"
    return f"{digits} AS {t}n{one.columns[0]}"


def _read(one: Input, before, missing, t):
    """Expression of a raw column; NULL where a word stands for a missing value."""
    at, name = one.columns[0], f"{before}.{_name(one.name)}"
    if one.categories is None and not one.fill:
        # SQLite reads every word as 0, where others report an error.
        value = f"CAST({name} AS DOUBLE PRECISION)"
        gone = f"{value} = 0.0 AND CAST({name} AS VARCHAR) NOT LIKE '%0%'"
        return f"CASE WHEN {gone} THEN NULL ELSE {value} END AS {t}v{at}"
    value = f"{t}t{at}"
    gone = _is_missing(value, missing)
    usual = missing.categories.get(one.name)
    if usual:
        gone = f"({gone} AND {value} NOT IN ({_joined(map(_literal, usual))}))"
    if one.categories is None:
        return f"CASE WHEN {gone} THEN NULL {_number_in(one, name, missing, t)} END AS {t}v{at}"
    if one.words is not None:
        gone = f"{value} NOT IN ({_joined(_spellings(one.words))})"
    return f"CASE WHEN {gone} THEN NULL ELSE {value} END AS {t}v{at}"


def _is_missing(text, missing):
    """Whether a word stands for a missing value."""
    if missing.words is None:
        return f"LOWER({text}) IN ({_joined(_literal(w.lower()) for w in ('', *USUAL))})"
    return f"{text} IN ({_joined(map(_literal, ('', *missing.words)))})"


def _number_in(one, name, missing, t):
    """Cases of a number that may be a percent, or a value beyond a detection limit.

    Databases disagree about words that are not numbers (SQLite reads what they begin with, others
    report an error), so only what all of them read is converted; the rest is NULL.
    """
    text, digits = f"{t}t{one.columns[0]}", f"{t}n{one.columns[0]}"
    whole = f"REPLACE(REPLACE({digits}, 'e-', 'e'), 'e+', 'e')"
    rest = f"LTRIM(LTRIM({whole}, '+-'), '0123456789.e')"
    odd = ("%.%.%", "%e%e%", "%e%.%", "%e", "e%", "_-%", "_+%")
    unlike = "".join(f" OR {digits} LIKE '{pattern}'" for pattern in odd)
    no_number = f"{rest} <> '' OR {digits} IN ('', '.', '-', '+', '-.', '+.'){unlike}"
    value = f"CAST({digits} AS DOUBLE PRECISION)"
    is_percent = f"REPLACE({text}, '%', '') <> {text}"
    is_hundred = is_percent
    if one.is_share:
        is_hundred += f" OR ({value} > 1.0 AND {value} <= 100.0"
        codes = [_number(code) for code in missing.numbers if np.isfinite(code)]
        is_hundred += f" AND {value} NOT IN ({_joined(codes)}))" if codes else ")"
    value = f"CASE WHEN {is_hundred} THEN {value} / 100.0 ELSE {value} END"
    has_comma = f" OR {text} LIKE '%,%'" if one.decimal == "," else ""
    below = above = "NULL" if missing.below_detection == "missing" else value
    if missing.below_detection == "half":
        below = f"CASE WHEN {digits} LIKE '-%' THEN {value} ELSE ({value}) / 2.0 END"
    return (
        f"WHEN {text} = 'true' THEN 1.0 WHEN {text} = 'false' THEN 0.0 "  # a boolean column
        f"WHEN {no_number} THEN NULL "
        f"WHEN {text} LIKE '<%' OR {text} LIKE '≤%' THEN {below} "
        f"WHEN {text} LIKE '>%' OR {text} LIKE '≥%' THEN {above} "
        f"WHEN {is_hundred}{has_comma} THEN {value} "
        f"ELSE CAST({name} AS DOUBLE PRECISION)"
    )


def _spellings(words, known=()):
    """Literals of categories, also as a numeric or boolean column becomes text."""
    known = {*words, *known}
    for word in words:
        yield _literal(word)
        also = f"{word}.0" if word.lstrip("-").isdecimal() else word.lower()
        if also not in known and (also[-2:] == ".0" or word in ("True", "False")):
            yield _literal(also)


def _prepare(one: Input, missing, t):
    """Expressions of the columns of the matrix that are made of a raw column."""
    value = f"{t}v{one.columns[0]}"
    if one.categories is None:
        # False for NULL, and for NaN whether a database takes it for the largest number or not.
        known = f"{value} BETWEEN -{_LARGEST} AND {_LARGEST}"
        codes = [_number(code) for code in missing.numbers if np.isfinite(code)]
        if codes:
            known += f" AND {value} NOT IN ({_joined(codes)})"
        fill = _number(one.fill[0]) if one.fill else "NULL"
        return [f"CASE WHEN {known} THEN {value} ELSE {fill} END AS {t}x{one.columns[0]}"]
    return [
        f"CASE WHEN {value} IS NULL THEN {_number(fill)} "
        f"WHEN {value} IN ({_joined(_spellings([category], one.words or one.categories))}) "
        f"THEN 1.0 ELSE 0.0 END AS {t}x{j}"
        for category, fill, j in zip(one.categories, one.fill, one.columns, strict=True)
    ]


def _softmax(decisions, name, before):
    """Stages that add the decisions name_d0, ... and their probabilities name0, name1, ...

    A probability is one over the sum of the ratios to it, which mentions each decision few times:
    databases put the expression of a column wherever it is mentioned.
    """
    named = [f"{text} AS {name}_d{c}" for c, text in enumerate(decisions)]
    shares = []
    for c in range(len(decisions)):
        ratios = [_ratio(f"{name}_d{o} - {name}_d{c}") for o in range(len(decisions)) if o != c]
        shares.append(f"1.0 / ({' + '.join(['1.0', *ratios])}) AS {name}{c}")
    first, second = f"{name}_decisions", f"{name}_shares"
    return [(first, _select(before, named)), (second, _select(first, shares))]


def _ratio(difference):
    # Exponents that would overflow or underflow are an error in some databases.
    bounds = f"WHEN {difference} > 700.0 THEN 1e304 WHEN {difference} < -700.0 THEN 0.0"
    return f"CASE {bounds} ELSE EXP({difference}) END"


def _largest(order, name, values):
    """The value of the first class with the largest of name0, name1, ..."""
    *first, last = order
    text = "".join(
        f"WHEN {' AND '.join(f'{name}{c} >= {name}{o}' for o in order if o > c)} THEN {values[c]} "
        for c in first
    )
    return f"CASE {text}ELSE {values[last]} END" if first else values[last]


def _joined(parts):
    return ", ".join(parts)


def _select(before, expressions):
    """New columns, and all of a stage.

    The new ones come first: a column of the table that the model does not know may have the name
    of one, and where that is no error, the first column with a name is the one that is meant.
    """
    return "SELECT " + ",\n  ".join([*expressions, f"{before}.*"]) + f"\n  FROM {before}"


def _number(value):
    value = float(value)
    if not np.isfinite(value):
        if value == -np.inf:
            return "-1e300"  # a class without training rows
        raise InputError("the values of some features are too large or too small for a formula.")
    return f"({value!r})" if value < 0 else repr(value)


def _literal(value):
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(int(value) if isinstance(value, bool) else value)


def _name(name):
    return '"' + str(name).replace('"', '""') + '"'
