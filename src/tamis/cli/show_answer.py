"""The recommended model: what it is, how good it is, and what speaks against it."""

from tamis.cli.layout import count, counted, entry, paragraph, plural
from tamis.cli.show_clinical import show_clinical, show_costs
from tamis.comparison.choosing.decisions import (
    is_doubtful,
    only_class,
    tell_unfinished,
    what_is_best,
)
from tamis.comparison.fitted.promise_words import tell_promises
from tamis.comparison.methods.naming import name_head, name_method

_SCORES = {"f1_macro": "macro F1", "mcc": "Matthews corr.", "roc_auc": "ROC AUC"}
_OPTIMISTIC = "cross-validated, used for selection (optimistic: do not report)"
_CHECKS = ("data_checks", "result_checks", "model_checks")
# Classes that have a line of their own; of more, those that are found least.
_MOST_CLASSES, _LEAST_FOUND = 5, 3


def name_score(settings):
    """The name of the score, short."""
    return _SCORES.get(settings["scoring"], settings["scoring"].replace("_", " "))


def show_answer(metrics, is_saved=True):
    """Lines about the model: severe warnings above the score, all else below."""
    model, name = metrics["model"], name_score(metrics["settings"])
    unfinished = tell_unfinished(metrics)
    lines = [
        *(paragraph(unfinished, "WARNING: ", "  ", "warning") if unfinished else []),
        *_show_heading(model),
        *_show_warnings(metrics),
        *_show_promise(metrics.get("calibration", {})),
        *_show_score(metrics, name),
        *_show_classes(metrics),
        *_show_best(model),
        *_show_baseline(model),
        *_show_kept(model),
        *show_clinical(model, name),
    ]
    if model.get("permutations"):
        p = model["permutations"]
        n = len(p["shuffled_scores"])
        lines += entry(
            "permutation test", f"p = {p['p_value']:.3g} from {n} shuffles of the labels"
        )
    lines += _show_privacy(model, is_saved)
    lines += _show_checks(metrics, is_saved)
    promises = tell_promises(metrics)
    for line in promises:
        depth = len(line) - len(line.lstrip())
        lines += (
            ["", *paragraph(line)]
            if not depth
            else paragraph(line.lstrip(), " " * depth, " " * (depth + 2))
        )
    return lines


def _show_heading(model):
    what = "RECOMMENDED" if model["recommended"] else "PICKED"
    what = "FEWEST QUESTIONS" if "chosen_by" in model else what
    told = plural(model["features"], "feature")
    if model["asks"]:
        told += f" in all, {count(model['features_per_sample'])} per sample on average"
    how = name_method(model["method"], model)
    head = name_head(model.get("head", ""), how)
    told += f" ({how}, {head})" if head else f" ({how})"
    if "without" in model:
        told += f", without {', '.join(model['without'])}"
    if "total_cost" in model:
        told += f", total cost {model['total_cost']:.4g}"
    return paragraph(told, f"{what}: ", "  ", "bold")


def _show_warnings(metrics):
    always = only_class(metrics["model"])
    if always is not None:
        yield from paragraph(
            f"the model decides {always} for every row.", "  WARNING: ", "    ", "warning"
        )
    for check in metrics["checks"]:
        if check["severity"] == "warning":
            told = f"{check['sentence']} {check['advice']}"
            yield from paragraph(told, "  WARNING: ", "    ", "warning")


def _show_promise(promises):
    """What the conformal calibration set guarantees about the model that is saved."""
    questions, found = promises.get("questions"), promises.get("sensitivity")
    if questions is not None and questions["level"] is not None:
        yield from entry("guarantee", questions["statement"], "good")
    if found is None:
        return
    told = (
        f"sensitivity for {found['positive']} at least {found['at_least']:.4g} with "
        f"{100 * found['confidence']:.4g} % confidence"
    )
    if found["specificity"] is not None:
        low, high = found["specificity"]["interval_95"]
        told += f", specificity {found['specificity']['share']:.3f} ({low:.3f} to {high:.3f})"
    yield from entry("guarantee", f"{told}, by the conformal calibration set (see below)", "good")


def _show_score(metrics, name):
    model, promises = metrics["model"], metrics.get("calibration", {})
    chosen = model["selection_score"]
    is_final = not metrics["unfinished"] and not is_doubtful(metrics)
    to_report = "    <- report this one" if is_final else ""
    if model.get("misclassification"):
        yield from show_costs(model["misclassification"], name, to_report)
    told = f"{chosen['score']:.3f} ± {chosen['standard_error']:.3f}   "
    if model.get("misclassification"):
        told += "deciding by probability, "
    if "honest_score" in model:
        honest = model["honest_score"]
        low, high = honest["interval_95"]
        told = f"{honest['score']:.3f}   95 % interval {low:.3f} to {high:.3f}"
        if promises.get("sensitivity") is not None:
            told += ", with thresholds of the folds instead of the saved one"
            yield from entry(name, told)
            return
        if not model.get("misclassification"):
            told += to_report
        yield from entry(name, told, "good" if to_report else None)
        if honest["decides_by"] != "probability":
            yield from entry("", f"deciding by {honest['decides_by']}")
    elif "without" in model:
        yield from entry(
            name,
            f"{told}cross-validated again without these features, which were named after seeing "
            "the curve (optimistic: do not report)",
        )
    elif "simultaneous_lower_95" not in chosen:  # the honest score failed
        yield from entry(name, f"{told}{_OPTIMISTIC}")
    else:
        yield from entry(
            name,
            f"{told}simultaneous 95 % lower limit {chosen['simultaneous_lower_95']:.3f}, valid "
            "whichever model you pick",
        )


def _show_classes(metrics):
    """How many cases of each class are found, in plain words."""
    model = metrics["model"]
    threshold = model.get("threshold")
    if threshold is not None:
        yield from _show_threshold(threshold)
        return
    found = (model.get("honest_score") or {}).get("found_of_class")
    hint = ""
    if found is None:
        found = {label: row["sensitivity"] for label, row in model["per_class"].items()}
        hint = " (in the same folds: optimistic)"
    found = {label: share for label, share in found.items() if share is not None}
    counts, positive = metrics["data"]["classes"], metrics["settings"].get("positive")
    if len(found) == 2:
        first, other = sorted(found, key=lambda label: (label != positive, counts[label]))
        told = f"found in {_of_100(found[first])}; {_class(other)} "
        told += "left alone in " if positive is not None else "in "
        yield from entry(_class(first), f"{told}{_of_100(found[other])}{hint}")
    elif len(found) <= _MOST_CLASSES:
        shares = [counted(_class(c), f"{100 * share:.1f}") for c, share in found.items()]
        yield from entry("found of 100", f"{', '.join(shares)}{hint}")
    else:
        least = sorted(found, key=found.get)[:_LEAST_FOUND]
        shares = ", ".join(counted(_class(c), f"{100 * found[c]:.1f}") for c in least)
        others = len(found) - len(least)
        rest = 100 * min(share for label, share in found.items() if label not in least)
        yield from entry(
            "found of 100", f"{shares}; the {others} other classes {rest:.1f} or more{hint}"
        )


def _of_100(share):
    return f"{100 * share:.1f} of 100"


def _class(label):
    """A class in a sentence: a bare number needs its noun."""
    return label if any(letter.isalpha() for letter in label) else f"class {label}"


def _show_threshold(threshold):
    told = (
        f"found in {_of_100(threshold['sensitivity'])} "
        f"({100 * threshold['min_sensitivity']:.4g} requested); the others left alone in "
        f"{_of_100(threshold['specificity'])} "
        f"({100 * threshold['specificity_without']:.1f} without the threshold)"
    )
    if "is" in threshold:
        told += f", {threshold['is']}"
    return entry(_class(threshold["positive"]), told)


def _show_best(model):
    honest = model.get("honest_score")
    if honest is None:
        return
    best = "" if what_is_best(model) == "compared" else f" than the best {what_is_best(model)}"
    by = ", deciding by expected cost" if honest["decides_by"] == "expected cost" else ""
    yield from entry(
        "against the best",
        f"at most {max(honest['behind_best_95'], 0):.3f} worse{best} (95 % limit{by})",
    )


def _show_baseline(model):
    """A baseline that is better, or as good with fewer features."""
    baseline = model.get("best_baseline")
    if baseline is None:
        return
    size = baseline["features_overall"]
    told = {
        (True, True): f"is better with fewer features ({count(size)})",
        (True, False): f"is better, with {plural(size, 'feature')}",
        (False, True): f"does as well with fewer features ({count(size)})",
    }.get((baseline["is_better"], baseline["is_sparser"]))
    if told is None or not (baseline["is_better"] or baseline["is_as_good"]):
        return
    gain = f"{abs(baseline['difference']):.3f}"
    error = f"± {baseline['standard_error']:.3f}"
    side = "higher" if baseline["difference"] > 0 else "lower"
    gain = f"{gain} {error} {side}" if float(gain) else f"equal ({error})"
    how = ", deciding by probability" if model.get("misclassification") else ""
    yield from entry(
        "baseline", f"{baseline['title']} {told}; its score is {gain} in the same folds{how}"
    )


def _show_kept(model):
    kept = model.get("kept_alone")
    if kept is None:
        return
    yield from entry(
        "kept columns alone",
        f"{kept['score']:.3f} ± {kept['standard_error']:.3f}; the other features add "
        f"{kept['added']:+.3f} ± {kept['added_standard_error']:.3f} (paired)",
    )


def _show_privacy(model, is_saved):
    """Rows of the training data that the files of the model contain, and how to do without."""
    told = model.get("privacy")
    if told is None or not is_saved:
        return
    if not model["is_readable"]:
        how = "fit" if model["recommended"] else "pick"
        told += f" A model without them: tamis {how} ... --readable"
    yield from entry("privacy", told, "warning")


def _show_checks(metrics, is_saved):
    """Notes of the checks, or that there are none; warnings stand above the score."""
    levels = [check["severity"] for check in metrics["checks"]]
    n_warnings = levels.count("warning")
    notes = [c for c in metrics["checks"] if c["severity"] != "warning"]
    missing = [part for part in _CHECKS if part in metrics["not_described"]]
    if n_warnings:
        yield from entry("checks", f"{plural(n_warnings, 'warning')}, above")
    elif not notes and not missing:
        told = "nothing found"
        if not metrics["model"]["recommended"]:
            told += " in the data; a model that you pick is not checked"
        yield from entry("checks", told)
    if missing:
        yield from entry("" if n_warnings else "checks", "not complete: some of them failed")
    for at, check in enumerate(notes):
        label = "checks" if at == 0 and not n_warnings and not missing else ""
        told = f"note: {check['sentence']}"
        yield from entry(label, told if is_saved else f"{told} {check['advice']}")
    if notes and is_saved:
        yield from entry("", "(what to do: the report, or checks in metrics.json)", "dim")
