"""Scores and predictions of rows that a bootstrap draw has left out."""

from functools import cache

import numpy as np

from tamis.comparison.choosing.predictions import Predictions, temper
from tamis.comparison.choosing.results import calibrate, find_threshold
from tamis.comparison.choosing.scores import area_under_curve, confusion, score_confusion
from tamis.tables.classifying.deciding import decide

__all__ = ["LeftOut"]


class LeftOut:
    """Scores of places on the rows that were not drawn, and one prediction for each row.

    `decided`: returns the labels of a level of a result, (n_repeats, n_rows), as the saved model
    decides; None: those that the choice was made by. `places` (n_rows,): what the first draw
    without the row chose; -1 for rows that were in all draws. `labels` (n_rows,): class that it
    predicts. `labels_of`: labels of a place, (n_repeats, n_rows).
    """

    def __init__(self, candidates, positive, min_sensitivity, decided=None):
        self.candidates = candidates

        def labels_of(place):
            result, at = candidates.find(place)
            return result.labels[at] if decided is None else decided(result, at)

        self.labels_of = cache(labels_of)
        self.positive, self.min_sensitivity = positive, min_sensitivity
        self.places = np.full(candidates.codes.size, -1)
        self.labels = np.zeros(candidates.codes.size, dtype=np.intp)

    def score(self, place, drawn):
        """Score of a place on the rows that were not drawn.

        Also sensitivity and specificity there (None without a minimal sensitivity), and the share
        of each class that is found (NaN for classes without a row).
        """
        result, at = self.candidates.find(place)
        codes, scoring = self.candidates.codes, self.candidates.scoring
        rows = np.flatnonzero(drawn == 0)
        weights = self.candidates.weights
        weights = None if weights is None else weights[None, rows]
        scores, rates, found = [], [], []
        for r in range(result.labels.shape[1]):
            probabilities = result.probabilities[at, r]
            labels = self.labels_of(place)[r, rows]
            if self.min_sensitivity is not None:
                labels = self._decide(probabilities, drawn, rows)
                is_positive = codes[rows] == self.positive
                is_found = labels == self.positive
                rates.append((is_found[is_positive].mean(), 1 - is_found[~is_positive].mean()))
            counts = confusion(codes[rows], labels, probabilities.shape[1], weights)
            if scoring == "roc_auc":
                scores.append(area_under_curve(codes[rows], probabilities[rows], weights))
            else:
                scores.append(score_confusion(counts, scoring))
            counts = counts.reshape(counts.shape[-2:])
            with np.errstate(invalid="ignore"):
                found.append(np.diagonal(counts) / counts.sum(axis=1))
        rates = np.mean(rates, axis=0) if rates else None
        return float(np.mean(scores)), rates, np.mean(found, axis=0)

    def predict(self, place, drawn):
        """Use a choice for the rows that no draw before this one has left out."""
        rows = np.flatnonzero((drawn == 0) & (self.places < 0))
        if not rows.size:
            return
        result, at = self.candidates.find(place)
        self.places[rows] = place
        self.labels[rows] = self.labels_of(place)[0, rows]
        if self.min_sensitivity is not None:
            self.labels[rows] = self._decide(result.probabilities[at, 0], drawn, rows)

    def predictions(self, problem):
        """The predictions of all rows, calibrated.

        The temperature is that of the choice on all rows: one number from at least hundreds of
        rows, which a single row hardly changes.
        """
        candidates = self.candidates
        made = Predictions.empty(candidates.codes.size, candidates.n_classes)
        unseen = self.places < 0
        places, labels = self.places.copy(), self.labels.copy()
        places[unseen] = candidates.choose()[0]
        for place in np.unique(places):
            result, at = candidates.find(int(place))
            rows = np.flatnonzero(places == place)
            p = result.probabilities[at, 0, rows]
            made.probabilities[rows] = temper(p, calibrate(result, at, problem))
            again = self.labels_of(int(place))[0, rows]
            labels[rows] = np.where(unseen[rows], again, labels[rows])
        made.labels[:] = labels
        return made

    def _decide(self, probabilities, drawn, rows):
        """Labels by a threshold that is chosen again on the rows that were drawn."""
        times = drawn[drawn > 0].astype(np.intp)
        again = np.repeat(np.flatnonzero(drawn > 0), times)
        threshold = find_threshold(
            probabilities[again, self.positive],
            self.candidates.codes[again] == self.positive,
            self.min_sensitivity,
        )
        return decide(probabilities[rows], self.positive, threshold)
