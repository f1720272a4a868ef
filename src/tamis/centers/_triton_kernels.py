"""Kernels for NVIDIA cards, imported only where torch has one."""

import triton
import triton.language as tl

_ROWS, _COLUMNS, _WARPS = 4, 512, 4
_FEW_COLUMNS = 64


def add_rows(X, rows, bounds, first_splits, owners, weights, parts, split_rows):
    """Weighted sums of ``X - X[0]`` and of its squares over splits of the rows of each class.

    `X` (n_samples, n_features); `rows` (n_samples,): class by class; `bounds` (n_classes + 1,):
    where the rows of each class start; `first_splits` (n_classes,): its first split; `owners`
    (n_splits,): class of each split, n_classes for an empty one; `weights` (n_samples,) or None;
    `parts` (2, n_splits, n_features): receives the sums of at most `split_rows` rows.
    """
    grid = (triton.cdiv(X.shape[1], _COLUMNS), owners.shape[0])
    _add_rows[grid](
        X,
        rows,
        bounds,
        first_splits,
        owners,
        rows if weights is None else weights,
        parts,
        parts[1],
        X.stride(0),
        X.shape[1],
        first_splits.shape[0],
        SPLIT=split_rows,
        IS_WEIGHTED=weights is not None,
        ROWS=_ROWS,
        COLUMNS=_COLUMNS,
        num_warps=_WARPS,
    )


@triton.jit
def _add_rows(
    X,
    rows,
    bounds,
    first_splits,
    owners,
    weights,
    sums,
    squares,
    stride,
    n_columns,
    n_classes,
    SPLIT: tl.constexpr,
    IS_WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    split = tl.program_id(1).to(tl.int64)
    owner = tl.load(owners + split)
    if owner < n_classes:
        start = tl.load(bounds + owner) + SPLIT * (split - tl.load(first_splits + owner))
        stop = tl.minimum(start + SPLIT, tl.load(bounds + owner + 1))
        columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
        inside = columns < n_columns
        first = tl.load(X + columns, mask=inside, other=0.0).to(tl.float64)
        total = tl.zeros([ROWS, COLUMNS], tl.float64)
        square = tl.zeros([ROWS, COLUMNS], tl.float64)
        for at in range(start, stop, ROWS):
            place = at + tl.arange(0, ROWS)
            used = place < stop
            row = tl.load(rows + place, mask=used, other=0)
            where = X + row[:, None] * stride + columns[None, :]
            value = tl.load(where, mask=used[:, None] & inside[None, :], other=0.0)
            away = value.to(tl.float64) - first[None, :]
            if IS_WEIGHTED:
                weighted = tl.load(weights + row, mask=used, other=0.0)[:, None] * away
            else:
                away = tl.where(used[:, None], away, 0.0)
                weighted = away
            total += weighted
            square += weighted * away
        out = split * n_columns + columns
        tl.store(sums + out, tl.sum(total, axis=0), mask=inside)
        tl.store(squares + out, tl.sum(square, axis=0), mask=inside)


def divide_sums(X, parts, starts, stops, divisor, found):
    """The first row of X, and means and variances of each class from the sums of its splits.

    Splits are added in their order. `parts` (2, n_splits, n_features); `starts`, `stops`
    (n_classes,): splits of each class; `divisor` (n_classes,); `found` (1 + 2 n_classes,
    n_features): receives the result.
    """
    grid = (triton.cdiv(X.shape[1], _FEW_COLUMNS), starts.shape[0])
    _divide_sums[grid](
        X, parts, parts[1], starts, stops, divisor, found, X.shape[1], COLUMNS=_FEW_COLUMNS
    )


@triton.jit
def _divide_sums(
    X, sums, squares, starts, stops, divisor, found, n_columns, COLUMNS: tl.constexpr
):
    owner = tl.program_id(1)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n_columns
    total = tl.zeros([COLUMNS], tl.float64)
    square = tl.zeros([COLUMNS], tl.float64)
    for split in range(tl.load(starts + owner), tl.load(stops + owner)):
        total += tl.load(sums + split * n_columns + columns, mask=inside, other=0.0)
        square += tl.load(squares + split * n_columns + columns, mask=inside, other=0.0)
    by = tl.load(divisor + owner)
    mean = total / by
    variance = (square - total * mean) / by
    variance = tl.where(variance < 0.0, 0.0, variance)  # NaN stays
    n_classes = tl.num_programs(1)
    tl.store(found + (1 + owner) * n_columns + columns, mean, mask=inside)
    tl.store(found + (1 + n_classes + owner) * n_columns + columns, variance, mask=inside)
    if owner == 0:
        first = tl.load(X + columns, mask=inside, other=0.0).to(tl.float64)
        tl.store(found + columns, first, mask=inside)
