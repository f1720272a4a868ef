"""What clinicians ask about a model: other sites, later patients, subgroups, costs of errors.

Every number comes from predictions in which a row had no say (`choosing.predictions`,
`further.held_out`), never from those that chose the model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.decisions import decide_level, decides_by
from tamis.comparison.choosing.error_costs import describe_costs
from tamis.comparison.choosing.scores import within_range
from tamis.comparison.choosing.spread import ScoredRows
from tamis.tables.columns.features import MOST_ODD
from tamis.tables.columns.values import to_number
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.choosing.choice import Choice
    from tamis.comparison.comparison import Comparison
    from tamis.comparison.further.held_out import HeldOut
    from tamis.tables.columns.table import Table

__all__ = [
    "check_subgroups",
    "describe_clinical",
    "describe_picked",
    "site_limits",
    "subgroup_rows",
]

# Numbers with more distinct values than this are cut at their quartiles; words must have fewer
# than the second.
_FEW_NUMBERS, _MOST_WORDS = 10, 50
_MISSING = "(missing)"


def describe_clinical(comparison: Comparison) -> tuple[dict[str, Any], dict[str, str]]:
    """What the options for clinicians add to the results, as plain values.

    `comparison`: with a recommendation. Returns `described`: any of "left_out_batches",
    "time_order", "subgroups", "misclassification", "learning_curve" and "assay"; `failed`: those
    that could not be made, with the reason.
    """
    problem, settings = comparison.problem, comparison.settings
    rows = ScoredRows.of(problem, settings.scoring, settings.seed)
    described: dict[str, Any] = {}
    failed: dict[str, str] = {}

    def add(part, make):
        found = attempt(failed, part, make)
        if found is not None:
            described[part] = found

    if "batch" in comparison.held_out:
        held_out = comparison.held_out["batch"]
        add("left_out_batches", lambda: _sites(comparison, rows, held_out))
    if "time" in comparison.held_out:
        later = comparison.held_out["time"]
        add("time_order", lambda: _time_order(comparison, rows, later))
    made = None if comparison.honest is None else comparison.honest.predictions
    if made is not None:
        if settings.misclassification is not None:
            costs = np.array(settings.misclassification)
            add(
                "misclassification",
                lambda: describe_costs(rows, costs, made.labels, made.probabilities, problem),
            )
        if comparison.data is not None and comparison.data.subgroups:
            add(
                "subgroups",
                lambda: _subgroups(comparison, rows, made.labels, made.probabilities),
            )
    elif "honest_score" in comparison.not_described:
        asked = {"misclassification": settings.misclassification is not None}
        asked["subgroups"] = comparison.data is not None and bool(comparison.data.subgroups)
        for name in (name for name, is_asked in asked.items() if is_asked):
            failed[name] = "it needs the honest score"
    for name in ("learning_curve", "assay"):
        if getattr(comparison, name) is not None:
            described[name] = getattr(comparison, name)
    return described, failed


def describe_picked(comparison: Comparison, choice: Choice) -> dict[str, Any]:
    """Costs of errors of a model that was picked, in the folds; none without such costs."""
    problem, settings = comparison.problem, comparison.settings
    result = comparison.result(choice.method)
    if settings.misclassification is None or result is None:
        return {}
    return {
        "misclassification": describe_costs(
            ScoredRows.of(problem, settings.scoring, settings.seed),
            np.array(settings.misclassification),
            decide_level(result, choice.place, problem, settings)[0],
            result.probabilities[choice.place, 0],
            problem,
            is_honest=False,
        )
    }


# Sites and times.


def _sites(comparison: Comparison, rows: ScoredRows, held_out: HeldOut) -> dict[str, Any]:
    """The score on batches that were held out: all together, and each by itself."""
    problem, settings = comparison.problem, comparison.settings
    assert comparison.data is not None and comparison.data.batches is not None
    assert problem.batches is not None
    batches, made = problem.batches[held_out.rows], held_out.predictions
    some = rows.take(held_out.rows)
    names = [str(name) for name in np.unique(comparison.data.batches)]
    by_batch = {}
    for b, name in enumerate(names):
        mine = np.flatnonzero(batches == b)
        if mine.size:
            by_batch[name] = some.take(mine).describe(
                made.labels[mine], made.probabilities[mine], problem.classes, settings.positive
            )
    unscored = [name for name in names if name not in by_batch]
    described = some.describe(made.labels, made.probabilities, problem.classes, settings.positive)
    if described["score"] is not None:
        found = described["score"], described["interval_95"]
        low, high = site_limits(some, made.labels, made.probabilities, batches, found[0])
        limits = min(low, found[1][0]), max(high, found[1][1])
        described["interval_95"] = [within_range(limit, settings.scoring) for limit in limits]
    return described | {
        "scoring": settings.scoring,
        "batches": by_batch,
        "not_predicted": unscored,
        "held_out_at_a_time": 1 if len(held_out.splits) == len(names) else "several",
        "chosen": [
            None if choice is None else {"method": choice[0], "level": choice[1]}
            for choice in held_out.chosen
        ],
        "is": "each site or batch is left out in turn, and the method and model size are chosen "
        "again without it; the interval, from the spread between sites or batches, is for their "
        "mean score: a single new one may be outside",
    }


def site_limits(
    rows: ScoredRows, labels: NDArray, probabilities: NDArray, batches: NDArray, score: float
) -> tuple[float, float]:
    """Limits of a score by its spread over batches: a jackknife with Student's t.

    With n batches, the score without each of them gives n pseudo-values; their standard error is
    multiplied by the 97.5th percentile of t with n - 1 degrees of freedom. Few batches say little:
    with two, the factor is 12.7.
    """
    names = np.unique(batches)
    if names.size < 2:
        return -math.inf, math.inf
    without = []
    for b in names:
        left = np.flatnonzero(batches != b)
        without.append(rows.take(left).score(labels[left], probabilities[left]))
    values = names.size * score - (names.size - 1) * np.array(without)
    error = values.std(ddof=1) / math.sqrt(names.size)
    if not np.isfinite(error):
        return -math.inf, math.inf
    half = float(stats.t.ppf(0.975, names.size - 1) * error)
    return score - half, score + half


def _time_order(comparison: Comparison, rows: ScoredRows, held_out: HeldOut) -> dict[str, Any]:
    """The score on the future, and that of random folds on the same rows."""
    problem, settings = comparison.problem, comparison.settings
    assert comparison.data is not None and comparison.data.times is not None
    times, made = np.unique(comparison.data.times), held_out.predictions
    some, assigned = rows.take(held_out.rows), problem.dates
    assert assigned is not None
    blocks = []
    for split, choice in zip(held_out.splits, held_out.chosen, strict=True):
        dates = assigned[split.fold.test]
        block = {
            "from": _tell_time(times[dates.min()]),
            "to": _tell_time(times[dates.max()]),
            "training_rows": int(split.fold.train.size),
            "method": None if choice is None else choice[0],
            "level": None if choice is None else choice[1],
        }
        if choice is None:
            why = "too few earlier rows of two classes"
            block |= {"rows": int(dates.size), "score": None, "not_scored": why}
        else:
            mine = np.searchsorted(held_out.rows, split.fold.test)
            block |= some.take(mine).describe(
                made.labels[mine], made.probabilities[mine], problem.classes, settings.positive
            )
        blocks.append(block)
    described = {
        "scoring": settings.scoring,
        **some.describe(made.labels, made.probabilities, problem.classes, settings.positive),
        "blocks": blocks,
        "is": "each block is predicted by a model that was chosen and trained on earlier rows; "
        "the interval takes rows as independent",
    }
    honest = comparison.honest.predictions if comparison.honest else None
    if honest is not None and described["score"] is not None:
        labels, p = honest.labels[held_out.rows], honest.probabilities[held_out.rows]
        lost = some.drawn_scores(labels, p) - some.drawn_scores(made.labels, made.probabilities)
        same = some.score(labels, p)
        described["same_rows_in_random_folds"] = same
        described["lost"] = same - described["score"]
        described["lost_interval_95"] = np.nanpercentile(lost, [2.5, 97.5]).tolist()
    return described


def _tell_time(value):
    if value.dtype.kind != "M":
        return float(value)
    return str(value.astype("datetime64[s]")).removesuffix("T00:00:00")


# Subgroups.


def subgroup_rows(values: NDArray) -> dict[str, NDArray[np.intp]]:
    """Rows of each value of a column; numbers of many values are cut at their quartiles.

    As in a feature, few other words among such numbers are missing values.

    `values` (n_rows,): words, None where a value is missing. Returns `rows`: in order; missing
    values are last.

    Examples
    --------
    >>> {k: v.tolist() for k, v in subgroup_rows(np.array(["m", None, "f", "m"])).items()}
    {'f': [2], 'm': [0, 3], '(missing)': [1]}
    """
    words = sorted({word for word in values.tolist() if word is not None})
    numbers = {word: to_number(word) for word in words}
    are_numbers = all(number is not None for number in numbers.values())
    is_missing = np.array([word is None for word in values.tolist()])
    found = np.array([numbers.get(word) for word in values.tolist()], dtype=np.float64)
    n_odd, n_known = np.isnan(found[~is_missing]).sum(), np.count_nonzero(~is_missing)
    rows = {}
    if np.unique(found[~np.isnan(found)]).size > _FEW_NUMBERS and n_odd < MOST_ODD * n_known:
        is_missing = np.isnan(found)
        edges = np.unique(np.quantile(found[~is_missing], [0.25, 0.5, 0.75]))
        place = np.searchsorted(edges, found)  # an edge belongs to the part below it
        for part in range(edges.size + 1):
            inside = np.flatnonzero((place == part) & ~is_missing)
            if inside.size:
                rows[_range_name(edges, part)] = inside
    else:
        for word in sorted(words, key=lambda w: (numbers[w], w) if are_numbers else w):
            rows[str(word)] = np.flatnonzero(values == word)
    if is_missing.any():
        rows[_MISSING] = np.flatnonzero(is_missing)
    return rows


def _range_name(edges, part):
    if part == 0:
        return f"at most {edges[0]:g}"
    if part == edges.size:
        return f"above {edges[-1]:g}"
    return f"above {edges[part - 1]:g} to {edges[part]:g}"


def check_subgroups(table: Table) -> None:
    """Raise unless the subgroups of a table can be scored."""
    for name, values in table.subgroups.items():
        if name == table.target:
            raise InputError(f"--subgroups {name} is the target itself; name another column.")
        n_parts = len(subgroup_rows(values))
        if n_parts < 2:
            raise InputError(f"--subgroups {name}: all rows have the same value.")
        if n_parts > _MOST_WORDS:
            raise InputError(
                f"--subgroups {name}: {n_parts:,} different values; a subgroup is a value that "
                f"many rows share, so at most {_MOST_WORDS} are possible."
            )


def _subgroups(comparison, rows, labels, probabilities):
    """Counts, scores and rates of each value of each column."""
    problem, settings = comparison.problem, comparison.settings

    def describe(some):
        return rows.take(some).describe(
            labels[some], probabilities[some], problem.classes, settings.positive
        )

    columns = {
        name: {value: describe(some) for value, some in subgroup_rows(values).items()}
        for name, values in comparison.data.subgroups.items()
    }
    together, honest = describe(np.arange(problem.n_rows)), comparison.honest
    if together["score"] is not None:  # of one number, there is one interval
        together |= {"score": honest.score, "interval_95": [honest.low, honest.high]}
    return {
        "scoring": settings.scoring,
        "labels": decides_by(settings),
        "all": together,
        "columns": columns,
        "is": "honest predictions, descriptive: each interval is for one subgroup alone, and "
        "among many subgroups some differ by chance; all rows have the honest score and its "
        "interval, which includes the choice of the model",
    }
