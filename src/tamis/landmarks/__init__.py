"""Family 3, landmarks: simple classifiers on distances to a few landmarks.

Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
transformations and model selection", arXiv 1907.06258.
"""

from tamis.landmarks.classifier import LandmarkClassifier
from tamis.landmarks.search import LandmarkSearchCV
from tamis.landmarks.transformer import LandmarkTransformer

__all__ = ["LandmarkClassifier", "LandmarkSearchCV", "LandmarkTransformer"]
