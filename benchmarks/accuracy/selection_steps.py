"""Ways to select that `selection.py` compares: the forward steps and what could replace them."""

from dataclasses import dataclass

import numpy as np
from at_k_rivals import balanced
from scipy.stats import chi2

from tamis import PanelClassifier
from tamis.heads import fit_lda, fit_logistic
from tamis.heads.newton import curvatures, weighted_products
from tamis.panel.forward import Choices, judging_folds, lay_out_forward
from tamis.panel.forward_steps import Limits, Model, forward_steps
from tamis.panel.l1_path import follow_path
from tamis.panel.selection import Selection
from tamis.panel.tempered import tempered_losses

N_STEPS, N_FOLDS = 12, 5


class Data:
    """Training rows, and what several ways share."""

    def __init__(self, X, y):
        self.X, self.y, self.n_classes = X, y, int(y.max()) + 1
        every = np.arange(X.shape[1])
        self.choices = Choices(every, every < 0, np.ones(every.size), 0 * every, every.size)
        self.n_steps = min(N_STEPS, every.size)
        self._screened = {}

    def screened(self, n=100):
        """Columns that the prefilter leaves, best first."""
        if n not in self._screened:
            selection = Selection("forward", self.choices, 1.0, n, N_FOLDS, "balanced", 0)
            ones = np.ones(self.y.size)
            self._screened[n] = selection.screen(self.X, self.y, ones, self.n_steps)
        return self._screened[n]

    def laid_out(self, alpha, seed=0, n=100):
        """Standardised columns and problems of the forward steps."""
        return lay_out_forward(
            *(self.X, self.y, np.ones(self.y.size), self.n_classes, self.screened(n)),
            self.choices,
            alpha=alpha,
            n_folds=N_FOLDS,
            seed=seed,
        )


def forward(alpha=None, n=100):
    """The forward steps of the library."""

    def select(data):
        laid = data.laid_out(PanelClassifier().alpha if alpha is None else alpha, n=n)
        screened = data.screened(n)
        limits = Limits(np.zeros(screened.size, dtype=int), np.array([screened.size]))
        order, _ = forward_steps(*laid[1:], limits, data.n_steps)
        return screened[order]

    return select


@dataclass(frozen=True)
class Steps:
    """Forward steps by definition, with options that the library has not."""

    alpha: float = 30.0
    joint: bool = True  # loss of the softmax, not the sum over classes against the rest
    most_explained: float = 2.0  # features of which more is explained come last
    power: float = 0.0  # of the share of the loss that is left, for the ridge
    n_partitions: int = 1
    on_training: float = 0.0  # share of the loss of the training rows
    errors: float = 0.0  # standard errors by which the first of the prefilter must be beaten
    own_ridge: float | None = None  # of the model, other than that of the candidates' step
    square: float = 0.0  # size of a second column, the square, in every candidate

    def __call__(self, data):
        screened = data.screened()
        laid = [data.laid_out(self.own_ridge or self.alpha, s) for s in range(self.n_partitions)]
        stacks = [self._with_squares(one) for one in laid]
        models = [Model(one.kept, one.problems) for one in laid]
        weights = laid[0].problems.weights
        rest = laid[0].candidates.columns * np.sqrt(weights / weights.sum())
        free, order = np.arange(screened.size), []
        for model in models:
            model.refit(6, 1e-3)
        without = [model.loss() for model in models]
        for _ in range(data.n_steps):
            parts = list(zip(models, stacks, strict=True))
            rows = [self._row_losses(model, stack[free]) for model, stack in parts]
            loss = sum(r @ m.problems.weights for r, m in zip(rows, models, strict=True))
            if self.on_training:
                inner = self._row_losses(models[0], stacks[0][free], True) @ weights
                loss = (1 - self.on_training) * loss / len(models) + self.on_training * inner
            if self.errors:
                first = int(np.argmin(free))
                paired = (rows[0] - rows[0][first]) * weights
                loss = (
                    loss - loss[first] + self.errors * np.sqrt(weights.size) * paired.std(axis=1)
                )
            apart = (rest[free] ** 2).sum(axis=1) >= 1 - self.most_explained
            best = int(np.argmin(np.where(apart | ~apart.any(), loss, np.inf)))
            chosen = free[best]
            order.append(chosen)
            column = rest[chosen].copy()
            if column @ column > 1e-9:
                rest -= np.outer(rest @ column / (column @ column), column)
            models = [m.joined_by(stack[chosen]) for m, stack in zip(models, stacks, strict=True)]
            for model, at_first in zip(models, without, strict=True):
                model.refit(6, 1e-3)
                if self.power:
                    left = (model.loss() / at_first) ** self.power
                    model.alpha = self.alpha * min(max(left, 0.1), 1.0)
                    model.penalty[1:] = model.alpha
                    model.refit(6, 1e-3)
            free = np.delete(free, best)
        return screened[np.array(order)]

    def _with_squares(self, laid):
        Z = laid.candidates.columns
        if not self.square:
            return Z[:, None]
        share = laid.problems.weights / laid.problems.weights.sum()
        squares = np.clip(Z, -3, 3) ** 2
        squares = squares - (squares @ share)[:, None]
        squares -= ((squares * Z) @ share)[:, None] * Z
        size = np.sqrt(squares**2 @ share)
        few = size < 1e-6  # two values
        squares = np.where(few[:, None], 0, squares / np.where(few, 1, size)[:, None])
        return np.stack([Z, self.square * squares], axis=1)

    def _row_losses(self, model, stack, on_training=False):
        """Loss of every row for each candidate, after one Newton step in its columns."""
        problems = model.problems
        C, (p, q, n) = len(problems.is_class), stack.shape
        Z, m = stack.reshape(p * q, n), model.penalty.size
        out, places = np.zeros((C, p, n)), np.arange(p * q).reshape(p, q)
        folds = [slice(0, n)] if on_training else problems.folds
        for f, test in enumerate(folds):
            some = slice(f * C, (f + 1) * C)
            margins, targets = model.margins[some], model.targets[some]
            weights = np.tile(problems.weights, (C, 1)) if on_training else model.weights[some]
            curvature, residual = curvatures(margins, targets, weights)
            products = weighted_products(model.columns, curvature, np.vstack([model.columns, Z]))
            hessian, border = products[:, :, :m].copy(), products[:, :, m:]
            hessian.reshape(-1, m * m)[:, :: m + 1] += model.penalty
            solved = np.linalg.solve(hessian, border)
            blocks = np.array([(stack * c) @ stack.transpose(0, 2, 1) for c in curvature])
            blocks -= np.einsum("cmba,cmbe->cbae", border[:, :, places], solved[:, :, places])
            blocks[:, :, np.arange(q), np.arange(q)] += (
                self.alpha if self.own_ridge else model.alpha
            )
            slope = (residual @ Z.T)[:, places]
            steps = np.linalg.solve(blocks, slope[..., None]).reshape(C, p * q)
            moves = Z[:, test] - solved.transpose(0, 2, 1) @ model.columns[:, test]
            moves *= steps[:, :, None]
            out[:, :, test] = moves.reshape(C, p, q, -1).sum(axis=2) + margins[:, None, test]
        signs = 1 - 2 * problems.is_class[:, None]
        if C == 1 or not self.joint:
            return np.logaddexp(0, out * signs).sum(axis=0)
        return np.logaddexp.reduce(out, axis=0) - (out * problems.is_class[:, None]).sum(axis=0)


def ridge_by_spread(data):
    """The ridge by empirical Bayes: the spread of the prefiltered effects beyond chance."""
    weights, p = balanced(data.y), data.X.shape[1]
    Z = data.X - weights @ data.X / weights.sum()
    Z /= np.sqrt(weights @ Z**2 / weights.sum())
    spread = []
    for c in [1] if data.n_classes == 2 else range(data.n_classes):
        target = (data.y == c).astype(float)
        share = weights @ target / weights.sum()
        residual = (target - share) * weights
        squares = np.sort((residual @ Z) ** 2 / (residual**2).sum())[::-1][:100]
        chance = chi2.isf((np.arange(squares.size) + 0.5) / p, 1)
        information = share * (1 - share) * weights.sum()
        excess = max(np.mean(squares - chance), 1e-9)
        spread.append(excess * (residual**2).sum() / information**2)
    return Steps(float(np.clip(3 / np.mean(spread), 3, 100)))(data)


def eliminate(alpha):
    """Backward elimination of a ridge-logistic model of the prefiltered features."""

    def select(data):
        active, dropped = data.screened().copy(), []
        while active.size > 1:
            fit = fit_logistic(
                data.X[:, active], data.y, balanced(data.y), data.n_classes, [alpha], 1e-3
            )
            sizes = ((fit[0].coef - fit[0].coef.mean(axis=0)) ** 2).sum(axis=0)
            order = np.argsort(sizes, kind="stable")
            n = max(1, int(0.08 * active.size))
            dropped += active[order[:n]].tolist()
            active = active[np.sort(order[n:])]
        return np.array([*dropped, *active])[::-1]

    return select


def along_the_lasso(data):
    """The order in which prefiltered features enter an l1 path."""
    screened, weights = data.screened(), balanced(data.y)
    blocks, n = [np.array([j]) for j in screened], min(30, screened.size)
    ones = np.ones(screened.size)
    return screened[follow_path(data.X, data.y, weights, data.n_classes, blocks, ones, n, 3.0)]


def mean_rank(*ways):
    """Mean logarithm of the ranks in several orders."""

    def select(data):
        screened = data.screened()
        total = np.zeros(screened.size)
        for way in ways:
            place = {column: i for i, column in enumerate(way(data))}
            total += [np.log1p(min(place.get(column, 30), 30)) for column in screened]
        return screened[np.argsort(total, kind="stable")]

    return select


def chosen_in_outer_folds(errors, *ways):
    """The way with the least log loss in outer folds; others must beat the first by errors."""

    def select(data):
        X, y, C = data.X, data.y, data.n_classes
        folds = judging_folds(X, y, N_FOLDS, None, 1)
        counts = [k for k in (1, 2, 3, 5, 8, 12) if k < X.shape[1]] or [1]
        decisions = np.empty((len(ways), len(counts), y.size, C))
        for f in range(N_FOLDS):
            train, test = folds != f, folds == f
            inner = Data(X[train], y[train])
            for w, way in enumerate(ways):
                order = way(inner)
                for i, k in enumerate(counts):
                    head = fit_lda(
                        X[train][:, order[:k]], y[train], np.ones(train.sum()), _equal(C)
                    )
                    made = head.decisions(X[test][:, order[:k]])
                    decisions[w, i, test] = np.maximum(made, -1e3)
        share = balanced(y) / balanced(y).sum()
        losses = [tempered_losses(d, y, share, 1e-3)[0].mean(axis=0) for d in decisions]
        paired = np.array(losses) - losses[0]
        gap = paired @ share
        spread = np.sqrt(((share * (paired - gap[:, None])) ** 2).sum(axis=1))
        return ways[int(np.argmin(gap + errors * spread))](data)

    return select


def by_gain(data):
    """The largest gains of the means."""
    every = np.arange(data.X.shape[1])
    selection = Selection("centers", data.choices, 1.0, every.size, N_FOLDS, "balanced", 0)
    return selection.screen(data.X, data.y, np.ones(data.y.size), data.n_steps)


def as_the_library(data):
    """The order that the library takes, by the folds of `PanelClassifier`."""
    model = PanelClassifier(data.n_steps, head="lda").fit(data.X, data.y)
    return model.feature_order_[: data.n_steps]


def _equal(n_classes):
    return np.full(n_classes, 1 / n_classes)


STEPS, OLD = forward(), Steps(3.0, joint=False)
WAYS = {
    "before: ridge 3, classes apart": OLD,
    "ridge 10, classes apart": Steps(10.0, joint=False),
    "ridge 30, classes apart": Steps(30.0, joint=False),
    "ridge 3": Steps(3.0),
    "ridge 10": Steps(10.0),
    "ridge 15": Steps(15.0),
    "ridge 30": Steps(),
    "ridge 60": Steps(60.0),
    "ridge 100": Steps(100.0),
    "ridge 30, most explained 0.95": Steps(most_explained=0.95),
    "ridge 30, most explained 0.9": Steps(most_explained=0.9),
    "ridge 30, most explained 0.8": Steps(most_explained=0.8),
    "ridge 30, most explained 0.5": Steps(most_explained=0.5),
    "0.9, and the ridge falls with the loss": Steps(most_explained=0.9, power=1.0),
    "with its square: the steps of the library": STEPS,
    "with its cube": Steps(most_explained=0.9, power=3.0),
    "ridge 60, with its square": Steps(60.0, most_explained=0.9, power=2.0),
    "ridge 3 of the model, 30 of the step": Steps(own_ridge=3.0),
    "ridge by empirical Bayes": ridge_by_spread,
    "three partitions, ridge 3": Steps(3.0, n_partitions=3),
    "three partitions": Steps(most_explained=0.9, power=2.0, n_partitions=3),
    "half the loss of training rows": Steps(most_explained=0.9, power=2.0, on_training=0.5),
    "loss of training rows alone": Steps(most_explained=0.9, power=2.0, on_training=1.0),
    "the prefilter stands within one error, ridge 3": Steps(3.0, errors=1.0),
    "the prefilter stands within one error": Steps(most_explained=0.9, power=2.0, errors=1.0),
    "with squares": Steps(most_explained=0.9, power=2.0, square=0.5),
    "30 candidates": forward(n=30),
    "300 candidates": forward(n=300),
    "elimination from 100, ridge 1": eliminate(1.0),
    "elimination from 100, ridge 30": eliminate(30.0),
    "l1 path of 100": along_the_lasso,
    "mean rank with elimination": mean_rank(STEPS, eliminate(30.0)),
    "mean rank with the l1 path": mean_rank(STEPS, along_the_lasso),
    "outer folds: ridge 3 or 30": chosen_in_outer_folds(0.0, OLD, Steps()),
    "outer folds: the steps or the l1 path": chosen_in_outer_folds(0.5, STEPS, along_the_lasso),
    "outer folds: the steps or the gains, by definition": chosen_in_outer_folds(
        0.5, STEPS, by_gain
    ),
    "outer folds: the steps, the l1 path, elimination or the gains": chosen_in_outer_folds(
        0.5, STEPS, along_the_lasso, eliminate(30.0), by_gain
    ),
    "**the library**: the steps or the gains": as_the_library,
}
