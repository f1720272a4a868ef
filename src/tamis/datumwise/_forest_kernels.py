"""Compiled kernels of the forests: means over cells, and what splits gain.

See `_descent_kernels` for the nodes.
"""

import numpy as np

from tamis._compile import compiled
from tamis.datumwise._descent_kernels import FEATURE, LEFT, next_node

__all__ = ["cell_means", "local_means", "mean_rows", "node_gains", "path_gains"]


@compiled
def mean_rows(cells, table):
    """Mean over the trees of the table's rows of the cells."""
    n_rows, n_trees = cells.shape
    means = np.zeros((n_rows, table.shape[1]))
    for r in range(n_rows):
        for t in range(n_trees):
            cell = cells[r, t]
            for k in range(table.shape[1]):
                means[r, k] += table[cell, k]
        for k in range(table.shape[1]):
            means[r, k] /= n_trees
    return means


@compiled
def cell_means(cells, values, n_cells):
    """Mean in each cell of the values of the rows that end there: (n_cells, n_values)."""
    n_rows, n_trees = cells.shape
    n_values = values.shape[1]
    means = np.zeros((n_cells, n_values))
    weight = np.zeros(n_cells)
    for r in range(n_rows):
        for t in range(n_trees):
            cell = cells[r, t]
            weight[cell] += 1.0
            for k in range(n_values):
                means[cell, k] += values[r, k]
    for cell in range(n_cells):
        if weight[cell] > 0:
            for k in range(n_values):
                means[cell, k] /= weight[cell]
    return means


@compiled
def local_means(values, rows, cells, others, other_cells, shares, means):
    """Mean over the trees of the mean value of the training rows in each other row's cells.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_values)
    rows, others : ndarray of int64
        Training rows and the other rows.
    cells, other_cells : ndarray of int32 of shape (n_rows, n_trees)
        Their cells.
    shares : ndarray of shape (n_cells,)
        One over the number of training rows in each cell.
    means : ndarray of shape (n_samples, n_values)
        Written for the other rows.
    """
    n_values, n_trees = values.shape[1], cells.shape[1]
    table = np.zeros((shares.size, n_values))
    for r in range(rows.size):
        for t in range(n_trees):
            cell = cells[r, t]
            for k in range(n_values):
                table[cell, k] += values[rows[r], k]
    for cell in range(shares.size):
        for k in range(n_values):
            table[cell, k] *= shares[cell]
    for r in range(others.size):
        row = others[r]
        for k in range(n_values):
            means[row, k] = 0.0
        for t in range(n_trees):
            cell = other_cells[r, t]
            for k in range(n_values):
                means[row, k] += table[cell, k]
        for k in range(n_values):
            means[row, k] /= n_trees


@compiled
def _gini_indices(shares):
    gini = np.ones(shares.shape[0])
    for v in range(shares.shape[0]):
        for c in range(shares.shape[1]):
            gini[v] -= shares[v, c] * shares[v, c]
    return gini


@compiled
def path_gains(XT, trees, masses, shares):
    """How much each feature reduces the impurity along the path of each row down the trees.

    Parameters
    ----------
    masses : ndarray of shape (n_nodes,)
        Weight of the rows of each node.

    Returns
    -------
    gains : ndarray of shape (n_samples, n_features)
        Sum over the nodes of the path of the decrease of the Gini index; mean over the trees.
    """
    n_features, n_samples = XT.shape
    gini = _gini_indices(shares)
    gains = np.zeros((n_samples, n_features))
    nodes, n_trees = trees.nodes, trees.offsets.size - 1
    decrease = np.zeros(gini.size)
    for v in range(gini.size):
        if nodes[v, FEATURE] >= 0:
            child = nodes[v, LEFT]
            below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
            decrease[v] = (gini[v] - below / masses[v]) / n_trees
    for t in range(n_trees):
        for row in range(n_samples):
            v = trees.offsets[t]
            while nodes[v, FEATURE] >= 0:
                gains[row, nodes[v, FEATURE]] += decrease[v]
                v = next_node(trees, v, XT[nodes[v, FEATURE], row])
    return gains


@compiled
def node_gains(nodes, masses, shares, n_features):
    """Total decrease of the Gini index by the splits of each feature: (n_features,)."""
    gini = _gini_indices(shares)
    gains = np.zeros(n_features)
    for v in range(gini.size):
        if nodes[v, FEATURE] >= 0:
            child = nodes[v, LEFT]
            below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
            gains[nodes[v, FEATURE]] += masses[v] * gini[v] - below
    return gains
