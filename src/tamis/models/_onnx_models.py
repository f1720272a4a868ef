"""The decisions of the families as graphs, in the same steps as their `predict_proba`."""

import numpy as np

from tamis.tables.errors import InputError

_POSSIBLE = (
    "SparseCenterClassifier(CV), PrimalDualClassifier(CV), PanelClassifier(CV), "
    "LandmarkClassifier and LandmarkSearchCV"
)
_FARTHEST, _REACH = 1e100, 1e150
_TIE = 1e-12
# Differences of one row from the maps of all training rows: 32 MiB.
_MOST_DIFFERENCES = 1 << 22


def columns_of(model):
    """Columns of X that the decisions of a model use, ascending."""
    kind = type(model).__name__
    if kind.startswith(("SparseCenter", "PrimalDual", "Panel")):
        return np.flatnonzero(model.get_support())
    if kind in ("LandmarkClassifier", "LandmarkSearchCV"):
        return np.arange(model.n_features_in_)
    raise InputError(
        f"a {kind} cannot be exported to ONNX; these can: {_POSSIBLE}. Use --to python."
    )


def add_classifier(graph, model, x):
    """Add a classifier to a graph."""
    kind = type(model).__name__
    if kind.startswith("SparseCenter"):
        decisions = _centers(graph, model, x)
    elif kind.startswith("PrimalDual"):
        decisions = _primal_dual(graph, model, x)
    elif kind.startswith("Panel"):
        decisions = _panel(graph, model, x)
    elif kind == "LandmarkClassifier":
        return _landmarks(graph, model.model_, x)
    else:
        shares = _ensemble(graph, model, x)
        return shares, shares
    return decisions, graph("Softmax", decisions, axis=1)


def _centers(graph, model, x):
    fitted, support = model._model, model._selected
    terms = fitted.terms(support)
    if fitted.statistics.unit is not None:
        x = graph("Div", x, fitted.statistics.unit[columns_of(model)])
    if fitted.metric == "l1":
        low, high = terms.bounds.T.copy()
        x = graph("Min", graph("Max", x, low), high)
        away = graph("Abs", graph.apart(x, terms.shift.T.astype(np.float64)))
        scaled = graph("Mul", away, terms.slope.T[None].astype(np.float64))
        total = graph.sum(scaled, 2)
        decisions = graph(
            "Add", graph("Mul", total, -np.float64(terms.sharpness[-1])), fitted.log_prior
        )
    else:
        weights, _, origin, common, bias = fitted.linear(support)
        product = graph("MatMul", graph("Sub", x, origin), np.ascontiguousarray(weights.T))
        decisions = graph("Add", product, bias - weights @ common)
    slack = np.float64(terms.tolerance[-1])
    decisions = graph.settle(decisions, lambda top: slack)
    return graph("Div", decisions, np.float64(model.temperature_))


def _primal_dual(graph, model, x):
    support, linear = model._selected, model._head_coef is not None
    rows = model._head_coef.T if linear else model.weights_[support]
    inner = rows / model.scale_[support, None]
    projected = graph("MatMul", graph("Sub", x, model.mean_[support]), inner)
    if linear:
        decisions = graph("Add", graph.clip(projected, _FARTHEST), model._head_intercept)
    else:
        decisions = _from_centers(graph, model, projected)

    def slack(top):
        return graph("Mul", graph("Add", graph("Abs", top), np.float64(1.0)), np.float64(_TIE))

    decisions = graph.settle(decisions, slack)
    return graph("Div", decisions, np.float64(model.temperature_))


def _from_centers(graph, model, projected):
    away = graph.clip(graph.apart(projected, model.centers_), _FARTHEST)
    if model._euclidean:
        distance = graph("Sqrt", graph.sum(graph("Mul", away, away), 2))
    else:
        distance = graph.sum(graph("Abs", away), 2)
    distance = graph("Min", distance, np.float64(_FARTHEST))
    relative = graph("Div", distance, np.float64(model.dispersion_))
    if model._euclidean:
        return graph("Mul", graph("Mul", relative, relative), np.float64(-0.5))
    return graph("Neg", relative)


def _panel(graph, model, x):
    head = model._head_state
    if model.head_ == "kernel":
        standard = graph("Div", graph("Sub", x, head["center"]), head["scale"])
        away = graph.apart(standard, head["landmarks"])
        near = graph("Mul", graph.sum(graph("Mul", away, away), 2), -np.float64(head["width"]))
        decisions = graph("MatMul", graph("Exp", near), head["coef"])
    else:
        product = graph("MatMul", x, np.ascontiguousarray(head["coef"].T))
        decisions = graph("Add", product, head["intercept"])
    return graph("Div", decisions, np.float64(model.temperature_))


def _ensemble(graph, model, x):
    total, n_classes = None, len(model.classes_)
    if not model.support_.all():
        x = graph("Gather", x, np.flatnonzero(model.support_), axis=1)
    weights = np.array([member["weight"] for member in model.members_])
    for weight, member in zip(weights, model.members_, strict=True):
        _, share = _landmarks(graph, member["model"], x)
        if model._vote == "majority":
            best = graph("ArgMax", share, axis=1, keepdims=1)
            chosen = graph("Equal", best, np.arange(n_classes)[None])
            share = graph.double(chosen)
        share = graph("Mul", share, np.float64(weight))
        total = share if total is None else graph("Add", total, share)
    total = graph("Div", total, np.float64(weights.sum()))
    return graph.settle(total, lambda top: np.float64(_TIE))


def _landmarks(graph, model, x):
    """Decisions and probabilities of a landmark classifier."""
    head, landmarks = model["head"], model["map"]
    distances = _distances(graph, landmarks, _scaled(graph, landmarks["scaling"], x))
    z = _kernel(graph, landmarks["kernel"], landmarks["sigma"], distances)
    if head["classifier"] == "knn":
        shares = _neighbors(graph, head, z)
        return shares, shares
    if head["classifier"] == "nb":
        difference = graph.apart(z, head["means"])
        squares = graph("Div", graph("Mul", difference, difference), head["variances"][None])
        base = np.log(2.0 * np.pi * head["variances"]).sum(axis=1)
        total = graph("Mul", graph("Add", graph.sum(squares, 2), base), np.float64(-0.5))
        decisions = graph("Add", total, head["log_prior"])
    else:
        product = graph("MatMul", z, np.ascontiguousarray(head["coefficients"]))
        decisions = graph("Add", product, head["intercepts"])
        decisions = graph("Div", decisions, np.float64(head["temperature"]))

    def slack(top):
        return graph("Mul", graph("Max", graph("Abs", top), np.float64(1.0)), np.float64(_TIE))

    decisions = graph.settle(decisions, slack)
    return decisions, graph("Softmax", decisions, axis=1)


def _neighbors(graph, head, z):
    """Shares of the votes of the nearest training rows."""
    n_rows, K = head["map"].shape
    if n_rows * K > _MOST_DIFFERENCES:
        raise InputError(
            f"classifier='knn' compares each row with the maps of all {n_rows:,} training rows, "
            "which is too much for an ONNX graph. Use --to python, or train with classifier='nb', "
            "'ridge' or 'lda'."
        )
    distances = _distances(graph, {"points": head["map"], "distance": head["metric"]}, z)
    nearest, places = graph.nearest(distances, head["n_neighbors"])
    votes = np.zeros((n_rows, head["class_weight"].size))
    votes[np.arange(n_rows), head["codes"]] = head["class_weight"][head["codes"]]
    votes = graph("Gather", votes, places, axis=0)
    if head["weights"] == "distance":
        first = graph("Gather", nearest, np.array([0]), axis=1)
        here = graph("Equal", nearest, np.float64(0.0))
        ratio = graph("Div", first, graph("Where", here, np.float64(1.0), nearest))
        at_zero = graph("Equal", first, np.float64(0.0))
        weight = graph("Where", at_zero, graph.double(here), ratio)
        votes = graph("Mul", votes, graph("Unsqueeze", weight, np.array([2])))
    total = graph.sum(votes, 1)
    shares = graph("Div", total, graph.sum(total, 1, keepdims=1))
    return graph.settle(shares, lambda top: np.float64(_TIE))


def _scaled(graph, scaling, x):
    kind = scaling["scaling"]
    if kind is None:
        return x
    if kind == "quantile":
        return _quantiles(graph, scaling["quantiles"].T, scaling["at"], x)
    if kind == "yeo-johnson":
        x = _yeo_johnson(graph, scaling["powers"], x)
    if "shift" in scaling:
        x = graph("Sub", x, scaling["shift"])
    return graph.clip(graph("Div", x, scaling["scale"]), _REACH)


def _quantiles(graph, quantiles, at, x):
    """Share of the training values below, from quantiles (n_columns, n_quantiles).

    The sum of what lies below in each interval; an interval without width counts half at its end.
    """
    low, width, step = quantiles[:, :-1], np.diff(quantiles, axis=1), np.diff(at)
    flat = width == 0
    above = graph("Sub", graph("Unsqueeze", x, np.array([2])), low[None])
    part = graph("Min", graph("Max", above, np.float64(0.0)), width[None])
    slope = np.where(flat, 0.0, step / np.where(flat, 1.0, width))
    total = graph.sum(graph("Mul", part, slope[None]), 2)
    if flat.any():
        reached = graph.double(graph("GreaterOrEqual", above, np.float64(0.0)))
        passed = graph.double(graph("Greater", above, np.float64(0.0)))
        jumps = graph("Mul", graph("Add", reached, passed), np.where(flat, 0.5 * step, 0.0)[None])
        total = graph("Add", total, graph.sum(jumps, 2))
    return graph("Add", total, np.float64(at[0]))


def _yeo_johnson(graph, powers, x):
    size = graph("Log", graph("Add", graph("Abs", x), np.float64(1.0)))
    sides = []
    for power in (powers, 2.0 - powers):
        flat = np.abs(power) < 1e-12
        grown = graph("Sub", graph("Exp", graph("Mul", size, power)), np.float64(1.0))
        shaped = graph("Div", grown, np.where(flat, 1.0, power))
        sides.append(graph("Where", flat, size, shaped))
    positive = graph("GreaterOrEqual", x, np.float64(0.0))
    return graph("Where", positive, sides[0], graph("Neg", sides[1]))


def _distances(graph, landmarks, x):
    points, is_angle = landmarks["points"], landmarks["distance"] == "angle"
    if is_angle:
        norms = np.sqrt((points * points).sum(axis=1))
        points = points / np.where(norms == 0, 1.0, norms)[:, None]
        norm = graph("Sqrt", graph.sum(graph("Mul", x, x), 1, keepdims=1))
        none = graph("Equal", norm, np.float64(0.0))
        x = graph("Div", x, graph("Where", none, np.float64(1.0), norm))
    difference = graph.apart(x, points)
    near = graph("Sqrt", graph.sum(graph("Mul", difference, difference), 2))
    if not is_angle:
        return _keep_digits(graph, near)
    both = graph.apart(x, -points)
    far = graph("Sqrt", graph.sum(graph("Mul", both, both), 2))
    tangent = _keep_digits(graph, graph("Div", near, far))
    opposite = graph("Equal", far, np.float64(0.0))
    tangent = graph("Where", opposite, np.float64(np.inf), tangent)
    same = graph("LessOrEqual", near, np.float64(1e-15))
    tangent = graph("Where", same, np.float64(0.0), tangent)
    return graph("Mul", _arctangent(graph, tangent), np.float64(2.0))


def _keep_digits(graph, x):
    scaled = graph("Mul", x, np.float64(4097.0))
    return graph("Sub", scaled, graph("Sub", scaled, x))


def _arctangent(graph, tangent):
    """Arc tangent of numbers >= 0 in double precision.

    Runtimes have it in single precision only. Halving the angle three times brings the argument
    below 1/10, where eight terms of the series are exact to rounding.
    """
    inverse = graph("Div", np.float64(1.0), tangent)
    steep = graph("Greater", tangent, np.float64(1.0))
    t = graph("Where", steep, inverse, tangent)
    for _ in range(3):
        root = graph("Sqrt", graph("Add", graph("Mul", t, t), np.float64(1.0)))
        t = graph("Div", t, graph("Add", root, np.float64(1.0)))
    square = graph("Mul", t, t)
    total = np.float64(-1.0 / 15.0)
    for k in range(6, -1, -1):
        term = graph("Mul", square, total)
        total = graph("Add", term, np.float64((-1.0) ** k / (2 * k + 1)))
    angle = graph("Mul", graph("Mul", t, total), np.float64(8.0))
    return graph("Where", steep, graph("Sub", np.float64(np.pi / 2), angle), angle)


def _kernel(graph, kernel, sigma, distances):
    one = np.float64(1.0)
    if kernel == "linear":
        return distances
    if kernel == "sigmoid":
        return graph("Div", one, graph("Add", graph("Exp", graph("Sub", sigma, distances)), one))
    still = graph("Equal", distances, np.float64(0.0))
    ratio = graph("Where", still, np.float64(0.0), graph("Div", distances, sigma))
    if kernel == "gaussian":
        return graph("Exp", graph("Neg", ratio))
    return graph("Div", one, graph("Add", ratio, one))
