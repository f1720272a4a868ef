"""A kernel for NVIDIA cards, imported only where torch has one."""

import triton
import triton.language as tl

_ROWS, _COLUMNS, _WARPS = 4, 512, 4


def add_rows(X, rows, starts, stops, weights, origin, parts):
    """Weighted sums of ``X - origin`` and of its squares over ``rows[start:stop]``.

    `X` (n_samples, n_features); `rows` (n_samples,); `starts`, `stops` (n_splits,); `weights`,
    `origin` (n_samples,), (n_features,); `parts` (2, n_splits, n_features): receives the sums.
    """
    grid = (triton.cdiv(X.shape[1], _COLUMNS), starts.shape[0])
    _add_rows[grid](
        X,
        rows,
        starts,
        stops,
        weights,
        origin,
        parts,
        parts[1],
        X.stride(0),
        X.shape[1],
        ROWS=_ROWS,
        COLUMNS=_COLUMNS,
        num_warps=_WARPS,
    )


@triton.jit
def _add_rows(
    X,
    rows,
    starts,
    stops,
    weights,
    origin,
    sums,
    squares,
    stride,
    n_columns,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    split = tl.program_id(1).to(tl.int64)
    start, stop = tl.load(starts + split), tl.load(stops + split)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n_columns
    first = tl.load(origin + columns, mask=inside, other=0.0)
    total = tl.zeros([ROWS, COLUMNS], tl.float64)
    square = tl.zeros([ROWS, COLUMNS], tl.float64)
    for at in range(start, stop, ROWS):
        place = at + tl.arange(0, ROWS)
        used = place < stop
        row = tl.load(rows + place, mask=used, other=0)
        weight = tl.load(weights + row, mask=used, other=0.0)
        where = X + row[:, None] * stride + columns[None, :]
        value = tl.load(where, mask=used[:, None] & inside[None, :], other=0.0)
        away = value.to(tl.float64) - first[None, :]
        weighted = weight[:, None] * away
        total += weighted
        square += weighted * away
    out = split * n_columns + columns
    tl.store(sums + out, tl.sum(total, axis=0), mask=inside)
    tl.store(squares + out, tl.sum(square, axis=0), mask=inside)
