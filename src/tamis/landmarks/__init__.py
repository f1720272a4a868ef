"""Landmarks: simple classifiers on distances to a few landmarks.

Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
transformations and model selection", arXiv 1907.06258.

Public names are loaded on first use: a saved model needs only some of the modules.
"""

from typing import TYPE_CHECKING

from tamis._lazy import load_lazily

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.landmarks.classifier import LandmarkClassifier
    from tamis.landmarks.search import LandmarkSearchCV
    from tamis.landmarks.transformer import LandmarkTransformer

_MODULE_OF_NAME = {
    "LandmarkClassifier": "tamis.landmarks.classifier",
    "LandmarkSearchCV": "tamis.landmarks.search",
    "LandmarkTransformer": "tamis.landmarks.transformer",
}

__all__ = ["LandmarkClassifier", "LandmarkSearchCV", "LandmarkTransformer"]

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
