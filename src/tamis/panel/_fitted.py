"""What the panel classifiers share: parameters, training, decisions and explanations."""

from __future__ import annotations

import copy
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis._array import is_sparse
from tamis._base import (
    DecisionMixin,
    Explanation,
    FeatureSelectorMixin,
    RecordMixin,
    TamisEstimator,
    check_class_weight,
    check_weights,
    encode_labels,
    is_real,
    read_groups,
    require_class_weights,
    require_two_classes,
    validate,
)
from tamis.centers.groups import make_groups
from tamis.heads import Head, LinearHead, head_of
from tamis.panel.forward import Choices, decide
from tamis.panel.importances import measure_importances
from tamis.panel.record import read_record, write_record
from tamis.panel.selection import SELECTIONS, Selection, keeps_sparse
from tamis.panel.settings import HEADS, settings_of
from tamis.paths.seeds import as_seed

__all__ = ["FittedPanel", "check_seconds"]

_INNER_FOLDS = 5


def _is_linear(estimator):
    if "support_" in vars(estimator) and "landmarks" in estimator._head_state:
        raise AttributeError(
            f"{type(estimator).__name__} with head_='kernel' cannot be explained feature by "
            "feature. Use head='lda' or head='logistic'."
        )
    return True


def check_seconds(max_seconds):
    """Raise an error for what is no time limit."""
    if max_seconds is not None and (not is_real(max_seconds) or not max_seconds >= 0):
        raise ValueError(f"max_seconds must be a number >= 0 or None, got {max_seconds!r}.")


class FittedPanel(
    RecordMixin, FeatureSelectorMixin, DecisionMixin, ClassifierMixin, TamisEstimator
):
    """Base of the panel classifiers.

    A fitted classifier keeps arrays, numbers and strings only: `_head_state` holds the fields of
    its head for the columns of `support_`.
    """

    _write_record, _read_record = write_record, read_record

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Training.

    def _check_parameters(self):
        for name, known in (("selection", SELECTIONS), ("head", HEADS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}."
                )
        if not is_real(self.alpha) or not 0 < self.alpha < np.inf:
            raise ValueError(f"alpha must be a positive number, got {self.alpha!r}.")
        for name in ("n_screened", "max_per_group"):
            value = getattr(self, name)
            if name == "max_per_group" and value is None:
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be an integer >= 1, got {value!r}.")
        check_seconds(self.max_seconds)
        if self.max_per_group is not None and self.feature_groups is None:
            raise ValueError("max_per_group needs feature_groups: it limits each of them.")

    def _validate(self, X, y, sample_weight):
        """Checked data, class indices and weights; sets `classes_`."""
        X, y = validate(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )
        weights = check_weights(sample_weight, X)
        self.classes_, codes = encode_labels(y)
        require_two_classes(self)
        if weights is None:
            weights = np.ones(X.shape[0])
        else:
            require_class_weights(self.classes_, codes, weights)
        self._require_variation(X if weights.all() else X[weights > 0])
        return X, codes, weights

    def _require_variation(self, X):
        """Raise an error for data whose columns are all constant."""
        if not (X.max(axis=0) != X.min(axis=0)).sum():
            raise ValueError(
                f"No feature varies: each of the {X.shape[1]} columns of X has the same value in "
                "all rows. At least one must differ between rows."
            )

    def _make_choices(self):
        """Groups, kept features, costs and limits, from the parameters."""
        names = [str(name) for name in self._feature_names()]
        n_features = len(names)
        together = self.feature_groups if self.max_per_group is None else None
        groups = make_groups(together, self.keep, names)
        n_groups = groups.kept.size
        set_of, most = np.zeros(n_groups, dtype=np.int64), n_groups
        if self.max_per_group is not None:
            set_of, most = read_groups(self.feature_groups, names)[0], int(self.max_per_group)
        cost = np.ones(n_groups)
        if self.feature_costs is not None:
            given = np.asarray(self.feature_costs)
            is_number = given.dtype.kind in "iuf"
            if not (
                is_number
                and given.shape == (n_features,)
                and np.all((given > 0) & (given < np.inf))
            ):
                raise ValueError(
                    f"feature_costs must be {n_features} positive numbers, one per feature, got "
                    f"{self.feature_costs!r}."
                )
            cost = np.bincount(groups.group_of, weights=given, minlength=n_groups)
        return Choices(groups.group_of, groups.kept, cost, set_of, most)

    def _make_selection(self, choices):
        return Selection(
            self.selection,
            choices,
            float(self.alpha),
            int(self.n_screened),
            _INNER_FOLDS,
            check_class_weight(self.class_weight, self.classes_),
            as_seed(self.random_state),
            self.max_seconds,
        )

    def _settings(self, head, X, selection, levels):
        """Settings to try for a head; the longest panel decides if features stay sparse."""
        kept = np.count_nonzero(selection.choices.kept[selection.choices.group_of])
        n_columns = int(levels.max(initial=0)) + int(kept)
        return settings_of(head, keeps_sparse(X, n_columns))

    def _order(
        self, kind, X, codes, n_steps, sample_weight=None, n_classes=None, groups=None, keys=None
    ):
        """First columns of the groups that a selection takes on all rows, first to last."""
        trainer = copy.copy(self)
        trainer.selection = kind
        n_classes = int(codes.max()) + 1 if n_classes is None else n_classes
        trainer.n_features_in_, trainer.classes_ = X.shape[1], np.arange(n_classes)
        choices = trainer._make_choices()
        weights = np.ones(codes.size) if sample_weight is None else sample_weight
        n_steps = min(n_steps, choices.n_choices)
        order = trainer._make_selection(choices).order(
            X, codes, weights, n_classes, n_steps, groups, keys
        )
        return choices.first_columns[order]

    def _store(self, X, weights, selection, order, columns, head, temperature, setting):
        """Keep one fitted head for the selected columns."""
        choices, self.selection_ = selection.choices, selection.kind
        self.support_ = np.zeros(choices.group_of.size, dtype=bool)
        self.support_[columns] = True
        rank = np.full(choices.kept.size, order.size + 1)
        rank[choices.kept] = -1
        rank[order] = np.arange(order.size)
        of_column = rank[choices.group_of]
        self.feature_order_ = np.lexsort((np.arange(of_column.size), of_column))
        self.n_features_ = int(columns.size)
        self.head_ = setting.head
        self.temperature_ = float(temperature)
        self._head_state = {"values": np.asarray(setting.values, dtype=np.float64)}
        self._keep_head(head, X, weights)

    def _keep_head(self, head, X, weights):
        """Keep a head of the setting, and what the features matter in these rows."""
        # In C order, as after reading a file, so that the decisions have the same bits.
        state = {name: np.array(value, order="C") for name, value in vars(head).items()}
        self._head_state = {**state, "values": self._head_state["values"]}
        columns, share = np.flatnonzero(self.support_), weights / weights.sum()
        self._means, importances = measure_importances(head, X, columns, share)
        self._importance = importances / self.temperature_

    def _store_proof(self, proof):
        """Keep what is proved about the panel, and nothing of an earlier fit."""
        self._forget_proof()
        if proof is not None:
            self.lower_bound_ = float(proof.lower_bound)
            self.gap_ = proof.gap
            self.is_proved_ = proof.is_proved

    def _forget_proof(self):
        for name in ("lower_bound_", "gap_", "is_proved_"):
            vars(self).pop(name, None)

    @staticmethod
    def _pass_on_interrupt(is_interrupted):
        """Raise the interrupt that ended a search, once nothing can be lost any more."""
        if is_interrupted:
            raise KeyboardInterrupt(
                "The search for the best panel was interrupted; the classifier is fitted with the "
                "best panel found so far, and gap_ says how far it can be from the best."
            )

    def _take_over(self, model):
        """Become the fitted `model`; the parameters stay."""
        self._forget_proof()
        for name, value in vars(model).items():
            if name.endswith("_") or name in ("_head_state", "_importance", "_means"):
                setattr(self, name, value)

    # Decisions.

    @property
    def _head(self) -> Head:
        return head_of({k: v for k, v in self._head_state.items() if k != "values"})

    def _check_X(self, X):
        check_is_fitted(self, "support_")
        return validate(
            self,
            X,
            reset=False,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            accept_large_sparse=True,
        )

    def _decisions(self, X):
        X = self._check_X(X)
        return decide(self._head, X, np.flatnonzero(self.support_)) / self.temperature_

    def _get_support_mask(self):
        check_is_fitted(self, "support_")
        return self.support_

    def _attribute(self, name, compute):
        if "support_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: no {name}.")
        return compute()

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the decisions change when a feature is set to its mean: (n_features,)."""

        def spread():
            importances = np.zeros(self.support_.size)
            importances[self.support_] = self._importance
            return importances

        return self._attribute("feature_importances_", spread)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of `decision_function`; only with a linear head.

        Two classes: of shape (1, n_features). More: (n_classes, n_features).
        """
        return self._attribute("coef_", lambda: self._linear("coef_")[0])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of `decision_function`; only with a linear head: (1,) or (n_classes,)."""
        return self._attribute("intercept_", lambda: self._linear("intercept_")[1])

    def _linear(self, name):
        head = self._head
        if not isinstance(head, LinearHead):
            raise AttributeError(
                f"{type(self).__name__} has no {name} with head_='kernel': its decisions are not "
                "linear in X. Use head='lda' or head='logistic'."
            )
        coef = np.zeros((len(self.classes_), self.support_.size))
        coef[:, self.support_] = head.coef / self.temperature_
        intercept = head.intercept / self.temperature_
        if len(self.classes_) == 2:
            return coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return coef, intercept

    @available_if(_is_linear)
    def explain(self, X: ArrayLike) -> Explanation:
        """Contribution of each feature to the decision of each sample; linear heads only.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        explanation : Explanation
            `values` and `base` sum to `decision_function`. Contributions are relative to the mean
            of the training samples for dense samples, and relative to 0 for sparse ones, so that
            they are as sparse as the sample.
        """
        X = self._check_X(X)
        coef, base = self._linear("coef_")
        if is_sparse(X):
            values = [sparse.csr_array(X.multiply(row[None, :])) for row in coef]
            for part in values:
                part.eliminate_zeros()
        else:
            means = np.zeros(X.shape[1])
            means[self.support_] = self._means
            base = base + coef @ means
            values = [(X - means) * row for row in coef]
        return self._explanation(values, base, X)
