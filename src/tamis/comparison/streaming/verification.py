r"""The score of a model on the rows outside the sample that it was chosen and trained on.

Nobody who chose anything has seen these rows, so the score is honest, and there are many of them.
A pass adds up confusion matrices :math:`N^{(b)}_{tp}`, one for each of B = 50 parts of the rows; a
unit (a row, or a whole sample group) is in the part that its hash says. Scores are functions of
:math:`N = \sum_b N^{(b)}`; the standard error is the jackknife's over the parts,

.. math:: s^2 = \frac{B-1}{B} \sum_b (S_{-b} - \bar S_{-\cdot})^2,
   \qquad S_{-b} = S(N - N^{(b)}),

which needs independent units, but not independent rows of a group.

Rows that equal a row of the sample are added up separately. If there are more than ten times as
many equal pairs as independent columns would give, they are copies and left out; otherwise they
are coincidences (six yes/no questions have 64 patterns), and count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tamis.comparison.choosing.scores import cautious_interval, score_confusion
from tamis.comparison.streaming.training_rows import FAR_MORE
from tamis.paths.copies import expected_pairs
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.streamed_preparation import hash_table, numbers_of
from tamis.tables.reading.row_stream import RowChunk, RowStream

__all__ = ["Tallies", "summarise_tallies", "verify"]

_PARTS = 50


@dataclass(frozen=True)
class Tallies:
    """Confusion matrices of rows outside the sample."""

    # (2, n_parts, n_classes, n_classes): True classes in rows; of rows unlike those of the sample,
    # and of rows that equal one.
    counts: NDArray[np.float64]
    n_rows: NDArray[np.int64]  # (2,): their numbers
    n_pairs: float  # number of equal pairs of a row outside the sample and one inside

    def merge(self, other: Tallies) -> Tallies:
        """Of the rows of both."""
        n_pairs = self.n_pairs + other.n_pairs
        return Tallies(self.counts + other.counts, self.n_rows + other.n_rows, n_pairs)


def verify(stream: RowStream, model: TableModel, sample: Columns, ignored: list[str]) -> Tallies:
    """Predict all rows outside the sample, in one pass.

    `sample`: features of the sample; `ignored`: columns in which copies of a row may differ.
    """
    known, times = np.unique(hash_table(sample, ignored), return_counts=True)
    place = {label: code for code, label in enumerate(stream.classes.tolist())}
    required, n_classes = model.preparation.required, len(stream.classes)
    shape = (2, _PARTS, n_classes, n_classes)

    def look(chunk: RowChunk) -> Tallies:
        chunk = chunk.take(np.flatnonzero(~chunk.in_sample))
        if not chunk.codes.size:
            return Tallies(np.zeros(shape), np.zeros(2, dtype=np.int64), 0.0)
        hashes = hash_table(chunk.table, ignored)
        at = np.minimum(np.searchsorted(known, hashes), known.size - 1)
        is_equal = known[at] == hashes
        labels = model.predict_rows(chunk.table.select(required)).labels
        said = np.array([place[label] for label in labels.tolist()], dtype=np.int64)
        part = (chunk.units % np.uint64(_PARTS)).astype(np.int64)
        cell = np.ravel_multi_index((is_equal.astype(np.int64), part, chunk.codes, said), shape)
        counts = np.bincount(cell, chunk.weights, int(np.prod(shape))).reshape(shape)
        n_rows = np.bincount(is_equal.astype(np.int64), minlength=2)
        return Tallies(counts.astype(np.float64), n_rows, float(times[at][is_equal].sum()))

    return stream.run(look, Tallies.merge)


def summarise_tallies(
    tallies: Tallies, sample: Columns, ignored: list[str], scoring: str, duplicates: str
) -> dict[str, Any] | None:
    """The score outside the sample, as plain values; None if no row is left.

    `scoring`: balanced accuracy replaces the area under the curve, which needs all rows at once.
    `duplicates`: of `tamis fit`; with "keep", equal rows always count.
    """
    scoring = "balanced_accuracy" if scoring == "roc_auc" else scoring
    are_copies = False
    if tallies.n_pairs and duplicates != "keep":
        n_pairs = float(tallies.n_rows.sum()) * sample.n_rows
        expected = expected_pairs(numbers_of(sample, ignored), n_pairs)
        are_copies = tallies.n_pairs > FAR_MORE * expected
    counts = tallies.counts[0] if are_copies else tallies.counts.sum(axis=0)
    total = counts.sum(axis=0)
    if not total.any():
        return None
    score = float(score_confusion(total, scoring))
    without = score_confusion(total - counts, scoring)
    error = float(np.sqrt((_PARTS - 1) / _PARTS * ((without - without.mean()) ** 2).sum()))
    reach = stats.t.ppf(0.975, _PARTS - 1) * error
    low, high = score - reach, score + reach
    if error == 0:
        low, high = cautious_interval(total, scoring)
    return {
        "scoring": scoring,
        "score": score,
        "standard_error": error,
        "interval_95": [max(float(low), -1.0 if scoring == "mcc" else 0.0), min(float(high), 1.0)],
        "rows": int(tallies.n_rows[0] + (0 if are_copies else tallies.n_rows[1])),
        "duplicates_left_out": int(tallies.n_rows[1]) if are_copies else 0,
        "confusion": total.tolist(),
        "is": "of the model trained on the sample, on rows outside the sample",
    }
