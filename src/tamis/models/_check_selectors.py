"""What a fitted selector must be like."""

from tamis.models._checking import array, integer, number, places, require

__all__ = ["NAIVE_BAYES", "ODDS_RATIO", "check_selector"]

ODDS_RATIO = ("support_", "n_features_", "log_odds_ratios_", "scores_", "ranking_")
NAIVE_BAYES = (
    "support_",
    "n_features_",
    "log_likelihood_",
    "upper_bound_",
    "gap_",
    "scores_",
    "ranking_",
)


def check_selector(state, m, C):
    """Check the state of a selector of m features and C classes."""
    array(state["scores_"], "scores_", (m,), finite=False)
    places(state["ranking_"], "ranking_", m, m, unique=True)
    places(state["support_"], "support_", m, ascending=True)
    integer(state["n_features_"], "n_features_")
    require(state["n_features_"] == state["support_"].size, "n_features_", "that of support_")
    if "log_odds_ratios_" in state:
        array(state["log_odds_ratios_"], "log_odds_ratios_", (C, m))
    for name in ("log_likelihood_", "upper_bound_", "gap_"):
        if name in state:
            number(state[name], name, finite=False)
