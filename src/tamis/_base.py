"""What every estimator shares: tags, callbacks, labels, `Explanation`."""

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array, column_or_1d

from tamis._compile import compiled
from tamis._input import decode_labels, require_unmasked

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8: fit runs without progress reports

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for scikit-learn 1.8, which has no callbacks."""

        def _init_callback_context(self, **kwargs):
            return _SilentContext()

    class _SilentContext:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return None

        def call_on_fit_task_end(self, **kwargs):
            return False

    def with_callbacks(method):
        """Stand-in for scikit-learn 1.8, which has no callbacks."""
        return method


__all__ = [
    "DecisionMixin",
    "Explanation",
    "TamisEstimator",
    "as_seed",
    "check_class_weight",
    "check_finite",
    "check_weights",
    "count_classes",
    "encode_labels",
    "is_real",
    "require_class_weights",
    "require_two_classes",
    "resolve_n_features",
    "softmax",
    "steps",
    "with_callbacks",
]


class TamisEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of every estimator: callbacks, and links from the HTML view to the documentation."""

    _doc_link_module = "tamis"
    _doc_link_template = (
        "https://tamis.readthedocs.io/en/stable/api/{estimator_module}.{estimator_name}.html"
    )


def steps(estimator, names, **reported):
    """Go through `names`, reporting each as one step of `fit` to the estimator's callbacks.

    A callback that asks to stop ends the loop; what was done until then stays. `names` may be an
    iterator of unknown length.
    """
    n_steps = len(names) if hasattr(names, "__len__") else None
    context = estimator._init_callback_context(max_subtasks=n_steps)
    context.call_on_fit_task_begin(estimator=estimator, **reported)
    for name in names:
        step = context.subcontext(task_name=str(name))
        step.call_on_fit_task_begin(estimator=estimator)
        yield name
        if step.call_on_fit_task_end(estimator=estimator):
            break
    context.call_on_fit_task_end(estimator=estimator)


def encode_labels(y, classes=None):
    """Classes in order, and the index of each label in them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of any type; bytes are decoded as UTF-8.
    classes : ndarray or None
        The classes when they are known already; a label outside them is an error.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
        Integers; `y` itself when it is 0, 1, ... already.
    """
    y = column_or_1d(decode_labels(y), warn=True)
    if classes is None and y.dtype.kind in "iub" and y.dtype.isnative and y.size:
        # Integers in a small range need no sorting.
        low, high = int(y.min()), int(y.max())
        if high - low < max(1024, y.size // 16) and -(2**62) < low <= high < 2**62:
            count = _count_codes(y, low, high - low + 1)
            present = np.flatnonzero(count)
            if low == 0 and present.size == count.size and y.dtype == np.int64:
                return np.arange(high + 1), y
            if y.dtype.kind == "b":
                return np.array([False, True])[low:][: present.size], y.astype(np.int64) - low
            position = np.cumsum(count > 0) - 1
            codes = position[y.astype(np.int64) - low]
            return (present + low).astype(y.dtype), codes
    try:
        check_classification_targets(y)
        if classes is None:
            classes, codes = np.unique(y, return_inverse=True)
            return classes, codes.astype(np.int64)
        unknown = np.setdiff1d(y, classes)
    except TypeError as error:
        raise ValueError(
            "Labels must be of one type, so that they have an order; got a mixture "
            f"({error}). Convert them, for instance with y.astype(str)."
        ) from error
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()}. Name all classes in the first call: "
            "partial_fit(X, y, classes=...)."
        )
    return classes, np.searchsorted(classes, y).astype(np.int64)


@compiled
def _count_codes(y, low, size):
    # Four tables in turn: equal labels one after the other need not wait for each other.
    count = np.zeros((4, size), np.int64)
    whole = y.size - y.size % 4
    for i in range(0, whole, 4):
        count[0, np.int64(y[i]) - low] += 1
        count[1, np.int64(y[i + 1]) - low] += 1
        count[2, np.int64(y[i + 2]) - low] += 1
        count[3, np.int64(y[i + 3]) - low] += 1
    for i in range(whole, y.size):
        count[0, np.int64(y[i]) - low] += 1
    return count.sum(axis=0)


def count_classes(codes, n_classes):
    """Number of rows of every class."""
    return _count_codes(codes, 0, n_classes)


def require_two_classes(estimator):
    """Raise unless an estimator has seen at least two classes."""
    if len(estimator.classes_) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes, got 1 class: "
            f"{estimator.classes_.tolist()[0]!r}."
        )


def require_class_weights(classes, codes, weights):
    """Raise if all samples of a class have zero weight."""
    sums = np.bincount(codes, weights=weights, minlength=len(classes))
    empty = np.flatnonzero(sums <= 0)
    if empty.size:
        raise ValueError(
            f"All samples of the class {classes.tolist()[empty[0]]!r} have zero weight. Give them "
            "weight, or leave them out."
        )


def is_real(value):
    """Whether `value` is a number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def as_seed(random_state):
    """An integer seed; an integer is its own."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_class_weight(class_weight, classes, largest=np.inf):
    """None, "balanced", or one positive weight for every class in order.

    Parameters
    ----------
    class_weight : {"balanced"}, dict or None
        As the user gave it; classes that a dict leaves out have weight 1.
    classes : ndarray of shape (n_classes,)
    largest : float
        The largest weight that makes sense; the smallest is its inverse.

    Returns
    -------
    weights : None, "balanced" or ndarray of shape (n_classes,)
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, dict):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict from labels to weights, got "
            f"{class_weight!r}."
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(
            f"class_weight has the label {unknown[0]!r}, which is not among the classes {labels}."
        )
    for label, weight in class_weight.items():
        if not is_real(weight) or not 0 < weight < np.inf or not 1 / largest <= weight <= largest:
            limits = "" if largest == np.inf else f" between {1 / largest:g} and {largest:g}"
            raise ValueError(
                f"class_weight must be positive numbers{limits}, got {weight!r} for {label!r}."
            )
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def check_weights(sample_weight, X):
    """Sample weights as float64, or None for none; negative weights are an error."""
    if sample_weight is None:
        return None
    sample_weight = require_unmasked(sample_weight, "sample_weight")
    if isinstance(sample_weight, Number):
        sample_weight = np.full(X.shape[0], sample_weight, dtype=np.float64)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", order="C"
    )
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one number for each of the {X.shape[0]} samples, got shape "
            f"{weight.shape}."
        )
    if weight.min(initial=0.0) < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    largest = weight.max(initial=0.0)
    if largest > 1e100 or 0 < largest < 1e-100:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, and sums over such weights are not exact. "
            "Divide all weights by their largest."
        )
    return weight


def check_finite(statistics, X):
    """Look for NaN and infinity in sums over X; scan X itself only when a sum is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(array.sum()) or np.isfinite(array).all() for array in statistics):
            return
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        assert_all_finite(values, input_name="X")
    raise ValueError(
        f"X has values up to {np.abs(values).max():.3g}: sums over them overflow. Divide X, or "
        "its largest columns, by a constant; large sample weights count too."
    )


def resolve_n_features(value, n_features, name="n_features_to_select"):
    """Number of features that `value` asks for, out of `n_features`.

    An integer is a count (more than there are: all), a float in (0, 1] a fraction (at least one
    feature), None all.
    """
    if value is None:
        return n_features
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and value >= 1:
        return min(int(value), n_features)
    if isinstance(value, float | np.floating) and 0 < value <= 1:
        return max(1, int(value * n_features + 1e-9))
    raise ValueError(
        f"{name} must be an integer >= 1, a fraction in (0, 1] or None for all features, "
        f"got {value!r}."
    )


def softmax(decisions, axis=-1):
    """Probabilities proportional to the exponentials of `decisions`."""
    shifted = np.exp(decisions - decisions.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


class DecisionMixin:
    """Labels and probabilities of a classifier with decisions for all classes.

    A class gives `_decisions(X)` of shape (n_samples, n_classes) and gets the rest, so that
    labels, probabilities and decisions always agree.
    """

    def decision_function(self, X):
        """Decisions of the classes: log odds, or shares where members or neighbours vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for the second one. More: a column for every class. Log odds,
            or log likelihoods plus log priors, are up to a constant of the sample.
        """
        decisions = self._decisions(X)
        return decisions[:, 1] - decisions[:, 0] if decisions.shape[1] == 2 else decisions

    def predict(self, X):
        """Class with the largest decision; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decisions = self.decision_function(X)
        best = decisions > 0 if decisions.ndim == 1 else decisions.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return softmax(self._decisions(X))

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X, y, sample_weight=None):
        """Accuracy on samples and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
        """
        return super().score(X, decode_labels(y), sample_weight)

    def predict_reject(self, X, threshold):
        """Labels, and which samples are better referred to a person.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        threshold : float
            Smallest probability, between 0 and 1, with which a label may be given.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        rejected : ndarray of bool of shape (n_samples,)
            True where no class is as probable as `threshold`.
        """
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a probability, 0 to 1, got {threshold!r}.")
        probabilities = self.predict_proba(X)
        labels = self.classes_[probabilities.argmax(axis=1)]
        return labels, probabilities.max(axis=1) < threshold

    def _explanation(self, values, base, X):
        """Contributions to the decisions of all classes, as the user sees decisions."""
        if len(values) == 2:
            values, base = values[1] - values[0], float(base[1] - base[0])
        elif not sparse.issparse(values[0]):
            values = np.stack(values, axis=2)
        return Explanation(values, base, self._feature_names(), X)

    def _feature_names(self):
        """Names of the features; x0, x1, ... where they have none."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return names


@dataclass
class Explanation:
    """Why each sample got its decision, as arrays.

    Attributes
    ----------
    values : ndarray, or sparse container(s)
        Contribution of every feature. Two classes: (n_samples, n_features), towards the second
        class. More: (n_samples, n_features, n_classes); for sparse data a list with one sparse
        array of shape (n_samples, n_features) for every class.
    base : float or ndarray of shape (n_classes,)
        Decision with no contribution: `base` plus the sum over features is the decision.
    names : ndarray of shape (n_features,)
        Feature names.
    data : ndarray or sparse container
        The samples that were explained.
    """

    values: Any
    base: Any
    names: np.ndarray
    data: Any = field(repr=False, default=None)

    @cached_property
    def decision(self):
        """`base` plus all contributions: the decision function of the samples."""
        if isinstance(self.values, list):
            return np.stack([_row_sums(v) for v in self.values], axis=1) + self.base
        return _row_sums(self.values) + self.base

    def to_shap(self):
        """The same numbers as a `shap.Explanation` (needs ``pip install shap``)."""
        try:
            import shap
        except ImportError as error:
            raise ImportError("Explanation.to_shap needs shap: pip install shap.") from error
        values = self.values
        if isinstance(values, list):
            values = np.stack([v.toarray() for v in values], axis=2)
        elif sparse.issparse(values):
            values = values.toarray()
        data = self.data.toarray() if sparse.issparse(self.data) else self.data
        base = np.broadcast_to(self.base, (values.shape[0], *np.shape(self.base)))
        return shap.Explanation(values, base, data, feature_names=list(self.names))


def _row_sums(values):
    return np.asarray(values.sum(axis=1)).reshape(values.shape[0], *values.shape[2:])
