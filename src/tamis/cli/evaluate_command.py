"""`tamis evaluate`: how good a model is on other data."""

import hashlib
import json
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tamis import __version__
from tamis._base import adjust
from tamis.cli.output import check_output, write_json
from tamis.cli.predict_command import (
    check_relabel,
    missing_words,
    read_new,
    read_prevalence,
    read_priors,
)
from tamis.cli.printing import print_lines, say
from tamis.cli.show_evaluation import show_evaluation
from tamis.comparison.folder import find_model
from tamis.comparison.further.external import measure_class
from tamis.comparison.further.validation import compare_scores, error_cost, validate
from tamis.comparison.methods.baselines import find_method
from tamis.models.saving import make_document
from tamis.tables.classifying.deciding import decide, decide_by_cost
from tamis.tables.classifying.decision_limit import limit_at
from tamis.tables.classifying.moved import Moved
from tamis.tables.classifying.prevalence import find_prevalence, tell_shares
from tamis.tables.classifying.unusual import Unusual
from tamis.tables.errors import InputError, listed
from tamis.tables.preparing.streamed_preparation import hash_table

# Report classes whose share differs by more than this from what the probabilities assume.
_FAR = 0.05
_HERE = "here"
# Classes that are measured one by one, and more than there are labels.
_MOST_CLASSES, _MOST_LABELS = 10, 2**20


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.data, options.target_file)
    new_file = check_output(options.recalibrate, options.data, options.target_file)
    model = find_model(options.run)
    priors = read_priors(options.priors, model.classes_)
    positive = _find_positive(options.positive, model)
    check_relabel(options)
    stated = options.prevalence
    if options.relabel and stated == _HERE:
        raise InputError("--relabel needs class frequencies that are known without the labels.")
    if stated != _HERE:
        prevalence = read_prevalence(stated, model)
    if options.relabel:
        priors, stated = prevalence.shares, None
    if new_file is not None and priors is not None:
        given = "--relabel" if options.relabel else "--priors"
        raise InputError(f"--recalibrate fits the class frequencies itself: omit {given}.")
    notes = []
    seen = _predict(options, model, priors, notes)
    codes, rows = _find_codes(seen.values, model, options, notes)
    labels, own = seen.labels[rows], seen.probabilities[rows]
    if stated == _HERE:
        prevalence = find_prevalence(model, _shares_here(codes, model.classes_))
    # With priors, probabilities are for them already.
    shares, shown = priors, own
    if priors is None:
        shares, shown = prevalence.shares, adjust(own, 1.0, model.priors, prevalence.shares)
    if stated is not None and model.misclassification is not None:
        labels = decide_by_cost(shown, model.misclassification)
    results = validate(codes, labels, shown, model.classes_, positive=positive, seed=options.seed)
    results["by_class"] = _measure(codes, shown, shares, model, positive, options.seed)
    for label, measured in results["by_class"].items():
        measured["decides_from"] = _limit(model, label, shares, priors is not None)
    _note_frequencies(codes, model, shares, notes)
    digest = _digest(seen.hashes[rows], codes)
    _note_same_rows(model, digest, notes, options.run)
    _note_training_file(options, notes)
    for note in notes:
        say(note)
    report = _tell(results, model, codes, options, seen.n_asked[rows], notes, priors)
    names = [str(label) for label in model.classes_.tolist()]
    report["prevalence"] = {
        "shares": dict(zip(names, shares.tolist(), strict=True)),
        "is": "stated with --priors" if options.priors is not None else prevalence.source,
    }
    report["moved"] = seen.moved
    detailed = seen.unusual.messages()
    report["data"]["notes_without_rows"] = [
        *seen.unusual.messages(with_rows=False),
        *(note for note in notes if note not in detailed),
    ]
    if new_file is not None:
        base = own if model.recalibration is None else seen.base[rows]
        report["recalibration"] = _recalibrate(model, base, shown, codes, report, new_file, digest)
    if output is not None:
        write_json(output, report)
    if options.json:
        write_json(None, report)
    else:
        print_lines(show_evaluation(report))
    return 0


def _find_positive(text, model):
    """Place of the class that --positive names, or of that of the model."""
    if text is None:
        return model.positive_index
    labels = [str(label) for label in model.classes_.tolist()]
    if text not in labels:
        raise InputError(f"--positive {text}: the classes are {listed(labels, 10)}.")
    return labels.index(text)


def _shares_here(codes, classes):
    """Class frequencies of the rows; a class without rows counts as half a row."""
    counts = np.maximum(np.bincount(codes, minlength=classes.size), 0.5)
    return dict(zip(classes.tolist(), (counts / counts.sum()).tolist(), strict=True))


def _measure(codes, shown, shares, model, positive, seed):
    """What is known about the probabilities of each class, or of the positive one of two."""
    labels = [str(label) for label in model.classes_.tolist()]
    places = range(min(len(labels), _MOST_CLASSES)) if positive is None else [positive]
    if len(labels) == 2 and positive is None:
        places = [1]
    found = {}
    for c in places:
        measured = measure_class(
            codes == c, shown[:, c], name=labels[c], prevalence=shares[c], seed=seed
        )
        if measured is not None:
            found[labels[c]] = measured
    return found


def _limit(model, label, shares, is_decided_by_them):
    """The shown probability of a class of two from which on the labels are of this class."""
    if model.classes_.size > 2:
        return None
    if is_decided_by_them and model.threshold is None and model.misclassification is None:
        return 0.5
    c = [str(one) for one in model.classes_.tolist()].index(label)
    return limit_at(model, c, shares[c])


def _digest(hashes, codes):
    """A digest of rows and their labels, whatever their order."""
    keys = np.sort(hashes * np.uint64(2 * _MOST_LABELS + 1) + codes.astype(np.uint64))
    return hashlib.sha256(keys.tobytes()).hexdigest()


def _note_same_rows(model, digest, notes, path):
    """Warn if the model was recalibrated on these rows."""
    about = model.scores.get("recalibration") or {}
    if model.recalibration is not None and about.get("rows_digest") == digest:
        notes.append(
            f"these are the rows that the model was recalibrated on ({about.get('data')}), so its "
            "calibration here does not show how well it fits new rows; its cross-validated scores "
            f"are in {path}, under record.scores.recalibration"
        )


def _note_training_file(options, notes):
    """Warn if the model was trained on this file."""
    try:
        words = json.loads((Path(options.run) / "run.json").read_text(encoding="utf-8"))
        is_same = os.path.samefile(words["data"], options.data)
    except (OSError, ValueError, KeyError, TypeError):
        return  # a model file, or data that are not there any more
    if is_same:
        notes.append(
            f"{options.data} is the file that the model was trained on, so these scores are too "
            "good; report the selection-corrected (honest) score of tamis fit, or evaluate other "
            "rows"
        )
    if is_same and words.get("duplicates") == "group":
        notes.append(
            "in the class frequencies of training, duplicates count as one sample; here, every "
            "row counts"
        )


def _recalibrate(model, base, shown, codes, report, path, digest):
    """Write the recalibrated model; returns its scores here, by cross-validation."""
    from tamis.models import save_model
    from tamis.models.recalibration import cross_fit, log_loss, recalibrate

    seed, scoring = report["seed"], report["scoring"]
    after = cross_fit(base, codes, seed)
    positive = model.positive_index
    shares = after if model.threshold is None else base
    predicted = decide(shares, positive, model.threshold)
    if model.misclassification is not None:
        # The recalibrated probabilities stand for the class frequencies here.
        predicted = decide_by_cost(after, model.misclassification)
    results = validate(codes, predicted, after, model.classes_, positive=positive, seed=seed)
    about = {
        "data": report["data"]["name"],
        "rows": report["data"]["rows"],
        "rows_digest": digest,
        "scoring": scoring,
        "score": report["scores"][scoring]["score"],
        "recalibrated_score": results["scores"][scoring]["score"],
        "log_loss": log_loss(shown, codes),
        "recalibrated_log_loss": log_loss(after, codes),
        "brier": report["calibration"]["brier"],
        "recalibrated_brier": results["calibration"]["brier"],
    }
    new = recalibrate(model, base, codes, about)
    format = "skops" if path.suffix == ".skops" else "json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file reveals was said when it was made
        save_model(new, path, format=format)
    labels = [str(label) for label in model.classes_.tolist()]
    intercept = dict(zip(labels, new.recalibration.intercept.tolist(), strict=True))
    return about | {"temperature": new.recalibration.temperature, "intercept": intercept}


@dataclass(frozen=True)
class _Seen:
    """What is known about all rows of DATA."""

    values: np.ndarray  # labels as written
    labels: np.ndarray  # predicted classes
    probabilities: np.ndarray
    base: np.ndarray  # probabilities before a recalibration, if the model has one
    n_asked: np.ndarray
    hashes: np.ndarray
    moved: list
    unusual: Unusual


def _predict(options, model, priors, notes):
    """Labels as written, predicted classes and probabilities, features used by each row."""
    target = options.target or model.target
    wanted = [] if options.target_file else [target]
    names = ("values", "labels", "probabilities", "base", "n_asked", "hashes")
    parts = {name: [] for name in names}
    _, chunks = read_new(options, model, extra=wanted, allow_empty=False, tell=notes.append)
    n_needed = len(set(model.preparation.features))
    order = np.argsort(model.classes_, kind="stable")
    unusual, moved = Unusual(model.preparation, fills=not model.asks), Moved(model.preparation)
    for table, _, extras in chunks:
        if wanted and target not in extras:
            raise InputError(
                f"{options.data} has no column {target!r} for the labels; "
                "name another with --target, or a file of labels with --target-file."
            )
        unusual.add(table)
        moved.add(table)
        predicted = model.predict_rows(table, priors)
        if wanted:
            parts["values"].append(np.asarray(extras[target]))
        asked = predicted.asked
        parts["labels"].append(
            order[np.searchsorted(model.classes_, predicted.labels, sorter=order)]
        )
        parts["probabilities"].append(predicted.probabilities)
        if model.recalibration is not None:
            before = replace(model, recalibration=None).predict_rows(table)
            parts["base"].append(before.probabilities)
        parts["n_asked"].append(
            np.full(table.n_rows, n_needed) if asked is None else [len(row) for row in asked]
        )
        parts["hashes"].append(hash_table(table))
    notes += [*unusual.messages(), *moved.messages()]
    if not wanted:
        parts["values"].append(_read_target_file(options, target, notes))
    joined = {name: np.concatenate(found or [[]]) for name, found in parts.items()}
    return _Seen(**joined, moved=moved.found(), unusual=unusual)


def _read_target_file(options, target, notes):
    """Labels from a separate file, in the order of the rows."""
    from tamis.tables.formats.source import check_path
    from tamis.tables.reading.readers import read_raw
    from tamis.tables.reading.targets import read_labels

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
    from tamis.tables.columns.values import as_labels, match_labels

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
        notes.append(f"classes of the model without any row here: {listed(absent)}")
    return codes[rows], rows


def _note_frequencies(codes, model, shares, notes):
    """Note that probabilities for other class frequencies are not calibrated."""
    here = np.bincount(codes, minlength=len(model.classes_)) / codes.size
    if np.abs(here - shares).max() > _FAR:
        labels = [str(label) for label in model.classes_.tolist()]
        notes.append(
            f"probabilities are for class frequencies of {tell_shares(shares, labels)}; here they "
            f"are {tell_shares(here, labels)}; --prevalence here converts the probabilities"
        )


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
            "selection_score": chosen or None,
            "tamis": model.version,
            "digest": make_document(model)["digest"],
        },
        "cost_of_errors": None
        if model.misclassification is None
        else error_cost(
            results["confusion"]["true_in_rows"], model.misclassification, labels, options.seed
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
