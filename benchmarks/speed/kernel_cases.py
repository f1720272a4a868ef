"""What `ablation.py` measures of the compiled kernels: cases, and numpy in place of kernels.

A case calls a public function on data above the size from which on its kernels are used, and names
what replaces them: the numpy version of `src` (its threshold is raised), a simpler kernel, or the
plain numpy of this module. `WITHOUT_ANOTHER` lists the kernels that have no other version.
"""

from typing import NamedTuple

import numpy as np
from centers import normal, zipf_counts
from panel_words import make_words
from scipy import sparse
from sklearn.datasets import make_classification

from tamis import (
    DatumWiseClassifier,
    LandmarkClassifier,
    LandmarkSearchCV,
    LandmarkTransformer,
    PanelClassifier,
    SparseCenterClassifier,
    rank_features_by_class,
)
from tamis.centers import (
    class_counts,
    median_search,
    medians,
    segments,
    sparse_medians,
    statistics,
    terms,
    usual_counts,
)
from tamis.datumwise import forest
from tamis.guarantees import StableSelector, shares, true_features
from tamis.landmarks import distances, heads, neighbors, votes
from tamis.panel import l1_path
from tamis.paths import folds, make_folds
from tamis.projections import (
    _sums,
    project_l1_ball,
    project_l12_ball,
    project_simplex,
    project_weighted_l1_ball,
)

WITHOUT_ANOTHER = {
    "datumwise: grow_trees": "one walk through the rows of each node; numpy would need several "
    "calls for each of thousands of nodes, and other trees would come from other random numbers",
    "datumwise: _returns, _follow, _add_block, is_dear, pay, forbid_dear": "rollouts that stop at "
    "different steps and stop where they meet another one; no short numpy version",
    "datumwise: run_batch, _buy, _write, first_largest": "rows stop at different steps and have "
    "budgets of their own; no short numpy version",
    "landmarks: _insert, _sum_all, _keep_digits": "called inside select_nearest and sparse_keys "
    "only, and measured with them",
}


class Case(NamedTuple):
    """Kernels, a call that uses them, and what replaces them."""

    room: str
    kernels: str
    call: str
    other: str
    make: object  # () -> the call
    parts: list  # (module, name, value)


# Switches.


def small(*modules):
    """Make the functions of these modules use their numpy versions."""
    return [(module, "WORTH_COMPILING", np.inf) for module in modules]


def small_inside(module, name):
    """The same for one function of a module."""
    function = getattr(module, name)

    def by_numpy(*arguments):
        before, module.WORTH_COMPILING = module.WORTH_COMPILING, np.inf
        try:
            return function(*arguments)
        finally:
            module.WORTH_COMPILING = before

    return [(module, name, by_numpy)]


def nothing(*arguments):
    return None


# Numpy in place of kernels.


def count_digits(entries, sign, shift, lowest, counts, after):
    """Digits of keys, of entries (bits, column, class, weight): see `_key_kernels`."""
    bits, column, code, weight = entries
    n_columns, n_classes, _, n_digits = counts.shape
    bits = bits.astype(np.uint64)
    negative = np.where(bits == sign, sign, (sign - np.uint64(1)) - (bits - sign))
    keys = np.where(bits & sign, negative, bits | sign) >> shift
    for part, target in enumerate((code, np.full_like(code, n_classes))):
        start = lowest[column, target]
        digit = keys - start
        inside = digit < n_digits
        place = (column * n_classes + code)[inside] * n_digits + digit[inside].astype(np.int64)
        found = np.bincount(place, weight[inside], n_columns * n_classes * n_digits)
        counts[:, :, part] += found.reshape(n_columns, n_classes, n_digits)
        if shift == 0:
            above = ~inside & (keys > start)
            np.minimum.at(after, (column[above], target[above]), keys[above])


def add_deviations(entries, lower, median, common, sums):
    """Absolute deviations, of entries (value, column, class, weight)."""
    x, column, code, weight = entries
    low, other = lower[column, code], common[column]
    between = np.where((low < x) & (x < other), other - x, 0.0)
    between += np.where((other < x) & (x < low), x - other, 0.0)
    place = column * lower.shape[1] + code
    for part, values in enumerate((np.abs(x - median[column, code]), between)):
        found = np.bincount(place, weight * values, lower.size)
        sums[..., part] += found.reshape(lower.shape)


def of_dense(values, codes, weights, step):
    n_rows, n_columns = values.shape
    rows = np.repeat(np.arange(n_rows), n_columns)
    return values.ravel(), np.tile(np.arange(n_columns), n_rows), codes[rows], weights[rows * step]


def of_sparse(values, place, indptr, codes, weights, step):
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))[place >= 0]
    return values[place >= 0], place[place >= 0], codes[rows], weights[rows * step]


def dense_digits(values, sign, codes, weights, step, *rest):
    count_digits(of_dense(values, codes, weights, step), sign, *rest)


def csr_digits(values, sign, place, indptr, codes, weights, step, *rest):
    count_digits(of_sparse(values, place, indptr, codes, weights, step), sign, *rest)


def dense_deviations(X, first, codes, weights, step, lower, median, common, sums):
    values = X[:, first : first + common.size].astype(np.float64)
    add_deviations(of_dense(values, codes, weights, step), lower, median, common, sums)


def csr_deviations(data, place, indptr, codes, weights, step, *rest):
    add_deviations(of_sparse(data, place, indptr, codes, weights, step), *rest)


def deal(order, bounds, codes, n_classes, n_folds):
    """Folds of groups: the folds of one group at once."""
    rows = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
    table = np.bincount(rows * n_classes + codes, minlength=(bounds.size - 1) * n_classes)
    table = table.reshape(-1, n_classes).astype(float)
    scale = 1.0 / np.maximum(table.sum(axis=0), 1.0) ** 2
    count, size = np.zeros((n_folds, n_classes)), np.zeros(n_folds)
    fold_of = np.empty(order.size, np.int64)
    for g in order:
        crowd = count @ (table[g] * scale)
        best = np.flatnonzero(crowd == crowd.min())
        best = best[size[best].argmin()]
        count[best] += table[g]
        size[best] += table[g].sum()
        fold_of[g] = best
    return fold_of


def median_gains(values, distances, order, labels, sizes, says, gains):
    n_columns = values.shape[0]
    for b, row in enumerate(labels):
        code = row[order]
        gains[:, b] = 0.0
        for c, size in enumerate(sizes):
            mine = code == c
            side = np.sign(2 * np.arange(size) + 1 - size)
            inside = values[mine].reshape(n_columns, size) @ side
            away = distances[mine].reshape(n_columns, size).sum(axis=1)
            gains[:, b] += says[c] * (away - inside)


def median_shares(values, order, labels, sizes, weights, n_classes, found):
    n_columns = values.shape[0]
    for b, row in enumerate(labels):
        code = row[order]
        for s in range(found.shape[2]):
            mine = code // n_classes == s
            weight = weights[b][code[mine]].reshape(n_columns, -1)
            value = values[mine].reshape(n_columns, -1)
            upto = weight.cumsum(axis=1)
            below = upto - weight
            change = np.minimum(below, n_classes - below) - np.minimum(upto, n_classes - upto)
            spread, within = (change * value).sum(axis=1), np.zeros(n_columns)
            for c in range(s * n_classes, (s + 1) * n_classes):
                size = sizes[b, c]
                if size:
                    side = np.sign(2 * np.arange(size) + 1 - size)
                    within += values[code == c].reshape(n_columns, size) @ side * weights[b, c]
            safe = np.where(spread > 1e-14, spread, np.inf)
            found[:, b, s] = np.where(spread > 1e-14, 1.0 - within / safe, 0.0)


def finish(near, far, is_angle):
    """Distances or tangents from sums of squares, to 41 bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = np.sqrt(near)
        if is_angle:
            keys = np.where(keys <= 1e-15, 0.0, keys / np.sqrt(far))
        scaled = keys * 4097.0
        return np.where(np.isfinite(keys), scaled - (scaled - keys), keys)


def dense_keys(X, RT, is_angle):
    """Feature by feature if rows are few, else landmark by landmark."""
    near, far = np.zeros((2, X.shape[0], RT.shape[1]))
    if X.shape[0] < RT.shape[1]:
        for x, r in zip(X.T, RT, strict=True):
            near += (x[:, None] - r) ** 2
            if is_angle:
                far += (x[:, None] + r) ** 2
        return finish(near, far, is_angle)
    for k, r in enumerate(RT.T):
        difference = X - r
        near[:, k] = np.einsum("ij,ij->i", difference, difference)
        if is_angle:
            total = X + r
            far[:, k] = np.einsum("ij,ij->i", total, total)
    return finish(near, far, is_angle)


def sparse_keys(data, indices, indptr, RT, is_angle):
    """Without the sums over all features where digits cancel."""
    n_rows = indptr.size - 1
    owner = np.repeat(np.arange(n_rows), np.diff(indptr))
    near, far = np.zeros((2, n_rows, RT.shape[1]))
    for k, r in enumerate(RT.T):
        there = r[indices]
        rest = r @ r - np.bincount(owner, there * there, n_rows)
        near[:, k] = np.bincount(owner, (data - there) ** 2, n_rows) + rest
        if is_angle:
            far[:, k] = np.bincount(owner, (data + there) ** 2, n_rows) + rest
    return finish(np.maximum(near, 0.0), far, is_angle)


def dense_norms(X):
    return np.sqrt(np.einsum("ij,ij->i", X, X))


def nearest_by_product(A, B, k, metrics, device=None):
    """From products in double precision, without exact distances or ties."""
    found = {}
    for metric in metrics:
        a, b = (distances.prepare(one, metric) for one in (A, B))
        squares = np.einsum("ij,ij->i", b, b)
        indices, keys = np.empty((len(a), k), np.int64), np.empty((len(a), k))
        for first in range(0, len(a), 512):
            some = slice(first, first + 512)
            away = squares - 2.0 * (a[some] @ b.T)
            best = np.argpartition(away, k - 1, axis=1)[:, :k]
            keys[some] = np.take_along_axis(away, best, axis=1)
            keys[some] += np.einsum("ij,ij->i", a[some], a[some])[:, None]
            rank = keys[some].argsort(axis=1, kind="stable")
            indices[some] = np.take_along_axis(best, rank, axis=1)
            keys[some] = np.take_along_axis(keys[some], rank, axis=1)
        keys = np.sqrt(np.maximum(keys, 0.0))
        found[metric] = indices, 2 * np.arcsin(keys / 2) if metric == "angle" else keys
    return found


def measure_all(A, BT, is_angle, indices, keys):
    away = dense_keys(A, BT, is_angle)
    indices[:] = away.argsort(axis=1, kind="stable")[:, : indices.shape[1]]
    keys[:] = np.take_along_axis(away, indices, axis=1)


def sums_of_counts(count, where, what, usual, sums, squares):
    for total, one, value in ((sums, usual, what), (squares, usual * usual, what * what)):
        excess = np.bincount(where, value - one, count.size)
        total[:] = (excess.reshape(count.shape) + one * count).T


def fill_shares(indices, distances, codes, class_weight, ks, by_distance, shares):
    label = codes[indices[:, : ks[-1]].T]
    mass = class_weight[label]
    if by_distance:
        d = distances[:, : ks[-1]].T
        mass = mass * np.divide(d[0], d, out=np.ones(d.shape), where=d != 0)
    for c in range(class_weight.size):
        shares[:, :, c] = np.cumsum(np.where(label == c, mass, 0.0), axis=0)[ks - 1]
    total, top = shares.sum(axis=2, keepdims=True), shares.max(axis=2, keepdims=True)
    shares[:] = np.where(top - shares <= votes._TIE * total, top, shares) / total


def residuals_of(rows, state, some):
    classes = rows.first + np.arange(state.intercept.size)
    target = rows.codes[some, None] == classes
    return rows.weights[some, None] * (target - 1.0 / (1.0 + np.exp(-state.margins[some])))


def fit_intercepts(rows, state):
    share = 1.0 / (1.0 + np.exp(-state.margins))
    target = rows.codes[:, None] == rows.first + np.arange(state.intercept.size)
    slope = rows.weights @ (target - share)
    step = np.clip(slope / (1e-10 + rows.weights @ (share * (1.0 - share))), -1.0, 1.0)
    state.intercept[:] += step
    state.margins[:] += step
    state.residuals[:] = residuals_of(rows, state, slice(None))


def block_slopes(blocks, state):
    shape = state.residuals.shape[0], blocks.column_starts.size - 1
    columns = sparse.csc_array((blocks.values, blocks.rows, blocks.column_starts), shape)
    slopes = columns.T @ state.residuals - blocks.ridge * state.coef
    lengths = np.sqrt(np.add.reduceat((slopes**2).sum(axis=1), blocks.block_starts[:-1]))
    factor = blocks.factor
    return np.divide(lengths, factor, out=np.zeros(factor.size), where=factor > 0)


def descend(blocks, rows, state, working, penalty, max_passes, tol):
    for _ in range(max_passes):
        fit_intercepts(rows, state)
        largest = 0.0
        for b in working:
            first, last = blocks.block_starts[b], blocks.block_starts[b + 1]
            stored = [slice(*blocks.column_starts[j : j + 2]) for j in range(first, last)]
            coef = state.coef[first:last]
            slopes = np.stack([blocks.values[s] @ state.residuals[blocks.rows[s]] for s in stored])
            moved = slopes + (blocks.curvature[b] - blocks.ridge) * coef
            length, limit = np.sqrt((moved**2).sum()), penalty * blocks.factor[b]
            share = (1.0 - limit / length) / blocks.curvature[b] if length > limit else 0.0
            change = share * moved - coef
            if not change.any():
                continue
            coef += change
            largest = max(largest, blocks.curvature[b] * np.sqrt((change**2).sum()))
            for s, step in zip(stored, change, strict=True):
                some = blocks.rows[s]
                state.margins[some] += blocks.values[s][:, None] * step
                state.residuals[some] = residuals_of(rows, state, some)
        if largest <= tol:
            return


# Calls.


def fit_centers(X, y, sample_weight=None, **parameters):
    model = SparseCenterClassifier(10, **parameters)
    return lambda: model.fit(X, y, sample_weight)


def fit_chunks(X, y):
    chunks = [(X[i::4], y[i::4]) for i in range(4)]
    return lambda: SparseCenterClassifier(3, metric="l1").fit_chunks(chunks)


def predict_path(X, y, **parameters):
    model = SparseCenterClassifier(10, **parameters).fit(X, y)
    return lambda: model.path_predict(X, [1, 2, 5, 10, 20, 50, 100, 200])


def generic_labels(X, terms_, levels, labels):
    """Two classes as if they were many."""
    found = np.empty(labels.shape, dtype=np.int32)
    terms._run(X, terms_, levels, found, np.empty((0, 0, 0)))
    labels[:] = found


def many(n_rows, n_columns, n_classes):
    X, _ = normal(n_rows, n_columns)
    return X, np.arange(n_rows) % n_classes


def by_columns(n_rows, n_columns):
    X, y = normal(n_rows, n_columns)
    return np.asfortranarray(X), y


def words(n_rows, n_columns, per_row, n_classes=2, form=sparse.csr_array):
    X, _ = zipf_counts(n_rows, n_columns, per_row)
    return form(X), np.arange(n_rows) % n_classes


def classified(n_rows, n_columns, n_classes=2):
    return make_classification(
        n_rows, n_columns, n_informative=8, n_classes=n_classes, random_state=0
    )


def project(function, shape, share, *weights):
    V = np.random.default_rng(0).normal(size=shape)
    given = [np.random.default_rng(1).uniform(0.1, 3.0, shape) for _ in weights]
    radius = share * float(np.abs(V).sum())
    return lambda: function(V, *given, radius)


def transform(X, distance="euclidean", n_landmarks=50):
    model = LandmarkTransformer("random", n_landmarks, distance=distance, random_state=0).fit(X)
    return lambda: model.transform(X)


def predict_neighbors(n_train, n_rows):
    X, y = classified(n_rows, 20)
    model = LandmarkClassifier(
        "random", min(60, n_train), classifier="knn", n_neighbors=10, random_state=0
    )
    model.fit(X[:n_train], y[:n_train])
    return lambda: model.predict(X)


def search_landmarks():
    X, y = classified(2000, 20)
    search = LandmarkSearchCV(n_configurations=32, ensemble_size=1, cv=3, random_state=0)
    return lambda: search.fit(X, y)


def predict_datumwise():
    X, y = classified(20_000, 20)
    model = DatumWiseClassifier(random_state=0).fit(X[:1000], y[:1000])
    return lambda: model.predict(X)


def select_stable():
    X, y = normal(118, 500)
    selector = StableSelector(SparseCenterClassifier(metric="l1"), random_state=0)
    return lambda: selector.fit(X, y)


def find_true_features():
    X, y = normal(118, 300)
    return lambda: true_features(X, y, metric="l1", n_permutations=200, random_state=0)


def fold_groups():
    rng = np.random.default_rng(0)
    codes, groups = rng.integers(0, 5, 100_000), rng.integers(0, 5000, 100_000)
    return lambda: make_folds(codes, groups, 5, 1, 0)


def fit_panel(n_rows, n_words):
    X, y = make_words(n_rows, n_words)
    return lambda: PanelClassifier(60, cv=2).fit(X, y)


def rank_by_class(form, n_rows=100_000, per_row=11.4):
    X, y = words(n_rows, 20_000, per_row, form=form)
    return lambda: rank_features_by_class(X, y)


# The table.

NUMPY = "numpy"
FIT, FIT_L1 = "SparseCenterClassifier.fit", 'SparseCenterClassifier(metric="l1").fit'
CHUNKS = 'SparseCenterClassifier(metric="l1").fit_chunks'
PATH = "SparseCenterClassifier.path_predict"
TRANSFORM, PREDICT = "LandmarkTransformer.transform", "LandmarkClassifier.predict"
SUMS, FINISH = small_inside(statistics, "_sums"), small_inside(statistics, "_finish")
NO_COUNTS = [(module, "count_usual_values", nothing) for module in (statistics, sparse_medians)]
NO_CLASSES = [(statistics, "_CACHED_SUMS", np.inf)]
NO_DIFFERENCES = [(terms, "_label_two_classes", generic_labels)]
BY_NUMPY = [(_sums, "LARGE", np.inf)]


def plain(module, *functions):
    return [(module, f.__name__, f) for f in functions]


def case(room, kernels, call, make, parts, other=NUMPY):
    return Case(room, kernels, call, other, make, parts)


def weighted(X, y, **parameters):
    return fit_centers(X, y, np.random.default_rng(0).uniform(0.5, 2.0, y.size), **parameters)


# fmt: off
CASES = [
    case("paths", "_deal", "make_folds, 5,000 groups", fold_groups, [(folds, "_deal", deal)]),
    case("centers", "dense_sums", f"{FIT}, 2,000 x 2,000",
         lambda: fit_centers(*normal(2000, 2000)), SUMS),
    case("centers", "dense_sums_by_column", f"{FIT}, Fortran order",
         lambda: fit_centers(*by_columns(2000, 1000)), SUMS),
    case("centers", "dense_sums_by_column", f"{FIT}, Fortran order",
         lambda: fit_centers(*by_columns(2000, 1000)),
         [(statistics, "dense_sums_by_column", statistics.dense_sums)], "dense_sums"),
    case("centers", "finish_moments", f"{FIT}, 20 x 200,000",
         lambda: fit_centers(*normal(20, 200_000)), FINISH),
    case("centers", "finish_moments", f"{FIT}, 400 x 10,000, 100 classes",
         lambda: fit_centers(*many(400, 10_000, 100)), FINISH),
    case("centers", "finish_moments", f"{FIT}, words, 20 classes",
         lambda: fit_centers(*words(100_000, 20_000, 11.4, 20)), FINISH),
    case("centers", "csr_sums", f"{FIT}, weighted words",
         lambda: weighted(*words(100_000, 20_000, 11.4)), SUMS),
    case("centers", "csr_sums_by_class", f"{FIT}, long sparse rows, 10 classes",
         lambda: fit_centers(*words(5000, 20_000, 200, 10)), NO_CLASSES, "csr_sums"),
    case("centers", "csr_sums_by_class", f"{FIT}, 200,000 words, 50 classes",
         lambda: fit_centers(*words(200_000, 200_000, 11.4, 50)), NO_CLASSES, "csr_sums"),
    case("centers", "csc_sums", f"{FIT}, CSC words",
         lambda: weighted(*words(100_000, 20_000, 11.4, form=sparse.csc_array)), SUMS),
    case("centers", "_csr_counts", f"{FIT}, words",
         lambda: fit_centers(*words(200_000, 20_000, 11.4)), small(usual_counts)),
    case("centers", "_csr_counts", f"{FIT}, words",
         lambda: fit_centers(*words(200_000, 20_000, 11.4)), NO_COUNTS, "csr_sums"),
    case("centers", "_csr_counts", f"{FIT}, 1,000,000 rows of words",
         lambda: fit_centers(*words(1_000_000, 270_000, 11.4)), NO_COUNTS, "csr_sums"),
    case("centers", "_sums_of_counts", f"{FIT}, 1,000,000 rows of words",
         lambda: fit_centers(*words(1_000_000, 270_000, 11.4)),
         [(usual_counts, "_sums_of_counts", sums_of_counts)]),
    case("centers", "_csr_counts", f"{FIT_L1}, words",
         lambda: fit_centers(*words(200_000, 20_000, 11.4), metric="l1"), NO_COUNTS, "_csr_signs"),
    case("centers", "_csr_signs", f"{FIT_L1}, weighted words",
         lambda: weighted(*words(100_000, 20_000, 11.4), metric="l1"), small(sparse_medians)),
    case("centers", "_csc_signs", f"{FIT_L1}, weighted CSC words",
         lambda: weighted(*words(100_000, 20_000, 11.4, form=sparse.csc_array), metric="l1"),
         small(sparse_medians)),
    case("centers", "csr_nonzeros", "rank_features_by_class, words",
         lambda: rank_by_class(sparse.csr_array), small(class_counts)),
    case("centers", "csr_nonzeros", "rank_features_by_class, long rows",
         lambda: rank_by_class(sparse.csr_array, 4000, 1000), small(class_counts)),
    case("centers", "csc_nonzeros", "rank_features_by_class, CSC words",
         lambda: rank_by_class(sparse.csc_array), small(class_counts)),
    case("centers", "csc_nonzeros", "rank_features_by_class, CSC, long rows",
         lambda: rank_by_class(sparse.csc_array, 4000, 1000), small(class_counts)),
    case("centers", "absolute_deviations", f"{FIT_L1}, 200 x 5,000",
         lambda: fit_centers(*normal(200, 5000), metric="l1"), small(medians)),
    case("centers", "count_windows, copy_windows, sum_of_deviations", f"{FIT_L1}, 5,000 x 400",
         lambda: fit_centers(*normal(5000, 400), metric="l1"), small(medians)),
    case("centers", "count_windows, copy_windows", f"{FIT_L1}, 5,000 x 400",
         lambda: fit_centers(*normal(5000, 400), metric="l1"),
         [(medians, "_LONG_COLUMNS", np.inf)], "sorting all"),
    case("centers", "count_windows, copy_windows", f"{FIT_L1}, 200,000 x 20",
         lambda: fit_centers(*normal(200_000, 20), metric="l1"),
         [(medians, "_LONG_COLUMNS", np.inf)], "sorting all"),
    case("centers", "medians_of_segments and its parts", f"{FIT_L1}, 200 x 5,000",
         lambda: fit_centers(*normal(200, 5000), metric="l1"), small(segments)),
    case("centers", "medians_of_segments and its parts", f"{FIT_L1}, weighted, 20 classes",
         lambda: weighted(*many(2000, 300, 20), metric="l1"), small(segments)),
    case("centers", "dense_digits, key_of", f"{CHUNKS}, 40,000 x 20",
         lambda: fit_chunks(*normal(40_000, 20)), plain(median_search, dense_digits)),
    case("centers", "dense_deviations, add_deviation", f"{CHUNKS}, 40,000 x 20",
         lambda: fit_chunks(*normal(40_000, 20)), plain(median_search, dense_deviations)),
    case("centers", "csr_digits, key_of", f"{CHUNKS}, words",
         lambda: fit_chunks(*words(100_000, 50, 11.4)), plain(median_search, csr_digits)),
    case("centers", "csr_deviations, add_deviation", f"{CHUNKS}, words",
         lambda: fit_chunks(*words(100_000, 50, 11.4)), plain(median_search, csr_deviations)),
    case("centers", "dense_path and its parts", f"{PATH}, 5 classes",
         lambda: predict_path(*many(5000, 200, 5)), small(terms)),
    case("centers", "csr_path and its parts", f"{PATH}, words, 5 classes",
         lambda: predict_path(*words(50_000, 5000, 11.4, 5)), small(terms)),
    case("centers", "dense_two_labels", f"{PATH}, 2 classes",
         lambda: predict_path(*normal(5000, 200)), small(terms)),
    case("centers", "dense_two_labels", f"{PATH}, 2 classes",
         lambda: predict_path(*normal(5000, 200)), NO_DIFFERENCES, "dense_path"),
    case("centers", "csr_two_labels", f"{PATH}, words, 2 classes",
         lambda: predict_path(*words(50_000, 5000, 11.4)), small(terms)),
    case("centers", "csr_two_labels", f"{PATH}, words, 2 classes",
         lambda: predict_path(*words(50_000, 5000, 11.4)), NO_DIFFERENCES, "csr_path"),
    case("projections", "_survey, _find_level, _shrink and parts", "project_l1_ball",
         lambda: project(project_l1_ball, 1_000_000, 0.1), BY_NUMPY),
    case("projections", "_survey, _find_level, _shrink and parts", "project_simplex",
         lambda: project(project_simplex, 1_000_000, 0.1), BY_NUMPY),
    case("projections", "exact_sum, add_exactly", "project_l1_ball, on the sphere",
         lambda: project(project_l1_ball, 1_000_000, 1.0), BY_NUMPY),
    case("projections", "_weighted_multiplier and its parts", "project_weighted_l1_ball",
         lambda: project(project_weighted_l1_ball, 1_000_000, 0.1, 1), BY_NUMPY),
    case("projections", "l12: all", "project_l12_ball, 50,000 x 10",
         lambda: project(project_l12_ball, (50_000, 10), 0.001), BY_NUMPY),
    case("projections", "l12: all", "project_l12_ball, 2,000 x 200",
         lambda: project(project_l12_ball, (2000, 200), 0.005), BY_NUMPY),
    case("landmarks", "dense_keys, add_squares, finish_keys", f"{TRANSFORM}, 5,000 x 50",
         lambda: transform(normal(5000, 50)[0]), plain(distances, dense_keys)),
    case("landmarks", "dense_keys, add_squares, finish_keys", f"{TRANSFORM}, angles",
         lambda: transform(normal(5000, 50)[0], "angle"), plain(distances, dense_keys)),
    case("landmarks", "sparse_keys", f"{TRANSFORM}, words",
         lambda: transform(words(10_000, 2000, 11.4)[0]), plain(distances, sparse_keys)),
    case("landmarks", "dense_norms", f"{TRANSFORM}, angles, 2 landmarks",
         lambda: transform(normal(20_000, 200)[0], "angle", 2), plain(distances, dense_norms)),
    case("landmarks", "select_nearest and its parts", f"{PREDICT}, 5,000 training rows",
         lambda: predict_neighbors(5000, 10_000), [(heads, "nearest_rows", nearest_by_product)]),
    case("landmarks", "_fill_shares", "LandmarkSearchCV.fit, 2,000 rows",
         search_landmarks, [(votes, "_fill_shares", fill_shares)]),
    case("landmarks", "measure_all", f"{PREDICT}, 200 training rows",
         lambda: predict_neighbors(200, 20_000), plain(neighbors, measure_all)),
    case("datumwise", "find_cells", "DatumWiseClassifier.predict",
         predict_datumwise, small(forest)),
    case("guarantees", "median_shares", "StableSelector(l1).fit",
         select_stable, plain(shares, median_shares)),
    case("guarantees", "median_gains", 'true_features(metric="l1")',
         find_true_features, plain(shares, median_gains)),
    case("panel", "descend, fit_intercepts, _slope, _residual", "PanelClassifier(60).fit, words",
         lambda: fit_panel(2000, 2000), plain(l1_path, descend, fit_intercepts)),
    case("panel", "block_slopes", "PanelClassifier(60).fit, words",
         lambda: fit_panel(2000, 2000), plain(l1_path, block_slopes)),
    case("panel", "block_slopes", "PanelClassifier(60).fit, 20,000 words",
         lambda: fit_panel(20_000, 20_000), plain(l1_path, block_slopes)),
]
# fmt: on
