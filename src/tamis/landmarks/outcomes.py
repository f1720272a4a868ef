"""Out-of-fold predictions of many configurations, as far as they are known.

Folds may overlap or skip rows: the predictions of all folds are concatenated, along with the true
classes. Known predictions can be saved as a plain record, and reused for a later, perhaps longer,
list of configurations.
"""

from dataclasses import astuple

import numpy as np


class Outcomes:
    """Predictions of `configurations` for the test rows of each fold.

    `codes` (n_samples,). `class_weight` (n_classes,): weights of the classes; None and "balanced"
    give all classes equal weight in the errors.
    """

    def __init__(self, configurations, codes, splits, n_classes, class_weight, soft):
        self.configurations = configurations
        self.truth = np.concatenate([codes[test] for _, test in splits])
        self.n_classes = n_classes
        self.importance = np.ones(n_classes)
        if isinstance(class_weight, np.ndarray):
            self.importance = class_weight * np.bincount(self.truth, minlength=n_classes)
        ends = np.cumsum([test.size for _, test in splits])
        self.folds = [
            np.arange(end - test.size, end) for end, (_, test) in zip(ends, splits, strict=True)
        ]
        shape = (len(configurations), self.truth.size)
        self.done = np.zeros((len(configurations), len(splits)), dtype=bool)
        self.labels = np.zeros(shape, dtype=np.int16)
        self.probabilities = np.zeros((*shape, n_classes), dtype=np.float32) if soft else None

    def add(self, places, fold, labels, probabilities):
        """Add the predictions of the configurations at `places` for the test rows of a fold."""
        where = np.ix_(places, self.folds[fold])
        self.labels[where] = labels
        if self.probabilities is not None:
            self.probabilities[where] = probabilities
        self.done[places, fold] = True

    def as_record(self):
        """All known predictions, as arrays and tuples."""
        return {
            "configurations": [astuple(c) for c in self.configurations],
            "done": self.done,
            "labels": self.labels,
            "probabilities": self.probabilities,
        }

    def adopt(self, record):
        """Reuse the predictions of these configurations from a record of the same folds."""
        if self.probabilities is not None and record["probabilities"] is None:
            return
        known = {key: place for place, key in enumerate(record["configurations"])}
        here = [p for p, c in enumerate(self.configurations) if astuple(c) in known]
        there = [known[astuple(self.configurations[p])] for p in here]
        self.done[here] = record["done"][there]
        self.labels[here] = record["labels"][there]
        if self.probabilities is not None:
            self.probabilities[here] = record["probabilities"][there]

    def usable(self):
        """Places of the configurations evaluated on the most folds, and their predictions.

        Returns `places`; `columns`: mask of the predictions of the folds that all of them share;
        `folds`: these folds.
        """
        n_known = self.done.sum(axis=1)
        most = n_known.max(initial=0)
        if most == 0:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, nothing
        # Of those with equally many folds, those with the same folds as the first.
        first = int(np.argmax(n_known == most))
        places = np.flatnonzero((self.done == self.done[first]).all(axis=1))
        folds = np.flatnonzero(self.done[first])
        return places, np.concatenate([self.folds[f] for f in folds]), folds
