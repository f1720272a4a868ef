"""Scores of a model for many numbers of features."""

import numpy as np

from tamis.centers.path import path_confusion, path_decisions
from tamis.paths.scoring import score_decisions

__all__ = ["is_counted", "score_path"]

_FAST_SCORES = ("accuracy", "balanced_accuracy")


def is_counted(scoring):
    """Whether a score needs labels only, so that all k are counted in one pass."""
    return scoring is None or (isinstance(scoring, str) and scoring in _FAST_SCORES)


def score_path(model, X, codes, classes, known, ks, scoring, sample_weight=None):
    """Scores of a model for several numbers of features.

    Parameters
    ----------
    model : CenterModel
    X : ndarray or sparse container
        Checked samples.
    codes : ndarray of shape (n_samples,)
        Index of the true label in `classes`.
    classes : ndarray
        All labels.
    known : ndarray
        Index in `classes` of each of the model's classes.
    ks : ndarray of int
        Numbers of features, or of groups where the model has groups.
    scoring : str, callable or None
    sample_weight : ndarray or None

    Returns
    -------
    scores : ndarray of shape (len(ks),)
    """
    terms = model.terms(model.ranked())
    ks = model.count_features(ks)
    if is_counted(scoring):
        confusion = 0.0
        for rows in model.row_chunks(X):
            weights = None if sample_weight is None else sample_weight[rows]
            confusion = confusion + path_confusion(
                model.transform(X[rows]), terms, ks, codes[rows], len(classes), weights
            )
        hits = confusion[:, known, np.arange(known.size)]
        truth = confusion.sum(axis=2)
        if scoring == "balanced_accuracy":
            present = truth[0] > 0
            recall = np.zeros_like(truth)
            recall[:, known] = hits
            return (recall[:, present] / truth[:, present]).mean(axis=1)
        return hits.sum(axis=1) / truth.sum(axis=1)
    scores = np.empty(len(ks))
    chunk = max(1, 8_000_000 // max(1, X.shape[0] * len(classes)))
    for start in range(0, len(ks), chunk):
        some = ks[start : start + chunk]
        decisions = [
            path_decisions(model.transform(X[rows]), terms, some) for rows in model.row_chunks(X)
        ]
        decisions = np.concatenate(decisions) / model.temperature
        for k in range(len(some)):
            scores[start + k] = score_decisions(
                scoring, decisions[:, k], classes, known, X, classes[codes], sample_weight
            )
    return scores
