"""Class moments of an array on a device: one read of X at the bandwidth of its memory.

Rows are taken class by class, so a block of rows belongs to one class and needs two running sums
per column, of x - x0 and of its square, whatever the number of classes; x0 is the first row, so
nothing cancels. Sums are of 64 bits. On NVIDIA cards a kernel of Triton reads X once; elsewhere
blocks of rows are converted to 64 bits and multiplied.
"""

from itertools import pairwise

import numpy as np

from tamis._array import from_host, is_single, namespace, rows_in_double, to_host
from tamis._base import count_classes

# Rows of one class that a program of the kernel adds up.
_SPLIT_ROWS = 512


def device_sums(X, codes, n_classes, weights):
    """Weighted sums of ``X - X[0]`` and of its squares for each class.

    `X` (n_samples, n_features); `codes` (n_samples,); `weights` (n_samples,) or None: None for
    ones. Returns `origin` (n_features,): the first row; `sums`, `squares` (n_classes, n_features).
    """
    origin = to_host(X[0, :]).astype(np.float64)
    if _has_triton(X):
        return origin, *_read_once(X, codes, n_classes, weights, origin)
    xp = namespace(X)
    first = from_host(origin, X)
    indicator = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    if weights is not None:
        indicator *= weights[:, None]
    indicator = from_host(indicator, X)
    sums = squares = 0.0
    for rows, part in rows_in_double(X):
        away, of_class = part - first, xp.matrix_transpose(indicator[rows, :])
        sums = sums + of_class @ away
        squares = squares + of_class @ (away * away)
    return origin, to_host(sums), to_host(squares)


def _has_triton(X):
    if not is_single(X) or getattr(X.device, "type", "") != "cuda" or X.stride(1) != 1:
        return False
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def _read_once(X, codes, n_classes, weights, origin):
    import torch

    from tamis.centers._triton_kernels import add_rows

    place = {"device": X.device}
    small = np.min_scalar_type(n_classes)
    order = torch.argsort(torch.as_tensor(codes.astype(small), **place), stable=True)
    ends = np.cumsum(count_classes(codes, n_classes))
    starts, stops, owners = [], [], []
    for c, (first, last) in enumerate(pairwise([0, *ends.tolist()])):
        some = range(first, last, _SPLIT_ROWS)
        starts += some
        stops += [min(start + _SPLIT_ROWS, last) for start in some]
        owners += [c] * len(some)
    parts = torch.empty((2, len(starts), X.shape[1]), dtype=torch.float64, **place)
    splits = torch.as_tensor([starts, stops], **place)
    if weights is None:
        weights = torch.ones(len(codes), dtype=torch.float64, **place)
    else:
        weights = torch.as_tensor(weights, **place)
    add_rows(X, order, *splits, weights, torch.as_tensor(origin, **place), parts)
    # One sum for each class in a fixed order: index_add_ would add in any.
    bounds = np.searchsorted(owners, np.arange(n_classes + 1))
    sums = torch.stack([parts[:, a:b].sum(1) for a, b in pairwise(bounds)])
    return tuple(to_host(sums).swapaxes(0, 1))
