"""`tamis explain`: why each row has its label, as CSV."""

import numpy as np

from tamis._base import Explanation
from tamis.cli.output import check_output, number, write_rows
from tamis.cli.predict_command import read_new, read_prevalence
from tamis.cli.printing import say
from tamis.comparison.folder import find_model
from tamis.datumwise.acquisition import Questions
from tamis.landmarks._fitted import NearestLandmarks
from tamis.models.standalone.headings import unused_names
from tamis.tables.classifying.explanations import (
    Values,
    explain_margins,
    explain_nearest,
    explain_sequences,
)
from tamis.tables.classifying.unusual import Unusual
from tamis.tables.errors import InputError, NotReadable

BASE, OTHERS = "(base)", "(other features)"


def run(options):
    """Run the command; returns the exit code."""
    output = check_output(options.output, options.data)
    model = find_model(options.run)
    kind = getattr(model.estimator, "explanation_class", None)
    if kind not in _HOW:
        raise InputError(
            f"{options.run} has a {type(model.estimator).__name__}, whose predictions have no "
            "explanation."
        )
    if not hasattr(model.estimator, "explain"):
        raise NotReadable(
            f"{options.run} has a panel with a kernel, whose predictions cannot be explained "
            "feature by feature."
        )
    header, explain = _HOW[kind]
    prevalence = read_prevalence(options.prevalence, model)
    # Contributions are held for each class.
    width = model.preparation.n_columns * (2 + len(model.classes_))
    name, chunks = read_new(options, model, width=width)
    header = [name, *unused_names(header, [name])]
    unusual = Unusual(model.preparation, fills=not model.asks)
    lines = explain(model, _counted(chunks, unusual), options.top, prevalence.shares)
    write_rows(output, header, lines, options.guard)
    say(prevalence.sentence())
    for message in unusual.messages():
        say(message)
    return 0


def _counted(chunks, unusual):
    """The chunks, of which the rows unlike any in training are counted."""
    for chunk in chunks:
        unusual.add(chunk[0])
        yield chunk


def _contributions(model, chunks, top, prevalence):
    for table, names, _ in chunks:
        explained = explain_margins(model, table, prevalence)
        values = Values(model.preparation, table, fills=not model.asks)
        # Stable: of equal contributions, the first feature is written first.
        order = np.argsort(-np.abs(explained.values), axis=1, kind="stable")
        for row, name in enumerate(names):
            start = (
                name,
                explained.labels[row],
                number(explained.probabilities[row]),
                explained.runners_up[row],
            )
            yield (*start, "", BASE, "", number(explained.base[row]))
            shown = order[row, :top]
            shown = shown[explained.values[row, shown] != 0]
            for rank, j in enumerate(shown.tolist(), 1):
                feature = explained.features[j]
                value = values.tell(row, feature)
                yield (*start, rank, feature, value, number(explained.values[row, j]))
            rest = order[row, shown.size :]
            if explained.values[row, rest].any():
                yield (*start, "", OTHERS, "", number(explained.values[row, rest].sum()))


def _nearest(model, chunks, top, prevalence):
    for table, names, _ in chunks:
        explained = explain_nearest(model, table, top, prevalence)
        for row, name in enumerate(names):
            start = name, explained.labels[row], number(explained.probabilities[row])
            for rank in range(explained.rows.shape[1]):
                yield (
                    *start,
                    rank + 1,
                    explained.rows[row, rank] + 1,
                    explained.row_labels[row, rank],
                    number(explained.distances[row, rank]),
                )


def _sequences(model, chunks, top, prevalence):
    for table, names, _ in chunks:
        explained = explain_sequences(model, table, prevalence)
        values = Values(model.preparation, table)
        for row, name in enumerate(names):
            for step, feature in enumerate(["", *explained.asked[row]]):
                value = values.tell(row, feature) if step else ""
                label, chance = explained.labels[row][step], explained.probabilities[row][step]
                yield name, step, feature, value, label, number(chance)


_HOW = {
    Explanation: (
        ("prediction", "probability", "runner_up", "rank", "feature", "value", "contribution"),
        _contributions,
    ),
    NearestLandmarks: (
        ("prediction", "probability", "rank", "training_row", "label", "distance"),
        _nearest,
    ),
    Questions: (("step", "feature", "value", "prediction", "probability"), _sequences),
}
