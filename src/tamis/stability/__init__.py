"""Half-samples of any path: how often features are selected."""

from tamis.stability.halves import half_samples

__all__ = ["half_samples"]
