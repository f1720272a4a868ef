r"""Nearest rows on a device: the same lists as `tamis.landmarks.neighbors`, found on a GPU.

A product of the maps in 64 bits gives :math:`\|b_j\|^2 - 2 a_i \cdot b_j` of all pairs, a block of
queries at a time. Somewhat more rows than asked for are kept, those with the smallest values, and
measured by their differences, rounded as the compiled search rounds them, so that the order (by
distance, then by index) is the same. A list is proven if its last distance is below what the rows
that were not kept can have, by the smallest value among them and its rounding error; the few other
queries, such as those with many equal rows, are given back to be searched elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import to_host
from tamis._base import send_to_device

# Rows kept besides those asked for.
_SPARE = 11
_BLOCK_VALUES = 200_000_000
# Groups of columns whose minima are compared first.
_GROUPS = 1024
_SAME_DIRECTION = 1e-15


def search_on_device(
    A: NDArray, B: NDArray, k: int, metrics: Collection[str], device: str
) -> dict[str, tuple[NDArray, NDArray, NDArray]]:
    """Find the k rows of `B` nearest to each row of `A`.

    `A`, `B` (n_queries, K), (n_rows, K).
    """
    a, b = (send_to_device(np.ascontiguousarray(rows), device) for rows in (A, B))
    step = max(1, _BLOCK_VALUES // len(B))
    found = {}
    for metric in metrics:
        is_angle = metric == "angle"
        queries, rows = (_to_unit(a), _to_unit(b)) if is_angle else (a, b)
        starts = range(0, len(A), step)
        parts = [_search(queries[start : start + step], rows, k, is_angle) for start in starts]
        indices, distances, proven = (np.concatenate(part) for part in zip(*parts, strict=True))
        found[metric] = indices, 2.0 * np.arctan(distances) if is_angle else distances, proven
    return found


def _to_unit(rows: Any) -> Any:
    """Rows of length 1; those of zeros stay."""
    norms = (rows * rows).sum(1, keepdim=True).sqrt()
    return rows / norms.masked_fill(norms == 0, 1.0)


def _search(a: Any, b: Any, k: int, is_angle: bool) -> tuple[NDArray, NDArray, NDArray]:
    import torch

    n_kept = min(k + _SPARE, b.shape[0])
    mean = b.mean(0)
    a0, b0 = a - mean, b - mean
    squares_a, squares_b = (a0 * a0).sum(1), (b0 * b0).sum(1)
    near, kept = _smallest(-2.0 * a0, b0, squares_b, n_kept)
    kept = torch.sort(kept, dim=1).values  # equal distances: the lower index first
    distances = _measure(a[:, None, :], b[kept], is_angle)
    order = torch.argsort(distances, dim=1, stable=True)[:, :k]
    indices, distances = (torch.gather(v, 1, order) for v in (kept, distances))
    last = distances[:, -1] ** 2
    if is_angle:
        last = 4.0 / (1.0 + 1.0 / last)  # squared distance of points at this angle
    rounding = 8.0 * (b.shape[1] + 8) * 2.0**-53 * (squares_a + squares_b.max())
    limit = near.amax(1) + squares_a
    proven = (last * (1.0 + 1e-11) < limit - rounding) | (n_kept == b.shape[0])
    return to_host(indices), to_host(distances), to_host(proven & torch.isfinite(squares_a))


def _smallest(a: Any, b: Any, shift: Any, n_kept: int) -> tuple[Any, Any]:
    """The smallest values of ``a @ b.T + shift`` in each row, and their columns.

    A column among the `n_kept` smallest is in one of the `n_kept` groups of columns with the
    smallest minima. Minima are one pass, and what is left to sort is a small part.
    """
    import torch

    n_rows = b.shape[0]
    size = -(-n_rows // _GROUPS)
    if size < 4 or n_kept > _GROUPS // 4:
        near = torch.topk(a @ b.T + shift, n_kept, dim=1, largest=False, sorted=False)
        return near.values, near.indices
    ones = torch.ones((a.shape[0], 1), dtype=a.dtype, device=a.device)
    right = torch.zeros((b.shape[1] + 1, size * _GROUPS), dtype=b.dtype, device=b.device)
    right[:-1, :n_rows], right[-1] = b.T, torch.inf
    right[-1, :n_rows] = shift
    values = torch.hstack([a, ones]) @ right
    least = values.view(-1, size, _GROUPS).amin(1)
    groups = torch.topk(least, n_kept, dim=1, largest=False, sorted=False).indices
    steps = _GROUPS * torch.arange(size, device=a.device)
    columns = (groups[:, :, None] + steps).flatten(1)
    near = torch.topk(values.gather(1, columns), n_kept, dim=1, largest=False, sorted=False)
    return near.values, columns.gather(1, near.indices)


def _measure(a: Any, rows: Any, is_angle: bool) -> Any:
    """Distances or tangents of half the angles, rounded to 41 bits."""
    import torch

    distances = ((a - rows) ** 2).sum(2).sqrt()
    if is_angle:
        far = ((a + rows) ** 2).sum(2).sqrt()
        same = distances <= _SAME_DIRECTION
        distances = torch.where(same, torch.zeros_like(far), distances / far)
    scaled = distances * 4097.0
    rounded = scaled - (scaled - distances)
    return torch.where(torch.isfinite(rounded), rounded, distances)
