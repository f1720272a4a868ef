"""One class against the others: labels, and its probabilities at a stated prevalence.

Probabilities of models with equal class weights assume equal priors. Calibration and net benefit
are about the people a model is used on, so the probabilities are re-based to their prevalence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from tamis._base import adjust, check_weights
from tamis.inspection._style import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamis.comparison import Comparison


def rebase(
    probabilities: ArrayLike, old: ArrayLike | float, new: ArrayLike | float
) -> NDArray[np.float64]:
    r"""Probabilities for other class frequencies, by Bayes' rule.

    .. math:: q_c \propto p_c \, \pi_c^{\text{new}} / \pi_c^{\text{old}}

    Parameters
    ----------
    probabilities : array-like of shape (n_samples,) or (n_samples, n_classes)
        Of the positive class of two, or of all classes.
    old, new : float or array-like of shape (n_classes,)
        Class frequencies that they assume, and those wanted; of the positive class for
        probabilities of shape (n_samples,).

    Returns
    -------
    rebased : ndarray of the same shape

    Examples
    --------
    >>> from tamis.inspection import rebase
    >>> rebase([0.5, 0.9], old=0.5, new=0.1).round(2).tolist()
    [0.1, 0.5]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    one = p.ndim == 1
    shares = [_shares(value, one) for value in (old, new)]
    if one:
        return adjust(np.stack([1 - p, p], axis=1), 1.0, *shares)[:, 1]
    return adjust(p, 1.0, *shares)


def _shares(value, is_prevalence):
    shares = np.asarray(value, dtype=np.float64)
    if not (shares > 0).all() or (is_prevalence and (shares.ndim or shares >= 1)):
        raise ValueError(f"class frequencies must be between 0 and 1, got {value!r}.")
    return np.array([1 - shares, shares]) if is_prevalence else shares / shares.sum()


@dataclass(frozen=True)
class Binary:
    """Labels and probabilities of one class."""

    is_positive: NDArray[np.bool_]  # (n_samples,)
    probabilities: NDArray[np.float64]  # (n_samples,): of the positive class, at `prevalence`
    prevalence: float  # stated proportion of the positive class
    shift: float  # difference between the log odds of that and of the share among the rows
    # name, other: names of the positive class and of the others together.
    name: str
    other: str
    weights: NDArray[np.float64]  # (n_samples,)
    groups: NDArray[np.intp] | None  # (n_samples,) or None: sample groups, from 0

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Binary:
        """Labels and probabilities of the positive class."""
        y, p = column_or_1d(y_true), column_or_1d(y_prob, dtype=np.float64)
        check_consistent_length(y, p, groups, sample_weight)
        classes = np.unique(y)
        if pos_label is None:
            if classes.size > 2:
                raise ValueError(f"pos_label must name one of the {classes.size} classes of y.")
            pos_label = classes[-1]
        is_positive = y == pos_label
        if is_positive.all() or not is_positive.any():
            raise ValueError(f"y must have rows of class {pos_label} and of another class.")
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError("probabilities must be between 0 and 1, without NaN.")
        others = [str(label) for label in classes if label != pos_label]
        weights = check_weights(np.ones(y.size) if sample_weight is None else sample_weight, y)
        share = float(weights[is_positive].sum() / weights.sum())
        prevalence = share if prevalence is None else float(prevalence)
        assumed = share if assumed_prevalence is None else float(assumed_prevalence)
        return cls(
            is_positive,
            p if assumed == prevalence else rebase(p, assumed, prevalence),
            prevalence,
            float(np.log(prevalence / (1 - prevalence)) - np.log(share / (1 - share))),
            str(pos_label),
            others[0] if len(others) == 1 else "others",
            weights,
            None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1],
        )

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, positive: Any = None, prevalence: float | None = None
    ) -> Binary:
        """Honest predictions: of each row, by a choice in which it had no say.

        Duplicates of a row count once together.
        """
        honest, problem = comparison.honest, comparison.problem
        if honest is None or honest.predictions is None:
            raise ValueError("The comparison has no honest predictions: no method was finished.")
        classes = np.asarray(problem.classes)
        if positive is None and comparison.settings.positive is not None:
            positive = classes[comparison.settings.positive]
        positive = _positive(classes, positive)
        at = int(np.flatnonzero(classes == positive)[0])
        weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
        if problem.times is not None:
            weights = weights / problem.times
        shares = np.bincount(problem.codes, weights, classes.size)
        shares = shares / shares.sum()
        # The others keep their shares among themselves, so that one number states the change.
        p = rebase(honest.predictions.probabilities, problem.priors, shares)
        return cls.from_predictions(
            classes[problem.codes],
            p[:, at],
            pos_label=positive,
            prevalence=prevalence,
            groups=problem.groups,
            sample_weight=weights,
        )

    @property
    def n_per_class(self) -> tuple[int, int]:
        """Number of independent units, rows or sample groups, of the others and the class."""
        units = np.arange(self.is_positive.size) if self.groups is None else self.groups
        negative, positive = (
            np.unique(units[self.is_positive == value]).size for value in (False, True)
        )
        return negative, positive


def probabilities_of(estimator: Any, X: Any, pos_label: Any) -> tuple[NDArray, Any]:
    """Probabilities that a fitted classifier gives to the positive class, and its label."""
    check_is_fitted(estimator)
    classes = np.asarray(estimator.classes_)
    pos_label = _positive(classes, pos_label)
    return estimator.predict_proba(X)[:, np.flatnonzero(classes == pos_label)[0]], pos_label


def _positive(classes, positive):
    """The positive class: the one named, or the second of two."""
    if positive is None:
        if classes.size > 2:
            raise ValueError(
                f"The data have {classes.size} classes: name the positive one, for instance "
                f"{classes[0]!s}."
            )
        return classes[-1]
    found = classes[classes == positive]
    if not found.size:
        raise ValueError(f"{positive!r} is none of the classes, {', '.join(map(str, classes))}.")
    return found[0]


class BinaryDisplay(Display):
    """Pictures of one class against the others, made from predictions or a fitted classifier."""

    # Options of `_of`, which makes a display from `Binary`; others are for what `plot` draws.
    _options: ClassVar[tuple[str, ...]]
    _of: Callable[..., Any]

    @classmethod
    def _draw(cls, data, ax, options):
        own = {name: options.pop(name) for name in cls._options if name in options}
        return cls._of(data, **own).plot(ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        pos_label: Any = None,
        prevalence: float | None = None,
        assumed_prevalence: float | None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw probabilities for rows that the model was not trained on.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_prob : array-like of shape (n_samples,)
            Probabilities of the positive class.
        pos_label : default=None
            The positive class; None: the second of two.
        prevalence : float, default=None
            Proportion of the positive class where the model is used; None: that of the rows.
        assumed_prevalence : float, default=None
            Proportion that the probabilities assume, 0.5 for models with equal class weights;
            None: that of the rows.
        groups : array-like of shape (n_samples,), default=None
            Sample groups, for instance patients.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **options : dict
            Those that the notes of the class list; others are passed to matplotlib.

        Returns
        -------
        display : CalibrationDisplay, DecisionCurveDisplay or ProbabilityDisplay
        """
        data = Binary.from_predictions(
            y_true,
            y_prob,
            pos_label=pos_label,
            prevalence=prevalence,
            assumed_prevalence=assumed_prevalence,
            groups=groups,
            sample_weight=sample_weight,
        )
        return cls._draw(data, ax, options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, pos_label: Any = None, **options: Any
    ) -> Self:
        """Draw the probabilities of a classifier for rows that it was not trained on.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        pos_label : default=None
            The positive class; None: the second of two.
        **options : dict
            As in `from_predictions`.

        Returns
        -------
        display : CalibrationDisplay, DecisionCurveDisplay or ProbabilityDisplay
        """
        if "name" in cls._options:
            options["name"] = options.get("name") or type(estimator).__name__
        p, pos_label = probabilities_of(estimator, X, pos_label)
        return cls.from_predictions(y, p, pos_label=pos_label, **options)

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        positive: Any = None,
        prevalence: float | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the honest predictions of a comparison.

        Parameters
        ----------
        comparison : Comparison
        positive : default=None
            The positive class; None: that of the minimal sensitivity, or the second of two.
        prevalence : float, default=None
            Proportion of the class where the model is used; None: that of the rows.
        ax, **options
            As in `from_predictions`.

        Returns
        -------
        display : CalibrationDisplay, DecisionCurveDisplay or ProbabilityDisplay
        """
        return cls._draw(Binary.from_comparison(comparison, positive, prevalence), ax, options)
