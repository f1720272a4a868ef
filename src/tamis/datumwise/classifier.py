"""DatumWiseClassifier: asks for features one at a time, and stops when the class is clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tamis._base import steps, validate, with_callbacks
from tamis.datumwise._fitted import FittedDatumWise
from tamis.datumwise.calibration import CalibratedQuestions
from tamis.datumwise.learners import DEFAULT_LEARNER, check_learner
from tamis.datumwise.path import DatumWisePath, Habits, calibrate_family
from tamis.datumwise.process import choose_cost_weights
from tamis.paths.calibration_rows import (
    CALIBRATION_SHARE,
    check_share,
    keep_rows,
    number_groups,
    take_rows,
)
from tamis.paths.seeds import as_seed


class DatumWiseClassifier(FittedDatumWise):
    r"""Classifier that asks for features one at a time, different ones for each sample.

    .. math:: \min_\pi \frac1N \sum_i \ell_{y_i} [\hat y_\pi(x_i) \ne y_i]
              + \lambda \sum_{j \in z_\pi(x_i)} c_j

    A policy either asks for one more feature (or feature group), or names a class and stops. It is
    learned to make few errors at a low cost [1]_: easy samples need few features, hard ones more.

    Parameters
    ----------
    learner : {"forest", "linear"}, default="forest"
        How the policy is learned. "forest" grows a forest for each of many sets of features and
        finds the best way through them by backward induction on out-of-fold losses. "linear" is
        the method of [1]_: linear scores of all actions by policy iteration with rollouts; it is
        quick and small.
    cost_weight : float, default=0.01
        :math:`\lambda \ge 0`: how many errors one unit of cost is worth. Larger values ask for
        fewer features.
    feature_costs : array-like, dict or None, default=None
        Cost :math:`c_j \ge 0` of each feature, or of each feature group if there are groups, in
        their order or as a dict by name. None: 1 each.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are asked for together, for one cost, and count as one: a dict from names to
        features (names or indices), a list of such lists, or one label per feature. Every feature
        is in one group.
    order : {"free", "fixed"}, default="free"
        "fixed" asks all samples in the same order (they stop at different times), which overfits
        less: the constrained model of [1]_.
    max_features : int or None, default=None
        Largest number of features that a sample is asked for; a feature group counts as one. 0
        asks for none and predicts the prior.
    max_cost : float or None, default=None
        Largest sum of costs for a sample. Sums are exact: costs of 0.1, 0.2 and 0.3 fit 0.6.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Loss :math:`\ell_c` of a wrong label for a sample of each class. "balanced" gives all
        classes the same total weight; None: 1 each.
    n_iterations : int or None, default=None
        Policy iterations; None: 10. With "linear" only.
    n_states : int or None, default=None
        States sampled in each iteration; None: 2000. With "linear" only.
    mixture : float or None, default=None
        Largest share that earlier scores keep in an update, 0 to 1; None: 0.9, which makes the
        scores the mean over the first ten iterations. With "linear" only.
    n_trees : int or None, default=None
        Trees of a forest; None: 100 to 300, fewer for more rows. With "forest"
        only.
    n_sets : int or None, default=None
        Approximate number of feature sets that have forests (those of a chain of sets, from none
        to all candidates, always have one); None: 30 to 100, more for more rows. With "forest"
        only.
    n_candidates : int or None, default=None
        With more features (or feature groups) than this, only this many are ever asked for: those
        that separate the classes best by themselves or in a ridge regression ("linear"; None:
        200), or that a forest on all features uses most ("forest"; None: 100).
    random_state : int, RandomState instance or None, default=None
        Seed of trees and folds, or of the sampled states.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    policy_ : ForestPolicy or LinearPolicy
        The learned policy, as arrays and numbers.
    process_ : Process
        Costs, feature groups, budgets and losses.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Proportion of the training rows that are asked for each feature.
    support_ : ndarray of bool of shape (n_features_in_,)
        Features that at least one training row is asked for.
    feature_order_ : ndarray of int of shape (n_features_in_,)
        Features by `feature_importances_`, the largest first.
    mean_n_features_ : float
        Mean number of features that training rows are asked for; a feature group counts as one.
    mean_cost_, risk_ : float
        Mean cost, and mean loss plus `cost_weight` times mean cost, on the training rows: an
        optimistic estimate.
    n_features_in_, feature_names_in_
        Number of features seen in `fit`, and their names if these are strings.

    Notes
    -----
    NaN, in `fit` and in `predict`, means that a value is unavailable: it is never asked for, and
    the sample still gets a label. A feature without any value in `fit` is never asked for.

    The forest learner moves between sets of features. Values that are known for free are used as
    soon as these sets contain them; a feature that is always known should have cost 0, so that it
    comes first. Some moves ask for several features: the probabilities change when all of them
    are answered. With more than 10,000 rows it learns from a sample of 10,000.

    References
    ----------
    .. [1] Dulac-Arnold, Denoyer, Preux and Gallinari, "Datum-wise classification: a sequential
       approach to sparsity", ECML PKDD 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import DatumWiseClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> train, test = data.data[::2], data.data[1::2]
    >>> model = DatumWiseClassifier(cost_weight=0.01, random_state=0).fit(train, data.target[::2])
    >>> acquired = model.acquire(test)
    >>> round(float(acquired.n_questions.mean()), 1)  # of 30 features
    1.6
    >>> round(model.score(test, data.target[1::2]), 2)
    0.92
    """

    def __init__(
        self,
        learner: str = DEFAULT_LEARNER,
        cost_weight: float = 0.01,
        *,
        feature_costs: ArrayLike | dict | None = None,
        feature_groups: ArrayLike | dict | None = None,
        order: str = "free",
        max_features: int | None = None,
        max_cost: float | None = None,
        class_weight: str | dict | None = "balanced",
        n_iterations: int | None = None,
        n_states: int | None = None,
        mixture: float | None = None,
        n_trees: int | None = None,
        n_sets: int | None = None,
        n_candidates: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learner = learner
        self.cost_weight = cost_weight
        self.feature_costs = feature_costs
        self.feature_groups = feature_groups
        self.order = order
        self.max_features = max_features
        self.max_cost = max_cost
        self.class_weight = class_weight
        self.n_iterations = n_iterations
        self.n_states = n_states
        self.mixture = mixture
        self.n_trees = n_trees
        self.n_sets = n_sets
        self.n_candidates = n_candidates
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike) -> DatumWiseClassifier:
        """Learn which features to ask for, and when to stop.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.

        Returns
        -------
        self : DatumWiseClassifier
        """
        learn, options = check_learner(self)
        X, codes = self._validate(X, y)
        process = self._make_process(codes, self.cost_weight)
        (self.policy_,), (run,) = learn(
            X,
            codes,
            process,
            [process.cost_weight],
            **options,
            random_state=as_seed(self.random_state),
            steps=lambda names: steps(self, names, X=X, y=y),
        )
        return self._describe(Habits(run, process, codes), process)

    def fit_path(
        self, X: ArrayLike, y: ArrayLike, levels: int | Sequence[float] | None = None
    ) -> DatumWisePath:
        """Learn policies for many cost weights, in little more time than for one.

        All of them share their forests; a linear policy is learned starting from the previous
        one. So a model of the path may differ from that of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        levels : int, array-like of float or None, default=None
            Cost weights, in any order, or how many the data should choose; None: 12.

        Returns
        -------
        path : DatumWisePath
            From the largest cost weight (few questions) to the smallest. This classifier is not
            changed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamis import DatumWiseClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = DatumWiseClassifier("linear", random_state=0).fit_path(X, y, [0.01, 0.1])
        >>> path.levels
        array([0.1 , 0.01])
        >>> path.decisions(X).shape
        (2, 150, 3)
        >>> path.model(1).cost_weight
        0.01
        """
        check_learner(self)
        model = clone(self)
        X, codes = model._validate(X, y)
        process = model._make_process(codes, 0.0)
        levels = choose_cost_weights("levels", 12 if levels is None else levels, process, codes)

        def make_model(cost_weight):
            other = clone(self).set_params(cost_weight=cost_weight)
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(model, name):
                    setattr(other, name, getattr(model, name))
            return other

        seed = as_seed(self.random_state)
        return model._learn_path(X, codes, model.classes_, process, levels, seed, make_model)

    def calibrate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        max_error: float | None = None,
        max_misses: float | Mapping | None = None,
        confidence: float = 0.95,
        levels: int | Sequence[float] | None = None,
        budgets: Sequence[int] = (),
        calibration_share: float = CALIBRATION_SHARE,
        groups: ArrayLike | None = None,
    ) -> CalibratedQuestions:
        """Learn the path on some rows, and find the cheapest model that errs rarely on the others.

        Rows are set aside at random before anything else. Policies of many cost weights are
        learned on the rest, as in `fit_path`, and tested on the rows that were set aside, from the
        smallest cost weight to the largest, until the first that fails. If you have rows that were
        set aside already, use `fit_path` and `DatumWisePath.calibrate`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        max_error : float or None, default=None
            Largest error rate.
        max_misses : float, dict or None, default=None
            Largest false-negative rate of each class (the proportion of its rows with another
            label), or of the classes that a dict names. With `max_error`, both hold.
        confidence : float, default=0.95
            Probability, at least, that the answer keeps these limits or is none.
        levels : int, array-like of float or None, default=None
            Cost weights, as in `fit_path`.
        budgets : sequence of int, default=()
            Largest numbers of features to try besides `max_features`: a path is learned for each,
            and all models are tested from the largest mean cost on training rows to the smallest.
        calibration_share : float, default=0.3
            Proportion of the rows (or sample groups) that are set aside.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (such as patients): they are set aside whole, and one random row of each
            is counted.

        Returns
        -------
        calibrated : CalibratedQuestions
            The model and its questions, or none. This classifier is not changed.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from tamis import DatumWiseClassifier
        >>> data = load_breast_cancer(as_frame=True)
        >>> model = DatumWiseClassifier(n_trees=20, n_sets=20, random_state=0)
        >>> found = model.calibrate(data.data, data.target, max_error=0.1, levels=4)
        >>> print(found)
        Error rate at most 10 %, with 95 % confidence (wrong on 9 of 171 rows of the
        calibration set)...
        >>> found.test.errors.tolist()  # from the most questions to the fewest
        [[9, 9, 14, 23]]
        >>> found.test.n_passed
        2
        """
        check_share("calibration_share", calibration_share)
        values, labels = validate(
            clone(self), X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        numbers = number_groups(groups, len(labels))
        seed = as_seed(self.random_state)
        train, kept = keep_rows(None, numbers, len(labels), calibration_share, seed)
        if hasattr(X, "columns"):  # keeps the names of the features
            values = X
        budgets = [self.max_features, *budgets]
        models = [clone(self).set_params(max_features=budget) for budget in budgets]
        rows = take_rows(values, train), labels[train]
        paths = [model.fit_path(*rows, levels) for model in models]
        return calibrate_family(
            paths,
            budgets,
            take_rows(values, kept),
            labels[kept],
            max_error=max_error,
            max_misses=max_misses,
            confidence=confidence,
            groups=None if numbers is None else numbers[kept],
            random_state=seed,
        )
