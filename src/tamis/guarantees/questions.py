r"""The cheapest of several models whose errors are shown to be rare.

**The idea.** Models are put in order, from the safest to the cheapest, before looking at the
calibration rows. They are tested on these rows one after the other, and the last one that passes
before the first failure is the answer. The test is in `tamis.paths.fixed_sequence`, with its
equations. Pareto Testing [1]_ tests models in such a sequence, ordered on other data, and [2]_
calibrates when to stop early in this way.
`DatumWisePath.calibrate` and `DatumWiseClassifier.calibrate` do the same for the cost weights of a
datum-wise path, and count questions.

Shapes: M models, n calibration rows.

References
----------
.. [1] Laufer-Goldshtein, Fisch, Barzilay and Jaakkola, "Efficiently controlling multiple risks
   with Pareto Testing", ICLR 2023.
.. [2] Ringel, Cohen, Freedman, Elad and Romano, "Early time classification with accumulated
   accuracy gap control", 2024, arXiv 2402.00857.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from tamis._base import encode_labels
from tamis.paths.calibration_rows import number_groups
from tamis.paths.fixed_sequence import SequenceTest, make_limits, run_sequence
from tamis.paths.seeds import as_seed


@dataclass(frozen=True)
class CheapestModel:
    """The answer of `find_cheapest_model`.

    Attributes
    ----------
    model : classifier or None
        The cheapest model that passed; None if the first one failed.
    place : int or None
        Its place among the models.
    test : SequenceTest
        Errors and p-values of all models.
    """

    model: Any
    place: int | None
    test: SequenceTest

    def __str__(self) -> str:
        return self.test.statement()


def find_cheapest_model(
    models: Sequence,
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_error: float | None = None,
    max_misses: float | Mapping | None = None,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> CheapestModel:
    """Find the cheapest model whose error rate, or false-negative rates, are shown to be small.

    Parameters
    ----------
    models : sequence of fitted classifiers
        From the safest to the cheapest. This order, and the models, must not depend on the
        conformal calibration set.
    X : array-like of shape (n_samples, n_features)
        Conformal calibration set.
    y : array-like of shape (n_samples,)
        Their labels.
    max_error : float or None, default=None
        Largest error rate.
    max_misses : float, dict or None, default=None
        Largest false-negative rate of each class (the proportion of its rows with another label),
        or of the classes that a dict names. With `max_error`, both hold.
    confidence : float, default=0.95
        Probability, at least, that the answer keeps these limits or is none.
    groups : array-like of shape (n_samples,), default=None
        Sample groups: one random row of each is counted.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows of the sample groups.

    Returns
    -------
    cheapest : CheapestModel

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.guarantees import find_cheapest_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = [SparseCenterClassifier(k).fit(X[::2], y[::2]) for k in (16, 4, 2, 1)]
    >>> found = find_cheapest_model(models, X[1::2], y[1::2], max_error=0.12)
    >>> found.model.n_features_to_select
    2
    >>> print(found)
    Error rate at most 12 %, with 95 % confidence (wrong on 23 of 284 rows of the calibration set).
    """
    if not len(models):
        raise ValueError("models is empty: give at least one fitted classifier.")
    check_consistent_length(X, y)
    classes, codes = encode_labels(y)
    rng = np.random.default_rng(as_seed(random_state))
    limits = make_limits(
        codes, classes, max_error, max_misses, number_groups(groups, codes.size), rng
    )
    labels = classes[codes]
    is_wrong = np.array([np.asarray(model.predict(X)) != labels for model in models])
    test = run_sequence(is_wrong, limits, confidence)
    place = test.chosen
    return CheapestModel(None if place is None else models[place], place, test)
