"""How often features are selected when the data change a little, for any path."""

from tamis.stability.frequencies import SelectionFrequencies, selection_frequencies
from tamis.stability.halves import complementary_pairs, half_samples

__all__ = [
    "SelectionFrequencies",
    "complementary_pairs",
    "half_samples",
    "selection_frequencies",
]
