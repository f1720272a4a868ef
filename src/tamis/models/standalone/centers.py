"""Probabilities of sparse centers, panels and primal-dual classifiers."""

import math

from tamis.models.standalone.numbers import dot, softmax, square

__all__ = ["estimate_centers", "estimate_panel", "estimate_primal_dual"]


def estimate_centers(model, x):
    """Probabilities of a sparse center classifier."""
    scale, dispersion, units = model["scale"], model["dispersion"], model["other_units"]
    power = 2 if model["metric"] == "l2" else 1
    if units is not None:
        scale = units["scale"]
        x = [value / unit for value, unit in zip(x, units["unit"], strict=True)]
        for _ in range(power):
            dispersion /= units["reference"]
    origin, common, centers = (model[k] for k in ("origin", "common_center", "class_centers"))
    chosen, covariance = model["features"], model["covariance"]
    if covariance is not None:
        z = [(x[i] - origin[i] - common[i]) / scale[i] for i in chosen]
        x = _whiten(covariance, z)
        chosen, centers = covariance["selected"], covariance["centers"]
        origin = common = [0.0] * len(x)
        scale = [1.0] * len(x)
    decisions, size = [], [0.0] * len(chosen)
    for center, log_prior in zip(centers, map(float, model["log_priors"]), strict=True):
        total = 0.0
        for at, i in enumerate(chosen):
            if power == 1:
                every = [one[i] for one in centers]
                reach = 2**20 * (max(every) - min(every))
                value = min(max(x[i], min(every) - reach), max(every) + reach)
                total -= abs(value - center[i]) / scale[i]
                part = abs(center[i]) / scale[i]
            else:
                omega = (center[i] - common[i]) / scale[i]
                slope, shift = omega / scale[i], omega * omega / 2
                total += slope * (x[i] - origin[i] - common[i]) - shift
                part = abs(origin[i] * slope) + abs(shift + slope * common[i])
            size[at] = max(size[at], part)
        decisions.append(total / dispersion + log_prior)
    slack = 1e-12 * max(1 + sum(size) / dispersion, model["temperature"])
    top = max(decisions)
    return softmax([(top if top - d < slack else d) / model["temperature"] for d in decisions])


def _whiten(covariance, z):
    base, n = 1 / covariance["rest"], range(len(z))
    out = [base * value for value in z]
    for k, root in enumerate(covariance["roots"]):
        vector = [row[k] for row in covariance["vectors"]]
        along = dot(z, vector) * (1 / root - base)
        out = [out[i] + along * vector[i] for i in n]
    return out


def estimate_panel(model, x):
    """Probabilities of a panel."""
    x = [x[i] for i in model["features"]]
    if model["head"] == "kernel":
        z = [(v - c) / s for v, c, s in zip(x, model["center"], model["scale"], strict=True)]
        near = [math.exp(-model["width"] * square(z, one)) for one in model["landmarks"]]
        decisions = [dot(near, column) for column in zip(*model["coef"], strict=True)]
    else:
        pairs = zip(model["coef"], model["intercept"], strict=True)
        decisions = [dot(x, coef) + intercept for coef, intercept in pairs]
    return softmax([d / model["temperature"] for d in decisions])


def estimate_primal_dual(model, x):
    """Probabilities of a primal-dual classifier."""
    mean, scale = model["mean"], list(map(float, model["scale"]))
    z = [(x[i] - mean[i]) / scale[i] for i in model["features"]]
    if model.get("head", "projection") == "projection":
        p = [dot(z, column) for column in zip(*model["weights"], strict=True)]
        p = p or [0.0] * len(model["classes"])
        decisions, scale = [], model["dispersion"]
        for center in model["centers"]:
            away = [min(max(a - b, -1e100), 1e100) for a, b in zip(p, center, strict=True)]
            if model["distance"] == "l2":
                distance = min(math.sqrt(dot(away, away)), 1e100) / scale
                decisions.append(-0.5 * distance * distance)
            else:
                decisions.append(-min(sum(map(abs, away)), 1e100) / scale)
    else:
        pairs = zip(model["head_coef"], model["head_intercept"], strict=True)
        decisions = [min(max(dot(z, coef), -1e100), 1e100) + shift for coef, shift in pairs]
    top = max(decisions)
    slack = 1e-12 * (1 + abs(top))
    return softmax([(top if top - d <= slack else d) / model["temperature"] for d in decisions])
