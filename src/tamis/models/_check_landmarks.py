"""What a fitted landmark map, classifier or ensemble must be like."""

import numpy as np

from tamis.models._checking import (
    array,
    choice,
    in_rows,
    integer,
    is_plain,
    number,
    ordered,
    places,
    record,
    require,
)

__all__ = [
    "CLASSIFIER_ATTRIBUTES",
    "SEARCH_ATTRIBUTES",
    "SEARCH_OPTIONAL",
    "TRANSFORMER_ATTRIBUTES",
    "check_classifier",
    "check_search",
    "check_transformer",
]

TRANSFORMER_ATTRIBUTES = ("landmarks_", "rows_", "sigma_", "n_landmarks_", "_map")
CLASSIFIER_ATTRIBUTES = (
    "landmarks_",
    "rows_",
    "sigma_",
    "n_landmarks_",
    "_row_codes",
    "feature_importances_",
    "model_",
)
SEARCH_ATTRIBUTES = (
    "best_configuration_",
    "best_score_",
    "path_",
    "_support",
    "_vote",
    "_seed_used",
    "_known",
    "configurations_",
    "members_",
)
SEARCH_OPTIONAL = ("feature_importances_",)
# Training makes nothing larger: squares must have a sum.
_FARTHEST = 1e150


def check_transformer(state, m, C):
    """Check the state of a LandmarkTransformer of m features."""
    _check_map(state["_map"], "_map", m)
    _check_attributes(state, state["_map"])


def check_classifier(state, m, C):
    """Check the state of a LandmarkClassifier of m features and C classes."""
    n_landmarks = _check_model(state["model_"], "model_", m, C)
    _check_attributes(state, state["model_"]["map"])
    places(state["_row_codes"], "_row_codes", C, n_landmarks)
    _check_importances(state, m)


def check_search(state, m, C):
    """Check the state of a LandmarkSearchCV of m features and C classes."""
    choice(state["_vote"], "_vote", ("majority", "soft"))
    number(state["best_score_"], "best_score_", finite=False)
    integer(state["_seed_used"], "_seed_used")
    support = array(state["_support"], "_support", (m,), "bool")
    n_used = int(np.count_nonzero(support))
    require(n_used > 0, "_support", "one feature at least")
    if "feature_importances_" in state:
        _check_importances(state, m)
    for at, member in enumerate(ordered(state["members_"], "members_")):
        where = f"members_[{at}]"
        record(member, where, ("configuration", "seed", "weight", "model", "row_codes"))
        _check_configuration(member["configuration"], f"{where}.configuration")
        integer(member["seed"], f"{where}.seed")
        number(member["weight"], f"{where}.weight", above=0.0)
        n_landmarks = _check_model(member["model"], f"{where}.model", n_used, C)
        places(member["row_codes"], f"{where}.row_codes", C, n_landmarks)
    _check_configuration(state["best_configuration_"], "best_configuration_")
    table, kinds = state["configurations_"], ("object", "bool", "int64", "float64")
    require(isinstance(table, dict), "configurations_", "an object")
    folds = [name for name in table if str(name).startswith("split")]
    expected = [f"split{fold}_test_score" for fold in range(len(folds))]
    record(table, "configurations_", (*_parameters(), "score", *expected))
    scores = array(table["score"], "configurations_.score", (None,), nan=True)
    for name, column in table.items():
        array(column, f"configurations_.{name}", (scores.size,), kinds, finite=False, nan=True)
        require(is_plain(column), f"configurations_.{name}", "numbers and strings")
    keys = ("level", "n_features", "score", "standard_error", "cost")
    path = record(state["path_"], "path_", keys)
    sizes = array(path["level"], "path_.level", (None,), ("int64", "float64"))
    for name in keys[1:]:
        array(path[name], f"path_.{name}", (sizes.size,), nan=True)
    if state["_known"] is not None:
        _check_known(state["_known"], C)


def _check_importances(state, m):
    array(state["feature_importances_"], "feature_importances_", (m,), low=0.0)


def _parameters():
    from tamis.landmarks.space import PARAMETERS

    return PARAMETERS


def _check_configuration(configuration, where):
    record(configuration, where, _parameters())
    for name, value in configuration.items():
        is_one = value is None or isinstance(value, bool | int | float | str | np.generic)
        require(is_one, f"{where}.{name}", "a string, a number or null")


def _check_known(known, C):
    record(known, "_known", ("key", "configurations", "done", "labels", "probabilities"))
    require(known["key"] is None or type(known["key"]) is str, "_known.key", "a string")
    listed, n_parameters = known["configurations"], len(_parameters())
    require(type(listed) is list, "_known.configurations", "a list")
    for one in listed:
        is_one = type(one) is tuple and len(one) == n_parameters
        require(
            is_one and all(v is None or isinstance(v, bool | int | float | str) for v in one),
            "_known.configurations",
            f"tuples of {n_parameters}",
        )
    n = len(listed)
    array(known["done"], "_known.done", (n, None), "bool")
    labels = array(known["labels"], "_known.labels", (n, None), "int16", low=0, high=C - 1)
    if known["probabilities"] is not None:
        shape = (*labels.shape, C)
        array(known["probabilities"], "_known.probabilities", shape, "float32")


def _check_attributes(state, landmarks):
    for name, own in (("landmarks_", "points"), ("rows_", "rows"), ("sigma_", "sigma")):
        value = state[name]
        same = type(value) is np.ndarray and value.dtype == landmarks[own].dtype
        require(same and np.array_equal(value, landmarks[own]), name, "as in the map")
    integer(state["n_landmarks_"], "n_landmarks_")
    require(state["n_landmarks_"] == landmarks["sigma"].size, "n_landmarks_", "as in the map")


def _check_model(model, where, m, C):
    record(model, where, ("map", "head"))
    n_landmarks = _check_map(model["map"], f"{where}.map", m)
    _check_head(model["head"], f"{where}.head", n_landmarks, C)
    return n_landmarks


def _check_map(landmarks, where, m):
    record(landmarks, where, ("scaling", "points", "rows", "sigma", "distance", "kernel"))
    choice(landmarks["distance"], f"{where}.distance", ("euclidean", "angle"))
    kernels = ("linear", "gaussian", "sigmoid", "cauchy")
    choice(landmarks["kernel"], f"{where}.kernel", kernels)
    points = array(
        landmarks["points"], f"{where}.points", (None, m), low=-_FARTHEST, high=_FARTHEST
    )
    n_landmarks = points.shape[0]
    require(n_landmarks > 0, f"{where}.points", "one landmark at least")
    array(landmarks["rows"], f"{where}.rows", (n_landmarks,), "int64", low=0)
    array(landmarks["sigma"], f"{where}.sigma", (n_landmarks,), low=0.0)
    _check_scaling(landmarks["scaling"], f"{where}.scaling", m)
    return n_landmarks


def _check_scaling(scaling, where, m):
    require(isinstance(scaling, dict), where, "an object")
    kind = scaling.get("scaling")
    kinds = (None, "standard", "minmax", "quantile", "yeo-johnson")
    choice(kind, f"{where}.scaling", kinds)
    if kind is None:
        record(scaling, where, ("scaling",))
    elif kind == "quantile":
        record(scaling, where, ("scaling", "at", "quantiles"))
        at = array(scaling["at"], f"{where}.at", (None,), low=0.0, high=1.0)
        require(at.size > 0, f"{where}.at", "of one share at least")
        array(scaling["quantiles"], f"{where}.quantiles", (at.size, m))
    else:
        keys = ("scaling", "scale") if kind == "standard" else ("scaling", "scale", "shift")
        record(scaling, where, (*keys, *(["powers"] * (kind == "yeo-johnson"))), ("shift",))
        array(scaling["scale"], f"{where}.scale", (m,), above=0.0)
        if "shift" in scaling:
            array(scaling["shift"], f"{where}.shift", (m,))
        if "powers" in scaling:
            array(scaling["powers"], f"{where}.powers", (m,), low=-6.0, high=6.0)


def _check_head(head, where, K, C):
    require(isinstance(head, dict), where, "an object")
    kind = choice(head.get("classifier"), f"{where}.classifier", ("nb", "knn", "ridge", "lda"))
    if kind == "nb":
        record(head, where, ("classifier", "means", "variances", "log_prior"))
        in_rows(array(head["means"], f"{where}.means", (C, K)), f"{where}.means")
        variances = array(head["variances"], f"{where}.variances", (C, K), above=0.0)
        in_rows(variances, f"{where}.variances")
        _check_some_finite(head["log_prior"], f"{where}.log_prior", C)
    elif kind == "knn":
        _check_neighbors(head, where, K, C)
    else:
        record(head, where, ("classifier", "coefficients", "intercepts", "lambda", "temperature"))
        array(head["coefficients"], f"{where}.coefficients", (K, C))
        _check_some_finite(head["intercepts"], f"{where}.intercepts", C)
        number(head["lambda"], f"{where}.lambda", above=0.0)
        number(head["temperature"], f"{where}.temperature", above=0.0)


def _check_neighbors(head, where, K, C):
    keys = ("map", "codes", "class_weight", "n_neighbors", "weights", "metric")
    record(head, where, ("classifier", *keys))
    rows = array(head["map"], f"{where}.map", (None, K))
    n = rows.shape[0]
    require(n > 0, f"{where}.map", "one row at least")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    require(np.isfinite(squares).all(), f"{where}.map", "small enough to be squared")
    places(head["codes"], f"{where}.codes", C, n)
    array(head["class_weight"], f"{where}.class_weight", (C,), above=0.0)
    integer(head["n_neighbors"], f"{where}.n_neighbors", 1, min(64, n))
    choice(head["weights"], f"{where}.weights", ("uniform", "distance"))
    choice(head["metric"], f"{where}.metric", ("euclidean", "angle"))


def _check_some_finite(values, where, C):
    array(values, where, (C,), finite=False)
    require(np.isfinite(values).any() and not (values == np.inf).any(), where, "finite or -inf")
