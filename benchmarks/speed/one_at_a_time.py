"""KMS with scipy and scikit-learn, one configuration at a time: the peer of the speed benchmark.

Written as one would write it with these libraries and no thought of sharing work; every step uses
the fastest call they have.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize


def balanced_error(configuration, X, y, splits, seed):
    """Balanced error of the pooled out-of-fold predictions of one configuration."""
    predicted = np.empty_like(y)
    for train, test in splits:
        A, B = X[train], X[test]
        if configuration.distance == "angle":
            A, B = normalize(A), normalize(B)
        points = draw(configuration, A, np.random.default_rng(seed))
        D, E = measure(A, points, configuration), measure(B, points, configuration)
        sigma = radii(D)
        Z, Q = kernel(configuration.kernel, D, sigma), kernel(configuration.kernel, E, sigma)
        predicted[test] = classify(configuration, Z, y[train], Q)
    return 1 - balanced_accuracy_score(y, predicted)


def measure(A, points, c):
    d = cdist(A, normalize(points) if c.distance == "angle" else points)
    return 2 * np.arcsin(np.minimum(d / 2, 1)) if c.distance == "angle" else d


def draw(c, A, rng):
    k = min(c.n_landmarks, len(A))
    if c.landmarks == "kmeans":
        return KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(A).cluster_centers_
    if c.landmarks == "density":
        return draw_density(c, A, k, rng)
    if c.landmarks == "random":
        rows = rng.permutation(len(A))[:k]
    else:
        rows = [int(rng.integers(len(A)))]
        near = cdist(A, A[rows])[:, 0]
        while len(rows) < k:
            rows.append(int(near.argmax()))
            near = np.minimum(near, cdist(A, A[rows[-1:]])[:, 0])
    if c.kind == "centers":
        return A[rows]
    nearest = cdist(A, A[rows]).argmin(axis=1)
    return np.array([A[nearest == r].mean(axis=0) for r in np.unique(nearest)])


def draw_density(c, A, k, rng):
    pending, points = np.arange(len(A)), []
    size = -(-len(A) // k)
    while pending.size:
        center = rng.choice(pending)
        near = cdist(A[pending], A[[center]])[:, 0]
        taken = np.argpartition(near, min(size, near.size) - 1)[:size]
        points.append(A[center] if c.kind == "centers" else A[pending[taken]].mean(axis=0))
        pending = np.delete(pending, taken)
    return np.array(points)


def radii(D):
    nearest = D.argmin(axis=1)
    return np.array([D[nearest == r, r].max(initial=0) for r in range(D.shape[1])])


def kernel(name, d, sigma):
    with np.errstate(all="ignore"):
        if name == "linear":
            return d
        if name == "gaussian":
            return np.nan_to_num(np.exp(-d / sigma), nan=1.0)
        if name == "cauchy":
            return np.nan_to_num(1 / (1 + d / sigma), nan=1.0)
        return 1 / (1 + np.exp(sigma - d))


def classify(c, Z, y, Q):
    if c.classifier == "nb":
        return GaussianNB().fit(Z, y).predict(Q)
    if c.metric == "angle":  # neighbours by angle are neighbours by chord
        Z, Q = normalize(Z), normalize(Q)
    model = KNeighborsClassifier(min(c.n_neighbors, len(Z)), weights=c.weights)
    return model.fit(Z, y).predict(Q)
