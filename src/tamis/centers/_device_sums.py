"""Class moments of an array on a device: one read of X at the bandwidth of its memory.

Rows are taken class by class, so a block of rows belongs to one class and needs two running sums
per column, of x - x0 and of its square, whatever the number of classes; x0 is the first row, so
nothing cancels. Sums are of 64 bits. On NVIDIA cards a kernel of Triton reads X once; elsewhere
blocks of rows are converted to 64 bits and multiplied.
"""

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
    moments = _read_once if _has_triton(X) else _multiply
    # One copy to the host, after which nothing is left to compute.
    weight, found = moments(X, codes, n_classes, weights)
    return weight, found[0], found[1 : 1 + n_classes], found[1 + n_classes :]


def _weigh(codes, n_classes, weights):
    """Weights of the classes, and what their sums are divided by."""
    if weights is None:
        weight = count_classes(codes, n_classes).astype(np.float64)
    else:
        weight = np.bincount(codes, weights, n_classes)
    return weight, np.where(weight > 0, weight, 1.0)


def _multiply(X, codes, n_classes, weights):
    xp = namespace(X)
    first = xp.astype(X[0, :], xp.float64)
    indicator = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    if weights is not None:
        indicator *= weights[:, None]
    indicator = from_host(indicator, X)
    sums = squares = 0.0
    for rows, part in rows_in_double(X):
        away, of_class = part - first, xp.matrix_transpose(indicator[rows, :])
        sums = sums + of_class @ away
        squares = squares + of_class @ (away * away)
    weight, divisor = _weigh(codes, n_classes, weights)
    divisor = from_host(divisor[:, None], X)
    mean = sums / divisor
    variance = clip((squares - sums * mean) / divisor, 0.0, None)
    return weight, to_host(xp.concat([first[None, :], mean, variance]))


def _has_triton(X):
    if not is_single(X) or getattr(X.device, "type", "") != "cuda" or X.stride(1) != 1:
        return False
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def _read_once(X, codes, n_classes, weights):
    """The host waits for the card only at the end: what it does not ask, it need not wait for."""
    import torch

    from tamis.centers._triton_kernels import add_rows, divide_sums

    place = {"device": X.device}
    small = codes.astype(np.uint8 if n_classes < 256 else np.int32)
    ordered, order = torch.sort(torch.as_tensor(small, **place), stable=True)
    classes = torch.arange(n_classes + 1, dtype=ordered.dtype, **place)
    bounds = torch.searchsorted(ordered, classes)
    n_splits = (bounds.diff() + (_SPLIT_ROWS - 1)) // _SPLIT_ROWS  # of each class
    ends = torch.cumsum(n_splits, 0)
    splits = torch.arange(
        len(codes) // _SPLIT_ROWS + n_classes, **place
    )  # the last ones are empty
    owners = torch.searchsorted(ends, splits, right=True)
    parts = torch.empty((2, len(splits), X.shape[1]), dtype=torch.float64, **place)
    found = torch.empty((1 + 2 * n_classes, X.shape[1]), dtype=torch.float64, **place)
    if weights is None:
        divisor = bounds.diff().clamp(min=1).double()
    else:
        weight, divisor = _weigh(codes, n_classes, weights)
        weights, divisor = torch.as_tensor(weights, **place), torch.as_tensor(divisor, **place)
    add_rows(X, order, bounds, ends - n_splits, owners, weights, parts, _SPLIT_ROWS)
    divide_sums(X, parts, ends - n_splits, ends, divisor, found)
    if weights is None:
        weight, _ = _weigh(codes, n_classes, None)  # while the card adds up
    return weight, torch.empty_like(found, device="cpu", pin_memory=True).copy_(found).numpy()
