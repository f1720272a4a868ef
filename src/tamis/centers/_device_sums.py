"""Class moments of an array on a device: one read of X at the bandwidth of its memory.

Rows are taken class by class, so a block of rows belongs to one class and needs two running sums
per column, of x - x0 and of its square, whatever the number of classes; x0 is the first row, so
nothing cancels. Sums are of 64 bits. On NVIDIA cards a kernel of Triton reads X once; elsewhere
blocks of rows are converted to 64 bits and multiplied.
"""

from itertools import pairwise

import numpy as np

from tamis._array import clip, from_host, is_single, namespace, rows_in_double, to_host
from tamis._base import count_classes

# Rows of one class that a program of the kernel adds up.
_SPLIT_ROWS = 512


def device_moments(X, codes, n_classes, weights):
    """Weights, means and variances of each class, relative to the first row.

    `X` (n_samples, n_features); `codes` (n_samples,); `weights` (n_samples,) or None: None for
    ones. Returns `weight` (n_classes,); `origin` (n_features,): the first row; `mean`, `variance`
    (n_classes, n_features): the mean is that of ``X - origin``.
    """
    xp = namespace(X)
    first = xp.astype(X[0, :], xp.float64)
    add_up = _read_once if _has_triton(X) else _multiply
    sums, squares, weight, divisor = add_up(X, codes, n_classes, weights, first)
    mean = sums / divisor
    variance = clip((squares - sums * mean) / divisor, 0.0, None)
    # One copy to the host, after which nothing is left to compute.
    found = to_host(xp.concat([first[None, :], mean, variance]))
    return weight, found[0], found[1 : 1 + n_classes], found[1 + n_classes :]


def _weigh(X, codes, n_classes, weights):
    """Weights of the classes, and what their sums are divided by, where X is."""
    if weights is None:
        weight = count_classes(codes, n_classes).astype(np.float64)
    else:
        weight = np.bincount(codes, weights, n_classes)
    return weight, from_host(np.where(weight > 0, weight, 1.0)[:, None], X)


def _multiply(X, codes, n_classes, weights, first):
    xp = namespace(X)
    indicator = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    if weights is not None:
        indicator *= weights[:, None]
    indicator = from_host(indicator, X)
    sums = squares = 0.0
    for rows, part in rows_in_double(X):
        away, of_class = part - first, xp.matrix_transpose(indicator[rows, :])
        sums = sums + of_class @ away
        squares = squares + of_class @ (away * away)
    return sums, squares, *_weigh(X, codes, n_classes, weights)


def _has_triton(X):
    if not is_single(X) or getattr(X.device, "type", "") != "cuda" or X.stride(1) != 1:
        return False
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def _read_once(X, codes, n_classes, weights, first):
    import torch

    from tamis.centers._triton_kernels import add_rows

    place = {"device": X.device}
    small = np.min_scalar_type(n_classes)
    order = torch.argsort(torch.as_tensor(codes.astype(small), **place), stable=True)
    # The host counts while the device sorts; all copies to it come before the kernel, because
    # they would wait for it.
    weight, divisor = _weigh(X, codes, n_classes, weights)
    ends = np.cumsum(
        weight.astype(np.int64) if weights is None else count_classes(codes, n_classes)
    )
    starts, stops, owners = [], [], []
    for c, (start, stop) in enumerate(pairwise([0, *ends.tolist()])):
        some = range(start, stop, _SPLIT_ROWS)
        starts += some
        stops += [min(at + _SPLIT_ROWS, stop) for at in some]
        owners += [c] * len(some)
    parts = torch.empty((2, len(starts), X.shape[1]), dtype=torch.float64, **place)
    splits = torch.as_tensor([starts, stops], **place)
    if weights is None:
        weights = torch.ones(len(codes), dtype=torch.float64, **place)
    else:
        weights = torch.as_tensor(weights, **place)
    add_rows(X, order, *splits, weights, first, parts)
    # One sum for each class in a fixed order: index_add_ would add in any.
    bounds = np.searchsorted(owners, np.arange(n_classes + 1))
    both = torch.stack([parts[:, a:b].sum(1) for a, b in pairwise(bounds)])
    return both[:, 0], both[:, 1], weight, divisor
