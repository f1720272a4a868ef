"""`tamis evaluate`: how good a model is on other data."""

import warnings
from dataclasses import replace

import numpy as np

from tamis import __version__
from tamis.cli.output import check_output, write_json
from tamis.cli.predict_command import missing_words, read_new, read_priors
from tamis.cli.printing import print_lines, say
from tamis.cli.show import plural, show_table
from tamis.comparison.baselines import find_method
from tamis.comparison.folder import find_model
from tamis.comparison.validation import compare_scores, error_cost, validate
from tamis.models.saving import make_document
from tamis.tables.errors import InputError, listed

__all__ = ["run"]

_NAMES = {
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "f1_macro": "F1, mean of classes",
    "mcc": "Matthews correlation",
    "roc_auc": "area under ROC curve",
}
# Report classes whose share differs by more than this from what the probabilities assume.
_FAR = 0.05


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.data, options.target_file)
    new_file = check_output(options.recalibrate, options.data, options.target_file)
    model = find_model(options.run)
    priors = read_priors(options.priors, model.classes_)
    if new_file is not None:
        if priors is not None:
            raise InputError("--recalibrate fits the class frequencies itself: omit --priors.")
        model = replace(model, recalibration=None)
    notes = []
    values, predicted, n_asked = _predict(options, model, priors, notes)
    codes, rows = _find_codes(values, model, options, notes)
    labels, probabilities = predicted[0][rows], predicted[1][rows]
    results = validate(
        codes,
        labels,
        probabilities,
        model.classes_,
        positive=model.positive_index,
        seed=options.seed,
    )
    _note_frequencies(codes, model, priors, notes)
    for note in notes:
        say(note)
    report = _tell(results, model, codes, options, n_asked[rows], notes, priors)
    if new_file is not None:
        report["recalibration"] = _recalibrate(model, probabilities, codes, report, new_file)
    if output is not None:
        write_json(output, report)
    if options.json:
        write_json(None, report)
    else:
        print_lines(show_evaluation(report))
    return 0


def _recalibrate(model, probabilities, codes, report, path):
    """Write the recalibrated model; returns its scores here, by cross-validation."""
    from tamis.models import save_model
    from tamis.models.recalibration import cross_fit, log_loss, recalibrate
    from tamis.tables.deciding import decide, decide_by_cost

    seed, scoring = report["seed"], report["scoring"]
    after = cross_fit(probabilities, codes, seed)
    positive = model.positive_index
    shares = after if model.threshold is None else probabilities
    predicted = decide(shares, positive, model.threshold)
    if model.misclassification is not None:
        # The recalibrated probabilities stand for the class frequencies here.
        predicted = decide_by_cost(after, model.misclassification)
    results = validate(codes, predicted, after, model.classes_, positive=positive, seed=seed)
    about = {
        "data": report["data"]["name"],
        "rows": report["data"]["rows"],
        "scoring": scoring,
        "score": report["scores"][scoring]["score"],
        "recalibrated_score": results["scores"][scoring]["score"],
        "log_loss": log_loss(probabilities, codes),
        "recalibrated_log_loss": log_loss(after, codes),
        "brier": report["calibration"]["brier"],
        "recalibrated_brier": results["calibration"]["brier"],
    }
    new = recalibrate(model, probabilities, codes, about)
    format = "skops" if path.suffix == ".skops" else "json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file reveals was said when it was made
        save_model(new, path, format=format)
    labels = [str(label) for label in model.classes_.tolist()]
    intercept = dict(zip(labels, new.recalibration.intercept.tolist(), strict=True))
    return about | {"temperature": new.recalibration.temperature, "intercept": intercept}


def _predict(options, model, priors, notes):
    """Labels as written, predicted classes and probabilities, features used by each row."""
    target = options.target or model.target
    wanted = [] if options.target_file else [target]
    values, codes, probabilities, n_asked = [], [], [], []
    _, chunks = read_new(options, model, extra=wanted, allow_empty=False, tell=notes.append)
    n_needed = len(set(model.preparation.features))
    order = np.argsort(model.classes_, kind="stable")
    for table, _, extras in chunks:
        if wanted and target not in extras:
            raise InputError(
                f"{options.data} has no column {target!r} for the labels; "
                "name another with --target, or a file of labels with --target-file."
            )
        predicted = model.predict_rows(table, priors)
        if wanted:
            values.append(np.asarray(extras[target]))
        codes.append(order[np.searchsorted(model.classes_, predicted.labels, sorter=order)])
        probabilities.append(predicted.probabilities)
        asked = predicted.asked
        n_asked.append(
            np.full(table.n_rows, n_needed) if asked is None else [len(row) for row in asked]
        )
    predictions = np.concatenate(codes), np.concatenate(probabilities)
    values = np.concatenate(values) if wanted else _read_target_file(options, target, notes)
    return values, predictions, np.concatenate(n_asked)


def _read_target_file(options, target, notes):
    """Labels from a separate file, in the order of the rows."""
    from tamis.tables.readers import read_raw
    from tamis.tables.source import check_path
    from tamis.tables.targets import read_labels

    raw = read_raw(
        check_path(options.data),
        format=options.format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        layer=options.layer,
        sheet=options.sheet,
        transpose=options.transpose,
        as_written=[options.id_column] if options.id_column else [],
        drop=options.drop,
        max_size=options.max_size,
    )
    _, values, _ = read_labels(
        options.target_file,
        raw,
        target=target,
        id_column=options.id_column,
        encoding=options.encoding,
        notes=notes,
        max_size=options.max_size,
    )
    return values


def _find_codes(values, model, options, notes):
    """Class indices of the rows that have a label, and the numbers of these rows."""
    from tamis.tables.values import as_labels, match_labels

    missing = missing_words(options, model)
    written, is_known = as_labels(values, missing, model.classes_.tolist())
    matched = match_labels(values, model.classes_, missing)
    place = {label: c for c, label in enumerate(model.classes_.tolist())}
    codes = np.array([-1 if label is None else place[label] for label in matched])
    unknown = np.unique(written[is_known & (codes < 0)].astype(str)).tolist()
    target = options.target or model.target
    if unknown:
        raise InputError(
            f"{options.data} has labels that the model does not know in {target!r}: "
            f"{listed(unknown)}; it knows {listed(model.classes_.tolist())}."
        )
    if not is_known.any():
        raise InputError(f"{options.data}: no row has a label in {target!r}.")
    if not is_known.all():
        n = int((~is_known).sum())
        notes.append(f"{n:,} row{'' if n == 1 else 's'} without a label: ignored")
    rows = np.flatnonzero(is_known)
    counts = np.bincount(codes[rows], minlength=len(place))
    absent = [str(label) for label, n in zip(place, counts, strict=True) if n == 0]
    if absent:
        notes.append(f"classes of the model that no row has: {listed(absent)}")
    return codes[rows], rows


def _note_frequencies(codes, model, priors, notes):
    """Note that probabilities which assume other class frequencies are not calibrated."""
    shares = np.bincount(codes, minlength=len(model.classes_)) / codes.size
    assumed = model.priors if priors is None else priors
    if np.abs(shares - assumed).max() > _FAR:
        labels = [str(label) for label in model.classes_.tolist()]
        notes.append(
            f"probabilities assume class frequencies of {_shares(labels, assumed)}; here they "
            f"are {_shares(labels, shares)}: --priors sets others"
        )


def _shares(labels, shares):
    pairs = [f"{label} {share:.3g}" for label, share in zip(labels, shares, strict=True)]
    return listed(pairs, 6)


def _tell(results, model, codes, options, n_asked, notes, priors):
    """Everything as plain values, for JSON."""
    counts = np.bincount(codes, minlength=len(model.classes_))
    labels = [str(label) for label in model.classes_.tolist()]
    honest = model.scores.get("honest_score")
    chosen = model.scores.get("selection_score") or {}
    scoring = (honest or chosen).get("scoring", "balanced_accuracy")
    here = results["scores"][scoring]
    compared = None
    known = honest and here["score"] is not None and honest.get("score") == honest.get("score")
    # Recalibration moves the decisions, but hardly the order of rows.
    is_same = model.recalibration is None or scoring == "roc_auc"
    if known and is_same:
        compared = {"scoring": scoring, **compare_scores(here, honest)}
    return {
        "format": "tamis-evaluation",
        "format_version": 1,
        "data": {
            "name": str(options.data),
            "target": options.target or model.target,
            "rows": int(codes.size),
            "classes": dict(zip(labels, counts.tolist(), strict=True)),
            "notes": notes,
        },
        "model": {
            "name": str(options.run),
            "method": model.method,
            "title": find_method(model.method).title,
            "level": model.level,
            "decides_by_cost": model.misclassification is not None,
            "is_recalibrated": model.recalibration is not None,
            "tamis": model.version,
            "digest": make_document(model)["digest"],
        },
        "cost_of_errors": None
        if model.misclassification is None
        else error_cost(
            results["confusion"]["true_in_rows"], model.misclassification, options.seed
        ),
        "priors": None if priors is None else dict(zip(labels, priors.tolist(), strict=True)),
        "scoring": scoring,
        "seed": options.seed,
        **results,
        "cross_validated": compared,
        "features_per_sample": float(n_asked.mean()),
        "features_per_sample_95th_percentile": float(np.percentile(n_asked, 95)),
        "versions": {"tamis": __version__, "numpy": np.__version__},
    }


def show_evaluation(report):
    """Lines for standard output."""
    data, scoring = report["data"], report["scoring"]
    classes = listed([f"{label} {n}" for label, n in data["classes"].items()], 8)
    lines = [
        f"{data['name']}: {data['rows']} rows ({classes})",
        f"{report['model']['title']}, "
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
        lines += ["", "the model has no cross-validated score to compare with"]
    cost = report["cost_of_errors"]
    if cost:
        low, high = cost["interval_95"]
        lines.append(
            f"mean cost of errors {cost['mean_cost']:.3f} per row, 95 % interval {low:.3f} to "
            f"{high:.3f}"
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


def _scored(entry):
    if entry["score"] is None:
        return "-", "-"
    low, high = entry["interval_95"]
    return f"{entry['score']:.3f}", f"{low:.3f} to {high:.3f}"


def _ratio(value, interval):
    if value is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"
