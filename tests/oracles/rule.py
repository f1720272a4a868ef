"""The rule of choice, one candidate, unit and row at a time; no code shared with tamis."""

from math import exp, isfinite, log, sqrt


def score(right, codes, weights, rows, balanced):
    if not balanced:
        return sum(weights[i] * right[i] for i in rows) / sum(weights[i] for i in rows)
    classes = sorted({codes[i] for i in rows})
    recalls = []
    for c in classes:
        own = [i for i in rows if codes[i] == c]
        recalls.append(sum(weights[i] * right[i] for i in own) / sum(weights[i] for i in own))
    return sum(recalls) / len(classes)


def standard_error(best, other, codes, weights, units, balanced):
    """Paired standard error of the score of `best` minus that of `other`, smoothed.

    `units` is a list of lists of rows; a unit that was drawn twice is there twice.
    """
    rows = [i for unit in units for i in unit]
    stratum = codes if balanced else [0] * len(codes)
    classes = sorted({stratum[i] for i in rows})
    mass = {c: sum(weights[i] for i in rows if stratum[i] == c) for c in classes}
    difference = [b - o for b, o in zip(best, other, strict=True)]
    mean = {
        c: sum(weights[i] * difference[i] for i in rows if stratum[i] == c) / mass[c]
        for c in classes
    }
    total = 0.0
    for unit in units:
        part = sum(
            weights[i] / (len(classes) * mass[stratum[i]]) * (difference[i] - mean[stratum[i]])
            for i in unit
        )
        total += part**2
    variance = len(units) / (len(units) - 1) * total
    n_units = {c: sum(any(stratum[i] == c for i in unit) for unit in units) for c in classes}
    smoothing = sum(1 / (n_units[c] + 2) ** 2 for c in classes) / len(classes) ** 2
    return sqrt(variance + smoothing)


def standard_errors(right, codes, weights, units, balanced):
    """`standard_error` of every candidate against every other."""
    return [
        [standard_error(one, other, codes, weights, units, balanced) for other in right]
        for one in right
    ]


def averaged(scores, sizes, paths, errors):
    """Means over similar sizes of the same path, one candidate at a time; None without a score.

    `errors`: for each pair of candidates, the standard error of the difference. Paths have at most
    128 sizes: all are neighbours.
    """
    means = []
    for a, score in enumerate(scores):
        total = mass = 0.0
        for b, other in enumerate(scores):
            if paths[a] == paths[b] and isfinite(score) and isfinite(other):
                apart = log((sizes[a] + 1) / (sizes[b] + 1)) / 0.35
                edge = (score - other) / (2 * errors[a][b])
                weight = exp(-apart * apart / 2) * exp(-edge * edge / 2)
                total += weight * other
                mass += weight
        means.append(total / mass if isfinite(score) else None)
    return means


def choose(scores, sizes, tolerance, allowed, paths, errors, counts=None):
    """Places of the choice and of the candidate that sets the standard.

    `counts`: which candidates may be chosen, or set the standard, at all.
    """
    means = averaged(scores, sizes, paths, errors)
    everything = [
        a for a, mean in enumerate(means) if mean is not None and (counts is None or counts[a])
    ]

    def first_best(some):
        top = max(scores[a] for a in some)
        return min(a for a in some if scores[a] >= top - 1e-12)

    def best_of(some):
        top = max(means[a] for a in some)
        ties = [a for a in some if means[a] >= top - 1e-12]
        fewest = min(sizes[a] for a in ties)
        return first_best([a for a in ties if sizes[a] == fewest])

    def enough(best):
        return [
            a for a in everything if allowed[a] and means[best] - means[a] <= tolerance + 1e-12
        ]

    best = best_of(everything)
    if not enough(best):
        best = best_of([a for a in everything if allowed[a]])
    good = enough(best)
    fewest = min(sizes[a] for a in good)
    good = [a for a in good if sizes[a] <= fewest + 1e-9]
    top = max(means[a] for a in good)
    return first_best([a for a in good if means[a] >= top - 1e-12]), best
