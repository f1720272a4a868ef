r"""Orders of features: forward steps, gains of the centers, or a regularised path.

Every way returns groups of columns, first to last; a panel of k features uses the first k. The
gain of the sparse centers is a sum over classes, :math:`g_i = \sum_c g_{ci}`. Screening takes the
groups of largest gain and, with more than two classes, those of the largest share of each class in
turn: otherwise the classes that are easy to tell apart would take all places.
`Selection` holds the parameters, so that it can be repeated on the rows of any fold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis._base import order_by_score
from tamis.panel.forward import Choices, members, sample_rows, select_forward, weigh_classes
from tamis.panel.forward_steps import LEAST_RIDGE
from tamis.panel.l1_path import follow_path
from tamis.paths.row_keys import row_keys

if TYPE_CHECKING:
    from tamis.centers import SparseCenterClassifier
    from tamis.panel.proof.prove import Proof

__all__ = [
    "MOST_ROWS",
    "MOST_STEPS",
    "SELECTIONS",
    "ChosenPanels",
    "Selection",
    "group_gains",
    "is_rare",
    "keeps_sparse",
    "store",
]

#: With more rows, forward steps and the choice of a head see a sample of about this size.
MOST_ROWS = 10_000
#: Features after so many come from a regularised path.
MOST_STEPS = 50
# Ridge of that path.
_PATH_ALPHA = 3.0
# Data with a smaller share of values other than zero are like words: see `is_rare`.
_RARE = 0.05
# Selected columns of sparse data are made dense for a head up to this many values.
_MOST_VALUES = 20_000_000
SELECTIONS = ("auto", "forward", "centers", "medians", "primal-dual", "optimal")
# A search for the best panel sees all columns, dense, up to this many values.
_MOST_SEARCHED = 200_000_000


class ChosenPanels(NamedTuple):
    """The panel of each of some levels."""

    panels: list[NDArray]  # groups, first to last, without kept ones
    proofs: list[Proof | None]  # what is proved about each; None if nothing


@dataclass(frozen=True)
class Selection:
    """How features are selected."""

    kind: str  # one of SELECTIONS; all but "auto" can select
    choices: Choices
    alpha: float  # ridge of the forward steps
    n_screened: int  # how many groups the gains leave for the forward steps
    n_folds: int  # folds of the forward steps
    class_weight: str | NDArray | None  # (n_classes,) or None
    seed: int
    max_seconds: float | None = 10.0  # of each search for the best panel; None: no limit
    gains: list[NDArray] | None = None  # of the groups in all rows, if there are more elsewhere
    # Numbers of groups for which Ctrl-C ended the search for the best panel.
    interrupted: list[int] = field(default_factory=list, compare=False)

    def candidates(self, X: Matrix) -> list[Selection]:
        """The selections between which "auto" chooses, that which stands first; else itself.

        Costs are for forward steps alone, and words are not ranked by their gains.
        """
        if self.kind != "auto":
            return [self]
        costs = np.unique(self.choices.cost[self.choices.free])
        only_forward = is_rare(X) or costs.size > 1 or self.choices.n_choices < 2
        kinds = ("forward",) if only_forward else ("forward", "centers")
        return [replace(self, kind=kind) for kind in kinds]

    def choose(
        self,
        X: Matrix,
        codes: NDArray,
        weights: NDArray,
        n_classes: int,
        levels: NDArray,
        groups: NDArray | None = None,
        keys: NDArray | None = None,
    ) -> ChosenPanels:
        """The groups of every level, without kept ones.

        `levels` (n_levels,): numbers of groups; the rest is as in `order`.
        """
        if self.kind != "optimal":
            n_steps = int(levels.max(initial=0))
            order = self.order(X, codes, weights, n_classes, n_steps, groups, keys)
            return ChosenPanels([order[:k] for k in levels], [None] * len(levels))
        proofs = self._search(X, codes, weights, n_classes, levels, groups, keys)
        gains = self.find_gains(X, codes, weights)[0]
        # Within a panel no order is better; that of the gains is one that units do not change.
        panels = [p.panels[0][np.argsort(-gains[p.panels[0]], kind="stable")] for p in proofs]
        return ChosenPanels(panels, proofs)

    def _search(self, X, codes, weights, n_classes, levels, groups, keys):
        """The best panel of each level, with its proof.

        Ctrl-C ends all searches, also those that follow in other folds: each takes the best panel
        that it has found, or that a first look finds.
        """
        from tamis.panel.proof.problem import lay_out_fit
        from tamis.panel.proof.prove import prove

        X, codes, weights = self._sample(X, codes, weights, groups, keys)
        if X.shape[0] * X.shape[1] > _MOST_SEARCHED:
            raise ValueError(
                f"selection='optimal' looks at all {X.shape[1]:,} columns of {X.shape[0]:,} rows, "
                f"which is more than {_MOST_SEARCHED:,} values. Drop columns first, or use "
                "selection='forward'."
            )
        ridge = LEAST_RIDGE * self.alpha
        problem = lay_out_fit(X, codes, weights, n_classes, self.choices, ridge, self.class_weight)
        most = np.inf if self.max_seconds is None else self.max_seconds
        proofs = []
        for k in levels.tolist():
            seconds = 0.0 if self.interrupted else most
            proofs.append(prove(problem, k, tolerance=0.0, max_seconds=seconds))
            if proofs[-1].is_interrupted:
                self.interrupted.append(k)
        return proofs

    def _sample(self, X, codes, weights, groups, keys):
        """A sample of many rows: the one that forward steps see."""
        if codes.size <= MOST_ROWS:
            return X, codes, weights
        keys = row_keys(X) if keys is None else keys
        rows = sample_rows(X, codes, MOST_ROWS, groups, self.seed, keys)
        return X[rows], codes[rows], weights[rows]

    def order(
        self,
        X: Matrix,
        codes: NDArray,
        weights: NDArray,
        n_classes: int,
        n_steps: int,
        groups: NDArray | None = None,
        keys: NDArray | None = None,
    ) -> NDArray[np.int64]:
        """Groups of columns, first to last.

        `X` (n_rows, n_columns); `codes` (n_rows,); `weights` (n_rows,); `n_steps`: how many groups
        are wanted at most; `groups` (n_rows,) or None: sample groups; `keys` (n_rows,) or None: as
        in `tamis.panel.forward.content_folds`. Returns `order`: without kept groups; groups that
        cannot help are left out.
        """
        used = weights > 0
        if not used.all():
            X, codes, weights = X[used], codes[used], weights[used]
            groups = None if groups is None else groups[used]
            keys = None if keys is None else keys[used]
        if self.kind == "optimal":
            levels = np.array([n_steps])
            return self.choose(X, codes, weights, n_classes, levels, groups, keys).panels[0]
        if self.kind == "primal-dual":
            return self._limited(self._along_the_path(X, codes, weights, n_steps), n_steps)
        screened = self.screen(X, codes, weights, n_steps)
        if self.kind != "forward":
            return self._limited(screened, n_steps)
        if screened.size == 0:
            return screened
        n_forward = 0 if is_rare(X) else min(n_steps, MOST_STEPS)
        order = screened[:0]
        if n_forward:
            order = self._forward(X, codes, weights, n_classes, screened, n_forward, groups, keys)
        if n_forward < n_steps:
            order = self._lengthen(X, codes, weights, n_classes, screened, order, n_steps)
        return order

    def screen(
        self, X: Matrix, codes: NDArray, weights: NDArray, n_steps: int
    ) -> NDArray[np.int64]:
        """Groups with a gain, best first: those that forward steps choose from, else all.

        `X` (n_rows, n_columns); `codes` (n_rows,); `weights` (n_rows,): positive; `n_steps`: how
        many groups are wanted at most. Returns `groups`: without kept ones.
        """
        gains = self.find_gains(X, codes, weights)
        orders = [order_by_score(of_class) for of_class in gains]
        free = self.choices.free
        orders = [
            order[(g[order] > 0) & free[order]] for g, order in zip(gains, orders, strict=True)
        ]
        if self.kind != "forward":
            return orders[0]
        return _in_turn(orders, max(self.n_screened, 2 * n_steps))

    def _forward(self, X, codes, weights, n_classes, screened, n_steps, groups, keys):
        """Forward steps, on a sample of many rows."""
        if codes.size > MOST_ROWS:
            keys = row_keys(X) if keys is None else keys
            rows = sample_rows(X, codes, MOST_ROWS, groups, self.seed, keys)
            X, codes, weights, keys = X[rows], codes[rows], weights[rows], keys[rows]
            groups = None if groups is None else groups[rows]
        return select_forward(
            X,
            codes,
            weights,
            n_classes,
            screened,
            self.choices,
            n_steps,
            alpha=self.alpha,
            n_folds=self.n_folds,
            class_weight=self.class_weight,
            groups=groups,
            seed=self.seed,
            keys=keys,
        )

    def _lengthen(self, X, codes, weights, n_classes, screened, order, n_steps):
        """The groups that follow those of `order`, along a regularised path."""
        rest = screened[~np.isin(screened, order)]
        if rest.size == 0:
            return order
        present = np.concatenate([order, np.flatnonzero(self.choices.kept)])
        blocks = members(self.choices.group_of, np.concatenate([present, rest]))
        factor = np.concatenate([np.zeros(present.size), self.choices.cost[rest]])
        weighed = weigh_classes(codes, weights, n_classes, self.class_weight)
        n_wanted = n_steps - order.size
        found = follow_path(X, codes, weighed, n_classes, blocks, factor, n_wanted, _PATH_ALPHA)
        return self._limited(np.concatenate([order, rest[found - present.size]]), n_steps)

    def columns(self, order: NDArray) -> NDArray[np.intp]:
        """Columns of some groups and of the kept ones, ascending."""
        chosen = self.choices.kept.copy()
        chosen[order] = True
        return np.flatnonzero(chosen[self.choices.group_of])

    def find_gains(self, X: Matrix, codes: NDArray, weights: NDArray) -> list[NDArray[np.float64]]:
        """Gain of each group; for forward steps and many classes also the share of each in it."""
        if self.gains is not None:
            return self.gains
        from tamis.centers import SparseCenterClassifier  # here: predictions need no selection

        metric = "l1" if self.kind == "medians" else "l2"
        model = SparseCenterClassifier(metric=metric).fit_path(X, codes, 1, weights).model(0)
        return group_gains(model, self.choices, self.kind == "forward")

    def _along_the_path(self, X, codes, weights, n_steps):
        from tamis.primal_dual import PrimalDualClassifier

        estimator = PrimalDualClassifier(huber_delta=0.1, tol=1e-3, head="projection")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about convergence: an order of features needs little
            path = estimator.fit_path(X, codes, max_features=n_steps, sample_weight=weights)
        found: list[int] = []
        seen = ~self.choices.free
        for place in range(len(path)):
            model = path.model(place)
            size = (model.weights_**2).sum(axis=1)
            columns = path.features(place)
            for j in columns[np.argsort(-size[columns], kind="stable")]:
                g = self.choices.group_of[j]
                if not seen[g]:
                    seen[g] = True
                    found.append(int(g))
            if len(found) >= n_steps:
                break
        return np.array(found, dtype=np.int64)

    def _limited(self, order, n_steps):
        """The first groups, with no more of a set than allowed; cheap ones are not preferred."""
        if self.choices.most < self.choices.set_of.size:
            room, fitting = self.choices.room, []
            for g in order:
                of_set = self.choices.set_of[g]
                if room[of_set] > 0:
                    room[of_set] -= 1
                    fitting.append(g)
            order = np.array(fitting, dtype=np.int64)
        return order[:n_steps]


def group_gains(
    model: SparseCenterClassifier, choices: Choices, with_shares: bool
) -> list[NDArray[np.float64]]:
    """Gain of each group in fitted centers; if wanted, also the share of each class in it."""
    gains = [model.gains_]
    if with_shares and len(model.classes_) > 2:
        shares = ((model.class_centers_ - model.common_center_) / model.scale_) ** 2
        # A gain within rounding error of zero is zero; so are its shares.
        gains += list(np.where(model.gains_ > 0, shares, 0.0))
    size, finite = choices.kept.size, [np.where(np.isfinite(g), g, 0.0) for g in gains]
    return [np.bincount(choices.group_of, g, size).astype(np.float64, copy=False) for g in finite]


def is_rare(X: Matrix) -> bool:
    """Whether hardly any value is other than zero, as of words.

    A sample of rows would hold too little of each feature then, so there are no forward steps.
    """
    n_stored = X.nnz if is_sparse(X) else np.count_nonzero(X)
    return n_stored < _RARE * X.shape[0] * X.shape[1]


def store(X: Matrix) -> Matrix:
    """X as a sparse array if hardly any value is other than zero; otherwise as it is."""
    return sparse.csr_array(X) if not is_sparse(X) and is_rare(X) else X


def keeps_sparse(X: Matrix, n_columns: int) -> bool:
    """Whether heads of so many columns must leave them sparse."""
    return is_sparse(X) and (is_rare(X) or X.shape[0] * n_columns > _MOST_VALUES)


def _in_turn(orders, n):
    """The first n different groups of several orders, taken from each in turn."""
    longest = max(order.size for order in orders)
    table = np.full((longest, len(orders)), -1, dtype=np.int64)
    for column, order in enumerate(orders):
        table[: order.size, column] = order
    listed = table.ravel()
    listed = listed[listed >= 0]
    _, first = np.unique(listed, return_index=True)
    return listed[np.sort(first)[:n]]
