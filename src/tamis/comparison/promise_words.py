"""What calibration rows promise, as lines of plain text: for the command and the report."""

from __future__ import annotations

from typing import Any

__all__ = ["tell_promises"]


def tell_promises(metrics: dict[str, Any]) -> list[str]:
    """Lines about the calibration rows of a fit; none if no rows were set aside."""
    kept = metrics.get("calibration")
    if kept is None:
        return []
    rows = kept["rows"]
    lines = [
        f"Calibration: {rows['calibration']:,} rows were set aside before anything else; "
        f"{rows['training']:,} rows trained and chose the model, which is never refitted",
    ]
    if not {"sensitivity", "questions", "sets"} & set(kept):
        return [*lines, "  nothing is promised about this model, which these rows did not choose"]
    lines += _tell_sensitivity(kept.get("sensitivity"))
    lines += _tell_questions(kept.get("questions"))
    lines += _tell_sets(kept.get("sets"))
    return [*lines, "  all of this is about new rows like those in the table"]


def _tell_sensitivity(found):
    if found is None:
        return
    yield (
        f"  sensitivity for {found['positive']} is at least {found['at_least']:.4g} with "
        f"{100 * found['confidence']:.4g} % confidence, at the threshold {found['threshold']:.3g} "
        f"(the score at rank {found['rank']} of {found['positives']:,} calibration rows of "
        f"{found['positive']}, at most one half)"
    )
    specificity = found["specificity"]
    if specificity is not None:
        low, high = specificity["interval_95"]
        yield (
            f"  specificity there {specificity['share']:.3f}, 95 % interval {low:.3f} to "
            f"{high:.3f}, on {specificity['rows']:,} other calibration rows (not guaranteed)"
        )


def _tell_questions(found):
    if found is None:
        return
    yield f"  {found['statement']}"
    asked = found["n_questions"]
    if asked is None:
        yield "  so the model is the ordinary recommendation, without this promise"
        return
    text = f"  this takes {asked['mean']:.3g} questions per row on average"
    if "interval" in asked:
        low, high = asked["interval"]
        text += f" ({100 * found['confidence']:.4g} % interval: {low:.3g} to {high:.3g})"
    yield text
    usual = found.get("ordinary")
    if usual is not None:
        yield (
            f"  without this promise, the recommendation would be {usual['title']} with "
            f"{usual['features_overall']:.3g} features"
        )
    yield "  labels with other --priors are other labels, about which nothing is promised"


def _tell_sets(found):
    if found is None:
        return
    yield f"  prediction sets (tamis predict --coverage {found['coverage']:.4g}):"
    for statement in found["statements"]:
        yield f"    {statement}"
