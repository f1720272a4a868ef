"""Results as tables of plain text."""

from tamis.cli.show_clinical import show_clinical, show_costs
from tamis.cli.show_features import count, plural, show_features, show_table
from tamis.comparison.decisions import only_class, what_is_best
from tamis.comparison.promise_words import tell_promises

__all__ = ["count", "plural", "show_results", "show_table"]


def score(entry):
    """Format a score with its standard error."""
    return f"{entry['score']:.3f} ± {entry['standard_error']:.3f}"


def show_results(metrics, records):
    """Lines for standard output: the comparison, the recommendation, and its features."""
    guarantees = metrics["model"]["guarantees"]
    scoring = metrics["settings"]["scoring"]
    features = show_features(records, guarantees, is_balanced=scoring != "accuracy")
    return [*_show_metrics(metrics), "", *features]


def _show_metrics(metrics):
    data, settings = metrics["data"], metrics["settings"]
    classes = ", ".join(f"{label} {n:,}" for label, n in list(data["classes"].items())[:8])
    more = len(data["classes"]) - 8
    classes += f", and {more} more" if more > 0 else ""
    folds = f"{settings['folds']} folds"
    folds += f" repeated {settings['repeats']} times" if settings["repeats"] > 1 else ""
    lines = [
        f"{data['name']}: {data['rows']:,} rows, {plural(data['features'], 'feature')}, "
        f"{len(data['classes'])} classes ({classes})",
        *_show_streaming(metrics),
        f"Scores: {_name(settings)} ± standard error in {folds} (used to select a model; "
        "optimistic, so do not report them)",
        "",
        *_show_methods(metrics),
    ]
    for name, skipped in metrics["left_out"].items():
        lines.append(f"{name} was not run: about {skipped['estimated_seconds']:.0f} s")
    if metrics["unfinished"]:
        lines.append(f"not finished: {', '.join(metrics['unfinished'])}")
    if "model" in metrics:
        lines += ["", *_show_model(metrics)]
    promises = tell_promises(metrics)
    lines += ["", *promises] if promises else []
    checks = metrics["checks"]
    if checks:
        lines += ["", *(f"{c['severity']}: {c['sentence']} {c['advice']}" for c in checks)]
    return lines


def _show_streaming(metrics):
    """What was streamed, and what used a sample."""
    told = metrics.get("streaming")
    return [] if told is None else [f"  {part}: {what}" for part, what in told["parts"].items()]


def _show_methods(metrics):
    """Format one row per method: its sparsest level that is good enough, then its best."""
    methods = metrics["methods"].values()
    asks = any(method["asks"] for method in methods)
    costs = metrics["data"]["has_costs"]
    header = ["method", "features", "score"]
    header += ["features per sample", "95th percentile"] if asks else []
    header += ["cost per sample"] if costs else []
    header += ["best score", "features at best", "seconds"]
    rows = []
    for method in sorted(methods, key=lambda method: method["is_baseline"]):
        best, sparse = method["best"], method["good_enough"]
        title = f"({method['title']})" if method["is_baseline"] else method["title"]
        row = [title, count(sparse["features_overall"]), score(sparse)]
        if asks:
            row += [
                count(sparse["features_per_sample"]),
                count(sparse["features_per_sample_95th_percentile"]),
            ]
        if costs:
            row.append(f"{sparse['cost_per_sample']:.4g}")
        row += [
            f"{best['score']:.3f}",
            count(best["features_overall"]),
            f"{method['seconds']:.1f}",
        ]
        rows.append(row)
    lines = show_table(header, rows)
    if any(method["is_baseline"] for method in methods):
        lines.append("(baselines in parentheses)")
    return lines


def _name(settings):
    return settings["scoring"].replace("_", " ")


def _show_model(metrics):
    model, settings = metrics["model"], metrics["settings"]
    what = "Recommended" if model["recommended"] else "Picked"
    what = "Fewest questions" if "chosen_by" in model else what
    counted = plural(model["features"], "feature")
    if model["asks"]:
        counted = f"{count(model['features_per_sample'])} features per sample, {counted} overall"
    lines = [f"{what}: {model['title']}, {counted}"]
    lines[0] += f", {model['head']}" if model["head"] else ""
    if "without" in model:
        lines[0] += f", without {', '.join(model['without'])}"
    always = only_class(model)
    if always is not None:
        lines[0] += f" (it decides {always} for every row)"
    if "total_cost" in model:
        lines[0] += f", total cost {model['total_cost']:.4g}"
    name, chosen = _name(settings), model["selection_score"]
    promises = metrics.get("calibration", {})
    promised = promises.get("sensitivity")
    lines += _show_promise(promised, promises.get("questions"))
    how = ""
    if model.get("misclassification"):
        lines += show_costs(model["misclassification"], name)
        how = ", deciding by probability"
    if "honest_score" in model:
        honest = model["honest_score"]
        low, high = honest["interval_95"]
        told = f"  {name} {honest['score']:.3f}, 95 % interval {low:.3f} to {high:.3f}"
        if promised is not None:
            told += ", with thresholds of the folds instead of the saved one"
        elif honest["decides_by"] != "probability":
            told += f", deciding by {honest['decides_by']}"
        lines.append(f"{told} (honest: includes the choice of method and number of features)")
        by = "" if honest["decides_by"] != "expected cost" else ", deciding by expected cost"
        lines.append(
            f"  at most {max(honest['behind_best_95'], 0):.3f} behind the best model "
            f"{what_is_best(model)} (upper 95 % limit{by})"
        )
        lines.append(
            f"  {name} {score(chosen)} in the folds that selected it{how} (do not report)"
        )
    elif "without" in model:
        lines.append(
            f"  {name} {score(chosen)}{how}, cross-validated again without these features (chosen "
            "after seeing the curve; do not report)"
        )
    elif "simultaneous_lower_95" not in chosen:  # the honest score failed
        lines.append(
            f"  {name} {score(chosen)} in the folds that selected it{how} (do not report)"
        )
    else:
        lines.append(
            f"  {name} {score(chosen)}{how}, above {chosen['simultaneous_lower_95']:.3f} with "
            "95 % confidence for all points of the curve together (chosen "
            f"{'by the calibration rows' if 'chosen_by' in model else 'after seeing the curve'})"
        )
    lines += _show_threshold(model)
    lines += _show_kept(model)
    lines += _show_baseline(model, how)
    lines += show_clinical(model, name)
    if model.get("permutations"):
        p = model["permutations"]
        lines.append(
            f"  p = {p['p_value']:.3g} from {len(p['shuffled_scores'])} permutations of the labels"
        )
    return lines


def _show_promise(found, questions):
    """What the calibration rows say about the model that is saved."""
    if questions is not None and questions["level"] is not None:
        yield f"  {questions['statement']}"
    if found is None:
        return
    told = (
        f"  sensitivity for {found['positive']} at least {found['at_least']:.4g} with "
        f"{100 * found['confidence']:.4g} % confidence"
    )
    if found["specificity"] is not None:
        low, high = found["specificity"]["interval_95"]
        told += f", specificity {found['specificity']['share']:.3f} ({low:.3f} to {high:.3f})"
    yield f"{told}, by the calibration rows (see below)"


def _show_threshold(model):
    if model.get("threshold") is None:
        return
    threshold = model["threshold"]
    yield (
        f"  sensitivity for {threshold['positive']} {threshold['sensitivity']:.3f} "
        f"({threshold['min_sensitivity']:.3f} requested), "
        f"specificity {threshold['specificity']:.3f} "
        f"({threshold['specificity_without']:.3f} without the threshold)"
        + (f", {threshold['is']}" if "is" in threshold else "")
    )


def _show_kept(model):
    kept = model.get("kept_alone")
    if kept is None:
        return
    yield (
        f"  kept columns alone {score(kept)}; the other features add {kept['added']:+.3f} ± "
        f"{kept['added_standard_error']:.3f} (paired)"
    )


def _show_baseline(model, how):
    baseline = model.get("best_baseline")
    if baseline is None:
        return
    title = f"{baseline['title']} (baseline)"
    size = plural(baseline["features_overall"], "feature")
    gain = f"{baseline['difference']:+.3f} ± {baseline['standard_error']:.3f}{how}"
    if baseline["is_better"] and baseline["is_sparser"]:
        yield f"  {title} is sparser and better: {size}, score {gain}"
    elif baseline["is_better"]:
        yield f"  {title} is better: score {gain}, with {size}"
    elif baseline["is_as_good"] and baseline["is_sparser"]:
        yield f"  {title} is sparser and about as good: {size}, score {gain}"
