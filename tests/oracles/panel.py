"""Forward selection by definition: every candidate gets a model of its own in every fold."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

INTERCEPT = 1e-6


def penalties(n_columns, alpha, weights):
    """Ridge of the intercept and of the columns."""
    return np.array([INTERCEPT * weights.sum(), *[alpha] * n_columns])


def fit_ridge(design, is_class, weights, penalty):
    """Coefficients of the ridge-logistic model, by a general solver and then plain Newton."""

    def loss(coef):
        margins = design @ coef
        value = weights @ (np.logaddexp(0, margins) - is_class * margins)
        slope = design.T @ (weights * (expit(margins) - is_class)) + penalty * coef
        return value + 0.5 * penalty @ coef**2, slope

    coef = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS").x
    for _ in range(3):
        coef = newton_step(design, is_class, weights, penalty, coef)
    return coef


def newton_step(design, is_class, weights, penalty, coef):
    """One full Newton step from `coef`."""
    p = expit(design @ coef)
    slope = design.T @ (weights * (is_class - p)) - penalty * coef
    hessian = design.T @ np.diag(weights * p * (1 - p)) @ design + np.diag(penalty)
    return coef + np.linalg.solve(hessian, slope)


def targets_of(codes, n_classes):
    """0 and 1 for each problem: the second of two classes, or each class against the rest."""
    chosen = [1] if n_classes == 2 else range(n_classes)
    return [(codes == c).astype(float) for c in chosen]


def out_of_fold_loss(columns, new, codes, n_classes, weights, folds, alpha):
    """Loss of the left-out rows of a model of `columns` to which `new` ones are added.

    The model of `columns` is fitted to the end; the new columns get one Newton step of the whole
    enlarged model. The margins of several classes, each against the rest, are logits.
    """
    ones = np.ones((codes.size, 1))
    old = np.hstack([ones, columns])
    total = 0.0
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        margins = []
        for target in targets_of(codes, n_classes):
            penalty = penalties(columns.shape[1], alpha, weights)
            coef = fit_ridge(old[train], target[train], weights[train], penalty)
            design = old
            if new.shape[1]:
                design = np.hstack([old, new])
                coef = np.append(coef, np.zeros(new.shape[1]))
                penalty = penalties(design.shape[1] - 1, alpha, weights)
                coef = newton_step(design[train], target[train], weights[train], penalty, coef)
            margins.append(design[test] @ coef)
        if n_classes == 2:
            margins.insert(0, np.zeros(np.count_nonzero(test)))
        shares = softmax(np.array(margins), axis=0)
        own = shares[codes[test], np.arange(shares.shape[1])]
        total -= weights[test] @ np.log(own)
    return total


def explained_share(columns, block, weights):
    """Share of the variance of a block that least squares on some columns explain."""
    root = np.sqrt(weights)[:, None]
    design = root * np.hstack([np.ones((weights.size, 1)), columns])
    target = root * (block - weights @ block / weights.sum())
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return 1.0 - (left**2).sum() / (target**2).sum()


def select_forward(
    kept, blocks, codes, n_classes, weights, folds, alpha, n_steps, *, cost, set_of, most
):
    """Order of the blocks, and the loss per unit of weight before each step and at the end.

    Blocks of which more than nine tenths are explained come after all others. After each step the
    ridge is set from the loss of the model that was fitted with the one before.
    """
    rest = (codes, n_classes, weights, folds)
    none = np.empty((codes.size, 0))
    order, current, ridge = [], kept, alpha
    history = [out_of_fold_loss(current, none, *rest, ridge)]
    while len(order) < n_steps:
        values = {}
        for j, block in enumerate(blocks):
            n_of_set = sum(set_of[i] == set_of[j] for i in order)
            if j not in order and n_of_set < most:
                gain = history[-1] - out_of_fold_loss(current, block, *rest, ridge)
                values[j] = gain / cost[j] if gain > 0 else gain * cost[j]
        if not values:
            break
        apart = [j for j in values if explained_share(current, blocks[j], weights) <= 0.9]
        order.append(max(apart or values, key=values.get))
        current = np.hstack([current, blocks[order[-1]]])
        left = out_of_fold_loss(current, none, *rest, ridge) / history[0]
        ridge = alpha * np.clip(left**2, 0.1, 1.0)
        history.append(out_of_fold_loss(current, none, *rest, ridge))
    return order, np.array(history) / weights.sum()
