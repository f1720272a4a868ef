"""The heads that a panel can have, their settings, and how several are fitted at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse, to_dense
from tamis.heads import Head, fit_kernel, fit_lda, fit_logistic, fit_sparse_logistic
from tamis.panel.forward import content_folds, weigh_classes

__all__ = ["HEADS", "Setting", "fit_settings", "settings_of"]

HEADS = ("auto", "linear", "lda", "logistic", "kernel")
_ALPHAS, _SPARSE_ALPHAS = (0.1, 1.0, 3.0, 10.0, 30.0), (0.1, 1.0, 10.0)
_WIDTHS, _RIDGES = (0.3, 1.0, 3.0), (0.1, 1.0, 10.0)
_N_LANDMARKS = 200
# Of ridge-logistic heads: to choose among them, and of the one that is chosen.
_LOOSE, _TIGHT = 1e-3, 1e-6


@dataclass(frozen=True)
class Setting:
    """A head and its setting."""

    head: str  # "lda", "logistic", "kernel"
    values: tuple[float, ...] = ()  # nothing; the ridge; or the width and the ridge
    keeps_sparse: bool = False  # whether the features it is fitted on stay sparse

    @property
    def is_linear(self) -> bool:
        """Whether its decisions are linear in the features."""
        return self.head != "kernel"


def settings_of(head: str, keeps_sparse: bool = False) -> list[Setting]:
    """The settings that are tried for a head; logistic ones alone if features stay sparse."""
    if keeps_sparse and head in ("auto", "linear", "logistic"):
        return [Setting("logistic", (alpha,), True) for alpha in _SPARSE_ALPHAS]
    settings = {
        "lda": [Setting("lda")],
        "logistic": [Setting("logistic", (alpha,)) for alpha in _ALPHAS],
        "kernel": [Setting("kernel", (width, ridge)) for width in _WIDTHS for ridge in _RIDGES],
    }
    settings["linear"] = settings["lda"] + settings["logistic"]
    settings["auto"] = settings["linear"] + settings["kernel"]
    return settings[head]


def fit_settings(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    settings: Sequence[Setting],
    class_weight: str | NDArray | None,
    seed: int,
) -> list[Head]:
    """Fit heads with several settings on the same features.

    `X` (n_rows, n_selected): selected features; sparse only for settings that keep them so.
    `codes` (n_rows,): class indices. `weights` (n_rows,): sample weights. `class_weight`
    (n_classes,) or None. `seed`: of the choice of landmarks. Returns `heads`: in the order of
    `settings`.
    """
    used = weights > 0
    if not used.all():
        X, codes, weights = X[used], codes[used], weights[used]
    weighed = weigh_classes(codes, weights, n_classes, class_weight)
    fitted: dict[Setting, Head] = {}
    if any(setting.head == "lda" for setting in settings):
        fitted[Setting("lda")] = fit_lda(X, codes, weights, _shares(codes, weighed, n_classes))
    logistic = [setting for setting in settings if setting.head == "logistic"]
    if logistic:
        alphas = [setting.values[0] for setting in logistic]
        tol = _LOOSE if len(logistic) > 1 else _TIGHT
        fit = fit_sparse_logistic if is_sparse(X) else fit_logistic
        heads = fit(X, codes, weighed, n_classes, alphas, tol)
        fitted.update(zip(logistic, heads, strict=True))
    kernel = [setting for setting in settings if setting.head == "kernel"]
    if kernel:
        pairs = [(setting.values[0], setting.values[1]) for setting in kernel]
        values = to_dense(X)  # beside settings that keep them sparse
        landmarks = _choose_landmarks(values, codes, n_classes, seed)
        bumps = fit_kernel(values, codes, weighed, n_classes, pairs, landmarks)
        fitted.update(zip(kernel, bumps, strict=True))
    return [fitted[setting] for setting in settings]


def _shares(codes, weights, n_classes):
    """Share of each class in the total weight."""
    return np.bincount(codes, weights=weights, minlength=n_classes) / weights.sum()


def _choose_landmarks(X, codes, n_classes, seed):
    """Distinct rows in the order of a hash; of every class as many as of the others, if it can."""
    turns = content_folds(X, codes, codes.size, None, seed)
    order = np.lexsort((turns, codes))
    _, first = np.unique(turns[order], return_index=True)
    rows = order[np.sort(first)]
    sizes = np.bincount(codes[rows], minlength=n_classes)
    share = np.minimum(sizes, _n_per_class(sizes))
    ends = np.cumsum(sizes)
    return np.concatenate(
        [
            rows[end - size : end - size + n]
            for end, size, n in zip(ends, sizes, share, strict=True)
        ]
    )


def _n_per_class(sizes):
    """The largest number of each class at which no more landmarks are taken than wanted."""
    low, high = 1, int(sizes.max(initial=1))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(sizes, middle).sum() <= _N_LANDMARKS:
            low = middle
        else:
            high = middle - 1
    return low
