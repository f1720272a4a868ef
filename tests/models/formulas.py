"""Evaluate the formulas of a workbook: numbers, references, ranges, operators, a few functions."""

import math
import re

import numpy as np

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*")|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?)
    |(?P<range>(?:\w+!)?\$?[A-Z]+\$?\d+(?::\$?[A-Z]+\$?\d+)?)|(?:_xlfn\.)?(?P<name>[A-Z]+)\(
    |(?P<operator><>|>=|<=|[-+*/=<>(),]))""",
    re.VERBOSE,
)
_FUNCTIONS = {
    "_if": lambda test, yes, no: yes() if test() else no(),
    "AND": lambda *values: all(values),
    "EXACT": lambda a, b: np.vectorize(str)(b) == str(a),
    "EXP": np.exp,
    "ISTEXT": lambda value: isinstance(value, str),
    "LEFT": lambda text, n: str(text)[:n],
    "MAX": np.max,
    "MID": lambda text, start, n: str(text)[start - 1 : start - 1 + n],
    "NA": lambda: math.nan,
    "NUMBERVALUE": lambda text, decimal, group: number_value(text, decimal, group),
    "SUBSTITUTE": lambda text, old, new: text.replace(old, new),
    "SUMPRODUCT": np.sum,
    "VALUE": float,
}


def number_value(text, decimal, group):
    """A text as a number; spaces are ignored, and percent signs divide by 100."""
    plain = text.replace(" ", "").replace(group, "").replace(decimal, ".")
    return float(plain.rstrip("%")) / 100 ** plain.count("%")


class Evaluator:
    """Values of the cells of a workbook that openpyxl read or made."""

    def __init__(self, workbook):
        self.workbook, self.known = workbook, {}
        self.names = {**_FUNCTIONS, "cell": self.cell, "cells": self.cells}

    def cell(self, sheet, name):
        """The value of a cell; "" if it is empty."""
        key = sheet, name
        if key not in self.known:
            value = self.workbook[sheet][name].value
            if self.workbook[sheet][name].data_type == "f":
                value = eval(self.translate(value[1:], sheet), self.names)
            self.known[key] = "" if value is None else value
        return self.known[key]

    def cells(self, sheet, first, last):
        """The values of a range in one row."""
        found = self.workbook[sheet][f"{first}:{last}"]
        assert len(found) == 1
        values = [self.cell(sheet, cell.coordinate) for cell in found[0]]
        return np.array(values, dtype=object if isinstance(values[0], str) else float)

    def translate(self, formula, sheet):
        """A formula as a Python expression; IF becomes lazy."""
        out, at, stack = [], 0, []
        while at < len(formula):
            match = _TOKEN.match(formula, at)
            assert match, formula[at:]
            at = match.end()
            kind, text = match.lastgroup, match[match.lastgroup]
            if kind == "name":
                stack.append(text)
                out.append("_if((lambda: " if text == "IF" else f"{text}(")
            elif kind == "range":
                where, _, cells = text.rpartition("!")
                first, _, last = cells.replace("$", "").partition(":")
                place = where or sheet
                out.append(
                    f"cells({place!r}, {first!r}, {last!r})"
                    if last
                    else f"cell({place!r}, {first!r})"
                )
            elif text == "(":
                stack.append("")
                out.append("(")
            elif text == ")":
                out.append("))" if stack.pop() == "IF" else ")")
            elif text == "," and stack[-1] == "IF":
                out.append("), (lambda: ")
            else:
                out.append({"=": "==", "<>": "!="}.get(text, text))
        return "".join(out)
