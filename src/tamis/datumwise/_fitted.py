"""Shared by the datum-wise classifiers: parameters, training data, and fitted behaviour."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis._base import (
    DecisionMixin,
    RecordMixin,
    TamisEstimator,
    encode_labels,
    order_by_score,
    require_two_classes,
    softmax,
    validate,
)
from tamis.datumwise.acquisition import Acquired, Acquisition, Questions
from tamis.datumwise.costs import paid, paid_so_far
from tamis.datumwise.learners import check_learner
from tamis.datumwise.path import DatumWisePath, Habits
from tamis.datumwise.process import Process, find_class_losses, find_status, make_process
from tamis.datumwise.record import read_record, write_record

__all__ = ["FittedDatumWise"]


class FittedDatumWise(RecordMixin, DecisionMixin, ClassifierMixin, TamisEstimator):
    """Base class of the datum-wise classifiers. Fitting sets `policy_` and `process_`."""

    explanation_class = Questions
    _write_record, _read_record = write_record, read_record

    def _check_parameters(self):
        check_learner(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Mask of the features that at least one training row is asked for."""
        return self.feature_importances_ > 0

    @property
    def feature_order_(self) -> NDArray[np.intp]:
        """All features, those that most training rows are asked for first."""
        return order_by_score(self.feature_importances_)

    # Training.

    def _validate(self, X, y):
        """Check the rows and encode the labels; sets `classes_`."""
        X, y = validate(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, codes = encode_labels(y)
        require_two_classes(self)
        return X, codes

    def _make_process(self, codes, cost_weight):
        """The process that the parameters describe."""
        return make_process(
            self._feature_names(),
            cost_weight=cost_weight,
            class_losses=find_class_losses(self.class_weight, self.classes_, codes),
            feature_costs=self.feature_costs,
            feature_groups=self.feature_groups,
            max_features=self.max_features,
            max_cost=self.max_cost,
        )

    def _learn_path(self, X, codes, classes, process, levels, seed, make_model):
        """Learn the path of checked rows; `codes` are indices into `classes`."""
        learn, options = check_learner(self)
        policies, runs = learn(X, codes, process, levels, **options, random_state=seed)
        return DatumWisePath(policies, runs, process, levels, classes, codes, make_model)

    def _take(self, path: DatumWisePath, level: int) -> FittedDatumWise:
        """Become the classifier of one level of a path."""
        self.policy_, process = path.policies[level], path.process(level)
        return self._describe(path.habits[level], process)

    def _describe(self, habits: Habits, process: Process) -> FittedDatumWise:
        self.process_ = process
        self.mean_n_features_ = habits.mean_n_features
        self.mean_cost_ = habits.mean_cost
        self.risk_ = habits.risk
        self.feature_importances_ = habits.asked[process.block_of]
        return self

    # Acquiring.

    def _run(self, X, known=None, trace=False):
        """Check the samples and what is known of them, and run the policy."""
        check_is_fitted(self, "policy_")
        X = validate(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        known = _check_known(known, X)
        process = self.process_
        status = find_status(process.block_of, process.n_blocks, X, known)
        return X, known, self.policy_.run(X, status, trace=trace)

    def _decisions(self, X):
        return self._run(X)[2].decisions

    def acquire(self, X: ArrayLike, known: ArrayLike | None = None) -> Acquired:
        """Ask for features one after the other, and classify.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples with all values that could be asked for; NaN means unavailable.
        known : array-like of bool of shape (n_samples, n_features) or (n_features,), default=None
            Values that are known already, for free: all values of a feature group, or none.

        Returns
        -------
        acquired : Acquired
            `labels`, `mask`, `order`, `cost`, `n_questions` and `probabilities` of each sample.
        """
        X, known, run = self._run(X, known)
        process = self.process_
        bought = np.zeros((X.shape[0], process.n_blocks), dtype=bool)
        rows, steps = np.nonzero(run.order >= 0)
        bought[rows, run.order[rows, steps]] = True
        mask = bought[:, process.block_of]
        if known is not None:
            mask |= known
        return Acquired(
            labels=self.classes_[run.decisions.argmax(axis=1)],
            mask=mask & ~np.isnan(X),
            order=run.order,
            cost=paid(run.order, process.costs),
            n_questions=(run.order >= 0).sum(axis=1),
            probabilities=softmax(run.decisions),
        )

    def explain(self, X: ArrayLike, known: ArrayLike | None = None) -> Questions:
        """The features that were asked for, and how each changed the decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; NaN means unavailable.
        known : array-like of bool of shape (n_samples, n_features) or (n_features,), default=None
            Values that are known already, for free.

        Returns
        -------
        questions : Questions
            `values`, the change of the decision by each; `base`, the decision before the first;
            `names` in the order they were asked for; `probabilities` and `cost` before the first
            and after each.
        """
        _, _, run = self._run(X, known, trace=True)
        asked = run.order >= 0
        names = np.where(asked, self.process_.names[run.order], "")
        running = run.trace
        if running.shape[2] == 2:
            running = running[:, :, 1] - running[:, :, 0]
        changes = np.nan_to_num(np.diff(running, axis=1))
        cost = paid_so_far(run.order, self.process_.costs)
        return Questions(changes, running[:, 0], names, run.order, softmax(run.trace), cost)

    def start(self, known: dict | None = None) -> Acquisition:
        """Start a conversation with one sample.

        Parameters
        ----------
        known : dict, default=None
            Values that are known already, for free, by name; for a feature group as in
            `Acquisition.answer`.

        Returns
        -------
        acquisition : Acquisition
            Says which feature to ask for next, accepts answers, and predicts.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamis import DatumWiseClassifier
        >>> data = load_iris(as_frame=True)
        >>> model = DatumWiseClassifier("linear", 0.05, random_state=0)
        >>> visit = model.fit(data.data, data.target).start()
        >>> visit.next_feature()
        'petal length (cm)'
        >>> int(visit.answer(1.4).prediction().label)
        0
        >>> visit.cost
        1.0
        """
        check_is_fitted(self, "policy_")
        return Acquisition(
            self.policy_, self.process_, self.classes_, self._feature_names(), known
        )


def _check_known(known, X):
    """The mask of known values with the shape of X, or None."""
    if known is None:
        return None
    known = np.asarray(known)
    if known.dtype != bool or known.shape not in (X.shape, X.shape[1:]):
        raise ValueError(
            f"known must be True or False for each value, of shape {X.shape} or {X.shape[1:]}; "
            f"got an array of shape {known.shape} and type {known.dtype}."
        )
    return np.broadcast_to(known, X.shape)
