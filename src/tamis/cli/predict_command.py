"""`tamis predict`: labels and probabilities of new rows, as CSV."""

import math
from dataclasses import replace
from itertools import chain

import numpy as np

from tamis.cli.output import check_output, write_columns
from tamis.cli.printing import say
from tamis.comparison.folder import find_model
from tamis.models.standalone.headings import headings, unused_names
from tamis.tables.classifying.decision_limit import limit_at
from tamis.tables.classifying.prediction_sets import check_coverage, join_labels
from tamis.tables.classifying.prevalence import find_prevalence, tell_assumed, tell_shares
from tamis.tables.classifying.unusual import Unusual
from tamis.tables.errors import EmptyTableError, InputError, listed, quoted

# Values per chunk; most and fewest rows per chunk.
_VALUES, _MOST_ROWS, _FEWEST_ROWS = 2_000_000, 20_000, 50
_TOLERANCE = 1e-6


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.data)
    model = find_model(options.run)
    priors = read_priors(options.priors, model.classes_)
    prevalence = None
    check_relabel(options)
    if options.prevalence is not None:
        prevalence = read_prevalence(options.prevalence, model)
    if options.relabel:
        priors, prevalence = prevalence.shares, None
    name, chunks = read_new(options, model)
    if model.threshold is not None:
        say(_tell_threshold(model, priors if prevalence is None else prevalence.shares))
    if model.misclassification is not None:
        say("labels are those of the smallest expected cost, by the costs of --misclassification")
    header = headings(model.classes_.tolist())
    header += ["refer"] if options.refer is not None else []
    if options.coverage is not None:
        check_coverage(model, options.coverage)
        header.append("set")
        for sentence in model.calibration.coverage(model.classes_, options.coverage).sentences():
            say(sentence)
    header += ["n_asked", "asked"] if model.asks else []
    header = [name, *unused_names(header, [name])]
    unusual = Unusual(model.preparation, fills=not model.asks)
    shares = None if prevalence is None else prevalence.shares
    columns = _predict(model, chunks, priors, shares, options, unusual)
    write_columns(output, header, columns, options.guard)
    say(_tell_probabilities(model, priors, prevalence))
    for message in unusual.messages():
        say(message)
    return 0


def _tell_threshold(model, shares):
    """From which probability on a row has the positive class, as the probabilities are shown."""
    shares = model.priors if shares is None else shares
    told, own = f"labels are {model.positive} where its probability", f"{model.threshold:.3g}"
    if model.classes_.size == 2:
        shown = limit_at(model, model.positive_index, shares[model.positive_index])
        told += f" is at least {shown:.3g}, the threshold of --min-sensitivity"
        return told if f"{shown:.3g}" == own else f"{told} ({own} before it is converted)"
    labels = [str(label) for label in model.classes_.tolist()]
    if np.abs(shares - model.priors).max() > 1e-9 or model.recalibration is not None:
        told += f" for class frequencies of {tell_shares(model.priors, labels)}"
    return f"{told} is at least {own}, the threshold of --min-sensitivity"


def _tell_probabilities(model, priors, prevalence):
    """What the columns of probabilities stand for."""
    labels = [str(label) for label in model.classes_.tolist()]
    if prevalence is not None:
        decided = "decided by it" if model.misclassification is not None else "not changed by it"
        told = prevalence.sentence().removesuffix(".")
        return f"{told[0].lower()}{told[1:]}; labels are {decided}"
    if priors is not None:
        return (
            f"probabilities and labels are for class frequencies of {tell_shares(priors, labels)}"
        )
    return f"{tell_assumed(model)}; --prevalence gives them for others"


def _predict(model, chunks, priors, prevalence, options, unusual):
    """Yield the columns of the table, for one chunk of rows at a time."""
    for table, names, _ in chunks:
        unusual.add(table)
        predicted = model.predict_rows(table, priors, prevalence)
        columns = [names, predicted.labels.tolist(), *predicted.probabilities.T]
        if options.refer is not None:
            best = predicted.probabilities.max(axis=1)
            columns.append(np.where(best < options.refer, "yes", "no").tolist())
        if options.coverage is not None:
            sets = model.predict_set(table, options.coverage)
            columns.append([join_labels(model.classes_[some].tolist()) for some in sets])
        if model.asks:
            columns.append([len(asked) for asked in predicted.asked])
            columns.append([";".join(asked) for asked in predicted.asked])
        yield columns


def read_new(options, model, *, extra=(), width=None, allow_empty=True, tell=say):
    """Read the rows of DATA in chunks.

    Values that are treated as missing are reported: absent columns after the first chunk, words in
    numeric columns after the last one.

    `width`: values held per row; None: one per column of the model. `allow_empty`: whether a table
    without rows gives a message instead of an error. `tell`: called with each message; the default
    writes it to standard error. Returns `name`: heading for the names of the rows: the column of
    `--id`, or "row"; `chunks`: the model's columns; names of the rows, or their numbers from 1;
    other columns.
    """
    from tamis.tables.reading.rows import read_rows

    width = max(1, model.preparation.n_columns if width is None else width)
    notes, absent = [], ([] if model.asks else None)
    wanted = [*extra, *([options.id_column] if options.id_column else [])]
    rows = read_rows(
        options.data,
        model.preparation.required,
        model.preparation.kinds,
        format=options.format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        layer=options.layer,
        sheet=options.sheet,
        transpose=options.transpose,
        drop=options.drop,
        missing=missing_words(options, model),
        max_size=options.max_size,
        chunk_rows=max(_FEWEST_ROWS, min(_MOST_ROWS, _VALUES // width)),
        extra=list(dict.fromkeys(wanted)),
        notes=notes,
        lacking=absent,
        shares=model.preparation.shares,
    )
    name = options.id_column or "row"
    try:
        # Reading the first chunk raises an error for absent columns before anything is written.
        first = next(rows)
    except EmptyTableError as error:
        if not allow_empty:
            raise
        tell(f"{error}: nothing to predict")
        return name, iter(())
    if absent:
        tell(f"columns not in the file, treated as missing: {listed(quoted(absent), 10)}")
    if options.id_column and options.id_column not in first[1]:
        raise InputError(f"--id {options.id_column}: {options.data} has no such column.")
    return name, _number(chain([first], rows), options.id_column, notes, tell)


def missing_words(options, model):
    """Words that stand for missing values: those of the options, else those used in training."""
    if options.missing_values is None:
        return model.preparation.missing
    return replace(model.preparation.missing, words=list(options.missing_values), categories={})


def _number(chunks, id_column, notes, tell):
    n_rows = 0
    for table, extras in chunks:
        if id_column:
            names = [_plain(value) for value in extras[id_column].tolist()]
        else:
            names = range(n_rows + 1, n_rows + table.n_rows + 1)
        n_rows += table.n_rows
        yield table, names, extras
    for note in notes:
        tell(note)


def _plain(value):
    if value is None:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_relabel(options):
    """Raise InputError if --prevalence, --relabel and --priors contradict each other."""
    if options.priors is not None and (options.prevalence is not None or options.relabel):
        raise InputError(
            "--priors is the same as --prevalence with --relabel: give either --priors or "
            "--prevalence."
        )
    if options.relabel and options.prevalence is None:
        raise InputError(
            "--relabel decides the labels by the class frequencies of --prevalence: add it."
        )


def read_prevalence(text, model):
    """Read --prevalence: "training", the proportion of the positive class, or CLASS=PROPORTION.

    `text`: None: of the training rows.
    """
    if text is None or text == "training":
        return find_prevalence(model)
    if "=" not in text:
        return find_prevalence(model, _share(text, text))
    given = {}
    for label, value in _pairs(text, "--prevalence"):
        if label in given:
            raise InputError(f"--prevalence names the class {label!r} twice.")
        given[label] = _share(value, text)
    return find_prevalence(model, given)


def _share(value, text):
    try:
        return float(value)
    except ValueError:
        raise InputError(
            f"--prevalence {text}: expected a proportion such as 0.02, CLASS=0.02, or training."
        ) from None


def read_priors(text, classes):
    """Read the frequencies of the classes, in their order.

    `classes` (n_classes,). Returns `priors` (n_classes,) or None.
    """
    if text is None:
        return None
    labels = [str(label) for label in classes.tolist()]
    given = {}
    for label, value in _pairs(text, "--priors"):
        if label not in labels:
            raise InputError(f"--priors: no class {label!r}; the classes are {_some(labels)}.")
        if label in given:
            raise InputError(f"--priors names the class {label!r} twice.")
        try:
            given[label] = float(value)
        except ValueError:
            given[label] = math.nan
        if not 0 < given[label] < math.inf:
            raise InputError(f"--priors {label}={value}: expected a number above 0.")
    absent = [label for label in labels if label not in given]
    if absent:
        raise InputError(f"--priors must name every class; missing: {_some(absent)}.")
    total = math.fsum(given.values())
    if abs(total - 1) > _TOLERANCE:
        raise InputError(f"--priors must sum to 1; they sum to {total:.7g}.")
    return np.array([given[label] for label in labels]) / total


def _pairs(text, option):
    """Split into names and numbers; a name may contain commas and equals signs."""
    name = ""
    for piece in text.split(","):
        name += piece
        label, equals, value = name.rpartition("=")
        if equals:
            yield label.strip(), value.strip()
            name = ""
        else:
            name += ","
    if name:
        raise InputError(f"{option} {text}: expected CLASS=FREQUENCY, separated by commas.")


def _some(labels):
    return ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
