"""Linear and center models as a SELECT over the names of their columns."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tamis.models._registry import as_model
from tamis.models.files import write_atomically
from tamis.models.linear_form import Input, inputs_of, linear_form, total_temperature
from tamis.tables.errors import InputError
from tamis.tables.missing import USUAL
from tamis.tables.table_model import TableModel

__all__ = ["export_sql", "make_sql"]


def export_sql(model: Any, path: str | os.PathLike[str], table: str = "data") -> None:
    """Write a fitted classifier as an SQL query: see `make_sql`."""
    text = make_sql(model, table)
    with write_atomically(path) as file:
        file.write(text.encode())


def make_sql(model: Any, table: str = "data") -> str:
    """A SELECT that adds the label and the probabilities to the rows of a table.

    It uses standard SQL (common table expressions, CASE, COALESCE, ABS, EXP, LOWER), and works in
    SQLite, PostgreSQL, DuckDB and others. Sparse centers, primal-dual classifiers and panels with
    a linear head can be written, also behind a preparation without free text.

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
    >>> make_sql(model).splitlines()[4].strip()
    '"petal length (cm)" AS tamis_x2'
    """
    model = as_model(model, "exported to SQL")
    estimator = model.estimator if isinstance(model, TableModel) else model
    columns, steps = _decisions(estimator)
    inputs = inputs_of(model, columns)
    if not inputs:
        raise InputError("the model uses no column, so there is nothing to query.")
    missing = model.preparation.missing if isinstance(model, TableModel) else None
    prepared = [line for one in inputs for line in _prepare(one, missing)]
    source = _name(table)
    stages = [("tamis_x", _select(source, prepared))]
    for name, expressions in steps:
        stages.append((name, _select(stages[-1][0], expressions)))
    labels = [_literal(label) for label in estimator.classes_.tolist()]
    temperature = total_temperature(model)
    scaled = [f"tamis_d{c} / {_number(temperature)}" for c in range(len(labels))]
    stages += _softmax(scaled, "tamis_p", stages[-1][0])
    site = model.recalibration if isinstance(model, TableModel) else None
    shown = "tamis_p"
    if site is not None:
        shown = "tamis_q"
        total = _number(temperature * site.temperature)
        again = [
            f"tamis_d{c} / {total} + {_number(shift)}"
            for c, shift in enumerate(site.intercept.tolist())
        ]
        stages += _softmax(again, "tamis_q", stages[-1][0])
    order = list(range(len(labels)))
    label = _largest(order, shown, labels)
    if isinstance(model, TableModel) and model.threshold is not None:
        at = int(model.positive_index or 0)
        others = _largest([c for c in order if c != at], "tamis_p", labels)
        reached = f"tamis_p{at} >= {_number(model.threshold)}"
        label = f"CASE WHEN {reached} THEN {labels[at]} ELSE {others} END"
    if isinstance(model, TableModel) and model.decision_costs is not None:
        expected = [
            " + ".join(f"{shown}{t} * {_number(cost)}" for t, cost in enumerate(column))
            for column in model.decision_costs.T.tolist()
        ]
        named = [f"-({text}) AS tamis_u{c}" for c, text in enumerate(expected)]
        stages.append(("tamis_costs", _select(stages[-1][0], named)))
        label = _largest(order, "tamis_u", labels)
    kept = [
        f"{shown}{c} AS {_name(f'p_{label}')}"
        for c, label in enumerate(estimator.classes_.tolist())
    ]
    asked = _joined([_name(one.name) for one in inputs])
    lines = [
        f"-- A model of tamis: {type(estimator).__name__}.",
        "-- All columns of the table are available in the last SELECT: add those that you want.",
        "WITH",
        ",\n".join(f"{name} AS ({select})" for name, select in stages),
        f"SELECT {asked},\n  {label} AS prediction,\n  " + ",\n  ".join(kept),
        f"FROM {stages[-1][0]};",
    ]
    return "\n".join(lines) + "\n"


def _decisions(estimator):
    """Columns of the matrix, and the expressions of the decisions, in steps."""
    form = linear_form(estimator)
    if form is not None:
        decisions = []
        for c, bias in enumerate(form.bias.tolist()):
            pairs = zip(form.weights[c], form.reference, form.columns, strict=True)
            terms = [f"{_number(w)} * {_difference(j, r)}" for w, r, j in pairs]
            decisions.append(f"{' + '.join([_number(bias), *terms])} AS tamis_d{c}")
        return form.columns, [("tamis_d", decisions)]
    kind = type(estimator).__name__
    if kind.startswith("SparseCenter"):
        return _l1_centers(estimator)
    if kind.startswith("PrimalDual"):
        return _projection(estimator)
    raise InputError(
        f"a {kind} cannot be exported to SQL: its decisions are not linear, and not distances to "
        "the centers of classes. Use --to python or --to onnx."
    )


def _difference(j, origin):
    """A column minus a number."""
    return f"(tamis_x{j} - {_number(origin)})" if origin else f"tamis_x{j}"


def _l1_centers(estimator):
    model, columns = estimator._model, estimator._selected
    unit = np.ones(columns.size)
    if model.statistics.unit is not None:
        unit = model.statistics.unit[columns]
    centers = model.statistics.centers[:, columns] * unit
    scale = model.scale[columns] * unit * model.dispersion(columns) * model.temperature
    decisions = []
    for c, prior in enumerate((model.log_prior / model.temperature).tolist()):
        pairs = zip(columns, centers[c], scale, strict=True)
        terms = [f" - ABS(tamis_x{j} - {_number(at)}) / {_number(s)}" for j, at, s in pairs]
        decisions.append(f"{_number(prior)}{''.join(terms)} AS tamis_d{c}")
    return columns, [("tamis_d", decisions)]


def _projection(estimator):
    columns = np.flatnonzero(estimator.support_)
    mean = estimator.mean_[columns]
    weights = estimator.weights_[columns] / estimator.scale_[columns, None]
    projected = []
    for k, column in enumerate(weights.T):
        triples = zip(column, mean, columns, strict=True)
        terms = [f"{_number(w)} * {_difference(j, m)}" for w, m, j in triples]
        projected.append(f"{' + '.join(terms)} AS tamis_projected{k}")
    scale = _number(estimator.dispersion_ * estimator.temperature_)
    decisions = []
    for c, center in enumerate(estimator.centers_):
        away = [f"ABS(tamis_projected{k} - {_number(at)})" for k, at in enumerate(center)]
        decisions.append(f"-({' + '.join(away)}) / {scale} AS tamis_d{c}")
    return columns, [("tamis_projected", projected), ("tamis_d", decisions)]


def _prepare(one: Input, missing):
    """Expressions of the columns of the matrix."""
    name = _name(one.name)
    if one.categories is None:
        (j,), value = one.columns, name
        codes = [_number(code) for code in missing.numbers] if missing is not None else []
        if codes:
            value = f"CASE WHEN {name} IN ({', '.join(codes)}) THEN NULL ELSE {name} END"
        filled = f"COALESCE({value}, {_number(one.fill[0])})" if one.fill else value
        return [f"{filled} AS tamis_x{j}"]
    words = missing.words
    gone = f"LOWER({name}) IN ({_joined(_literal(w.lower()) for w in ('', *USUAL))})"
    if words is not None:
        gone = f"{name} IN ({_joined(map(_literal, ('', *words)))})"
    usual = missing.categories.get(one.name)
    if usual:
        gone = f"({gone} AND {name} NOT IN ({_joined(map(_literal, usual))}))"
    return [
        f"CASE WHEN {name} IS NULL OR {gone} THEN {_number(fill)} "
        f"WHEN {name} = {_literal(category)} THEN 1.0 ELSE 0.0 END AS tamis_x{j}"
        for category, fill, j in zip(one.categories, one.fill, one.columns, strict=True)
    ]


def _softmax(decisions, name, before):
    """Stages that add the probabilities name0, name1, ... of decisions."""
    n = range(len(decisions))
    top = _largest(list(n), f"{name}_d", [f"{name}_d{c}" for c in n])
    total = " + ".join(f"{name}_e{c}" for c in n)
    away = [f"{name}_d{c} - {name}_top" for c in n]
    # Exponents that would underflow are an error in some databases.
    shares = [f"CASE WHEN {one} < -700.0 THEN 0.0 ELSE EXP({one}) END" for one in away]
    steps = [
        (f"{name}_decisions", [f"{text} AS {name}_d{c}" for c, text in enumerate(decisions)]),
        (f"{name}_largest", [f"{top} AS {name}_top"]),
        (f"{name}_parts", [f"{text} AS {name}_e{c}" for c, text in enumerate(shares)]),
        (f"{name}_shares", [f"{name}_e{c} / ({total}) AS {name}{c}" for c in n]),
    ]
    stages = []
    for step, expressions in steps:
        stages.append((step, _select(before, expressions)))
        before = step
    return stages


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
    """All columns of a stage, and more."""
    return "SELECT " + ",\n  ".join([f"{before}.*", *expressions]) + f"\n  FROM {before}"


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
