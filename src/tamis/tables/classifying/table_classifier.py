"""TableClassifier: a scikit-learn classifier of raw frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from tamis._array import is_sparse
from tamis._base import (
    Explanation,
    TamisEstimator,
    check_weights,
    decided,
    decode_labels,
    encode_labels,
    require_two_classes,
)
from tamis.tables.classifying.deciding import assumed_frequencies
from tamis.tables.classifying.narrow import narrow
from tamis.tables.classifying.prediction_sets import check_coverage
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.classifying.unusual import observe
from tamis.tables.columns.roles import Wishes, assign_roles
from tamis.tables.columns.table import Columns
from tamis.tables.errors import in_python
from tamis.tables.preparing.layout import lay_out
from tamis.tables.reading.frames import as_raw, is_frame, read_columns

if TYPE_CHECKING:
    from tamis.datumwise.acquisition import Acquired, Questions
    from tamis.guarantees.coverage import Coverage
    from tamis.landmarks._fitted import NearestLandmarks


def _asks(self):
    return hasattr(self.model_.estimator if hasattr(self, "model_") else self.estimator, "acquire")


class TableClassifier(ClassifierMixin, TamisEstimator):
    """A classifier of raw tables: numbers, strings, categories and missing values.

    Columns of strings become one column per category, texts one per word; a missing number is
    replaced by the median of its column, a missing category by the most frequent one. Categories
    with fewer than 5 training rows are "other", or missing if they are few together. A number
    written as "<0.1" is half of that limit. All of
    this is learned in `fit`, from the training rows alone. Columns are found by their names, so
    new frames may have them in any order, with others.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier for the prepared columns; None: `SparseCenterClassifier()`. If it has the
        parameter `feature_groups`, the categories of a column form one group, so that a column
        counts as one feature.
    text : sequence of str, default=()
        Columns of free text, used as counts of words.
    categorical : "auto" or sequence of str, default="auto"
        Columns that are categories; they may be numbers. Other columns of strings are detected:
        categories are used; names of rows, dates and free text are dropped, see `notes_`.
    drop : sequence of str, default=()
        Columns to ignore.
    missing : {"impute", "error"}, default="impute"
        Whether missing values are replaced or raise an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    model_ : TableModel
        The preparation and the classifier of the columns that it needs: what predicts, and what
        is saved and exported.
    estimator_ : classifier
        The estimator as it was fitted, on all columns.
    required_ : list of str
        Names of the columns that a prediction needs.
    notes_ : list of str
        Messages about what was detected and dropped.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, for frames.

    Examples
    --------
    >>> import pandas as pd
    >>> from tamis import SparseCenterClassifier, TableClassifier
    >>> X = pd.DataFrame({"color": ["red", "red", "blue", "blue"], "size": [1.0, 2.0, 8.0, None]})
    >>> model = TableClassifier(SparseCenterClassifier(1)).fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict(X[["size", "color"]]).tolist()
    ['no', 'no', 'yes', 'yes']
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        text: Sequence[str] = (),
        categorical: str | Sequence[str] = "auto",
        drop: Sequence[str] = (),
        missing: str = "impute",
    ) -> None:
        self.estimator = estimator
        self.text = text
        self.categorical = categorical
        self.drop = drop
        self.missing = missing

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._make_estimator()).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def _make_estimator(self):
        if self.estimator is not None:
            return self.estimator
        from tamis.centers import SparseCenterClassifier

        return SparseCenterClassifier()

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TableClassifier:
        """Detect the kinds of columns, learn how to prepare them, and fit the estimator.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, for estimators that use them: counts if all are whole numbers,
            otherwise relative, scaled to sum to the number of rows with positive weight.

        Returns
        -------
        self : TableClassifier
        """
        raw = as_raw(X)
        self._remember_columns(X, raw)
        y = decode_labels(y)
        assert_all_finite(y, input_name="y")
        classes, codes = encode_labels(y)
        check_consistent_length(raw.numeric, codes)
        self.classes_ = classes
        require_two_classes(self)
        weights = check_weights(sample_weight, raw.numeric)
        wishes = Wishes(
            text=self.text,
            categorical=() if isinstance(self.categorical, str) else self.categorical,
            drop=self.drop,
            include=[n for n in raw.numeric_names if n not in {*self.drop, *self.text}],
            missing=self.missing,
            missing_values=(),
            require_target=False,
        )
        if isinstance(self.categorical, str) and self.categorical != "auto":
            raise ValueError(
                f"categorical must be 'auto' or a list of columns, got {self.categorical!r}."
            )
        table = assign_roles(raw, wishes)
        self.notes_ = [in_python(note) for note in table.notes]
        preparation, encoded = lay_out(table.columns, table.kinds, missing=table.missing)
        preparation = preparation.learn(encoded, weights=weights)
        used = np.flatnonzero(~preparation.unused)
        encoded = preparation.pool(encoded)[:, used]
        preparation = observe(preparation.restrict(used), encoded)
        inner = clone(self._make_estimator())
        asks = hasattr(inner, "acquire")
        matrix = preparation.finish(encoded, impute=not asks)
        if is_sparse(matrix) and not get_tags(inner).input_tags.sparse:
            matrix = matrix.toarray()
        _group_categories(inner, preparation)
        if weights is not None and not has_fit_parameter(inner, "sample_weight"):
            raise ValueError(
                f"{type(inner).__name__} does not take sample_weight, and sample weights were "
                "given. Omit them, or use another estimator."
            )
        given = {} if weights is None else {"sample_weight": decided(weights)}
        inner.fit(matrix, classes[codes], **given)
        counts = np.bincount(codes, weights, classes.size)
        frequencies = counts / counts.sum()
        self.estimator_ = used = inner
        narrowed = narrow(inner)
        if narrowed is not None:
            columns, used = narrowed
            preparation = preparation.restrict(columns)
        self.model_ = TableModel(
            method=type(inner).__name__,
            level=float("nan"),
            target="target",
            preparation=preparation,
            estimator=used,
            priors=assumed_frequencies(inner, frequencies),
            frequencies=frequencies,
            is_dense=not is_sparse(matrix),
        )
        return self

    def _remember_columns(self, X, raw):
        """Set `n_features_in_`, and `feature_names_in_` where columns have names."""
        if is_frame(X):
            names = [*raw.features]
            vars(self).pop("feature_names_in_", None)
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            validate_data(self, X, reset=True, skip_check_array=True)

    @classmethod
    def from_model(cls, model: TableModel) -> TableClassifier:
        """The classifier of a model that was fitted by `tamis fit` or `tamis.compare`.

        It needs the columns in `required_`, and ignores others.
        """
        classifier = cls(clone(model.estimator))
        classifier.model_, classifier.estimator_ = model, model.estimator
        classifier.classes_ = model.classes_
        classifier.notes_ = []
        return classifier

    @property
    def required_(self) -> list[str]:
        """Names of the columns that a prediction needs; x0, x1, ... for arrays."""
        return self.model_.preparation.required

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _read(self, X) -> Columns:
        check_is_fitted(self)
        if not is_frame(X):
            if not is_sparse(X) and np.asarray(X).ndim != 2:
                check_array(X)  # raises
            validate_data(self, X, reset=False, skip_check_array=True)
        model = self.model_
        absent: list[str] | None = [] if model.asks else None
        made = model.preparation
        return read_columns(X, made.required, made.kinds, made.missing, absent, made.shares)

    def predict(
        self, X: Any, priors: ArrayLike | None = None, *, prevalence: ArrayLike | None = None
    ) -> NDArray:
        """Labels of new samples.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Samples.
        priors : array-like of shape (n_classes,) or None, default=None
            Class frequencies where the model is used, if different from training.
        prevalence : array-like of shape (n_classes,) or None, default=None
            Another name of `priors`: labels are decided by it, too.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        columns = self._read(X)
        return self.model_.predict(columns, _one_of(priors, prevalence))

    def predict_proba(
        self, X: Any, priors: ArrayLike | None = None, *, prevalence: ArrayLike | None = None
    ) -> NDArray:
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Samples.
        priors, prevalence : array-like of shape (n_classes,) or None, default=None
            As in `predict`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        columns = self._read(X)
        return self.model_.predict_proba(columns, _one_of(priors, prevalence))

    def predict_set(self, X: Any, coverage: float = 0.95) -> NDArray[np.bool_]:
        """The prediction set of each sample, for a model with a conformal calibration set.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Samples.
        coverage : float, default=0.95
            Probability, at least, that the true class of a new sample is in its set, for each
            class; choose it before looking at the sets.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class, in the order of `classes_`, is in the set. No class at all means
            that the sample looks strange for every class. `coverage(coverage)` says what is
            guaranteed.
        """
        columns = self._read(X)
        return self.model_.predict_set(columns, coverage)

    def coverage(self, coverage: float = 0.95) -> Coverage:
        """What prediction sets of this coverage guarantee; print it to read it.

        Parameters
        ----------
        coverage : float, default=0.95
            As for `predict_set`.

        Returns
        -------
        coverage : Coverage
        """
        check_is_fitted(self)
        coverage = check_coverage(self.model_, coverage)
        assert self.model_.calibration is not None
        return self.model_.calibration.coverage(self.classes_, coverage)

    def explain(self, X: Any, **options: Any) -> Explanation | NearestLandmarks | Questions:
        """Why each sample has its label: `explain` of the estimator, on the prepared columns.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Samples.
        **options : dict
            Parameters of the estimator's `explain`.

        Returns
        -------
        explanation : Explanation, Neighbors or Questions
            With the names of the prepared columns in `names`.
        """
        columns = self._read(X)
        explanation = self.model_.estimator.explain(self.model_.prepare(columns), **options)
        if not isinstance(explanation, Explanation):
            return explanation
        names = np.array(self.model_.preparation.columns, dtype=object)
        return replace(explanation, names=names)

    @available_if(_asks)
    def acquire(self, X: Any) -> Acquired:
        """Ask each sample for its own features, as `DatumWiseClassifier.acquire`.

        Parameters
        ----------
        X : frame, AnnData, array-like or sparse matrix of shape (n_samples, n_columns)
            Samples; columns that it lacks are unavailable.

        Returns
        -------
        acquired : Acquired
        """
        columns = self._read(X)
        return self.model_.estimator.acquire(self.model_.prepare(columns))


def _group_categories(estimator, preparation):
    """Let the columns of one source count as one feature, if the estimator can."""
    parameters = estimator.get_params(deep=False)
    counted = preparation.features
    if len(set(counted)) == len(counted) or parameters.get("feature_groups", 0) is not None:
        return
    estimator.set_params(feature_groups=counted)


def _one_of(priors, prevalence):
    """Class frequencies under either of their names."""
    if priors is not None and prevalence is not None:
        raise ValueError("priors and prevalence are the same: give one of them, not both.")
    return prevalence if priors is None else priors
