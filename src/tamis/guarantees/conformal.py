r"""Prediction sets: all classes that a sample may well have, with a guarantee for the true one.

**The idea.** Rows that trained nothing (calibration rows) show how strange a row of class c
usually looks to the model. A class is left out of the set of a new sample only if the sample would
be among the strangest rows of that class.

**The equations.** The score of sample x for class c is
:math:`s(x, c) = -P(c \mid x)`: the larger, the stranger. Let K models each have calibration rows
that it was not trained on, :math:`n_c` of class c in all, and let
:math:`k(i)` be the model of calibration row i. The p-value of class c is

.. math:: p_c(x) = \frac{K + \#\{i: y_i = c,\ s_{k(i)}(x_i, c) \ge s_{k(i)}(x, c)\}}{n_c + K},

and the set of x has the classes with :math:`p_c(x) > \alpha`. Without `class_conditional`, all
calibration rows count for every class, each with the score of its own class.

- *split*, K = 1: :math:`P(p_y \le \alpha) \le \alpha` because the new row is exchangeable with the
  calibration rows [1]_. Coverage is at least :math:`1 - \alpha`; given the calibration rows, it
  is Beta(n + 1 - l, l) over calibrations, with :math:`l = \lfloor \alpha (n + 1) \rfloor`, if
  scores have no ties.
- *cross*: :math:`p_c` is a weighted mean of the K p-values of the folds, and for any such mean
  :math:`P(p \le \alpha) \le 2 \alpha` [2]_. Coverage is at least :math:`1 - 2 \alpha`. (With 1 in
  place of K, as in CV+ [3]_, sets are smaller, but the guarantee for few folds is below that.)

The smallest possible p-value is :math:`K / (n_c + K)`. So class c can be left out only with
:math:`n_c \ge K (1 / \alpha - 1)` calibration rows; otherwise it is in every set.

**Sample groups** stay whole, and one random row of each (of each class, if `class_conditional`)
calibrates: rows of one patient are not exchangeable with a row of a new one.

Shapes: n samples, C classes; p-values and sets have the shape (n, C).

References
----------
.. [1] Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005.
.. [2] Vovk and Wang, "Combining p-values via averaging", Biometrika 107, 2020.
.. [3] Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+",
   Annals of Statistics 49, 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from tamis._base import (
    DecisionMixin,
    RecordMixin,
    TamisEstimator,
    encode_labels,
    name_some,
    require_two_classes,
    steps,
    validate,
    with_callbacks,
)
from tamis.centers import SparseCenterClassifier
from tamis.guarantees.conformal_record import read_record, write_record
from tamis.guarantees.coverage import Coverage
from tamis.paths.calibration_rows import (
    CALIBRATION_SHARE,
    check_share,
    count_as_strange,
    deal_rows,
    keep_rows,
    number_groups,
    one_row_per_group,
    take_rows,
)
from tamis.paths.fixed_sequence import ROUNDING
from tamis.paths.seeds import as_seed

_FOLDS = 5


class ConformalClassifier(RecordMixin, DecisionMixin, ClassifierMixin, TamisEstimator):
    """Classifier with prediction sets that contain the true class with a guaranteed probability.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any classifier with `predict_proba`; None: `SparseCenterClassifier()`. It is cloned and
        fitted, including everything that it chooses. A fitted one in scikit-learn's
        `FrozenEstimator` is used unchanged, and all rows of `fit` calibrate it: they must not have
        been used to train or choose it.
    alpha : float, default=0.05
        Probability, at most, with which the true class may be missing from a set; twice that for
        "cross". Choose it before looking at the sets.
    method : {"split", "cross"}, default="split"
        "split" sets a conformal calibration set aside before anything else. "cross" trains one
        model without each fold and uses all of them: no row is lost for training, but the
        guarantee is weaker.
    class_conditional : bool, default=True
        Whether the guarantee holds for each class, and not only on average over the classes.
    calibration_share : float or None, default=None
        Proportion of the rows (or sample groups) that are set aside; None: 0.3. With "split"
        only.
    cv : int or None, default=None
        Number of folds, dealt at random; None: 5. With "cross" only.
    random_state : int, RandomState instance or None, default=None
        Seed of the conformal calibration set or of the folds. The estimator has its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    models_ : list of classifiers
        The fitted classifiers: one, or one per fold.
    calibration_scores_ : list of list of ndarray
        For each model, the sorted scores of its conformal calibration set, for each class; for all
        classes together if not `class_conditional`.
    n_calibration_ : ndarray of int of shape (n_classes,)
        Rows of the conformal calibration set that count for each class.
    n_features_in_, feature_names_in_
        Number of features seen in `fit`, and their names if these are strings.

    Notes
    -----
    The guarantee is for new rows from the same population, on average over calibrations. It is not
    about rows with a given set: among rows whose set has a single class, more than `alpha` may be
    wrong. An empty set means that the row looks strange for every class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.guarantees import ConformalClassifier
    >>> data = load_breast_cancer()
    >>> X, y = data.data, data.target_names[data.target]
    >>> model = ConformalClassifier(SparseCenterClassifier(5), alpha=0.1, random_state=0)
    >>> sets = model.fit(X[::2], y[::2]).predict_set(X[1::2])
    >>> sets[:3].tolist()  # columns in the order of classes_: benign, malignant
    [[False, True], [False, True], [False, True]]
    >>> round(float(sets[y[1::2] == "malignant", 1].mean()), 2)
    0.95
    """

    _write_record, _read_record = write_record, read_record
    _unwritten = ("estimator",)

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        alpha: float = 0.05,
        *,
        method: str = "split",
        class_conditional: bool = True,
        calibration_share: float | None = None,
        cv: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.method = method
        self.class_conditional = class_conditional
        self.calibration_share = calibration_share
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return SparseCenterClassifier() if self.estimator is None else self.estimator

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> ConformalClassifier:
        """Fit the estimator, and calibrate it on rows that it has not seen.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples, in any form that the estimator accepts.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (such as patients). They stay whole, one random row of each calibrates,
            and an estimator whose `fit` accepts `groups` receives them.

        Returns
        -------
        self : ConformalClassifier
        """
        self._check_parameters()
        X = self._check_rows(X, y)
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        check_consistent_length(X, y)
        estimator = self._estimator()
        known = estimator.classes_ if isinstance(estimator, FrozenEstimator) else None
        self.classes_, codes = encode_labels(y) if known is None else _encode_as(known, y)
        require_two_classes(self)
        groups = number_groups(groups, codes.size)
        seed = as_seed(self.random_state)
        rng = np.random.default_rng([seed, 1])
        self.models_, self.calibration_scores_ = [], []
        parts = self._parts(codes, groups, seed)
        numbers = range(len(parts))
        for number in steps(self, numbers, X=X, y=y):
            train, kept = parts[number]
            model = self._fit_model(estimator, X, codes, train, groups)
            self.models_.append(model)
            self.calibration_scores_.append(self._calibrate(model, X, codes, kept, groups, rng))
        self.n_calibration_ = np.array(
            [[scores.size for scores in of_model] for of_model in self.calibration_scores_]
        ).sum(axis=0)
        return self

    def _check_parameters(self):
        check_share("alpha", self.alpha)
        if self.method not in ("split", "cross"):
            raise ValueError(f'method must be "split" or "cross", got {self.method!r}.')
        other = "calibration_share" if self.method == "cross" else "cv"
        if getattr(self, other) is not None:
            raise ValueError(f'{other} does not apply to method="{self.method}". Omit it.')
        if self.calibration_share is not None:
            check_share("calibration_share", self.calibration_share)
        if isinstance(self.estimator, FrozenEstimator):
            if self.method == "cross" or self.calibration_share is not None:
                raise ValueError(
                    "A FrozenEstimator cannot be fitted again: all rows calibrate it. Use "
                    'method="split" without calibration_share.'
                )
            check_is_fitted(self.estimator)
        if not hasattr(self._estimator(), "predict_proba"):
            raise ValueError(
                f"estimator must have predict_proba, and {type(self.estimator).__name__} has not. "
                "Use a classifier with probabilities, or wrap it in CalibratedClassifierCV."
            )

    def _check_rows(self, X, y="no_validation"):
        """X as rows that can be taken by number; the estimator checks the values."""
        options = {"reset": not isinstance(y, str)}
        if hasattr(X, "columns"):  # a data frame: only the estimator knows what its columns are
            validate_data(self, X, y, skip_check_array=True, **options)
            return X
        options |= {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}
        checked = validate(self, X, y, **options)
        return checked[0] if options["reset"] else checked

    def _parts(self, codes, groups, seed):
        """Training and calibration rows of each model."""
        # Dealing class by class is exact for a guarantee for each class, and only for that.
        strata = codes if self.class_conditional else None
        rows = np.arange(codes.size)
        if isinstance(self.estimator, FrozenEstimator):
            return [(rows[:0], rows)]
        if self.method == "split":
            share = CALIBRATION_SHARE if self.calibration_share is None else self.calibration_share
            return [keep_rows(strata, groups, codes.size, share, seed)]
        n_folds = _FOLDS if self.cv is None else self.cv
        fold_of = deal_rows(strata, groups, codes.size, n_folds, seed)
        return [(rows[fold_of != f], rows[fold_of == f]) for f in range(n_folds)]

    def _fit_model(self, estimator, X, codes, train, groups):
        if isinstance(estimator, FrozenEstimator):
            return estimator
        options = {}
        if groups is not None and has_fit_parameter(estimator, "groups"):
            options["groups"] = groups[train]
        return clone(estimator).fit(take_rows(X, train), self.classes_[codes[train]], **options)

    def _calibrate(self, model, X, codes, kept, groups, rng):
        """Sorted scores of the calibration rows of one model."""
        if self.class_conditional:
            parts = [kept[codes[kept] == c] for c in range(len(self.classes_))]
        else:
            parts = [kept]
        parts = [one_row_per_group(rows, groups, rng) for rows in parts]
        scores = [np.empty(0)] * len(parts)
        for number, rows in enumerate(parts):
            if rows.size:
                own = self._scores(model, take_rows(X, rows))[np.arange(rows.size), codes[rows]]
                scores[number] = np.sort(own)
        return scores if self.class_conditional else scores * len(self.classes_)

    def _scores(self, model, X):
        """How strange each sample looks for each class, (n_samples, n_classes)."""
        scores = np.zeros((X.shape[0], len(self.classes_)))
        # A class that the model was not trained on has probability 0.
        scores[:, np.searchsorted(self.classes_, model.classes_)] = -model.predict_proba(X)
        return scores

    def predict_p_values(self, X: ArrayLike) -> NDArray[np.float64]:
        """How usual each sample would be in each class of the conformal calibration set.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        p_values : ndarray of shape (n_samples, n_classes)
            These are not probabilities of the classes, and do not sum to 1.
        """
        check_is_fitted(self, "models_")
        X = self._check_rows(X)
        count = np.zeros((X.shape[0], len(self.classes_)))
        for model, calibration in zip(self.models_, self.calibration_scores_, strict=True):
            scores = self._scores(model, X)
            for c, known in enumerate(calibration):
                count[:, c] += count_as_strange(known, scores[:, c])
        n_models = len(self.models_)
        return (n_models + count) / (self.n_calibration_ + n_models)

    def predict_set(self, X: ArrayLike, alpha: float | None = None) -> NDArray[np.bool_]:
        """The classes that each sample may well have.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        alpha : float or None, default=None
            Another `alpha` than that of the classifier, chosen before looking at the sets.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class, in the order of `classes_`, is in the set.
        """
        return self.predict_p_values(X) > self._alpha(alpha) + ROUNDING

    def _decisions(self, X):
        check_is_fitted(self, "models_")
        X = self._check_rows(X)
        mean = -np.mean([self._scores(model, X) for model in self.models_], axis=0)
        return np.log(np.maximum(mean, np.finfo(np.float64).tiny))

    def coverage(self, alpha: float | None = None) -> Coverage:
        """What the sets guarantee, and for which classes they cannot; print it to read it.

        Parameters
        ----------
        alpha : float or None, default=None
            As for `predict_set`.

        Returns
        -------
        coverage : Coverage
        """
        check_is_fitted(self, "models_")
        return Coverage(
            alpha=self._alpha(alpha),
            n_folds=None if self.method == "split" else len(self.models_),
            classes=self.classes_,
            n_calibration=self.n_calibration_,
            class_conditional=self.class_conditional,
        )

    def _alpha(self, alpha):
        return check_share("alpha", self.alpha if alpha is None else alpha)


def _encode_as(classes, y):
    """The classes of a fitted model, and the index of each label in them."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which the fitted estimator does not know; "
            f"its classes are {name_some(np.asarray(classes).tolist())}."
        )
    return encode_labels(y, classes)
