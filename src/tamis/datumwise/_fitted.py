"""What the datum-wise classifiers share: parameters, training data, and what a fitted one does."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis._base import (
    DecisionMixin,
    TamisEstimator,
    encode_labels,
    require_two_classes,
    softmax,
    validate,
)
from tamis.datumwise.acquisition import Acquired, Acquisition, Questions
from tamis.datumwise.prices import mean_paid, paid, paid_so_far
from tamis.datumwise.process import find_class_losses, find_status, make_process

__all__ = ["FittedDatumWise"]


class FittedDatumWise(DecisionMixin, ClassifierMixin, TamisEstimator):
    """Base of the datum-wise classifiers. A fitted one has a `policy_` and a `process_`."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Training.

    def _validate(self, X, y):
        """Checked rows and class indices; sets `classes_`."""
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

    def _keep(self, policy, process, X, codes):
        """Be the classifier of a policy; how it does on the training rows is written down."""
        self.policy_, self.process_ = policy, process
        run = policy.run(X, find_status(process.block_of, process.n_blocks, X))
        wrong = run.decisions.argmax(axis=1) != codes
        loss = np.where(wrong, process.class_losses[codes], 0.0).mean()
        self.mean_n_features_ = float((run.order >= 0).sum(axis=1).mean())
        self.mean_cost_ = float(mean_paid(run.order, process.costs))
        self.risk_ = float(loss + process.cost_weight * self.mean_cost_)

    # Acquiring.

    def _run(self, X, known=None, trace=False):
        """Checked samples, what is known of them, and the policy's run."""
        check_is_fitted(self, "policy_")
        X = validate(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        known = _check_known(known, X)
        process = self.process_
        status = find_status(process.block_of, process.n_blocks, X, known)
        return X, known, self.policy_.run(X, status, trace=trace)

    def _decisions(self, X):
        return self._run(X)[2].decisions

    def acquire(self, X, known=None):
        """Ask for features one after the other, and classify.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples with all values that could be asked for; NaN cannot be had.
        known : array-like of bool of shape (n_samples, n_features) or (n_features,), default=None
            Values that are known already, for free. All values of a group, or none.

        Returns
        -------
        acquired : Acquired
            `labels`, `mask`, `order` and `cost` of every sample, the number of questions and the
            probabilities.
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

    def explain(self, X, known=None):
        """The questions that led to every label, with the running probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; NaN cannot be had.
        known : array-like of bool of shape (n_samples, n_features) or (n_features,), default=None
            Values that are known already, for free.

        Returns
        -------
        questions : Questions
            `names` in the order they were asked for, and `probabilities` and `cost` before the
            first and after each.
        """
        _, _, run = self._run(X, known, trace=True)
        asked = run.order >= 0
        names = np.where(asked, self.process_.names[run.order], "")
        cost = paid_so_far(run.order, self.process_.costs)
        return Questions(names, run.order, softmax(run.trace), cost)

    def start(self, known=None):
        """Begin a conversation with one sample.

        Parameters
        ----------
        known : dict, default=None
            Values that are known already, for free, by name; for a group as in
            `Acquisition.answer`.

        Returns
        -------
        acquisition : Acquisition
            Tells what to ask next, takes answers, and predicts.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamis import DatumWiseClassifier
        >>> data = load_iris(as_frame=True)
        >>> model = DatumWiseClassifier("linear", 0.05, random_state=0)
        >>> visit = model.fit(data.data, data.target).start()
        >>> visit.next_feature()
        'petal length (cm)'
        >>> visit.answer(1.4).prediction().label
        np.int64(0)
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
            f"known must be True or False for every value, of shape {X.shape} or {X.shape[1:]}; "
            f"got an array of shape {known.shape} and type {known.dtype}."
        )
    return np.broadcast_to(known, X.shape)
