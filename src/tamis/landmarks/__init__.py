"""Landmarks: simple classifiers on distances to a few landmarks.

Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
transformations and model selection", arXiv 1907.06258.

Public names are loaded on first use: a saved model needs only some of the modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.landmarks' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
