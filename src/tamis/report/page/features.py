"""The features of a model: class centers, distributions, and what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._array import is_sparse
from tamis.comparison.fitted.final import SUBSTITUTE
from tamis.comparison.fitted.importance import IMPORTANCES, importance_of
from tamis.report.page.curve import MOST_LISTED
from tamis.report.page.parts import FEWEST, hide_few
from tamis.report.page.words import plural, short

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison


_N_BINS = 24
# Small plots: one row per class and feature, at most this many on the page.
_MOST_ROWS = 400
_MOST_CORRELATED = 12
# Percentiles of the rows that are shown; the rest may be single rows.
_RANGE = (1.0, 99.0)
# Columns of the table that every record has; others are shown if there are any.
_USUAL = {
    *("rank", "feature", "source", "centers", "stands_out", "stability", "p", "q"),
    *("substitutes", "kept", "tells_batch", *IMPORTANCES),
}
_TITLES = {
    "adjusted_p": "adjusted p",
    "in_best_fits": "in best fits",
    "frequency": "reselected",
    "frequency_with_substitutes": "reselected, it or a correlated feature",
    "interchangeable": "interchangeable with",
    "loss_if_replaced": "loss if replaced (upper 95 % limit)",
}
_LEGEND = {
    "adjusted_p": "Adjusted p (Westfall-Young): a permutation test of each feature alone, "
    "adjusted for the number of features.",
    "in_best_fits": "In best fits: whether the feature is in all, some or none of the panels of "
    "this size within 2 units of deviance of the best fit.",
    "frequency": "Reselected: the proportion of half-samples in which the selection, "
    "repeated, includes the feature.",
}


def describe_panel(
    comparison: Comparison,
    records: list[dict[str, Any]],
    model: dict[str, Any],
    include_rows: bool = False,
) -> dict[str, Any]:
    """The features of the model, best first, at most 50.

    Returns `panel`: "features" (with "plot", a distribution for each class), "n_features",
    "further" (titles of further columns), "importance" (title of its column), "legend" (what the
    columns mean), "sentences", "correlations".
    """
    problem, shown = comparison.problem, records[:MOST_LISTED]
    further = {
        key: _TITLES.get(key, key.replace("_", " "))
        for key in (shown[0] if shown else {})
        if key not in _USUAL and any(record.get(key) not in (None, "") for record in shown)
    }
    n_plots, fewest = max(1, _MOST_ROWS // problem.classes.size), 1 if include_rows else FEWEST
    place = {name: f for f, name in enumerate(problem.names)}
    features = []
    for number, record in enumerate(shown):
        described = comparison.descriptions.get(record["feature"], {})
        features.append(
            {
                "name": record["feature"],
                "description": described.get("question"),
                "unit": described.get("unit"),
                "cost": described.get("cost"),
                "importance": importance_of(record)[1],
                "share": record["stability"],
                "q": _tell_p(record["q"]),
                "stands_out": record["stands_out"],
                "substitutes": record["substitutes"],
                "kept": record["kept"],
                "tells_batch": record.get("tells_batch", False),
                "further": [_tell(key, record.get(key)) for key in further],
                "plot": _plot(problem, place[record["feature"]], record["centers"], fewest)
                if number < n_plots
                else None,
            }
        )
    return {
        "features": features,
        "n_features": len(records),
        "has_units": any(f["unit"] for f in features),
        "has_costs": any(f["cost"] is not None for f in features),
        "further": list(further.values()),
        "importance": _importance(shown),
        "legend": list(_legend(shown, further)),
        "sentences": _sentences(model, records),
        "correlations": _correlations(problem, [place[r["feature"]] for r in shown]),
        "center": "median" if comparison_has_medians(comparison, model) else "mean",
    }


def comparison_has_medians(comparison: Comparison, model: dict[str, Any]) -> bool:
    """Whether the centers of the features are medians."""
    result = comparison.result(model["method"])
    return result is not None and result.method.has_medians


def _tell(key, value):
    if isinstance(value, float):
        if key.startswith("frequency"):
            return f"{100 * value:.0f} %"
        return _tell_p(value) if key == "adjusted_p" else f"{value:.3g}"
    return "" if value is None else str(value)


def _tell_p(value):
    """A p-value as in the terminal."""
    if value is None:
        return "-"
    return "\u2264 0.001" if value <= 0.001 else f"{value:.2g}"


def _importance(records):
    return importance_of(records[0])[0].replace("_", " ") if records else ""


def _legend(records, further):
    """What the columns of the table mean, one sentence each."""
    if records:
        yield f"{_importance(records).capitalize()}: {IMPORTANCES[importance_of(records[0])[0]]}."
    yield "Proportion of folds: how often the feature was selected in cross-validation."
    yield (
        "q: an F test of each feature, corrected for the number of features; it does not take the "
        "selection into account."
    )
    for key, sentence in _LEGEND.items():
        if key in further:
            yield sentence
    yield f"Correlated features outside the model: with a correlation of at least {SUBSTITUTE:g}."


def _sentences(model, records):
    """Statements about the features that the run has made."""
    guarantees = model.get("guarantees", {})
    found = [one["statement"] for one in guarantees.values() if "statement" in one]
    panels = guarantees.get("alternatives", {})
    if panels.get("panels"):
        number = f"{'More than ' if panels['are_more'] else ''}{panels['panels']:,}"
        shared = ", ".join(map(str, panels["in_all"])) or "none"
        if panels["is_exhaustive"]:
            found.append(
                f"Other sets of {plural(panels['of'], 'feature')} that fit as well (within one "
                f"standard error): {number}. Features in all of them: {shared}."
            )
        else:
            found.append(
                f"Single swaps that fit as well (within one standard error): {number}. "
                f"{_swaps(panels['first'], records)}."
            )
    return found


def _swaps(panels, records):
    """The first panels as swaps of one feature for another."""
    names, told = {record["feature"]: record["kept"] for record in records}, []
    for panel in panels:
        old = [name for name, kept in names.items() if not kept and name not in panel]
        new = [name for name in panel if name not in names]
        told.append(f"{', '.join(old)} \u2192 {', '.join(new)}")
    return "; ".join(told)


def column_values(problem: Any, columns: np.ndarray) -> np.ndarray:
    """Encoded columns as a dense array, NaN where a value is missing."""
    values = problem.encoded[:, columns]
    return values.toarray() if is_sparse(values) else np.asarray(values)


def _plot(problem, feature, centers, fewest):
    """The distribution of a feature in each class: a histogram, or shares of its categories.

    Neither says anything about a category, or a class, of fewer than `fewest` rows.
    """
    if not centers:
        return None
    labels, codes = [str(label) for label in problem.classes.tolist()], problem.codes
    if isinstance(centers[labels[0]], dict):
        totals = np.bincount(codes, minlength=len(labels))
        parts = list(centers[labels[0]])[:MOST_LISTED]
        shares = np.array([[centers[label][part] for label in labels] for part in parts], float)
        n_rows = np.nansum(shares * totals, axis=1)
        hidden = (n_rows > 0.5) & (n_rows < fewest - 0.5)
        if hidden.sum() == 1 and hidden.size > 1:  # it would follow from the others
            hidden[np.where(hidden | (n_rows < 0.5), np.inf, n_rows).argmin()] = True
        is_hidden = hidden[:, None] | (totals < fewest) | np.isnan(shares)
        rows = [
            [None if gone else share for share, gone in zip(*pair, strict=True)]
            for pair in zip(shares.tolist(), is_hidden.tolist(), strict=True)
        ]
        return {"kind": "shares", "parts": parts, "labels": labels, "rows": rows}
    columns = np.flatnonzero(problem.feature_of == feature)
    values = column_values(problem, columns)[:, 0]
    known = ~np.isnan(values)
    if not known.any():
        return None
    edges = _edges(values[known])
    low, high = edges[0], edges[-1]
    is_percent = problem.preparation.sources[columns[0]] in problem.preparation.missing.percents

    def tell(value):
        return f"{short(100 * value)} %" if is_percent else short(value)

    rows = []
    for c, label in enumerate(labels):
        mine = values[known & (codes == c)]
        is_shown = mine.size >= fewest
        mine, center = (mine, centers[label]) if is_shown else (mine[:0], None)
        counts = np.histogram(np.clip(mine, low, high), edges)[0]
        quartiles = [tell(q) for q in np.percentile(mine, (25, 50, 75))] if mine.size else None
        rows.append(
            {
                "label": label,
                "heights": (counts / max(1, counts.max())).round(2).tolist(),
                "center": None if center is None or np.isnan(center) else float(center),
                "quartiles": quartiles,
                "missing": hide_few(int(((codes == c) & ~known).sum()), fewest == 1),
            }
        )
    # A bar of whole numbers stands for one of them: the axis names the first and the last.
    half = 0.5 if edges.size < _N_BINS + 1 else 0.0
    return {
        "kind": "histogram",
        "low": float(low),
        "high": float(high),
        "ends": [tell(low + half), tell(high - half)],
        "rows": rows,
    }


def _edges(values):
    """Where the bars of a histogram begin and end; whole numbers, if few, have a bar each."""
    low, high = np.percentile(values, _RANGE)
    if (values == np.round(values)).all():
        low, high = np.floor(low), np.ceil(high)
        if high - low < _N_BINS - 1:
            return np.arange(low, high + 2) - 0.5
    if high <= low:
        low, high = values.min(), values.max()
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _N_BINS + 1)


def _correlations(problem, features):
    """Correlations of the first features that are one number each, over rows that have both."""
    sizes = np.bincount(problem.feature_of, minlength=len(problem.names))
    single = [f for f in features if sizes[f] == 1][:_MOST_CORRELATED]
    if len(single) < 2:
        return None
    column = {int(f): j for j, f in enumerate(problem.feature_of)}
    values = column_values(problem, np.array([column[f] for f in single]))
    return {
        "names": [problem.names[f] for f in single],
        "rows": _correlate_pairs(values).round(2).tolist(),
        "n_left_out": len(features) - len(single),
    }


def _correlate_pairs(values):
    """Correlation of each pair of columns in the rows that have both; 0 if one is constant there.

    Variances are those of the same rows: with variances of all known values, a correlation could
    exceed 1.
    """
    n = values.shape[1]
    table, known = np.eye(n), np.isfinite(values)
    for i in range(n):
        for j in range(i):
            pair = values[known[:, i] & known[:, j]][:, [i, j]]
            if pair.shape[0] < 2:
                continue
            x, y = (pair - pair.mean(axis=0)).T
            norm = np.linalg.norm(x) * np.linalg.norm(y)
            if norm > 0:
                table[i, j] = table[j, i] = np.clip(x @ y / norm, -1.0, 1.0)
    return table
