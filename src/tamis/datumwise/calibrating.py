"""Calibration of a fitted path, with rows that it has not seen."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._base import encode_labels
from tamis.datumwise.calibration import CalibratedQuestions
from tamis.datumwise.path import collect, fewest_questions
from tamis.paths.seeds import as_seed


class CalibratedPathMixin:
    """Adds `calibrate` to a classifier that keeps the levels of its path."""

    _levels: list[dict[str, Any]]
    _select: Callable[[int], None]
    classes_: NDArray
    cost_weight_: float
    path_: dict[str, NDArray]
    random_state: Any

    def calibrate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        max_error: float | None = None,
        max_misses: float | Mapping | None = None,
        confidence: float = 0.95,
        groups: ArrayLike | None = None,
    ) -> CalibratedQuestions:
        """Find the model with the fewest questions whose errors are shown to be rare.

        Parameters
        ----------
        X, y : array-like
            Calibration rows, which `fit` has not seen: training rows raise an error where they
            are recognised, which a model that was saved, copied or loaded cannot do.
        max_error, max_misses, confidence, groups
            As in `DatumWisePath.calibrate`.

        Returns
        -------
        calibrated : CalibratedQuestions
            With a classifier that shares the path with this one, which is not changed.
        """
        check_is_fitted(self, "policy_")
        policies, processes = (
            [level[name] for level in self._levels] for name in ("policy_", "process_")
        )

        def answer(X):
            self._require_new_rows(X, encode_labels(np.asarray(y), self.classes_)[1])
            labels, usage = collect(
                policies, processes, X, (), lambda run: run.decisions.argmax(1)
            )
            return labels.astype(np.intp), usage

        test, n_questions, cost = fewest_questions(
            self,
            answer,
            X,
            y,
            max_error=max_error,
            max_misses=max_misses,
            confidence=confidence,
            groups=groups,
            random_state=as_seed(self.random_state),
        )
        model = None
        if test.chosen is not None:
            model = copy.copy(self)
            model._select(len(policies) - 1 - test.chosen)
        levels = self.path_["level"][::-1].copy()
        cost_weight = None if model is None else model.cost_weight_
        return CalibratedQuestions(model, cost_weight, n_questions, cost, levels, test)

    # Training rows, which must not calibrate.

    def _remember_rows(self, X, codes):
        self._training_rows = _hash_rows(X, codes)

    def _require_new_rows(self, X, codes):
        """Raise an error for rows that are known to be training rows.

        Tables with few distinct rows may repeat them by chance, so these are not judged.
        """
        seen = getattr(self, "_training_rows", None)
        if seen is None or 2 * np.unique(seen).size < seen.size:
            return
        n_seen = int(np.isin(_hash_rows(X, codes), seen).sum())
        if 2 * n_seen > codes.size:
            raise ValueError(
                f"{n_seen} of {codes.size} rows of the calibration set are training rows of this "
                "model, for which nothing can be guaranteed. Set these rows aside before fit."
            )

    def __getstate__(self):
        """Without the hashes of the training rows: these are of no use in another process."""
        state = dict(super().__getstate__())
        state.pop("_training_rows", None)
        return state


def _hash_rows(X, codes):
    """A number per row and class; those of different rows are different, but for coincidence."""
    rows = np.column_stack([X + 0.0, codes])  # -0.0 is 0.0
    return np.array([hash(row.tobytes()) for row in rows], dtype=np.int64)
