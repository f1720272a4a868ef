"""What the conformal calibration set guarantees, in words: for the command and the report."""

from __future__ import annotations

from typing import Any

__all__ = ["tell_promises"]


def tell_promises(metrics: dict[str, Any]) -> list[str]:
    """Lines about the calibration set of a fit; none if no rows were set aside."""
    kept = metrics.get("calibration")
    if kept is None:
        return []
    rows = kept["rows"]
    lines = [
        f"Conformal calibration set: {rows['calibration']:,} rows were set aside before anything "
        f"else; the other {rows['training']:,} rows were used to train and choose the model, "
        "which is never refitted",
    ]
    if not {"sensitivity", "questions", "sets"} & set(kept):
        return [
            *lines,
            "  nothing is guaranteed for this model, which was not chosen with this set",
        ]
    lines += _tell_sensitivity(kept.get("sensitivity"))
    lines += _tell_questions(kept.get("questions"))
    lines += _tell_sets(kept.get("sets"))
    return [*lines, "  these guarantees hold for new rows like those in the table"]


def _tell_sensitivity(found):
    if found is None:
        return
    yield (
        f"  sensitivity for {found['positive']} is at least {found['at_least']:.4g} with "
        f"{100 * found['confidence']:.4g} % confidence, at the threshold {found['threshold']:.3g} "
        f"(the probability at rank {found['rank']} of the {found['positives']:,} rows of class "
        f"{found['positive']} in the calibration set, and at most 0.5)"
    )
    specificity = found["specificity"]
    if specificity is not None:
        low, high = specificity["interval_95"]
        yield (
            f"  specificity at this threshold: {specificity['share']:.3f}, 95 % interval "
            f"{low:.3f} to {high:.3f}, on the {specificity['rows']:,} other rows of the "
            "calibration set (an estimate, not guaranteed)"
        )


def _tell_questions(found):
    if found is None:
        return
    yield f"  {found['statement']}"
    asked = found["n_questions"]
    if asked is None:
        yield "  so the model is the usual recommendation, without this guarantee"
        return
    text = f"  it asks {asked['mean']:.3g} questions per row on average"
    if "interval" in asked:
        low, high = asked["interval"]
        text += f" ({100 * found['confidence']:.4g} % interval: {low:.3g} to {high:.3g})"
    yield text
    usual = found.get("ordinary")
    if usual is not None:
        yield (
            f"  without this guarantee, the recommendation would be {usual['title']} with "
            f"{usual['features_overall']:.3g} features"
        )
    yield "  the guarantee does not hold with --priors or --relabel, which change the labels"


def _tell_sets(found):
    if found is None:
        return
    yield f"  prediction sets (tamis predict --coverage {found['coverage']:.4g}):"
    for statement in found["statements"]:
        yield f"    {statement}"
