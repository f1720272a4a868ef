"""Feature selectors that the papers compare with and scikit-learn lacks."""

from tamis.selectors.odds_ratio import OddsRatioSelector
from tamis.selectors.sparse_naive_bayes import SparseNaiveBayesSelector

__all__ = ["OddsRatioSelector", "SparseNaiveBayesSelector"]
