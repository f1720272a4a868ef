"""Check the attributes of a fitted panel; the class checks its own records."""

from tamis.models._checking import array, choice, integer, number, record, require

__all__ = ["ATTRIBUTES", "ATTRIBUTES_CV", "check_panel"]

ATTRIBUTES = (
    "support_",
    "feature_order_",
    "n_features_",
    "head_",
    "temperature_",
    "_head_state",
    "_importance",
    "_means",
)
ATTRIBUTES_CV = (*ATTRIBUTES, "path_", "_fold_scores", "best_score_", "stability_")
_LINEAR = ("coef", "intercept", "values")
_KERNEL = ("center", "scale", "landmarks", "width", "coef", "values")


def check_panel(state, m, C):
    """Check the state of a model of m features and C classes."""
    array(state["support_"], "support_", (m,), "bool")
    array(state["feature_order_"], "feature_order_", (m,), "int64", low=0, high=m - 1)
    k = int(state["support_"].sum())
    integer(state["n_features_"], "n_features_")
    require(state["n_features_"] == k, "n_features_", "that of support_")
    choice(state["head_"], "head_", ("lda", "logistic", "kernel"))
    number(state["temperature_"], "temperature_", above=0.0)
    array(state["_importance"], "_importance", (k,))
    array(state["_means"], "_means", (k,))
    is_kernel = state["head_"] == "kernel"
    head = record(state["_head_state"], "_head_state", _KERNEL if is_kernel else _LINEAR)
    n_values = {"lda": 0, "logistic": 1, "kernel": 2}[state["head_"]]
    array(head["values"], "_head_state.values", (n_values,))
    if is_kernel:
        array(head["center"], "_head_state.center", (k,))
        array(head["scale"], "_head_state.scale", (k,), above=0.0)
        array(head["landmarks"], "_head_state.landmarks", (None, k))
        array(head["width"], "_head_state.width", (), above=0.0)
        array(head["coef"], "_head_state.coef", (head["landmarks"].shape[0], C))
    else:
        array(head["coef"], "_head_state.coef", (C, k))
        array(head["intercept"], "_head_state.intercept", (C,))
    if "path_" not in state:
        return
    path = state["path_"]
    needed = {"level", "n_features", "score", "head"}
    require(type(path) is dict and needed <= set(path), "path_", "a path")
    n_levels = array(path["level"], "path_.level", (None,), "int64", low=0).size
    require(n_levels > 0, "path_", "of one level at least")
    for name, column in path.items():
        if name == "head":
            is_text = getattr(column, "dtype", None) is not None and column.dtype.kind == "U"
            require(is_text and column.shape == (n_levels,), "path_.head", "names of heads")
        elif name != "level":
            array(column, f"path_.{name}", (n_levels,), finite=False, nan=True)
    array(state["_fold_scores"], "_fold_scores", (None, n_levels), finite=False, nan=True)
    number(state["best_score_"], "best_score_", finite=False)
    array(state["stability_"], "stability_", (m,))
