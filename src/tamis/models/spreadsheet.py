"""Linear models as an Excel workbook with live formulas."""

from __future__ import annotations

import io
import os
import re
from typing import Any

from tamis.models._registry import as_model
from tamis.models.files import write_atomically
from tamis.models.linear_form import inputs_of, linear_form, total_temperature
from tamis.models.standalone.headings import headings, unused_names
from tamis.tables.classifying.prevalence import tell_assumed
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError, NotReadable, load

# Characters that XML has no place for.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def export_spreadsheet(model: Any, path: str | os.PathLike[str], n_rows: int = 200) -> None:
    """Write a fitted classifier with linear decisions as an .xlsx file.

    The first sheet has one column per raw column of the model, to be filled in, and then the
    prediction and the probabilities, as formulas. They refer to the sheets "columns", which
    prepares the values, "model", which has the numbers of the model, and "categories", which has
    the words that are not read as missing.

    Parameters
    ----------
    model : classifier or TableModel
        Sparse centers with metric="l2", a panel with a linear head, or a primal-dual classifier
        with linear decisions.
    path : str or path-like
        File to write.
    n_rows : int, default=200
        Number of rows with formulas; more can be filled down.
    """
    openpyxl = load("openpyxl", "--to spreadsheet", "tamis[excel]")
    model = as_model(model, "exported to a spreadsheet")
    estimator = model.estimator if isinstance(model, TableModel) else model
    form = linear_form(estimator)
    if form is None:
        raise NotReadable(
            f"this {type(estimator).__name__} cannot be exported to a spreadsheet: its decisions "
            "are not linear. Use --to python."
        )
    inputs = inputs_of(model, form.columns)
    if not inputs:
        raise InputError("the model uses no column, so there is nothing to fill in.")
    raw = io.BytesIO()
    _Book(model, estimator.classes_.tolist(), form, inputs).make(openpyxl.Workbook(), n_rows).save(
        raw
    )
    with write_atomically(path) as file:
        file.write(raw.getvalue())


class _Book:
    """The sheets of a model.

    Sheet "rows" has the raw values, the prediction and the probabilities; sheet "columns" the
    columns of the matrix and the decisions; sheet "model" the numbers, one line per class.
    """

    def __init__(self, model, labels, form, inputs):
        self.labels, self.form, self.inputs = labels, form, inputs
        is_table = isinstance(model, TableModel)
        self.temperature = total_temperature(model)
        self.site = model.recalibration if is_table else None
        self.threshold = model.threshold if is_table else None
        self.positive = model.positive_index if is_table else None
        self.costs = model.decision_costs if is_table else None
        self.note = tell_assumed(model) if is_table else None
        self.place = {j: k for k, j in enumerate(form.columns.tolist())}
        self.names = _column_names(inputs)
        self.n_inputs, self.n_columns, self.n_classes = len(inputs), len(self.place), len(labels)
        self.end = 3 + len(labels)  # first line after the classes

    def make(self, workbook, n_rows):
        """Fill a new workbook."""
        from openpyxl.comments import Comment

        rows, columns = workbook.active, workbook.create_sheet("columns")
        rows.title = "rows"
        self._write_model(workbook.create_sheet("model"))
        if any(one.words for one in self.inputs):
            words = workbook.create_sheet("categories")
            for at, one in enumerate(self.inputs, start=1):
                _write_line(words, at, [one.name, *(one.words or ())])
        asked = [one.name for one in self.inputs]
        _write_line(rows, 1, [*asked, *unused_names(headings(self.labels), asked)])
        if self.note is not None:
            first = rows.cell(1, self.n_inputs + 2)  # after the prediction
            first.comment = Comment(_UNWRITABLE.sub(" ", self.note), "tamis")
        titles = [f"decision {label}" for label in self.labels]
        again = [f"decision here {label}" for label in self.labels if self.site is not None]
        _write_line(columns, 1, [*(self.names[j] for j in self.place), *titles, *again])
        for row in range(2, n_rows + 2):
            self._write_columns(columns, row)
            self._write_results(rows, row)
            for at, one in enumerate(self.inputs, start=1):
                if one.is_percent:  # so that 93 becomes 93 %, which is 0.93
                    rows.cell(row, at).number_format = "0.0%"
        rows.freeze_panes = "A2"
        return workbook

    def _write_model(self, sheet):
        form, end = self.form, self.end
        _write_line(sheet, 1, ["column", *(self.names[j] for j in self.place), "intercept"])
        _write_line(sheet, 2, ["reference", *form.reference.tolist()])
        for c, label in enumerate(self.labels):
            weights = (form.weights[c] / self.temperature).tolist()
            _write_line(sheet, 3 + c, [label, *weights, float(form.bias[c] / self.temperature)])
        fill, known = {}, {}
        for one in self.inputs:
            fill |= dict(zip(one.columns, one.fill, strict=False))
            known |= dict(zip(one.columns, one.categories or (), strict=False))
        _write_line(sheet, end, ["if missing", *(fill.get(j) for j in self.place)])
        _write_line(sheet, end + 1, ["category", *(known.get(j) for j in self.place)])
        _write_line(sheet, end + 2, ["threshold", self.threshold])
        if self.costs is not None:
            _write_line(sheet, end + 5, ["costs of errors", *self.costs.ravel().tolist()])
        if self.site is not None:
            _write_line(sheet, end + 3, ["temperature here", self.site.temperature])
            _write_line(sheet, end + 4, ["intercept here", *self.site.intercept.tolist()])

    def _write_columns(self, sheet, row):
        for at, one in enumerate(self.inputs):
            raw = f"rows!{_letter(at)}{row}"
            for j in one.columns:
                column = _letter(self.place[j] + 1)
                fill = f"model!{column}${self.end}" if one.fill else "NA()"
                value = raw
                if one.categories is not None:
                    value = f"IF(EXACT({raw},model!{column}${self.end + 1}),1,0)"
                missing = f'{raw}=""'
                if one.decimal == "," and one.categories is None:
                    value = f"IF(ISTEXT({raw}),{_value(raw, one.decimal)},{raw})"
                if one.is_share:
                    value = _as_share(value)
                if one.below_detection is not None:
                    value = _limited(raw, one, fill, value)
                if one.words:
                    known = f"categories!$B${at + 1}:${_letter(len(one.words))}${at + 1}"
                    missing = f"SUMPRODUCT(EXACT({raw},{known})*1)=0"
                sheet[f"{_letter(self.place[j])}{row}"] = f"=IF({missing},{fill},{value})"
        n, last = self.n_columns, _letter(self.n_columns)
        values = f"A{row}:{_letter(n - 1)}{row}"
        for c in range(self.n_classes):
            product = f"({values}-model!$B$2:${last}$2)*model!$B${3 + c}:${last}${3 + c}"
            total = f"=SUMPRODUCT({product})+model!${_letter(n + 1)}${3 + c}"
            sheet[f"{_letter(n + c)}{row}"] = total
            if self.site is not None:
                scaled = f"{_letter(n + c)}{row}/model!$B${self.end + 3}"
                shifted = f"={scaled}+model!${_letter(c + 1)}${self.end + 4}"
                sheet[f"{_letter(n + self.n_classes + c)}{row}"] = shifted

    def _write_results(self, sheet, row):
        n, C = self.n_columns, self.n_classes
        decisions = [f"columns!{_letter(n + c)}{row}" for c in range(C)]
        final = decisions
        if self.site is not None:
            final = [f"columns!{_letter(n + C + c)}{row}" for c in range(C)]
        label = _largest(list(range(C)), final)
        if self.threshold is not None:
            at = self.positive
            reached = f"{_shares(decisions)[at]}>=model!$B${self.end + 2}"
            others = _largest([c for c in range(C) if c != at], decisions)
            label = f"IF({reached},model!$A${3 + at},{others})"
        blank = ",".join(f'{_letter(at)}{row}=""' for at in range(self.n_inputs))
        if self.costs is not None:
            shares = [f"{_letter(self.n_inputs + 1 + c)}{row}" for c in range(C)]
            costs = [f"model!${_letter(c + 1)}${self.end + 5}" for c in range(C * C)]
            sums = [
                "-(" + "+".join(f"{shares[t]}*{costs[t * C + c]}" for t in range(C)) + ")"
                for c in range(C)
            ]
            label = _largest(list(range(C)), sums)
        sheet[f"{_letter(self.n_inputs)}{row}"] = f'=IF(AND({blank}),"",{label})'
        for c, share in enumerate(_shares(final)):
            sheet[f"{_letter(self.n_inputs + 1 + c)}{row}"] = f'=IF(AND({blank}),"",{share})'


def _letter(at):
    """The name of a column, counted from 0."""
    from openpyxl.utils import get_column_letter

    return get_column_letter(at + 1)


def _write_line(sheet, row, values):
    """Write cells of one row; strings are never formulas."""
    for at, value in enumerate(values, start=1):
        cell = sheet.cell(row, at)
        if isinstance(value, str):
            # A workbook cannot hold them, and nobody can type them into one.
            value = _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
        cell.value = value
        if isinstance(value, str):
            cell.data_type = "s"


def _value(text, decimal):
    """Formula of the number in a text; with decimal commas in any language of the program."""
    return f"VALUE({text})" if decimal == "." else f'_xlfn.NUMBERVALUE({text},",",".")'


def _as_share(value):
    """Formula of a percent that may have been pasted without its sign."""
    return f"IF(AND({value}>1,{value}<=100),{value}/100,{value})"


def _limited(raw, one, fill, value):
    """Formula of a number that may be written as a value beyond a detection limit."""
    rule, limit = one.below_detection, _value(f'SUBSTITUTE(MID({raw},2,99),"=","")', one.decimal)
    limit = _as_share(limit) if one.is_share else limit
    below = above = fill if rule == "missing" else limit
    if rule == "half":
        below = f"IF({limit}>0,{limit}/2,{limit})"
    return f'IF(LEFT({raw},1)="<",{below},IF(LEFT({raw},1)=">",{above},{value}))'


def _column_names(inputs):
    names = {}
    for one in inputs:
        for at, j in enumerate(one.columns):
            names[j] = one.name if one.categories is None else f"{one.name}={one.categories[at]}"
    return names


def _shares(cells):
    """Formulas of the probabilities of decisions."""
    every = f"{cells[0]}:{cells[-1].split('!')[1]}"
    total = f"SUMPRODUCT(EXP({every}-MAX({every})))"
    return [f"EXP({cell}-MAX({every}))/{total}" for cell in cells]


def _largest(order, cells):
    """Formula of the label of the first largest cell."""
    *first, last = order
    text = f"model!$A${3 + last}"
    for c in reversed(first):
        larger = ",".join(f"{cells[c]}>={cells[o]}" for o in order if o > c)
        text = f"IF(AND({larger}),model!$A${3 + c},{text})"
    return text
