"""PanelClassifier: few features, each chosen by what it adds, and a head that fits them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tamis._base import resolve_n_features, steps, with_callbacks
from tamis._passes import LocalChunks
from tamis.panel._fitted import FittedPanel
from tamis.panel.forward import keys_of
from tamis.panel.judging import choose_selection, judge_selections
from tamis.panel.outer import check_groups, choose_heads, fit_fold, outer_splits
from tamis.panel.path import PanelPath, default_levels, make_paths
from tamis.panel.selection import MOST_ROWS, store

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

__all__ = ["PanelClassifier", "check_levels", "make_classifier"]

_PARAMETERS = (
    "selection",
    "head",
    "alpha",
    "n_screened",
    "feature_groups",
    "max_per_group",
    "keep",
    "feature_costs",
    "class_weight",
    "cv",
    "max_seconds",
    "random_state",
)
# Rows of the outer folds for each feature of a long panel: as many as a good temperature needs.
_ROWS_PER_FEATURE = 50
_DESCRIPTIONS = ("n_features_in_", "feature_names_in_")


class PanelClassifier(FittedPanel):
    r"""Classifier of a few features, chosen together, with a head fitted on them alone.

    Two stages. The *selection* keeps the features of largest gain in sparse centers (a prefilter)
    and then chooses one after the other, each by how much it lowers the out-of-fold loss of a
    ridge-logistic model of the features chosen so far (`tamis.panel.forward`), so that features
    that tell the same thing are not chosen together. The *head* is a small classifier of the
    chosen features; which one, and how much it is regularised, is decided in folds in which the
    selection is repeated.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=5
        Number of features: a count (at most all), a fraction in (0, 1], or None for all. With
        `feature_groups` it counts groups, with `keep` only the others.
    selection : {"auto", "forward", "centers", "medians", "primal-dual", "optimal"}, default="auto"
        "forward" as above; the largest gains of the centers (means or medians); or the order in
        which features enter the primal-dual path. "auto": forward steps, unless the largest gains
        of the means predict the outer folds better, by more than half a standard error. "optimal":
        the panel that fits best, among all features, as found and proved by
        `tamis.panel.best_panels`; a better fit is not always a better prediction.
    head : {"auto", "linear", "lda", "logistic", "kernel"}, default="auto"
        Linear discriminant analysis with shrinkage, ridge-logistic regression, or kernel ridge
        classification (Gaussian bumps around training rows). "linear" takes the one of the first
        two with the least log loss in the outer folds. "auto" does, too, unless the loss of the
        kernel, which cannot be read, is smaller by more than one standard error and by more than
        0.03.
    alpha : float, default=30.0
        Ridge of the forward steps, for standardised features, before the first of them; it falls
        with the square of the loss that is left, to a tenth at least. With "optimal", a tenth of
        it is the ridge of the fits that are compared.
    n_screened : int, default=100
        How many features the prefilter leaves for the forward steps; at least twice the number
        wanted.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are selected together and count as one, or, with `max_per_group`, groups
        from which a limited number is selected: a dict from names to features (names or indices),
        a list of such lists, or one label per feature.
    max_per_group : int or None, default=None
        Features are selected one by one, at most so many of each of `feature_groups`; those to
        keep count there.
    keep : str, int, list of them or None, default=None
        Features (names or indices) that are always selected and not counted, or names of groups.
    feature_costs : array-like of shape (n_features,) or None, default=None
        Cost of each feature; forward steps choose by the decrease of the loss per cost, and "auto"
        is "forward" with unequal costs.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes; "balanced" gives all of them the same say.
    cv : int, splitter or iterable of (train, test), default=5
        Outer folds that choose and calibrate the head. An integer: folds of distinct rows.
    max_seconds : float or None, default=10.0
        With selection="optimal", the limit of each search (of all rows, and in every fold), after
        which the best panel that was found is taken; None for no limit.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the rows that serve as landmarks of a kernel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the selected features.
    feature_order_ : ndarray of shape (n_features_in_,)
        Feature indices: those to keep, then the chosen ones in the order of their choice, then
        all others.
    n_features_ : int
        Number of selected features.
    selection_ : str
        The selection: `selection`, or what "auto" has chosen.
    head_ : str
        The head: "lda", "logistic" or "kernel".
    temperature_ : float
        Divisor of the decisions, calibrated in the outer folds.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much the decisions change, on average, when a feature is set to its mean.
    coef_, intercept_ : ndarray
        Of `decision_function` in the units of X; only with a linear head.
    lower_bound_, gap_, is_proved_ : float, float, bool
        Only with selection="optimal": no panel of as many features has a smaller loss; by how
        much of its loss a panel could fit better; and whether none does.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    See Also
    --------
    PanelClassifierCV : The number of features chosen by cross-validation.

    Notes
    -----
    The loss by which the forward steps choose is not a score: the features were chosen to make it
    small. Scores need rows that took no part in the selection. With more than 10,000 rows, the
    forward steps and the choice of the head see a sample of them; the prefilter and the head
    itself use all rows.

    Features after the fiftieth, and all features of data in which fewer than one value in twenty
    is other than zero (words), come from a regularised path over twice as many features of the
    prefilter (`tamis.panel.l1_path`) instead of forward steps. With such data, and with large
    sparse data, the heads "auto" and "logistic" are ridge-logistic regression on columns that stay
    sparse.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PanelClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = PanelClassifier(n_features_to_select=3).fit(data.data, data.target)
    >>> model.get_feature_names_out().tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = 5,
        *,
        selection: str = "auto",
        head: str = "auto",
        alpha: float = 30.0,
        n_screened: int = 100,
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        max_per_group: int | None = None,
        keep: ArrayLike | None = None,
        feature_costs: ArrayLike | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        cv: int | BaseCrossValidator | Iterable = 5,
        max_seconds: float | None = 10.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.head = head
        self.alpha = alpha
        self.n_screened = n_screened
        self.feature_groups = feature_groups
        self.max_per_group = max_per_group
        self.keep = keep
        self.feature_costs = feature_costs
        self.class_weight = class_weight
        self.cv = cv
        self.max_seconds = max_seconds
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> PanelClassifier:
        """Select features and fit the head.

        With `selection="optimal"`, Ctrl-C ends all searches early: the classifier then has the
        best panel found so far, with its gap and its head, before `KeyboardInterrupt` is raised.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights: counts if all are whole numbers (2 is the row twice), otherwise
            relative, scaled to sum to the number of rows with positive weight.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients), which stay together in all folds.

        Returns
        -------
        self : PanelClassifier
        """
        self._check_parameters()
        X, codes, weights = self._validate(X, y, sample_weight)
        choices = self._make_choices()
        k = resolve_n_features(self.n_features_to_select, choices.n_choices)
        groups = check_groups(groups, codes)
        for _ in steps(self, ["panel"], X=X, y=y):
            path = self._make_path(
                X, codes, weights, np.array([k]), self.classes_, choices, groups
            )
        self._take_over(path.model(0))
        self._pass_on_interrupt(path.is_interrupted)
        return self

    def fit_chunks(
        self,
        chunks: Iterable[tuple] | Callable[[], Iterable[tuple]],
        classes: ArrayLike | None = None,
        *,
        max_bytes: float = 2e8,
    ) -> PanelClassifier:
        """Train on chunks of rows, of which only one is in memory at a time.

        The features are screened by their gains in all rows, and the head is fitted on all rows.
        A sample of at most 10,000 distinct rows, which are drawn by what they hold, chooses the
        features, the head and its temperature, as `fit` does with more than 10,000 rows. It does
        not depend on the chunks. If there are no more distinct rows, the result is that of `fit`.

        Parameters
        ----------
        chunks : iterable of tuples (X, y) or (X, y, sample_weight), or callable
            Chunks of rows as `fit` takes them, dense or sparse. A callable returns such an
            iterable. The chunks are read several times, so an iterator that can be read only once
            is not enough.
        classes : array-like of shape (n_classes,), default=None
            All classes; None: those that occur.
        max_bytes : float, default=2e8
            Memory for the sample, and for the selected columns of all rows. If these do not fit,
            the head is fitted in several passes over the chunks: one or two for a linear
            discriminant or a kernel, about five for a ridge-logistic head.

        Returns
        -------
        self : PanelClassifier

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from tamis import PanelClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> parts = [slice(start, start + 100) for start in range(0, 569, 100)]
        >>> chunks = [(X[rows], y[rows]) for rows in parts]
        >>> model = PanelClassifier(3).fit_chunks(chunks)
        >>> model.get_support(indices=True).tolist()
        [20, 21, 27]
        """
        from tamis.panel.chunks import train_passes  # predictions do without it

        train_passes(self, LocalChunks(chunks, is_read_again=True), classes, max_bytes)
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        levels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> PanelPath:
        """Panels with many numbers of features from one selection.

        The estimator itself is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        levels : array-like of int or None, default=None
            Numbers of features, or groups. None: all up to 12, then about five for each doubling,
            up to 50.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.
        groups : array-like of shape (n_samples,), default=None
            Sample groups, which stay together in all folds.

        Returns
        -------
        path : PanelPath
            `path.levels` are numbers of features, ascending; `path.model(i)` is the fitted
            classifier of a level.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamis import PanelClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = PanelClassifier(head="lda").fit_path(X, y)
        >>> path.levels.tolist()
        [1, 2, 3, 4]
        >>> path.features(1).tolist()
        [2, 3]
        """
        trainer = clone(self)
        trainer._check_parameters()
        X, codes, weights = trainer._validate(X, y, sample_weight)
        choices = trainer._make_choices()
        levels = check_levels(levels, choices.n_choices)
        groups = check_groups(groups, codes)
        return trainer._make_path(X, codes, weights, levels, trainer.classes_, choices, groups)

    def _fit_path(self, *data, **more):
        """`fit_path` without validation: class indices instead of labels, also as `classes`."""
        return self._fit_paths((self.head,), *data, **more)[0]

    def _fit_paths(
        self,
        heads,
        X,
        codes,
        levels=None,
        sample_weight=None,
        n_classes=None,
        groups=None,
        keys=None,
        kernels_of_sample=False,
    ):
        """`_fit_path` for several heads at once: the selection is shared."""
        n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
        trainer = copy.copy(self)
        trainer.n_features_in_, trainer.classes_ = X.shape[1], np.arange(n_classes)
        choices = trainer._make_choices()
        weights = np.ones(codes.size) if sample_weight is None else sample_weight
        levels = check_levels(levels, choices.n_choices)
        data = (X, codes, weights, levels, trainer.classes_, choices, groups, keys)
        return trainer._make_paths(heads, *data, kernels_of_sample)

    def _make_path(self, *data):
        return self._make_paths((self.head,), *data)[0]

    def _make_paths(
        self,
        heads,
        X,
        codes,
        weights,
        levels,
        classes,
        choices,
        groups,
        keys=None,
        kernels_of_sample=False,
    ):
        """One path per head, all of them from the same selection and the same outer folds."""
        X, keys, selection, settings, chosen = self._choose_in_folds(
            heads, X, codes, weights, levels, len(classes), choices, groups, keys
        )
        trained = [copy.copy(self) for _ in heads]
        for estimator, head in zip(trained, heads, strict=True):
            estimator.head = head
        data = (X, codes, weights, levels, classes)
        found = (selection, settings, chosen)
        return make_paths(trained, *data, *found, groups, keys, kernels_of_sample)

    def _choose_in_folds(
        self, heads, X, codes, weights, levels, n_classes, choices, groups, keys=None
    ):
        """Data as they are stored, keys; the selection; settings, and those chosen, of each head.

        Heads and selections are judged in the same outer folds.
        """
        X, selection = store(X), self._make_selection(choices)
        keys = keys_of(X, weights) if keys is None else keys
        settings = [self._settings(head, X, selection, levels) for head in heads]
        every = [setting for some in settings for setting in some]
        most = max(MOST_ROWS, _ROWS_PER_FEATURE * int(levels.max(initial=0)))
        splits = outer_splits(self.cv, X, codes, weights, groups, selection.seed, most, keys)
        data = (X, codes, weights, n_classes)
        candidates = selection.candidates(X)
        judged = [judge_selections(*data, candidates, levels, groups, split) for split in splits]
        place = choose_selection(judged, splits, codes, weights, selection.class_weight, groups)
        selection = candidates[place]
        decisions = [
            fit_fold(*data, selection, levels, every, fold.found[place], split)[1]
            for fold, split in zip(judged, splits, strict=True)
        ]
        rows = np.concatenate([test for _, test in splits])
        ends = np.cumsum([len(some) for some in settings])
        chosen = [
            choose_heads(
                of_head,
                codes[rows],
                weights[rows],
                some,
                selection.class_weight,
                None if groups is None else groups[rows],
                np.repeat(np.arange(len(splits)), [test.size for _, test in splits]),
            )
            for of_head, some in zip(
                np.split(np.concatenate(decisions, axis=2), ends[:-1], axis=1),
                settings,
                strict=True,
            )
        ]
        return X, keys, selection, settings, chosen

    def _with_size(self, k):
        return make_classifier(self, k)


def make_classifier(estimator: FittedPanel, k: int) -> PanelClassifier:
    """A classifier of k features with the parameters and feature names of another estimator."""
    known = vars(estimator)
    classifier = PanelClassifier(k, **{name: known[name] for name in _PARAMETERS})
    for name in _DESCRIPTIONS:
        if name in known:
            setattr(classifier, name, known[name])
    return classifier


def check_levels(levels: ArrayLike | None, n_choices: int) -> NDArray[np.int64]:
    """Numbers of features, ascending; the single level 0 if every feature is kept."""
    if n_choices == 0:
        return np.zeros(1, dtype=np.int64)
    if levels is None:
        return default_levels(n_choices)
    given = np.atleast_1d(np.asarray(levels))
    if given.ndim > 1 or given.dtype.kind not in "iu" or given.size == 0 or given.min() < 1:
        raise ValueError(f"levels must be a list of integers >= 1 or None, got {levels!r}.")
    return np.unique(np.minimum(given, n_choices)).astype(np.int64)
