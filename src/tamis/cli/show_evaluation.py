"""The results of `tamis evaluate` for standard output."""

import numpy as np

from tamis.cli.layout import paragraph, plural, show_table
from tamis.comparison.methods.naming import name_method
from tamis.tables.classifying.prevalence import percent
from tamis.tables.errors import listed

_NAMES = {
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "f1_macro": "F1, mean of classes",
    "mcc": "Matthews correlation",
    "roc_auc": "area under ROC curve",
}


def show_evaluation(report):
    """Lines for standard output."""
    data, scoring = report["data"], report["scoring"]
    classes = listed([f"{label} {n}" for label, n in data["classes"].items()], 8)
    lines = [
        f"{data['name']}: {data['rows']} rows ({classes})",
        f"{name_method(report['model']['method'], report['model'])}, "
        f"{plural(report['features_per_sample'], 'feature')} per sample",
        "",
    ]
    names = [scoring, *(name for name in report["scores"] if name != scoring)]
    rows = [(_NAMES[n], *_scored(report["scores"][n])) for n in names]
    lines += show_table(("score", "here", "95 % interval"), rows)
    compared = report["cross_validated"]
    if compared:
        lines += ["", f"{_NAMES[scoring]}: {compared['sentence']}"]
    elif report["model"]["is_recalibrated"]:
        lines += [
            "",
            f"{_NAMES[scoring]} was cross-validated before the model was recalibrated, so there "
            "is no comparison",
        ]
    else:
        lines += ["", *_without_honest(report["model"]["selection_score"])]
    cost = report["cost_of_errors"]
    if cost:
        (low, high), constant = cost["interval_95"], cost["constant"]
        lines.append(
            f"mean cost of errors {cost['mean_cost']:.3f} per row, 95 % interval {low:.3f} to "
            f"{high:.3f}; {constant['mean_cost']:.3f} always deciding {constant['class']}"
        )
    matrix = report["confusion"]
    if len(matrix["classes"]) <= 12:
        rows = [
            (label, *counts)
            for label, counts in zip(matrix["classes"], matrix["true_in_rows"], strict=True)
        ]
        lines += ["", *show_table(("true \\ predicted", *matrix["classes"]), rows)]
    ratios = ("sensitivity", "specificity", "ppv", "npv")
    rows = [
        (
            label,
            row["rows"],
            *(_ratio(row[name], row["interval_95"][name]) for name in ratios),
            "-" if row["auc"] is None else f"{row['auc']:.3f}",
        )
        for label, row in report["per_class"].items()
    ]
    lines += ["", *show_table(("class", "rows", *ratios, "auc"), rows)]
    is_of_training = report["prevalence"]["is"] == "training"
    for measured in report["by_class"].values():
        lines += ["", *_show_class(measured, is_of_training)]
    calibration = report["calibration"]
    lines += [
        "",
        f"calibration: Brier score {calibration['brier']:.3f}, expected calibration error "
        f"{calibration['expected_calibration_error']:.3f}",
    ]
    rows = [
        (
            label,
            f"{row['mean_probability']:.3f}",
            f"{row['share']:.3f}",
            f"{row['difference']:+.3f}",
        )
        for label, row in calibration["in_the_large"].items()
    ]
    lines += show_table(("class", "mean probability", "share", "difference"), rows)
    rows = [
        (
            f"{part['from']:.1f} to {part['to']:.1f}",
            part["rows"],
            f"{part['mean_probability']:.3f}",
            f"{part['share']:.3f}",
        )
        for part in calibration["bins"]
        if part["rows"]
    ]
    again = report.get("recalibration")
    if again:
        names = ((scoring, "score"), ("log loss", "log_loss"), ("Brier score", "brier"))
        pairs = [(_NAMES.get(n, n), again[key], again[f"recalibrated_{key}"]) for n, key in names]
        told = [(name, f"{old:.3f}", f"{new:.3f}") for name, old, new in pairs if old is not None]
        lines += ["", *show_table(("recalibrated here", "before", "cross-validated after"), told)]
    came = "share" if calibration["of"].startswith("probability") else "right"
    lines += ["", *show_table((calibration["of"], "rows", "mean", came), rows)]
    return lines


def _without_honest(chosen):
    """Why there is nothing to compare with, and what is known instead."""
    told = "the model has no honest score to compare with"
    if chosen is None:
        return [told]
    if "simultaneous_lower_95" in chosen:
        told += ", because it was chosen after seeing the curve"
    score = f"{chosen['score']:.3f} ± {chosen['standard_error']:.3f}"
    return paragraph(f"{told}; cross-validated, {score} (optimistic)")


def _show_class(measured, is_of_training):
    """Calibration, Brier score, net benefit and area of one class.

    `is_of_training`: whether probabilities are for the class frequencies of training.
    """
    benefit, prevalence = measured["net_benefit"], measured["prevalence"]
    limit = measured["decides_from"]
    wanted = prevalence if limit is None else limit
    at = int(np.abs(np.array(benefit["thresholds"]) - wanted).argmin())
    threshold = f"{benefit['thresholds'][at]:.2f}"
    if limit is not None and f"{limit:.2f}" == threshold:
        threshold += ", where the model decides"
    brier = measured["brier"]
    rows = [
        ("calibration slope (1 is perfect)", *_estimated(measured["slope"])),
        ("calibration intercept (0 is perfect)", *_estimated(measured["intercept"])),
        ("  if re-based to the proportion here", *_estimated(measured["intercept_at_share"])),
        (
            f"Brier score ({brier['of_share']:.3f} for the proportion here alone)",
            f"{brier['score']:.3f}",
            _interval(brier["interval_95"]),
        ),
        (
            f"net benefit at {threshold} ({benefit['treat_all'][at]:.3f} to treat all)",
            f"{benefit['model'][at]:.3f}",
            _interval([benefit["low"][at], benefit["high"][at]]),
        ),
        (
            "area under ROC curve",
            f"{measured['roc']['area']:.3f}",
            _interval(measured["roc"]["interval_95"]),
        ),
    ]
    heading = (
        f"{measured['class']} against the others, {percent(measured['share'])} of the rows here; "
        f"probabilities for {percent(prevalence)}{', as in training' if is_of_training else ''}"
    )
    lines = [heading, *show_table(("measure", "here", "95 % interval"), rows)]
    if measured["calibration_curve"]["smooth"] is None:
        lines.append("too few rows of a class, or too few different values, for a smooth curve")
    return lines


def _estimated(entry):
    if entry["value"] is None:
        return "cannot be estimated", "-"
    return f"{entry['value']:.2f}", "{:.2f} to {:.2f}".format(*entry["interval_95"])


def _interval(pair):
    return f"{pair[0]:.3f} to {pair[1]:.3f}"


def _scored(entry):
    if entry["score"] is None:
        return "-", "-"
    low, high = entry["interval_95"]
    return f"{entry['score']:.3f}", f"{low:.3f} to {high:.3f}"


def _ratio(value, interval):
    if value is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"
