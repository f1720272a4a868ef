"""Probabilities of landmark classifiers and searches."""

import math

from tamis.models.standalone.numbers import dot, softmax, square

__all__ = ["estimate_ensemble", "estimate_landmarks"]


def estimate_ensemble(model, x):
    """Probabilities of a landmark search."""
    x, total = [x[i] for i in model["features"]], [0.0] * len(model["classes"])
    for member in model["members"]:
        shares = estimate_landmarks({"classes": model["classes"], **member}, x)
        if model["vote"] == "majority":
            best = shares.index(max(shares))
            shares = [float(c == best) for c in range(len(shares))]
        total = [t + member["weight"] * share for t, share in zip(total, shares, strict=True)]
    weight = sum(member["weight"] for member in model["members"])
    total = [t / weight for t in total]
    top = max(total)
    return [top if top - t <= 1e-12 else t for t in total]


def estimate_landmarks(model, x):
    """Probabilities of a landmark classifier, or of a member of a search."""
    x, head = _scale(model["scaling"], x), model["head"]
    is_angle = model["distance"] == "angle"
    z = []
    for point, sigma in zip(model["landmarks"], model["sigma"], strict=True):
        d = _distance(x, point, is_angle)
        if model["kernel"] == "sigmoid":
            d = 1 / (1 + math.exp(min(sigma - d, 700)))
        elif model["kernel"] != "linear":
            ratio = 0.0 if d == 0 else d / sigma if sigma else math.inf
            d = math.exp(-ratio) if model["kernel"] == "gaussian" else 1 / (1 + ratio)
        z.append(d)
    if head["classifier"] == "knn":
        return _neighbors(head, z, len(model["classes"]))
    decisions = []
    if head["classifier"] == "nb":
        for means, variances, prior in zip(
            head["means"], head["variances"], map(float, head["log_prior"]), strict=True
        ):
            base = sum(math.log(2 * math.pi * v) for v in variances)
            away = sum((a - m) ** 2 / v for a, m, v in zip(z, means, variances, strict=True))
            decisions.append(prior - 0.5 * (base + away))
    else:
        for coef, intercept in zip(
            zip(*head["coefficients"], strict=True), map(float, head["intercepts"]), strict=True
        ):
            decisions.append((dot(z, coef) + intercept) / head["temperature"])
    top = max(decisions)
    slack = 1e-12 * max(1, abs(top))
    return softmax([top if top - d <= slack else d for d in decisions])


def _scale(scaling, x):
    kind = scaling["scaling"]
    if kind is None:
        return x
    if kind == "quantile":
        columns = zip(*scaling["quantiles"], strict=True)
        return [_share_below(v, q, scaling["at"]) for v, q in zip(x, columns, strict=True)]
    if kind == "yeo-johnson":
        x = list(map(_yeo_johnson, x, scaling["powers"]))
    shift = scaling.get("shift") or [0.0] * len(x)
    far = 1e150
    scaled = ((v - b) / s for v, b, s in zip(x, shift, scaling["scale"], strict=True))
    return [min(max(value, -far), far) for value in scaled]


def _share_below(value, quantiles, at):
    """The middle of the shares at which the quantiles take a value, interpolated linearly."""

    def interpolate(last):
        places = [k for k, q in enumerate(quantiles) if q < value or (last and q == value)]
        if not places:
            return at[0]
        k = places[-1]
        if k + 1 == len(quantiles):
            return at[-1]
        if quantiles[k] == value:
            return at[k]
        step = (value - quantiles[k]) / (quantiles[k + 1] - quantiles[k])
        return at[k] + step * (at[k + 1] - at[k])

    return 0.5 * (interpolate(True) + interpolate(False))


def _yeo_johnson(value, power):
    power = power if value >= 0 else 2 - power
    size = math.log1p(abs(value))
    shaped = size if abs(power) < 1e-12 else math.expm1(size * power) / power
    return shaped if value >= 0 else -shaped


def _distance(a, b, is_angle):
    """Euclidean distance or angle, to 41 bits."""
    if not is_angle:
        return _keep_digits(math.sqrt(square(a, b)))
    a, b = _unit(a), _unit(b)
    near, far = math.sqrt(square(a, b)), math.sqrt(square(a, [-value for value in b]))
    if near <= 1e-15:
        return 0.0
    return math.pi if far == 0 else 2 * math.atan(_keep_digits(near / far))


def _unit(a):
    norm = math.sqrt(dot(a, a)) or 1.0
    return [value / norm for value in a]


def _keep_digits(value):
    scaled = value * 4097.0
    return scaled - (scaled - value)


def _neighbors(head, z, n_classes):
    is_angle = head["metric"] == "angle"
    ranked = sorted((_distance(z, one, is_angle), i) for i, one in enumerate(head["map"]))
    ranked, votes = ranked[: head["n_neighbors"]], [0.0] * n_classes
    nearest = ranked[0][0]
    for distance, i in ranked:
        weight = 1.0
        if head["weights"] == "distance":
            weight = float(distance == 0) if nearest == 0 else nearest / distance
        votes[head["codes"][i]] += weight * head["class_weight"][head["codes"][i]]
    total, top = sum(votes), max(votes)
    return [(top if top - vote <= 1e-12 * total else vote) / total for vote in votes]
