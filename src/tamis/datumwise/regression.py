r"""Ridge regression for the scores of all actions on the same states.

The score of each action is linear in :math:`\phi(x, z) = (z, x z, 1)`. An action that buys a block
is evaluated where that block is not bought: in the states that have it, it is removed first. So
all actions share the states, and the Gram matrix of an action is that of all features without the
rows and columns of its own block. With P the inverse of the full matrix, J these rows and q = P r,

.. math:: \theta_{-J} = q_{-J} - P_{-J, J} P_{J, J}^{-1} q_J \quad\text{where}\quad r_J = 0,

one inverse for all actions and a small correction each.
"""

import numpy as np

# Per state; scores are returns of at most a few units on standardized values.
_RIDGE = 1e-3


def fit_scores(known, valued, targets, returns, block_of, *, fixed):
    """Scores that are closest to the returns, with a small ridge; the bias is not penalised.

    `known` (n_states, n_columns). `valued` (n_states, n_columns). `targets` (n_states, n_classes).
    `returns` (n_states, n_blocks): returns of buying each block; NaN where it cannot be bought.
    `block_of` (n_columns,). Returns `bias` (n_classes + n_blocks,): -inf for blocks that could not
    be bought in any state; `for_known`, `for_value` (n_columns, n_classes + n_blocks).
    """
    n_states, n_columns = known.shape
    features = np.hstack([known, valued, np.ones((n_states, 1))])
    gram = features.T @ features
    theta = np.zeros((2 * n_columns + 1, targets.shape[1] + returns.shape[1]))
    theta[:, : targets.shape[1]] = np.linalg.solve(
        _penalised(gram, n_states), features.T @ targets / n_states
    )
    used = np.arange(2 * n_columns + 1)
    of_block = [np.flatnonzero(block_of == b) for b in range(returns.shape[1])]
    if fixed:
        used = np.append(np.arange(n_columns), 2 * n_columns)
    else:
        of_block = [np.concatenate([columns, columns + n_columns]) for columns in of_block]
    of_use = ~np.isnan(returns).all(axis=1)
    features = features[:, used]
    gram = gram[np.ix_(used, used)]
    if not of_use.all():
        features, returns = features[of_use], returns[of_use]
        gram = features.T @ features
    theta[used, targets.shape[1] :] = _fit_blocks(features, gram, returns, of_block)
    return theta[-1].copy(), theta[:n_columns].copy(), theta[n_columns:-1].copy()


def _penalised(gram, n_states):
    """Mean of the squares, and the ridge on all but the bias, which comes last."""
    gram = gram / n_states
    at = np.arange(gram.shape[0] - 1)
    gram[at, at] += _RIDGE
    return gram


def _fit_blocks(features, gram, returns, own):
    n_states, n_blocks = returns.shape
    theta = np.zeros((features.shape[1], n_blocks))
    theta[-1] = -np.inf
    if n_states == 0 or n_blocks == 0:
        return theta
    missing = np.isnan(returns)
    products = features.T @ np.where(missing, 0.0, returns) / n_states
    for b, j in enumerate(own):
        products[j, b] = 0.0
    inverse = np.linalg.inv(_penalised(gram, n_states))
    shared = inverse @ products
    for b, j in enumerate(own):
        out = missing[:, b]
        n_left = n_states - int(out.sum())
        if n_left == n_states:
            small = np.linalg.solve(inverse[np.ix_(j, j)], shared[j, b])
            theta[:, b] = shared[:, b] - inverse[:, j] @ small
            theta[j, b] = 0.0
        elif n_left > 0:
            # This block has other states, hence its own Gram matrix.
            kept = np.delete(np.arange(gram.shape[0]), j)
            if n_left < n_states // 2:
                own_gram = features[~out].T @ features[~out]
            else:
                own_gram = gram - features[out].T @ features[out]
            theta[:, b] = 0.0
            theta[kept, b] = np.linalg.solve(
                _penalised(own_gram[np.ix_(kept, kept)], n_left),
                products[kept, b] * (n_states / n_left),
            )
    return theta
