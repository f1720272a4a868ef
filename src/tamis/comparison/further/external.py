"""One class against the others: calibration, Brier score, net benefit and ROC, as plain values.

The probabilities are compared as they are with how often the class occurs among the rows, so they
must be those of a stated prevalence. The slope does not depend on it; the intercept is given both
as it is, and for probabilities that are re-based to the share of the class among the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from tamis.comparison.choosing.scores import area_under_curve, cautious_area
from tamis.inspection._binary import Binary
from tamis.inspection._logistic import LogisticEstimate, recalibrate
from tamis.inspection.calibration import CalibrationDisplay
from tamis.inspection.decision_curve import DecisionCurveDisplay
from tamis.paths.intervals import draw_rows, n_draws_for
from tamis.paths.seeds import make_generator

__all__ = ["measure_class"]

N_DRAWS, N_POINTS = 500, 200
_THRESHOLDS = np.arange(1, 100) / 100


def measure_class(
    is_class: NDArray,
    probabilities: ArrayLike,
    *,
    name: str,
    prevalence: float,
    weights: NDArray | None = None,
    groups: NDArray | None = None,
    seed: int = 0,
) -> dict[str, Any] | None:
    """How good the probabilities of a class are.

    `is_class` (n_rows,); `probabilities` (n_rows,): of the class, for rows that trained nothing;
    `name`: of the class; `prevalence`: share of the class that the probabilities stand for;
    `weights`, `groups` (n_rows,) or None: sample weights, and sample groups, which count as one
    unit; `seed`: of the bootstrap. Returns `measured`: None if all rows are of the class, or none.
    """
    y, p = np.asarray(is_class, dtype=bool), np.asarray(probabilities, dtype=np.float64)
    if y.all() or not y.any():
        return None
    data = Binary.from_predictions(y, p, pos_label=True, groups=groups, sample_weight=weights)
    share = data.prevalence
    here = Binary.from_predictions(
        y,
        p,
        pos_label=True,
        prevalence=share,
        assumed_prevalence=prevalence,
        groups=groups,
        sample_weight=weights,
    )
    rng = np.random.RandomState(int(make_generator(seed, "scores of new rows", 1).integers(2**31)))
    calibrated = CalibrationDisplay._of(data)
    benefit = DecisionCurveDisplay._of(data, _THRESHOLDS, N_DRAWS, rng)
    n_others, n_class = data.n_per_class
    return {
        "class": name,
        "rows": int(y.sum()),
        "others": int((~y).sum()),
        "share": share,
        "prevalence": float(prevalence),
        "slope": _plain(calibrated.slope),
        "intercept": _plain(calibrated.intercept),
        "intercept_at_share": _plain(recalibrate(here)[0]),
        "calibration_curve": {
            "bins": [
                {"mean_probability": m, "share": s, "interval_95": [low, high]}
                for m, s, low, high in zip(
                    *(part.tolist() for part in (calibrated.prob_pred, calibrated.prob_true)),
                    *calibrated.intervals.tolist(),
                    strict=True,
                )
            ],
            "smooth": None
            if calibrated.curve is None
            else {key: _thin(value) for key, value in vars(calibrated.curve).items()},
        },
        "brier": _brier(data, seed),
        "net_benefit": {
            "thresholds": _THRESHOLDS.tolist(),
            "model": benefit.net_benefit.tolist(),
            "low": benefit.low.tolist(),
            "high": benefit.high.tolist(),
            "treat_all": benefit.treat_all.tolist(),
        },
        "roc": _roc(data, (n_others, n_class)),
    }


def _plain(estimate: LogisticEstimate) -> dict[str, Any]:
    if not np.isfinite(estimate.value):
        return {"value": None, "interval_95": None}
    return {"value": estimate.value, "interval_95": [estimate.low, estimate.high]}


def _thin(values):
    """At most so many of the values, the first and the last among them."""
    if len(values) > N_POINTS:
        values = values[np.linspace(0, len(values) - 1, N_POINTS).round().astype(np.intp)]
    return np.asarray(values, dtype=np.float64).tolist()


def _brier(data, seed):
    """The Brier score, with a bootstrap interval, beside that of the share of the class."""
    units = np.arange(data.is_positive.size) if data.groups is None else data.groups
    squares = data.weights * (data.probabilities - data.is_positive) ** 2
    of_unit = np.stack([np.bincount(units, squares), np.bincount(units, data.weights)])
    n_units = of_unit.shape[1]
    rng = make_generator(seed, "scores of new rows", 2)
    draws = draw_rows(rng, min(N_DRAWS, n_draws_for(n_units)), n_units)
    one, total = np.hstack([of_unit @ drawn.T for drawn in draws])
    low, high = np.percentile(one[total > 0] / total[total > 0], [2.5, 97.5])
    return {
        "score": float(squares.sum() / data.weights.sum()),
        "interval_95": [float(low), float(high)],
        "of_share": float(data.prevalence * (1 - data.prevalence)),
    }


def _roc(data, sizes):
    """The points of the ROC curve, and the area under it with its interval."""
    y, p = data.is_positive, data.probabilities
    alarms, found, _ = roc_curve(y, p, sample_weight=data.weights, drop_intermediate=True)
    area = float(area_under_curve(y.astype(np.intp), np.column_stack([1 - p, p]), data.weights))
    return {
        "false_positive_rate": _thin(alarms),
        "sensitivity": _thin(found),
        "area": area,
        "interval_95": [float(limit) for limit in cautious_area(area, np.array(sizes))],
    }
