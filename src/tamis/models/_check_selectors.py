"""What a fitted selector must be like."""

from tamis.models._checking import array, integer, number, places, require

__all__ = ["NAIVE_BAYES", "ODDS_RATIO", "check_selector"]

ODDS_RATIO = ("support_", "n_features_", "log_odds_ratios_", "scores_", "feature_order_")
NAIVE_BAYES = (
    "support_",
    "n_features_",
    "log_likelihood_",
    "upper_bound_",
    "gap_",
    "scores_",
    "feature_order_",
)


def check_selector(state, m, C):
    """Check the state of a selector of m features and C classes."""
    array(state["scores_"], "scores_", (m,), finite=False)
    places(state["feature_order_"], "feature_order_", m, m, unique=True)
    array(state["support_"], "support_", (m,), "bool")
    integer(state["n_features_"], "n_features_")
    require(state["n_features_"] == state["support_"].sum(), "n_features_", "that of support_")
    if "log_odds_ratios_" in state:
        array(state["log_odds_ratios_"], "log_odds_ratios_", (C, m))
    for name in ("log_likelihood_", "upper_bound_", "gap_"):
        if name in state:
            number(state[name], name, finite=False)
