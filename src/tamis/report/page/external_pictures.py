"""Pictures of what `measure_class` found, internally and on other data."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_measured(measured: dict[str, Any], new_figure: Any) -> list[tuple[str, Any]]:
    """Calibration, net benefit and ROC curve of one class."""
    from tamis.inspection import CalibrationDisplay, DecisionCurveDisplay
    from tamis.inspection._logistic import SmoothCurve
    from tamis.inspection._style import COLORS, ink

    figures = [new_figure() for _ in range(3)]
    (_, calibrated), (_, benefit), (_, roc) = figures
    name, curve = measured["class"], measured["calibration_curve"]
    bins, smooth = curve["bins"], curve["smooth"]
    shares = np.array([one["share"] for one in bins])
    CalibrationDisplay(
        shares,
        np.array([one["mean_probability"] for one in bins]),
        shares,
        intervals=np.array([one["interval_95"] for one in bins]).T,
        intercept=_estimate(measured["intercept"]),
        slope=_estimate(measured["slope"]),
        curve=None
        if smooth is None
        else SmoothCurve(**{key: np.array(values) for key, values in smooth.items()}),
        prevalence=measured["prevalence"],
        pos_label=name,
    ).plot(ax=calibrated)
    told = measured["net_benefit"]
    parts = (np.array(told[key], dtype=float) for key in ("thresholds", "model", "low", "high"))
    DecisionCurveDisplay(*parts, prevalence=measured["share"], pos_label=name).plot(ax=benefit)
    points = measured["roc"]
    rates = (np.array(points[key]) for key in ("false_positive_rate", "sensitivity"))
    roc.plot(*rates, color=COLORS[0], linewidth=2)
    roc.plot([0, 1], [0, 1], color=ink(), linestyle=":")
    low, high = points["interval_95"]
    roc.text(0.4, 0.05, f"area {points['area']:.3f} [{low:.3f}, {high:.3f}]")
    roc.set(xlabel="1 - specificity", ylabel=f"sensitivity for {name}")
    titles = ("Calibration", "Net benefit", "ROC curve")
    return [(title, figure) for title, (figure, _) in zip(titles, figures, strict=True)]


def _estimate(entry):
    from tamis.inspection._logistic import LogisticEstimate

    low, high = entry["interval_95"] or (np.nan, np.nan)
    return LogisticEstimate(np.nan if entry["value"] is None else entry["value"], low, high)
