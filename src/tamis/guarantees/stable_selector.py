"""StableSelector: features that half-samples agree on, with a bound on the false ones."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis._array import is_sparse
from tamis._base import FeatureSelectorMixin, TamisEstimator, encode_labels, is_real, validate
from tamis.centers import SparseCenterClassifier
from tamis.centers.groups import make_groups
from tamis.guarantees._indices import feature_indices
from tamis.guarantees.error_bounds import assumption_free_bound, r_concave_bound, unimodal_bound
from tamis.guarantees.half_shares import choose_largest, half_rows, half_shares, other_half_centers
from tamis.guarantees.substitutes import frequencies_with_substitutes
from tamis.panel import PanelClassifier
from tamis.stability import complementary_pairs

# With fewer units of a class, a half has a single one, and every feature separates it.
_FEWEST = 4


class StableSelector(FeatureSelectorMixin, TamisEstimator):
    r"""Select the features that are selected again in most half-samples.

    Complementary-pairs stability selection [1]_: the data are divided into halves `n_pairs` times,
    each half chooses q features, and features that at least the proportion `threshold` of the
    half-samples choose are selected. Before the data are seen, q is fixed at
    :math:`\lfloor\sqrt{E p (2 \tau - 1)}\rfloor` for E expected false features out of p and the
    threshold :math:`\tau`. Over repeated studies, the rule then admits on average at most E noise
    features, which a random half-sample would choose no more often than by chance.

    That is a statement about the rule, not about the selected features, and none about features
    that are not selected: of ten interchangeable features each is chosen rarely (see
    `substitute_frequencies`). It needs features that are judged one by one and on a common scale;
    otherwise only frequencies are given, and `refusal_` says why.

    Parameters
    ----------
    estimator : estimator, default=None
        `SparseCenterClassifier` (the default) with scaling="spread", whose halves are computed
        together, or `PanelClassifier` with selection="centers" or "medians". For these a feature
        group is judged by the mean share of its columns. The features of other estimators with
        `n_features_to_select` and `get_support` get frequencies only.
    expected_false : float, default=1.0
        The number E of false features that is acceptable on average.
    threshold : float, default=0.75
        Proportion of half-samples that must choose a feature, above 1/2. Do not change it after
        looking at the results.
    n_pairs : int, default=50
        Number of complementary pairs of half-samples.
    n_jobs : int or None, default=None
        Number of threads, for estimators that are fitted on each half.
    random_state : int, RandomState instance or None, default=None
        Seed of the half-samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the selected features.
    frequencies_ : ndarray of shape (n_features_in_,)
        Proportion of half-samples that choose each feature; 0 for kept features, which are not
        chosen.
    n_chosen_ : int
        Number q of features that a half is asked for.
    mean_chosen_ : float
        Number of features that a half chose on average; the bounds use it.
    n_eligible_ : int
        Number p of features, or feature groups, to choose from.
    bounds_ : dict
        Expected numbers of false features: "assumption_free", "unimodal" and "r_concave", the last
        two under assumptions on shapes that cannot be checked; None where there is none.
    refusal_ : str or None
        Why no bound is given.
    other_half_centers_ : ndarray of shape (n_classes, n_features_in_)
        Class means (or medians) of each feature: for each half that chose it, those of the other
        half, which did not choose, on average. That takes away the winner's curse of a half's
        choice, not that of picking features by their frequency. NaN for features that no half
        chose.
    choices_ : ndarray of int of shape (2 * n_pairs, n_chosen_)
        Features, or feature groups, that each half chose; -1 where it chose fewer.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    References
    ----------
    .. [1] Shah and Samworth, "Variable selection with error control: another look at stability
       selection", Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.guarantees import StableSelector
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 500)), np.arange(60) % 2
    >>> X[y == 1, :4] += 1.5
    >>> selector = StableSelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [0, 1, 2, 3]
    >>> print(selector.statement([0, 1, 2, 3, 4]))
    4 of the 5 pass a rule that, over repeated studies, admits on average at most 1 noise feature
    (chosen by a random half-sample no more often than by chance). Nothing is guaranteed for the
    other one.
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        expected_false: float = 1.0,
        *,
        threshold: float = 0.75,
        n_pairs: int = 50,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.expected_false = expected_false
        self.threshold = threshold
        self.n_pairs = n_pairs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> StableSelector:
        """Choose features on all half-samples, and select those that are chosen often.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of two classes or more, each with at least two samples or sample groups.
        groups : array-like of shape (n_samples,), default=None
            Sample groups, such as patients, which are in one half as a whole.

        Returns
        -------
        self : StableSelector
        """
        self._check_parameters()
        X, y = validate(self, X, y, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
        self.classes_, codes = encode_labels(y)
        groups = None if groups is None else np.asarray(groups)
        n_units = self._count_units(codes, groups)
        estimator = SparseCenterClassifier() if self.estimator is None else self.estimator
        columns = make_groups(
            getattr(estimator, "feature_groups", None),
            getattr(estimator, "keep", None),
            self._feature_names(),
        )
        self._group_of = columns.group_of
        self.n_eligible_ = columns.n_choices
        # Fixed before anything is learned from the labels.
        wanted = np.sqrt(self.expected_false * self.n_eligible_ * (2 * self.threshold - 1))
        self.n_chosen_ = max(1, min(int(wanted + 1e-9), self.n_eligible_))
        random_state = check_random_state(self.random_state)
        pairs = complementary_pairs(codes, groups, self.n_pairs, random_state)
        for c, name in enumerate(self.classes_.tolist()):
            if not (pairs[:, codes == c] == 0).any(axis=1).all():
                raise ValueError(
                    f"Half-samples without rows of class {name!r}: too few sample groups have "
                    "rows of the same classes."
                )
        metric = _metric_of(estimator)
        if _is_scaled_center(estimator):
            choices = self._choose_by_shares(X, codes, pairs, metric, columns, random_state)
        else:
            choices = self._choose_by_fits(estimator, X, y, pairs, columns)
        self.choices_ = choices
        of_halves = [half[half >= 0] for half in choices]
        counts = np.bincount(np.concatenate(of_halves), minlength=columns.kept.size)
        self.frequencies_ = (counts / len(choices))[self._group_of]
        self.support_ = self.frequencies_ >= self.threshold - 1e-12
        self.mean_chosen_ = float(np.mean([half.size for half in of_halves]))
        refusal = _refusal(estimator)
        if refusal is None and n_units < _FEWEST:
            refusal = f"a class has {n_units} samples or sample groups, and {_FEWEST} are needed"
        self._set_bounds(refusal, wanted)
        members = [np.flatnonzero(np.isin(self._group_of, half)) for half in of_halves]
        self.other_half_centers_ = other_half_centers(
            X, codes, pairs, members, self.classes_.size, metric
        )
        return self

    def _check_parameters(self):
        if not is_real(self.expected_false) or not self.expected_false > 0:
            raise ValueError(f"expected_false must be a number > 0, got {self.expected_false!r}.")
        if not is_real(self.threshold) or not 0.5 < self.threshold <= 1:
            raise ValueError(f"threshold must be in (0.5, 1], got {self.threshold!r}.")
        if not isinstance(self.n_pairs, int | np.integer) or self.n_pairs < 1:
            raise ValueError(f"n_pairs must be an integer >= 1, got {self.n_pairs!r}.")
        known = self.estimator is None or "n_features_to_select" in self.estimator.get_params()
        if not known or getattr(self.estimator, "covariance", None) is not None:
            raise ValueError(
                "StableSelector needs an estimator that selects columns of X, with a parameter "
                f"n_features_to_select, got {self.estimator!r}."
            )

    def _count_units(self, codes, groups):
        """Smallest number of samples, or of sample groups, of a class; halves need two."""
        names = self.classes_.tolist()
        if len(names) < 2:
            raise ValueError(
                f"StableSelector needs at least two classes, got one class: {names[0]!r}."
            )
        units, kind = np.arange(codes.size), "samples"
        if groups is not None:
            if groups.shape != codes.shape:
                raise ValueError(f"groups must have one entry per row of X, {codes.size} in all.")
            units, kind = np.unique(groups, return_inverse=True)[1], "sample groups"
        counts = [np.unique(units[codes == c]).size for c in range(len(names))]
        rarest = int(np.argmin(counts))
        if counts[rarest] < 2:
            raise ValueError(
                f"Each class needs at least two {kind}, one for each half, got "
                f"{counts[rarest]} of class {names[rarest]!r}."
            )
        return counts[rarest]

    def _choose_by_shares(self, X, codes, pairs, metric, columns, random_state):
        X = X.tocsc() if is_sparse(X) else X
        shares = half_shares(X, codes, pairs, self.classes_.size, metric)
        if columns.kept.size < X.shape[1] or columns.kept.any():
            n_groups = columns.kept.size
            varies = np.bincount(columns.group_of, weights=shares.any(axis=0), minlength=n_groups)
            sums = [
                np.bincount(columns.group_of, weights=row, minlength=n_groups) for row in shares
            ]
            shares = np.array(sums) / np.maximum(varies, 1)
            shares[:, columns.kept] = 0.0
        return np.array([choose_largest(row, self.n_chosen_, random_state) for row in shares])

    def _choose_by_fits(self, estimator, X, y, pairs, columns):
        X = X.tocsr() if is_sparse(X) else X

        def choose(rows):
            model = clone(estimator).set_params(n_features_to_select=self.n_chosen_)
            selected = model.fit(X[rows], y[rows]).get_support(indices=True)
            found = np.unique(columns.group_of[selected])
            found = found[~columns.kept[found]]
            return np.pad(
                found[: self.n_chosen_],
                (0, max(0, self.n_chosen_ - found.size)),
                constant_values=-1,
            )

        return np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(choose)(rows) for rows in half_rows(pairs)
            )
        )

    def _set_bounds(self, refusal, wanted):
        n_passed = np.unique(self._group_of[self.support_]).size
        rule = self.n_eligible_, self.mean_chosen_, self.threshold
        self.bounds_ = {"assumption_free": None, "unimodal": None, "r_concave": None}
        self.refusal_ = refusal
        if refusal is not None:
            return
        if wanted < 1:
            self.refusal_ = (
                f"{self.n_eligible_} features are too few for at most {self.expected_false:g} "
                "false ones: a half-sample could choose less than one"
            )
            return
        self.bounds_ = {
            "assumption_free": assumption_free_bound(*rule),
            "unimodal": unimodal_bound(*rule, self.n_pairs),
            "r_concave": r_concave_bound(*rule, self.n_pairs),
        }
        if self.bounds_["assumption_free"] >= n_passed:
            self.refusal_ = (
                f"{n_passed} features pass, and the rule may admit "
                f"{self.bounds_['assumption_free']:.2g} false ones on average"
            )

    def statement(self, features: ArrayLike | None = None) -> str:
        """What can be said about some features, in words.

        Parameters
        ----------
        features : array-like of int, default=None
            Indices of the features of a panel; the selected ones by default.

        Returns
        -------
        sentence : str
        """
        check_is_fitted(self, "support_")
        if self.refusal_ is not None:
            return f"No statement possible: {self.refusal_}."
        support = np.flatnonzero(self.support_)
        given = support if features is None else features
        features = feature_indices(given, self.support_.size)
        n_passed = int(np.isin(features, support).sum())
        rest = features.size - n_passed
        who = f"{n_passed} of the {features.size} pass{'es' if n_passed == 1 else ''}"
        if features.size == 1:
            who = "This feature passes" if n_passed else "This feature does not pass"
        elif not n_passed:
            who = f"None of the {features.size} passes" if features.size else "No feature passes"
        sentence = (
            f"{who} a rule that, over repeated studies, admits "
            f"on average at most {self.expected_false:g} noise "
            f"feature{'' if self.expected_false == 1 else 's'} (chosen by a random half-sample "
            "no more often than by chance)."
        )
        if not rest or features.size == 1:
            return sentence
        other = "them" if not n_passed else "the other one" if rest == 1 else f"the other {rest}"
        return f"{sentence} Nothing is guaranteed for {other}."

    def substitute_frequencies(
        self, X: ArrayLike, features: ArrayLike | None = None, *, correlation: float = 0.8
    ) -> NDArray[np.float64]:
        """Proportion of half-samples that choose a feature or a substitute of it.

        Substitutes are the features whose absolute correlation with it is at least `correlation`
        over all samples; labels play no part.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        features : array-like of int, default=None
            Indices of features; the selected ones by default.
        correlation : float, default=0.8

        Returns
        -------
        frequencies : ndarray of shape (n_chosen_features,)
        """
        check_is_fitted(self, "support_")
        X = validate(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=[np.float64])
        given = np.flatnonzero(self.support_) if features is None else features
        features = feature_indices(given, self.support_.size)
        of_halves = [half[half >= 0] for half in self.choices_]
        ever = np.flatnonzero(np.isin(self._group_of, np.concatenate(of_halves)))
        chosen = np.array([np.isin(self._group_of[ever], half) for half in of_halves])
        return frequencies_with_substitutes(X, features, ever, chosen, correlation)

    def _feature_names(self):
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(names)

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _is_scaled_center(estimator):
    """Whether features are ranked one by one, by shares of their spread."""
    if isinstance(estimator, SparseCenterClassifier):
        return estimator.scaling == "spread"
    return (
        isinstance(estimator, PanelClassifier)
        and estimator.selection in ("centers", "medians")
        and estimator.max_per_group is None
        and estimator.feature_costs is None
    )


def _metric_of(estimator):
    medians = getattr(estimator, "selection", None) == "medians"
    return "l1" if medians else getattr(estimator, "metric", "l2")


def _refusal(estimator):
    """Why the choice of noise features is not known to be blind; None if it is."""
    if _is_scaled_center(estimator):
        return None
    if isinstance(estimator, SparseCenterClassifier):
        return (
            f"with scaling={estimator.scaling!r}, features of large spread are chosen more often "
            "than others, so frequencies are all that is known; use scaling='spread'"
        )
    return (
        "the estimator chooses features for what they add to others, or not on a common scale, so "
        "frequencies are all that is known"
    )
