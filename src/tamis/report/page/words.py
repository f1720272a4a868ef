"""Sentences of the report, and where it answers the items of TRIPOD+AI."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tamis.comparison.checks.result import chance_level
from tamis.comparison.choosing.decisions import is_doubtful, only_class, what_is_best
from tamis.comparison.methods.naming import name_head
from tamis.paths.folds import tell_folds

if TYPE_CHECKING:
    from tamis.comparison.comparison import Comparison


SCORES = {
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "f1_macro": "F1, mean of classes",
    "mcc": "Matthews correlation",
    "roc_auc": "area under the ROC curve",
}
SCORES_WITHOUT_CHOICE = ", on rows that were not used to choose it."
# Classes that a sentence names.
_NAMED = 4
# Classes whose share of found rows is listed.
_MOST_SHARES = 20


def count(value: float) -> str:
    """A number of features, or a mean of such numbers."""
    if math.isclose(value, round(value), abs_tol=5e-3) or value >= 100:
        return f"{round(value):,}"
    return f"{value:.1f}"


def plural(n: float, word: str) -> str:
    """A number with its noun."""
    return f"{count(n)} {word}{'' if count(n) == '1' else 's'}"


def short(value: float | None) -> str:
    """A number with four digits."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.4g}"


def recommend(metrics: dict[str, Any], comparison: Comparison) -> dict[str, Any]:
    """The recommendation in a sentence for everyone, and what it rests on.

    Returns `told`: "sentence", "details" (list of str), "score", "low", "high", "chance".
    """
    model, data, scoring = metrics["model"], metrics["data"], metrics["settings"]["scoring"]
    classes = list(data["classes"])
    if any(not label.replace(" ", "").isalnum() for label in classes):
        classes = [f"\u201c{label}\u201d" for label in classes]
    told = ", ".join(classes[:_NAMED]) + (
        f" and {len(classes) - _NAMED} more classes" if len(classes) > _NAMED else ""
    )
    if len(classes) == 2:
        told = " and ".join(classes)
    needs = plural(model["features"], "feature")
    if model["asks"]:
        needs = f"{plural(model['features_per_sample'], 'feature')} per case on average"
        needs += f", chosen case by case from {count(model['features'])}"
    else:
        needs = f"{count(model['features'])} of {plural(data['features'], 'feature')}"
        needs += f" ({name_head(model['head'])})" if model["head"] else ""
    always = only_class(model)
    if always is None:
        uses = "the model needs" if model["recommended"] else "the picked model uses"
        told = f"To tell {told} apart, {uses} {needs}"
    else:
        told = f"The model decides {always} for every row: it does not tell {told} apart. "
        told += f"It has {needs}"
    chance = chance_level(comparison.problem.codes, scoring, comparison.problem.weights)
    found = {"chance": chance, "details": []}
    honest = model.get("honest_score")
    if honest:
        low, high = honest["interval_95"]
        found |= {"score": honest["score"], "low": low, "high": high}
        told += "," if model["asks"] else ""
        found["sentence"] = f"{told} and {_expect(scoring, honest['score'], low, high)}"
        found["sentence"] += f"{_found_of_class(honest, classes)}."
        found["sentence"] += _tell_decisions(metrics)
        kind = honest["is"].split(":")[0]
        is_final = not metrics["unfinished"] and not is_doubtful(metrics)
        by = ", deciding by expected cost" if honest["decides_by"] == "expected cost" else ""
        found["details"] = [
            f"Selection-corrected (honest) score: {SCORES[scoring]} {honest['score']:.3f}, 95 % "
            f"interval {low:.3f} to {high:.3f} ({kind}: it includes the choice of method and "
            f"number of features).{' Report this one.' if is_final else ''}",
            f"It is at most {max(honest['behind_best_95'], 0):.3f} worse than the best model "
            f"{what_is_best(model)} (upper 95 % limit{by}).",
        ]
    else:
        chosen = model["selection_score"]
        low = chosen.get("simultaneous_lower_95")
        found |= {"score": chosen["score"], "low": low, "high": None}
        seen = "It was chosen after seeing the curve"
        seen = "Its honest score could not be computed" if model["recommended"] else seen
        found["sentence"] = (
            f"{told}. {seen}: its cross-validated {SCORES[scoring]} is {chosen['score']:.3f}"
        )
        if low is not None:
            found["sentence"] += (
                f" (simultaneous 95 % lower limit {low:.3f}, valid whichever model you pick)"
            )
        found["sentence"] += "."
        if model.get("without"):
            found["details"] = [f"Excluded on request: {', '.join(model['without'])}."]
    costs = model.get("misclassification")
    if costs:
        found["details"] += _tell_costs(costs, SCORES[scoring])
    found["details"].append(
        f"Always predicting the same class would give {chance:.3f} ({SCORES[scoring]})."
    )
    found["details"] += _beside_baseline(model.get("best_baseline"), bool(costs))
    return found


def _expect(scoring, score, low, high):
    if scoring == "roc_auc":
        what = (
            f"is expected to rank a case of one class above one of another in "
            f"{100 * score:.0f} of 100 pairs"
        )
    elif scoring == "balanced_accuracy":
        what = f"finds on average {100 * score:.0f} of 100 cases of each class"
    elif scoring == "accuracy":
        what = f"is expected to classify about {100 * score:.0f} of 100 new cases correctly"
    else:
        return (
            f"is expected to reach a score of {score:.2f} ({SCORES[scoring]}; 1 is perfect), "
            f"95 % interval {low:.2f} to {high:.2f}"
        )
    return f"{what} (95 % interval: {100 * low:.0f} to {100 * high:.0f})"


def _found_of_class(honest, names):
    """How many of 100 cases of each class are found, after their mean."""
    found = honest["found_of_class"] or {"": None}
    if honest["scoring"] != "balanced_accuracy" or len(names) > _NAMED or None in found.values():
        return ""
    pairs = zip(names, found.values(), strict=True)
    shares = (f"{c}{':' * c[-1:].isdigit()} {100 * share:.0f}" for c, share in pairs)
    return f": {', '.join(shares)}"


def _tell_decisions(metrics):
    """What the saved model decides by, where that is not the largest probability."""
    model = metrics["model"]
    promised = metrics.get("calibration", {}).get("sensitivity")
    if promised is not None:
        return (
            f" This score is for thresholds that were chosen in the folds. The saved model has a "
            f"threshold from the conformal calibration set, which guarantees a sensitivity for "
            f"{promised['positive']} of at least {100 * promised['at_least']:.4g} % with "
            f"{100 * promised['confidence']:.4g} % confidence."
        )
    if model.get("threshold"):
        told = model["threshold"]
        return (
            f" Its threshold finds {100 * told['sensitivity']:.0f} of 100 cases of "
            f"{told['positive']}; of 100 other cases, {100 - 100 * told['specificity']:.0f} are "
            f"also called {told['positive']}."
        )
    costs = model.get("misclassification")
    if not costs:
        return ""
    constant, (low, high) = costs["constant"], costs["interval_95"]
    is_cheaper = constant["saved_interval_95"][0] > 0
    return (
        f" It decides by the expected cost of errors, which is {costs['mean_cost']:.3f} per case "
        f"(95 % interval: {low:.3f} to {high:.3f}). Always deciding {constant['class']} would "
        f"cost {constant['mean_cost']:.3f}: the model is "
        f"{'cheaper' if is_cheaper else 'not shown to be cheaper'}."
    )


def _tell_costs(costs, name):
    """Costs of errors beside those of other decisions."""
    constant = costs["constant"]
    low, high = constant["saved_interval_95"]
    yield (
        f"Compared with always deciding {constant['class']}, the model saves "
        f"{constant['saved']:+.3f} per case, 95 % interval {low:+.3f} to {high:+.3f}."
    )
    low, high = costs["saved_interval_95"]
    yield (
        f"Decided by probability instead, errors would cost {costs['by_probability']:.3f} (the "
        f"costs save {costs['saved']:+.3f}, {low:+.3f} to {high:+.3f}), at a {name} of "
        f"{costs['score_by_probability']:.3f}."
    )
    shares = list(costs["found_of_class"].items())[:_MOST_SHARES]
    told = ", ".join(f"{label} {100 * share:.1f} %" for label, share in shares)
    yield f"Proportion of each class that it finds: {told}."


def _beside_baseline(baseline, by_cost):
    if baseline is None:
        return
    gap, error = f"{abs(baseline['difference']):.3f}", f"± {baseline['standard_error']:.3f}"
    side = "above" if baseline["difference"] > 0 else "below"
    told = f"{gap} {error} {side} this model" if float(gap) else f"the same ({error})"
    size = plural(baseline["features_overall"], "feature")
    yield (
        f"The strongest baseline, {baseline['title']}, uses {size} and scores {told} "
        "on the same folds (paired difference and its standard error"
        f"{', both deciding by probability' if by_cost else ''})."
    )


def rule_of_choice(metrics: dict[str, Any]) -> list[str]:
    """How one model was chosen among all."""
    settings = metrics["settings"]
    folds = tell_folds(settings["folds"], settings["repeats"])
    least = {"overall": "features", "per-sample": "features per sample"}[settings["minimize"]]
    return [
        f"Every method was cross-validated at all its model sizes on the same {folds}. Filling "
        "missing values, encoding, selecting features and tuning were done inside the folds.",
        f"The recommended model is the one with the fewest {least} whose score "
        f"({SCORES[settings['scoring']]}), averaged over similar sizes of its method, is within "
        f"{settings['tolerance']:g} of the best. Of models with as many features, one that can be "
        "explained, asked, turned into a points card and exported to SQL was preferred.",
        "The scores in this table were used to select the model, so they are optimistic. Report "
        "the honest score instead: it repeats the selection and scores it on rows that it did "
        "not use.",
    ]


# Items of TRIPOD+AI (Collins and others, BMJ 2024), where the page answers them, and what a
# person must still write.
TRIPOD = [
    ("1", "Title", "", "the title of the study, naming the population and the outcome"),
    ("2", "Abstract", "", "the abstract (TRIPOD+AI for abstracts)"),
    ("3a-c", "Background", "Intended use", "medical context, existing models, inequalities"),
    ("4", "Objectives", "Intended use", "whether development, validation or both"),
    ("5a-b", "Sources of data", "Data", "where and when the data were collected, and why"),
    ("6a-c", "Participants", "Data", "setting, eligibility, treatments received"),
    ("7", "Data preparation", "Data", "anything done before the file was read"),
    ("8a-c", "Outcome", "Data", "definition, time horizon, who assessed it and whether blinded"),
    ("9a-c", "Predictors", "Features", "how and when each was measured, and by whom"),
    ("10", "Sample size", "Data", "how the study size was arrived at"),
    ("11", "Missing data", "Data", "why values are missing"),
    (
        "12a-g",
        "Analytical methods",
        "Models tried; Diagnostic performance; Checks",
        "how the methods suit the question",
    ),
    ("13", "Class imbalance", "Diagnostic performance", "why these weights suit the use"),
    ("14", "Fairness", "Diagnostic performance; Checks", "which groups matter, and what was done"),
    ("15", "Model output", "The model; Diagnostic performance", "how the output should be used"),
    ("16", "Training versus evaluation", "External validation", "differences between the sites"),
    ("17", "Ethical approval", "", "the approval and consent"),
    (
        "18a-f",
        "Open science",
        "Reproduce",
        "funding, conflicts, protocol, registration, access to data and code",
    ),
    ("19", "Patient and public involvement", "", "whether and how"),
    ("20a-c", "Participants", "Data; Features", "flow of participants, comparison of sites"),
    ("21", "Model development", "Data; Models tried", ""),
    ("22", "Model specification", "The model; Worked example", ""),
    (
        "23a-b",
        "Model performance",
        "Recommendation; Diagnostic performance; External validation",
        "performance in the subgroups that matter",
    ),
    ("24", "Model updating", "External validation", "whether and why the model was updated"),
    ("25", "Interpretation", "Recommendation; Checks", "the results in context, with fairness"),
    ("26", "Limitations", "Checks", "limitations beyond the checks of the data"),
    (
        "27a-c",
        "Usability",
        "Intended use; Features",
        "input of poor quality, expertise of users, next steps",
    ),
]
