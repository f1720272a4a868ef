"""KMS by definition: one configuration, one fold, one pair of rows at a time.

What is shared with the package is what the definitions fix: the draws of every sampler, 12 digits
of a distance, and ties to the lowest index.
"""

from functools import lru_cache
from itertools import product

import numpy as np


def twelve_digits(d):
    return d * 4097.0 - (d * 4097.0 - d)


def unit(a):
    length = np.sqrt(np.cumsum(a * a, axis=-1)[..., -1:])
    return a / np.where(length > 0, length, 1.0)


def all_distances(A, B, name):
    """Distance of every row of A to every row of B, terms added from the first feature on."""
    if name == "angle":
        A, B = unit(A), unit(B)
    minus, plus = np.zeros((len(A), len(B))), np.zeros((len(A), len(B)))
    for j in range(A.shape[1]):
        minus += np.subtract.outer(A[:, j], B[:, j]) ** 2
        plus += np.add.outer(A[:, j], B[:, j]) ** 2
    d = np.sqrt(minus)
    if name == "euclidean":
        return twelve_digits(d)
    same, opposite = d <= 1e-15, plus == 0
    quotient = np.where(same, 0.0, d) / np.where(opposite, 1.0, np.sqrt(plus))
    return np.where(opposite & ~same, np.pi, 2 * np.arctan(twelve_digits(quotient)))


def mean_of(rows):
    return np.cumsum(rows, axis=0)[-1] / len(rows)


def draw_landmarks(X, sampler, size, kind, distance, seed):
    n = len(X)
    size = min(size, n)
    random_state = np.random.RandomState(seed)
    directions = unit(X) if distance == "angle" else X
    if sampler == "kmeans":
        return run_kmeans(X, size, random_state)
    if sampler == "density":
        centers, balls = run_density(X, size, distance, random_state)
        return np.array(
            [X[c] if kind == "centers" else mean_of(directions[sorted(ball)])
             for c, ball in zip(centers, balls, strict=True)]
        )  # fmt: skip
    if sampler == "random":
        centers = list(random_state.permutation(n)[:size])
    else:
        centers = [random_state.randint(n)]
        while len(centers) < size:
            near = all_distances(X, X[centers], distance).min(axis=1)
            others = [i for i in range(n) if i not in centers]
            centers.append(max(others, key=lambda i: (near[i], -i)))
    if kind == "centers":
        return X[centers]
    nearest = all_distances(X, X[centers], distance).argmin(axis=1)
    return np.array(
        [mean_of(directions[nearest == r]) if (nearest == r).any() else X[c]
         for r, c in enumerate(centers)]
    )  # fmt: skip


def run_kmeans(X, size, random_state):
    seeds = [random_state.randint(len(X))]
    while len(seeds) < size:
        square = all_distances(X, X[seeds], "euclidean").min(axis=1) ** 2
        u = random_state.random_sample()
        if square.sum() == 0:
            seeds.append(min(set(range(len(X))) - set(seeds)))
            continue
        reached = np.cumsum(square)
        seeds.append(int(np.flatnonzero(reached > u * reached[-1])[0]))
    points, before = X[seeds], None
    for _ in range(100):
        nearest = all_distances(X, points, "euclidean").argmin(axis=1)
        if before is not None and (nearest == before).all():
            break
        points = np.array(
            [mean_of(X[nearest == r]) if (nearest == r).any() else p for r, p in enumerate(points)]
        )
        before = nearest
    return points


def run_density(X, size, distance, random_state):
    pending, centers, balls = list(range(len(X))), [], []
    for b in range(size):
        center = pending[int(random_state.random_sample() * len(pending))]
        gap = all_distances(X[[center]], X, distance)[0]
        order = sorted(pending, key=lambda i: (i != center, gap[i], i))
        ball = order[: len(X) // size + (b < len(X) % size)]
        centers.append(center)
        balls.append(ball)
        pending = [i for i in pending if i not in ball]
    return centers, balls


def radii(D):
    nearest = D.argmin(axis=1)
    return np.array([D[nearest == r, r].max(initial=0.0) for r in range(D.shape[1])])


def kernel_value(name, d, sigma):
    if name == "linear":
        return d
    if name == "sigmoid":
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(sigma - d))
    if sigma == 0:
        return np.where(d == 0, 1.0, 0.0)
    return np.exp(-d / sigma) if name == "gaussian" else 1 / (1 + d / sigma)


class Oracle:
    """Out-of-fold predictions of any configuration on one data set."""

    def __init__(self, X, codes, splits, seeds):
        self.X, self.codes, self.splits, self.seeds = X, codes, splits, seeds
        self.n_classes = codes.max() + 1
        # The same landmarks are asked for again and again; remembering changes no number.
        self.maps = lru_cache(maxsize=None)(self.maps)

    def maps(self, f, sampler, size, kind, distance, kernel):
        train, test = self.splits[f]
        X = self.X[train]
        points = draw_landmarks(X, sampler, size, kind, distance, self.seeds[f][sampler])
        D = all_distances(X, points, distance)
        sigma = radii(D)
        E = all_distances(self.X[test], points, distance)
        return tuple(
            np.column_stack([kernel_value(kernel, d[:, r], sigma[r]) for r in range(len(points))])
            for d in (D, E)
        )

    def predict(self, c, class_weight=None):
        """Classes of the test rows of all folds."""
        found = []
        for f, (train, _) in enumerate(self.splits):
            Z, Q = self.maps(f, c.landmarks, c.n_landmarks, c.kind, c.distance, c.kernel)
            y = self.codes[train]
            weight = np.ones(self.n_classes) if class_weight is None else class_weight
            if c.classifier == "nb":
                scores = naive_bayes(Z, y, Q, weight)
            else:
                scores = votes(Z, y, Q, weight, c.n_neighbors, c.weights, c.metric)
            found.append([first_largest(s) for s in scores])
        return np.concatenate(found)


def first_largest(scores):
    top = max(scores)
    return next(c for c, s in enumerate(scores) if top - s <= 1e-12 * max(1.0, abs(top)))


def naive_bayes(Z, y, Q, weight):
    floor = 1e-9 * Z.var(axis=0).max() or 1.0
    present = [c for c in range(len(weight)) if (y == c).any()]
    total = sum(weight[c] * (y == c).sum() for c in present)
    scores = np.full((len(Q), len(weight)), -np.inf)
    for c in present:
        m, v = Z[y == c].mean(axis=0), Z[y == c].var(axis=0) + floor
        likelihood = -0.5 * (np.log(2 * np.pi * v) + (Q - m) ** 2 / v).sum(axis=1)
        scores[:, c] = np.log(weight[c] * (y == c).sum() / total) + likelihood
    return scores


def votes(Z, y, Q, weight, k, weighting, metric):
    scores = []
    for d in all_distances(Q, Z, metric):
        order = np.argsort(d, kind="stable")[:k]
        vote = np.zeros(len(weight))
        for i in order:
            if weighting == "uniform":
                vote[y[i]] += weight[y[i]]
            elif d[order[0]] == 0:
                vote[y[i]] += weight[y[i]] * (d[i] == 0)
            else:
                vote[y[i]] += weight[y[i]] / d[i]
        scores.append(vote / vote.sum())
    return scores


def paper_space():
    """All 4,420 configurations of Table 1, as the text's rules leave them."""
    landmarks = [
        (sampler, kind, distance)
        for sampler, kind, distance in product(
            ["density", "fft", "kmeans", "random"],
            ["centers", "centroids"],
            ["angle", "euclidean"],
        )
        if sampler != "kmeans" or (kind, distance) == ("centroids", "euclidean")
    ]
    classifiers = [("nb", None, None, None)] + [
        ("knn", k, w, m)
        for w, m, k in product(["distance", "uniform"], ["angle", "euclidean"], [1, 5, 11, 21])
    ]
    kernels = ["linear", "gaussian", "sigmoid", "cauchy"]
    return list(product([4, 8, 16, 32, 64], landmarks, kernels, classifiers))
