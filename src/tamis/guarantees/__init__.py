"""How sure can I be: bounds on false features, stable features, near-optimal panels."""

from tamis.guarantees.true_features import TrueFeatures, true_features

__all__ = ["TrueFeatures", "true_features"]
